//! Brings in what other tools keep: reads their files, makes a bundle of each run, and says which
//! runs the results repository has already. Publishing them is what it always is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::index::Index;
use crate::bundle::scratch::{Scratch, ScratchError};
use crate::bundle::write::{BundleWriter, WriteError};
use crate::model::names::CommitSha;
use crate::record::foreign::record::Around;
use crate::record::foreign::{Brought, FILE_MAX, ForeignError, asv, data_js, pytest, tlomodel};
use crate::record::redact::Redactor;
use crate::record::series::{SERIES_FILE, SeriesFile};
use crate::record::{File, FileRole, Repository, canonical};
use crate::report::IN_RESULTS;
use crate::results::tip::Tip;
use crate::results::{Results, ResultsError};
use crate::source::files::{self, FilesError, FoundFile};
use crate::source::{ancestry, git};

/// More runs are not brought in at once.
const RUNS_MAX: usize = 20_000;

/// A tool whose results can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The tree of TLOmodel-profiling.
    Tlomodel,
    /// `data.js` of github-action-benchmark.
    DataJs,
    /// The results folder of airspeed velocity.
    Asv,
    /// The storage of pytest-benchmark.
    Pytest,
}

/// What is brought in.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Whose results.
    pub kind: Kind,
    /// The folder or file.
    pub path: PathBuf,
    /// The measured project; `None`: as the files say.
    pub project: Option<Repository>,
    /// The name of its default branch.
    pub default_branch: String,
    /// Names the machine group; `None`: as the files say.
    pub machine: Option<String>,
    /// Where a clone of the project may be.
    pub folder: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The runs, oldest first.
    pub runs: Vec<Brought>,
    /// The project, as the files say.
    pub project: Option<Repository>,
    /// Files that tell of no run, each with its reason.
    pub passed_over: Vec<String>,
}

/// Bundles of what is not in the results repository yet; they live as long as this.
#[derive(Debug)]
pub struct Bundles {
    /// The bundles, oldest first.
    pub folders: Vec<PathBuf>,
    /// Runs that are there already.
    pub known: usize,
    _scratch: Scratch,
}

/// Why nothing is brought in.
#[derive(Debug, thiserror::Error)]
pub enum BringError {
    /// There is nothing to read.
    #[error("{} holds no {wanted}", path.display())]
    Nothing {
        /// The folder or file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// There is too much.
    #[error("{} holds {count} runs, and at most {RUNS_MAX} are brought in at once", path.display())]
    Many {
        /// The folder or file.
        path: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// The file is none of that tool's.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// Files cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// There is no place for the bundles.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A bundle cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The results repository cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl Kind {
    /// What its files are.
    const fn wanted(self) -> &'static str {
        match self {
            Self::Tlomodel => "*.stats.json of TLOmodel-profiling",
            Self::DataJs => "data.js of github-action-benchmark",
            Self::Asv => "results of asv, <machine>/<commit>-<environment>.json",
            Self::Pytest => "JSON files of pytest-benchmark",
        }
    }

    const fn patterns(self) -> &'static [&'static str] {
        match self {
            Self::Tlomodel => &["**/*.json", "**/*.html", "**/*.csv", "**/*.log"],
            Self::DataJs => &["**/data.js"],
            Self::Asv | Self::Pytest => &["**/*.json"],
        }
    }

    /// The profiler that its jobs ran under.
    const fn profiler(self) -> &'static str {
        match self {
            Self::Tlomodel => "pyinstrument",
            Self::DataJs | Self::Asv | Self::Pytest => "none",
        }
    }
}

/// Reads what there is.
///
/// # Errors
/// When there is nothing of that tool.
pub fn gather(wish: &Wish) -> Result<Gathered, BringError> {
    let (root, found) = find(wish)?;
    let mut gathered = match wish.kind {
        Kind::Tlomodel => of_tree(&found),
        Kind::DataJs => of_data_js(&found),
        Kind::Asv => of_asv(&found),
        Kind::Pytest => of_pytest(&found),
    };
    if gathered.runs.is_empty() {
        // The only reason there is says more than that there is nothing.
        let wanted = wish.kind.wanted();
        return Err(BringError::Nothing { path: root, wanted });
    }
    if gathered.runs.len() > RUNS_MAX {
        return Err(BringError::Many { path: root, count: gathered.runs.len() });
    }
    gathered.runs.sort_by_cached_key(|run| (run.started, run.id()));
    if wish.kind == Kind::Tlomodel {
        tlomodel::mark_disturbed(&mut gathered.runs);
    }
    Ok(gathered)
}

/// The files below the path, or the one file that it is.
fn find(wish: &Wish) -> Result<(PathBuf, Vec<FoundFile>), BringError> {
    let path = &wish.path;
    let (root, patterns) = if path.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (path.parent().unwrap_or(Path::new(".")).to_owned(), vec![name])
    } else {
        (path.clone(), wish.kind.patterns().iter().map(|text| (*text).to_owned()).collect())
    };
    Ok((path.clone(), files::find(&root, &patterns)?.files))
}

