//! Fixtures, and short ways to look at profiles.

use std::fs;
use std::path::{Path, PathBuf};

use perftrail::profile::model::{Body, Profile};
use perftrail::profile::{Options, Reading, read_bytes};

/// A file of a real tool, read.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) reading: Reading,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profiles")
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Reads a fixture, which has to be readable.
pub(crate) fn reading(name: &str) -> Reading {
    read_bytes(&bytes(name), &Options { file: name, ..Options::default() })
        .unwrap_or_else(|error| panic!("{error}"))
}

/// All fixtures that are meant to be read, by name.
pub(crate) fn all() -> Vec<Fixture> {
    let mut names: Vec<_> = fs::read_dir(folder())
        .expect("fixtures")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| {
            name != "README.md"
                && !name.ends_with(".txt.figures")
                && name != "scalene-1-console.html.gz"
        })
        .filter(|name| name != "pyinstrument.txt")
        .collect();
    names.sort();
    names.into_iter().map(|name| Fixture { reading: reading(&name), name }).collect()
}

/// Functions with what they have themselves of the first weight, the heaviest first.
pub(crate) fn names(profile: &Profile) -> Vec<String> {
    let (frame, own) = match &profile.body {
        Body::Tree(tree) => (&tree.frame, &tree.own[0]),
        Body::Table(table) => (&table.frame, &table.own[0]),
    };
    let (function, first) = profile.functions();
    let mut sums = vec![0.0; first.len()];
    for (frame, own) in frame.iter().zip(own) {
        sums[function[*frame as usize] as usize] += own;
    }
    let mut order: Vec<_> = (0..sums.len()).collect();
    order.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b)));
    order
        .into_iter()
        .map(|at| {
            let frame = &profile.frames[first[at] as usize];
            format!(
                "{} {}:{} <{} {:?}> {:.6}",
                frame.function, frame.file, frame.line, frame.module, frame.origin, sums[at]
            )
        })
        .collect()
}
