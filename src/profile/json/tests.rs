use serde_json::{Value, json};

use super::*;

fn with<T>(
    mut text: &[u8],
    read: impl FnOnce(&mut Json<'_, '_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut input = Input::open(&mut text, 1 << 30)?;
    let mut json = Json::new(&mut input);
    let value = read(&mut json)?;
    json.end()?;
    Ok(value)
}

fn value(text: &str) -> Result<Value, Reason> {
    with(text.as_bytes(), |json| Dom::default().value(json)).map_err(|fault| fault.reason)
}

#[test]
fn values_are_read() {
    assert_eq!(
        value(
            r#" {"a": [1, -2.5e3, true, false, null], "b": {"c": "x\n\u00e9\ud83d\ude00\"\\"}} "#
        ),
        Ok(json!({"a": [1.0, -2500.0, true, false, null], "b": {"c": "x\né😀\"\\"}}))
    );
    assert_eq!(value(r#"[{}, [], "", 0]"#), Ok(json!([{}, [], "", 0.0])));
}

#[test]
fn what_a_library_refuses_is_read() {
    assert_eq!(value("[NaN, Infinity, -Infinity, 1e999]"), Ok(json!([null, null, null, null])));
    assert_eq!(
        value(r#"["\ud800", "\ud800\u0041", "\u12"]"#),
        Ok(json!(["\u{fffd}", "\u{fffd}A", "\u{fffd}12"]))
    );
    assert_eq!(value(r#"{"a": 1, "a": 2}"#), Ok(json!({"a": 2.0})));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(value(&deep).is_ok());
    with(deep.as_bytes(), |json| {
        json.skip()?;
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_is_wrong_is_named() {
    for (text, expected) in [
        ("[1", "the file ends too early, in an array"),
        ("{\"a\"", "the file ends too early, in a colon after the key"),
        ("\"abc\\", "the file ends too early, in a text"),
        ("nul", "the file ends too early, in a value"),
        ("[1 2]", "expected a comma, found `2]`"),
        ("{a: 1}", "expected a key, found `a: 1}`"),
        ("[1.2.3]", "expected a number, found `1.2.3]`"),
        ("[infinity]", "expected a JSON value, found `infinity]`"),
        ("[Inf]", "expected a number, found `Inf]`"),
        ("[] x", "expected the end of the file, found `x`"),
    ] {
        assert_eq!(value(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn numbers_in_a_row() {
    let text = "[1,22,333, 4 ,5.5,-6,null,123456789,1234567890]";
    let mut seen = Vec::new();
    with(text.as_bytes(), |json| {
        json.numbers(|n| {
            seen.push(n);
            Ok(())
        })
    })
    .unwrap();
    assert!(seen[6].is_nan());
    seen.remove(6);
    assert_eq!(seen, [1.0, 22.0, 333.0, 4.0, 5.5, -6.0, 123_456_789.0, 1_234_567_890.0]);
}

#[test]
fn tokens_may_lie_across_chunks() {
    for padding in [65_530, 65_531, 65_532, 65_533, 65_534, 65_535, 65_536, 131_070] {
        let text = format!("[\"{}\", \"a\\\"b\", 12345.5, true]", "x".repeat(padding));
        let Ok(Value::Array(list)) = value(&text) else { panic!("{padding}") };
        assert_eq!(list[1..], [json!("a\"b"), json!(12345.5), json!(true)], "{padding}");
    }
}

#[test]
fn an_overlong_text_is_cut_and_the_rest_read() {
    for odd in 0..2 {
        let long = "\\\\".repeat(TEXT_MAX / 2 + 50_000);
        let text = format!("[\"{}{long}\", \"after\"]", "y".repeat(odd));
        let Ok(Value::Array(list)) = value(&text) else { panic!() };
        assert_eq!(list[1], json!("after"));
        assert!(list[0].as_str().unwrap().len() <= TEXT_MAX);
    }
}

#[test]
fn a_mark_is_found_across_chunks() {
    for padding in [0, 65_530, 65_535, 70_000] {
        let text = format!("{}data = [1]", "-".repeat(padding));
        let found = with(text.as_bytes(), |json| {
            let found = json.leave_until(&[b"nothing = ", b"data = "])?;
            json.skip()?;
            Ok(found)
        });
        assert_eq!(found, Ok(Some(1)), "{padding}");
    }
}

#[test]
fn references_and_arrays_as_they_stand() {
    let text = b" [ [1, 20,300], [-1, 2.5, NaN, 4294967295, null], [[2]], [\"]\"], [7] ]";
    let mut source = &text[..];
    let mut input = Input::open(&mut source, 1 << 20).unwrap();
    let mut json = Json::new(&mut input);
    let (mut lists, mut flats) = (Vec::new(), Vec::new());
    json.array(&mut |json| {
        flats.push(json.flat_array(100)?.map(|flat| String::from_utf8_lossy(flat).into_owned()));
        if lists.len() < 2 {
            let mut list = Vec::new();
            json.indices(|index| list.push(index))?;
            lists.push(list);
        } else {
            json.skip()?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(lists, [vec![Some(1), Some(20), Some(300)], vec![None; 5]]);
    let is_flat: Vec<bool> = flats.iter().map(Option::is_some).collect();
    assert_eq!(is_flat, [true, true, false, false, true]);
    assert_eq!(flats[0].as_deref(), Some("[1, 20,300]"));
}
