//! What people are told on GitHub, read as they would read it.

use perftrail::analysis::history::Effect;
use perftrail::analysis::history::judgement::State;
use perftrail::analysis::verdict::{
    Bounds, Caveat, Evidence, MetricVerdict, RunVerdict, Severity, Word,
};
use perftrail::app::conversation::{About, Conversation};
use perftrail::config::ReportOptions;
use perftrail::github::Client;
use perftrail::model::metric::Unit;
use perftrail::model::names::CommitSha;
use perftrail::model::status::Status;
use perftrail::report::comment::{Ended, mark};
use perftrail::report::summary::{Links, Place};
use perftrail::report::{EarlierRun, LogTail, PagePlace, RunPageInput, Said};

use crate::fake_github::{
    BOT, Failure, FakeGitHub, FakePull, FakeRepository, FakeToken, TestPause,
};
use crate::report_samples::{HOSTILE, Sample, good};

const TOKEN: &str = "github_pat_not_a_real_one";
const HEAD: &str = "1111111111111111111111111111111111111111";
const RUN_PAGE: &str = "https://github.com/lab/results/tree/results/runs/x";

/// A GitHub with pull request 7, and a client.
struct Lab {
    github: FakeGitHub,
    client: Client,
}

impl Lab {
    fn new(pull: FakePull) -> Self {
        let github = FakeGitHub::start();
        let mut repository = FakeRepository::of("public");
        repository.pulls.insert(7, pull);
        github.repository("lab/model", repository).token(TOKEN, FakeToken::tells("lab/model"));
        let client = Client::new(github.settings(TOKEN), TestPause::new()).expect("a client");
        Self { github, client }
    }

    fn talk(&self, options: ReportOptions) -> Conversation<'_> {
        Conversation::new(&self.client, "lab", "model", options)
    }

    /// The comments of pull request 7: who, and what.
    fn comments(&self) -> Vec<(String, String)> {
        let model = self.github.model();
        let pull = &model.repositories["lab/model"].pulls[&7];
        pull.comments.iter().map(|one| (one.author.clone(), one.body.clone())).collect()
    }

    fn own(&self) -> Vec<String> {
        self.comments().into_iter().filter(|(who, _)| who == BOT).map(|(_, body)| body).collect()
    }

    /// The newest status of the head.
    fn status(&self) -> (String, String) {
        let model = self.github.model();
        let (sha, body) = model.repositories["lab/model"].statuses.last().expect("a status");
        assert_eq!((sha.as_str(), &body["context"]), (HEAD, &"perftrail/simulation".into()));
        let text = |key: &str| body[key].as_str().expect("text").to_owned();
        (text("state"), text("description"))
    }
}

fn sha() -> CommitSha {
    CommitSha::parse(HEAD).expect("a commit")
}

fn pull() -> FakePull {
    FakePull::from("lab/model", HEAD).said("ada", "/profile")
}

/// A run as it ended.
struct Run {
    sample: Sample,
    verdict: Option<RunVerdict>,
}

impl Run {
    fn new(id: &str, word: Word, severity: Severity, evidence: Evidence) -> Self {
        let mut sample = good();
        id.clone_into(&mut sample.record.run.id);
        sample.record.commit.sha = Some(sha());
        let effect = Effect::default();
        let metric = MetricVerdict {
            metric: "cpu_time".to_owned(),
            unit: Unit::Seconds,
            word,
            evidence,
            value: Some(118.0),
            baseline: None,
            ratio: Some(1.2),
            limits: None,
            p: None,
            severity,
            bounds: Bounds { least: effect, warn: effect, fail: effect },
            caveats: vec![Caveat::OneRun],
            ignored: None,
        };
        let verdict = RunVerdict { word, severity, confirm: false, metrics: vec![metric] };
        Self { sample, verdict: Some(verdict) }
    }

    fn fine(id: &str) -> Self {
        Self::new(id, Word::Unchanged, Severity::Quiet, Evidence::Within)
    }

    fn slow(id: &str) -> Self {
        let evidence = Evidence::ChangePoint { state: State::Confirmed, runs: 9 };
        Self::new(id, Word::Regressed, Severity::Fails, evidence)
    }

    fn ended(&self) -> Ended<'_> {
        let said = match &self.verdict {
            Some(verdict) => Said::Verdict(verdict),
            None => Said::Nothing("not published"),
        };
        Ended {
            page: RunPageInput {
                record: &self.sample.record,
                series: &self.sample.series,
                log_tail: LogTail::Absent("elsewhere"),
                earlier: EarlierRun::Absent("this is the first run of its history"),
                verdict: said,
                place: PagePlace::Bundle,
                profiles: &[],
            },
            findings: None,
            note: "",
            links: Links { folder: Place::Web(RUN_PAGE), workflow: None },
        }
    }
}

fn about(commit: &CommitSha) -> About<'_> {
    About {
        job: "simulation",
        variant: None,
        commit,
        pull_request: Some(7),
        workflow: Some("https://github.com/lab/model/actions/runs/5"),
    }
}

fn said_nothing(troubles: &[String]) {
    assert!(troubles.is_empty(), "{troubles:?}");
}

