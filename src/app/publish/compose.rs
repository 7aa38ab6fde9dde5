//! What a tip needs so that it holds the bundles: one commit, or nothing.

use std::cell::OnceCell;

use super::epochs;
use super::landing::{self, Anew, LandingFiles};
use super::message::{Brought, message};
use super::pages::{self, Stored};
use super::place::{self, Place};
use super::selection::{LeftOut, Selection, select};
use super::{Options, Outcome, Published, PublishedRun, RefusedBundle, WhyRefused};
use crate::analysis::epochs::EPOCHS_FILE;
use crate::analysis::histories::{Epoch, Standing as RunStanding};
use crate::analysis::judging::{JUDGING_FILE, JudgingFile};
use crate::app::index::{Index, MONTHS_EXPECTED};
use crate::app::verdict;
use crate::bundle::read::Bundle;
use crate::config::layout::Filling;
use crate::model::names::CommitSha;
use crate::model::status::Identity;
use crate::record::Record;
use crate::record::index::{Line, PATH_MAX, key_of};
use crate::record::layout::{RECORD_FILE, RUNS_DIR, start_of};
use crate::record::read::ReadRecord;
use crate::record::shard::{INDEX_DIR, shard_path};
use crate::report::landing::{TRENDS_DIR, drawings_of, job_page_path};
use crate::results::change::Change;
use crate::results::format::{self, FORMAT_FILE, Standing};
use crate::results::path::{PathError, RepoPath};
use crate::results::tip::Tip;
use crate::results::{Proposal, ResultsError};

/// Keeps a site's builder from leaving out names that begin with `_`.
pub(in crate::app) const NO_JEKYLL: &str = ".nojekyll";

/// Composes commits for some bundles.
pub(super) struct Composer<'a> {
    pub(super) bundles: Vec<Candidate<'a>>,
    pub(super) options: &'a Options,
}

/// A bundle that may be published. What of it is chosen the first time it is needed, and stays
/// when a race is lost.
pub(super) struct Candidate<'a> {
    bundle: &'a Bundle,
    /// It stands for a run of a plan of which no bundle came.
    awaited: bool,
    identity: Identity,
    chosen: OnceCell<Chosen>,
}

/// The record as it is published, and the files beside it.
struct Chosen {
    record: ReadRecord,
    selection: Selection,
}

/// A run that the commit brings.
struct Added<'c> {
    candidate: &'c Candidate<'c>,
    chosen: &'c Chosen,
    /// The record as it stands in this commit.
    record: ReadRecord,
    path: RepoPath,
    line: Line,
    /// The folder of the record whose place it takes.
    replaces: Option<RepoPath>,
}

impl<'a> Candidate<'a> {
    pub(super) fn came(bundle: &'a Bundle, identity: Identity) -> Self {
        Self { bundle, awaited: false, identity, chosen: OnceCell::new() }
    }

    pub(super) fn awaited(bundle: &'a Bundle) -> Self {
        Self { awaited: true, ..Self::came(bundle, Identity::Planned) }
    }

    fn chosen(&self, options: &Options) -> &Chosen {
        self.chosen.get_or_init(|| {
            let mut record = self.bundle.record.clone();
            record.set_identity(self.identity);
            let selection = select(self.bundle, options);
            for LeftOut { path, reason, .. } in &selection.left_out {
                record.leave_out(path, reason);
            }
            Chosen { record, selection }
        })
    }
}

