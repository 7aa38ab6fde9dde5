//! What is said about the configuration is what the program accepts.

use std::fs;
use std::path::Path;

use perftrail::config::{reference, schema};
use perftrail::record::canonical;

fn same_as_made(path: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, made).expect("the file is written");
    }
    let there = fs::read(&path).unwrap_or_default();
    assert!(
        there == made,
        "{} is not what the table of keys says: run UPDATE_GENERATED=1 cargo test",
        path.display()
    );
}

#[test]
fn the_page_of_keys_is_that_of_the_program() {
    same_as_made("docs/configuration.md", reference::markdown().as_bytes());
}

#[test]
fn the_published_schema_is_that_of_the_keys() {
    let made = canonical::pretty(&schema::schema()).expect("JSON");
    same_as_made("schemas/config.v1.json", &made);
}

/// The schema accepts what the program accepts: the whole sample, held against it by hand.
#[test]
fn every_reference_of_the_schema_leads_somewhere() {
    let schema = schema::schema();
    let text = schema.to_string();
    let mut references = 0;
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap_or_default();
        assert!(schema.pointer(pointer).is_some(), "{pointer} leads nowhere");
        references += 1;
    }
    assert!(references > 10, "only {references} references");
}
