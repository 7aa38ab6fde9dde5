//! The landing page of a results repository: the newest runs, and for each history its latest
//! value with a trend. A pure function of index lines; nothing depends on today's date.

mod badge;
mod job;
mod rows;

pub use badge::{BADGE_JSON, BADGE_SVG};
pub use job::job_page_path;

use std::collections::BTreeMap;

use serde::Serialize;

use super::engine::{Engine, Language};
use super::link::Url;
use super::trend::Trend;
use super::view::{Cell, Row, day_and_commit, label_of, utc_minutes};
use super::{ReportError, plain};
use crate::analysis::histories::{Epoch, headline};
use crate::analysis::judging::JudgingFile;
use crate::analysis::verdict::Judging;
use crate::model::names;
use crate::record::index::Line;

/// The folder of the trends' drawings, from the repository's root.
pub const TRENDS_DIR: &str = "trends";

/// Longest landing page, in bytes; GitHub shows more, people read less.
const MARKDOWN_MAX: usize = 64 * 1024;

/// How much a landing page shows.
#[derive(Clone, Debug)]
pub struct LandingOptions {
    /// Rows in the table of runs.
    pub runs: usize,
    /// Histories with a trend, those with the newest runs.
    pub histories: usize,
    /// Runs in a trend, the newest.
    pub points: usize,
    /// Numbers of each history on its job's page.
    pub metrics: usize,
    /// Changes that people accepted.
    pub epochs: Vec<Epoch>,
    /// How the runs of each project are judged.
    pub judging: JudgingFile,
}

impl Default for LandingOptions {
    fn default() -> Self {
        Self {
            runs: 20,
            histories: 12,
            points: 100,
            metrics: 4,
            epochs: Vec::new(),
            judging: JudgingFile::default(),
        }
    }
}

impl LandingOptions {
    /// How the run of `line` is judged.
    fn judging_of(&self, line: &Line) -> Judging {
        let mut judging = self.judging.of(&line.repository);
        judging.rules.epochs.clone_from(&self.epochs);
        judging
    }
}

/// What stands between the markers of `README.md`, and the drawings it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Markdown, ended by a newline.
    pub markdown: String,
    /// The drawings: path from the repository's root and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The badge, in the same form; none where no run may speak for the project.
    pub badge: Vec<(String, Vec<u8>)>,
    /// A page for each job, and the drawings that only it shows.
    pub jobs: Vec<(String, Vec<u8>)>,
}

#[derive(Serialize)]
struct LandingView {
    runs: Vec<Row>,
    older_runs: bool,
    histories: Vec<HistoryView>,
    older_histories: bool,
}

#[derive(Serialize)]
struct HistoryView {
    job: Cell,
    about: String,
    /// The trend in words.
    text: String,
    url: Url,
    latest: Cell,
    change: String,
    /// The newest change of the level; empty where there is none.
    moved: String,
}

/// The landing page for these runs, in any order. They may be only the newest of a repository, so
/// nothing is said about how many there are.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn render(lines: &[Line], options: &LandingOptions) -> Result<Landing, ReportError> {
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by(|a, b| (b.start, &b.path).cmp(&(a.start, &a.path)));
    let svg = Engine::new(Language::Svg)?;
    let (mut histories, mut files) = (Vec::new(), Vec::new());
    let all = histories_of(&sorted);
    let mut drawn = all.iter();
    for history in drawn.by_ref() {
        if let Some((view, file)) = draw(history, options, &svg)?
            && files.iter().all(|(path, _)| *path != file.0)
        {
            histories.push(view);
            files.push(file);
        }
        if histories.len() == options.histories {
            break;
        }
    }
    let mut view = LandingView {
        runs: rows::rows(&sorted, options, ""),
        older_runs: sorted.len() > options.runs,
        histories,
        older_histories: drawn.next().is_some(),
    };
    let engine = Engine::new(Language::Markdown)?;
    loop {
        let markdown = engine.render("landing.md", &view)?;
        if markdown.len() <= MARKDOWN_MAX || !view.shorten() {
            files.truncate(view.histories.len());
            let markdown = format!("{}\n", markdown.trim_end());
            let badge = badge::badge(&sorted, options)?;
            return Ok(Landing { markdown, files, badge, jobs: jobs(&all, options, &svg)? });
        }
    }
}

impl LandingView {
    /// Halves what is listed; whether there was anything left to leave out.
    fn shorten(&mut self) -> bool {
        let runs = halve(&mut self.runs, &mut self.older_runs);
        halve(&mut self.histories, &mut self.older_histories) || runs
    }
}

/// Halves a list, and notes that it is cut; whether there was anything left to leave out.
fn halve<T>(list: &mut Vec<T>, is_cut: &mut bool) -> bool {
    let had = !list.is_empty();
    *is_cut |= had;
    list.truncate(list.len() / 2);
    had
}

/// Runs that share a key, newest first; the history with the newest run first.
fn histories_of<'a>(sorted: &[&'a Line]) -> Vec<Vec<&'a Line>> {
    let mut place: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut histories: Vec<Vec<&Line>> = Vec::new();
    for line in sorted {
        let at = *place.entry((&line.job, &line.key)).or_insert_with(|| {
            histories.push(Vec::new());
            histories.len() - 1
        });
        histories[at].push(line);
    }
    histories
}

