//! Series whose changes are known: how many are found, and how much else is.

use perftrail::analysis::history::judgement::State;
use perftrail::analysis::history::series::Series;
use serde_json::Value;

use super::{Card, places};

/// A change is found when it is told at most so many points away.
const TOLERANCE: usize = 2;

/// A series and its changes.
pub(crate) struct Labelled {
    pub(crate) kind: String,
    pub(crate) series: Series,
    /// Where it changes.
    pub(crate) places: Vec<usize>,
    /// How large each change is beside the noise.
    pub(crate) steps: Vec<f64>,
}

/// How well changes were found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    found: usize,
    missed: usize,
    wrong: usize,
    large_found: usize,
    large: usize,
}

impl Score {
    fn precision(self) -> f64 {
        share(self.found, self.found + self.wrong)
    }

    fn recall(self) -> f64 {
        share(self.found, self.found + self.missed)
    }

    fn f1(self) -> f64 {
        share(2 * self.found, 2 * self.found + self.wrong + self.missed)
    }

    /// Counts what was `told` of a series.
    pub(crate) fn count(&mut self, series: &Labelled, told: &[usize]) {
        let mut free = told.to_vec();
        for (place, step) in series.places.iter().zip(&series.steps) {
            let large = *step >= 2.0 && series.series.points.len() >= 100;
            self.large += usize::from(large);
            let near = (0..free.len())
                .filter(|i| free[*i].abs_diff(*place) <= TOLERANCE)
                .min_by_key(|i| free[*i].abs_diff(*place));
            if let Some(near) = near {
                free.remove(near);
                self.found += 1;
                self.large_found += usize::from(large);
            } else {
                self.missed += 1;
            }
        }
        self.wrong += free.len();
    }

    pub(crate) fn words(self) -> String {
        format!(
            "P {:.2} R {:.2} F1 {:.3}, {} wrong",
            self.precision(),
            self.recall(),
            self.f1(),
            self.wrong
        )
    }
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The series of a file.
pub(crate) fn read(file: &Value) -> Vec<Labelled> {
    let numbers = |value: &Value| -> Vec<Option<f64>> {
        value.as_array().map(|all| all.iter().map(Value::as_f64).collect()).unwrap_or_default()
    };
    let labelled = |item: &Value| {
        let mut series = Series::of(&numbers(&item["values"]));
        let machines = item["machine"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (point, machine) in series.points.iter_mut().zip(machines) {
            point.machine = Some(machine.to_string());
        }
        Labelled {
            kind: item["noise"].as_str().unwrap_or("unknown").to_owned(),
            series,
            places: item["change_points"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|place| usize::try_from(place.as_u64()?).ok())
                .collect(),
            steps: numbers(&item["snr"]).into_iter().flatten().collect(),
        }
    };
    file.as_array().into_iter().flatten().map(labelled).collect()
}

/// Prints how well the changes of `all` are found.
pub(crate) fn score(card: &mut Card, name: &str, all: &[Labelled], least_f1: f64) {
    println!("\n{name}: {} series, told at most {TOLERANCE} points away", all.len());
    let of_state = |least: State| {
        let mut score = Score::default();
        for one in all {
            score.count(one, &places(&one.series, least));
        }
        score
    };
    let suspected = of_state(State::Suspected);
    let (precision, recall, f1) = (suspected.precision(), suspected.recall(), suspected.f1());
    let large = share(suspected.large_found, suspected.large);
    let threshold = format!(">= {least_f1}");
    card.figure("F1 at suspected", format!("{f1:.3}"), &threshold, f1 >= least_f1);
    card.figure("precision at suspected", format!("{precision:.3}"), ">= 0.9", precision >= 0.9);
    Card::tell("recall at suspected", format!("{recall:.3}"));
    card.figure(
        "recall where step/CV >= 2 and n >= 100",
        format!("{large:.3}"),
        ">= 0.85",
        large >= 0.85,
    );
    Card::tell("at confirmed", of_state(State::Confirmed).words());
    let mut kinds: Vec<&str> = all.iter().map(|one| one.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let mut score = Score::default();
        for one in all.iter().filter(|one| one.kind == kind) {
            score.count(one, &places(&one.series, State::Suspected));
        }
        Card::tell(&format!("  {kind}"), score.words());
    }
}
