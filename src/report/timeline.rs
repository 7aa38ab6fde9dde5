//! What happened when: the series and phases of a run on one time axis, thinned for drawing.
//!
//! Series may hold anything: points out of order or not finite are left out here, once.

use crate::model::metric::Unit;
use crate::record::series::{Series, SeriesFile, SeriesSource};
use crate::record::{Phase, Record, Step};

use super::plain;

/// Most series that are drawn; more of them are listed only.
const PANELS_MAX: usize = 12;
/// Most points of a drawn series, and of all of them together: the page must stay small.
const POINTS_MAX: usize = 400;
const POINTS_OF_ALL_MAX: usize = 3000;
/// Up to so many points are drawn as dots too: a line alone hides how few were seen.
const DOTS_MAX: usize = 60;
/// Longest heading of a panel, in characters: it shares its line with a value.
const LABEL_MAX: usize = 32;
/// Most phases that are drawn, the longest of them.
const BANDS_MAX: usize = 300;
/// Most phases that are drawn above each other.
const LANES_MAX: usize = 6;

/// Everything that is drawn over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// The end of the time axis in seconds; it begins at 0.
    pub(crate) end: f64,
    /// The phases.
    pub(crate) bands: Vec<Band>,
    /// How many lanes the phases need.
    pub(crate) lanes: usize,
    /// Series with times, in order of drawing.
    pub(crate) panels: Vec<Panel>,
    /// Series without times, by their own x.
    pub(crate) untimed: Vec<Panel>,
    /// Series that are not drawn.
    pub(crate) left_out: usize,
}

/// A phase to draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    pub(crate) name: String,
    pub(crate) begin: f64,
    /// Where it ends on the axis.
    pub(crate) end: f64,
    /// Whether the job ended it.
    pub(crate) ended: bool,
    /// Its row, from above.
    pub(crate) lane: usize,
}

/// A series to draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) source: SeriesSource,
    /// Seconds, or the point's number for a series without times.
    pub(crate) x: Vec<f64>,
    pub(crate) middle: Vec<f64>,
    /// Empty where no point stands for more than one value.
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
    /// The job's own x: its name, first and last value. Empty texts where there are none.
    pub(crate) own_x: [String; 3],
}

impl Timeline {
    pub(crate) fn new(record: &Record, file: &SeriesFile) -> Self {
        let mut sorted: Vec<&Series> = file.series.iter().collect();
        sorted.sort_by_key(|series| rank(series));
        let mut timed: Vec<Panel> = Vec::new();
        let mut untimed: Vec<Panel> = Vec::new();
        let mut left_out = 0;
        let drawn = sorted.len().clamp(1, PANELS_MAX);
        let most = (POINTS_OF_ALL_MAX / drawn).min(POINTS_MAX);
        for series in sorted {
            if timed.len() + untimed.len() >= PANELS_MAX {
                left_out += 1;
                continue;
            }
            let panel = Panel::new(series, most);
            match (panel.x.len(), series.t.is_empty()) {
                (0, _) => left_out += 1,
                (_, true) => untimed.push(panel),
                (_, false) => timed.push(panel),
            }
        }
        let phases = record.phases.iter().filter_map(Span::of_phase);
        let spans: Vec<Span<'_>> = step_spans(&record.steps).chain(phases).collect();
        let end = end_of(&timed, &spans);
        let (bands, lanes) = bands(&spans, end);
        Self { end, bands, lanes, panels: timed, untimed, left_out }
    }

    /// Whether there is anything to draw on the time axis.
    pub(crate) fn is_empty(&self) -> bool {
        self.panels.is_empty() && self.bands.is_empty()
    }
}

/// Memory and CPU first, then what the job reported, then what else was sampled.
fn rank(series: &Series) -> u8 {
    match (series.source, series.name.as_str()) {
        (SeriesSource::Sampled, "memory") => 0,
        (SeriesSource::Sampled, "memory_pss") => 1,
        (SeriesSource::Sampled, "cpu") => 2,
        (SeriesSource::Reported, _) => 3,
        (SeriesSource::Sampled, _) => 4,
    }
}

fn end_of(panels: &[Panel], spans: &[Span<'_>]) -> f64 {
    let points = panels.iter().filter_map(|panel| panel.x.last().copied());
    let spans = spans.iter().map(|span| span.end.unwrap_or(span.begin));
    let end = points.chain(spans).filter(|end| end.is_finite()).fold(0.0, f64::max);
    if end > 0.0 { end } else { 1.0 }
}

/// A named stretch before it is placed.
struct Span<'a> {
    name: &'a str,
    begin: f64,
    end: Option<f64>,
}

