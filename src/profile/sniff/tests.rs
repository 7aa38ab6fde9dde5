use super::*;

#[test]
fn every_kind_has_a_word_of_its_own() {
    for (i, kind) in Kind::ALL.iter().enumerate() {
        assert!(Kind::ALL[..i].iter().all(|other| other.as_str() != kind.as_str()), "{kind}");
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

#[test]
fn beginnings_tell() {
    for (begin, guess) in [
        ("", Guess::Empty),
        (" \n\t", Guess::Empty),
        ("hello world", Guess::Unknown),
        ("{}", Guess::Unknown),
        ("[]", Guess::Unknown),
        ("{\"a\": 1, \"b\": 2.5}", Guess::Kind(Kind::Numbers)),
        ("{\"a\": 1, \"b\": \"x\"}", Guess::Unknown),
        ("{\"a\": 1, \"b\"", Guess::Unknown),
        ("<!DOCTYPE html><p>", Guess::Kind(Kind::Html)),
        ("<module> (a.py:1);f (a.py:2) 3\n", Guess::Kind(Kind::Collapsed)),
        ("a;b 3\na;c 4 \n 2\n", Guess::Kind(Kind::Collapsed)),
        ("main 3\n", Guess::Kind(Kind::Collapsed)),
        ("a;b 3 4\na;c 0 1\n", Guess::Kind(Kind::CollapsedDiff)),
        ("1 2\n3 4\n", Guess::Unknown),
        ("a,b,c\n1,2,3\n", Guess::Unknown),
        ("BenchmarkX-2  100  12 ns/op\n", Guess::Kind(Kind::Go)),
        ("MEM 1.5 1796047819.1\n", Guess::Kind(Kind::Mprof)),
        ("PERFILE2xx", Guess::Private(&PRIVATE[0])),
    ] {
        assert_eq!(sniff(begin.as_bytes()), guess, "{begin}");
    }
}

#[test]
fn keys_inside_other_values_do_not_count() {
    assert_eq!(sniff(br#"{"x": {"frame_records": []}, "y": "\"root_frame\": 1"}"#), Guess::Unknown);
    assert_eq!(sniff(br#"{"x": 1, "root_frame": null}"#), Guess::Kind(Kind::PyinstrumentJson));
}
