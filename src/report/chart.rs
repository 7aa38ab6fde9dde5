//! The timeline as a drawing that needs no script: one panel for each series, phases as bands,
//! one time axis below all of them.
//!
//! The page's script draws the same again to the width of the window, with the same numbers.

use std::fmt::Write as _;

use serde::Serialize;

use super::axis::{Axis, time_text};
use super::engine::Engine;
use super::timeline::{Band, Panel, Timeline};
use super::view::amount;
use super::{ReportError, plain};

/// Width of a drawing.
const WIDTH: f64 = 1104.0;
/// Where the plots begin and end.
const LEFT: f64 = 76.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Height of a lane of phases, gap included.
const LANE: f64 = 20.0;
/// Heading above each plot.
const HEADING: f64 = 24.0;
/// Height of a plot.
const PLOT: f64 = 92.0;
/// Space between a plot and the next heading.
const GAP: f64 = 10.0;
/// Space for the marks of the time axis.
const FOOT: f64 = 26.0;
/// About the width of a character of a phase's name.
const CHARACTER: f64 = 6.6;

#[derive(Serialize)]
struct ChartView {
    id: &'static str,
    width: String,
    height: String,
    title: &'static str,
    description: String,
    left: String,
    right: String,
    lanes: Vec<BandView>,
    panels: Vec<PanelView>,
    marks: Vec<MarkView>,
    /// Where the vertical lines of the marks begin and end.
    top: String,
    bottom: String,
    foot: String,
}

#[derive(Serialize)]
struct BandView {
    x: String,
    y: String,
    width: String,
    shade_top: String,
    shade_height: String,
    parity: &'static str,
    /// Whether it also shades the plots: bands of the first lane do.
    shades: bool,
    label_x: String,
    label_y: String,
    /// Cut to the band's width; a band too narrow for letters has none.
    label: String,
    title: String,
}

#[derive(Serialize)]
struct PanelView {
    label: String,
    note: String,
    heading_y: String,
    colour: usize,
    rows: Vec<MarkView>,
    area: String,
    line: String,
    dots: String,
}

#[derive(Serialize)]
struct MarkView {
    at: String,
    text: String,
    text_at: String,
    /// Which end of the text stands at the mark.
    anchor: &'static str,
}

/// Pixels with one decimal.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The series with times, under the phases.
pub(crate) fn of_time(timeline: &Timeline, engine: &Engine) -> Result<String, ReportError> {
    let axis = Axis::of_time(timeline.end, 8);
    let lanes = timeline.lanes as f64 * LANE;
    let marks = axis.marks.iter().map(|(time, text)| mark(x_of(&axis, *time), text)).collect();
    let view = ChartView {
        marks,
        description: description(timeline),
        ..frame("timeline", "Memory, CPU and series over time", &axis, &timeline.panels, lanes)
    };
    let bottom = lanes + timeline.panels.len() as f64 * (HEADING + PLOT + GAP);
    let bands = timeline.bands.iter().enumerate();
    let lanes = bands.map(|(i, band)| band_view(i, band, &axis, lanes, bottom)).collect();
    engine.render("timeline.svg", &ChartView { lanes, ..view })
}

/// A series without times, over its own x.
pub(crate) fn of_own_x(panel: &Panel, engine: &Engine) -> Result<String, ReportError> {
    let end = (panel.x.last().copied().unwrap_or(0.0)).max(1.0);
    let axis = Axis { low: 0.0, high: end, marks: Vec::new() };
    let [name, first, last] = &panel.own_x;
    let marks = if name.is_empty() {
        vec![mark(LEFT, "first"), mark(RIGHT, "last")]
    } else {
        vec![mark(LEFT, &format!("{name} {first}")), mark(RIGHT, last)]
    };
    let view = ChartView {
        marks,
        description: panel_words(panel),
        ..frame("series", "A series over its own x", &axis, std::slice::from_ref(panel), 0.0)
    };
    engine.render("timeline.svg", &view)
}

fn frame(
    id: &'static str,
    title: &'static str,
    axis: &Axis,
    panels: &[Panel],
    top: f64,
) -> ChartView {
    let bottom = top + panels.len() as f64 * (HEADING + PLOT + GAP);
    ChartView {
        id,
        width: px(WIDTH),
        height: px(bottom + FOOT),
        title,
        description: String::new(),
        left: px(LEFT),
        right: px(RIGHT),
        lanes: Vec::new(),
        panels: panels
            .iter()
            .enumerate()
            .map(|(i, panel)| panel_view(i, panel, axis, top + i as f64 * (HEADING + PLOT + GAP)))
            .collect(),
        marks: Vec::new(),
        top: px(top),
        bottom: px(bottom),
        foot: px(bottom + 16.0),
    }
}

