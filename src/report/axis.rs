//! Axes: round marks and short texts for them.

use crate::model::metric::Unit;

/// An axis with its marks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// The value at its start.
    pub(crate) low: f64,
    /// The value at its end, above `low`.
    pub(crate) high: f64,
    /// Values with their texts.
    pub(crate) marks: Vec<(f64, String)>,
}

impl Axis {
    /// An upright axis for values between `least` and `greatest`. It begins at 0 unless all values
    /// lie in the upper half of that: a change must stay visible then.
    pub(crate) fn of_values(least: f64, greatest: f64, unit: &Unit, marks: u32) -> Self {
        let (least, greatest) = tame(least, greatest);
        let from_zero = least >= 0.0 && least < greatest * 0.5;
        let low = if from_zero { 0.0 } else { least };
        let (low, high) = if greatest > low { (low, greatest) } else { around(low) };
        let scale = scale_of(high.abs().max(low.abs()), unit);
        let step = nice((high - low) / f64::from(marks.max(1)) / scale.size) * scale.size;
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let decimals = decimals_of(step / scale.size);
        let marks = steps(low, high, step)
            .map(|value| (value, scale.text(value / scale.size, decimals)))
            .collect();
        Self { low, high, marks }
    }

    /// A time axis from 0 to `end` seconds, which it does not go beyond.
    pub(crate) fn of_time(end: f64, marks: u32) -> Self {
        let step = time_step(end / f64::from(marks.max(1)));
        let marks = steps(0.0, end, step).map(|time| (time, time_text(time))).collect();
        Self { low: 0.0, high: end, marks }
    }

    /// Where `value` lies, 0 at the start and 1 at the end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// Numbers with which the arithmetic below stays finite.
fn tame(least: f64, greatest: f64) -> (f64, f64) {
    let tame = |value: f64| match value.abs() {
        1e-290..1e300 => value,
        1e300..f64::INFINITY => 1e300 * value.signum(),
        _ => 0.0,
    };
    (tame(least).min(tame(greatest)), tame(greatest).max(tame(least)))
}

fn around(value: f64) -> (f64, f64) {
    if value == 0.0 { (0.0, 1.0) } else { (value - value.abs() * 0.05, value + value.abs() * 0.05) }
}

/// The marks from `low` to `high`; few, whatever the numbers.
fn steps(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..24u32)
        .map(move |i| low + f64::from(i) * step)
        .take_while(move |value| *value <= high + step * 1e-6)
}

/// The next of 1, 2, 5 times a power of ten.
fn nice(rough: f64) -> f64 {
    if rough <= 0.0 || !rough.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    let leading = rough / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|nice| leading <= nice * 1.000_001).unwrap_or(10.0);
    nice * power
}

fn decimals_of(step: f64) -> usize {
    (0..6)
        .find(|decimals| {
            let scaled = step * 10f64.powi(i32::try_from(*decimals).unwrap_or(0));
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1e-12)
        })
        .unwrap_or(6)
}

/// A unit for the whole axis.
struct Scale {
    size: f64,
    suffix: &'static str,
}

impl Scale {
    fn text(&self, value: f64, decimals: usize) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        if value.abs() >= 1e6 {
            return format!("{value:.1e}{}", self.suffix).replace('-', "\u{2212}");
        }
        format!("{value:.decimals$}{}", self.suffix).replace('-', "\u{2212}")
    }
}

/// From which greatest value on a scale is taken, its size, its unit. A scale begins well above
/// its own size: `0.5, 1.0, 1.5 min` say little, and a thousand is better read in full.
type ScaleFrom = (f64, f64, &'static str);

const BYTES: &[ScaleFrom] = &[
    (2_199_023_255_552.0, 1_099_511_627_776.0, " TiB"),
    (2_147_483_648.0, 1_073_741_824.0, " GiB"),
    (2_097_152.0, 1_048_576.0, " MiB"),
    (2048.0, 1024.0, " KiB"),
    (0.0, 1.0, " B"),
];
const SECONDS: &[ScaleFrom] = &[
    (345_600.0, 86_400.0, " d"),
    (14_400.0, 3600.0, " h"),
    (600.0, 60.0, " min"),
    (2.0, 1.0, " s"),
    (2e-3, 1e-3, " ms"),
    (0.0, 1e-6, " µs"),
];
const SHARES: &[ScaleFrom] = &[(0.0, 0.01, " %")];
const NUMBERS: &[ScaleFrom] =
    &[(2e12, 1e12, " T"), (2e9, 1e9, " G"), (2e6, 1e6, " M"), (2e4, 1e3, " k"), (0.0, 1.0, "")];

fn scale_of(greatest: f64, unit: &Unit) -> Scale {
    let scales = match unit {
        Unit::Bytes => BYTES,
        Unit::Seconds => SECONDS,
        Unit::Ratio => SHARES,
        Unit::Count | Unit::None | Unit::Other(_) => NUMBERS,
    };
    let (_, size, suffix) =
        scales.iter().find(|(from, ..)| greatest >= *from).copied().unwrap_or((0.0, 1.0, ""));
    Scale { size, suffix }
}

fn time_step(rough: f64) -> f64 {
    const ROUND: [f64; 20] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
        10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 432_000.0,
    ];
    if rough < 1.0 {
        return nice(rough);
    }
    ROUND
        .into_iter()
        .find(|step| rough <= *step)
        .unwrap_or_else(|| nice(rough / 86_400.0) * 86_400.0)
}

