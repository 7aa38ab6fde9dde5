//! Judges the numbers between two accepted changes.

use super::Effect;
use super::boundary::{evidence, quantile};
use super::exact;
use super::judgement::{
    ChangePoint, Estimate, Judgement, Level, Limits, Machine, State, Transient, Trend,
};
use super::levels::{Boundary, spans};
use super::limits::{Range, Unusual, unusual};
use super::machines::{Fitted, fit};
use super::series::{Judged, Scale};
use super::transient::{Excursion, excursions};
use super::trend::Moving;
use crate::model::robust::median;

/// A new level at the end of a series needs so many points to be confirmed.
const TO_CONFIRM: usize = 6;
/// A median is so much less sure than a mean.
const OF_MEDIAN: f64 = 1.2533;
/// The beginning of a level is sought so many points around.
const RANGE_MAX: usize = 5;
/// So many points of each level tell how well another beginning fits.
const RANGE_POINTS: usize = 100;
/// Another beginning fits as well when its probability is at most so many times higher.
const AS_GOOD: f64 = 10.0;

/// The numbers between two accepted changes, judged.
pub(super) struct Part {
    fitted: Fitted,
    effect: Effect,
    exact: bool,
    excursions: Vec<Excursion>,
    pub(super) levels: Vec<Level>,
    /// The levels' medians on the scale.
    medians: Vec<f64>,
    unusual: Option<Unusual>,
}

impl Part {
    pub(super) fn new(judged: Judged, exact: bool, effect: Effect) -> Self {
        let fitted = if exact { exactly(judged) } else { fit(judged) };
        let mut part = Self {
            fitted,
            effect,
            exact,
            excursions: Vec::new(),
            levels: Vec::new(),
            medians: Vec::new(),
            unusual: None,
        };
        if !exact {
            part.take_excursions();
            part.find_unusual();
        }
        part.find_levels();
        part
    }

    fn take_excursions(&mut self) {
        let mut boundaries = std::mem::take(&mut self.fitted.levels.boundaries);
        let (y, noise) = (&self.fitted.levels.y, self.fitted.levels.noise);
        self.excursions = excursions(y, noise, &mut boundaries, |from, to| self.tells(from, to));
        self.fitted.levels.boundaries = boundaries;
    }

    fn find_unusual(&mut self) {
        let from = self.fitted.levels.boundaries.last().map_or(0, |boundary| boundary.at);
        let calm = self.excursions.last().map_or(from, |last| last.to.max(from));
        let found = unusual(&self.fitted.levels.y, calm);
        self.unusual = found.filter(|found| self.tells(found.level, found.there));
    }

    /// Whether a change between two places on the scale is worth telling.
    fn tells(&self, from: f64, to: f64) -> bool {
        let judged = &self.fitted.judged;
        match judged.scale {
            Scale::Ratio => self.effect.is_reached(judged.value(from), judged.value(to)),
            Scale::Difference => {
                let share = self.effect.relative.unwrap_or(0.0);
                let amount = self.effect.absolute.unwrap_or(0.0).max(share * judged.unit);
                Effect { relative: None, absolute: Some(amount) }
                    .is_reached(judged.value(from), judged.value(to))
            }
        }
    }

    fn is_excursion(&self, at: usize) -> bool {
        self.excursions.iter().any(|excursion| (excursion.from..excursion.to).contains(&at))
    }

    /// The points of a level, without those that left it.
    fn calm(&self, from: usize, to: usize) -> Vec<f64> {
        let end = self.unusual.map_or(to, |unusual| to.min(unusual.at.max(from + 1)));
        let places = (from..end).filter(|at| !self.is_excursion(*at));
        places.map(|at| self.fitted.levels.y[at]).collect()
    }

    fn find_levels(&mut self) {
        let judged = &self.fitted.judged;
        let n = judged.y.len();
        for (from, to) in spans(&self.fitted.levels.boundaries, n) {
            let calm = self.calm(from, to);
            let Some(middle) = median(&calm) else { continue };
            self.medians.push(middle);
            self.levels.push(Level {
                from: judged.index[from],
                to: judged.index[to - 1],
                points: to - from,
                value: judged.value(middle - self.fitted.levels.moved(to - 1, n)),
            });
        }
    }