fn bytes(file: &FoundFile) -> Result<Vec<u8>, String> {
    if file.bytes > FILE_MAX {
        return Err(format!("{} is larger than {FILE_MAX} bytes", file.path));
    }
    let (bytes, _) =
        files::read_head(&file.absolute, FILE_MAX).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn of_tree(found: &[FoundFile]) -> Gathered {
    let mut gathered =
        Gathered { project: project("github.com/UCL/TLOmodel"), ..Gathered::default() };
    for stats in found.iter().filter(|file| tlomodel::is_stats(&file.path)) {
        let folder = stats.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let of_folder = found.iter().filter(|file| {
            file.path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder
                && file.path != stats.path
        });
        let read = |file: &FoundFile| {
            if tlomodel::is_page(&file.path) { Ok(Vec::new()) } else { bytes(file) }
        };
        let mut beside: Vec<(String, Vec<u8>)> = Vec::new();
        for file in of_folder {
            match read(file) {
                Ok(bytes) => beside.push((file.path.clone(), bytes)),
                Err(why) => gathered.passed_over.push(why),
            }
        }
        let beside: Vec<tlomodel::TreeFile<'_>> =
            beside.iter().map(|(path, bytes)| tlomodel::TreeFile { path, bytes }).collect();
        let run = bytes(stats).and_then(|bytes| {
            let file = tlomodel::TreeFile { path: &stats.path, bytes: &bytes };
            tlomodel::run(file, &beside).map_err(|error| error.to_string())
        });
        match run {
            Ok(run) => gathered.runs.push(run),
            Err(why) => gathered.passed_over.push(why),
        }
    }
    gathered
}

fn of_data_js(found: &[FoundFile]) -> Gathered {
    let mut gathered = Gathered::default();
    for file in found {
        let read = bytes(file)
            .and_then(|bytes| data_js::read(&file.path, &bytes).map_err(|error| error.to_string()));
        match read {
            Ok(read) => {
                let named = read.project.as_deref().and_then(project);
                gathered.project = gathered.project.or(named);
                gathered.runs.extend(read.runs);
            }
            Err(why) => gathered.passed_over.push(why),
        }
    }
    gathered
}

fn of_asv(found: &[FoundFile]) -> Gathered {
    let mut gathered = Gathered::default();
    let is_units = |file: &&FoundFile| file.path.rsplit('/').next() == Some("benchmarks.json");
    let units = found.iter().find(is_units).map(|file| {
        bytes(file)
            .and_then(|bytes| asv::units(&file.path, &bytes).map_err(|error| error.to_string()))
    });
    let units = match units.transpose() {
        Ok(units) => units.unwrap_or_default(),
        Err(why) => {
            gathered.passed_over.push(why);
            asv::Units::new()
        }
    };
    for file in found.iter().filter(|file| asv::is_results(&file.path)) {
        let run = bytes(file).and_then(|bytes| {
            asv::run(&file.path, &bytes, &units).map_err(|error| error.to_string())
        });
        gathered.take(&file.path, run);
    }
    gathered
}

fn of_pytest(found: &[FoundFile]) -> Gathered {
    let mut gathered = Gathered::default();
    for file in found {
        let run = bytes(file)
            .and_then(|bytes| pytest::run(&file.path, &bytes).map_err(|error| error.to_string()));
        gathered.take(&file.path, run);
    }
    gathered
}

impl Gathered {
    fn take(&mut self, path: &str, run: Result<Option<Brought>, String>) {
        match run {
            Ok(Some(run)) => self.runs.push(run),
            Ok(None) => self.passed_over.push(format!("{path} holds no number")),
            Err(why) => self.passed_over.push(why),
        }
    }
}

/// A project by its address, or by `host/owner/name`.
pub fn project(text: &str) -> Option<Repository> {
    let text = text.trim();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    let parts: Vec<&str> = rest.split('/').collect();
    let fits = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._".contains(&c))
    };
    let (host, owner, name) = match parts.as_slice() {
        [owner, name] => ("github.com", (*owner).to_owned(), *name),
        [host, owner @ .., name] if !owner.is_empty() => (*host, owner.join("/"), *name),
        _ => return None,
    };
    parts.iter().all(|part| fits(part)).then(|| Repository {
        host: Some(host.to_ascii_lowercase()),
        owner: Some(owner),
        name: Some(name.to_owned()),
        ..Repository::default()
    })
}

