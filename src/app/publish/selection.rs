//! Which files of a bundle enter the results repository, and why the others do not.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Options;
use crate::app::log;
use crate::bundle::read::{Bundle, BundleFile};
use crate::bundle::write::gzip;
use crate::config::{LogPolicy, RawPolicy};
use crate::model::metric::Unit;
use crate::model::quantity::human;
use crate::record::layout::{
    CALL_TREE_FILE, LOG_FILE, PAGE_FILE, RAW_DIR, README_FILE, RECORD_FILE,
};
use crate::record::series::SERIES_FILE;
use crate::record::{FileRole, canonical};
use crate::results::path::{RepoPath, Siblings};

/// No file is larger than this before compression: hosts refuse files of 100 MiB and warn from 50.
const PLAIN_MAX: u64 = 45 << 20;

/// Names that a browser runs or renders: on a site they could act in its owner's name.
const ACTIVE: &[&str] = &[
    "html", "htm", "xhtml", "xht", "shtml", "svg", "svgz", "xml", "xsl", "xslt", "js", "mjs",
    "mhtml", "swf",
];

/// What of a bundle is published.
#[derive(Debug)]
pub(super) struct Selection {
    /// Files by their path in the run's folder.
    pub(super) taken: Vec<Taken>,
    /// What is not taken, in order of the paths.
    pub(super) left_out: Vec<LeftOut>,
}

/// A file that is published.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) path: RepoPath,
    content: Content,
}

#[derive(Debug)]
enum Content {
    AsItIs(BundleFile),
    Made(Vec<u8>),
}

/// Something that stays in the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path in the bundle.
    pub path: String,
    /// Its size in bytes; `None` for what is no plain file.
    pub bytes: Option<u64>,
    /// Why, for people.
    pub reason: String,
}

impl Taken {
    /// What is published under the path.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        match &self.content {
            Content::AsItIs(file) => file.read(),
            Content::Made(bytes) => Ok(bytes.clone()),
        }
    }
}

/// Chooses files until the run's budget is used up: data and log first, then what was collected
/// or kept, raw profiler files last. The record itself is always published.
pub(super) fn select(bundle: &Bundle, options: &Options) -> Selection {
    let mut files: Vec<&BundleFile> = bundle.files.iter().filter(|file| !is_page(file)).collect();
    files.sort_by_key(|file| rank(&file.path));
    let mut chosen = Choosing::new(bundle, options);
    let mut selection = Selection { taken: Vec::new(), left_out: Vec::new() };
    for file in files {
        match chosen.take(file) {
            Ok(taken) => selection.taken.push(taken),
            Err(reason) => {
                let (path, bytes) = (file.path.clone(), Some(file.bytes));
                selection.left_out.push(LeftOut { path, bytes, reason });
            }
        }
    }
    selection.left_out.extend(bundle.refused.iter().map(|refused| LeftOut {
        path: refused.path.clone(),
        bytes: None,
        reason: refused.why.to_string(),
    }));
    selection.left_out.extend(missing(bundle));
    selection.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    selection
}

/// Whether the job wrote it: our own files have checks of their own when they are read.
fn is_of_job(path: &str) -> bool {
    rank(path) >= 2
}

/// Files of the job that the record names and the bundle does not hold any more.
fn missing(bundle: &Bundle) -> impl Iterator<Item = LeftOut> {
    let is_there = |path: &str| {
        bundle.files.iter().any(|file| file.path == path)
            || bundle.refused.iter().any(|refused| refused.path == path)
    };
    let named = bundle.record.record.files.iter().filter(|file| file.left_out.is_none());
    named.filter(move |file| is_of_job(&file.path) && !is_there(&file.path)).map(|file| LeftOut {
        path: file.path.clone(),
        bytes: Some(file.bytes),
        reason: "the bundle does not hold it any more".to_owned(),
    })
}

/// Pages are made anew from the record.
fn is_page(file: &BundleFile) -> bool {
    [README_FILE, PAGE_FILE, CALL_TREE_FILE].contains(&file.path.as_str())
}

fn rank(path: &str) -> u8 {
    match path.split_once('/') {
        None if path == SERIES_FILE => 0,
        None => 1,
        Some((RAW_DIR, _)) => 3,
        Some(_) => 2,
    }
}

