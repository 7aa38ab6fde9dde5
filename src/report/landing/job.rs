//! The page of a job: each of its histories with the numbers that matter, their levels and what
//! changed, and its newest runs.

use serde::Serialize;

use super::rows::{parts_of, rows};
use super::{LandingOptions, TRENDS_DIR, about, drawing_path, halve, judged};
use crate::analysis::histories::{Epoch, History, histories};
use crate::analysis::history::judgement::{ChangePoint, State};
use crate::analysis::verdict::Judging;
use crate::model::names::{self, CommitSha};
use crate::model::quantity::human;
use crate::record::index::Line;
use crate::report::ReportError;
use crate::report::engine::{Engine, Language};
use crate::report::history::{HistoryInput, input_of, sentences, size};
use crate::report::link::Url;
use crate::report::plain;
use crate::report::trend::Trend;
use crate::report::view::{Cell, Row, label_of};

/// Longest page, in bytes.
const MARKDOWN_MAX: usize = 64 * 1024;

/// `trends/job-<job>.md`.
pub fn job_page_path(job: &str) -> String {
    format!("{TRENDS_DIR}/job-{}.md", names::job_name_from(job))
}

/// Whether a file of the folder [`TRENDS_DIR`] bears the name of a job's page.
pub(super) fn is_job_page(name: &str) -> bool {
    let job = name.strip_suffix(".md").and_then(|stem| stem.strip_prefix("job-"));
    job.is_some_and(names::is_job_name)
}

#[derive(Serialize)]
struct JobView {
    job: String,
    histories: Vec<KeyView>,
    older_histories: bool,
    runs: Vec<Row>,
    older_runs: bool,
}

#[derive(Serialize)]
struct KeyView {
    about: String,
    metrics: Vec<MetricView>,
}

#[derive(Serialize)]
struct MetricView {
    title: String,
    text: String,
    url: Url,
    levels: Vec<Row>,
    sentences: Vec<String>,
    /// Why changes were accepted.
    accepted: Vec<String>,
}

/// A job's page and the drawings that only it shows: path and content of each.
pub(super) type JobFiles = Vec<(String, Vec<u8>)>;

/// The page of the job whose runs are `lines`, newest first; none where nothing can be drawn.
pub(super) fn page(
    histories: &[Vec<&Line>],
    options: &LandingOptions,
    svg: &Engine,
) -> Result<JobFiles, ReportError> {
    let mut sorted: Vec<&Line> = histories.iter().flatten().copied().collect();
    sorted.sort_by(|a, b| (b.start, &b.path).cmp(&(a.start, &a.path)));
    let Some(newest) = sorted.first() else { return Ok(Vec::new()) };
    let (mut views, mut files) = (Vec::new(), Vec::new());
    for lines in histories.iter().take(options.histories) {
        let (view, drawings) = key(lines, options, svg)?;
        if !view.metrics.is_empty() {
            views.push(view);
            files.extend(drawings);
        }
    }
    if views.is_empty() {
        return Ok(Vec::new());
    }
    let mut view = JobView {
        job: plain::name(&newest.job),
        histories: views,
        older_histories: histories.len() > options.histories,
        runs: rows(&sorted, options, TRENDS_DIR),
        older_runs: sorted.len() > options.runs,
    };
    let engine = Engine::new(Language::Markdown)?;
    loop {
        let markdown = engine.render("job.md", &view)?;
        if markdown.len() <= MARKDOWN_MAX || !view.shorten() {
            let page = format!("{}\n", markdown.trim_end());
            files.insert(0, (job_page_path(&newest.job), page.into_bytes()));
            return Ok(files);
        }
    }
}

impl JobView {
    /// Halves what is listed; whether there was anything left to leave out.
    fn shorten(&mut self) -> bool {
        let runs = halve(&mut self.runs, &mut self.older_runs);
        halve(&mut self.histories, &mut self.older_histories) || runs
    }
}

