//! The record's published form: its schema, and records of earlier versions that stay readable.

use std::fs;
use std::path::Path;

use perftrail::model::status::Status;
use perftrail::record::{self, canonical, index::Line, read::read};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = root().join("schemas/record.v1.json");
    let made = canonical::pretty(&record::schema()).expect("JSON");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &made).expect("the schema is written");
    }
    let published = fs::read(&path).expect("schemas/record.v1.json");
    assert!(
        published == made,
        "schemas/record.v1.json is not the schema of the types: run UPDATE_GENERATED=1 cargo test"
    );
}

/// Golden records are never edited: a reader that fails here no longer reads what people have.
#[test]
fn golden_records_stay_readable() {
    for status in Status::ALL {
        let path = root().join(format!("tests/fixtures/records/v1/{status}.json"));
        let bytes = fs::read(&path).expect("a golden record");
        let read = read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(read.record.run.status, status);
        assert_eq!(read.bytes().expect("JSON"), bytes, "{status}: written again as it was");
        match &read.record.run.digest {
            Some(digest) => assert_eq!(&read.content_digest(), digest, "{status}"),
            None => assert_eq!(status, Status::Running),
        }
        let line = Line::of(&read.record, "runs/x");
        assert_eq!(line.has_values(), status == Status::Succeeded);
        assert_eq!(Line::parse(&line.to_json()).expect("a line"), line);
    }
}
