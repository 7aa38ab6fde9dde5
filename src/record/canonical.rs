//! Canonical JSON and digests: the same content gives the same bytes, whatever wrote it.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Record;

/// `value` as JSON without spaces, object keys sorted bytewise.
pub fn to_string(value: &Value) -> String {
    sorted(value).to_string()
}

/// Sorting does not rely on how `serde_json` was built: another crate may switch on `preserve_order`.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(
                entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// sha256 of `bytes` as lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// `bytes` in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// sha256 over the canonical JSON of `value`.
pub fn digest_of(value: &Value) -> String {
    sha256_hex(to_string(value).as_bytes())
}

/// The digest of a record as its run finished it: all of it but the digest itself and what
/// publishing sets (`run.identity`, `commit.against`, `comparison`, `amended`, and `left_out` of the files,
/// which the results repository's budgets decide).
///
/// # Errors
/// When the record cannot be written as JSON, which a map with other than text keys would cause.
pub fn record_digest(record: &Record) -> Result<String, serde_json::Error> {
    Ok(digest_of(&without_published(serde_json::to_value(record)?)))
}

/// The same over a record read as plain JSON, so that keys this version does not know count too.
/// A commit that people corrected counts as the run told it.
pub fn without_published(mut record: Value) -> Value {
    if let Some(all) = record.as_object_mut()
        && let Some(amended) = all.remove("amended")
        && let Some(told) = amended.get(0).and_then(|first| first.get("commit"))
    {
        all.insert("commit".to_owned(), told.clone());
    }
    if let Some(run) = record.get_mut("run").and_then(Value::as_object_mut) {
        run.remove("digest");
        run.remove("identity");
    }
    if let Some(commit) = record.get_mut("commit").and_then(Value::as_object_mut) {
        commit.remove("against");
    }
    if let Some(files) = record.get_mut("files").and_then(Value::as_array_mut) {
        for file in files.iter_mut().filter_map(Value::as_object_mut) {
            file.remove("left_out");
        }
    }
    if let Some(all) = record.as_object_mut() {
        all.remove("comparison");
    }
    record
}

/// `value` as people read it: indented by two, ended by a newline.
///
/// # Errors
/// As [`record_digest`].
pub fn pretty<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_does_not_matter() {
        let a: Value =
            serde_json::from_str(r#"{"b":1,"a":{"d":[{"z":1,"y":2}],"c":3}}"#).expect("JSON");
        assert_eq!(to_string(&a), r#"{"a":{"c":3,"d":[{"y":2,"z":1}]},"b":1}"#);
        assert_eq!(
            sha256_hex(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn publishing_does_not_change_the_digest() {
        let before: Value =
            serde_json::from_str(r#"{"run":{"id":"x","identity":"planned"},"commit":{},"comparison":null,"files":[{"path":"files/a","left_out":null}]}"#)
                .expect("JSON");
        let after: Value = serde_json::from_str(
            r#"{"run":{"id":"x","digest":"d","identity":"claimed"},"commit":{"against":[1]},"comparison":{"id":2},"files":[{"path":"files/a","left_out":"too large"}]}"#,
        )
        .expect("JSON");
        assert_eq!(digest_of(&without_published(before)), digest_of(&without_published(after)));
    }
}
