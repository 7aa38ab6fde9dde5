//! Turns records and index lines into what people read: the page, its Markdown twin, the table in
//! the terminal, the landing page of a results repository.
//!
//! Everything here is pure. A record is turned into a view first (`view`): flat structs of text
//! that is already formatted, in which absence is a variant with its reason. Templates hold
//! layout only. All text in a record may come from a job and is hostile: `plain` makes it visible
//! and short, `escape` makes it inert in each output language.

pub mod against;
pub mod answer;
mod axis;
mod call_tree;
mod chart;
pub mod comment;
mod csp;
mod engine;
mod escape;
pub mod history;
pub mod landing;
mod link;
mod markdown;
mod page;
pub(crate) mod plain;
pub mod summary;
pub mod terminal;
mod timeline;
mod trend;
pub mod verdict;
mod view;

use crate::analysis::verdict::RunVerdict;
use crate::profile::model::Profile;
use crate::record::index::Line;
use crate::record::series::SeriesFile;
use crate::record::{Record, layout};

/// What the pages of one run are made from.
#[derive(Clone, Copy, Debug)]
pub struct RunPageInput<'a> {
    /// The run.
    pub record: &'a Record,
    /// Its numbers over time.
    pub series: &'a SeriesFile,
    /// The end of its output.
    pub log_tail: LogTail<'a>,
    /// What its values are set beside.
    pub earlier: EarlierRun<'a>,
    /// What can be said of its numbers.
    pub verdict: Said<'a>,
    /// Where its pages will stand.
    pub place: PagePlace<'a>,
    /// Its profiles; none where there are none, or they cannot be read.
    pub profiles: &'a [Profile],
}

/// The end of a job's output.
#[derive(Clone, Copy, Debug)]
pub enum LogTail<'a> {
    /// Text as the job wrote it, secrets replaced. Only its end is shown.
    Text(&'a str),
    /// There is none, for this reason (`the log is not published`).
    Absent(&'a str),
}

/// The newest earlier run that may be compared.
#[derive(Clone, Copy, Debug)]
pub enum EarlierRun<'a> {
    /// Its line in the index.
    Found(&'a Line),
    /// There is none, for this reason (`this is the first run of its history`).
    Absent(&'a str),
}

/// What can be said of a run's numbers.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// It was judged.
    Verdict(&'a RunVerdict),
    /// It was not, for this reason (`the run is not published`).
    Nothing(&'a str),
}

/// How the key of an `extra` begins that names a page in the results repository, by its path from
/// the root.
pub const IN_RESULTS: &str = "in_results:";

/// Where the pages of a run stand, which decides what they can link to.
#[derive(Clone, Copy, Debug)]
pub enum PagePlace<'a> {
    /// In the bundle on disk.
    Bundle,
    /// In a results repository, in the run folder of this path from the repository's root.
    Results(&'a str),
}

/// Why something could not be rendered. Each is a defect of perftrail's own, not of the record.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A template is not well-formed.
    #[error("a template could not be parsed")]
    Parse {
        /// What the engine says.
        source: Box<tera::Error>,
    },
    /// A template names a value that its view lacks.
    #[error("template {template} could not be filled")]
    Render {
        /// The template.
        template: &'static str,
        /// What the engine says.
        source: Box<tera::Error>,
    },
    /// A view could not be handed to a template.
    #[error("the view for template {template} is not serialisable")]
    View {
        /// The template.
        template: &'static str,
        /// What the serialiser says.
        source: serde_json::Error,
    },
    /// A view holds an absence without a reason.
    #[error("the view for template {template} has no value at {place}")]
    Absent {
        /// The template.
        template: &'static str,
        /// Where in the view.
        place: String,
    },
}

/// The run's page, self-contained HTML.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn html_page(input: &RunPageInput<'_>) -> Result<Vec<u8>, ReportError> {
    Ok(page::render(&view::RunView::new(input), input.profiles)?.into_bytes())
}

/// The same as Markdown.
///
/// # Errors
/// As [`html_page`].
pub fn markdown_page(input: &RunPageInput<'_>) -> Result<Vec<u8>, ReportError> {
    Ok(markdown::render(&view::RunView::new(input), false)?.into_bytes())
}

/// The pages of a run's folder: path in the folder and content of `README.md`, `report.html` and,
/// where there is a call tree, its drawing.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn run_pages(input: &RunPageInput<'_>) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let view = view::RunView::new(input);
    let drawing = call_tree::file(input.profiles)?;
    let readme = markdown::render(&view, drawing.is_some())?;
    let mut pages = vec![
        (layout::README_FILE.to_owned(), readme.into_bytes()),
        (layout::PAGE_FILE.to_owned(), page::render(&view, input.profiles)?.into_bytes()),
    ];
    if let Some(drawing) = drawing {
        pages.push((layout::CALL_TREE_FILE.to_owned(), drawing.into_bytes()));
    }
    Ok(pages)
}
