//! Cases with a known answer.

use perftrail::analysis::history::judgement::State;
use perftrail::analysis::history::series::Series;
use serde_json::Value;

use super::{Card, changes};

/// Prints whether each case is answered as it says.
pub(crate) fn score(card: &mut Card, file: &Value) {
    println!("\ncases with a known answer");
    for case in file.as_array().into_iter().flatten() {
        let values: Vec<_> =
            case["values"].as_array().into_iter().flatten().map(Value::as_f64).collect();
        let all = changes(&Series::of(&values));
        let of = |wanted: &dyn Fn(State) -> bool| -> Vec<u64> {
            let found = all.iter().filter(|change| wanted(change.state));
            found.map(|change| change.index as u64).collect()
        };
        let told = of(&|state| state >= State::Suspected);
        let unusual = of(&|state| state == State::Unusual);
        let list = |key: &str| -> Option<Vec<u64>> {
            case[key].as_array().map(|all| all.iter().filter_map(Value::as_u64).collect())
        };
        let after = case["expect_at_least_one_after"].as_u64();
        let good = list("expect").is_none_or(|expected| expected == told)
            && list("suspected").is_none_or(|expected| expected == unusual)
            && after.is_none_or(|after| told.iter().any(|place| *place >= after));
        let name = case["id"].as_str().unwrap_or_default();
        card.figure(name, format!("{told:?}"), "as its file says", good);
    }
}
