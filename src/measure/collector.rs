//! Gathers what the job reports: its metrics, series, phases and notes, each within a limit.

use std::collections::BTreeMap;

use crate::model::metric::Unit;
use crate::record::marks::{Mark, MarkError, parse_line, reported_name};
use crate::record::series::{Series, SeriesSource};
use crate::record::{Level, Notice};

use super::measurement::{PhaseSpan, Reported, ReportedMetric};
use super::points::Points;

const METRICS_MAX: usize = 1000;
const SERIES_MAX: usize = 200;
const PHASES_MAX: usize = 1000;
const NOTES_MAX: usize = 100;
/// Seconds since 1970 are at least this; a smaller `t` counts from the start of the step.
const UNIX_TIME_FROM: f64 = 1e9;

/// The tree at the moment of a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// CPU time so far, in seconds.
    pub(super) cpu: f64,
    /// Memory, in bytes.
    pub(super) memory: f64,
}

/// When a line was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// Seconds from the start of the step.
    pub(super) now: f64,
    /// The start of the step in seconds since 1970.
    pub(super) started: f64,
}

impl Moment {
    /// The job's own stamp on our axis, never outside of what has passed.
    fn at(self, t: Option<f64>) -> f64 {
        match t {
            Some(t) if t >= UNIX_TIME_FROM => (t - self.started).clamp(0.0, self.now),
            Some(t) => t.clamp(0.0, self.now),
            None => self.now,
        }
    }
}

/// Everything the job reported so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    metrics: Vec<ReportedMetric>,
    metric_index: BTreeMap<String, usize>,
    series: Vec<(String, Unit, Points)>,
    series_index: BTreeMap<String, usize>,
    phases: Vec<Phase>,
    open: Vec<usize>,
    notes: Vec<String>,
    lines: u64,
    malformed: u64,
    first_malformed: Option<(u64, String)>,
    ends_without_begin: u64,
    first_unbegun: Option<String>,
    beyond: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug)]
struct Phase {
    name: String,
    begin: f64,
    end: Option<f64>,
    at_begin: Option<Seen>,
    cpu_time: Option<f64>,
    memory_peak: Option<f64>,
}

impl Phase {
    /// Takes a size that the tree was seen at.
    fn grow(&mut self, bytes: f64) {
        if self.at_begin.is_some() && bytes > 0.0 {
            self.memory_peak = Some(self.memory_peak.map_or(bytes, |peak| peak.max(bytes)));
        }
    }
}

impl Collector {
    /// Takes one line. `look` looks at the tree; `None` where it cannot be seen.
    pub(super) fn line(
        &mut self,
        line: &[u8],
        moment: Moment,
        look: &mut dyn FnMut() -> Option<Seen>,
    ) {
        self.lines += 1;
        if self.first_malformed.is_some() && line.first().is_some_and(|&c| !b"{ \t\r".contains(&c))
        {
            // The first one has told why; a flood of others is only counted.
            self.malformed += 1;
            return;
        }
        match parse_line(line) {
            Ok(marks) => marks.into_iter().for_each(|mark| self.mark(mark, moment, look)),
            Err(error) => self.refuse(&error),
        }
    }

    /// A line that is longer than may be looked at.
    pub(super) fn long_line(&mut self) {
        self.lines += 1;
        self.refuse(&MarkError::TooLong);
    }

    fn refuse(&mut self, error: &MarkError) {
        self.malformed += 1;
        if self.first_malformed.is_none() {
            self.first_malformed = Some((self.lines, error.to_string()));
        }
    }

    fn mark(&mut self, mark: Mark, moment: Moment, look: &mut dyn FnMut() -> Option<Seen>) {
        match mark {
            Mark::Metric { name, value, unit, better } => {
                self.metric(ReportedMetric { name: reported_name(&name), value, unit, better });
            }
            Mark::Series { name, value, x, unit, t } => {
                self.point(name, unit, moment.at(t), value, x);
            }
            Mark::PhaseBegin { name, t } => self.begin(name, moment.at(t), look),
            Mark::PhaseEnd { name, t } => self.end(name, moment.at(t), look),
            Mark::Note(_) if self.notes.len() >= NOTES_MAX => self.too_many("notes"),
            Mark::Note(text) => self.notes.push(text),
        }
    }

    fn too_many(&mut self, what: &'static str) {
        *self.beyond.entry(what).or_insert(0) += 1;
    }