impl Composer<'_> {
    /// What `tip` needs, and what is then published. No proposal where it needs nothing.
    pub(super) fn compose(
        &self,
        tip: &Tip<'_>,
    ) -> Result<(Option<Proposal>, Published), ResultsError> {
        self.expect(tip)?;
        let standing = tip.standing()?;
        let mut published = Published::default();
        let mut index = Index::new(tip)?;
        let added = self.place_all(tip, &mut index, &mut published)?;
        if added.is_empty() {
            return Ok((None, published));
        }
        let mut change = Change::default();
        let epochs = self.begin_epochs(tip, &added, &mut index, &mut change, &mut published)?;
        for run in &added {
            self.add_run(tip, run, &mut index, epochs.as_deref(), &mut change, &mut published)?;
        }
        for (path, bytes) in index.touched() {
            put_shard(tip, &path, &bytes, &mut change)?;
        }
        if standing == Standing::Whole {
            add_house(tip, &mut change)?;
            let judging = self.add_judging(tip, &added, &mut change, &mut published)?;
            let anew = Anew { judging: Some(judging), epochs };
            if let Err(why) = self.add_landing(tip, &mut index, anew, &mut change) {
                published.notices.push(format!("the landing page stays as it was: {why}"));
            }
        } else {
            published.notices.push(
                "the results repository has a newer format: only the run was added".to_owned(),
            );
        }
        published.notices.extend(
            index
                .corrupt()
                .map(|line| format!("the index holds a damaged line, kept as it is: {line}")),
        );
        published.months_read = index.months_read();
        let message = message(&brought(&added));
        Ok((Some(Proposal { change, message }), published))
    }

    /// Names the files that will be read, so that a server is asked for them once: those that
    /// every publish reads, and the months in which these runs may stand. The drawings that will
    /// be made anew are not read, but git sends only what differs from the old ones.
    fn expect(&self, tip: &Tip<'_>) -> Result<(), ResultsError> {
        let mut paths = vec![
            FORMAT_FILE.to_owned(),
            NO_JEKYLL.to_owned(),
            EPOCHS_FILE.to_owned(),
            JUDGING_FILE.to_owned(),
            landing::readme_path(tip)?,
        ];
        let folders = [INDEX_DIR, RUNS_DIR, TRENDS_DIR].map(str::to_owned);
        tip.expect(&[&paths[..], &folders].concat());
        let drawn = tip.list(TRENDS_DIR)?.into_iter();
        let drawn: Vec<String> =
            drawn.map(|entry| format!("{TRENDS_DIR}/{}", entry.name)).collect();
        let mut months: Vec<String> = tip.months()?.into_iter().take(MONTHS_EXPECTED).collect();
        for candidate in &self.bundles {
            let record = &candidate.bundle.record.record;
            let run = &record.run;
            paths.push(job_page_path(&run.job));
            // A path that cannot be used is told where the run is placed.
            paths.extend(self.path_of(&candidate.bundle.record).map(|path| path.to_string()));
            let start = drawings_of(&run.job, &key_of(record));
            paths.extend(drawn.iter().filter(|path| path.starts_with(&start)).cloned());
            let times = [run.started.unwrap_or(run.planned), run.planned];
            months.extend(times.map(|time| time.strftime("%Y-%m").to_string()));
        }
        months.sort();
        months.dedup();
        paths.extend(months.iter().map(|month| shard_path(month)));
        tip.expect(&paths);
        Ok(())
    }

    /// Decides for each bundle where it goes, and puts the lines of those that go into the index.
    fn place_all(
        &self,
        tip: &Tip<'_>,
        index: &mut Index<'_, '_>,
        published: &mut Published,
    ) -> Result<Vec<Added<'_>>, ResultsError> {
        let mut added: Vec<Added<'_>> = Vec::new();
        for candidate in &self.bundles {
            let bundle = candidate.bundle;
            let mut refuse = |why: WhyRefused| {
                published.refused.push(RefusedBundle { bundle: bundle.folder.clone(), why });
            };
            let computed = match self.path_of(&bundle.record) {
                Ok(path) => path,
                Err(why) => {
                    refuse(why);
                    continue;
                }
            };
            let mut replaces = None;
            let (path, outcome) = match place_of(tip, index, &added, candidate, computed)? {
                Place::Taken(conflict) => {
                    refuse(conflict.into());
                    continue;
                }
                Place::Same(path) | Place::Outdone(path) => (path, Outcome::Unchanged),
                Place::New(path) => (path, Outcome::Added),
                Place::Replaces { path, old, month } => {
                    index.remove(&month, old.as_str())?;
                    replaces = Some(old);
                    (path, Outcome::Replaced)
                }
            };
            let mut run = PublishedRun {
                bundle: bundle.folder.clone(),
                lost: candidate.awaited.then(|| bundle.record.record.run.job.clone()),
                path: path.to_string(),
                outcome,
                left_out: Vec::new(),
                verdict: None,
            };
            if outcome != Outcome::Unchanged {
                let chosen = candidate.chosen(self.options);
                let record = self.placed_record(chosen, &path, index)?;
                let line = Line::of(&record.record, path.as_str());
                run.left_out.clone_from(&chosen.selection.left_out);
                index.insert(line.clone())?;
                added.push(Added { candidate, chosen, record, path, line, replaces });
            }
            published.runs.push(run);
        }
        Ok(added)
    }

    /// The record with what is known of its commit and those measured before.
    fn placed_record(
        &self,
        chosen: &Chosen,
        path: &RepoPath,
        index: &mut Index<'_, '_>,
    ) -> Result<ReadRecord, ResultsError> {
        let mut record = chosen.record.clone();
        let line = Line::of(&record.record, path.as_str());
        let measured = verdict::measured(&index.of_key(&line)?, &line, &self.options.judging);
        let against = self.options.ancestry.against(&record.record, &measured);
        if !against.is_empty() {
            record.set_against(against);
        }
        Ok(record)
    }

    fn path_of(&self, record: &ReadRecord) -> Result<RepoPath, WhyRefused> {
        let record = &record.record;
        let path = self.options.rules.layout.path(&Filling {
            commit: record.commit.sha.as_ref().map(CommitSha::as_str),
            start: start_of(record),
            event: &record.trigger.event,
            run_number: record.trigger.run_number,
            job: &record.run.job,
            tag: record.run.tag.as_deref(),
            run: &record.run.id,
        });
        let fits = if path.len() > PATH_MAX { Err(PathError::TooLong) } else { Ok(()) };
        fits.and_then(|()| RepoPath::ours(&path))
            .map_err(|source| WhyRefused::Path { path: path.chars().take(80).collect(), source })
    }

    /// The run's folder: the record, the files that are published, and pages made anew.
    fn add_run(
        &self,
        tip: &Tip<'_>,
        run: &Added<'_>,
        index: &mut Index<'_, '_>,
        epochs: Option<&[Epoch]>,
        change: &mut Change,
        published: &mut Published,
    ) -> Result<(), ResultsError> {
        let (bundle, chosen) = (run.candidate.bundle, run.chosen);
        let at = |name: &RepoPath| {
            run.path
                .join(name)
                .map_err(|source| ResultsError::Path { path: name.to_string(), source })
        };
        let bytes = run.record.bytes().unwrap_or_default();
        change.put(tip, at(&ours(RECORD_FILE)?)?, &bytes)?;
        for taken in &chosen.selection.taken {
            match taken.read() {
                Ok(bytes) => change.put(tip, at(&taken.path)?, &bytes)?,
                Err(error) => {
                    published.notices.push(format!("{} was not published: {error}", taken.path));
                }
            }
        }
        let earlier = index.earlier(&run.line);
        let earlier = pages::told_earlier(&earlier);
        let stored = Stored::of_bundle(bundle, self.options.rules.log);
        let record = &run.record.record;
        let judged = verdict::judge(tip, index, record, &run.line, &self.options.judging, epochs);
        if let Err(why) = &judged {
            published.notices.push(format!("not judged: {why}"));
        }
        let said = pages::said(&judged);
        match self.options.pages.of_run(record, &stored, earlier, said, run.path.as_str()) {
            Ok(pages) => {
                for (name, bytes) in pages {
                    change.put(tip, at(&ours(&name)?)?, &bytes)?;
                }
            }
            Err(why) => published.notices.push(format!("the run's pages are left out: {why}")),
        }
        let told = published.runs.iter_mut().find(|one| one.path == run.path.as_str());
        if let Some(told) = told {
            told.verdict = Some(judged);
        }
        if let Some(old) = &run.replaces {
            change.drop_others(tip, old)?;
        }
        Ok(())
    }

    /// Begins the levels of pull requests that these runs are the first to hold; what people
    /// accepted, with those, where one begins.
    fn begin_epochs(
        &self,
        tip: &Tip<'_>,
        added: &[Added<'_>],
        index: &mut Index<'_, '_>,
        change: &mut Change,
        published: &mut Published,
    ) -> Result<Option<Vec<Epoch>>, ResultsError> {
        let runs: Vec<(&Record, &Line)> =
            added.iter().map(|run| (&run.record.record, &run.line)).collect();
        let Some(begun) = epochs::begin(tip, index, &runs, self.options)? else {
            return Ok(None);
        };
        change.put(tip, ours(EPOCHS_FILE)?, begun.text.as_bytes())?;
        published.notices.extend(begun.notices);
        Ok(Some(begun.epochs))
    }

    /// Keeps by which rules each project is judged, where a configuration says so and a run of the
    /// project's own line of commits comes with it.
    fn add_judging(
        &self,
        tip: &Tip<'_>,
        added: &[Added<'_>],
        change: &mut Change,
        published: &mut Published,
    ) -> Result<JudgingFile, ResultsError> {
        let (mut file, notice) = verdict::judging_file(tip)?;
        if let Some(notice) = notice {
            published.notices.push(notice);
            return Ok(file);
        }
        let before = file.clone();
        let judging = &self.options.judging;
        let speaks = |line: &Line| RunStanding::of(line, &judging.rules.events).is_inside();
        for run in added.iter().filter(|run| judging.given && speaks(&run.line)) {
            file.set(&run.line.repository, judging);
        }
        if file != before {
            change.put(tip, ours(JUDGING_FILE)?, &file.to_bytes())?;
        }
        Ok(file)
    }

    fn add_landing(
        &self,
        tip: &Tip<'_>,
        index: &mut Index<'_, '_>,
        anew: Anew,
        change: &mut Change,
    ) -> Result<(), String> {
        let landing = landing::files(tip, index, &self.options.pages, anew)?;
        put_landing(tip, landing, change).map_err(|error| error.to_string())
    }
}

/// Puts the landing page's files into a commit, and takes out drawings that it shows no more.
pub(in crate::app) fn put_landing(
    tip: &Tip<'_>,
    landing: LandingFiles,
    change: &mut Change,
) -> Result<(), ResultsError> {
    for (path, bytes) in landing.made {
        change.put(tip, ours(&path)?, &bytes)?;
    }
    landing.stale.iter().try_for_each(|path| change.drop_file(tip, ours(path)?))
}

/// Puts a month of the index into a commit; one without lines has no file.
pub(in crate::app) fn put_shard(
    tip: &Tip<'_>,
    path: &str,
    bytes: &[u8],
    change: &mut Change,
) -> Result<(), ResultsError> {
    if bytes.is_empty() {
        return change.drop_file(tip, ours(path)?);
    }
    change.put(tip, ours(path)?, bytes)
}

/// As [`place::find`]; runs of this very commit count as being there.
fn place_of(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    added: &[Added<'_>],
    candidate: &Candidate<'_>,
    path: RepoPath,
) -> Result<Place, ResultsError> {
    let bundle = candidate.bundle;
    if let Some(other) = added.iter().find(|other| other.path == path) {
        let (there, here) =
            (other.candidate.bundle.record.content_digest(), bundle.record.content_digest());
        return Ok(if there == here {
            Place::Same(path)
        } else {
            Place::Taken(place::Conflict { path: path.to_string(), there, here })
        });
    }
    place::find(tip, index, &bundle.record, path, candidate.awaited)
}

/// What a results repository needs once.
pub(in crate::app) fn add_house(tip: &Tip<'_>, change: &mut Change) -> Result<(), ResultsError> {
    for (path, bytes) in [(FORMAT_FILE, format::file()), (NO_JEKYLL, Vec::new())] {
        if tip.read(path)?.is_none() {
            change.put(tip, ours(path)?, &bytes)?;
        }
    }
    Ok(())
}

pub(in crate::app) fn ours(path: &str) -> Result<RepoPath, ResultsError> {
    RepoPath::ours(path).map_err(|source| ResultsError::Path { path: path.to_owned(), source })
}

fn brought<'c>(added: &'c [Added<'_>]) -> Vec<Brought<'c>> {
    added
        .iter()
        .map(|run| Brought {
            record: &run.record.record,
            path: run.path.as_str(),
            replaces: run.replaces.is_some(),
        })
        .collect()
}