impl<'a> Span<'a> {
    /// `None` for a phase of which only the length is known: it has no place on the axis.
    fn of_phase(phase: &'a Phase) -> Option<Self> {
        Some(Self { name: &phase.name, begin: phase.begin?, end: phase.end })
    }
}

/// The steps of the last repetition, where there are several: they follow each other, so their
/// durations say where each lies. One without a duration ends the list.
fn step_spans(steps: &[Step]) -> impl Iterator<Item = Span<'_>> {
    let several = if steps.len() > 1 { steps } else { &[] };
    let mut begin = 0.0;
    several.iter().map_while(move |step| {
        let took = step.metrics.get("duration")?.repetitions.last().copied()?;
        let span = Span { name: &step.name, begin, end: Some(begin + took) };
        begin += took;
        (took.is_finite() && took >= 0.0).then_some(span)
    })
}

/// Each stretch in the first lane that is free when it begins.
fn bands(spans: &[Span<'_>], axis_end: f64) -> (Vec<Band>, usize) {
    let mut all: Vec<Band> = spans
        .iter()
        .map(|span| {
            let end = span.end.unwrap_or(axis_end).max(0.0).min(axis_end);
            Band {
                name: plain::name(span.name),
                begin: span.begin.max(0.0).min(end),
                end,
                ended: span.end.is_some(),
                lane: 0,
            }
        })
        .collect();
    if all.len() > BANDS_MAX {
        all.sort_by(|a, b| (b.end - b.begin).total_cmp(&(a.end - a.begin)));
        all.truncate(BANDS_MAX);
    }
    // Of two that begin together the longer one stands above: it holds the other.
    all.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.end.total_cmp(&a.end)));
    let mut free_from: Vec<f64> = Vec::new();
    let mut drawn = Vec::with_capacity(all.len());
    for mut band in all {
        let lane = match free_from.iter().position(|free| *free <= band.begin) {
            Some(lane) => lane,
            None if free_from.len() < LANES_MAX => {
                free_from.push(0.0);
                free_from.len() - 1
            }
            None => continue,
        };
        free_from[lane] = band.end;
        band.lane = lane;
        drawn.push(band);
    }
    (drawn, free_from.len())
}

/// One point before thinning: x, value, least, greatest.
type Point = (f64, f64, f64, f64);

impl Panel {
    fn new(series: &Series, most: usize) -> Self {
        let points = thinned(&points(series), most);
        let spans = points.iter().any(|(_, value, low, high)| low < value || high > value);
        let own_x = match (&series.x_name, series.x.first(), series.x.last()) {
            (name, Some(first), Some(last)) => [
                plain::line(name.as_deref().unwrap_or("x"), 40),
                plain::line(first, 24),
                plain::line(last, 24),
            ],
            _ => [String::new(), String::new(), String::new()],
        };
        Self {
            name: plain::name(&series.name),
            unit: series.unit.clone(),
            source: series.source,
            x: points.iter().map(|point| point.0).collect(),
            middle: points.iter().map(|point| point.1).collect(),
            low: if spans { points.iter().map(|point| point.2).collect() } else { Vec::new() },
            high: if spans { points.iter().map(|point| point.3).collect() } else { Vec::new() },
            own_x,
        }
    }

    /// Words for its heading.
    pub(crate) fn label(&self) -> String {
        match (self.source, self.name.as_str()) {
            // Pages that processes share count once for each in the first, once in the second.
            (SeriesSource::Sampled, "memory") => "Memory, sum of RSS".to_owned(),
            (SeriesSource::Sampled, "memory_pss") => "Memory, PSS".to_owned(),
            (SeriesSource::Sampled, "cpu") => "CPU".to_owned(),
            (SeriesSource::Sampled, "processes") => "Processes".to_owned(),
            (SeriesSource::Sampled, "threads") => "Threads".to_owned(),
            _ => plain::line(&self.name, LABEL_MAX),
        }
    }

    /// Whether its points are drawn as dots too.
    pub(crate) fn is_sparse(&self) -> bool {
        self.x.len() <= DOTS_MAX
    }

    /// The least and the greatest value that is drawn.
    pub(crate) fn range(&self) -> (f64, f64) {
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (
            least(&self.middle).min(least(&self.low)),
            greatest(&self.middle).max(greatest(&self.high)),
        )
    }
}

/// The usable points: finite, in order of time, as many as all lists have.
fn points(series: &Series) -> Vec<Point> {
    let times = &series.t;
    let mut last = f64::NEG_INFINITY;
    series
        .value
        .iter()
        .enumerate()
        .filter_map(|(i, value)| {
            let x = if times.is_empty() { i as f64 } else { *times.get(i)? };
            let low = series.min.get(i).copied().unwrap_or(*value);
            let high = series.max.get(i).copied().unwrap_or(*value);
            let usable = [x, *value, low, high].iter().all(|number| number.is_finite())
                && x >= last
                && x >= 0.0;
            usable.then(|| {
                last = x;
                (x, *value, low.min(*value), high.max(*value))
            })
        })
        .collect()
}