    fn metric(&mut self, metric: ReportedMetric) {
        if let Some(known) =
            self.metric_index.get(&metric.name).and_then(|&index| self.metrics.get_mut(index))
        {
            *known = metric;
        } else if self.metrics.len() >= METRICS_MAX {
            self.too_many("metrics");
        } else {
            self.metric_index.insert(metric.name.clone(), self.metrics.len());
            self.metrics.push(metric);
        }
    }

    fn point(&mut self, name: String, unit: Unit, t: f64, value: f64, x: Option<String>) {
        let index = match self.series_index.get(&name) {
            Some(&index) => index,
            None if self.series.len() >= SERIES_MAX => return self.too_many("series"),
            None => {
                self.series_index.insert(name.clone(), self.series.len());
                self.series.push((name, unit, Points::default()));
                self.series.len() - 1
            }
        };
        if let Some((_, _, points)) = self.series.get_mut(index) {
            points.push_with_x(t, value, x);
        }
    }

    fn begin(&mut self, name: String, t: f64, look: &mut dyn FnMut() -> Option<Seen>) {
        if self.phases.len() >= PHASES_MAX {
            return self.too_many("phases");
        }
        let seen = look();
        // Where nothing was seen of the tree, nothing is known of its memory.
        let memory = seen.map(|seen| seen.memory).filter(|bytes| *bytes > 0.0);
        self.open.push(self.phases.len());
        self.phases.push(Phase {
            name,
            begin: t,
            end: None,
            at_begin: seen,
            cpu_time: None,
            memory_peak: memory,
        });
    }

    fn end(&mut self, name: String, t: f64, look: &mut dyn FnMut() -> Option<Seen>) {
        let is_it = |&&index: &&usize| self.phases.get(index).is_some_and(|p| p.name == name);
        let Some(&index) = self.open.iter().rev().find(is_it) else {
            if !self.beyond.contains_key("phases") {
                self.ends_without_begin += 1;
                self.first_unbegun.get_or_insert(name);
            }
            return;
        };
        self.open.retain(|&open| open != index);
        let seen = look();
        if let (Some(phase), seen) = (self.phases.get_mut(index), seen) {
            phase.end = Some(t.max(phase.begin));
            if let (Some(begin), Some(end)) = (phase.at_begin, seen) {
                phase.cpu_time = Some((end.cpu - begin.cpu).max(0.0));
                phase.grow(end.memory);
            }
        }
    }

    /// The sampler saw the tree at this size.
    pub(super) fn memory(&mut self, bytes: f64) {
        for &index in &self.open {
            if let Some(phase) = self.phases.get_mut(index) {
                phase.grow(bytes);
            }
        }
    }

    /// The name of the phase that began last and has not ended.
    pub(super) fn phase(&self) -> Option<&str> {
        self.phases.get(*self.open.last()?).map(|phase| phase.name.as_str())
    }

    /// Metrics and notes so far.
    pub(super) fn reported(&self) -> Reported {
        Reported { metrics: self.metrics.clone(), notes: self.notes.clone() }
    }

    /// Phases so far, in order of their begin.
    pub(super) fn phases(&self) -> Vec<PhaseSpan> {
        let mut phases: Vec<_> = self
            .phases
            .iter()
            .map(|phase| PhaseSpan {
                name: phase.name.clone(),
                begin: phase.begin,
                end: phase.end,
                cpu_time: phase.cpu_time,
                memory_peak: phase.memory_peak,
            })
            .collect();
        phases.sort_by(|a, b| a.begin.total_cmp(&b.begin));
        phases
    }

