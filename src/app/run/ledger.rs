//! Keeps what a run has measured so far, and writes it into the record at any time.

use std::collections::BTreeMap;

use super::values::{self, Value, Values};
use serde_json::Value as Json;

use crate::measure::{BoundedLog, LogBudget, Measurement, PhaseSpan, Share, WARNINGS};
use crate::model::metric::{Better, Exactness, Unit};
use crate::model::param::Param;
use crate::model::status::Status;
use crate::record::series::{Series, SeriesFile, summaries};
use crate::record::{Level, Metric, Notice, Overhead, Phase, Record, Step};

/// One step that ran, or runs.
#[derive(Clone, Debug)]
pub(super) struct StepRun {
    /// Its name.
    pub name: String,
    /// Seconds from the start of the repetition to its start.
    pub begin: f64,
    /// What was measured.
    pub measurement: Measurement,
}

/// What came with a repetition beside the measurements of its steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Besides {
    /// Sizes of outputs, numbers read from files: metrics of the job as a whole.
    pub values: Values,
    /// Lines that matched a counter in collected logs.
    pub log_counts: BTreeMap<String, u64>,
    /// Phases that files told of.
    pub phases: Vec<Phase>,
    /// Series that files told of.
    pub series: Vec<Series>,
    /// Params that files told of.
    pub params: BTreeMap<String, Param>,
    /// Texts and numbers that files told of.
    pub extra: BTreeMap<String, Json>,
    /// What people should know of these files.
    pub notices: Vec<Notice>,
}

impl Besides {
    /// Whether something is missing that the run cannot be without.
    pub(super) fn is_broken(&self) -> bool {
        self.notices.iter().any(|notice| notice.level == Level::Error)
    }
}

/// Everything measured so far.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Steps of the job, with the text of their commands.
    steps: Vec<(String, String)>,
    completed: Vec<Numbers>,
    /// The last completed repetition, or the last one at all while none is complete.
    last: Option<Repetition>,
    log: BoundedLog,
    overhead: Overhead,
    share: Share,
    notices: Vec<Notice>,
}

/// The numbers of one repetition.
#[derive(Clone, Debug, Default)]
struct Numbers {
    job: Values,
    unavailable: BTreeMap<String, String>,
    steps: BTreeMap<String, Values>,
}

#[derive(Clone, Debug)]
struct Repetition {
    steps: Vec<StepRun>,
    besides: Besides,
    numbers: Numbers,
}

impl Repetition {
    fn new(steps: Vec<StepRun>, besides: Besides) -> Self {
        let (mut job, unavailable) = values::of_steps(steps.iter().map(|step| &step.measurement));
        let mut by_step = BTreeMap::new();
        for step in &steps {
            let mut own = values::of_step(&step.measurement);
            let reported = values::reported(&step.measurement);
            own.extend(reported.clone());
            job.extend(reported);
            by_step.insert(step.name.clone(), own);
        }
        job.extend(counts(&steps, &besides.log_counts));
        job.extend(besides.values.clone());
        let numbers = Numbers { job, unavailable, steps: by_step };
        Self { steps, besides, numbers }
    }
}

/// Lines that matched each counter, over the output of all steps and the collected logs.
fn counts(steps: &[StepRun], logs: &BTreeMap<String, u64>) -> Values {
    let mut sums = logs.clone();
    for step in steps {
        for (name, count) in &step.measurement.output.counts {
            *sums.entry(name.clone()).or_default() += count;
        }
    }
    sums.into_iter()
        .map(|(name, count)| {
            let better = if name == WARNINGS { Better::Lower } else { Better::Neither };
            (name, Value::counted(count as f64, Unit::Count, better, "output", "matching_lines"))
        })
        .collect()
}

impl Ledger {
    /// An empty one for a job of these steps.
    pub(super) fn new(steps: Vec<(String, String)>, log: LogBudget) -> Self {
        Self {
            steps,
            completed: Vec::new(),
            last: None,
            log: BoundedLog::new(log),
            overhead: Overhead::default(),
            share: Share::default(),
            notices: Vec::new(),
        }
    }

    /// Adds a line of perftrail's own to the log.
    pub(super) fn log_line(&mut self, line: &str) {
        self.log.push(format!("[perftrail: {line}]\n").as_bytes());
    }

