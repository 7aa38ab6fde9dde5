//! What a comment under a pull request asks for.
//!
//! A command is the first line of a paragraph, outside quotes, code and lists: what somebody
//! quotes, or shows as an example, asks for nothing. Only words are read here; whether the writer
//! may ask, and whether such jobs exist, is decided elsewhere.

use std::fmt;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::config::job::RESERVED;
use crate::model::names::{is_job_name, is_metric_name};
use crate::model::text::{nearest, shown};

/// A comment longer than this is not read; GitHub's own limit is 65,536 characters.
const COMMENT_MAX: usize = 4 * 65_536;
/// A command line longer than this is not read.
const LINE_MAX: usize = 4096;
/// The fewest digits by which a comment may name a commit.
const SHA_MIN: usize = 12;
/// The most repetitions a comment may ask for.
const REPETITIONS_MAX: u32 = 100;

/// What a comment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// To measure.
    Profile(Request),
    /// To be told what can be asked.
    Help,
    /// To take a metric's new level as the right one.
    Accept {
        /// The metric.
        metric: String,
        /// Why, in the writer's words.
        because: String,
    },
}

/// What to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The jobs, in the order of the comment; empty: every job that is for comments.
    pub jobs: Vec<String>,
    /// Params and their values as they are written, in the order of the comment.
    pub params: Vec<(String, String)>,
    /// What to compare with; `None`: the baseline.
    pub against: Option<String>,
    /// How often to measure; `None`: as configured.
    pub repetitions: Option<u32>,
    /// The first digits of the commit that the writer has looked at, in lower case.
    pub sha: Option<String>,
}

/// Why a command cannot be carried out as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandProblem {
    /// More than one command in one comment.
    #[error(
        "a comment may hold one command, and this one holds {count}: name all jobs in one line"
    )]
    Several {
        /// How many there are.
        count: usize,
    },
    /// A line of enormous length.
    #[error("the command has {bytes} bytes; the longest that is read has {LINE_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A quotation mark without its partner.
    #[error("a quotation mark is never closed: write name=\"a value with spaces\"")]
    OpenQuote,
    /// A word that can be neither job nor param.
    #[error("`{}` is neither a job nor KEY=VALUE{}", shown(.word), or_nearest(.nearest.as_deref()))]
    Word {
        /// The word.
        word: String,
        /// The known word that looks most like it.
        nearest: Option<&'static str>,
    },
    /// One thing told twice.
    #[error("`{}` is there twice", shown(.word))]
    Twice {
        /// What.
        word: String,
    },
    /// `against` at the end of the line.
    #[error("`against` needs a branch, a tag or a commit after it")]
    AgainstNothing,
    /// A commit that is none.
    #[error("`sha={}` is no commit: write at least {SHA_MIN} of its hex digits", shown(.text))]
    Sha {
        /// What stands there.
        text: String,
    },
    /// A number of repetitions that is none.
    #[error("`repetitions={}` is no whole number from 1 to {REPETITIONS_MAX}", shown(.text))]
    Repetitions {
        /// What stands there.
        text: String,
    },
    /// `accept` without all its parts.
    #[error("write `{usage}`: which metric, and why its new level is right")]
    Accept {
        /// How it is written.
        usage: String,
    },
}

