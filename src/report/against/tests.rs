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
        &FunctionRules::default(),
    );
    assert_eq!(found.sentence, "duration +12 %: +12 % in `update_population`, CPU flat.");
    let told = found.profiles[0].difference.as_ref().unwrap();
    let names: Vec<_> = told.functions.iter().map(|one| one.change.function.as_str()).collect();
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
        &FunctionRules::default(),
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
    let bare = |record| Side { record, profiles: &[] };
    let rules = FunctionRules::default();
    assert!(findings(bare(&one), bare(&one), &rules).outputs.is_empty());
    let found = findings(bare(&one), bare(&other), &rules);
    assert_eq!(found.outputs, [format!("{path} differs")]);
}

#[test]
fn rules_hide_forgive_and_warn() {
    let before = profiles("main;update 5001\nmain;other 4999\nmain;known 5000\nmain;third 5000\n");
    let after = profiles("main;update 7201\nmain;other 8010\nmain;known 9000\nmain;third 9000\n");
    let config = crate::config::parse(
        "t",
        "[[function]]\nwarn = \"10%\"\n[[function]]\nmatch = \"*:other\"\nhide = [\"*\"]\n\
         [[function]]\nmatch = \"*:known\"\nignore = { because = \"more people\" }\n",
    )
    .unwrap();
    let rules = FunctionRules::new(&config.functions, None);
    let one = record();
    let found = findings(
        Side { record: &one, profiles: &before },
        Side { record: &one, profiles: &after },
        &rules,
    );
    let told = found.profiles[0].difference.as_ref().unwrap();
    assert_eq!((told.hidden, told.functions.len()), (1, 3));
    assert_eq!(found.worse.len(), 2, "{:?}", found.worse);
    assert!(found.worse[0].contains("`third`") && found.worse[0].contains("10 %"));
    assert!(found.ignored[0].ends_with("more people"), "{:?}", found.ignored);
    let text = render(&found, 120);
    assert!(text.contains("known: more people") && !text.contains("other"), "{text}");
}
