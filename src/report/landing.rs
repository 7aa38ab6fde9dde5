//! The landing page of a results repository: the newest runs, and for each history its latest
//! value with a trend. A pure function of index lines; nothing depends on today's date.

use std::collections::BTreeMap;

use serde::Serialize;

use super::engine::{Engine, Language};
use super::link::Url;
use super::trend::Trend;
use super::verdict as words;
use super::view::{Cell, Row, amount, day_and_commit, label_of, utc_minutes};
use super::{ReportError, plain};
use crate::analysis::histories::{Epoch, Rules, Standing};
use crate::analysis::verdict::{Facts, Judging, RunVerdict, Word, verdict};
use crate::model::metric;
use crate::model::names;
use crate::model::status::Status;
use crate::record::index::Line;

/// The folder of the trends' drawings, from the repository's root.
pub const TRENDS_DIR: &str = "trends";

/// The badge as a drawing, and as an endpoint of shields.io.
pub const BADGE_SVG: &str = "badge.svg";
/// See [`BADGE_SVG`].
pub const BADGE_JSON: &str = "badge.json";

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
    /// Changes that people accepted.
    pub epochs: Vec<Epoch>,
}

impl Default for LandingOptions {
    fn default() -> Self {
        Self { runs: 20, histories: 12, points: 100, epochs: Vec::new() }
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
    job: String,
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
    let mut drawn = histories_of(&sorted).into_iter();
    for history in drawn.by_ref() {
        if let Some((view, file)) = draw(&history, options, &svg)?
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
        runs: rows(&sorted, options),
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
            return Ok(Landing { markdown, files, badge: badge(&sorted, options)? });
        }
    }
}

impl LandingView {
    /// Halves what is listed; whether there was anything left to leave out.
    fn shorten(&mut self) -> bool {
        let before = self.runs.len() + self.histories.len();
        self.older_runs |= !self.runs.is_empty();
        self.older_histories |= !self.histories.is_empty();
        self.runs.truncate(self.runs.len() / 2);
        self.histories.truncate(self.histories.len() / 2);
        before > 0
    }
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

type Drawn = (HistoryView, (String, Vec<u8>));

fn draw(
    history: &[&Line],
    options: &LandingOptions,
    svg: &Engine,
) -> Result<Option<Drawn>, ReportError> {
    let mut newest: Vec<&Line> = history.iter().copied().take(options.points).collect();
    newest.reverse();
    let (Some(mut trend), Some(last)) = (Trend::new(&newest), newest.last()) else {
        return Ok(None);
    };
    trend.judge(&options.epochs);
    let job = plain::name(&last.job);
    let about = about(last);
    let words = format!("{} of {job}: {}", label_of(trend.metric), trend.words());
    let heading = format!("{}, {job}", label_of(trend.metric));
    let path = trend_path(&last.job, &last.key);
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
        HistoryView { job, about, text: words, url, latest, change, moved },
        (path, drawing.into_bytes()),
    )))
}

/// `trends/<job>-<key>.svg`, of characters that are fit for paths whatever the line says.
pub fn trend_path(job: &str, key: &str) -> String {
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{TRENDS_DIR}/{}-{key}.svg", names::job_name_from(job))
}

/// Whether a file of the folder [`TRENDS_DIR`] bears a name that only a trend has: then it is
/// made by every publish, and taken away when no landing page shows it.
pub fn is_trend(name: &str) -> bool {
    name.strip_suffix(".svg").and_then(|stem| stem.rsplit_once('-')).is_some_and(|(job, key)| {
        names::is_job_name(job) && key.len() == 16 && key.bytes().all(|c| c.is_ascii_hexdigit())
    })
}

