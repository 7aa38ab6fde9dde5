//! Names of jobs, steps and params: fit, unique, not reserved.

use std::collections::BTreeMap;
use std::ops::Range;

use super::problem::{Sink, What, shown};
use crate::model::names::is_job_name;

/// A name with its place in the file.
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Range<usize>,
}

/// Tells of every name that is unfit, reserved, or there already without regard to case.
pub(crate) fn unique(
    names: &[Named<'_>],
    kind: &'static str,
    reserved: &'static [&'static str],
    sink: &Sink,
) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for Named { name, span } in names {
        if !is_job_name(name) {
            sink.add(span, What::BadName { kind, name: shown(name) });
            continue;
        }
        let lower = name.to_ascii_lowercase();
        if reserved.contains(&lower.as_str()) {
            sink.add(
                span,
                What::ReservedName {
                    kind,
                    name: (*name).to_owned(),
                    reserved: reserved.iter().map(|word| (*word).to_owned()).collect(),
                },
            );
        }
        let line = sink.line(span.start);
        if let Some(first) = seen.get(&lower) {
            sink.add(span, What::Duplicate { kind, name: (*name).to_owned(), first: *first });
        } else {
            seen.insert(lower, line);
        }
    }
}
