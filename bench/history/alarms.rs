//! How often unchanged code is said to have changed.

use perftrail::analysis::history::judgement::State;
use perftrail::analysis::history::series::Series;
use serde_json::Value;

use super::made::Maker;
use super::{Card, changes, places};

/// Points before the commits that are watched.
const BEFORE: usize = 40;
/// Commits that are watched.
const COMMITS: usize = 100;
/// An alarm within so many points of an earlier one is the same.
const SAME: usize = 5;

/// Prints how many different alarms are raised on average while 100 unchanged commits come in.
pub(crate) fn score(card: &mut Card, parity: u64, count: u64) {
    println!(
        "\nalarms on unchanged code, judged anew after each of {COMMITS} commits, {count} series a kind"
    );
    for (kind, told_apart, most) in [
        ("gauss", false, 0.1),
        ("outliers", false, 0.25),
        ("ar", false, 0.6),
        ("mix", false, 0.6),
        ("mix", true, 0.6),
    ] {
        let (mut suspected, mut confirmed) = (0, 0);
        for i in 0..count {
            let cv = [0.01, 0.02, 0.03, 0.05][usize::try_from(i % 4).unwrap_or(0)];
            let mut maker = Maker::new(1_000_000 + 2 * i + parity);
            let mut series = maker.series(kind, BEFORE + COMMITS, cv, 0).series;
            if !told_apart {
                for point in &mut series.points {
                    point.machine = None;
                }
            }
            let raised = raised(&series);
            suspected += raised.0;
            confirmed += raised.1;
        }
        let name =
            if told_apart { format!("{kind}, machines told apart") } else { kind.to_owned() };
        let confirmed = confirmed as f64 / count as f64;
        let suspected = suspected as f64 / count as f64;
        card.figure(
            &format!("{name}, at confirmed"),
            format!("{confirmed:.3}"),
            &format!("<= {most}"),
            confirmed <= most,
        );
        Card::tell(&format!("{name}, at suspected"), format!("{suspected:.3}"));
    }
}

/// How many different alarms are ever raised: at suspected, at confirmed.
fn raised(series: &Series) -> (usize, usize) {
    let mut seen: [Vec<usize>; 2] = Default::default();
    for n in BEFORE + 1..=series.points.len() {
        let so_far = Series { points: series.points[..n].to_vec(), exact: None };
        for change in changes(&so_far) {
            for (seen, least) in seen.iter_mut().zip([State::Suspected, State::Confirmed]) {
                let new = seen.iter().all(|other| other.abs_diff(change.index) > SAME);
                if change.state >= least && new {
                    seen.push(change.index);
                }
            }
        }
    }
    (seen[0].len(), seen[1].len())
}

/// Prints alarms for each hundred points of code that never changes, on runners that do.
pub(crate) fn of_runners(file: &Value) {
    println!("\nalarms at confirmed a hundred points, on runners that change themselves");
    for one in file["series"].as_array().into_iter().flatten() {
        let rows = one["rows"].as_array().into_iter().flatten();
        let values: Vec<_> = rows.map(|row| row[2].as_f64()).collect();
        let alarms = places(&Series::of(&values), State::Confirmed).len();
        let rate = 100.0 * alarms as f64 / values.len().max(1) as f64;
        Card::tell(one["name"].as_str().unwrap_or_default(), format!("{rate:.2}"));
    }
}
