//! What stands at the top: how the run ended, what was measured where, what to know first.

use serde::Serialize;

use super::cell::Cell;
use super::moments::utc;
use crate::model::metric::Unit;
use crate::model::names::CommitSha;
use crate::model::status::Status;
use crate::record::layout::{run_path, start_of};
use crate::record::{IMPORTED, Level, Record};
use crate::report::link::Url;
use crate::report::view::metrics::amount;
use crate::report::{EarlierRun, PagePlace, RunPageInput, Said, plain, verdict};

/// Most notices that stand at the top; all of them have their section.
const ALERTS_MAX: usize = 12;

/// How the run ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StatusView {
    pub(crate) word: &'static str,
    pub(crate) tone: Tone,
    /// The exit code and what it means.
    pub(crate) detail: String,
}

/// How a word is shown: always with a sign and words, never by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Calm,
}

/// The tone of a run's status.
pub(crate) const fn tone_of(status: Status) -> Tone {
    match status {
        Status::Succeeded => Tone::Good,
        Status::Running | Status::Skipped => Tone::Calm,
        Status::Cancelled | Status::Interrupted | Status::Lost => Tone::Warning,
        Status::Failed | Status::TimedOut | Status::OutOfMemory | Status::SetupFailed => Tone::Bad,
    }
}

impl StatusView {
    pub(crate) fn new(record: &Record) -> Self {
        let status = record.run.status;
        Self {
            word: status.words(),
            tone: tone_of(status),
            detail: if record.run.exit_code.is_none() && record.tool.meter == IMPORTED {
                "imported: its exit code is not known".to_owned()
            } else {
                exit(status, record.run.exit_code)
            },
        }
    }
}

/// An exit code in words.
pub(crate) fn exit(status: Status, code: Option<i32>) -> String {
    match code {
        Some(124) if status == Status::TimedOut => "exit code 124: over its time limit".to_owned(),
        Some(126) => "exit code 126: not executable".to_owned(),
        Some(127) => "exit code 127: not found".to_owned(),
        Some(code @ 129..=192) => match signal_name(code - 128) {
            Some(name) => format!("exit code {code}: {name}"),
            None => format!("exit code {code}: signal {}", code - 128),
        },
        Some(code) => format!("exit code {code}"),
        None if status == Status::Running => "still running".to_owned(),
        None => "no exit code: the job did not run to an end".to_owned(),
    }
}

/// The name of a common signal.
pub(crate) const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

/// What can be said about slower or faster, and beside which run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) word: &'static str,
    pub(crate) why: String,
    /// Each judged metric, a sentence or two.
    pub(crate) sentences: Vec<String>,
    pub(crate) earlier: Cell,
}

impl Verdict {
    pub(crate) fn new(input: &RunPageInput<'_>) -> Self {
        let record = input.record;
        let mut sentences = Vec::new();
        let (word, why) = if record.metrics.is_empty() {
            ("Nothing measured", format!("the run {}", ended(record.run.status)))
        } else if record.run.status != Status::Succeeded {
            ("Not judged", format!("the run {}", ended(record.run.status)))
        } else {
            match input.verdict {
                Said::Nothing(why) => ("Not judged", plain::line(why, 300)),
                Said::Verdict(verdict) => {
                    sentences = verdict::sentences(verdict);
                    sentences.extend(verdict::is_told(verdict).then(|| judged_again(record)));
                    (verdict::title(verdict.word), verdict::short(verdict))
                }
            }
        };
        Self { word, why, sentences, earlier: earlier_cell(input) }
    }
}

/// How anybody comes to the same verdict, without a service.
fn judged_again(record: &Record) -> String {
    let path = run_path(record.commit.sha.as_ref(), start_of(record), &record.run.id);
    let path = plain::line(&path, 300);
    format!(
        "To judge it again, in a clone of the results repository: perftrail report {path} --to ."
    )
}

const fn ended(status: Status) -> &'static str {
    match status {
        Status::Running => "is not over",
        Status::Succeeded => "left no numbers",
        Status::Failed => "failed",
        Status::TimedOut => "timed out",
        Status::Cancelled => "was cancelled",
        Status::OutOfMemory => "ran out of memory",
        Status::SetupFailed => "never began: its setup failed",
        Status::Interrupted => "was interrupted",
        Status::Lost => "is lost: no bundle came",
        Status::Skipped => "was skipped",
    }
}

fn earlier_cell(input: &RunPageInput<'_>) -> Cell {
    match input.earlier {
        EarlierRun::Absent(reason) => Cell::absent(reason),
        EarlierRun::Found(line) => {
            let commit = match &line.commit {
                Some(sha) => format!("commit {}", sha.short()),
                None => "no commit".to_owned(),
            };
            let text = format!("{}, {commit}, {}", utc(line.start), line.status.words());
            let url = match input.place {
                PagePlace::Bundle => None,
                PagePlace::Results(here) => Url::within(here, &line.path),
            };
            Cell::link(&text, url)
        }
    }
}

/// A label and what it says.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fact {
    pub(crate) label: &'static str,
    pub(crate) value: Cell,
}

/// What was measured, when, where and why.
pub(crate) fn facts(input: &RunPageInput<'_>) -> Vec<Fact> {
    let record = input.record;
    let fact = |label, value| Fact { label, value };
    let mut facts = vec![
        fact("Repository", repository(record)),
        fact("Commit", commit(record)),
        fact(
            "Branch",
            unknown_or(record.commit.reference.as_deref().map(short_ref), "ref", record),
        ),
        fact("Started by", started_by(record)),
        fact("Began", began(record)),
        fact("Repetitions", repetitions(record)),
        fact("Machine group", Cell::text(&record.machine.group)),
    ];
    if let Some(subject) = &record.commit.subject {
        facts.insert(2, fact("Subject", Cell::text(subject)));
    }
    if let Some(tag) = &record.run.tag {
        facts.push(fact("Tag", Cell::text(tag)));
    }
    if let Some(variant) = &record.run.variant {
        facts.push(fact("Variant", Cell::text(variant)));
    }
    facts
}

