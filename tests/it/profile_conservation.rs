//! Nothing of a profile is lost: the table of `docs/profilers.md`, held against the samples.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use perftrail::profile::model::{Body, NONE, Profile};

use crate::profile::support;

/// A row of the table.
struct Row {
    sample: String,
    what: String,
    sum: String,
    told: String,
}

fn table() -> Vec<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/profilers.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, part) = page.split_once("## Nothing is lost").expect("the part");
    let part = part.split("\n## ").next().expect("its end");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [sample, _, what, sum, told, _] = cells[..] else { panic!("six cells: {line}") };
        let sample = sample.trim_matches('`').to_owned();
        Row { sample, what: what.to_owned(), sum: sum.to_owned(), told: told.to_owned() }
    };
    part.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

/// The number with as many decimals as the other text of it has.
fn like(value: f64, text: &str) -> String {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value:.decimals$}")
}

/// The profile and the place of the weight of that name.
fn weight_of<'p>(profiles: &'p [Profile], what: &str) -> Option<(&'p Profile, usize)> {
    profiles.iter().find_map(|profile| {
        let at = profile.weights.iter().position(|weight| weight.name == what)?;
        Some((profile, at))
    })
}

#[test]
fn sums_are_those_of_the_tools() {
    let rows = table();
    for Row { sample, what, sum, told } in &rows {
        let reading = support::reading(sample);
        let (profile, at) = weight_of(&reading.profiles, what)
            .unwrap_or_else(|| panic!("{sample}: no weight {what}"));
        assert_eq!(like(profile.sum(at), told), *told, "{sample}, {what}: what the tool says");
        assert_eq!(sum, told, "{sample}, {what}: the page's own sum");
    }
    let named: BTreeSet<&str> = rows.iter().map(|row| row.sample.as_str()).collect();
    for fixture in support::all().iter().filter(|fixture| !fixture.reading.profiles.is_empty()) {
        assert!(named.contains(fixture.name.as_str()), "{} has no row", fixture.name);
    }
}

#[test]
fn roots_have_all_that_there_is() {
    for fixture in support::all() {
        for profile in &fixture.reading.profiles {
            let Body::Tree(tree) = &profile.body else { continue };
            for at in 0..profile.weights.len() {
                let totals = tree.totals(at);
                let roots = (0..tree.len()).filter(|node| tree.parent[*node] == NONE);
                let all: f64 = roots.map(|node| totals[node]).sum();
                let sum = profile.sum(at);
                assert!((all - sum).abs() <= 1e-9 * sum.max(1.0), "{}: {all}, {sum}", fixture.name);
            }
        }
    }
}