/// The pages of the jobs whose histories are drawn, the newest first. Jobs whose names give one
/// path have one page, the newest's.
fn jobs(
    all: &[Vec<&Line>],
    options: &LandingOptions,
    svg: &Engine,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let mut of_job: Vec<(&str, Vec<Vec<&Line>>)> = Vec::new();
    for history in all {
        let Some(job) = history.first().map(|line| line.job.as_str()) else { continue };
        match of_job.iter_mut().find(|(other, _)| *other == job) {
            Some((_, histories)) => histories.push(history.clone()),
            None => of_job.push((job, vec![history.clone()])),
        }
    }
    let mut made: Vec<(String, Vec<u8>)> = Vec::new();
    for (_, histories) in of_job.into_iter().take(options.histories) {
        let files = job::page(&histories, options, svg)?;
        let is_taken = |path: &str| made.iter().any(|(other, _)| other.eq_ignore_ascii_case(path));
        if files.iter().all(|(path, _)| !is_taken(path)) {
            made.extend(files);
        }
    }
    Ok(made)
}

type Drawn = (HistoryView, (String, Vec<u8>));

fn draw(
    history: &[&Line],
    options: &LandingOptions,
    svg: &Engine,
) -> Result<Option<Drawn>, ReportError> {
    let newest: Vec<&Line> = history.iter().copied().take(options.points).collect();
    let Some(last) = newest.first() else { return Ok(None) };
    let judging = options.judging_of(last);
    let metrics = judged(&newest, &judging);
    let Some(trend) = metrics.first().and_then(|metric| Trend::of(&newest, metric, &judging))
    else {
        return Ok(None);
    };
    let job = plain::name(&last.job);
    let about = about(last);
    let words = format!("{} of {job}: {}", label_of(trend.metric), trend.words());
    let heading = format!("{}, {job}", label_of(trend.metric));
    let path = drawing_path(last, None);
    let Some(url) = Url::beside(&path) else {
        return Ok(None);
    };
    let drawing = trend.svg(&heading, &words, svg)?;
    let latest = match trend.latest_run() {
        Some(run) => {
            let (label, time) = (label_of(trend.metric), utc_minutes(run.start));
            Cell::link(&format!("{label} {}, {time}", trend.latest()), Url::beside(&run.path))
        }
        None => Cell::absent("not measured"),
    };
    let change = trend.latest_change();
    let moved = trend.newest_change().map_or_else(String::new, |(words, line)| {
        format!("The level {words}, at {} of {}.", day_and_commit(line), plain::name(&line.job))
    });
    Ok(Some((
        HistoryView {
            job: Cell::link(&job, Url::beside(&job_page_path(&last.job))),
            about,
            text: words,
            url,
            latest,
            change,
            moved,
        },
        (path, drawing.into_bytes()),
    )))
}

/// The numbers of a history that are shown: those that are judged, else those that matter most.
fn judged(lines: &[&Line], judging: &Judging) -> Vec<String> {
    let mut names = headline(lines, &judging.metrics);
    let has = |name: &String| lines.iter().any(|line| line.metrics.contains_key(name));
    if !names.iter().any(has) {
        names = headline(lines, &[]);
    }
    names.retain(has);
    names
}

/// `trends/<job>-<key>.svg` of the first number of a history, `trends/<job>-<key>-<metric>.svg` of
/// any other: of characters that are fit for paths whatever the line says.
fn drawing_path(line: &Line, metric: Option<&str>) -> String {
    let start = drawings_of(&line.job, &line.key);
    let fit = |metric: &str| -> String {
        metric
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' })
            .take(names::METRIC_NAME_MAX)
            .collect()
    };
    match metric {
        None => format!("{start}.svg"),
        Some(metric) => format!("{start}-{}.svg", fit(metric)),
    }
}

/// How the paths of all drawings of a history begin.
pub fn drawings_of(job: &str, key: &str) -> String {
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{TRENDS_DIR}/{}-{key}", names::job_name_from(job))
}

/// Whether a file of the folder [`TRENDS_DIR`] bears a name that only a trend or a job's page has:
/// then it is made by every publish, and taken away when no landing page shows it.
pub fn is_trend(name: &str) -> bool {
    let is_key = |key: &str| key.len() == 16 && key.bytes().all(|c| c.is_ascii_hexdigit());
    let is_drawing = |stem: &str| {
        stem.match_indices('-').any(|(at, _)| {
            let (job, rest) = (&stem[..at], &stem[at + 1..]);
            let (key, metric) = match rest.split_once('-') {
                Some((key, metric)) => (key, Some(metric)),
                None => (rest, None),
            };
            names::is_job_name(job) && is_key(key) && metric.is_none_or(names::is_metric_name)
        })
    };
    job::is_job_page(name) || name.strip_suffix(".svg").is_some_and(is_drawing)
}

/// What the runs of a history have in common.
pub fn about(line: &Line) -> String {
    let mut parts =
        vec![plain::name(&line.repository), format!("machine {}", plain::name(&line.machine))];
    if line.profiler != "none" {
        parts.push(format!("profiler {}", plain::name(&line.profiler)));
    }
    // The first one has been there before anybody spoke of workloads.
    if line.workload != 1 {
        parts.push(format!("workload {}", line.workload));
    }
    if let Some(variant) = &line.variant {
        parts.push(format!("variant {}", plain::name(variant)));
    }
    for (name, value) in line.params.iter().take(12) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        parts.push(format!("{} = {}", plain::name(name), plain::line(&value, 60)));
    }
    parts.join(" · ")
}
