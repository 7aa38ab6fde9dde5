use super::*;
use crate::profile::{Options, read_bytes};

fn profiles(text: &str) -> Vec<Profile> {
    read_bytes(text.as_bytes(), &Options::default()).unwrap().profiles
}

#[test]
fn widths_are_shares_and_callees_stand_below() {
    let still = still::of(&profiles("main;a 3\nmain;b 1\n")).unwrap();
    let text = serde_json::to_value(&still).unwrap();
    let boxes: Vec<_> = text["boxes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["label"].clone(), one["x"].clone(), one["y"].clone(), one["width"].clone()))
        .collect();
    let expected = [
        ("main".into(), "0".into(), "30".into(), "959".into()),
        ("a".into(), "0".into(), "51".into(), "719".into()),
        ("b".into(), "720".into(), "51".into(), "239".into()),
    ];
    assert_eq!(boxes, expected);
    assert!(text["boxes"][1]["title"].as_str().unwrap().ends_with("(75.0 %)"));
}

#[test]
fn nothing_to_draw_is_nothing() {
    assert!(matches!(of_page(&[], 0), Ok(CallTrees::Nothing)));
    assert!(file(&[]).unwrap().is_none());
}

#[test]
fn the_data_fits_however_many_profiles_there_are() {
    let one = profiles("main;a 3\nmain;b 1\n").remove(0);
    let text = json(&vec![one; 200], BYTES_MAX).unwrap();
    assert!(text.len() < BYTES_MAX);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap().as_array().unwrap().len(),
        PROFILES_MAX
    );
}
