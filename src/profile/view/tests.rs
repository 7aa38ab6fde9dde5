use proptest::prelude::*;

use super::super::Limits;
use super::super::build::{Builder, Path, Stretches};
use super::super::model::{Body, Frame, FrameKind, Lines, Measured, NONE, Profile, Tree, Weight};
use super::super::sniff::Kind;
use super::super::stored;
use super::difference::{Incomparable, Presence, difference};
use super::difference_tree::difference_tree;
use super::functions::{functions, top};
use super::invert::invert;
use super::prune::{Room, compact, prune};
use super::time::{left_heavy, spans};
use crate::model::metric::Unit;

/// A sampled profile of these stacks, one sample each; a name's letter is its file.
fn profile(stacks: &[(&str, f64)]) -> Profile {
    let mut builder = Builder::new(1, Limits::default());
    let mut path = Path::default();
    let mut order = Stretches::default();
    for (stack, value) in stacks {
        let mut leaf = NONE;
        for (depth, name) in stack.split(';').enumerate() {
            let frame =
                Frame { function: name.to_owned(), file: name[..1].to_owned(), ..Frame::default() };
            let line = u32::try_from(depth).unwrap() + 1;
            let site = builder.site(frame, line);
            leaf = path.step(&mut builder, depth, site);
        }
        builder.add(leaf, 0, *value);
        order.push(leaf, *value);
    }
    let built = builder.finish();
    let order = vec![built.order(NONE, order)];
    let profile = Profile {
        name: String::new(),
        step: None,
        format: Kind::Collapsed,
        tool: None,
        weights: vec![Weight::new("time", Unit::Seconds, Measured::Sampled)],
        frames: built.frames,
        body: Body::Tree(built.tree),
        lines: built.lines,
        order,
        samples: Some(stacks.len() as u64),
        interval: None,
        duration: None,
    };
    profile.check().unwrap();
    profile
}

fn sum(profile: &Profile) -> f64 {
    profile.sum(0)
}

/// Each node's stack and what it has itself, of those that have something.
fn stacks(profile: &Profile) -> Vec<(String, f64)> {
    let tree = profile.tree().unwrap();
    let mut names: Vec<String> = Vec::new();
    let mut list = Vec::new();
    for node in 0..tree.len() {
        let name = &profile.frames[tree.frame[node] as usize].function;
        let parent = tree.parent[node];
        names.push(if parent == NONE {
            name.clone()
        } else {
            format!("{};{name}", names[parent as usize])
        });
        if tree.own[0][node] > 0.0 {
            list.push((names[node].clone(), tree.own[0][node]));
        }
    }
    list.sort_by(|one, other| one.0.cmp(&other.0));
    list
}

fn owned(list: &[(&str, f64)]) -> Vec<(String, f64)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

const SAMPLE: &[(&str, f64)] =
    &[("m;a;b", 4.0), ("m;a;b;a", 1.0), ("m;a", 2.0), ("m;c;b", 3.0), ("m", 0.5), ("m;a;b", 1.0)];

#[test]
fn functions_count_recursion_once() {
    let profile = profile(SAMPLE);
    let list: Vec<_> = functions(&profile, 0)
        .into_iter()
        .map(|cost| {
            (profile.frames[cost.frame as usize].function.clone(), cost.own, cost.total.unwrap())
        })
        .collect();
    let expected = [("b", 8.0, 9.0), ("a", 3.0, 8.0), ("m", 0.5, 11.5), ("c", 0.0, 3.0)];
    let got: Vec<_> = list.iter().map(|(name, own, total)| (name.as_str(), *own, *total)).collect();
    assert_eq!(got, expected);
    assert!(functions(&profile, 1).is_empty());
    let top: Vec<_> = top(&[profile], 2).into_iter().map(|top| top.function).collect();
    assert_eq!(top, ["b", "m"], "one by its own time, one by its total");
}

#[test]
fn a_pruned_tree_has_what_the_whole_one_has() {
    let small = prune(&profile(SAMPLE), 0, Room { nodes: 3, share: 0.0 });
    small.check().unwrap();
    assert_eq!(
        stacks(&small),
        owned(&[
            ("m", 0.5),
            ("m;(1 smaller)", 3.0),
            ("m;a", 2.0),
            ("m;a;b", 5.0),
            ("m;a;b;(1 smaller)", 1.0)
        ])
    );
    let small = prune(&profile(SAMPLE), 0, Room { nodes: 99, share: 0.6 });
    assert_eq!(
        stacks(&small),
        owned(&[("m", 0.5), ("m;(1 smaller)", 3.0), ("m;a", 2.0), ("m;a;(1 smaller)", 6.0)])
    );
    let nothing = prune(&profile(SAMPLE), 0, Room { nodes: 0, share: 0.0 });
    assert_eq!(stacks(&nothing), owned(&[("(1 smaller)", 11.5)]));
    assert_eq!(compact(&nothing, 99).frames.len(), 1);
}