    /// Adds what was found to `whole`; the newest part tells noise, trend and limits.
    pub(super) fn add_to(self, whole: &mut Judgement) {
        whole.judged += self.fitted.judged.y.len();
        whole.calibrating.extend(&self.fitted.calibrating);
        whole.noise = self.noise();
        whole.machines = self.machines();
        whole.transients.extend(self.excursions.iter().map(|excursion| self.transient(excursion)));
        whole.trend = self.trend();
        whole.limits = self.limits();
        whole.change_points.extend(self.told());
        whole.levels.extend(self.levels);
    }

    fn noise(&self) -> f64 {
        let noise = self.fitted.levels.noise;
        match self.fitted.judged.scale {
            Scale::Ratio => noise.exp_m1(),
            Scale::Difference => noise * self.fitted.judged.unit,
        }
    }

    fn machines(&self) -> Vec<Machine> {
        let judged = &self.fitted.judged;
        let machine = |(name, offset): (&usize, &f64)| {
            let at = judged.machine.iter().position(|other| other == name)?;
            let points = judged.machine.iter().filter(|other| *other == name).count();
            let offset = match judged.scale {
                Scale::Ratio => offset.exp(),
                Scale::Difference => offset * judged.unit,
            };
            Some(Machine { point: judged.index[at], points, offset })
        };
        let mut machines: Vec<Machine> = self.fitted.offsets.iter().filter_map(machine).collect();
        machines.sort_by_key(|machine| (std::cmp::Reverse(machine.points), machine.point));
        machines
    }

    fn transient(&self, excursion: &Excursion) -> Transient {
        let judged = &self.fitted.judged;
        let spans = spans(&self.fitted.levels.boundaries, judged.y.len());
        let around = spans.iter().position(|(from, to)| (*from..*to).contains(&excursion.from));
        let level = around.and_then(|level| self.medians.get(level)).copied().unwrap_or(0.0);
        let there = median(&self.fitted.levels.y[excursion.from..excursion.to]).unwrap_or(level);
        Transient {
            from: judged.index[excursion.from],
            to: judged.index[excursion.to - 1],
            points: excursion.to - excursion.from,
            level: judged.value(level),
            value: judged.value(there),
        }
    }

    fn trend(&self) -> Option<Trend> {
        let judged = &self.fitted.judged;
        let slope = self.fitted.levels.slope?;
        let steps = judged.y.len() as f64 - 1.0;
        let from = self.medians.last()? - slope.step * steps;
        let told = self.tells(from, from + slope.step * steps);
        let of = |step: f64| match judged.scale {
            Scale::Ratio => (step * steps).exp(),
            Scale::Difference => step * steps * judged.unit,
        };
        let (low, high) = (of(slope.step - slope.half), of(slope.step + slope.half));
        told.then(|| Trend {
            from: judged.index[0],
            to: judged.index[judged.index.len() - 1],
            change: Estimate { value: of(slope.step), low, high },
        })
    }

    fn limits(&self) -> Option<Limits> {
        let judged = &self.fitted.judged;
        let from = self.fitted.levels.boundaries.last().map_or(0, |boundary| boundary.at);
        let range = if self.exact {
            let level = *self.medians.last()?;
            Range { points: judged.y.len() - from, centre: level, reach: 0.0, error: 0.0 }
        } else {
            Range::of(&self.calm(from, judged.y.len()))?
        };
        Some(Limits {
            points: range.points,
            level: judged.value(range.centre),
            low: judged.value(range.centre - range.reach),
            high: judged.value(range.centre + range.reach),
            enough: self.exact || range.is_enough(),
            scale: judged.scale,
            error: match judged.scale {
                Scale::Ratio => range.error,
                Scale::Difference => range.error * judged.unit,
            },
        })
    }

    /// The changes worth telling: each against the level that was told last, so that small steps
    /// that add up are told in the end.
    fn told(&self) -> Vec<ChangePoint> {
        let boundaries = &self.fitted.levels.boundaries;
        let n = self.fitted.judged.y.len();
        let Some(mut last) = self.medians.first().copied() else { return Vec::new() };
        let mut told = Vec::new();
        for (i, boundary) in boundaries.iter().enumerate() {
            let level = self.medians[i + 1];
            if self.tells(last, level) {
                let end = boundaries.get(i + 1).map_or(n, |next| next.at);
                told.push(self.change(i, boundary, last, level, end));
                last = level;
            }
        }
        let unusual = self.unusual.as_ref().map(|unusual| self.unusual_end(unusual));
        told.into_iter().chain(unusual).collect()
    }

