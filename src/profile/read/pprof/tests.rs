use super::super::super::{Options, read_bytes};
use crate::profile::model::Body;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, body: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(body.len() as u64), body.to_vec()].concat()
}

/// samples/count and cpu/nanoseconds; `main` calls `f`, into which `g` is inlined.
fn file(default: u64, values: &[u64]) -> Vec<u8> {
    let strings = ["", "samples", "count", "cpu", "nanoseconds", "main", "f", "g", "/w/a.go"];
    let function = |key: u64, name: u64| {
        message(5, &[number(1, key), number(2, name), number(4, 8), number(5, 10)].concat())
    };
    let line =
        |function: u64, line: u64| message(4, &[number(1, function), number(2, line)].concat());
    let samples = message(
        2,
        &[
            message(1, &[2, 1]),
            message(2, &values.iter().flat_map(|value| varint(*value)).collect::<Vec<_>>()),
        ]
        .concat(),
    );
    [
        message(1, &[number(1, 1), number(2, 2)].concat()),
        message(1, &[number(1, 3), number(2, 4)].concat()),
        samples,
        message(4, &[number(1, 1), line(1, 12)].concat()),
        message(4, &[number(1, 2), line(3, 30), line(2, 20)].concat()),
        function(1, 5),
        function(2, 6),
        function(3, 7),
        strings.iter().flat_map(|text| message(6, text.as_bytes())).collect(),
        number(10, 2_000_000_000),
        message(11, &[number(1, 3), number(2, 4)].concat()),
        number(12, 10_000_000),
        number(14, default),
    ]
    .concat()
}

fn read_one(bytes: &[u8]) -> (super::super::super::model::Profile, Vec<String>) {
    let options = Options { workspaces: &["/w"], ..Options::default() };
    let mut reading = read_bytes(bytes, &options).unwrap();
    (reading.profiles.remove(0), reading.notices)
}

#[test]
fn inlined_calls_are_frames_and_the_last_kind_comes_first() {
    let (profile, notices) = read_one(&file(0, &[3, 30_000_000]));
    let Body::Tree(tree) = &profile.body else { panic!("no tree") };
    let names: Vec<_> =
        tree.frame.iter().map(|at| profile.frames[*at as usize].function.as_str()).collect();
    assert_eq!(names, ["main", "f", "g"]);
    assert_eq!(profile.frames[0].file, "a.go");
    assert_eq!(
        (profile.weights[0].name.as_str(), profile.weights[1].name.as_str()),
        ("CPU time", "samples")
    );
    assert!((profile.sum(0) - 0.03).abs() < 1e-12 && (profile.sum(1) - 3.0).abs() < 1e-12);
    assert_eq!(
        (profile.samples, profile.interval, profile.duration),
        (Some(3), Some(0.01), Some(2.0))
    );
    assert_eq!(profile.lines.line, [12, 20, 30]);
    assert!(notices.is_empty());
}

#[test]
fn the_files_own_choice_counts_and_values_below_0_do_not() {
    let (profile, notices) = read_one(&file(1, &[3, u64::MAX]));
    assert_eq!(profile.weights[0].name, "samples");
    assert!((profile.sum(1)).abs() < 1e-12);
    assert!(notices[0].contains("below 0"));
}

#[test]
fn every_cut_is_an_error_or_less() {
    let whole = file(0, &[3, 30_000_000]);
    for length in 4..whole.len() {
        // A cut between two fields leaves a whole message; it must not panic, that is all.
        let _ = read_bytes(&whole[..length], &Options::default());
    }
}