    /// Series so far.
    pub(super) fn series(&self) -> impl Iterator<Item = Series> + '_ {
        self.series.iter().map(|(name, unit, points)| {
            points.to_series(name, unit.clone(), SeriesSource::Reported)
        })
    }

    /// What people should know about these lines.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |code: &str, message: String| {
            notices.push(Notice { level: Level::Warning, code: code.to_owned(), message });
        };
        if let Some((line, why)) = &self.first_malformed {
            let count = self.malformed;
            let lines = if count == 1 { "line" } else { "lines" };
            say(
                "stats_malformed",
                format!(
                    "{count} {lines} of PERFTRAIL_STATS could not be read; the first is line {line}: {why}"
                ),
            );
        }
        if let Some(name) = &self.first_unbegun {
            let count = self.ends_without_begin;
            say(
                "phase_without_begin",
                format!("{count} times a phase ended that had not begun; the first is `{name}`"),
            );
        }
        if !self.beyond.is_empty() {
            let what: Vec<_> =
                self.beyond.iter().map(|(what, count)| format!("{count} {what}")).collect();
            say(
                "stats_too_many",
                format!(
                    "the job reported more than is kept ({METRICS_MAX} metrics, {SERIES_MAX} series, \
                     {PHASES_MAX} phases, {NOTES_MAX} notes); left out: {}",
                    what.join(", ")
                ),
            );
        }
        notices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(collector: &mut Collector, now: f64, line: &str, seen: impl Into<Option<Seen>>) {
        let seen = seen.into();
        collector.line(line.as_bytes(), Moment { now, started: 1.7e9 }, &mut || seen);
    }

    fn begin(name: &str) -> String {
        format!(r#"{{"phase": "{name}", "event": "begin"}}"#)
    }

    fn end(name: &str) -> String {
        format!(r#"{{"phase": "{name}", "event": "end"}}"#)
    }

    fn seen(cpu: f64, memory: f64) -> Seen {
        Seen { cpu, memory }
    }

    #[test]
    fn phases_nest_and_repeat() {
        let mut collector = Collector::default();
        feed(&mut collector, 1.0, &begin("run"), seen(0.5, 10.0));
        feed(&mut collector, 2.0, &begin("month"), seen(1.5, 20.0));
        assert_eq!(collector.phase(), Some("month"));
        collector.memory(99.0);
        feed(&mut collector, 3.0, &end("month"), seen(2.0, 30.0));
        assert_eq!(collector.phase(), Some("run"));
        feed(&mut collector, 4.0, &begin("month"), seen(2.0, 5.0));
        feed(&mut collector, 5.0, &end("month"), seen(2.5, 6.0));
        let phases = collector.phases();
        let names: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["run", "month", "month"]);
        assert_eq!(phases[0].end, None);
        assert_eq!(phases[0].memory_peak, Some(99.0));
        assert_eq!((phases[1].begin, phases[1].end), (2.0, Some(3.0)));
        assert_eq!((phases[1].cpu_time, phases[1].memory_peak), (Some(0.5), Some(99.0)));
        assert_eq!((phases[2].cpu_time, phases[2].memory_peak), (Some(0.5), Some(6.0)));
    }

    #[test]
    fn a_phase_without_sight_has_its_times_only() {
        let mut collector = Collector::default();
        feed(&mut collector, 1.0, &begin("a"), None);
        feed(&mut collector, 2.0, &end("a"), None);
        let phase = collector.phases().remove(0);
        assert_eq!((phase.end, phase.cpu_time, phase.memory_peak), (Some(2.0), None, None));
    }

    #[test]
    fn own_stamps_stay_within_the_run() {
        let moment = Moment { now: 10.0, started: 1.7e9 };
        for (t, at) in [
            (None, 10.0),
            (Some(4.0), 4.0),
            (Some(99.0), 10.0),
            (Some(1.7e9 + 3.0), 3.0),
            (Some(1.6e9), 0.0),
        ] {
            assert!((moment.at(t) - at).abs() < 1e-6, "{t:?}");
        }
    }

    #[test]
    fn the_last_value_counts_and_built_in_names_are_kept_apart() {
        let mut collector = Collector::default();
        feed(&mut collector, 1.0, r#"{"rows": 1, "duration": 5}"#, None);
        feed(&mut collector, 1.0, r#"{"rows": 2}"#, None);
        let reported = collector.reported();
        let mut all: Vec<_> =
            reported.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        all.sort_by_key(|(name, _)| *name);
        assert_eq!(all, [("job.duration", 5.0), ("rows", 2.0)]);
    }

    #[test]
    fn floods_are_counted_not_kept() {
        let mut collector = Collector::default();
        for i in 0..3000 {
            feed(&mut collector, 1.0, &format!(r#"{{"m{i}": 1}}"#), None);
            feed(&mut collector, 1.0, &format!(r#"{{"series": "s{i}", "value": 1}}"#), None);
            feed(&mut collector, 1.0, &begin("p"), None);
            feed(&mut collector, 1.0, r#"{"note": "n"}"#, None);
            feed(&mut collector, 1.0, "garbage", None);
        }
        assert_eq!(collector.reported().metrics.len(), 1000);
        assert_eq!(collector.reported().notes.len(), 100);
        assert_eq!(collector.series().count(), 200);
        assert_eq!(collector.phases().len(), 1000);
        let notices = collector.notices();
        assert_eq!(notices.len(), 2);
        assert!(notices[0].message.starts_with("3000 lines"), "{}", notices[0].message);
        assert!(notices[0].message.contains("line 5"), "{}", notices[0].message);
        for part in ["2000 metrics", "2800 series", "2000 phases", "2900 notes"] {
            assert!(notices[1].message.contains(part), "{}", notices[1].message);
        }
    }
}