/// What has been chosen so far.
struct Choosing<'a> {
    bundle: &'a Bundle,
    options: &'a Options,
    siblings: Siblings,
    used: u64,
}

impl<'a> Choosing<'a> {
    fn new(bundle: &'a Bundle, options: &'a Options) -> Self {
        let mut siblings = Siblings::default();
        for path in [RECORD_FILE, README_FILE, PAGE_FILE, CALL_TREE_FILE]
            .map(RepoPath::ours)
            .into_iter()
            .flatten()
        {
            // Names that differ in more than case.
            let _ = siblings.add(&path);
        }
        let used = bundle.record.bytes().map_or(0, |bytes| compressed(RECORD_FILE, &bytes));
        Self { bundle, options, siblings, used }
    }

    /// The file as it is to be published, or why it is not.
    fn take(&mut self, file: &BundleFile) -> Result<Taken, String> {
        let path = RepoPath::hostile(&file.path).map_err(|error| error.to_string())?;
        self.allowed(file)?;
        if file.bytes > PLAIN_MAX {
            return Err(format!("it is larger than {}", size(PLAIN_MAX)));
        }
        let bytes = file.read().map_err(|error| format!("it cannot be read: {error}"))?;
        if self.digest(&file.path).is_some_and(|digest| canonical::sha256_hex(&bytes) != *digest) {
            return Err("it was changed after the run".to_owned());
        }
        let (content, cost) = if file.path == LOG_FILE && self.options.rules.log == LogPolicy::Tail
        {
            let tail = log::tail(&bytes).and_then(|tail| gzip(&tail));
            let tail = tail.map_err(|error| format!("it cannot be unpacked: {error}"))?;
            let cost = tail.len() as u64;
            (Content::Made(tail), cost)
        } else {
            (Content::AsItIs(file.clone()), compressed(&file.path, &bytes))
        };
        let (max_file, max_run) = (self.options.rules.max_file, self.options.rules.max_run);
        if cost > max_file {
            return Err(format!("it is larger than {} after compression", size(max_file)));
        }
        if self.used + cost > max_run {
            return Err(format!(
                "the run would be larger than {} after compression",
                size(max_run)
            ));
        }
        self.siblings.add(&path).map_err(|error| error.to_string())?;
        self.used += cost;
        Ok(Taken { path, content })
    }

    fn allowed(&self, file: &BundleFile) -> Result<(), String> {
        if file.path == LOG_FILE && self.options.rules.log == LogPolicy::None {
            return Err("the configuration publishes no log".to_owned());
        }
        if rank(&file.path) == 3 && self.options.rules.raw != RawPolicy::Publish {
            return Err("the configuration publishes no raw files of profilers".to_owned());
        }
        if is_active(&file.path) && !self.is_kept(&file.path) {
            return Err(
                "a browser would run or render it; `keep` with `html = true` publishes such files on trusted events"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What the record says of the content of a file of the job.
    fn digest(&self, path: &str) -> Option<&String> {
        let mut files = self.bundle.record.record.files.iter().filter(|file| is_of_job(&file.path));
        files.find(|file| file.path == path && file.left_out.is_none())?.sha256.as_ref()
    }

    fn is_kept(&self, path: &str) -> bool {
        let files = &self.bundle.record.record.files;
        self.options.trusted
            && files.iter().any(|file| file.path == path && file.role == FileRole::Kept)
    }
}

fn is_active(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // `x.html.gz` may be served as what it unpacks to.
    name.to_lowercase().split('.').skip(1).any(|part| ACTIVE.contains(&part))
}

/// What a file costs in the repository, which compresses what is not compressed yet.
fn compressed(path: &str, bytes: &[u8]) -> u64 {
    let is_packed = Path::new(path).extension().is_some_and(|ending| ending == "gz");
    if is_packed {
        return bytes.len() as u64;
    }
    let mut encoder = GzEncoder::new(Counter(0), Compression::default());
    // Counting cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().map_or(bytes.len() as u64, |counter| counter.0)
}

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn size(bytes: u64) -> String {
    human(bytes as f64, &Unit::Bytes)
}
