//! `report.html`: one file that needs nothing else, works from disk and without its script.
//!
//! Style and script are the same bytes in every report, so a results repository stores them once.

use serde::Serialize;

use super::call_tree::{self, CallTrees};
use super::engine::{Engine, Language};
use super::timeline::{Panel, Timeline};
use super::view::{RunView, UNIT_MAX};
use super::{ReportError, chart, csp, escape, plain};
use crate::profile::model::Profile;

/// The page's style, whole.
const STYLE: &str = include_str!("../../templates/page/report.css");
/// Call trees are made small until the page of an ordinary run is no larger.
const PAGE_MAX: usize = 192_000;
/// The page's script, whole.
const SCRIPT: &str = concat!(
    include_str!("../../templates/page/report.js"),
    include_str!("../../templates/page/profile.js")
);

#[derive(Serialize)]
struct PageView<'a> {
    style: &'static str,
    script: &'static str,
    policy: String,
    json: String,
    figure: Figure,
    calls: CallTrees,
    /// Drawings of series without times.
    figures: Vec<String>,
    view: &'a RunView,
}

/// The drawing of what happened when.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Figure {
    Drawn { svg: String },
    Nothing,
}

/// The whole page.
pub(crate) fn render(view: &RunView, profiles: &[Profile]) -> Result<String, ReportError> {
    let svg = Engine::new(Language::Svg)?;
    let timeline = &view.timeline;
    let figure = if timeline.is_empty() {
        Figure::Nothing
    } else {
        Figure::Drawn { svg: chart::of_time(timeline, &svg)? }
    };
    let untimed = timeline.untimed.iter();
    let figures: Result<_, _> = untimed.map(|panel| chart::of_own_x(panel, &svg)).collect();
    let mut page = PageView {
        style: STYLE,
        script: SCRIPT,
        policy: csp::policy(STYLE, SCRIPT),
        json: json(timeline)?,
        figure,
        calls: CallTrees::Nothing,
        figures: figures?,
        view,
    };
    let engine = Engine::new(Language::Html)?;
    let text = engine.render("report.html", &page)?;
    if profiles.is_empty() {
        return Ok(text);
    }
    page.calls = call_tree::of_page(profiles, PAGE_MAX.saturating_sub(text.len()))?;
    engine.render("report.html", &page)
}

/// What the script draws.
#[derive(Serialize)]
struct Drawing<'a> {
    end: f64,
    lanes: usize,
    bands: Vec<DrawnBand<'a>>,
    /// Lists of times that series share.
    times: Vec<Vec<f64>>,
    panels: Vec<DrawnPanel>,
}

#[derive(Serialize)]
struct DrawnBand<'a> {
    name: &'a str,
    begin: f64,
    end: f64,
    ended: bool,
    lane: usize,
}

#[derive(Serialize)]
struct DrawnPanel {
    label: String,
    unit: String,
    /// Which of the lists of times.
    times: usize,
    middle: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Whether points are drawn as dots too.
    dots: bool,
}

fn json(timeline: &Timeline) -> Result<String, ReportError> {
    let mut times: Vec<Vec<f64>> = Vec::new();
    let panels = timeline.panels.iter().map(|panel| drawn(panel, &mut times)).collect();
    let bands = timeline
        .bands
        .iter()
        .map(|band| DrawnBand {
            name: &band.name,
            begin: rounded(band.begin),
            end: rounded(band.end),
            ended: band.ended,
            lane: band.lane,
        })
        .collect();
    let drawing = Drawing { end: timeline.end, lanes: timeline.lanes, bands, times, panels };
    serde_json::to_string(&drawing)
        .map(|json| escape::json_in_html(&json))
        .map_err(|source| ReportError::View { template: "report.html", source })
}

fn drawn(panel: &Panel, times: &mut Vec<Vec<f64>>) -> DrawnPanel {
    let own: Vec<f64> = panel.x.iter().copied().map(rounded).collect();
    let known = times.iter().position(|list| *list == own).unwrap_or_else(|| {
        times.push(own);
        times.len() - 1
    });
    let short = |values: &[f64]| values.iter().copied().map(rounded).collect();
    DrawnPanel {
        label: panel.label(),
        unit: plain::line(panel.unit.as_str(), UNIT_MAX),
        times: known,
        middle: short(&panel.middle),
        low: short(&panel.low),
        high: short(&panel.high),
        dots: panel.is_sparse(),
    }
}

/// Five significant digits: more cannot be drawn.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
