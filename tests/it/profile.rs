//! Profiles of real tools, read whole: nothing is lost, and the figures are the tool's own.

pub(crate) mod support;

use std::fmt::Write as _;

use perftrail::profile::model::{Body, Profile};
use support::{Fixture, all, names};

/// One line a profile: what it is, how much, and the heaviest functions.
fn summary(profile: &Profile) -> String {
    let weights: Vec<_> = profile
        .weights
        .iter()
        .enumerate()
        .map(|(at, weight)| {
            format!(
                "{} {} {} {:.6}",
                weight.name,
                weight.unit,
                weight.measured.as_str(),
                profile.sum(at)
            )
        })
        .collect();
    let body = match &profile.body {
        Body::Tree(tree) => format!("tree of {}", tree.len()),
        Body::Table(table) => {
            format!("table of {}, {} edges", table.frame.len(), table.edges.len())
        }
    };
    let tops: Vec<_> = names(profile).into_iter().take(3).collect();
    format!(
        "  [{}] {body}, {} lines, {} in order, samples {:?}: {}\n      {}\n",
        profile.name,
        profile.lines.line.len(),
        profile.order.iter().map(|order| order.node.len()).sum::<usize>(),
        profile.samples,
        weights.join(" | "),
        tops.join(" | "),
    )
}

#[test]
fn every_sample_is_read() {
    let mut text = String::new();
    for Fixture { name, reading } in all() {
        writeln!(text, "{name}: {}", reading.kind).expect("text");
        for profile in &reading.profiles {
            text.push_str(&summary(profile));
        }
        for metric in &reading.metrics {
            let (name, value, unit) = (&metric.name, metric.value, &metric.unit);
            let (n, kept) = (metric.n, metric.samples.len());
            writeln!(text, "  {name} = {value} {unit} n={n:?} [{kept}]").expect("text");
        }
        for series in &reading.series {
            let points = series.value.len();
            writeln!(text, "  ~{} {} {points} points", series.name, series.unit).expect("text");
        }
        for notice in &reading.notices {
            writeln!(text, "  ! {notice}").expect("text");
        }
    }
    insta::assert_snapshot!("readings", text);
}
