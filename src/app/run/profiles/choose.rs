//! One run's samples are often written in several formats: one of them is enough.

use super::{Profiled, SourcedProfile};
use crate::profile::model::Profile;
use crate::profile::sniff::Kind;
use crate::record::{Level, Notice};

/// Sums of two formats of one run agree to this: some round, some leave out what is rare.
const SAME: f64 = 0.02;

/// Leaves one profile of those that show the same run of the same profiler in the same step: the
/// one that lost least on its way.
pub(super) fn one_of_each(profiled: &mut Profiled) {
    let mut kept: Vec<SourcedProfile> = Vec::new();
    for sourced in std::mem::take(&mut profiled.profiles) {
        let twin = kept.iter().position(|other| is_same_run(&other.profile, &sourced.profile));
        let Some(at) = twin.filter(|at| kept[*at].source != sourced.source) else {
            kept.push(sourced);
            continue;
        };
        let better = loss(sourced.profile.format) < loss(kept[at].profile.format);
        let (winner, loser) = if better {
            let loser = std::mem::replace(&mut kept[at], sourced);
            (&kept[at], loser)
        } else {
            (&kept[at], sourced)
        };
        profiled.notices.push(Notice {
            level: Level::Info,
            code: "profile_twice".to_owned(),
            message: format!(
                "{} shows the same as {}, in a format that tells less: it is not kept as a profile",
                loser.source, winner.source
            ),
        });
    }
    profiled.profiles = kept;
}

fn is_same_run(one: &Profile, other: &Profile) -> bool {
    let (Some(a), Some(b)) = (one.weights.first(), other.weights.first()) else { return false };
    let Some(family) = family(one) else { return false };
    let (sum, other_sum) = (one.sum(0), other.sum(0));
    one.step == other.step
        && self::family(other) == Some(family)
        && a.unit == b.unit
        && a.measured == b.measured
        && one.name == other.name
        && (sum - other_sum).abs() <= SAME * sum.max(other_sum)
}

/// The profiler, where several formats tell it.
fn family(profile: &Profile) -> Option<&'static str> {
    const NAMES: [&str; 3] = ["pyinstrument", "scalene", "py-spy"];
    match profile.format {
        Kind::PyinstrumentSession | Kind::PyinstrumentJson | Kind::PyinstrumentTree => {
            Some("pyinstrument")
        }
        Kind::Scalene => Some("scalene"),
        _ => {
            let tool = profile.tool.as_deref()?.to_ascii_lowercase();
            NAMES.into_iter().find(|name| tool.starts_with(name))
        }
    }
}

/// How much a format loses: 0 keeps every sample.
fn loss(kind: Kind) -> u8 {
    match kind {
        Kind::PyinstrumentSession => 0,
        Kind::PyinstrumentTree => 1,
        Kind::PyinstrumentJson => 2,
        _ => 3,
    }
}