#[test]
fn upside_down_the_spender_is_the_root() {
    let inverted = invert(&profile(SAMPLE), 0, 100).unwrap();
    inverted.check().unwrap();
    assert_eq!(
        stacks(&inverted),
        owned(&[("a;b;a;m", 1.0), ("a;m", 2.0), ("b;a;m", 5.0), ("b;c;m", 3.0), ("m", 0.5)])
    );
    let small = invert(&profile(SAMPLE), 0, 4).unwrap();
    assert!((sum(&small) - 11.5).abs() < 1e-9);
    assert!(invert(&profile(SAMPLE), 1, 4).is_none());
}

#[test]
fn the_heaviest_comes_first() {
    let mut heavy = profile(SAMPLE);
    let (tree, new_of) = left_heavy(heavy.tree().unwrap(), 0);
    let names: Vec<_> =
        tree.frame.iter().map(|at| heavy.frames[*at as usize].function.as_str()).collect();
    assert_eq!(names, ["m", "a", "b", "a", "c", "b"]);
    assert!(new_of.iter().all(|node| *node != NONE));
    heavy.body = Body::Tree(tree);
    assert_eq!(stacks(&heavy), stacks(&profile(SAMPLE)));
}

#[test]
fn calls_stand_in_the_order_of_time() {
    let profile = profile(&[("m;a", 1.0), ("m;b", 2.0), ("m;a", 1.0), ("m;a;c", 1.0)]);
    let tree = profile.tree().unwrap();
    let list: Vec<_> = spans(&profile, 0, 99, 99)
        .unwrap()
        .into_iter()
        .map(|span| {
            (
                profile.frames[tree.frame[span.node as usize] as usize].function.clone(),
                span.depth,
                span.start,
                span.length,
            )
        })
        .collect();
    let expected = [
        ("m", 0, 0.0, 5.0),
        ("a", 1, 0.0, 1.0),
        ("b", 1, 1.0, 2.0),
        ("a", 1, 3.0, 2.0),
        ("c", 2, 4.0, 1.0),
    ];
    assert_eq!(
        list,
        expected.map(|(name, depth, start, length)| (name.to_owned(), depth, start, length))
    );
    assert_eq!(spans(&profile, 0, 1, 99).unwrap().len(), 1);
    assert!(spans(&profile, 0, 99, 4).is_none() && spans(&profile, 1, 99, 99).is_none());
}

#[test]
fn a_difference_names_what_changed() {
    let many = |slow: usize| {
        let mut list = vec![("m;a", 1.0); 100];
        list.extend(vec![("m;b", 1.0); 100 + slow]);
        list
    };
    let mut before = many(0);
    before.push(("m;old", 1.0));
    let mut after = many(100);
    after.push(("m;new", 1.0));
    let found = difference(&profile(&before), &profile(&after)).unwrap();
    let list: Vec<_> = found
        .functions
        .iter()
        .map(|change| {
            (
                change.function.as_str(),
                change.presence,
                change.own.change(),
                change.is_beyond_noise(),
            )
        })
        .collect();
    assert_eq!(
        list,
        [
            ("b", Presence::Both, 100.0, true),
            ("new", Presence::New, 1.0, false),
            ("old", Presence::Vanished, -1.0, false),
            ("a", Presence::Both, 0.0, false),
            ("m", Presence::Both, 0.0, false),
        ]
    );
    assert_eq!(found.functions[0].own.relative(), Some(1.0));
    assert_eq!(found.functions[1].own.relative(), None);
    assert!((found.functions[0].own_noise.unwrap() - 3.0 * 300.0_f64.sqrt()).abs() < 1e-9);
    let tree = difference_tree(&profile(&before), &profile(&after)).unwrap().unwrap();
    assert_eq!(
        tree.tree.own.iter().map(|own| own.iter().sum::<f64>()).collect::<Vec<_>>(),
        [201.0, 301.0]
    );
}