#[test]
fn a_comment_begins_as_running_and_ends_as_the_result() {
    let lab = Lab::new(pull());
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    said_nothing(&talk.begin(&about(&commit), Some("ada")));
    let [running] = &lab.own()[..] else { panic!("{:?}", lab.comments()) };
    for part in
        ["simulation: running", "<code>111111111111</code>", "as ada asked", "/actions/runs/5"]
    {
        assert!(running.contains(part), "{part} is missing in\n{running}");
    }
    assert_eq!(lab.status().0, "pending");

    said_nothing(&talk.finish(&about(&commit), &Run::fine("r1").ended()));
    let [ended] = &lab.own()[..] else { panic!("{:?}", lab.comments()) };
    for part in ["simulation: unchanged", "CPU time", "111111111111", "x86_64", RUN_PAGE] {
        assert!(ended.contains(part), "{part} is missing in\n{ended}");
    }
    assert_eq!(lab.status(), ("success".to_owned(), "unchanged: CPU time".to_owned()));
}

#[test]
fn many_commands_are_one_comment_with_the_older_results_folded() {
    let lab = Lab::new(pull());
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    for at in 0..25 {
        said_nothing(&talk.begin(&about(&commit), None));
        said_nothing(&talk.finish(&about(&commit), &Run::fine(&format!("r{at}")).ended()));
    }
    let [one] = &lab.own()[..] else { panic!("{} comments", lab.own().len()) };
    assert!(one.contains("<details><summary>Results before</summary>"), "{one}");
    assert!(one.len() <= 60_000 && one.matches("| [unchanged](").count() == 20, "{one}");
}

#[test]
fn people_hear_of_it_when_it_gets_worse() {
    let lab = Lab::new(pull());
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    said_nothing(&talk.finish(&about(&commit), &Run::fine("r1").ended()));
    said_nothing(&talk.begin(&about(&commit), None));
    for _ in 0..2 {
        said_nothing(&talk.finish(&about(&commit), &Run::slow("r2").ended()));
    }
    let [old, new] = &lab.own()[..] else { panic!("{} comments", lab.own().len()) };
    assert!(old.contains("a later comment") && old.len() < 400, "{old}");
    assert!(new.contains("simulation: regressed") && new.contains("[unchanged]("), "{new}");
    assert_eq!(lab.status().0, "failure");
    // As bad as before, and better again: the same comment.
    for run in [Run::slow("r3"), Run::fine("r4")] {
        said_nothing(&talk.finish(&about(&commit), &run.ended()));
    }
    assert_eq!(lab.own().len(), 2);
    assert_eq!(lab.status().0, "success");
}

#[test]
fn a_mark_in_somebody_elses_comment_is_left_alone() {
    let pasted = format!("{}\nlook what I found", mark("simulation", None));
    let lab = Lab::new(pull().said("eve", &pasted));
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    said_nothing(&talk.begin(&about(&commit), None));
    said_nothing(&talk.finish(&about(&commit), &Run::fine("r1").ended()));
    assert_eq!(lab.own().len(), 1);
    assert!(lab.comments().contains(&("eve".to_owned(), pasted)));
}

#[test]
fn each_job_and_variant_has_a_comment_of_its_own() {
    let lab = Lab::new(pull());
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    for (job, variant) in [("a", None), ("a", Some("linux")), ("b", None), ("a", None)] {
        let about = About { job, variant, ..about(&commit) };
        said_nothing(&talk.begin(&about, None));
    }
    assert_eq!(lab.own().len(), 3);
}

#[test]
fn a_quiet_project_hears_only_of_changes() {
    let lab = Lab::new(pull());
    let options = ReportOptions { quiet: true, ..ReportOptions::default() };
    let (talk, commit) = (lab.talk(options), sha());
    said_nothing(&talk.begin(&about(&commit), None));
    said_nothing(&talk.finish(&about(&commit), &Run::fine("r1").ended()));
    assert_eq!(lab.own(), Vec::<String>::new());
    assert_eq!(lab.status().0, "success");
    said_nothing(&talk.finish(&about(&commit), &Run::slow("r2").ended()));
    assert_eq!(lab.own().len(), 1);
}

#[test]
fn how_a_run_ended_is_told_whatever_happened() {
    for (status, state, word) in [
        (Status::Failed, "failure", "failed"),
        (Status::TimedOut, "failure", "timed out"),
        (Status::Cancelled, "failure", "cancelled"),
        (Status::OutOfMemory, "failure", "out of memory"),
        (Status::Lost, "error", "lost"),
    ] {
        let lab = Lab::new(pull());
        let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
        said_nothing(&talk.begin(&about(&commit), None));
        let mut run = Run::fine("r1");
        (run.sample.record.run.status, run.verdict) = (status, None);
        said_nothing(&talk.finish(&about(&commit), &run.ended()));
        let [one] = &lab.own()[..] else { panic!("{status:?}") };
        assert!(one.contains(&format!("simulation: {word}")), "{status:?}\n{one}");
        assert_eq!(lab.status().0, state, "{status:?}");
    }
}

