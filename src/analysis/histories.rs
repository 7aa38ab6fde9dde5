//! Histories: which runs stand in one, in which order, and which are only shown beside it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::history::series::{Aside, Point, Series};
use crate::config::MetricRule;
use crate::config::sections::{self, is_pull_request};
use crate::model::status::Status;
use crate::record::index::{Entry, Line};

/// Where more than this share of the runs is disturbed, that is how things are here, and all are
/// judged.
const DISTURBED_MAX: f64 = 0.5;

/// Which runs enter histories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Runs that these events started; empty for all.
    pub events: Vec<String>,
    /// Changes that people accepted.
    pub epochs: Vec<Epoch>,
}

/// A change that people accepted: the level of a metric begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The metric.
    pub metric: String,
    /// The job; `None` for every job.
    pub job: Option<String>,
    /// The measured project, `host/owner/name`; `None` for every project.
    pub repository: Option<String>,
    /// The commit whose runs begin the level; `None` while that is not known of a pull request.
    pub commit: Option<String>,
    /// Where a pull request brought that commit: when its first run was planned.
    pub planned: Option<Timestamp>,
    /// The pull request that brings the level.
    pub pull_request: Option<u64>,
    /// Why it is accepted.
    pub because: String,
}

impl Epoch {
    /// Whether it is about that metric of the job of `line`.
    pub fn is_of(&self, metric: &str, line: &Line) -> bool {
        self.metric == metric && self.is_about(line)
    }

    /// Whether it is about the job of `line`.
    pub fn is_about(&self, line: &Line) -> bool {
        self.job.as_ref().is_none_or(|job| *job == line.job)
            && self.repository.as_ref().is_none_or(|one| one.eq_ignore_ascii_case(&line.repository))
    }

    /// Whether the commit of `line` is the one that begins the level.
    fn begins_at(&self, line: &Line) -> bool {
        match &self.commit {
            Some(sha) => line.commit.as_ref().is_some_and(|own| own.as_str() == sha),
            None => self.pull_request.is_some() && pull_request_of(line) == self.pull_request,
        }
    }

    /// Whether a pull request had been merged when the run of `line` was planned. Jobs are not all
    /// measured at the same commits.
    fn begins_before(&self, line: &Line) -> bool {
        self.pull_request.is_some() && self.planned.is_some_and(|planned| planned < line.planned)
    }
}

/// Why a change of `metric` in a run that acts for a pull request is accepted; `None` where nobody
/// accepted it.
pub fn accepted_for<'e>(line: &Line, metric: &str, epochs: &'e [Epoch]) -> Option<&'e str> {
    line.pull_request?;
    let silences =
        |epoch: &&Epoch| epoch.is_of(metric, line) && epoch.pull_request == line.pull_request;
    epochs.iter().find(silences).map(|epoch| epoch.because.as_str())
}

/// One metric of runs that may be compared, by one method, in the order of planning.
#[derive(Clone, Debug)]
pub struct History<'l> {
    /// The metric.
    pub metric: &'l str,
    /// `source:method` of its values.
    pub method: &'l str,
    /// Its runs, oldest first, and those beside it.
    pub runs: Vec<Placed<'l>>,
}

/// A run and how it stands to the history.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'l> {
    /// The run.
    pub line: &'l Line,
    /// Its value; `None` where it has none by this method.
    pub entry: Option<&'l Entry>,
    /// How it stands.
    pub standing: Standing,
}

/// How a run stands to its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It enters.
    Enters,
    /// It would enter, and did not succeed.
    Failed,
    /// Tracked files differed from the commit.
    Dirty,
    /// It acted for a pull request.
    PullRequest,
    /// Its commit is not known to lie on the default branch.
    OtherBranch,
    /// Started by an event whose runs do not enter.
    OtherEvent,
}

impl Standing {
    /// The standing of the run of `line`.
    pub fn of(line: &Line, events: &[String]) -> Self {
        let event = sections::event(&line.event);
        if line.dirty == Some(true) {
            Self::Dirty
        } else if line.pull_request.is_some() || is_pull_request(&line.event) {
            Self::PullRequest
        } else if !line.on_default_branch {
            Self::OtherBranch
        } else if !events.is_empty() && !events.iter().any(|known| known == event) {
            Self::OtherEvent
        } else if line.status == Status::Succeeded {
            Self::Enters
        } else {
            Self::Failed
        }
    }