#[test]
fn different_things_are_not_laid_on_each_other() {
    let one = profile(SAMPLE);
    let with = |unit, measured| {
        let mut other = profile(SAMPLE);
        other.weights = vec![Weight::new("other", unit, measured)];
        difference(&one, &other).map(|found| found.functions.len())
    };
    assert_eq!(with(Unit::Seconds, Measured::Sampled), Ok(4));
    assert!(matches!(with(Unit::Seconds, Measured::Traced), Err(Incomparable::Measured { .. })));
    let error = with(Unit::Ratio, Measured::Sampled).unwrap_err();
    assert_eq!(error.to_string(), "one profile weighs time in `s`, the other other in `ratio`");
    let counts = |name: &str| {
        let mut profile = profile(SAMPLE);
        profile.weights = vec![Weight::new(name, Unit::Count, Measured::Sampled)];
        profile
    };
    assert!(difference(&counts("samples"), &counts("samples")).is_ok());
    assert!(difference(&counts("samples"), &counts("weight")).is_err());
}

#[test]
fn threads_are_no_functions() {
    let mut threaded = profile(&[("t;m;a", 2.0), ("u;m;a", 3.0)]);
    threaded
        .frames
        .iter_mut()
        .filter(|frame| frame.function.len() == 1 && "tu".contains(&frame.function))
        .for_each(|frame| frame.kind = FrameKind::Thread);
    assert_eq!(functions(&threaded, 0).len(), 2);
    let inverted = invert(&threaded, 0, 100).unwrap();
    assert_eq!(stacks(&inverted), owned(&[("a;m", 5.0)]));
    let plain = profile(&[("m;a", 5.0)]);
    let tree = difference_tree(&threaded, &plain).unwrap().unwrap();
    assert_eq!(tree.tree.own, [[0.0, 5.0], [0.0, 5.0]]);
}

#[test]
fn a_hundred_thousand_deep_is_no_trouble() {
    let mut stack = "a".to_owned();
    for i in 0..100_000 {
        stack.push_str(if i % 3 == 0 { ";b" } else { ";c" });
    }
    let deep = profile(&[(&stack, 1.0), ("a", 1.0)]);
    assert_eq!(functions(&deep, 0)[0].total, Some(2.0));
    assert!((sum(&prune(&deep, 0, Room { nodes: 1000, share: 0.0 })) - 2.0).abs() < 1e-9);
    assert!((sum(&invert(&deep, 0, 1000).unwrap()) - 2.0).abs() < 1e-9);
    let (sorted, _) = left_heavy(deep.tree().unwrap(), 0);
    assert_eq!(sorted.len(), 100_001);
    assert!(
        difference(&deep, &deep).unwrap().functions.iter().all(|change| change.own.change() == 0.0)
    );
    assert!(difference_tree(&deep, &deep).unwrap().is_some());
    assert!(spans(&deep, 0, 1000, 10_000).is_some());
    assert_eq!(
        stored::decode(&stored::encode(std::slice::from_ref(&deep)).unwrap()).unwrap(),
        [deep]
    );
}

fn any_stacks() -> impl Strategy<Value = Vec<(String, f64)>> {
    let stack =
        prop::collection::vec("[abcdé]", 1..8).prop_map(|names| names.join(";").replace('é', "e"));
    prop::collection::vec((stack, 0.0..1e6_f64), 0..60)
}

