//! Whether something that happened to a pull request is to be followed by a run.

use super::decide::{Decision, matches};
use super::payload::PullRequestEvent;
use crate::config::Triggers;
use crate::model::names::CommitSha;
use crate::model::text::shown;

/// What can be followed by a run.
pub const ACTIONS: [&str; 5] = ["opened", "synchronize", "reopened", "ready_for_review", "labeled"];

/// A pull request, as far as `[triggers]` says something of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether it is neither merged nor closed.
    pub open: bool,
    /// Whether it is a draft.
    pub draft: bool,
    /// Its newest commit now.
    pub head: CommitSha,
    /// The branch that it is to be merged into.
    pub base_branch: String,
    /// Its labels.
    pub labels: Vec<String>,
}

/// Holds what happened against the pull request as it stands now, and against `[triggers]`. Which
/// files it changes is asked for apart, by [`only_skipped`].
pub fn decide(event: &PullRequestEvent, now: &Standing, rules: &Triggers) -> Decision {
    match reason(event, now, rules) {
        Some(reason) => Decision::Nothing(reason),
        None => Decision::Run,
    }
}

fn reason(event: &PullRequestEvent, now: &Standing, rules: &Triggers) -> Option<String> {
    if !ACTIONS.contains(&event.action.as_str()) {
        return Some(format!("a pull request that was {} starts nothing", shown(&event.action)));
    }
    if !now.open {
        return Some("the pull request is not open any more".to_owned());
    }
    if now.head != event.head {
        let head = now.head.short();
        return Some(format!("{head} was pushed since: it has a run of its own"));
    }
    if now.draft && !rules.drafts {
        return Some("drafts are not measured ([triggers] drafts)".to_owned());
    }
    if !rules.bases.is_empty() && !matches(&rules.bases, &now.base_branch) {
        let base = shown(&now.base_branch);
        return Some(format!("pull requests into {base} are not in [triggers] bases"));
    }
    labels(event, now, rules)
}

fn labels(event: &PullRequestEvent, now: &Standing, rules: &Triggers) -> Option<String> {
    let is_wanted = |label: &String| rules.labels.contains(label);
    if event.action == "labeled" && !event.label.as_ref().is_some_and(is_wanted) {
        let label = event.label.as_deref().map_or("that label".to_owned(), shown);
        return Some(format!("{label} is not in [triggers] labels"));
    }
    if !rules.labels.is_empty() && !now.labels.iter().any(is_wanted) {
        return Some("it has none of the labels of [triggers] labels".to_owned());
    }
    None
}

/// Why nothing is to be measured for these changed paths; `None` when something is. A list that is
/// not `complete` never keeps a run from happening.
pub fn only_skipped(paths: &[String], complete: bool, rules: &Triggers) -> Option<String> {
    let skipped = complete
        && !paths.is_empty()
        && !rules.skip_when_only.is_empty()
        && paths.iter().all(|path| matches(&rules.skip_when_only, path));
    skipped.then(|| "it changes only files of [triggers] skip_when_only".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> CommitSha {
        CommitSha::parse(&digit.repeat(40)).unwrap()
    }

    fn event(action: &str) -> PullRequestEvent {
        PullRequestEvent { action: action.to_owned(), number: 7, head: sha("a"), label: None }
    }

    fn now() -> Standing {
        let base_branch = "main".to_owned();
        Standing { open: true, draft: false, head: sha("a"), base_branch, labels: Vec::new() }
    }

    fn said(event: &PullRequestEvent, now: &Standing, rules: &Triggers) -> String {
        match decide(event, now, rules) {
            Decision::Run => "run".to_owned(),
            Decision::Nothing(reason) => reason,
        }
    }

    #[test]
    fn every_action_and_state() {
        let rules = Triggers::default();
        for action in ["opened", "synchronize", "reopened", "ready_for_review"] {
            assert_eq!(said(&event(action), &now(), &rules), "run", "{action}");
        }
        let mut lines = Vec::new();
        for action in ["closed", "edited", "unlabeled", "labeled", "\u{1b}[2J"] {
            lines.push(said(&event(action), &now(), &rules));
        }
        lines.push(said(&event("opened"), &Standing { open: false, ..now() }, &rules));
        lines.push(said(&event("opened"), &Standing { head: sha("b"), ..now() }, &rules));
        lines.push(said(&event("opened"), &Standing { draft: true, ..now() }, &rules));
        let bases = Triggers { bases: vec!["release/*".to_owned()], ..Triggers::default() };
        lines.push(said(&event("opened"), &now(), &bases));
        insta::assert_snapshot!(lines.join("\n"), @r"
        a pull request that was closed starts nothing
        a pull request that was edited starts nothing
        a pull request that was unlabeled starts nothing
        that label is not in [triggers] labels
        a pull request that was \u{1b}[2J starts nothing
        the pull request is not open any more
        bbbbbbbbbbbb was pushed since: it has a run of its own
        drafts are not measured ([triggers] drafts)
        pull requests into main are not in [triggers] bases
        ");
        let drafts = Triggers { drafts: true, ..Triggers::default() };
        assert_eq!(said(&event("opened"), &Standing { draft: true, ..now() }, &drafts), "run");
        let release = Standing { base_branch: "release/1".to_owned(), ..now() };
        assert_eq!(said(&event("opened"), &release, &bases), "run");
    }

    #[test]
    fn labels_can_be_asked_for() {
        let rules = Triggers { labels: vec!["run-profiler".to_owned()], ..Triggers::default() };
        let with = Standing { labels: vec!["run-profiler".to_owned()], ..now() };
        let labeled =
            |label: &str| PullRequestEvent { label: Some(label.to_owned()), ..event("labeled") };
        assert_eq!(said(&labeled("run-profiler"), &with, &rules), "run");
        assert_eq!(said(&event("synchronize"), &with, &rules), "run");
        let none = "it has none of the labels of [triggers] labels";
        assert_eq!(said(&event("synchronize"), &now(), &rules), none);
        assert_eq!(said(&labeled("run-profiler"), &now(), &rules), none, "taken away since");
        let other = "docs is not in [triggers] labels";
        assert_eq!(said(&labeled("docs"), &with, &rules), other);
    }

    #[test]
    fn a_list_that_is_cut_runs() {
        let rules = Triggers { skip_when_only: vec!["docs/**".to_owned()], ..Triggers::default() };
        let paths = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        for (changed, complete, skipped) in [
            (paths(&["docs/a.md"]), true, true),
            (paths(&["docs/a.md"]), false, false),
            (paths(&["docs/a.md", "src/a.py"]), true, false),
            (paths(&[]), true, false),
        ] {
            assert_eq!(only_skipped(&changed, complete, &rules).is_some(), skipped, "{changed:?}");
        }
        let none = Triggers::default();
        assert_eq!(only_skipped(&paths(&["docs/a.md"]), true, &none), None);
    }
}
