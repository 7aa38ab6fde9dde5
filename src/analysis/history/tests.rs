//! What is found in whole series.

use proptest::prelude::*;

use super::judgement::{Judgement, State};
use super::series::{Aside, Point, Series};
use super::{Effect, judge};

fn told(series: &Series) -> Judgement {
    judge(series, Effect::share(0.02), Effect::default())
}

fn told_of(values: &[f64]) -> Judgement {
    told(&Series::of(&values.iter().copied().map(Some).collect::<Vec<_>>()))
}

/// Numbers around `level` that look like noise of 1 %.
fn noisy(count: usize, level: f64) -> Vec<f64> {
    const NOISE: [f64; 13] =
        [0.3, -1.2, 0.8, 1.5, -0.4, -0.9, 0.1, 1.1, -1.6, 0.6, -0.2, 0.9, -1.0];
    (0..count).map(|i| level * (1.0 + 0.01 * NOISE[(i * 5 + i / 13) % 13])).collect()
}

fn states(found: &Judgement) -> Vec<(usize, State)> {
    found.change_points.iter().map(|change| (change.index, change.state)).collect()
}

#[test]
fn a_step_is_suspected_first_and_confirmed_later() {
    let mut values = noisy(20, 100.0);
    let mut seen = Vec::new();
    for value in noisy(7, 110.0) {
        values.push(value);
        seen.push(states(&told_of(&values)));
    }
    assert_eq!(seen[0], [(20, State::Unusual)]);
    assert_eq!(seen[1], [(20, State::Unusual)]);
    assert_eq!(seen[2], [(20, State::Suspected)]);
    assert_eq!(seen[5], [(20, State::Confirmed)]);
    let change = told_of(&values).change_points[0];
    let ratio = change.ratio.unwrap();
    assert!(ratio.low < 1.1 && 1.1 < ratio.high && (ratio.value - 1.1).abs() < 0.01, "{ratio:?}");
    assert_eq!((change.after, change.points, change.gap), (Some(19), 7, 0));
}

#[test]
fn points_that_come_back_are_a_transient() {
    let mut values = noisy(30, 100.0);
    for value in &mut values[14..17] {
        *value = 160.0;
    }
    let found = told_of(&values);
    assert_eq!(states(&found), []);
    let [transient] = found.transients.as_slice() else { panic!("{found:?}") };
    assert_eq!((transient.from, transient.to, transient.points), (14, 16, 3));
    assert!((transient.level - 100.0).abs() < 1.0 && (transient.value - 160.0).abs() < 1e-6);
}

#[test]
fn a_slow_trend_is_no_step() {
    let values: Vec<f64> =
        noisy(120, 100.0).iter().enumerate().map(|(i, v)| v * (1.0 + 0.0008 * i as f64)).collect();
    let found = told_of(&values);
    assert_eq!(states(&found), []);
    let trend = found.trend.unwrap();
    assert!((trend.change.value - 1.095).abs() < 0.01, "{trend:?}");
}

#[test]
fn a_machine_is_a_factor() {
    let mut series = Series::of(&[]);
    for (i, value) in noisy(60, 100.0).into_iter().enumerate() {
        let slow = i % 7 < 2;
        let step = if i < 35 { 1.0 } else { 1.05 };
        series.points.push(Point {
            value: Some(value * step * if slow { 1.15 } else { 1.0 }),
            machine: Some(if slow { "slow" } else { "fast" }.to_owned()),
            ..Point::default()
        });
    }
    let found = told(&series);
    assert_eq!(states(&found), [(35, State::Confirmed)]);
    assert!(!found.change_points[0].machine_changed);
    assert_eq!(found.machines.len(), 2);
    assert!((found.machines[1].offset - 1.15).abs() < 0.01, "{:?}", found.machines);
}

#[test]
fn a_step_with_a_new_machine_is_not_attributed() {
    let mut series = Series::of(&[]);
    let values = noisy(20, 100.0).into_iter().chain(noisy(20, 112.0));
    for (i, value) in values.enumerate() {
        let machine = if i < 20 { "old" } else { "new" };
        let machine = Some(machine.to_owned());
        series.points.push(Point { value: Some(value), machine, ..Point::default() });
    }
    let found = told(&series);
    assert_eq!(states(&found), [(20, State::Confirmed)]);
    assert!(found.change_points[0].machine_changed);
}

#[test]
fn a_machine_with_few_points_is_kept_out() {
    let mut series = Series::of(&[]);
    for (i, value) in noisy(30, 100.0).into_iter().enumerate() {
        let odd = i == 9 || i == 20;
        series.points.push(Point {
            value: Some(if odd { value * 1.5 } else { value }),
            machine: Some(if odd { "other" } else { "usual" }.to_owned()),
            ..Point::default()
        });
    }
    let found = told(&series);
    assert_eq!((states(&found), found.calibrating), (vec![], vec![9, 20]));
}

