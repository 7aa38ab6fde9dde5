//! One metric of one history as a drawing that GitHub shows by itself: an SVG without scripts,
//! for light and dark, with its words for those who do not see it.

use std::fmt::Write as _;

use serde::Serialize;

use super::ReportError;
use super::axis::Axis;
use super::engine::Engine;
use super::history::change_words;
use super::timeline;
use super::view::{amount, day_and_commit, plural};
use crate::analysis::histories::{Standing, histories, in_order};
use crate::analysis::history::judge;
use crate::analysis::history::judgement::{ChangePoint, Level, State};
use crate::analysis::verdict::{Bounds, Judging};
use crate::model::metric::Unit;
use crate::model::quantity;
use crate::model::status::Status;
use crate::record::index::Line;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 30.0;

/// The metric whose trend is drawn: the first of these that the newest runs have.
const PRIMARY: [&str; 2] = ["cpu_time", "duration"];

/// One metric of the runs of one history, oldest first.
pub(crate) struct Trend<'a> {
    pub(crate) metric: &'a str,
    pub(crate) unit: Unit,
    points: Vec<Point<'a>>,
    found: Option<Found>,
}

/// What was found in the history, by places among the points.
struct Found {
    levels: Vec<(usize, usize, f64)>,
    changes: Vec<(usize, ChangePoint)>,
}

struct Point<'a> {
    line: &'a Line,
    mark: Mark,
}

/// How a run stands in the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mark {
    /// A run of the history.
    Point(f64),
    /// A measured run beside it: another branch, or uncommitted changes.
    Aside(f64),
    /// Not a success: its numbers would mislead.
    Failed,
    /// A success without this number, or with one measured in another way.
    Without,
}

