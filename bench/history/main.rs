//! Scores the judging of histories, and ends with 1 when a figure misses its threshold.
//!
//! ```text
//! cargo run --release --example history-score -- [--tune] [--series N] [--rivals PYTHON] FILE...
//! ```
//!
//! Files are JSON: labelled series (`change_points` each), cases (`expect` each), or series of
//! runners (`series`, each with `rows`). Made-up series of the same kinds come in two halves by
//! the parity of their seeds: constants are tuned on one half (`--tune`), figures are those of the
//! other. `--rivals` names a Python that has apache-otava and asv, which are run on the same
//! series.
#![expect(clippy::print_stdout, reason = "a scorer prints its figures")]

mod alarms;
mod cases;
mod labelled;
mod made;
mod rivals;
mod speed;

use std::fmt::Display;
use std::process::ExitCode;

use perftrail::analysis::history::judgement::{ChangePoint, State};
use perftrail::analysis::history::series::Series;
use perftrail::analysis::history::{Effect, judge};
use serde_json::Value;

/// Figures and whether each is good enough.
#[derive(Default)]
struct Card {
    missed: usize,
}

impl Card {
    /// Prints a figure; `good` says whether it keeps its threshold.
    fn figure(&mut self, name: &str, value: impl Display, threshold: &str, good: bool) {
        self.missed += usize::from(!good);
        let mark = if good { "ok  " } else { "MISS" };
        println!("{mark} {name:<58} {value:>9}  {threshold}");
    }

    /// Prints a figure without a threshold.
    fn tell(name: &str, value: impl Display) {
        println!("     {name:<58} {value:>9}");
    }
}

/// The changes in `series`, with the effects that count for times.
fn changes(series: &Series) -> Vec<ChangePoint> {
    judge(series, Effect::share(0.02), Effect::default()).change_points
}

/// Where changes of at least that state are.
fn places(series: &Series, least: State) -> Vec<usize> {
    let of_series = changes(series).into_iter();
    of_series.filter(|change| change.state >= least).map(|change| change.index).collect()
}

struct Arguments {
    parity: u64,
    series: u64,
    rivals: Option<String>,
    files: Vec<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut wanted = Arguments { parity: 0, series: 300, rivals: None, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--tune" => wanted.parity = 1,
            "--series" => {
                wanted.series =
                    next()?.parse().map_err(|_| "--series needs a number".to_owned())?;
            }
            "--rivals" => wanted.rivals = Some(next()?),
            _ if word.starts_with('-') => return Err(format!("{word} is not known")),
            _ => wanted.files.push(word),
        }
    }
    Ok(wanted)
}

fn score(wanted: &Arguments) -> Result<usize, String> {
    let mut card = Card::default();
    for path in &wanted.files {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let file: Value =
            serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        score_file(&mut card, path, &file, wanted)?;
    }
    let made = made::labelled(wanted.parity, 1500);
    labelled::score(&mut card, "made-up series", &made, 0.68);
    rivals::beside(wanted.rivals.as_deref(), "made-up series", &made)?;
    alarms::score(&mut card, wanted.parity, wanted.series);
    speed::score(&mut card);
    Ok(card.missed)
}

fn score_file(card: &mut Card, path: &str, file: &Value, wanted: &Arguments) -> Result<(), String> {
    let has = |key: &str| file.get(0).is_some_and(|first| first.get(key).is_some());
    if has("change_points") {
        let all = labelled::read(file);
        labelled::score(card, path, &all, 0.75);
        rivals::beside(wanted.rivals.as_deref(), path, &all)
    } else if has("expect") || has("expect_at_least_one_after") {
        cases::score(card, file);
        Ok(())
    } else if file.get("series").is_some() {
        alarms::of_runners(file);
        Ok(())
    } else {
        println!("\n{path}: of no known form, passed over");
        Ok(())
    }
}

fn main() -> ExitCode {
    match arguments().and_then(|wanted| score(&wanted)) {
        Ok(0) => {
            println!("\nall thresholds are kept");
            ExitCode::SUCCESS
        }
        Ok(missed) => {
            println!("\n{missed} thresholds are missed");
            ExitCode::FAILURE
        }
        Err(why) => {
            println!("{why}");
            ExitCode::from(2)
        }
    }
}
