//! The badge: verdict and date of the newest run that may speak for its project.

use serde::Serialize;

use super::LandingOptions;
use crate::analysis::histories::Standing;
use crate::analysis::verdict::{Facts, Word, verdict};
use crate::model::status::Status;
use crate::record::index::Line;
use crate::report::ReportError;
use crate::report::engine::{Engine, Language};
use crate::report::verdict as words;

/// The badge as a drawing, and as an endpoint of shields.io.
pub const BADGE_SVG: &str = "badge.svg";
/// See [`BADGE_SVG`].
pub const BADGE_JSON: &str = "badge.json";

#[derive(Serialize)]
struct BadgeView {
    width: usize,
    wide: usize,
    middle: usize,
    message: String,
    colour: &'static str,
}

/// The badge's files, from runs with the newest first; none where no run may speak.
pub(super) fn badge(
    sorted: &[&Line],
    options: &LandingOptions,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let is_inside =
        |line: &&&Line| Standing::of(line, &options.judging_of(line).rules.events).is_inside();
    let Some(line) = sorted.iter().find(is_inside) else { return Ok(Vec::new()) };
    let (word, colour) = match line.status {
        Status::Succeeded => {
            let is_same = |other: &&Line| (&other.key, &other.job) == (&line.key, &line.job);
            let same: Vec<&Line> = sorted.iter().copied().filter(is_same).collect();
            let said = verdict(&same, line, &Facts::default(), &options.judging_of(line));
            let colour = match said.word {
                Word::Regressed | Word::Mixed => "#bc4c00",
                Word::Improved | Word::Unchanged => "#1a7f37",
                _ => "#59636e",
            };
            (words::title(said.word).to_lowercase(), colour)
        }
        other => (other.words().to_owned(), "#bc4c00"),
    };
    let message = format!("{word}, {}", line.start.strftime("%Y-%m-%d"));
    let json = serde_json::json!({
        "schemaVersion": 1,
        "label": "perftrail",
        "message": message,
        "color": colour.trim_start_matches('#'),
    });
    // A letter of this size is about seven units wide.
    let wide = 14 + 7 * message.chars().count();
    let view = BadgeView { width: 74 + wide, wide, middle: 74 + wide / 2, message, colour };
    let svg = Engine::new(Language::Svg)?.render("badge.svg", &view)?;
    Ok(vec![
        (BADGE_JSON.to_owned(), format!("{json}\n").into_bytes()),
        (BADGE_SVG.to_owned(), svg.into_bytes()),
    ])
}
