//! Writes `profile.json.gz` and the raw files, and tells the record of them.

use std::io::Read;

use super::{Profiled, SourcedProfile};
use crate::bundle::write::{BundleWriter, gzip};
use crate::config::RawPolicy;
use crate::model::metric::built_in;
use crate::profile::model::{Body, Profile};
use crate::profile::stored;
use crate::profile::view::{functions, prune};
use crate::record::layout::RAW_DIR;
use crate::record::profiles::{FUNCTIONS_MAX, PROFILE_FILE, ProfileSummary, Shape, WeightSum};
use crate::record::secrets::{self, Sight};
use crate::record::{File, FileRole, Level, Metric, Notice, Record, canonical};
use crate::source::files::{self, FoundFile};

/// Most functions of one profile in the record.
const FUNCTIONS_OF_ONE: usize = 30;
/// Nodes that are kept of a profile whose file would be too large, the first that fits.
const ROOMS: [usize; 5] = [100_000, 20_000, 5_000, 1_500, 400];

/// Larger raw files are not copied.
const RAW_MAX: u64 = 2 << 30;

/// How the files are kept.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Kept {
    /// What becomes of raw files.
    pub raw: RawPolicy,
    /// The largest `profile.json.gz`, in bytes.
    pub max_file: u64,
}

/// Writes what was read into the bundle and the record; gives the profiles that are kept.
pub(in super::super) fn keep(
    bundle: &BundleWriter,
    record: &mut Record,
    profiled: &Profiled,
    rules: Kept,
) -> Vec<Profile> {
    let Profiled { profiles, metrics, series: _, notices, raw } = profiled;
    record.notices.extend(notices.iter().cloned());
    for number in metrics {
        let name = if built_in(&number.number.name).is_some() {
            format!("job.{}", number.number.name)
        } else {
            number.number.name.clone()
        };
        record.metrics.entry(name).or_insert_with(|| metric(number));
    }
    let mut kept = Vec::new();
    if !profiles.is_empty() {
        match keep_profiles(bundle, record, profiles.clone(), rules.max_file) {
            Ok(profiles) => kept = profiles,
            Err(why) => record.notices.push(warning("profile_not_kept", why)),
        }
    }
    for file in raw {
        let listed = keep_raw(bundle, file, rules.raw);
        record.files.push(listed);
    }
    kept
}

fn warning(code: &str, message: String) -> Notice {
    Notice { level: Level::Warning, code: code.to_owned(), message }
}

/// So many samples of a benchmark stand in the record.
const SAMPLES_MAX: usize = 64;

/// Results of a tool are told by the tool, for its files have other names in each run.
fn metric(number: &super::SourcedNumber) -> Metric {
    let reported = &number.number;
    let is_tool = number.kind.is_measurement();
    // Of more samples, and of what is no median of them, the record holds the result alone.
    let fits = reported.method == "median" && (1..=SAMPLES_MAX).contains(&reported.samples.len());
    let repetitions = if fits { reported.samples.clone() } else { vec![reported.value] };
    let source = if is_tool { number.kind.to_string() } else { number.source.clone() };
    let method = match (reported.method.is_empty(), is_tool) {
        (false, _) => &reported.method,
        (true, true) => "told",
        (true, false) => "profiler",
    };
    Metric {
        value: reported.value,
        unit: reported.unit.clone(),
        better: reported.better,
        source,
        method: method.to_owned(),
        exactness: reported.exactness,
        lower: None,
        upper: None,
        n: u32::try_from(repetitions.len()).unwrap_or(u32::MAX),
        repetitions,
    }
}

fn keep_profiles(
    bundle: &BundleWriter,
    record: &mut Record,
    mut profiles: Vec<SourcedProfile>,
    max_file: u64,
) -> Result<Vec<Profile>, String> {
    // Of the whole profiles: later they may be made smaller.
    let each = (FUNCTIONS_MAX / profiles.len().max(1)).clamp(1, FUNCTIONS_OF_ONE);
    let mut top = functions::top(profiles.iter().map(|sourced| &sourced.profile), each);
    top.truncate(FUNCTIONS_MAX);
    let counts: Vec<u64> = profiles
        .iter()
        .map(|sourced| functions::functions(&sourced.profile, 0).len() as u64)
        .collect();
    let text = fit(&mut profiles, max_file)?;
    // Names and source lines are clean by now; whatever else there is of a profile must be so too.
    if bundle.redactor().finds(text.as_bytes()) {
        return Err("it holds what looks like a secret: the run has no profile".to_owned());
    }
    bundle
        .write_gz(PROFILE_FILE, text.as_bytes())
        .map_err(|error| format!("failed to {error}: the run has no profile"))?;
    record.files.push(File {
        path: PROFILE_FILE.to_owned(),
        bytes: text.len() as u64,
        sha256: Some(canonical::sha256_hex(text.as_bytes())),
        role: FileRole::Bundle,
        left_out: None,
    });
    for ((place, sourced), functions) in (0_u32..).zip(&profiles).zip(counts) {
        record.profiles.push(summary(place, sourced, functions));
    }
    record.functions = top;
    Ok(profiles.into_iter().map(|sourced| sourced.profile).collect())
}