fn key(
    lines: &[&Line],
    options: &LandingOptions,
    svg: &Engine,
) -> Result<(KeyView, JobFiles), ReportError> {
    let mut view = KeyView {
        about: lines.first().map_or_else(String::new, |line| about(line)),
        metrics: Vec::new(),
    };
    let mut files = Vec::new();
    let Some(newest) = lines.first() else { return Ok((view, files)) };
    let judging = options.judging_of(newest);
    let window: Vec<&Line> = lines.iter().copied().take(options.points).collect();
    for (place, metric) in judged(&window, &judging).iter().take(options.metrics).enumerate() {
        let Some(trend) = Trend::of(&window, metric, &judging) else { continue };
        let path = drawing_path(newest, (place > 0).then_some(metric.as_str()));
        let name = path.rsplit('/').next().unwrap_or_default();
        let Some(url) = Url::beside(name) else { continue };
        let (label, job) = (label_of(metric), plain::name(&newest.job));
        let text = format!("{label} of {job}: {}", trend.words());
        if place > 0 {
            let drawing = trend.svg(&format!("{label}, {job}"), &text, svg)?;
            files.push((path, drawing.into_bytes()));
        }
        let all = histories(&window, metric, &judging.rules);
        let Some(history) = all.first() else { continue };
        view.metrics.push(told(history, &judging, Shown { title: label, text, url }));
    }
    Ok((view, files))
}

/// A drawing as the page shows it.
struct Shown {
    title: String,
    text: String,
    url: Url,
}

/// What was found in a history, beside its drawing.
fn told(history: &History<'_>, judging: &Judging, shown: Shown) -> MetricView {
    let rule = judging.metrics.iter().find(|rule| rule.name == history.metric);
    let input = input_of(history, &judging.rules, rule);
    let newest = history.runs.last().map(|run| run.line);
    let levels = input.judgement.levels.iter().map(|level| {
        let change = input.judgement.change_points.iter().find(|one| one.index == level.from);
        Row {
            cells: vec![
                Cell::code(&input.name_of(level.from)),
                Cell::code(&input.name_of(level.to)),
                Cell::number(level.points.to_string()),
                Cell::number(human(level.value, &input.unit)),
                change.map_or_else(
                    || Cell::text("–"),
                    |change| Cell::text(&size(change, &input.unit)),
                ),
                Cell::text(change.map_or("–", |change| change.state.word())),
                match (change, newest) {
                    (Some(change), Some(line)) => commits(&input, change, line),
                    _ => Cell::text("–"),
                },
            ],
        }
    });
    MetricView {
        title: shown.title,
        text: shown.text,
        url: shown.url,
        levels: levels.collect(),
        sentences: sentences(&input),
        accepted: accepted(history, &input, &judging.rules.epochs),
    }
}

/// The commits between which the level changed, linked to where the project lies.
fn commits(input: &HistoryInput, change: &ChangePoint, line: &Line) -> Cell {
    let sha = |at: usize| CommitSha::parse(input.points.get(at)?.commit.as_deref()?);
    let (first, last) = change.range;
    let before = change.after.filter(|_| first == change.index).or_else(|| first.checked_sub(1));
    let (Some(from), Some(to)) = (before.and_then(sha), sha(last)) else {
        return Cell::absent("not known");
    };
    let url =
        parts_of(line).and_then(|(host, owner, name)| Url::compare(host, &owner, name, &from, &to));
    let short = |sha: &CommitSha| sha.as_str()[..8].to_owned();
    let count = before.and_then(|before| input.commits_between(before, last));
    let count = count.map_or_else(String::new, |count| format!(" ({count})"));
    Cell::code_link(&format!("{}…{}{count}", short(&from), short(&to)), url)
}

fn accepted(history: &History<'_>, input: &HistoryInput, epochs: &[Epoch]) -> Vec<String> {
    let begun = history.begun(epochs);
    let changes = input.judgement.change_points.iter();
    let accepted = changes.filter(|change| change.state == State::Accepted);
    accepted
        .filter_map(|change| {
            let epoch = begun.get(change.index).copied().flatten()?;
            let because = plain::line(&epoch.because, 400);
            Some(format!("Accepted at {}: {because}", input.name_of(change.index)))
        })
        .collect()
}