    /// What it is, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Enters => "in the history",
            Self::Failed => "without success",
            Self::Dirty => "of uncommitted changes",
            Self::PullRequest => "of pull requests",
            Self::OtherBranch => "of other branches",
            Self::OtherEvent => "of other events",
        }
    }

    /// Whether the run has its place among the points.
    pub const fn is_inside(self) -> bool {
        matches!(self, Self::Enters | Self::Failed)
    }
}

/// The place of a run: the time at which it was planned, and its path.
pub fn order(line: &Line) -> (jiff::Timestamp, &str) {
    (line.planned, &line.path)
}

/// The histories of the metric `metric` in `lines`, which come in any order and share a key. A
/// method that replaced another makes a history of its own; the one with the newest run first.
pub fn histories<'l>(lines: &[&'l Line], metric: &'l str, rules: &Rules) -> Vec<History<'l>> {
    let sorted = in_order(lines);
    let mut methods: Vec<&str> = Vec::new();
    let newest_first = sorted.iter().rev().filter(|line| line.status == Status::Succeeded);
    for entry in newest_first.filter_map(|line| line.metrics.get(metric)) {
        if !methods.contains(&entry.method()) {
            methods.push(entry.method());
        }
    }
    let of_method = |method: &'l str| History {
        metric,
        method,
        runs: sorted.iter().filter_map(|line| Placed::of(line, metric, method, rules)).collect(),
    };
    methods.into_iter().map(of_method).collect()
}

/// Runs in the order of histories, each once.
pub fn in_order<'l>(lines: &[&'l Line]) -> Vec<&'l Line> {
    let mut sorted = lines.to_vec();
    sorted.sort_by(|a, b| order(a).cmp(&order(b)));
    sorted.dedup_by(|a, b| a.path == b.path);
    by_ancestry(sorted)
}

/// CPU time, else what stands in for it where the job told it itself or nobody measured it.
const TIMES: [&str; 4] = ["cpu_time", "job.cpu_time", "duration", "job.duration"];

