//! Other tools on the same series.

use std::io::Write as _;
use std::process::{Command, Stdio};

use perftrail::analysis::history::judgement::State;
use serde_json::Value;

use super::labelled::{Labelled, Score};
use super::speed::cpu_time;
use super::{Card, places};

const SCRIPT: &str = include_str!("rivals.py");

/// Prints scores and CPU times of other tools beside ours; nothing without a Python.
pub(crate) fn beside(python: Option<&str>, name: &str, all: &[Labelled]) -> Result<(), String> {
    let Some(python) = python else { return Ok(()) };
    println!("\n{name}: beside other tools, CPU time as times of ours");
    let begin = cpu_time();
    let ours: Vec<_> = all.iter().map(|one| places(&one.series, State::Suspected)).collect();
    let taken = cpu_time() - begin;
    let score_of = |told: &[Vec<usize>]| {
        let mut score = Score::default();
        for (one, told) in all.iter().zip(told) {
            score.count(one, told);
        }
        score
    };
    Card::tell("perftrail", format!("{}, 1", score_of(&ours).words()));
    let found = run(python, all)?;
    for (tool, answer) in found.as_object().into_iter().flatten() {
        let told: Vec<Vec<usize>> =
            serde_json::from_value(answer["points"].clone()).map_err(|error| error.to_string())?;
        let times = answer["seconds"].as_f64().unwrap_or(f64::NAN) / taken;
        Card::tell(tool, format!("{}, {times:.1}", score_of(&told).words()));
    }
    Ok(())
}

fn run(python: &str, all: &[Labelled]) -> Result<Value, String> {
    let values = |one: &Labelled| -> Vec<Option<f64>> {
        one.series.points.iter().map(|point| point.value).collect()
    };
    let input: Vec<_> = all.iter().map(values).collect();
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{python}: {error}"))?;
    let bytes = serde_json::to_vec(&input).map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&bytes).map_err(|error| format!("{python}: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("{python}: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{python}: {error}"))
}
