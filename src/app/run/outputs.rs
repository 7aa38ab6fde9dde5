//! What the job left on disk: found, counted, read, and kept within the budget.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::bytes::Regex;

use super::ledger::Besides;
use super::values::{Value, Values};
use crate::bundle::write::{BundleWriter, gzip};
use crate::config::KeepRule;
use crate::measure::{Counters, MeasureError};
use crate::model::metric::{Better, Unit};
use crate::plan::files::Selector;
use crate::record::layout::FILES_DIR;
use crate::record::secrets::{self, Sight};
use crate::record::{File, FileRole, Level, Notice, canonical};
use crate::source::files::{self, FilesError, Found, FoundFile};

/// So many files are named in a record; what is beyond is counted.
const LISTED_MAX: usize = 200;
/// A file larger than so many times its budget is not even compressed: it cannot fit.
const HOPELESS: u64 = 64;
/// A collected log is counted up to this size.
const LOG_MAX: u64 = 256 << 20;

/// Where a job's outputs are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// The folder that patterns are relative to.
    pub root: &'a Path,
    /// The folder that the job was given for its output: everything in it is collected.
    pub output: &'a Path,
}

/// How much of the outputs a bundle keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// The largest file, in bytes after gzip.
    pub max_file: u64,
    /// All files together, in bytes after gzip.
    pub max_run: u64,
}

/// The job's outputs: files that match `patterns`, and everything in the output folder.
///
/// # Errors
/// When a pattern is none.
pub(super) fn find(places: Places<'_>, patterns: &[String]) -> Result<Found, FilesError> {
    let mut found = files::find(places.root, patterns)?;
    found.join(files::find_all(places.output)?);
    Ok(found)
}

/// Those of the files that are outputs: in the output folder, or named by `patterns`.
pub(super) fn collected(fresh: &Found, places: Places<'_>, patterns: &[String]) -> Found {
    let mut found = fresh.clone();
    // The configuration has checked that the patterns are some.
    let selector = Selector::new(patterns).ok();
    found.files.retain(|file| {
        file.absolute.starts_with(places.output)
            || selector.as_ref().is_some_and(|selector| selector.matches(&file.path))
    });
    found
}

/// Sizes as metrics, and counts over the logs among the files.
///
/// # Errors
/// When a counter's pattern is refused.
pub(super) fn count(found: &Found, counters: &[(String, Regex)]) -> Result<Besides, MeasureError> {
    let number = |value: f64, unit| {
        Value::counted(value, unit, Better::Neither, "filesystem", "new_or_changed")
    };
    let values = Values::from([
        ("output_bytes".to_owned(), number(found.bytes() as f64, Unit::Bytes)),
        ("output_files".to_owned(), number(found.files.len() as f64, Unit::Count)),
    ]);
    let counters = Counters::new(counters)?;
    let mut log_counts = BTreeMap::new();
    for log in found.files.iter().filter(|file| is_log(&file.path)) {
        // A log that vanished or cannot be read has no lines for us.
        let Ok((bytes, _)) = files::read_head(&log.absolute, LOG_MAX) else { continue };
        if log_counts.is_empty() {
            log_counts = counters.zero();
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            counters.count(line, &mut log_counts);
        }
    }
    Ok(Besides { values, log_counts, notices: oddities(found), ..Besides::default() })
}

fn is_log(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("log"))
}

fn oddities(found: &Found) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !found.passed_over.is_empty() {
        let list: Vec<String> =
            found.passed_over.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        notices.push(Notice {
            level: Level::Warning,
            code: "outputs_passed_over".to_owned(),
            message: format!(
                "among the outputs were things that are no regular files, and they are not collected: {}",
                list.join(", ")
            ),
        });
    }
    if found.stopped_early {
        notices.push(Notice {
            level: Level::Warning,
            code: "outputs_too_many".to_owned(),
            message: "the job left more files than are searched: sizes and counts of outputs are \
                      those of the first ones; make the patterns narrower"
                .to_owned(),
        });
    }
    notices
}

/// Copies the files into the bundle as far as the budget goes, and lists all of them.
pub(super) fn keep(
    bundle: &BundleWriter,
    collected: &Found,
    rules: &[KeepRule],
    budget: Budget,
    root: &Path,
) -> (Vec<File>, Vec<Notice>) {
    let verbatim = kept(rules, root);
    let kept_paths: BTreeSet<&Path> = verbatim.iter().map(|file| file.absolute.as_path()).collect();
    let rest = collected.files.iter().filter(|file| !kept_paths.contains(file.absolute.as_path()));
    let all = verbatim
        .iter()
        .map(|file| (file, FileRole::Kept))
        .chain(rest.map(|file| (file, FileRole::Collected)));
    let mut keeper = Keeper { bundle, budget, used: 0, files: Vec::new(), unlisted: (0, 0) };
    for (file, role) in all {
        keeper.take(file, role);
    }
    keeper.finish()
}