impl<'a> Trend<'a> {
    /// The trend of the first number of `lines`, which share a key and come oldest first. `None`
    /// when no run of them has any number.
    pub(crate) fn new(lines: &[&'a Line]) -> Option<Self> {
        let has = |name: &str| {
            lines.iter().any(|line| is_success(line) && line.metrics.contains_key(name))
        };
        let primary = PRIMARY.into_iter().find(|name| has(name));
        let any = || {
            let mut newest = lines.iter().rev().filter(|line| is_success(line));
            newest.find_map(|line| line.metrics.keys().next()).map(String::as_str)
        };
        Self::with(lines, primary.or_else(any)?, &[])
    }

    /// The trend of `metric` over `lines`, which share a key, with what is found in it. `None`
    /// when no run of them has the number.
    pub(crate) fn of(lines: &[&'a Line], metric: &'a str, judging: &Judging) -> Option<Self> {
        let mut trend = Self::with(&in_order(lines), metric, &judging.rules.events)?;
        trend.judge(judging);
        Some(trend)
    }

    fn with(lines: &[&'a Line], metric: &'a str, events: &[String]) -> Option<Self> {
        let mut newest = lines.iter().rev().filter(|line| is_success(line));
        let newest = newest.find_map(|line| line.metrics.get(metric))?;
        let mark = |line: &Line| match line.metrics.get(metric) {
            _ if !is_success(line) => Mark::Failed,
            Some(entry) if entry.method() != newest.method() || !entry.value().is_finite() => {
                Mark::Without
            }
            Some(entry) if Standing::of(line, events) == Standing::Enters => {
                Mark::Point(entry.value())
            }
            Some(entry) => Mark::Aside(entry.value()),
            None => Mark::Without,
        };
        let points = lines.iter().map(|line| Point { line, mark: mark(line) }).collect();
        Some(Self { metric, unit: newest.unit(metric), points, found: None })
    }

    /// Looks for levels and changes.
    fn judge(&mut self, judging: &Judging) {
        let lines: Vec<&Line> = self.points.iter().map(|point| point.line).collect();
        let all = histories(&lines, self.metric, &judging.rules);
        let Some(history) = all.first() else { return };
        let rule = judging.metrics.iter().find(|rule| rule.name == self.metric);
        let least = |exact| Bounds::of(rule, &self.unit, exact).least;
        let judgement = judge(&history.series(&judging.rules), least(false), least(true));
        let inside: Vec<&str> = history.inside().map(|run| run.line.path.as_str()).collect();
        let place = |index: usize| {
            let path = inside.get(index)?;
            self.points.iter().position(|point| point.line.path == *path)
        };
        let level = |level: &Level| Some((place(level.from)?, place(level.to)?, level.value));
        self.found = Some(Found {
            levels: judgement.levels.iter().filter_map(level).collect(),
            changes: judgement
                .change_points
                .iter()
                .filter_map(|change| Some((place(change.index)?, *change)))
                .collect(),
        });
    }

    /// The newest change of the level: its words and the run that begins it.
    pub(crate) fn newest_change(&self) -> Option<(String, &'a Line)> {
        let (place, change) = self.found.as_ref()?.changes.last()?;
        let line = self.points.get(*place)?.line;
        let words = change_words(change, &self.unit);
        let runs = plural(change.points, "run");
        Some((format!("{words}, {}, {runs} since", change.state.word()), line))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.points.iter().filter_map(|point| point.mark.value())
    }

    /// The latest value, formatted.
    pub(crate) fn latest(&self) -> String {
        let latest = self.values().last();
        latest.map_or_else(|| "no value".to_owned(), |value| amount(value, &self.unit))
    }

    /// The run of the latest value.
    pub(crate) fn latest_run(&self) -> Option<&'a Line> {
        let measured = self.points.iter().rfind(|point| point.mark.value().is_some());
        measured.map(|point| point.line)
    }

    /// The change from the measured run before, `, +3.2 % from the run before`; nothing where there
    /// is none.
    pub(crate) fn latest_change(&self) -> String {
        let values: Vec<f64> = self.values().collect();
        let change = match values.as_slice() {
            [.., before, last] => quantity::relative(*before, *last),
            _ => None,
        };
        change.map_or_else(String::new, |change| format!(", {change} from the run before"))
    }

    /// The trend as a row of signs.
    pub(crate) fn spark(&self, width: usize) -> String {
        timeline::spark(&self.values().collect::<Vec<f64>>(), width)
    }

    /// The trend in words.
    pub(crate) fn words(&self) -> String {
        let failed = self.points.iter().filter(|point| point.mark == Mark::Failed).count();
        let values: Vec<f64> = self.values().collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut words = plural(values.len(), "run");
        if failed > 0 {
            let _ = write!(words, ", {failed} more without success");
        }
        if greatest > least {
            let (least, greatest) = (amount(least, &self.unit), amount(greatest, &self.unit));
            let _ = write!(words, "; between {least} and {greatest}");
        }
        format!("{words}; latest {}", self.latest())
    }

    /// The drawing.
    pub(crate) fn svg(
        &self,
        heading: &str,
        words: &str,
        engine: &Engine,
    ) -> Result<String, ReportError> {
        let least = self.values().fold(f64::INFINITY, f64::min);
        let greatest = self.values().fold(f64::NEG_INFINITY, f64::max);
        let axis = Axis::of_values(least, greatest, &self.unit, 3);
        let paths = self.paths(&axis);
        let ends = |point: Option<&Point<'_>>| {
            point.map_or_else(|| "no run".to_owned(), |point| day_and_commit(point.line))
        };
        let rows = axis.marks.iter().map(|(value, text)| {
            let y = y_of(&axis, *value);
            MarkView { at: px(y), text_at: px(y + 4.0), text: text.clone() }
        });
        let view = TrendView {
            width: px(WIDTH),
            height: px(HEIGHT),
            left: px(LEFT),
            right: px(RIGHT),
            foot: px(HEIGHT - 8.0),
            title: heading.to_owned(),
            description: words.to_owned(),
            heading: heading.to_owned(),
            latest: format!("latest {}", self.latest()),
            rows: rows.collect(),
            first: ends(self.points.first()),
            last: ends(self.points.last()),
            line: paths.line,
            points: paths.points,
            asides: paths.asides,
            failed: paths.failed,
            levels: paths.levels,
            changes: paths.changes,
            accepted: paths.accepted,
        };
        engine.render("trend.svg", &view)
    }

    /// One path for each kind of mark: that keeps the file small.
    fn paths(&self, axis: &Axis) -> Paths {
        let mut paths = Paths::default();
        self.mark_levels(axis, &mut paths);
        for (i, point) in self.points.iter().enumerate() {
            let x = self.x_of(i);
            let dot = |path: &mut String, y| {
                let _ = write!(path, "M{} {}h0", px(x), px(y));
            };
            match point.mark {
                Mark::Point(value) => {
                    let y = y_of(axis, value);
                    let command = if paths.line.is_empty() { 'M' } else { 'L' };
                    let _ = write!(paths.line, "{command}{} {}", px(x), px(y));
                    dot(&mut paths.points, y);
                }
                Mark::Aside(value) => dot(&mut paths.asides, y_of(axis, value)),
                Mark::Failed => {
                    let (x, y) = (px(x - 4.0), px(BOTTOM - 4.0));
                    let _ = write!(paths.failed, "M{x} {y}l8 8m0-8l-8 8");
                }
                Mark::Without => {}
            }
        }
        paths
    }

    fn x_of(&self, place: usize) -> f64 {
        let last = (self.points.len().max(2) - 1) as f64;
        let share = if self.points.len() == 1 { 0.5 } else { place as f64 / last };
        LEFT + 8.0 + share * (RIGHT - LEFT - 16.0)
    }

    fn mark_levels(&self, axis: &Axis, paths: &mut Paths) {
        let Some(found) = &self.found else { return };
        for (from, to, value) in &found.levels {
            let (from, to) = (px(self.x_of(*from)), px(self.x_of(*to)));
            let _ = write!(paths.levels, "M{from} {}H{to}", px(y_of(axis, *value)));
        }
        for (place, change) in &found.changes {
            let path = match change.state {
                State::Accepted => &mut paths.accepted,
                State::Suspected | State::Confirmed => &mut paths.changes,
                State::Unusual => continue,
            };
            let _ = write!(path, "M{} {}V{}", px(self.x_of(*place)), px(TOP), px(BOTTOM));
        }
    }
}

impl Mark {
    const fn value(self) -> Option<f64> {
        match self {
            Self::Point(value) | Self::Aside(value) => Some(value),
            Self::Failed | Self::Without => None,
        }
    }
}

#[derive(Default)]
struct Paths {
    line: String,
    points: String,
    asides: String,
    failed: String,
    levels: String,
    changes: String,
    accepted: String,
}

#[derive(Serialize)]
struct TrendView {
    width: String,
    height: String,
    left: String,
    right: String,
    foot: String,
    title: String,
    description: String,
    heading: String,
    latest: String,
    rows: Vec<MarkView>,
    first: String,
    last: String,
    line: String,
    points: String,
    asides: String,
    failed: String,
    levels: String,
    changes: String,
    accepted: String,
}

#[derive(Serialize)]
struct MarkView {
    at: String,
    text_at: String,
    text: String,
}

fn is_success(line: &Line) -> bool {
    line.status == Status::Succeeded
}

fn y_of(axis: &Axis, value: f64) -> f64 {
    BOTTOM - axis.place(value) * (BOTTOM - TOP)
}

/// Whole pixels: finer ones cannot be told apart at this size.
fn px(value: f64) -> String {
    format!("{value:.0}")
}