/// At most `max` points: neighbours become one, with their mean and their outermost values.
fn thinned(points: &[Point], max: usize) -> Vec<Point> {
    if points.len() <= max {
        return points.to_vec();
    }
    let size = points.len().div_ceil(max);
    points
        .chunks(size)
        .map(|chunk| {
            let n = chunk.len() as f64;
            let mean = |of: fn(&Point) -> f64| chunk.iter().map(|point| of(point) / n).sum();
            let low = chunk.iter().map(|point| point.2).fold(f64::INFINITY, f64::min);
            let high = chunk.iter().map(|point| point.3).fold(f64::NEG_INFINITY, f64::max);
            (mean(|point| point.0), mean(|point| point.1), low, high)
        })
        .collect()
}

/// A series as a line of text: eight heights from its least to its greatest value.
pub(crate) fn spark(values: &[f64], width: usize) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let finite: Vec<Point> = values
        .iter()
        .filter(|value| value.is_finite())
        .map(|value| (0.0, *value, *value, *value))
        .collect();
    let means: Vec<f64> = thinned(&finite, width).iter().map(|point| point.1).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: f64| {
        let share = (value / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0);
        SIGNS.iter().enumerate().fold(SIGNS[0], |sign, (i, higher)| {
            if share * 7.0 + 0.5 >= i as f64 { *higher } else { sign }
        })
    };
    means.iter().map(|value| if greatest > least { height(*value) } else { SIGNS[3] }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn phase(name: &str, begin: f64, end: Option<f64>) -> Phase {
        Phase {
            name: name.into(),
            step: "sim".into(),
            begin: Some(begin),
            end,
            metrics: BTreeMap::new(),
        }
    }

    #[test]
    fn nested_phases_lie_below_each_other() {
        let phases = [
            phase("inner", 1.0, Some(2.0)),
            phase("outer", 1.0, Some(5.0)),
            phase("after", 5.0, None),
        ];
        let (bands, lanes) =
            bands(&phases.iter().filter_map(Span::of_phase).collect::<Vec<_>>(), 9.0);
        let placed: Vec<(&str, usize, f64, bool)> =
            bands.iter().map(|b| (b.name.as_str(), b.lane, b.end, b.ended)).collect();
        assert_eq!(lanes, 2);
        assert_eq!(
            placed,
            [("outer", 0, 5.0, true), ("inner", 1, 2.0, true), ("after", 0, 9.0, false)]
        );
    }

    #[test]
    fn many_phases_have_an_end() {
        let phases: Vec<Phase> = (0..10_000).map(|i| phase("p", 0.0, Some(f64::from(i)))).collect();
        let (bands, lanes) =
            bands(&phases.iter().filter_map(Span::of_phase).collect::<Vec<_>>(), 10_000.0);
        assert!(bands.len() <= BANDS_MAX && lanes <= LANES_MAX);
    }

    #[test]
    fn odd_points_are_left_out() {
        let series = Series {
            name: "s".into(),
            unit: Unit::None,
            source: SeriesSource::Reported,
            x_name: None,
            t: vec![0.0, 2.0, 1.0, f64::NAN, 3.0],
            x: Vec::new(),
            value: vec![1.0, 2.0, 9.0, 9.0, f64::INFINITY, 7.0],
            min: Vec::new(),
            max: Vec::new(),
        };
        assert_eq!(Panel::new(&series, 400).middle, [1.0, 2.0]);
    }

    #[test]
    fn thinning_keeps_the_outermost_values() {
        let points: Vec<Point> = (0..10_000)
            .map(|i| (f64::from(i), if i == 77 { 1e9 } else { 1.0 }, 1.0, 1.0))
            .collect();
        let points: Vec<Point> =
            points.iter().map(|(x, v, low, high)| (*x, *v, low.min(*v), high.max(*v))).collect();
        let thin = thinned(&points, 400);
        assert!(thin.len() <= 400);
        let (highest, lowest) = (1e9, 1.0);
        assert!(thin.iter().any(|point| (point.3 - highest).abs() < 1.0));
        assert!(thin.iter().all(|point| (point.2 - lowest).abs() < 1e-9));
    }

    #[test]
    fn sparks() {
        assert_eq!(spark(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 24), "▁▂▃▄▅▆▇█");
        assert_eq!(spark(&[5.0, 5.0], 24), "▄▄");
        assert_eq!(spark(&[], 24), "");
        assert_eq!(spark(&[f64::MIN, f64::MAX, f64::NAN], 24), "▁█");
        assert_eq!(spark(&vec![1.0; 1000], 24).chars().count(), 24);
    }
}
