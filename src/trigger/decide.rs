//! Whether an event is to be followed by a run.

use globset::GlobSetBuilder;

use super::event::{Push, Trigger};
use crate::config::{Triggers, patterns};
use crate::model::text::shown;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run.
    Run,
    /// Nothing, for this reason.
    Nothing(String),
}

/// Holds an event against `[triggers]`. `changed` are the paths that a push changed, where that
/// is known: what is not known never keeps a run from happening.
pub fn decide(trigger: &Trigger, rules: &Triggers, changed: Option<&[String]>) -> Decision {
    match trigger {
        Trigger::Dispatch(_) | Trigger::Schedule | Trigger::Repository(_) => Decision::Run,
        Trigger::Push(push) => of_push(push, rules, changed),
    }
}

fn of_push(push: &Push, rules: &Triggers, changed: Option<&[String]>) -> Decision {
    if push.deleted {
        return Decision::Nothing("the push deleted its branch or tag".to_owned());
    }
    if let Some(branch) = &push.branch
        && !rules.branches.is_empty()
        && !matches(&rules.branches, branch)
    {
        let branch = shown(branch);
        return Decision::Nothing(format!("pushes to {branch} are not in [triggers] branches"));
    }
    let only_skipped = changed.is_some_and(|paths| {
        !paths.is_empty()
            && !rules.skip_when_only.is_empty()
            && paths.iter().all(|path| matches(&rules.skip_when_only, path))
    });
    if only_skipped {
        return Decision::Nothing(
            "the push changed only files of [triggers] skip_when_only".to_owned(),
        );
    }
    Decision::Run
}

pub(super) fn matches(globs: &[String], text: &str) -> bool {
    let mut set = GlobSetBuilder::new();
    for glob in globs.iter().filter_map(|glob| patterns::glob(glob).ok()) {
        set.add(glob);
    }
    set.build().is_ok_and(|set| set.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Triggers {
        Triggers {
            branches: vec!["main".to_owned(), "release/*".to_owned()],
            skip_when_only: vec!["docs/**".to_owned(), ".gitignore".to_owned()],
            ..Triggers::default()
        }
    }

    fn push(branch: Option<&str>) -> Trigger {
        Trigger::Push(Push { branch: branch.map(str::to_owned), ..Push::default() })
    }

    #[test]
    fn pushes_are_held_against_branches_and_paths() {
        let paths =
            |paths: &[&str]| Some(paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
        for (branch, changed, runs) in [
            (Some("main"), None, true),
            (Some("release/1"), None, true),
            (Some("feature"), None, false),
            (None, None, true),
            (Some("main"), paths(&["docs/a.md", "docs/deep/b.md", ".gitignore"]), false),
            (Some("main"), paths(&["docs/a.md", "src/a.py"]), true),
            (Some("main"), paths(&[]), true),
        ] {
            let decision = decide(&push(branch), &rules(), changed.as_deref());
            assert_eq!(decision == Decision::Run, runs, "{branch:?} {changed:?}: {decision:?}");
        }
    }

    #[test]
    fn nothing_runs_for_what_is_gone() {
        let gone = Trigger::Push(Push { deleted: true, ..Push::default() });
        assert!(matches!(decide(&gone, &Triggers::default(), None), Decision::Nothing(_)));
        assert_eq!(decide(&push(Some("any")), &Triggers::default(), None), Decision::Run);
        assert_eq!(decide(&Trigger::Schedule, &rules(), None), Decision::Run);
    }
}