/// What the runs of a history have in common.
pub fn about(line: &Line) -> String {
    let mut parts =
        vec![plain::name(&line.repository), format!("machine {}", plain::name(&line.machine))];
    if line.profiler != "none" {
        parts.push(format!("profiler {}", plain::name(&line.profiler)));
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

/// The newest runs with their verdicts, which are those of the first number that has a trend.
fn rows(sorted: &[&Line], options: &LandingOptions) -> Vec<Row> {
    let judging = Judging {
        rules: Rules { events: Vec::new(), epochs: options.epochs.clone() },
        ..Judging::default()
    };
    let mut by_key: BTreeMap<(&str, &str), Vec<&Line>> = BTreeMap::new();
    for line in sorted {
        by_key.entry((&line.job, &line.key)).or_default().push(line);
    }
    let row = |line: &&Line| {
        let lines = by_key.get(&(line.job.as_str(), line.key.as_str()));
        let lines = lines.map(Vec::as_slice).unwrap_or_default();
        row(line, &verdict(lines, line, &Facts::default(), &judging))
    };
    sorted.iter().take(options.runs).map(row).collect()
}

/// The badge of the newest run whose numbers may speak for the project, as an endpoint of
/// shields.io and as a drawing.
fn badge(
    sorted: &[&Line],
    options: &LandingOptions,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let inside = sorted.iter().find(|line| Standing::of(line, &[]).is_inside());
    let Some(line) = inside else { return Ok(Vec::new()) };
    let same: Vec<&Line> = sorted.iter().copied().filter(|other| other.key == line.key).collect();
    let judging = Judging {
        rules: Rules { events: Vec::new(), epochs: options.epochs.clone() },
        ..Judging::default()
    };
    let (word, colour) = match line.status {
        Status::Succeeded => {
            let said = verdict(&same, line, &Facts::default(), &judging);
            let colour = match said.word {
                Word::Regressed | Word::Mixed => "#bc4c00",
                Word::Improved | Word::Unchanged => "#1a7f37",
                _ => "#59636e",
            };
            (words::title(said.word).to_lowercase(), colour)
        }
        other => (other.words().to_owned(), "#bc4c00"),
    };
    let message = format!("{word}, {}", line.start.strftime("%Y-%m-%d"));
    let json = serde_json::json!({
        "schemaVersion": 1,
        "label": "perftrail",
        "message": message,
        "color": colour.trim_start_matches('#'),
    });
    // A letter of this size is about seven units wide.
    let wide = 14 + 7 * message.chars().count();
    let view = BadgeView { width: 74 + wide, wide, middle: 74 + wide / 2, message, colour };
    let svg = Engine::new(Language::Svg)?.render("badge.svg", &view)?;
    Ok(vec![
        (BADGE_JSON.to_owned(), format!("{json}\n").into_bytes()),
        (BADGE_SVG.to_owned(), svg.into_bytes()),
    ])
}

#[derive(Serialize)]
struct BadgeView {
    width: usize,
    wide: usize,
    middle: usize,
    message: String,
    colour: &'static str,
}

fn row(line: &Line, verdict: &RunVerdict) -> Row {
    let value = |name: &str| match (line.metrics.get(name), metric::built_in(name)) {
        (Some(entry), Some(known)) => Cell::number(amount(entry.value(), &known.unit)),
        _ => Cell::absent("not measured"),
    };
    let ended = match line.status {
        Status::Succeeded => "✓ succeeded".to_owned(),
        other => format!("✗ {}", other.words()),
    };
    let disturbed = if line.disturbed.is_empty() { "" } else { ", disturbed" };
    Row {
        cells: vec![
            Cell::link(&utc_minutes(line.start), Url::beside(&line.path)),
            Cell::text(&plain::name(&line.job)),
            commit(line),
            Cell::text(&format!("{ended}{disturbed}")),
            match verdict.word {
                Word::NothingMeasured => Cell::absent("not judged"),
                word => Cell::text(words::title(word)),
            },
            value("cpu_time"),
            value("duration"),
            value("memory_peak"),
            Cell::link(&started_by(line), line.run_url.as_deref().and_then(Url::web)),
        ],
    }
}

fn started_by(line: &Line) -> String {
    match line.pull_request {
        Some(number) => format!("{}, pull request {number}", plain::name(&line.event)),
        None => plain::name(&line.event),
    }
}

/// The commit, linked to its host where the repository's name says it.
fn commit(line: &Line) -> Cell {
    let Some(sha) = &line.commit else {
        return Cell::absent("no commit");
    };
    let parts: Vec<&str> = line.repository.split('/').collect();
    let url = match parts.as_slice() {
        [host, owner @ .., name] if !owner.is_empty() => {
            Url::commit(host, &owner.join("/"), name, sha)
        }
        _ => None,
    };
    let dirty = if line.dirty == Some(true) { " + changes" } else { "" };
    Cell::code_link(&format!("{}{dirty}", sha.short()), url)
}
