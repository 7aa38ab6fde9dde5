//! What a comment remembers: who it is for, and what it has told before. It stands in the comment
//! itself, hidden from readers, so that no other place has to be kept.
//!
//! Others can write the same marks. Whoever looks for a comment also asks who wrote it, and what is
//! read here is shown as text, never trusted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Results that a comment keeps beside the newest one.
const OLDER_MAX: usize = 20;
/// A longer state is none of ours.
const STATE_MAX: usize = 64 * 1024;
/// The longest text of one field, in characters.
const FIELD_MAX: usize = 300;

/// How bad a result is; what is greater is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Better, unchanged, or nothing that could be told.
    #[default]
    Good,
    /// Slower than a limit that warns.
    Warns,
    /// Slower than a limit that fails.
    Fails,
    /// The job did not succeed.
    Broken,
}

/// One result, as short as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The run's id; a result of the same run takes its place.
    pub run: String,
    /// The first digits of the commit.
    pub commit: String,
    /// What was found, in a few words.
    pub words: String,
    /// How bad it is.
    pub grade: Grade,
    /// Its page; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// Everything that a comment remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Results, the newest first.
    pub told: Vec<Told>,
    /// The page of the workflow whose result is waited for; `None` when nothing is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

impl State {
    /// Reads the state in a comment; an empty one where there is none that can be read.
    pub fn of(body: &str) -> Self {
        let read = || {
            let (_, rest) = body.split_once(STATE_START)?;
            let (text, _) = rest.split_once(END)?;
            let bytes = STANDARD.decode(text.get(..STATE_MAX).map_or(text, |_| "")).ok()?;
            serde_json::from_slice::<Self>(&bytes).ok()
        };
        let mut state = read().unwrap_or_default();
        state.told.truncate(OLDER_MAX);
        state
    }

    /// The results but for that of `run`.
    pub(super) fn others<'a>(&'a self, run: &'a str) -> impl Iterator<Item = &'a Told> {
        self.told.iter().filter(move |told| told.run != run)
    }

    /// Waiting for the result of a workflow.
    #[must_use]
    pub(super) fn waiting(&self, workflow: Option<&str>) -> Self {
        let running = workflow.map(|page| page.chars().take(FIELD_MAX).collect());
        Self { running, ..self.clone() }
    }

    /// With a result more. It waits for nothing.
    #[must_use]
    pub fn with(&self, mut told: Told) -> Self {
        for text in [&mut told.run, &mut told.commit, &mut told.words, &mut told.url] {
            *text = text.chars().take(FIELD_MAX).collect();
        }
        let others = self.others(&told.run).cloned();
        let all = std::iter::once(told.clone()).chain(others);
        Self { told: all.take(OLDER_MAX).collect(), running: None }
    }

    /// Whether `told` is worse than the newest result of another run; `false` where there is none.
    pub fn worsens(&self, told: &Told) -> bool {
        self.others(&told.run).next().is_some_and(|before| told.grade > before.grade)
    }
}

const MARK_START: &str = "<!-- perftrail:for=";
const STATE_START: &str = "<!-- perftrail:state=";
const SUPERSEDED: &str = "<!-- perftrail:superseded -->";
const END: &str = " -->";

/// The mark of the comment for a job: the same for every comment of that job and variant.
pub fn mark(job: &str, variant: Option<&str>) -> String {
    let name = serde_json::json!([job, variant]).to_string();
    format!("{MARK_START}{}{END}", STANDARD.encode(name))
}

/// The job and the variant in the mark of a comment that no newer one took the place of; `None` where
/// there is no mark that can be read.
pub fn marked(body: &str) -> Option<(String, Option<String>)> {
    let (name, _) = body.strip_prefix(MARK_START)?.split_once(END)?;
    let found = serde_json::from_slice(&STANDARD.decode(name).ok()?).ok()?;
    Some(found).filter(|_| !body.contains(SUPERSEDED))
}

/// Whether a comment bears this mark and is not one that a newer one took the place of.
pub fn bears(body: &str, mark: &str) -> bool {
    body.starts_with(mark) && !body.contains(SUPERSEDED)
}

/// The hidden head of a comment.
pub(super) fn head(mark: &str, state: &State) -> String {
    // Cannot fail: nothing in it but text.
    let json = serde_json::to_string(state).unwrap_or_default();
    format!("{mark}\n{STATE_START}{}{END}\n", STANDARD.encode(json))
}

/// What a comment says when a newer one has taken its place.
pub fn superseded(mark: &str, newer: &str) -> String {
    let link = super::super::link::Url::web(newer);
    let words = match link {
        Some(url) => format!("The newest result is in [a later comment]({}).", url.as_str()),
        None => "The newest result is in a later comment.".to_owned(),
    };
    format!("{mark}\n{SUPERSEDED}\n{words}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(run: &str, grade: Grade) -> Told {
        Told { run: run.to_owned(), grade, ..Told::default() }
    }

    #[test]
    fn a_state_comes_back_whatever_stands_in_it() {
        let mut odd = told("r --> <!-- x", Grade::Warns);
        odd.words = "\u{202e}</details> @you".to_owned();
        let state = State::default().with(odd).with(told("b", Grade::Good));
        let text = format!("{}\nfor people", head(&mark("a --> b", None), &state));
        assert_eq!(State::of(&text), state);
        assert!(bears(&text, &mark("a --> b", None)) && !bears(&text, &mark("a", None)));
        assert_eq!(text.matches("-->").count(), 2);
    }

    #[test]
    fn what_is_no_state_is_an_empty_one() {
        let long = format!("{STATE_START}{}{END}", "A".repeat(STATE_MAX * 2));
        for text in ["", "words", "<!-- perftrail:state=%%% -->", &long, STATE_START] {
            assert_eq!(State::of(text), State::default(), "{}", text.len());
        }
    }

    #[test]
    fn a_run_is_told_once_and_old_ones_go() {
        let mut state = State::default();
        for at in 0..30 {
            state = state.with(told(&format!("r{at}"), Grade::Good));
        }
        assert_eq!(state.told.len(), OLDER_MAX);
        let again = state.with(told("r29", Grade::Fails));
        assert_eq!((again.told.len(), again.told[0].grade), (OLDER_MAX, Grade::Fails));
    }

    #[test]
    fn worse_is_worse_than_the_result_before() {
        let state = State::default();
        assert!(!state.worsens(&told("a", Grade::Broken)), "nothing before");
        let state = state.with(told("a", Grade::Warns));
        for (grade, worse) in [
            (Grade::Good, false),
            (Grade::Warns, false),
            (Grade::Fails, true),
            (Grade::Broken, true),
        ] {
            assert_eq!(state.worsens(&told("b", grade)), worse, "{grade:?}");
            assert!(!state.worsens(&told("a", grade)), "of the same run");
        }
    }

    #[test]
    fn a_comment_that_was_replaced_is_not_found_again() {
        let mark = mark("a", Some("linux"));
        let text = superseded(&mark, "https://github.com/o/n/pull/7#issuecomment-1");
        assert!(!bears(&text, &mark) && text.starts_with(&mark), "{text}");
        assert!(!superseded(&mark, "https://x/)[y](javascript:z").contains("javascript"));
    }
}