#[test]
fn disturbed_points_are_left_out() {
    let mut series = Series::of(&noisy(24, 100.0).into_iter().map(Some).collect::<Vec<_>>());
    for at in 10..15 {
        series.points[at].value = Some(150.0);
        series.points[at].aside = Some(Aside::Disturbed);
    }
    let found = told(&series);
    assert_eq!((states(&found), found.judged), (vec![], 19));
}

#[test]
fn exact_numbers_tell_every_change() {
    let values: Vec<_> = [[1000; 4], [1001; 4]].concat().into_iter().map(f64::from).collect();
    let mut series = Series::of(&values.into_iter().map(Some).collect::<Vec<_>>());
    series.exact = Some(true);
    assert_eq!(states(&told(&series)), [(4, State::Confirmed)]);
    // Two commits that were measured twice and gave the same say so themselves.
    series.exact = None;
    for (i, point) in series.points.iter_mut().enumerate() {
        point.commit = Some(format!("c{}", i / 2));
    }
    assert!(told(&series).exact);
    series.points[1].value = Some(1000.5);
    assert!(!told(&series).exact);
}

#[test]
fn an_accepted_change_begins_a_level() {
    let values: Vec<_> = noisy(12, 100.0).into_iter().chain(noisy(4, 120.0)).map(Some).collect();
    let mut series = Series::of(&values);
    series.points[12].accepted = true;
    let found = told(&series);
    assert_eq!(states(&found), [(12, State::Accepted)]);
    assert!((found.levels[1].value / 120.0 - 1.0).abs() < 0.02);
    assert!(found.limits.is_some_and(|limits| !limits.enough));
}

#[test]
fn a_level_does_not_begin_between_runs_of_one_commit() {
    let values: Vec<_> = noisy(10, 100.0).into_iter().chain(noisy(10, 115.0)).map(Some).collect();
    let mut series = Series::of(&values);
    for at in 9..12 {
        series.points[at].commit = Some("same".to_owned());
    }
    let found = told(&series);
    assert_ne!(states(&found).first().map(|(at, _)| *at), Some(10));
    assert_eq!(found.change_points.len(), 1, "{found:?}");
}

#[test]
fn too_few_points_give_no_word() {
    for count in 0..6 {
        let values: Vec<f64> = (0..count).map(|i| 1.0 + f64::from(i)).collect();
        let found = told_of(&values);
        assert_eq!((states(&found), found.transients.len()), (vec![], 0));
        assert_eq!(found.limits.is_some(), count >= 2);
        assert!(found.limits.is_none_or(|limits| !limits.enough));
    }
}

#[test]
fn an_effect_may_be_a_share_an_amount_or_both() {
    let both = Effect { relative: Some(0.02), absolute: Some(5.0) };
    assert!(both.is_reached(100.0, 105.0));
    assert!(!both.is_reached(100.0, 104.0) && !both.is_reached(1000.0, 1010.0));
    assert!(Effect::default().is_reached(1.0, 1.0001) && !Effect::default().is_reached(1.0, 1.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_series_gives_finite_words_in_order(
        values in prop::collection::vec(prop::option::weighted(0.9, prop_oneof![
            -1e3..1e3_f64, Just(0.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(f64::NAN), 1.0..2.0_f64,
        ]), 0..80),
        machines in prop::collection::vec(0..3_u8, 80),
        commits in prop::collection::vec(0..40_u8, 80),
    ) {
        let mut series = Series::of(&values);
        for (i, point) in series.points.iter_mut().enumerate() {
            point.machine = Some(machines[i].to_string());
            point.commit = Some(commits[i].to_string());
            point.accepted = commits[i] == 39;
        }
        let found = told(&series);
        prop_assert_eq!(&found, &told(&series));
        prop_assert!(found.judged <= values.len());
        for change in &found.change_points {
            prop_assert!(change.index < values.len() && series.points[change.index].value.is_some());
            prop_assert!(change.from.is_finite() && change.to.is_finite());
            prop_assert!(change.p.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
    }

    #[test]
    fn another_unit_changes_no_place(factor in 1e-6..1e6_f64, at in 8..32_usize) {
        let values: Vec<f64> =
            noisy(40, 100.0).into_iter().enumerate().map(|(i, v)| if i < at { v } else { v * 1.2 }).collect();
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        prop_assert_eq!(states(&told_of(&values)), states(&told_of(&scaled)));
        prop_assert_eq!(states(&told_of(&values))[0].0, at);
    }
}