fn or_nearest(word: Option<&str>) -> impl fmt::Display {
    word.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// Reads the command in a comment; `Ok(None)` when it holds none that begins with `word`, such as
/// `/profile`.
///
/// # Errors
/// When there is one, and it cannot be carried out as it is written.
pub fn command(comment: &str, word: &str) -> Result<Option<Command>, CommandProblem> {
    if comment.len() > COMMENT_MAX || !comment.contains(word) {
        return Ok(None);
    }
    let lines: Vec<&str> =
        first_lines(comment).into_iter().filter_map(|line| after_word(line, word)).collect();
    match lines.as_slice() {
        [] => Ok(None),
        [line] if line.len() > LINE_MAX => Err(CommandProblem::TooLong { bytes: line.len() }),
        [line] => read(line, word).map(Some),
        _ => Err(CommandProblem::Several { count: lines.len() }),
    }
}

/// The first line of each paragraph that stands in nothing else, as it is written.
fn first_lines(comment: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut lines = Vec::new();
    for (event, range) in Parser::new_ext(comment, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 && matches!(tag, Tag::Paragraph) {
                    let line = comment.get(range).and_then(|paragraph| paragraph.lines().next());
                    lines.extend(line);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    lines
}

/// What stands behind the command word; `None` when the line does not begin with it.
fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.trim().strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

fn read(line: &str, word: &str) -> Result<Command, CommandProblem> {
    let first = line.split_whitespace().next();
    if first == Some("accept") {
        return accept(line, word);
    }
    let words = split(line)?;
    if let [Word { text, quoted: false }] = words.as_slice()
        && text == "help"
    {
        return Ok(Command::Help);
    }
    request(words).map(Command::Profile)
}

/// `accept METRIC because WORDS`.
fn accept(line: &str, word: &str) -> Result<Command, CommandProblem> {
    let usage = || CommandProblem::Accept { usage: format!("{word} accept METRIC because REASON") };
    let rest = line.trim_start().strip_prefix("accept").ok_or_else(usage)?.trim_start();
    let (metric, rest) = rest.split_once(char::is_whitespace).ok_or_else(usage)?;
    let because = rest.trim_start().strip_prefix("because").ok_or_else(usage)?;
    let apart = because.starts_with(char::is_whitespace);
    let because = because.trim().trim_matches('"').trim();
    if !apart || because.is_empty() || !is_metric_name(metric) {
        return Err(usage());
    }
    Ok(Command::Accept { metric: metric.to_owned(), because: because.to_owned() })
}

fn request(words: Vec<Word>) -> Result<Request, CommandProblem> {
    let mut request = Request::default();
    let mut words = words.into_iter();
    while let Some(Word { text, quoted }) = words.next() {
        if !quoted && text == "against" {
            let against = words.next().ok_or(CommandProblem::AgainstNothing)?.text;
            set(&mut request.against, against, "against")?;
        } else if let Some((key, value)) = text.split_once('=') {
            pair(&mut request, key, value, &text)?;
        } else if is_job_name(&text) && !RESERVED.contains(&text.to_ascii_lowercase().as_str()) {
            if request.jobs.contains(&text) {
                return Err(CommandProblem::Twice { word: text });
            }
            request.jobs.push(text);
        } else {
            let nearest = nearest(&text, RESERVED.iter().copied());
            return Err(CommandProblem::Word { word: text, nearest });
        }
    }
    Ok(request)
}

fn pair(request: &mut Request, key: &str, value: &str, word: &str) -> Result<(), CommandProblem> {
    match key {
        "sha" => set(&mut request.sha, sha(value)?, key),
        "repetitions" => set(&mut request.repetitions, repetitions(value)?, key),
        "against" => set(&mut request.against, value.to_owned(), key),
        _ if !is_job_name(key) => {
            Err(CommandProblem::Word { word: word.to_owned(), nearest: None })
        }
        _ if request.params.iter().any(|(known, _)| known == key) => {
            Err(CommandProblem::Twice { word: key.to_owned() })
        }
        _ => {
            request.params.push((key.to_owned(), value.to_owned()));
            Ok(())
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T, word: &str) -> Result<(), CommandProblem> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(CommandProblem::Twice { word: word.to_owned() }),
    }
}

fn sha(text: &str) -> Result<String, CommandProblem> {
    let fits = (SHA_MIN..=64).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_hexdigit());
    if fits {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(CommandProblem::Sha { text: text.to_owned() })
    }
}

fn repetitions(text: &str) -> Result<u32, CommandProblem> {
    text.parse()
        .ok()
        .filter(|count| (1..=REPETITIONS_MAX).contains(count))
        .ok_or_else(|| CommandProblem::Repetitions { text: text.to_owned() })
}

/// A word of the command line.
struct Word {
    /// Without its quotation marks.
    text: String,
    /// Whether it had any: then it is no keyword.
    quoted: bool,
}

/// Splits at white space; a part in double quotation marks stays together.
fn split(line: &str) -> Result<Vec<Word>, CommandProblem> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut open = false;
    for c in line.chars() {
        if c == '"' {
            open = !open;
            word.get_or_insert_with(|| Word { text: String::new(), quoted: true }).quoted = true;
        } else if c.is_whitespace() && !open {
            words.extend(word.take());
        } else {
            word.get_or_insert_with(|| Word { text: String::new(), quoted: false }).text.push(c);
        }
    }
    if open {
        return Err(CommandProblem::OpenQuote);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(jobs: &[&str]) -> Command {
        Command::Profile(Request {
            jobs: jobs.iter().map(|&job| job.to_owned()).collect(),
            ..Request::default()
        })
    }

    #[test]
    fn where_a_command_stands() {
        for comment in [
            "/profile",
            "  /profile  ",
            "/profile\n",
            "/profile\r\nthanks!",
            "Looks good.\n\n/profile\n\nThanks.",
            "> /profile other\n\n/profile",
            "```\n/profile other\n```\n/profile",
            "<!-- hidden -->\n\n/profile",
        ] {
            assert_eq!(command(comment, "/profile"), Ok(Some(profile(&[]))), "{comment:?}");
        }
    }

    #[test]
    fn where_none_stands() {
        for comment in [
            "",
            "please /profile",
            "Looks good.\n/profile",
            "> /profile",
            "> quoted\n/profile",
            "```\n/profile\n```",
            "~~~sh\n\n/profile\n~~~",
            "```\n/profile",
            "    /profile",
            "\t/profile",
            "`/profile`",
            "- /profile",
            "1. /profile",
            "# /profile",
            "<!--\n/profile\n-->",
            "<details>\n/profile\n</details>",
            "/profiles",
            "/profile-all",
            "/Profile",
            "\\/profile",
            "\u{200b}/profile",
            "| a |\n|---|\n| /profile |",
        ] {
            assert_eq!(command(comment, "/profile"), Ok(None), "{comment:?}");
        }
    }

    #[test]
    fn what_it_asks_for() {
        let request = |line: &str| match command(line, "/profile") {
            Ok(Some(Command::Profile(request))) => request,
            other => panic!("{line}: {other:?}"),
        };
        let one =
            request("/profile scale_run years=2 \"note=two words\" against main repetitions=5");
        assert_eq!(one.jobs, ["scale_run"]);
        let params = [("years", "2"), ("note", "two words")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(one.params, params);
        assert_eq!(one.against.as_deref(), Some("main"));
        assert_eq!(one.repetitions, Some(5));
        assert_eq!(request("/profile a b").jobs, ["a", "b"]);
        assert_eq!(request("/profile x=*y_z*").params, [("x".to_owned(), "*y_z*".to_owned())]);
        let sha = request("/profile sha=0123456789ABCDEF").sha;
        assert_eq!(sha.as_deref(), Some("0123456789abcdef"));
        assert_eq!(request("/profile note=\"a=b\"").params, [("note".into(), "a=b".into())]);
        assert_eq!(request("/profile against=v1.0").against.as_deref(), Some("v1.0"));
        assert_eq!(command("!bench a", "!bench"), Ok(Some(profile(&["a"]))));
        assert_eq!(command("/profile help", "/profile"), Ok(Some(Command::Help)));
    }

    #[test]
    fn accepting() {
        let accepted = |because: &str| {
            Ok(Some(Command::Accept { metric: "cpu_time".into(), because: because.into() }))
        };
        for (line, because) in [
            ("/profile accept cpu_time because it does more", "it does more"),
            ("/profile accept cpu_time because \"it does more\"", "it does more"),
            ("/profile  accept  cpu_time  because  a \"b\" c", "a \"b\" c"),
        ] {
            assert_eq!(command(line, "/profile"), accepted(because), "{line}");
        }
        for line in [
            "/profile accept",
            "/profile accept cpu_time",
            "/profile accept cpu_time because",
            "/profile accept cpu_time because  ",
            "/profile accept cpu_time becausenot",
            "/profile accept ../x because of it",
            "/profile accept because of it",
        ] {
            let answer = command(line, "/profile");
            assert!(matches!(answer, Err(CommandProblem::Accept { .. })), "{line}: {answer:?}");
        }
    }

    #[test]
    fn what_cannot_be_carried_out() {
        for (line, said) in [
            ("/profile helpp!", "`helpp!` is neither a job nor KEY=VALUE; did you mean `help`?"),
            ("/profile a a", "`a` is there twice"),
            ("/profile x=1 x=2", "`x` is there twice"),
            ("/profile against", "`against` needs a branch, a tag or a commit after it"),
            ("/profile sha=abc", "`sha=abc` is no commit: write at least 12 of its hex digits"),
            (
                "/profile sha=zzzzzzzzzzzz",
                "`sha=zzzzzzzzzzzz` is no commit: write at least 12 of its hex digits",
            ),
            ("/profile repetitions=0", "`repetitions=0` is no whole number from 1 to 100"),
            (
                "/profile repetitions=9999999999",
                "`repetitions=9999999999` is no whole number from 1 to 100",
            ),
            (
                "/profile x=\"a",
                "a quotation mark is never closed: write name=\"a value with spaces\"",
            ),
            ("/profile $(id)", "`$(id)` is neither a job nor KEY=VALUE"),
            ("/profile ../x=1", "`../x=1` is neither a job nor KEY=VALUE"),
            (
                "/profile a\n\n/profile b",
                "a comment may hold one command, and this one holds 2: name all jobs in one line",
            ),
        ] {
            let answer = command(line, "/profile");
            assert_eq!(
                answer.map_err(|problem| problem.to_string()),
                Err(said.to_owned()),
                "{line}"
            );
        }
        let long = format!("/profile {}", "a ".repeat(4000));
        assert_eq!(command(&long, "/profile"), Err(CommandProblem::TooLong { bytes: 7999 }));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(?s)(/profile |> |```|\n|.){0,60}") {
            let _ = command(&text, "/profile");
        }
    }
}