/// The profiles as text that is small enough after gzip; they are made smaller until it is.
fn fit(profiles: &mut [SourcedProfile], max_file: u64) -> Result<String, String> {
    let mut rooms = ROOMS.into_iter();
    loop {
        let list: Vec<&Profile> = profiles.iter().map(|sourced| &sourced.profile).collect();
        let text = stored::json_of(&list).map_err(|error| format!("no profile: {error}"))?;
        let packed = gzip(text.as_bytes()).map_or(u64::MAX, |packed| packed.len() as u64);
        if packed <= max_file {
            return Ok(text);
        }
        let Some(nodes) = rooms.next() else {
            return Err(format!(
                "the profiles are {packed} B after gzip even when only their heaviest parts are \
                 kept, more than max_file ({max_file} B): the run has no profile"
            ));
        };
        for sourced in profiles.iter_mut() {
            smaller(sourced, nodes);
        }
    }
}

fn smaller(sourced: &mut SourcedProfile, nodes: usize) {
    let before = size(&sourced.profile);
    sourced.profile.order.retain(|order| order.node.len() <= nodes);
    if before > nodes as u64 {
        sourced.whole.get_or_insert(before);
        let room = prune::Room { nodes, share: 0.0 };
        sourced.profile = prune::prune(&sourced.profile, 0, room);
    }
    sourced.profile = prune::compact(&sourced.profile, nodes);
}

fn size(profile: &Profile) -> u64 {
    match &profile.body {
        Body::Tree(tree) => tree.len() as u64,
        Body::Table(table) => table.frame.len() as u64,
    }
}

fn summary(place: u32, sourced: &SourcedProfile, functions: u64) -> ProfileSummary {
    let profile = &sourced.profile;
    let weights = profile.weights.iter().enumerate().map(|(at, weight)| WeightSum {
        name: weight.name.clone(),
        unit: weight.unit.clone(),
        measured: weight.measured,
        sum: profile.sum(at),
    });
    let nodes = size(profile);
    ProfileSummary {
        file: PROFILE_FILE.to_owned(),
        place,
        name: profile.name.clone(),
        step: profile.step.clone(),
        source: sourced.source.clone(),
        format: profile.format.as_str().to_owned(),
        tool: profile.tool.clone(),
        shape: if profile.tree().is_some() { Shape::Tree } else { Shape::Table },
        weights: weights.collect(),
        functions,
        nodes: sourced.whole.unwrap_or(nodes),
        kept: sourced.whole.map(|_| nodes),
        samples: profile.samples,
        interval: profile.interval,
        duration: profile.duration,
    }
}

/// Puts a raw file into the bundle, verbatim.
fn keep_raw(bundle: &BundleWriter, file: &FoundFile, policy: RawPolicy) -> File {
    let path = format!("{RAW_DIR}/{}", bundle.redactor().name(&file.path));
    let out = |why: String| File {
        path: path.clone(),
        bytes: file.bytes,
        sha256: None,
        role: FileRole::Raw,
        left_out: Some(why),
    };
    if policy == RawPolicy::Never {
        return out("`raw = \"never\"`: raw files of profilers are dropped".to_owned());
    }
    if file.bytes > RAW_MAX {
        return out(format!("larger than {RAW_MAX} B, the most that is copied"));
    }
    // What profilers write stays byte for byte: with a secret it is not kept at all.
    let looked =
        files::open_regular(&file.absolute).map_err(|error| error.to_string()).and_then(|source| {
            secrets::look(bundle.redactor(), source.take(RAW_MAX))
                .map_err(|error| error.to_string())
        });
    match looked.map(Sight::reason) {
        Ok(None) => {}
        Ok(Some(why)) => return out(why.to_owned()),
        Err(why) => return out(format!("failed to {why}")),
    }
    let source = match files::open_regular(&file.absolute) {
        Ok(source) => source,
        Err(error) => return out(format!("failed to {error}")),
    };
    match bundle.copy(&path, &mut source.take(RAW_MAX)) {
        Ok((bytes, sha256)) => {
            File { path, bytes, sha256: Some(sha256), role: FileRole::Raw, left_out: None }
        }
        Err(error) => out(format!("failed to {error}")),
    }
}