fn x_of(axis: &Axis, value: f64) -> f64 {
    LEFT + axis.place(value) * (RIGHT - LEFT)
}

/// A mark of the axis below the plots.
fn mark(at: f64, text: &str) -> MarkView {
    let anchor = match at {
        at if at > RIGHT - 30.0 => "end",
        at if at < LEFT + 30.0 && text.len() > 3 => "start",
        _ => "middle",
    };
    MarkView { at: px(at), text: text.to_owned(), text_at: px(at), anchor }
}

/// A mark of the axis left of a plot.
fn row(at: f64, text: &str) -> MarkView {
    MarkView { at: px(at), text: text.to_owned(), text_at: px(at + 4.0), anchor: "end" }
}

fn band_view(i: usize, band: &Band, axis: &Axis, top: f64, bottom: f64) -> BandView {
    let (begin, end) = (x_of(axis, band.begin), x_of(axis, band.end));
    let width = (end - begin).max(1.0);
    let y = band.lane as f64 * LANE;
    BandView {
        x: px(begin),
        y: px(y),
        width: px(width),
        shade_top: px(top),
        shade_height: px((bottom - top).max(0.0)),
        parity: if i.is_multiple_of(2) { "even" } else { "odd" },
        shades: band.lane == 0,
        label_x: px(begin + 5.0),
        label_y: px(y + 13.0),
        label: fitted(&band.name, (width - 8.0) / CHARACTER),
        title: band_words(band),
    }
}

/// As much of a name as `room` characters hold; nothing where that says nothing.
fn fitted(name: &str, room: f64) -> String {
    let length = name.chars().count();
    if room >= length as f64 {
        return name.to_owned();
    }
    let cut: String = name
        .chars()
        .enumerate()
        .take_while(|(i, _)| *i as f64 + 2.0 < room)
        .map(|(_, c)| c)
        .collect();
    if cut.chars().count() < 3 { String::new() } else { format!("{cut}…") }
}

fn band_words(band: &Band) -> String {
    let end = if band.ended { time_text(band.end) } else { "never ended".to_owned() };
    format!("{}: {} to {end}", band.name, time_text(band.begin))
}

fn panel_view(i: usize, panel: &Panel, x_axis: &Axis, top: f64) -> PanelView {
    let (least, greatest) = panel.range();
    let axis = Axis::of_values(least, greatest, &panel.unit, 3);
    let y_of = |value: f64| top + HEADING + (1.0 - axis.place(value)) * PLOT;
    let rows = axis.marks.iter().map(|(value, text)| row(y_of(*value), text)).collect();
    let (mut line, mut area, mut dots) = (String::new(), String::new(), String::new());
    for (i, (x, value)) in panel.x.iter().zip(&panel.middle).enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        let (x, y) = (px(x_of(x_axis, *x)), px(y_of(*value)));
        let _ = write!(line, "{command}{x} {y}");
        if panel.is_sparse() {
            let _ = write!(dots, "M{x} {y}h0");
        }
    }
    let outline = panel.x.iter().zip(&panel.high);
    let back = panel.x.iter().zip(&panel.low).rev();
    for (i, (x, value)) in outline.chain(back).enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        let _ = write!(area, "{command}{} {}", px(x_of(x_axis, *x)), px(y_of(*value)));
    }
    PanelView {
        label: panel.label(),
        note: format!("greatest {}", amount(greatest, &panel.unit)),
        heading_y: px(top + 15.0),
        colour: i % 6,
        rows,
        area,
        line,
        dots,
    }
}

/// The drawing in words, for those who do not see it.
pub(crate) fn description(timeline: &Timeline) -> String {
    let panels: Vec<String> = timeline.panels.iter().map(panel_words).collect();
    let phases: Vec<String> = timeline.bands.iter().take(12).map(band_words).collect();
    let mut words = format!("From 0 to {}.", time_text(timeline.end));
    if !panels.is_empty() {
        let _ = write!(words, " {}.", panels.join(". "));
    }
    if !phases.is_empty() {
        let _ = write!(words, " Phases: {}.", phases.join("; "));
    }
    plain::line(&words, 1500)
}

fn panel_words(panel: &Panel) -> String {
    let (least, greatest) = panel.range();
    let last = panel.middle.last().copied().unwrap_or(least);
    let show = |value| amount(value, &panel.unit);
    format!("{}: {} to {}, {} at the end", panel.label(), show(least), show(greatest), show(last))
}
