//! A history as Markdown.

use serde::Serialize;

use super::HistoryInput;
use super::words::{sentences, size};
use crate::model::quantity::human;
use crate::report::ReportError;
use crate::report::engine::{Engine, Language};

#[derive(Serialize)]
struct View {
    title: String,
    sentences: Vec<String>,
    levels: Vec<LevelView>,
}

#[derive(Serialize)]
struct LevelView {
    from: String,
    to: String,
    points: usize,
    level: String,
    change: String,
    state: String,
}

/// The history as Markdown: its levels as a table, and what was found as a list.
///
/// # Errors
/// [`ReportError`], when the template does not fit its view.
pub fn markdown(input: &HistoryInput) -> Result<String, ReportError> {
    let found = &input.judgement;
    let levels = found.levels.iter().map(|level| {
        let change = found.change_points.iter().find(|change| change.index == level.from);
        LevelView {
            from: input.name_of(level.from),
            to: input.name_of(level.to),
            points: level.points,
            level: human(level.value, &input.unit),
            change: change.map_or_else(String::new, |change| size(change, &input.unit)),
            state: change.map_or_else(String::new, |change| change.state.word().to_owned()),
        }
    });
    let view = View { title: input.title(), sentences: sentences(input), levels: levels.collect() };
    let text = Engine::new(Language::Markdown)?.render("history.md", &view)?;
    Ok(format!("{}\n", text.trim_end()))
}