/// A time in at most two units: `0`, `0.5 s`, `40 s`, `1 min 30 s`, `2 h`, `1 d 6 h`.
pub(crate) fn time_text(time: f64) -> String {
    if time == 0.0 {
        return "0".to_owned();
    }
    if time < 60.0 && time.fract() != 0.0 {
        let decimals = decimals_of((time * 1e6).round() / 1e6);
        return format!("{time:.decimals$} s");
    }
    if time >= 1e11 {
        return format!("{time:.0e} s");
    }
    let total = time.round();
    let parts = [
        (total / 86_400.0, " d"),
        (total % 86_400.0 / 3600.0, " h"),
        (total % 3600.0 / 60.0, " min"),
        (total % 60.0, " s"),
    ];
    let mut shown = parts.into_iter().map(|(count, unit)| (count.trunc(), unit));
    let Some((first, unit)) = shown.find(|(count, _)| *count > 0.0) else {
        return "0".to_owned();
    };
    match shown.next() {
        Some((second, smaller)) if second > 0.0 => format!("{first:.0}{unit} {second:.0}{smaller}"),
        _ => format!("{first:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn marks_of_values_are_round() {
        let axis = |low, high, unit| Axis::of_values(low, high, &unit, 3);
        assert_eq!(texts(&axis(0.0, 3e8, Unit::Bytes)), ["0", "100 MiB", "200 MiB", "300 MiB"]);
        assert_eq!(texts(&axis(0.0, 3.7, Unit::Ratio)), ["0", "200 %", "400 %"]);
        assert_eq!(texts(&axis(5e4, 5.2e4, Unit::Count)), ["50 k", "51 k", "52 k"]);
        assert_eq!(texts(&axis(0.0, 2.5, Unit::Other("cores".into()))), ["0", "1", "2", "3"]);
        assert_eq!(texts(&axis(-1.0, 1.0, Unit::None)), ["−1", "0", "1"]);
        assert_eq!(texts(&axis(0.0, 90.0, Unit::Seconds)), ["0", "50 s", "100 s"]);
        assert_eq!(texts(&axis(118.0, 136.0, Unit::Seconds)), ["110 s", "120 s", "130 s", "140 s"]);
    }

    #[test]
    fn marks_of_time_are_round() {
        assert_eq!(texts(&Axis::of_time(4.2, 6)), ["0", "1 s", "2 s", "3 s", "4 s"]);
        assert_eq!(texts(&Axis::of_time(0.9, 4)), ["0", "0.5 s"]);
        assert_eq!(texts(&Axis::of_time(200.0, 6)), ["0", "1 min", "2 min", "3 min"]);
        assert_eq!(texts(&Axis::of_time(27_817.0, 4)), ["0", "2 h", "4 h", "6 h"]);
        assert_eq!(time_text(90.0), "1 min 30 s");
        assert_eq!(time_text(108_000.0), "1 d 6 h");
    }

    #[test]
    fn any_numbers_make_an_axis() {
        for (low, high) in [
            (0.0, 0.0),
            (5.0, 5.0),
            (-5.0, -5.0),
            (f64::MIN, f64::MAX),
            (f64::NAN, f64::INFINITY),
            (0.0, f64::MIN_POSITIVE),
            (1e300, 1e301),
            (9.0, 1.0),
        ] {
            for unit in [Unit::Bytes, Unit::Seconds, Unit::Ratio, Unit::Count] {
                let axis = Axis::of_values(low, high, &unit, 3);
                assert!(axis.high > axis.low && axis.high.is_finite(), "{low} {high} {axis:?}");
                assert!(axis.marks.len() <= 24 && !axis.marks.is_empty(), "{low} {high} {axis:?}");
                assert!((0.0..=1.0).contains(&axis.place(3.0)));
            }
        }
        for end in [1e-9, 1e300, 3.0] {
            assert!(!Axis::of_time(end, 6).marks.is_empty());
        }
    }
}
