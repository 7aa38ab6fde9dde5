//! What is said under a pull request to somebody whose command starts nothing: why, and what is
//! known.

use std::fmt::Write as _;

use super::escape;
use crate::config::job::Job;
use crate::config::params::text_of;

/// Jobs and params that are named; more are counted.
const SHOWN_MAX: usize = 30;

/// The hidden line by which an answer is found again: `what` are words of ours.
pub fn marker(what: &str) -> String {
    format!("<!-- perftrail-answer {what} -->")
}

/// A refusal, without any list.
pub fn refused(marker: &str, why: &str) -> String {
    format!("{marker}\nNothing is measured: {}\n", ended(why))
}

/// A refusal, and what could have been asked for.
pub fn known(marker: &str, why: &str, word: &str, jobs: &[&Job]) -> String {
    format!("{marker}\nNothing is measured: {}\n\n{}", ended(why), list(word, jobs))
}

/// What became of accepting a metric's new level.
pub fn accepted(marker: &str, done: &str) -> String {
    format!("{marker}\n{}\n", ended(done))
}

/// Why a new level is not accepted.
pub fn not_accepted(marker: &str, why: &str) -> String {
    format!("{marker}\nNothing is accepted: {}\n", ended(why))
}

/// What can be asked for.
pub fn help(marker: &str, word: &str, jobs: &[&Job]) -> String {
    format!(
        "{marker}\n{}\n- `sha=` names the commit that you have looked at, twelve digits or more; a fork may need it\n\
         - {} accept METRIC because REASON takes a metric's new level as the right one\n",
        list(word, jobs).trim_end(),
        plain(word)
    )
}

fn list(word: &str, jobs: &[&Job]) -> String {
    // The word itself never begins a paragraph: whoever answers may be taken for a human.
    let word = plain(word);
    let mut text = format!("Write {word} [JOB…] [KEY=VALUE…] [against REF] [repetitions=N]\n\n");
    if jobs.is_empty() {
        text.push_str("No job of the configuration is for comments.\n");
        return text;
    }
    text.push_str("| Job | Params |\n|---|---|\n");
    for job in jobs.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "| {} | {} |", plain(&job.name), params(job));
    }
    if let Some(more) = jobs.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "\nand {more} more");
    }
    text
}

fn params(job: &Job) -> String {
    let one = |param: &crate::config::ParamDecl| {
        let choices: Vec<String> =
            param.choices.iter().map(|value| plain(&text_of(value))).collect();
        let values = match choices.as_slice() {
            [] => plain(&text_of(&param.default)),
            choices => choices.join(" or "),
        };
        format!("{} = {values}", plain(&param.name))
    };
    let shown: Vec<String> = job.params.iter().take(SHOWN_MAX).map(one).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// A sentence that may hold words of others, as one line that does nothing.
pub fn sentence(text: &str) -> String {
    plain(text)
}

/// The same with an end.
fn ended(text: &str) -> String {
    let text = plain(text);
    if text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

/// Text of others, cut, as one line that does nothing.
fn plain(text: &str) -> String {
    let line = super::plain::line(text, 300);
    let mut out = Vec::new();
    // Writing into memory does not fail.
    let _ = escape::markdown(&line, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn what_is_known_is_told_and_nothing_of_it_acts() {
        let text = "[[job]]\nname = 'scale_run'\nrun = 'x'\n[job.params]\nyears = 5\n\
                    size = { type = 'string', default = '@all | <b>', choices = ['@all | <b>', 's'] }\n";
        let config = parse("f.toml", text).unwrap();
        let jobs: Vec<&Job> = config.jobs.iter().collect();
        let why = "there is no job `@here <img src=x> #12\n# x`: did you mean `scale_run`?";
        insta::assert_snapshot!(known(&marker("1"), why, "/profile", &jobs), @r"
        <!-- perftrail-answer 1 -->
        Nothing is measured: there is no job &#96;@&#8203;here &lt;img src=x&gt; \#&#8203;12 \#&#8203; x&#96;: did you mean &#96;scale_run&#96;?

        Write /profile [JOB…] [KEY=VALUE…] [against REF] [repetitions=N]

        | Job | Params |
        |---|---|
        | scale_run | years = 5, size = @&#8203;all &#124; &lt;b&gt; or s |
        ");
        insta::assert_snapshot!(help(&marker("1"), "/profile", &[]), @r"
        <!-- perftrail-answer 1 -->
        Write /profile [JOB…] [KEY=VALUE…] [against REF] [repetitions=N]

        No job of the configuration is for comments.
        - `sha=` names the commit that you have looked at, twelve digits or more; a fork may need it
        - /profile accept METRIC because REASON takes a metric's new level as the right one
        ");
    }
}