    /// Adds what a command printed to the log, and what measuring it cost to the sum.
    pub(super) fn add_output(&mut self, measurement: &Measurement) {
        self.log.push(&measurement.output.log.to_bytes());
        self.share.add(&measurement.share);
        add_overhead(&mut self.overhead, &measurement.overhead);
        for notice in &measurement.notices {
            self.notice(notice.clone());
        }
    }

    /// Adds a notice, once.
    pub(super) fn notice(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Adds a repetition whose steps all succeeded.
    pub(super) fn complete(&mut self, steps: Vec<StepRun>, besides: Besides) {
        let repetition = Repetition::new(steps, besides);
        self.completed.push(repetition.numbers.clone());
        self.last = Some(repetition);
    }

    /// Adds a repetition that ended early. Completed ones stay what the metrics are made of.
    pub(super) fn break_off(&mut self, steps: Vec<StepRun>) {
        if steps.is_empty() {
            return;
        }
        if self.completed.is_empty() {
            self.last = Some(Repetition::new(steps, Besides::default()));
        } else if let Some(last) = &mut self.last {
            // The numbers are those of completed repetitions; how the steps ended is the news.
            for ended in steps {
                if let Some(step) = last.steps.iter_mut().find(|step| step.name == ended.name) {
                    step.measurement.ending = ended.measurement.ending;
                }
            }
        }
    }

    /// Whether anything was measured at all.
    pub(super) fn has_measured(&self) -> bool {
        self.last.is_some()
    }

    /// How many repetitions are complete.
    pub(super) fn completed(&self) -> u32 {
        u32::try_from(self.completed.len()).unwrap_or(u32::MAX)
    }

    /// The job's CPU use, for the judgement of disturbances.
    pub(super) fn share(&self) -> Share {
        self.share
    }

    /// The job's output so far.
    pub(super) fn log(&self) -> &BoundedLog {
        &self.log
    }

    /// Writes all of it into the record. `running` are the steps of the repetition that goes on.
    pub(super) fn fill(&self, record: &mut Record, running: Option<&[StepRun]>) {
        let live = running
            .filter(|_| self.completed.is_empty())
            .map(|steps| Repetition::new(steps.to_vec(), Besides::default()));
        let shown = live.as_ref().or(self.last.as_ref());
        let completed: Vec<Values> =
            self.completed.iter().map(|numbers| numbers.job.clone()).collect();
        record.run.repetitions.completed = self.completed();
        record.metrics = values::metrics(&completed, shown.map(|last| &last.numbers.job));
        record.unavailable = shown.map(|last| last.numbers.unavailable.clone()).unwrap_or_default();
        record.steps = self.steps.iter().map(|step| self.step(step, shown)).collect();
        record.phases = shown.map(phases).unwrap_or_default();
        record.series = summaries(&shown.map(series).unwrap_or_default());
        record.overhead = self.overhead.clone();
        if let Some(running) = running.and_then(<[StepRun]>::last) {
            add_overhead(&mut record.overhead, &running.measurement.overhead);
        }
        record.notices.clone_from(&self.notices);
        if let Some(shown) = shown {
            record.notices.extend(shown.besides.notices.iter().cloned());
            record.notices.extend(notes(&shown.steps));
            // What was declared before the run counts more than what the job says of itself.
            for (name, param) in &shown.besides.params {
                record.params.entry(name.clone()).or_insert_with(|| param.clone());
            }
            for (name, value) in &shown.besides.extra {
                record.extra.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// The series of the repetition that is shown.
    pub(super) fn series(&self) -> SeriesFile {
        let series = self.last.as_ref().map(series).unwrap_or_default();
        SeriesFile { version: 1, series }
    }

    fn step(&self, (name, command): &(String, String), shown: Option<&Repetition>) -> Step {
        let ran = shown.and_then(|last| last.steps.iter().find(|step| step.name == *name));
        let completed: Vec<Values> =
            self.completed.iter().filter_map(|numbers| numbers.steps.get(name).cloned()).collect();
        let last = shown.and_then(|last| last.numbers.steps.get(name));
        let ending = ran.map(|step| step.measurement.ending);
        Step {
            name: name.clone(),
            command: command.clone(),
            status: ending.map_or(Status::Skipped, |ending| ending.status),
            exit_code: ending.and_then(|ending| ending.exit_code),
            signal: ending.and_then(|ending| ending.signal),
            metrics: values::metrics(&completed, last),
            unavailable: ran
                .map(|step| {
                    let reasons = step.measurement.unavailable.iter();
                    reasons.map(|(name, why)| ((*name).to_owned(), why.clone())).collect()
                })
                .unwrap_or_default(),
        }
    }
}

fn notes(steps: &[StepRun]) -> impl Iterator<Item = Notice> {
    steps.iter().flat_map(|step| &step.measurement.reported.notes).map(|note| Notice {
        level: Level::Info,
        code: "job_note".to_owned(),
        message: format!("the job says: {note}"),
    })
}

fn add_overhead(sum: &mut Overhead, more: &Overhead) {
    sum.cpu_time += more.cpu_time;
    sum.sampler_cpu_time += more.sampler_cpu_time;
    sum.samples += more.samples;
    sum.late_samples += more.late_samples;
    sum.sample_cost_median =
        if more.samples > 0 { more.sample_cost_median } else { sum.sample_cost_median };
    sum.sample_cost_max = sum.sample_cost_max.max(more.sample_cost_max);
    sum.interval = if more.samples > 0 { more.interval } else { sum.interval };
    sum.pss_sweeps += more.pss_sweeps;
    sum.pss_cpu_time += more.pss_cpu_time;
    sum.output_blocked += more.output_blocked;
}

fn phases(repetition: &Repetition) -> Vec<Phase> {
    let mut phases = repetition.besides.phases.clone();
    for step in &repetition.steps {
        phases.extend(step.measurement.phases.iter().map(|span| Phase {
            name: span.name.clone(),
            step: step.name.clone(),
            begin: Some(step.begin + span.begin),
            end: span.end.map(|end| step.begin + end),
            metrics: phase_metrics(span),
        }));
    }
    phases.sort_by(|a, b| a.begin.unwrap_or(0.0).total_cmp(&b.begin.unwrap_or(0.0)));
    phases
}

/// The metrics of a phase of which only the duration is known.
pub(super) fn duration(seconds: f64, source: &str) -> BTreeMap<String, Metric> {
    let value = Value::counted(seconds, Unit::Seconds, Better::Lower, source, "reported");
    values::metrics(&[Values::from([("duration".to_owned(), value)])], None)
}

fn phase_metrics(span: &PhaseSpan) -> BTreeMap<String, Metric> {
    let value = |value: f64, unit, source: &str, method: &str, exactness| Value {
        exactness,
        ..Value::counted(value, unit, Better::Lower, source, method)
    };
    let mut of_phase = Values::new();
    if let Some(end) = span.end {
        let duration = value(end - span.begin, Unit::Seconds, "job", "marks", Exactness::Sampled);
        of_phase.insert("duration".to_owned(), duration);
    }
    if let Some(cpu) = span.cpu_time {
        let cpu = value(cpu, Unit::Seconds, "procfs", "at_marks", Exactness::Sampled);
        of_phase.insert("cpu_time".to_owned(), cpu);
    }
    if let Some(memory) = span.memory_peak {
        let memory = value(memory, Unit::Bytes, "procfs", "rss_sum", Exactness::Sampled);
        of_phase.insert("memory_peak".to_owned(), memory);
    }
    values::metrics(&[of_phase], None)
}

/// The series of all steps on one time axis: a series that several steps have goes on from one to
/// the next.
fn series(repetition: &Repetition) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for step in &repetition.steps {
        for one in &step.measurement.series {
            let mut moved = one.clone();
            for t in &mut moved.t {
                *t += step.begin;
            }
            match all.iter_mut().find(|other| other.name == one.name && other.unit == one.unit) {
                Some(earlier) => append(earlier, moved),
                None => all.push(moved),
            }
        }
    }
    all.extend(repetition.besides.series.iter().cloned());
    all
}

fn append(earlier: &mut Series, mut later: Series) {
    // Lists may be empty when they would only repeat `value`: fill them before they are joined.
    for series in [&mut *earlier, &mut later] {
        if series.min.is_empty() {
            series.min.clone_from(&series.value);
            series.max.clone_from(&series.value);
        }
    }
    if earlier.x.is_empty() != later.x.is_empty() {
        earlier.x.clear();
        later.x.clear();
    }
    earlier.t.extend(later.t);
    earlier.x.extend(later.x);
    earlier.value.extend(later.value);
    earlier.min.extend(later.min);
    earlier.max.extend(later.max);
}
