//! What holds of every reading, whatever the file: run by the fuzzers and, over their corpus, by the
//! ordinary tests.

use perftrail::profile::model::{Body, NONE, Profile};
use perftrail::profile::names::is_hostile;
use perftrail::profile::view::charged::charged;
use perftrail::profile::view::difference::difference;
use perftrail::profile::view::functions::{functions, top};
use perftrail::profile::view::invert::invert;
use perftrail::profile::view::prune::{Room, prune};
use perftrail::profile::view::time::{left_heavy, spans};
use perftrail::profile::{Kind, Limits, Options, ReadError, Reading, read_as, read_bytes, stored};

/// Small enough for thousands of files a second.
const LIMITS: Limits =
    Limits { bytes: 1 << 20, whole: 1 << 20, nodes: 20_000, frames: 10_000, values: 10_000 };
/// Sums of floats in another order differ by so much of the whole.
const ROUNDING: f64 = 1e-9;

/// What is fuzzed, and as which formats files are read whatever they look like; none: as what they
/// look like.
pub(crate) const TARGETS: [(&str, &[Kind]); 6] = [
    ("sniff", &[]),
    ("pyinstrument", &[Kind::PyinstrumentSession, Kind::PyinstrumentTree, Kind::Html]),
    ("pstats", &[Kind::Pstats]),
    ("collapsed", &[Kind::Collapsed]),
    ("speedscope", &[Kind::Speedscope]),
    ("scalene", &[Kind::Scalene]),
];

/// Reads bytes as the target of that name does, and checks what comes of it.
pub(crate) fn look(target: &str, bytes: &[u8]) {
    let options = Options { file: "out/profile", limits: LIMITS, ..Options::default() };
    let (_, kinds) =
        TARGETS.iter().find(|(name, _)| *name == target).expect("the name of a target");
    if kinds.is_empty() {
        keeps(target, &read_bytes(bytes, &options));
    }
    for kind in *kinds {
        let mut bytes = bytes;
        keeps(kind.as_str(), &read_as(*kind, &mut bytes, &options));
    }
}

fn keeps(what: &str, found: &Result<Reading, ReadError>) {
    holds(what, found);
    for profile in found.iter().flat_map(|reading| &reading.profiles) {
        bounded(what, profile);
        views(what, profile);
    }
}

/// What every reading and every error keeps to.
pub(crate) fn holds(what: &str, found: &Result<Reading, ReadError>) {
    let reading = match found {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.chars().any(is_hostile), "{what}: {text:?}");
            assert!(text.chars().count() < 700, "{what}: {text}");
            return;
        }
        Ok(reading) => reading,
    };
    for profile in &reading.profiles {
        profile.check().unwrap_or_else(|why| panic!("{what}: {why}"));
        for frame in &profile.frames {
            for text in [&frame.function, &frame.file, &frame.module] {
                let bad = text.chars().any(is_hostile) || text.chars().count() > 400;
                assert!(!bad, "{what}: {:?}", text.chars().take(80).collect::<String>());
            }
        }
    }
    for metric in &reading.metrics {
        assert!(metric.value.is_finite(), "{what}: {metric:?}");
        assert!(perftrail::model::names::is_metric_name(&metric.name), "{what}: {}", metric.name);
    }
    for series in &reading.series {
        let lengths = [series.t.len(), series.x.len()];
        assert!(lengths.iter().all(|length| [0, series.value.len()].contains(length)), "{what}");
        assert!(series.value.iter().chain(&series.t).all(|value| value.is_finite()), "{what}");
    }
    for notice in &reading.notices {
        assert!(!notice.chars().any(is_hostile), "{what}: {notice:?}");
    }
}

/// A small file makes no large profile, whatever it promises.
fn bounded(what: &str, profile: &Profile) {
    // Stacks, functions and nodes that are too many each have one in common, and the start of a
    // program has one.
    let room = 4;
    let frames = profile.frames.len();
    assert!(frames <= LIMITS.frames + room, "{what}: {frames} functions");
    if let Body::Tree(tree) = &profile.body {
        assert!(tree.len() <= LIMITS.nodes + room, "{what}: {} nodes", tree.len());
        for weight in 0..profile.weights.len() {
            // What everything spent itself is what the tops spent in total.
            let totals = tree.totals(weight);
            let tops = tree.parent.iter().zip(&totals).filter(|(parent, _)| **parent == NONE);
            same(what, "tops", profile.sum(weight), tops.map(|(_, total)| total).sum());
        }
    }
}

/// Nothing is lost by showing or keeping a profile, or by laying it on itself.
fn views(what: &str, profile: &Profile) {
    let one = std::slice::from_ref(profile);
    let kept = stored::encode(one).unwrap_or_else(|error| panic!("{what}: not kept: {error}"));
    let again = stored::decode(&kept).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(again.len(), 1, "{what}");
    for weight in 0..profile.weights.len() {
        let sum = profile.sum(weight);
        same(what, "kept", sum, again[0].sum(weight));
        let own: f64 = functions(profile, weight).iter().map(|cost| cost.own).sum();
        // Threads and processes are no functions, and may have spent something themselves.
        assert!(own <= sum * (1.0 + ROUNDING) + ROUNDING, "{what}, functions: {own} of {sum}");
        let pruned = prune(profile, weight, Room { nodes: 50, share: 0.001 });
        pruned.check().unwrap_or_else(|why| panic!("{what}: pruned: {why}"));
        same(what, "pruned", sum, pruned.sum(weight));
        if let Body::Tree(tree) = &profile.body {
            let (heavy, _) = left_heavy(tree, weight);
            same(what, "left heavy", sum, heavy.own[weight].iter().sum());
        }
        if let Some(inverted) = invert(profile, weight, 1000) {
            inverted.check().unwrap_or_else(|why| panic!("{what}: inverted: {why}"));
        }
        let charged = charged(profile, weight).unwrap_or_default();
        assert!(charged.iter().all(|(_, cost)| cost.is_finite()), "{what}: charged");
    }
    for thread in 0..profile.order.len() {
        spans(profile, thread, 100, 1000);
    }
    top(one, 20);
    if let Ok(found) = difference(profile, profile) {
        let moved = found.functions.iter().find(|change| change.is_beyond_noise());
        assert!(moved.is_none(), "{what}: differs from itself: {moved:?}");
    }
}

fn same(what: &str, where_: &str, sum: f64, other: f64) {
    let room = ROUNDING * sum.abs().max(1.0);
    assert!((sum - other).abs() <= room, "{what}, {where_}: {other} instead of {sum}");
}