/// Makes bundles of the runs that `results` does not hold; `None` where it is not there yet.
///
/// # Errors
/// When they cannot be written, or the results repository cannot be read.
pub fn bundles(
    gathered: Gathered,
    wish: &Wish,
    results: Option<&Results>,
) -> Result<Bundles, BringError> {
    let scratch = Scratch::new(None)?;
    let output = scratch.output("bundles")?;
    let tip = results.map(Results::tip).transpose()?;
    let known = tip.as_ref().map(known).transpose()?.unwrap_or_default();
    let repository = wish.project.clone().or(gathered.project).unwrap_or_else(|| unnamed(wish));
    let (mut folders, mut count) = (Vec::new(), 0);
    for mut run in gathered.runs {
        let sha = resolve(&mut run, wish);
        if known.contains(&(run.id(), sha.as_ref().map(ToString::to_string))) {
            count += 1;
            continue;
        }
        let commit = sha.as_ref().and_then(|sha| ancestry::commit(&wish.folder, sha));
        let around = Around {
            repository: repository.clone(),
            default_branch: wish.default_branch.clone(),
            machine: wish.machine.clone(),
            profiler: wish.kind.profiler(),
            commit,
            files: Vec::new(),
        };
        folders.push(bundle(&output, run, around, wish, tip.as_ref())?);
    }
    Ok(Bundles { folders, known: count, _scratch: scratch })
}

/// The runs of a tip: name and commit, as it is and as it was told.
fn known(tip: &Tip<'_>) -> Result<BTreeSet<(String, Option<String>)>, ResultsError> {
    let mut index = Index::new(tip)?;
    let mut known = BTreeSet::new();
    for month in index.months().to_vec() {
        for line in index.shard(&month)?.lines() {
            let id = line.path.rsplit('/').next().unwrap_or_default().to_owned();
            let told = line.amended.as_ref().map(|amended| amended.from.clone());
            for sha in [Some(line.commit.clone()), told].into_iter().flatten() {
                known.insert((id.clone(), sha.map(|sha| sha.to_string())));
            }
        }
    }
    Ok(known)
}

/// Makes the start of a commit whole, where a clone knows it.
fn resolve(run: &mut Brought, wish: &Wish) -> Option<CommitSha> {
    let sha = run.sha().or_else(|| git::resolve(&wish.folder, run.commit.as_deref()?));
    if let Some(sha) = &sha {
        run.commit = Some(sha.to_string());
    }
    sha
}

fn unnamed(wish: &Wish) -> Repository {
    let why = "imported: nothing tells the project";
    let name = wish.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let unknown = ["host", "owner"].map(|part| (part.to_owned(), why.to_owned())).into();
    Repository { name, unknown, ..Repository::default() }
}

fn bundle(
    output: &Path,
    mut run: Brought,
    mut around: Around,
    wish: &Wish,
    tip: Option<&Tip<'_>>,
) -> Result<PathBuf, BringError> {
    let folder = BundleWriter::create(output, &run.id(), Redactor::new([]))?;
    folder.release_reserve();
    if !run.series.is_empty() {
        let series = SeriesFile { version: 1, series: run.series.clone() };
        let mut bytes = serde_json::to_vec(&series).map_err(WriteError::from)?;
        bytes.push(b'\n');
        folder.write(SERIES_FILE, &bytes)?;
        around.files.push(listed(SERIES_FILE.to_owned(), &bytes, FileRole::Bundle));
    }
    for page in std::mem::take(&mut run.pages) {
        let name = page.rsplit('/').next().unwrap_or(&page).to_owned();
        if let Some(place) = in_place(&page, wish, tip)? {
            run.extra.insert(format!("{IN_RESULTS}{name}"), place.into());
            continue;
        }
        let path = wish.path.join(&page);
        let (bytes, is_cut) = files::read_head(&path, FILE_MAX)?;
        if !is_cut {
            let kept = format!("files/{name}");
            folder.write(&kept, &bytes)?;
            around.files.push(listed(kept, &bytes, FileRole::Kept));
        }
    }
    let record = run.record(&around);
    folder.seal(record)?;
    Ok(folder.folder().to_owned())
}

fn listed(path: String, bytes: &[u8], role: FileRole) -> File {
    File {
        path,
        bytes: bytes.len() as u64,
        sha256: Some(canonical::sha256_hex(bytes)),
        role,
        left_out: None,
    }
}

/// Where the tip holds the page already: at its place below the path that is read, or below the
/// name of that path.
fn in_place(
    page: &str,
    wish: &Wish,
    tip: Option<&Tip<'_>>,
) -> Result<Option<String>, ResultsError> {
    let Some(tip) = tip else { return Ok(None) };
    let name = wish.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let below = name.map(|name| format!("{name}/{page}"));
    for place in [Some(page.to_owned()), below].into_iter().flatten() {
        let (folder, file) = place.rsplit_once('/').unwrap_or(("", &place));
        if tip.list(folder)?.iter().any(|entry| !entry.is_folder && entry.name == file) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}
