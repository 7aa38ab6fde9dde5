//! Numbers that stand in several files: put together, and named such that they do not clash.

use std::collections::BTreeMap;

use super::{Profiled, SourcedNumber};
use crate::model::names::METRIC_NAME_MAX;
use crate::profile::Reading;
use crate::profile::reading::{Reported, metric_name};
use crate::profile::sniff::Kind;

/// What the files of one criterion benchmark say, each in its own file of one folder.
#[derive(Debug, Default)]
struct Criterion {
    name: String,
    estimate: Option<Reported>,
    samples: Vec<f64>,
}

/// The files of criterion, by their folder.
#[derive(Debug, Default)]
pub(super) struct CriterionFiles(BTreeMap<String, Criterion>);

impl CriterionFiles {
    /// Takes a reading if it is criterion's; gives any other back.
    pub(super) fn take(&mut self, path: &str, mut reading: Reading) -> Option<Reading> {
        let is_criterion =
            matches!(reading.kind, Kind::Criterion | Kind::CriterionName | Kind::CriterionSample);
        if !is_criterion {
            return Some(reading);
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let one = self.0.entry(folder.to_owned()).or_default();
        match reading.kind {
            Kind::CriterionName => one.name = reading.title,
            Kind::Criterion => one.estimate = reading.metrics.pop(),
            _ => {
                one.samples =
                    reading.metrics.pop().map(|sample| sample.samples).unwrap_or_default();
            }
        }
        None
    }

    /// The benchmarks. `base` holds an older run wherever `new` stands beside it.
    pub(super) fn finish(self) -> Vec<SourcedNumber> {
        let is_old = |folder: &str| {
            let stem = folder.strip_suffix("base");
            stem.is_some_and(|stem| self.0.contains_key(&format!("{stem}new")))
        };
        let named = |(folder, one): (&String, &Criterion)| {
            let mut number = one.estimate.clone()?;
            if is_old(folder) {
                return None;
            }
            if !one.name.is_empty() {
                number.name = metric_name(&one.name);
                number.label.clone_from(&one.name);
            }
            number.n = (!one.samples.is_empty()).then_some(one.samples.len() as u64);
            number.samples.clone_from(&one.samples);
            Some(SourcedNumber { number, source: folder.clone(), kind: Kind::Criterion })
        };
        self.0.iter().filter_map(named).collect()
    }
}

/// Names that several files give are told apart by the files' names, all of them, so that a name
/// does not depend on what else there is; what is still the same gets a number.
pub(super) fn tell_apart(profiled: &mut Profiled) {
    let mut names: Vec<(&str, &mut String)> = Vec::new();
    for number in &mut profiled.metrics {
        names.push((&number.source, &mut number.number.name));
    }
    apart(&mut names);
    let mut names: Vec<(&str, &mut String)> = Vec::new();
    for series in &mut profiled.series {
        names.push((&series.source, &mut series.series.name));
    }
    apart(&mut names);
}

fn apart(names: &mut [(&str, &mut String)]) {
    let mut sources: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (source, name) in names.iter() {
        let list = sources.entry((*name).clone()).or_default();
        if !list.contains(source) {
            list.push(source);
        }
    }
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for (source, name) in names.iter_mut() {
        if sources.get(*name).is_some_and(|list| list.len() > 1) {
            let file = source.rsplit('/').next().unwrap_or(source);
            let stem = file.split('.').next().unwrap_or(file);
            **name = metric_name(&format!("{stem}.{name}"));
        }
        let count = taken.entry((*name).clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            let room: String = name.chars().take(METRIC_NAME_MAX - 8).collect();
            **name = format!("{room}.{count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Options, read_bytes};

    fn reading(text: &str) -> Reading {
        read_bytes(text.as_bytes(), &Options::default()).unwrap()
    }

    #[test]
    fn criterions_files_are_one_benchmark() {
        let estimates = |mean: u32| {
            format!(
                r#"{{"mean": {{"point_estimate": {mean}}}, "std_dev": {{"point_estimate": 5}}}}"#
            )
        };
        let mut files = CriterionFiles::default();
        for (path, text) in [
            ("c/g/500/base/estimates.json", estimates(9000)),
            ("c/g/500/new/benchmark.json", r#"{"group_id": "g", "full_id": "g/500"}"#.to_owned()),
            ("c/g/500/new/estimates.json", estimates(1000)),
            ("c/g/500/new/sample.json", r#"{"iters": [1, 2], "times": [10, 40]}"#.to_owned()),
        ] {
            assert!(files.take(path, reading(&text)).is_none(), "{path}");
        }
        assert!(files.take("x", reading("BenchmarkX-2 1 5 ns/op\n")).is_some());
        let found = files.finish();
        assert_eq!(found.len(), 1, "the older run does not count");
        assert_eq!((found[0].number.name.as_str(), found[0].number.n), ("g.500", Some(2)));
        assert!((found[0].number.value - 1e-6).abs() < 1e-15);
    }

    #[test]
    fn names_of_two_files_are_told_apart() {
        let mut list = ["a", "b", "a", "c"].map(str::to_owned);
        let sources = ["x/one.json", "x/one.json", "x/two.json", "x/two.json"];
        let mut names: Vec<(&str, &mut String)> = sources.into_iter().zip(&mut list).collect();
        apart(&mut names);
        assert_eq!(list, ["one.a", "b", "two.a", "c"]);
        let mut list = ["a", "a"].map(str::to_owned);
        let mut names: Vec<(&str, &mut String)> =
            ["one", "one"].into_iter().zip(&mut list).collect();
        apart(&mut names);
        assert_eq!(list, ["a", "a.2"]);
    }
}