/// The numbers that matter of runs that share a key: those that are judged, else CPU time or
/// duration and memory, else the first there is.
pub fn headline(lines: &[&Line], judged: &[MetricRule]) -> Vec<String> {
    if !judged.is_empty() {
        return judged.iter().map(|rule| rule.name.clone()).collect();
    }
    let has = |name: &str| lines.iter().any(|line| line.metrics.contains_key(name));
    let time = TIMES.into_iter().find(|name| has(name));
    let memory = Some("memory_peak").filter(|name| has(name));
    let mut names: Vec<&str> = time.into_iter().chain(memory).collect();
    if names.is_empty() {
        let newest = lines.iter().max_by_key(|line| order(line));
        names.extend(newest.and_then(|line| line.metrics.keys().next()).map(String::as_str));
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Runs in the order of planning, but those of a commit that an earlier measured one descends from:
/// they stand behind their nearest measured ancestor.
fn by_ancestry(planned: Vec<&Line>) -> Vec<&Line> {
    let mut placed: Vec<&Line> = Vec::with_capacity(planned.len());
    for line in planned {
        if line.older && line.on_default_branch {
            let is_before = |other: &&Line| {
                other
                    .commit
                    .as_ref()
                    .is_some_and(|sha| line.after.as_ref().is_some_and(|after| after.is(sha)))
            };
            let at = placed.iter().rposition(is_before).map_or(0, |at| at + 1);
            placed.insert(at, line);
        } else {
            placed.push(line);
        }
    }
    placed
}

/// Lines by what must be equal to share a history, the key with the newest run first.
pub fn by_key<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Vec<Vec<&'l Line>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        groups.entry((&line.job, &line.key)).or_default().push(line);
    }
    let mut groups: Vec<Vec<&Line>> = groups.into_values().collect();
    groups.sort_by(|a, b| {
        let newest = |lines: &[&'l Line]| lines.iter().map(|line| order(line)).max();
        newest(b).cmp(&newest(a))
    });
    groups
}

impl<'l> Placed<'l> {
    fn of(line: &'l Line, metric: &str, method: &str, rules: &Rules) -> Option<Self> {
        let entry = line.metrics.get(metric).filter(|_| line.status == Status::Succeeded);
        // A value by another method belongs to another history.
        if entry.is_some_and(|entry| entry.method() != method) {
            return None;
        }
        Some(Self { line, entry, standing: Standing::of(line, &rules.events) })
    }
}

impl<'l> History<'l> {
    /// The runs that have their place among the points.
    pub fn inside(&self) -> impl DoubleEndedIterator<Item = &Placed<'l>> {
        self.runs.iter().filter(|run| run.standing.is_inside())
    }

    /// How many runs stand beside it, by how they stand.
    pub fn beside(&self) -> BTreeMap<Standing, usize> {
        let mut counts = BTreeMap::new();
        for run in self.runs.iter().filter(|run| !run.standing.is_inside()) {
            *counts.entry(run.standing).or_default() += 1;
        }
        counts
    }

    /// The points to judge: one for each run inside.
    pub fn series(&self, rules: &Rules) -> Series {
        let inside: Vec<&Placed<'_>> = self.inside().collect();
        let disturbed = inside.iter().filter(|run| !run.line.disturbed.is_empty()).count();
        let usual = disturbed as f64 > DISTURBED_MAX * inside.len() as f64;
        let point = |(run, begun): (&&Placed<'_>, Option<&Epoch>)| {
            let line = run.line;
            let aside = (!usual && !line.disturbed.is_empty()).then_some(Aside::Disturbed);
            Point {
                value: run.entry.map(Entry::value),
                commit: line.commit.as_ref().map(ToString::to_string),
                machine: Some(format!("{} {}", line.fingerprint, line.profiler)),
                aside,
                accepted: begun.is_some(),
            }
        };
        let points = inside.iter().zip(self.begun(&rules.epochs)).map(point).collect();
        Series { points, exact: None }
    }

    /// For each of the runs inside, the epoch whose level begins there. Each begins once, and a
    /// commit begins one level however many say so.
    pub fn begun<'e>(&self, epochs: &'e [Epoch]) -> Vec<Option<&'e Epoch>> {
        let mut begun = BTreeSet::new();
        self.inside().map(|run| self.begins_level(run.line, epochs, &mut begun)).collect()
    }

    fn begins_level<'e>(
        &self,
        line: &Line,
        epochs: &'e [Epoch],
        begun: &mut BTreeSet<usize>,
    ) -> Option<&'e Epoch> {
        let of_metric: Vec<(usize, &Epoch)> =
            epochs.iter().enumerate().filter(|(_, epoch)| epoch.is_of(self.metric, line)).collect();
        let (at, others): (Vec<_>, Vec<_>) =
            of_metric.into_iter().partition(|(_, epoch)| epoch.begins_at(line));
        let is_new = at.iter().all(|(place, _)| !begun.contains(place));
        let mut first = at.first().filter(|_| is_new).map(|(_, epoch)| *epoch);
        begun.extend(at.iter().map(|(place, _)| *place));
        for (place, epoch) in others.into_iter().filter(|(_, epoch)| epoch.begins_before(line)) {
            if begun.insert(place) {
                first = first.or(Some(epoch));
            }
        }
        first
    }
}

/// The pull request that brought the commit of `line`: the run's own, or what the commit's subject
/// says in the way that GitHub writes it.
pub fn pull_request_of(line: &Line) -> Option<u64> {
    line.pull_request.or_else(|| brought_by(line.subject.as_deref()?))
}

