//! Finds values in a document: one by its path, or all of them by name.

use serde_json::Value;

/// Deepest tables that are looked into.
const DEEPEST: usize = 8;
/// Longest part of a name that is looked at.
const NAME_MAX: usize = 300;
/// Most values that are taken from one file.
pub(super) const VALUES_MAX: usize = 20_000;

/// The value at a path such as `a.b[0].c`, `a["b.c"]` or `[2].x`.
///
/// A name with dots or brackets in it is found too, where it stands as it is in the file.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    let mut path = path.strip_prefix('$').unwrap_or(path);
    loop {
        path = path.strip_prefix('.').unwrap_or(path);
        if path.is_empty() {
            return Some(value);
        }
        if let Some(found) = value.as_object().and_then(|object| object.get(path)) {
            return Some(found);
        }
        let (step, rest) = step(path)?;
        value = match step {
            Step::Index(index) => value.as_array()?.get(index)?,
            Step::Key(key) => value.as_object()?.get(key)?,
        };
        path = rest;
    }
}

enum Step<'a> {
    Index(usize),
    Key(&'a str),
}

fn step(path: &str) -> Option<(Step<'_>, &str)> {
    let Some(inner) = path.strip_prefix('[') else {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        return Some((Step::Key(&path[..end]), &path[end..]));
    };
    for quote in ['"', '\''] {
        if let Some(quoted) = inner.strip_prefix(quote) {
            let end = quoted.find(quote)?;
            return Some((Step::Key(&quoted[..end]), quoted[end + 1..].strip_prefix(']')?));
        }
    }
    let (index, rest) = inner.split_once(']')?;
    Some((Step::Index(index.trim().parse().ok()?), rest))
}

/// Every single value of an object; those of inner objects get names with dots. Lists are left
/// out. Stops at [`VALUES_MAX`].
pub(super) fn leaves(value: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    if let Value::Object(_) = value {
        gather("", value, 0, &mut found);
    }
    found
}

fn gather<'a>(name: &str, value: &'a Value, depth: usize, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(object) if depth < DEEPEST => {
            for (key, inner) in object {
                if found.len() >= VALUES_MAX {
                    return;
                }
                // Nothing can be named by more; a hostile name does not become many long ones.
                let key: String = key.chars().take(NAME_MAX).collect();
                let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                if name.len() <= NAME_MAX || !inner.is_object() {
                    gather(&name, inner, depth + 1, found);
                }
            }
        }
        Value::Object(_) | Value::Array(_) | Value::Null => {}
        single => found.push((name.to_owned(), single)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_values() {
        let value = json!({
            "a": {"b": [{"c": 1}, {"c": 2}], "d.e": 3, "f[0]": 4},
            "files": {"/opt/x.py": {"cpu": 5}},
        });
        for (path, found) in [
            ("a.b[1].c", Some(json!(2))),
            ("$.a.b[0].c", Some(json!(1))),
            ("a.d.e", Some(json!(3))),
            ("a[\"d.e\"]", Some(json!(3))),
            ("a.f[0]", Some(json!(4))),
            ("files['/opt/x.py'].cpu", Some(json!(5))),
            ("a.b[2].c", None),
            ("a.b[-1]", None),
            ("a.b[", None),
            ("a.x", None),
            ("a.b.c", None),
            ("[0]", None),
        ] {
            assert_eq!(at(&value, path).cloned(), found, "{path}");
        }
        assert_eq!(at(&value, ""), Some(&value));
        assert_eq!(at(&json!([[7]]), "[0][0]"), Some(&json!(7)));
    }

    #[test]
    fn inner_tables_give_names_with_dots() {
        let value = json!({"a": 1, "b": {"c": "x", "d": {"e": true}}, "list": [1], "none": null});
        let names: Vec<_> = leaves(&value).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b.c", "b.d.e"]);
        assert!(leaves(&json!([1])).is_empty());
    }
}