fn unknown_or(value: Option<&str>, part: &str, record: &Record) -> Cell {
    match value {
        Some(text) => Cell::text(text),
        None => Cell::absent(record.commit.unknown.get(part).map_or("not known", |reason| reason)),
    }
}

fn short_ref(reference: &str) -> &str {
    reference
        .strip_prefix("refs/heads/")
        .or_else(|| reference.strip_prefix("refs/"))
        .unwrap_or(reference)
}

fn repository(record: &Record) -> Cell {
    let repository = &record.repository;
    let parts = [&repository.owner, &repository.name];
    let known: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    if known.is_empty() {
        return Cell::absent(repository.unknown.get("name").map_or("not known", |reason| reason));
    }
    Cell::text(&known.join("/"))
}

fn commit(record: &Record) -> Cell {
    let Some(sha) = &record.commit.sha else {
        return unknown_or(None, "sha", record);
    };
    let repository = &record.repository;
    let url = match (&repository.host, &repository.owner, &repository.name) {
        (Some(host), Some(owner), Some(name)) => Url::commit(host, owner, name, sha),
        _ => None,
    };
    Cell::code_link(sha.short(), url)
}

fn started_by(record: &Record) -> Cell {
    let trigger = &record.trigger;
    let mut text = plain::name(&trigger.event);
    if let Some(actor) = &trigger.actor {
        text = format!("{text} by {}", plain::name(actor));
    }
    if let Some(number) = trigger.pull_request {
        text = format!("{text}, pull request {number}");
    }
    Cell::link(&text, trigger.run_url.as_deref().and_then(Url::web))
}

fn began(record: &Record) -> Cell {
    let Some(started) = record.run.started else {
        return Cell::absent("measuring never began");
    };
    let took = record.run.ended.map(|ended| ended.duration_since(started).as_secs_f64());
    match took {
        Some(took) if took >= 0.0 => {
            Cell::text(&format!("{}, for {}", utc(started), amount(took, &Unit::Seconds)))
        }
        _ => Cell::text(&utc(started)),
    }
}

fn repetitions(record: &Record) -> Cell {
    let repetitions = record.run.repetitions;
    let warmups = match repetitions.warmups {
        0 => String::new(),
        1 => ", after 1 warm-up".to_owned(),
        n => format!(", after {n} warm-ups"),
    };
    Cell::text(&format!("{} of {} completed{warmups}", repetitions.completed, repetitions.planned))
}

/// Something to know before reading the numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Alert {
    pub(crate) tone: Tone,
    pub(crate) word: &'static str,
    pub(crate) message: String,
}

/// Errors, a dirty tree, warnings, and what disturbed the run, in that order.
pub(crate) fn alerts(record: &Record) -> Vec<Alert> {
    let notice = |level: Level, tone, word| {
        record.notices.iter().filter(move |notice| notice.level == level).map(move |notice| Alert {
            tone,
            word,
            message: plain::line(&notice.message, 600),
        })
    };
    let mut alerts: Vec<Alert> = notice(Level::Error, Tone::Bad, "Error").collect();
    alerts.extend(amended(record));
    alerts.extend(dirty(record));
    alerts.extend(notice(Level::Warning, Tone::Warning, "Warning"));
    alerts.extend(record.disturbed_by().map(|disturbance| Alert {
        tone: Tone::Warning,
        word: "Disturbed",
        message: plain::line(&disturbance.message, 600),
    }));
    let more = alerts.len().saturating_sub(ALERTS_MAX);
    if more > 0 {
        alerts.truncate(ALERTS_MAX);
        let message = format!("{more} more are listed under Disturbances and Notices.");
        alerts.push(Alert { tone: Tone::Calm, word: "And", message });
    }
    alerts
}

/// Corrections of what the run says it measured.
fn amended(record: &Record) -> impl Iterator<Item = Alert> + '_ {
    record.amended.iter().map(|amendment| {
        let before = amendment.commit.sha.as_ref().map_or("no commit", CommitSha::short);
        let (author, because) =
            (plain::line(&amendment.author, 100), plain::line(&amendment.because, 400));
        let date = amendment.date.strftime("%Y-%m-%d");
        Alert {
            tone: Tone::Warning,
            word: "Amended",
            message: format!("it said that it measured {before}; {author}, {date}: {because}"),
        }
    })
}

fn dirty(record: &Record) -> Option<Alert> {
    (record.commit.dirty == Some(true)).then(|| Alert {
        tone: Tone::Warning,
        word: "Uncommitted changes",
        message: "what ran is not what the commit holds, so this run stands in no history"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_in_words() {
        for (status, code, text) in [
            (Status::Succeeded, Some(0), "exit code 0"),
            (Status::Failed, Some(139), "exit code 139: SIGSEGV"),
            (Status::Failed, Some(162), "exit code 162: signal 34"),
            (Status::TimedOut, Some(124), "exit code 124: over its time limit"),
            (Status::Failed, Some(124), "exit code 124"),
            (Status::Running, None, "still running"),
        ] {
            assert_eq!(exit(status, code), text);
        }
    }

    #[test]
    fn branches_are_short() {
        assert_eq!(short_ref("refs/heads/feature/x"), "feature/x");
        assert_eq!(short_ref("refs/tags/v1"), "tags/v1");
        assert_eq!(short_ref("main"), "main");
    }
}
