use super::super::super::{Options, Reading, read_bytes};
use super::*;

fn reading(text: &str) -> Reading {
    let options = Options { workspaces: &["/w"], ..Options::default() };
    read_bytes(text.as_bytes(), &options).unwrap()
}

const TABLES: &str = r#""stackTable": {"length": 2, "prefix": [null, 0], "frame": [0, 1]},
    "frameTable": {"length": 2, "func": [0, 1], "line": [3, 9]},
    "funcTable": {"length": 2, "name": [0, 1], "fileName": [2, null], "resource": [-1, 0], "lineNumber": [1, null]},
    "resourceTable": {"lib": [0]}, "stringArray": ["main", "read", "/w/a.py"]"#;

fn processed(samples: &str, shared: bool) -> String {
    let meta = r#""meta": {"interval": 5, "preprocessedProfileVersion": 55, "symbolicated": true, "sampleUnits": {"threadCPUDelta": "µs"}}, "libs": [{"path": "/usr/lib/libc.so.6"}]"#;
    let (outer, inner) = if shared {
        (format!(", \"shared\": {{{TABLES}}}"), String::new())
    } else {
        (String::new(), format!(", {TABLES}"))
    };
    format!(r#"{{{meta}, "threads": [{{"name": "sim", "samples": {samples}{inner}}}]{outer}}}"#)
}

fn names(reading: &Reading) -> Vec<&str> {
    let profile = &reading.profiles[0];
    let tree = profile.tree().unwrap();
    tree.frame.iter().map(|at| profile.frames[*at as usize].function.as_str()).collect()
}

#[test]
fn tables_of_the_thread_or_shared_by_all() {
    let samples = r#"{"stack": [1, 0, null], "weight": null, "weightType": "samples", "threadCPUDelta": [5000, null, 0]}"#;
    for shared in [false, true] {
        let reading = reading(&processed(samples, shared));
        let profile = &reading.profiles[0];
        assert_eq!(names(&reading), ["main", "read", "(no stack)"]);
        assert_eq!((profile.sum(0), profile.weights[0].name.as_str()), (3.0, "samples"));
        assert!((profile.sum(1) - 0.005).abs() < 1e-12);
        assert_eq!((profile.samples, profile.interval), (Some(3), Some(0.005)));
        let read = profile.frames.iter().find(|frame| frame.function == "read").unwrap();
        assert_eq!(read.module, "libc.so.6");
        assert_eq!(
            profile.frames.iter().find(|frame| frame.function == "main").unwrap().file,
            "a.py"
        );
    }
}

#[test]
fn rows_with_a_schema_are_geckos() {
    let reading = reading(
        r#"{"meta": {"interval": 1, "stackwalk": 1}, "libs": [], "threads": [{"name": "GeckoMain",
        "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 0.5], [null, 1.5], [1, 2]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]},
        "frameTable": {"schema": {"location": 0, "line": 4}, "data": [[0], [1]]},
        "stringTable": ["(root)", "step (file:///w/a.js:12:3)"]}], "processes": []}"#,
    );
    assert_eq!(names(&reading), ["(root)", "step", "(no stack)"]);
    let profile = &reading.profiles[0];
    assert!(profile.frames.iter().any(|frame| frame.file == "a.js"), "{:?}", profile.frames);
}

#[test]
fn references_to_nothing_and_circles_are_errors() {
    let wrong = |from: &str, to: &str| {
        let samples = r#"{"stack": [1, 0], "weight": null}"#;
        let text = processed(samples, false).replacen(from, to, 1);
        read_bytes(text.as_bytes(), &Options::default()).err().map(|error| error.to_string())
    };
    for (from, to) in [
        (r#""stack": [1, 0]"#, r#""stack": [7, 0]"#),
        (r#""prefix": [null, 0]"#, r#""prefix": [1, 0]"#),
        (r#""frame": [0, 1]"#, r#""frame": [0, 9]"#),
        (r#""stack": [1, 0]"#, r#""stack": []"#),
    ] {
        let error = wrong(from, to);
        assert!(error.as_ref().is_some_and(|text| text.contains("is missing")), "{to}: {error:?}");
    }
    assert_eq!(wrong("none", "none"), None);
}

#[test]
fn other_weights_and_missing_symbols_are_told() {
    let bytes =
        reading(&processed(r#"{"stack": [1], "weight": [4096], "weightType": "bytes"}"#, false));
    assert_eq!(bytes.profiles[0].weights[0].unit, Unit::Bytes);
    let text = processed(r#"{"stack": [1]}"#, false)
        .replace("\"symbolicated\": true", "\"symbolicated\": false");
    assert!(reading(&text).notices[0].contains("no symbols"));
}