#[test]
fn what_github_refuses_is_a_sentence() {
    let lab = Lab::new(pull());
    lab.github.token(TOKEN, FakeToken::reads("lab/model"));
    let (options, commit) = (ReportOptions { check_run: true, ..ReportOptions::default() }, sha());
    let talk = lab.talk(options);
    let troubles =
        [talk.begin(&about(&commit), None), talk.finish(&about(&commit), &Run::fine("r1").ended())]
            .concat();
    assert!(troubles.iter().all(|text| text.contains("does not allow it")), "{troubles:?}");
    assert_eq!(troubles.len(), 6, "{troubles:?}");
    assert_eq!(lab.own(), Vec::<String>::new());
}

/// The step dies between any two of its requests, or just behind one, and runs again.
#[test]
fn a_step_that_is_killed_and_runs_again_leaves_one_of_each() {
    let options = ReportOptions { check_run: true, ..ReportOptions::default() };
    for dies_at in 0..12 {
        for behind in [false, true] {
            let lab = Lab::new(pull());
            let commit = sha();
            let first = lab.talk(options);
            said_nothing(&first.begin(&about(&commit), None));
            said_nothing(&first.finish(&about(&commit), &Run::fine("r1").ended()));
            let end = Failure::refusal(401, "Bad credentials");
            lab.github.fail(std::iter::repeat_n(Failure::Spared, dies_at));
            if behind {
                lab.github.fail([Failure::CutBeforeAnswer]);
            }
            lab.github.fail(std::iter::repeat_n(end, 40));
            lab.talk(options).finish(&about(&commit), &Run::slow("r2").ended());
            lab.github.recover();
            said_nothing(&lab.talk(options).finish(&about(&commit), &Run::slow("r2").ended()));
            let own = lab.own();
            let whole: Vec<_> = own.iter().filter(|text| !text.contains("superseded")).collect();
            assert_eq!((own.len(), whole.len()), (2, 1), "{dies_at} {behind}: {own:#?}");
            assert!(whole[0].contains("simulation: regressed"), "{dies_at}");
            assert_eq!(lab.status().0, "failure");
            let checks = lab.github.model().repositories["lab/model"].checks.clone();
            assert_eq!(checks.len(), 1, "{dies_at} {behind}");
            assert_eq!(checks[0].body["conclusion"], "failure");
        }
    }
}

#[test]
fn one_issue_for_a_confirmed_regression_of_the_default_branch() {
    let lab = Lab::new(pull());
    let options = ReportOptions { open_issue: true, ..ReportOptions::default() };
    let (talk, commit) = (lab.talk(options), sha());
    let night = About { pull_request: None, ..about(&commit) };
    let of_main = |mut run: Run| {
        run.sample.record.trigger.pull_request = None;
        run.sample.record.commit.reference = Some("refs/heads/main".to_owned());
        run.sample.record.commit.default_branch = Some("main".to_owned());
        run
    };
    let elsewhere = |mut run: Run| {
        run.sample.record.commit.reference = Some("refs/heads/try".to_owned());
        run.sample.record.commit.merge_base = None;
        run
    };
    let issues = || lab.github.model().repositories["lab/model"].issues.clone();
    for run in [of_main(Run::fine("r1")), elsewhere(of_main(Run::slow("r2")))] {
        said_nothing(&talk.finish(&night, &run.ended()));
        assert_eq!(issues().len(), 0);
    }
    for id in ["r3", "r4", "r5"] {
        said_nothing(&talk.finish(&night, &of_main(Run::slow(id)).ended()));
    }
    let [one] = &issues()[..] else { panic!("{:?}", issues()) };
    assert!(one.open && one.title.starts_with("simulation got slower"), "{one:?}");
    assert!(one.body.contains("A regression is confirmed"), "{}", one.body);
    said_nothing(&talk.finish(&night, &of_main(Run::fine("r6")).ended()));
    let [one] = &issues()[..] else { panic!("{:?}", issues()) };
    assert!(!one.open && one.body.contains("The numbers are back"), "{one:?}");
    // Another one later is another issue.
    said_nothing(&talk.finish(&night, &of_main(Run::slow("r7")).ended()));
    assert_eq!(issues().len(), 2);
}

#[test]
fn hostile_text_is_inert_in_the_comment() {
    let lab = Lab::new(pull());
    let (talk, commit) = (lab.talk(ReportOptions::default()), sha());
    let mut run = Run::fine(HOSTILE);
    run.sample.record.run.job = HOSTILE.to_owned();
    run.sample.record.machine.group = HOSTILE.to_owned();
    said_nothing(&talk.finish(&about(&commit), &run.ended()));
    let [one] = &lab.own()[..] else { panic!("{:?}", lab.comments()) };
    let shown: String = one
        .lines()
        .filter(|line| !line.starts_with("<!-- perftrail:"))
        .collect::<Vec<_>>()
        .join("\n");
    for bad in ["<script", "<img", "](http://e)", "@user", " #1 ", "\u{202e}", "\u{1b}", "-->"] {
        assert!(!shown.contains(bad), "{bad:?} in\n{shown}");
    }
}