fn of(stacks: &[(String, f64)]) -> Profile {
    let list: Vec<_> = stacks.iter().map(|(stack, value)| (stack.as_str(), *value)).collect();
    profile(&list)
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost(list in any_stacks(), nodes in 0..40_usize, share in 0.0..0.2_f64) {
        let whole = of(&list);
        let all: f64 = list.iter().map(|(_, value)| value).sum();
        prop_assert!(is_near(sum(&whole), all));
        let own: f64 = functions(&whole, 0).iter().map(|cost| cost.own).sum();
        prop_assert!(is_near(own, all));
        let lines: f64 = whole.lines.own.iter().flatten().sum();
        prop_assert!(is_near(lines, all));
        let small = prune(&whole, 0, Room { nodes, share });
        small.check().unwrap();
        prop_assert!(is_near(sum(&small), all));
        prop_assert!(small.tree().unwrap().len() <= nodes * 2 + 1);
        compact(&small, 5).check().unwrap();
        let inverted = invert(&whole, 0, nodes).unwrap();
        inverted.check().unwrap();
        prop_assert!(is_near(sum(&inverted), all));
        let time: f64 = whole.order.iter().flat_map(|order| &order.length).sum();
        prop_assert!(is_near(time, all));
    }

    #[test]
    fn a_function_has_in_total_what_its_stacks_have(list in any_stacks()) {
        let whole = of(&list);
        for cost in functions(&whole, 0) {
            let name = &whole.frames[cost.frame as usize].function;
            let on_stack = list.iter().filter(|(stack, _)| stack.split(';').any(|at| at == name));
            prop_assert!(is_near(cost.total.unwrap(), on_stack.map(|(_, value)| value).sum()));
        }
    }

    #[test]
    fn both_sides_of_a_difference_stay_whole(one in any_stacks(), other in any_stacks()) {
        let (before, after) = (of(&one), of(&other));
        let found = difference(&before, &after).unwrap();
        let before_own: f64 = found.functions.iter().map(|change| change.own.before).sum();
        let after_own: f64 = found.functions.iter().map(|change| change.own.after).sum();
        prop_assert!(is_near(before_own, sum(&before)) && is_near(after_own, sum(&after)));
        let tree = difference_tree(&before, &after).unwrap().unwrap().tree;
        prop_assert!(is_near(tree.own[0].iter().sum(), sum(&before)));
        prop_assert!(is_near(tree.own[1].iter().sum(), sum(&after)));
    }

    #[test]
    fn what_is_stored_comes_back(list in any_stacks()) {
        let whole = vec![of(&list)];
        let bytes = stored::encode(&whole).unwrap();
        prop_assert_eq!(&stored::encode(&whole).unwrap(), &bytes, "the same bytes every time");
        prop_assert_eq!(stored::decode(&bytes).unwrap(), whole);
    }
}

#[test]
fn broken_stored_profiles_are_refused() {
    let good = stored::json(&[profile(SAMPLE)]).unwrap();
    let gz = |text: &str| {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    assert!(stored::decode(&gz(&good)).is_ok());
    for (from, to) in [
        ("\"parent\":[-1,0", "\"parent\":[-1,7"),
        ("\"parent\":[-1,0", "\"parent\":[-1,1"),
        ("\"parent\":[-1,0", "\"parent\":[-1"),
        ("\"own\":[[0.5", "\"own\":[[-0.5"),
        ("\"function\":[0", "\"function\":[99"),
        ("\"major\":1", "\"major\":2"),
        ("\"tree\":{", "\"tree\":null,\"x\":{"),
        ("\"weights\":[{", "\"weights\":[],\"y\":[{"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        assert!(stored::decode(&gz(&good.replacen(from, to, 1))).is_err(), "{to}");
    }
    assert!(stored::decode(b"").is_err());
}

#[test]
fn functions_of_one_name_are_told_apart_by_their_lines() {
    let of = |lines: &[(u32, f64)]| {
        let mut one = profile(&[("a", 1.0)]);
        let frame = one.frames[0].clone();
        one.frames = lines.iter().map(|(line, _)| Frame { line: *line, ..frame.clone() }).collect();
        one.body = Body::Tree(Tree {
            parent: vec![NONE; lines.len()],
            frame: (0..u32::try_from(lines.len()).unwrap()).collect(),
            own: vec![lines.iter().map(|(_, own)| *own).collect()],
            calls: Vec::new(),
        });
        (one.lines, one.order) = (Lines::default(), Vec::new());
        one.check().unwrap();
        one
    };
    let before = of(&[(30, 3.0), (10, 1.0), (30, 4.0)]);
    let costs: Vec<(u32, f64)> = functions(&before, 0)
        .iter()
        .map(|cost| (before.frames[cost.frame as usize].line, cost.own))
        .collect();
    assert_eq!(costs, [(30, 7.0), (10, 1.0)]);
    // The file grew above them: the second is still the second.
    let moved = difference(&before, &of(&[(15, 1.0), (35, 9.0)])).unwrap();
    let pairs: Vec<_> = moved
        .functions
        .iter()
        .map(|change| (change.line, change.own.before, change.own.after))
        .collect();
    assert_eq!(pairs, [(35, 7.0, 9.0), (15, 1.0, 1.0)]);
    assert_eq!(
        difference_tree(&before, &of(&[(15, 1.0), (35, 9.0)])).unwrap().unwrap().tree.len(),
        2
    );
    // One more, and nobody knows which is which.
    let more = difference(&before, &of(&[(5, 2.0), (15, 1.0), (35, 9.0)])).unwrap();
    let pairs: Vec<_> =
        more.functions.iter().map(|change| (change.own.before, change.own.after)).collect();
    assert_eq!(pairs, [(8.0, 12.0)]);
    assert_eq!(before.functions().1.len(), 2);
}
