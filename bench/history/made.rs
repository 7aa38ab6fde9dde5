//! Makes up series whose changes are known.

use perftrail::analysis::history::series::Series;

use super::labelled::Labelled;

/// Kinds of noise.
pub(crate) const KINDS: [&str; 8] =
    ["gauss", "t3", "skew", "outliers", "hetero", "ar", "mix", "drift"];

/// Numbers by chance, the same for the same seed.
pub(crate) struct Maker {
    rng: fastrand::Rng,
}

impl Maker {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed) }
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.rng.f64(), self.rng.f64());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.rng.f64()).ln()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(0..all.len())]
    }

    /// Logarithms of noise, and the machine of each point where there are two.
    fn noise(&mut self, kind: &str, n: usize, cv: f64) -> (Vec<f64>, Vec<usize>) {
        let (mut before, mut machines) = (0.0, Vec::new());
        let mut one = |i: usize| {
            let share = i as f64 / n as f64;
            match kind {
                "t3" => {
                    let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                    cv * self.normal() / (squares / 3.0).sqrt() / 3_f64.sqrt()
                }
                "skew" => {
                    cv * (self.exponential() + self.exponential() - 2.0) / std::f64::consts::SQRT_2
                }
                "outliers" if self.rng.f64() < 0.05 => {
                    cv * self.normal() + (1.1 + 0.7 * self.rng.f64()).ln()
                }
                "hetero" => {
                    let wide = 0.5 + (share * 3.0 * std::f64::consts::PI).sin().abs();
                    cv * wide * self.normal()
                }
                "ar" => {
                    before = 0.5 * before + 0.75_f64.sqrt() * self.normal();
                    cv * before
                }
                "mix" => {
                    let slow = self.rng.f64() < 0.3;
                    machines.push(usize::from(slow));
                    cv * self.normal() + if slow { 1.15_f64.ln() } else { 0.0 }
                }
                "drift" => cv * self.normal() + 0.03 * share,
                _ => cv * self.normal(),
            }
        };
        let noise = (0..n).map(&mut one).collect();
        (noise, machines)
    }

    /// A series with at most `most` changes.
    pub(crate) fn series(&mut self, kind: &str, n: usize, cv: f64, most: usize) -> Labelled {
        let (mut y, machines) = self.noise(kind, n, cv);
        let mut places: Vec<usize> = Vec::new();
        for _ in 0..1000 {
            if places.len() >= most {
                break;
            }
            let place = self.rng.usize(3..n - 3);
            if places.iter().all(|other| other.abs_diff(place) >= 5) {
                places.push(place);
            }
        }
        places.sort_unstable();
        let mut steps = Vec::new();
        for place in &places {
            let size = self.one_of(&[0.02_f64, 0.05, 0.1, 0.2, 0.3]).ln_1p();
            let step = if self.rng.bool() { size } else { -size };
            for y in &mut y[*place..] {
                *y += step;
            }
            steps.push(size / cv);
        }
        let values: Vec<_> = y.iter().map(|y| Some((y.exp() * 1e6).round() / 1e4)).collect();
        let mut series = Series::of(&values);
        for (point, machine) in series.points.iter_mut().zip(machines) {
            point.machine = Some(machine.to_string());
        }
        Labelled { kind: kind.to_owned(), series, places, steps }
    }
}

/// Series of all kinds, lengths and sizes of noise; every third without a change.
pub(crate) fn labelled(parity: u64, count: u64) -> Vec<Labelled> {
    let made = |i: u64| {
        let mut maker = Maker::new(2 * i + parity);
        let kind = maker.one_of(&KINDS);
        let n = maker.one_of(&[10, 20, 50, 100, 200, 500]);
        let cv = maker.one_of(&[0.01, 0.02, 0.05, 0.1]);
        let room = match n {
            10 => 1,
            20 => 2,
            _ => 3,
        };
        let most = maker.one_of(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3]).min(room);
        maker.series(kind, n, cv, most)
    };
    (0..count).map(made).collect()
}