    fn change(&self, i: usize, boundary: &Boundary, from: f64, to: f64, end: usize) -> ChangePoint {
        let n = self.fitted.judged.y.len();
        let points = end - boundary.at;
        let confirmed = self.exact || boundary.confirmed && (end < n || points >= TO_CONFIRM);
        let state = if confirmed { State::Confirmed } else { State::Suspected };
        let spread = if self.exact {
            0.0
        } else {
            quantile(0.05, boundary.evidence.freedom) * boundary.evidence.error * OF_MEDIAN
        };
        let begin = i.checked_sub(1).map_or(0, |i| self.fitted.levels.boundaries[i].at);
        ChangePoint {
            range: self.range(begin, boundary.at, end),
            p: (!self.exact).then_some(boundary.evidence.p),
            machine_changed: self.machine_changed(begin, boundary.at, end),
            ..self.point(boundary.at, state, (from, to), spread, points)
        }
    }

    fn unusual_end(&self, unusual: &Unusual) -> ChangePoint {
        let points = self.fitted.judged.y.len() - unusual.at;
        let from = self.fitted.levels.boundaries.last().map_or(0, |boundary| boundary.at);
        ChangePoint {
            machine_changed: self.machine_changed(from, unusual.at, unusual.at + points),
            ..self.point(
                unusual.at,
                State::Unusual,
                (unusual.level, unusual.there),
                unusual.range.reach,
                points,
            )
        }
    }

    fn point(
        &self,
        at: usize,
        state: State,
        (from, to): (f64, f64),
        spread: f64,
        points: usize,
    ) -> ChangePoint {
        let judged = &self.fitted.judged;
        let estimate = |of: &dyn Fn(f64) -> f64| Estimate {
            value: of(to),
            low: of(to - spread),
            high: of(to + spread),
        };
        let (index, after) = (judged.index[at], judged.index[at - 1]);
        // Beside machines and trends, a level is where the main machine would be at the end.
        let before = judged.value(from);
        ChangePoint {
            index,
            after: Some(after),
            range: (index, index),
            state,
            from: before,
            to: judged.value(to),
            ratio: (judged.scale == Scale::Ratio).then(|| estimate(&|to| (to - from).exp())),
            difference: estimate(&|to| judged.value(to) - before),
            p: None,
            points,
            gap: index.saturating_sub(after + 1),
            machine_changed: false,
        }
    }

    /// Other beginnings of the level at `at` that fit nearly as well.
    fn range(&self, begin: usize, at: usize, end: usize) -> (usize, usize) {
        let index = |at: usize| self.fitted.judged.index[at];
        if self.exact {
            return (index(at), index(at));
        }
        let Moving { y, noise, .. } = &self.fitted.levels;
        let (from, to) = (begin.max(at.saturating_sub(RANGE_POINTS)), end.min(at + RANGE_POINTS));
        let p = |at: usize| evidence(&y[from..at], &y[at..to], *noise, 0.0).p;
        let best = p(at);
        let fits = |other: &usize| {
            *other >= from + 3 && *other + 3 <= to && p(*other) <= (AS_GOOD * best).min(0.01)
        };
        let first = (1..=RANGE_MAX).map_while(|by| at.checked_sub(by).filter(fits)).last();
        let last = (1..=RANGE_MAX).map(|by| at + by).take_while(fits).last();
        (index(first.unwrap_or(at)), index(last.unwrap_or(at)))
    }

    /// Whether no machine measured on both sides.
    fn machine_changed(&self, begin: usize, at: usize, end: usize) -> bool {
        let machine = &self.fitted.judged.machine;
        machine[begin..at].iter().all(|name| !machine[at..end].contains(name))
    }
}

fn exactly(judged: Judged) -> Fitted {
    let levels = Moving {
        y: judged.y.clone(),
        boundaries: exact::changes(&judged),
        noise: 0.0,
        slope: None,
    };
    Fitted { judged, levels, offsets: std::collections::BTreeMap::new(), calibrating: Vec::new() }
}