fn kept(rules: &[KeepRule], root: &Path) -> Vec<FoundFile> {
    let patterns: Vec<String> = rules.iter().map(|rule| rule.path.clone()).collect();
    files::find(root, &patterns).map(|found| found.files).unwrap_or_default()
}

struct Keeper<'a> {
    bundle: &'a BundleWriter,
    budget: Budget,
    used: u64,
    files: Vec<File>,
    unlisted: (u64, u64),
}

impl Keeper<'_> {
    fn take(&mut self, file: &FoundFile, role: FileRole) {
        if self.files.len() >= LISTED_MAX {
            self.unlisted.0 += 1;
            self.unlisted.1 += file.bytes;
            return;
        }
        let path = format!("{FILES_DIR}/{}", self.bundle.redactor().name(&file.path));
        if self.files.iter().any(|other| other.path.eq_ignore_ascii_case(&path)) {
            self.list(
                path,
                file.bytes,
                None,
                role,
                Some("another file has this name, but for its case"),
            );
            return;
        }
        match self.content(file) {
            Err(why) => self.list(path, file.bytes, None, role, Some(&why)),
            Ok(bytes) => {
                let size = bytes.len() as u64;
                // Files stay byte for byte what the job wrote: one with a secret is not kept at all.
                let sight = secrets::look(self.bundle.redactor(), bytes.as_slice());
                if let Some(why) = sight.map_or(Some("it cannot be read"), Sight::reason) {
                    return self.list(path, size, None, role, Some(why));
                }
                let digest = canonical::sha256_hex(&bytes);
                // A full disk costs this file, not the run.
                let why = self.no_room_for(&bytes).or_else(|| {
                    self.bundle.write(&path, &bytes).err().map(|error| error.to_string())
                });
                self.list(path, size, Some(digest), role, why.as_deref());
            }
        }
    }

    fn content(&self, file: &FoundFile) -> Result<Vec<u8>, String> {
        let limit = self.budget.max_file.saturating_mul(HOPELESS);
        if file.bytes > limit {
            return Err(format!(
                "larger than {HOPELESS} times max_file ({} B)",
                self.budget.max_file
            ));
        }
        match files::read_head(&file.absolute, limit) {
            Ok((bytes, false)) => Ok(bytes),
            Ok((_, true)) => Err("it grew while it was read".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn no_room_for(&mut self, bytes: &[u8]) -> Option<String> {
        let Budget { max_file, max_run } = self.budget;
        let packed = gzip(bytes).map_or(u64::MAX, |packed| packed.len() as u64);
        if packed > max_file {
            return Some(format!("{packed} B after gzip, more than max_file ({max_file} B)"));
        }
        if self.used + packed > max_run {
            return Some(format!("the run's files reach max_run ({max_run} B after gzip)"));
        }
        self.used += packed;
        None
    }

    fn list(
        &mut self,
        path: String,
        bytes: u64,
        sha256: Option<String>,
        role: FileRole,
        why: Option<&str>,
    ) {
        self.files.push(File { path, bytes, sha256, role, left_out: why.map(str::to_owned) });
    }

    fn finish(self) -> (Vec<File>, Vec<Notice>) {
        let (count, bytes) = self.unlisted;
        let notices = if count == 0 {
            Vec::new()
        } else {
            vec![Notice {
                level: Level::Warning,
                code: "outputs_not_listed".to_owned(),
                message: format!(
                    "{count} more output files ({bytes} B) are counted, but neither listed nor kept: \
                     a record names {LISTED_MAX}"
                ),
            }]
        };
        (self.files, notices)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::record::redact::Redactor;

    #[test]
    fn files_that_cannot_be_kept_are_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job");
        fs::create_dir(&job).unwrap();
        for (name, content) in [
            ("a.csv", "1"),
            ("gone.csv", "1"),
            ("key.txt", "x=hunter2secret"),
            ("hunter2secret.txt", "2"),
        ] {
            fs::write(job.join(name), content).unwrap();
        }
        let found = files::find(&job, &["**".to_owned()]).unwrap();
        fs::remove_file(job.join("gone.csv")).unwrap();
        let redactor = Redactor::new(["hunter2secret"]);
        let bundle = BundleWriter::create(&folder.path().join("out"), "run", redactor).unwrap();
        let budget = Budget { max_file: 1000, max_run: 1000 };
        let (listed, notices) = keep(&bundle, &found, &[], budget, &job);
        let told: Vec<_> =
            listed.iter().map(|file| (file.path.as_str(), file.left_out.is_some())).collect();
        assert_eq!(
            told,
            [
                ("files/a.csv", false),
                ("files/gone.csv", true),
                ("files/___.txt", false),
                ("files/key.txt", true),
            ]
        );
        assert!(listed[1].left_out.as_ref().is_some_and(|why| why.contains("No such file")));
        assert_eq!((listed[3].sha256.as_deref(), notices.len()), (None, 0));
        assert!(bundle.folder().join("files/___.txt").is_file());
        assert!(!bundle.folder().join("files/key.txt").exists());
    }
}