/// The pull request that a commit of that subject brought, if it is written in the way of GitHub.
pub fn brought_by(subject: &str) -> Option<u64> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let subject = subject.trim_end();
    if let Some(rest) = subject.strip_prefix("Merge pull request #") {
        return number(rest.split(' ').next().unwrap_or_default());
    }
    let (_, last) = subject.strip_suffix(')')?.rsplit_once("(#")?;
    number(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::CommitSha;
    use crate::record::read::read;

    fn line(path: &str, planned: &str) -> Line {
        let bytes = include_bytes!("../../tests/fixtures/records/v1/succeeded.json");
        let mut record = read(bytes).unwrap().record;
        record.run.planned = planned.parse().unwrap();
        let mut line = Line::of(&record, path);
        (line.on_default_branch, line.dirty, line.pull_request) = (true, Some(false), None);
        "schedule".clone_into(&mut line.event);
        line.disturbed.clear();
        line
    }

    fn epoch(metric: &str) -> Epoch {
        Epoch {
            metric: metric.to_owned(),
            job: None,
            repository: None,
            commit: None,
            planned: None,
            pull_request: None,
            because: "exact".to_owned(),
        }
    }

    #[test]
    fn only_clean_runs_of_the_default_branch_enter() {
        let base = line("a", "2026-11-01T00:00:00Z");
        let events = ["schedule".to_owned()];
        let of = |change: &dyn Fn(&mut Line)| {
            let mut line = base.clone();
            change(&mut line);
            Standing::of(&line, &events)
        };
        assert_eq!(of(&|_| {}), Standing::Enters);
        assert_eq!(of(&|line| line.dirty = Some(true)), Standing::Dirty);
        assert_eq!(of(&|line| line.pull_request = Some(3)), Standing::PullRequest);
        assert_eq!(of(&|line| line.event = "issue_comment".to_owned()), Standing::PullRequest);
        assert_eq!(of(&|line| line.on_default_branch = false), Standing::OtherBranch);
        assert_eq!(of(&|line| line.event = "local".to_owned()), Standing::OtherEvent);
        assert_eq!(of(&|line| line.status = Status::TimedOut), Standing::Failed);
    }

    #[test]
    fn runs_stand_in_the_order_of_planning_and_methods_apart() {
        let mut old = line("z", "2026-11-01T00:00:00Z");
        let mut failed = line("y", "2026-11-02T00:00:00Z");
        let new = line("x", "2026-11-03T00:00:00Z");
        failed.status = Status::Failed;
        old.metrics.get_mut("cpu_time").unwrap().3 = "procfs:sampled".to_owned();
        // Clocks that differ: it began last and was planned first.
        old.start = "2026-11-09T00:00:00Z".parse().unwrap();
        let all = [&new, &failed, &old, &new];
        let rules = Rules::default();
        let found = histories(&all, "cpu_time", &rules);
        let paths = |history: &History<'_>| -> Vec<String> {
            history.inside().map(|run| run.line.path.clone()).collect()
        };
        assert_eq!(found.iter().map(paths).collect::<Vec<_>>(), [["y", "x"], ["z", "y"]]);
        assert_eq!(histories(&all, "no_such", &rules).len(), 0);
        let series = found[0].series(&rules);
        assert_eq!(series.points[0].value, None);
        assert!(series.points[1].value.is_some());
    }

    #[test]
    fn disturbed_runs_are_set_aside_unless_all_are() {
        let mut lines: Vec<Line> =
            (1..=4).map(|i| line("a", &format!("2026-11-0{i}T00:00:00Z"))).collect();
        for (i, line) in lines.iter_mut().enumerate() {
            line.path = i.to_string();
        }
        let rules = Rules::default();
        let aside = |lines: &[Line]| {
            let all: Vec<&Line> = lines.iter().collect();
            let points = histories(&all, "cpu_time", &rules)[0].series(&rules).points;
            points.iter().filter(|point| point.aside.is_some()).count()
        };
        lines[1].disturbed = vec!["steal".to_owned()];
        assert_eq!(aside(&lines), 1);
        for line in &mut lines {
            line.disturbed = vec!["steal".to_owned()];
        }
        assert_eq!(aside(&lines), 0);
    }

    #[test]
    fn an_epoch_begins_at_the_first_run_of_its_commit() {
        let mut lines = [line("a", "2026-11-01T00:00:00Z"), line("b", "2026-11-02T00:00:00Z")];
        let commit = lines[0].commit.as_ref().unwrap().to_string();
        let epoch = |metric: &str, job: Option<&str>| Epoch {
            job: job.map(str::to_owned),
            commit: Some(commit.clone()),
            ..epoch(metric)
        };
        let job = lines[0].job.clone();
        let repository = Some(lines[0].repository.to_uppercase());
        lines[1].commit = lines[0].commit.clone();
        for (epoch, expected) in [
            (epoch("cpu_time", None), [true, false]),
            (epoch("cpu_time", Some(&job)), [true, false]),
            (epoch("cpu_time", Some("other")), [false, false]),
            (epoch("duration", None), [false, false]),
            (Epoch { repository, ..epoch("cpu_time", None) }, [true, false]),
            (
                Epoch { repository: Some("h/o/n".to_owned()), ..epoch("cpu_time", None) },
                [false, false],
            ),
        ] {
            let rules = Rules { events: Vec::new(), epochs: vec![epoch] };
            let all: Vec<&Line> = lines.iter().collect();
            let points = histories(&all, "cpu_time", &rules)[0].series(&rules).points;
            assert_eq!(points.iter().map(|point| point.accepted).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_pull_request_s_epoch_silences_it_and_begins_when_it_is_merged() {
        let mut lines: Vec<Line> = (1..=4)
            .map(|day| line(&day.to_string(), &format!("2026-11-0{day}T00:00:00Z")))
            .collect();
        let digits = |line: usize| CommitSha::parse(&line.to_string().repeat(40));
        for (at, line) in lines.iter_mut().enumerate() {
            line.commit = digits(at);
        }
        lines[1].pull_request = Some(7);
        lines[2].subject = Some("Be exact (#7)".to_owned());
        lines[3].commit = lines[2].commit.clone();
        lines[3].subject = lines[2].subject.clone();
        let epoch = |number| Epoch { pull_request: Some(number), ..epoch("cpu_time") };
        let all: Vec<&Line> = lines.iter().collect();
        for (number, expected) in [(7, [false, true, false]), (8, [false, false, false])] {
            let rules = Rules { events: Vec::new(), epochs: vec![epoch(number)] };
            let points = histories(&all, "cpu_time", &rules)[0].series(&rules).points;
            assert_eq!(points.iter().map(|point| point.accepted).collect::<Vec<_>>(), expected);
        }
        let epochs = [epoch(7)];
        let silenced = lines.iter().map(|line| accepted_for(line, "cpu_time", &epochs));
        assert_eq!(silenced.collect::<Vec<_>>(), [None, Some("exact"), None, None]);
        assert_eq!(accepted_for(&lines[1], "duration", &epochs), None);
    }

    #[test]
    fn jobs_measured_at_other_commits_begin_with_their_first_run_after_a_merge() {
        let mut lines: Vec<Line> = (1..=5)
            .map(|day| line(&day.to_string(), &format!("2026-11-0{day}T00:00:00Z")))
            .collect();
        for (at, line) in lines.iter_mut().enumerate() {
            line.commit = CommitSha::parse(&at.to_string().repeat(40));
        }
        let all: Vec<&Line> = lines.iter().collect();
        let merged = |sha: &str, planned: &str| Epoch {
            commit: Some(sha.to_owned()),
            planned: Some(planned.parse().unwrap()),
            pull_request: Some(7),
            ..epoch("cpu_time")
        };
        let elsewhere = "e".repeat(40);
        let later =
            Epoch { because: "again".to_owned(), ..merged(&elsewhere, "2026-11-04T09:00:00Z") };
        let epochs = [merged(&elsewhere, "2026-11-02T09:00:00Z"), later];
        let rules = Rules::default();
        let begun = histories(&all, "cpu_time", &rules)[0].begun(&epochs);
        let reasons: Vec<_> =
            begun.iter().map(|one| one.map(|epoch| epoch.because.as_str())).collect();
        assert_eq!(reasons, [None, None, Some("exact"), None, Some("again")]);
        let epochs = [merged(&"1".repeat(40), "2026-11-02T00:00:00Z")];
        let begun = histories(&all, "cpu_time", &rules)[0].begun(&epochs);
        let places: Vec<_> = begun.iter().map(Option::is_some).collect();
        assert_eq!(places, [false, true, false, false, false]);
    }

    #[test]
    fn a_subject_may_name_its_pull_request() {
        let mut line = line("a", "2026-11-01T00:00:00Z");
        for (subject, number) in [
            ("Merge pull request #12 from a/b", Some(12)),
            ("Speed up the loop (#345)", Some(345)),
            ("Speed up (#345) again", None),
            ("Merge pull request #x", None),
            ("(#)", None),
        ] {
            line.subject = Some(subject.to_owned());
            assert_eq!(pull_request_of(&line), number, "{subject}");
        }
    }
}
