//! What was found in a series.

use super::boundary::two_sided;
use super::series::Scale;

/// Where the level of a series lies, where it changed, and what cannot be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// How changes are told: as ratios or as differences.
    pub scale: Scale,
    /// Whether equal code gives equal numbers: then every change is real.
    pub exact: bool,
    /// The standard deviation from one run to the next: as a share of the level on the scale of
    /// ratios, else in the metric's unit.
    pub noise: f64,
    /// How many points were judged.
    pub judged: usize,
    /// Points that are kept out because their machine has too few.
    pub calibrating: Vec<usize>,
    /// What machines that took turns add, where there are several; the first has most points.
    pub machines: Vec<Machine>,
    /// The levels, oldest first; none without a single number.
    pub levels: Vec<Level>,
    /// Where the level changed, oldest first.
    pub change_points: Vec<ChangePoint>,
    /// Where it left its level and came back.
    pub transients: Vec<Transient>,
    /// How the newest levels move, where they do.
    pub trend: Option<Trend>,
    /// Where a next run is expected; `None` for fewer than two points on the newest level.
    pub limits: Option<Limits>,
}

/// Points that differ by noise alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The first of its points.
    pub from: usize,
    /// The last of its points.
    pub to: usize,
    /// How many there are.
    pub points: usize,
    /// Their median, in the metric's unit; of a slow trend, where it stands at the end.
    pub value: f64,
}

/// How sure a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The newest run or two lie outside their limits: no change yet, but worth another run.
    Unusual,
    /// A new level, which further points may confirm or withdraw.
    Suspected,
    /// A new level beyond reasonable doubt.
    Confirmed,
    /// People accepted it.
    Accepted,
}

impl State {
    /// The state's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unusual => "unusual",
            Self::Suspected => "suspected",
            Self::Confirmed => "confirmed",
            Self::Accepted => "accepted",
        }
    }
}

/// Where the level changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first point of the new level.
    pub index: usize,
    /// The last point before it that was judged.
    pub after: Option<usize>,
    /// The new level may as well begin at any point from the first to the second of these.
    pub range: (usize, usize),
    /// How sure it is.
    pub state: State,
    /// The level that was told last, in the metric's unit.
    pub from: f64,
    /// The new level.
    pub to: f64,
    /// By how many times they differ; `None` where some numbers are not above zero.
    pub ratio: Option<Estimate>,
    /// By how much they differ, in the metric's unit.
    pub difference: Estimate,
    /// The probability of such evidence if nothing had changed, corrected for the choice of the
    /// place; `None` where no statistics are needed.
    pub p: Option<f64>,
    /// Points of the new level.
    pub points: usize,
    /// Points without a number between `after` and `index`.
    pub gap: usize,
    /// The machine changed at the same time, so the change cannot be told to come from the code.
    pub machine_changed: bool,
}

/// A number and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A few points off the level, which then came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transient {
    /// The first of them.
    pub from: usize,
    /// The last of them.
    pub to: usize,
    /// How many there are.
    pub points: usize,
    /// The level before and after, in the metric's unit.
    pub level: f64,
    /// Their median.
    pub value: f64,
}

/// A slow movement of the levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The first point that it covers.
    pub from: usize,
    /// The last point.
    pub to: usize,
    /// By how much the levels moved from the first to the last: a ratio, or a difference in the
    /// metric's unit.
    pub change: Estimate,
}

/// Where a next run is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Points of the newest level.
    pub points: usize,
    /// The mean of the level, in the metric's unit.
    pub level: f64,
    /// Below this a run is unusual.
    pub low: f64,
    /// Above this a run is unusual.
    pub high: f64,
    /// Whether there are points enough to judge by: with fewer, the limits only tell what could
    /// have been seen.
    pub enough: bool,
    /// How changes are told.
    pub scale: Scale,
    /// The standard error of a next run around the level, on the scale: of logarithms, or in the
    /// metric's unit.
    pub error: f64,
}

impl Limits {
    /// The chance of a value at least so far from the level, if nothing had changed.
    pub fn chance(&self, value: f64) -> f64 {
        let off = match self.scale {
            Scale::Ratio if value > 0.0 => (value / self.level).ln(),
            // Nothing was ever so small.
            Scale::Ratio => return 0.0,
            Scale::Difference => value - self.level,
        };
        if off == 0.0 {
            return 1.0;
        }
        two_sided(off / self.error, self.points as f64 - 1.0)
    }
}

/// A machine that took turns with others, and what it adds to their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// One of its points.
    pub point: usize,
    /// How many it has.
    pub points: usize,
    /// By how many times, or by how much in the metric's unit, its numbers differ from those of
    /// the machine with most points.
    pub offset: f64,
}
