use super::*;
use crate::profile::{Options, read_bytes};

fn record() -> Record {
    serde_json::from_str(include_str!("../../../tests/fixtures/records/v1/succeeded.json")).unwrap()
}

fn profiles(text: &str) -> Vec<Profile> {
    read_bytes(text.as_bytes(), &Options::default()).unwrap().profiles
}

fn scaled(name: &str, factor: f64) -> Record {
    let mut record = record();
    if let Some(metric) = record.metrics.get_mut(name) {
        metric.value *= factor;
    }
    record
}

#[test]
fn the_sentence_names_what_moved() {
    let before = profiles("main;update_population 5001\nmain;other 4999\n");
    let after = profiles("main;update_population 6201\nmain;other 5010\n");
    let (one, other) = (record(), scaled("duration", 1.12));
    let found = findings(
        Side { record: &one, profiles: &before },
        Side { record: &other, profiles: &after },
    );
    assert_eq!(found.sentence, "duration +12 %: +12 % in `update_population`, CPU flat.");
    let told = found.profiles[0].difference.as_ref().unwrap();
    let names: Vec<_> = told.difference.functions.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(names, ["update_population"], "10 samples of 5000 are noise");
    let text = render(&found, 120);
    assert!(text.contains("update_population") && text.contains("+12.0 %"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let before = profiles("main;a 5\n");
    let mut after = profiles("main;a 5\n");
    after[0].weights[0].unit = Unit::Seconds;
    let (one, mut other) = (record(), record());
    other.machine.group = "another".to_owned();
    let found = findings(
        Side { record: &one, profiles: &before },
        Side { record: &other, profiles: &after },
    );
    assert!(found.profiles[0].difference.is_none() && found.profiles[0].why.contains("count"));
    assert!(found.warnings[0].starts_with("the machine groups differ"), "{:?}", found.warnings);
}

#[test]
fn outputs_are_told_by_their_content() {
    let (one, mut other) = (record(), record());
    let file = other.files.iter_mut().find(|file| file.role == FileRole::Collected).unwrap();
    file.sha256 = Some("0".repeat(64));
    let path = file.path.clone();
    let none = findings(Side { record: &one, profiles: &[] }, Side { record: &one, profiles: &[] });
    assert!(none.outputs.is_empty());
    let found =
        findings(Side { record: &one, profiles: &[] }, Side { record: &other, profiles: &[] });
    assert_eq!(found.outputs, [format!("{path} differs")]);
}
