//! Real payloads, where they are: `tests/webhooks/run` brings them from npm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use perftrail::trigger::TriggerError;
use perftrail::trigger::payload::{EVENTS, read};
use serde_json::Value;

use crate::support::loud;

#[test]
fn real_payloads_of_every_server_are_read() {
    let Ok(folder) = std::env::var("PERFTRAIL_WEBHOOKS") else {
        loud("SKIPPED: tests/webhooks/run brings the payloads and sets PERFTRAIL_WEBHOOKS");
        return;
    };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut others = 0;
    let mut servers = 0;
    for entry in fs::read_dir(Path::new(&folder)).expect("the package") {
        let index = entry.expect("an entry").path().join("index.json");
        let Ok(text) = fs::read(&index) else { continue };
        servers += 1;
        let events: Vec<Value> = serde_json::from_slice(&text).expect("a list of events");
        for event in &events {
            let name = event["name"].as_str().expect("a name");
            for payload in event["examples"].as_array().expect("examples") {
                let answer = read(name, payload.to_string().as_bytes());
                if EVENTS.contains(&name) {
                    answer.unwrap_or_else(|error| panic!("{}: {error}", index.display()));
                    *seen.entry(name.to_owned()).or_default() += 1;
                } else {
                    let is_unknown = matches!(answer, Err(TriggerError::Unknown { .. }));
                    assert!(is_unknown, "{}: {name}", index.display());
                    others += 1;
                }
            }
        }
    }
    loud(&format!("{servers} servers, {others} payloads of other events, read: {seen:?}"));
    assert!(servers >= 2 && others > 100);
    // The clock has no payload among them.
    for event in EVENTS.iter().filter(|event| **event != "schedule") {
        assert!(seen.get(*event).is_some_and(|count| *count > 0), "{event}: {seen:?}");
    }
}
