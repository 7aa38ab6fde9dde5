//! The place of a run under `runs/`, as a template.

use serde::{Deserialize, Serialize};

/// The default layout.
pub const DEFAULT: &str = "{commit:2}/{commit}/{date}/{run}";
/// What stands for the commit where there is none.
pub const UNCOMMITTED: &str = "uncommitted";
/// Names a layout may hold.
pub const NAMES: &[&str] =
    &["commit", "date", "yyyy", "mm", "dd", "hhmm", "event", "run_number", "job", "tag", "run"];

/// A layout that has been checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Layout {
    text: String,
    folders: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(String),
    /// The commit's first digits.
    CommitStart(usize),
}

/// Why a layout cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Runs would fall on each other.
    #[error("it must hold `{{run}}`, or runs would fall on each other")]
    NoRun,
    /// A placeholder that does not exist.
    #[error("`{{{name}}}` is unknown: {}", super::problem::suggestion(.nearest.as_deref(), &known()))]
    UnknownName {
        /// The name, cut.
        name: String,
        /// The name that looks most like it.
        nearest: Option<String>,
    },
    /// A `{` or `}` that opens or closes nothing.
    #[error("it has a brace that does not belong to a placeholder")]
    LooseBrace,
    /// Not a plain path.
    #[error(
        "it must be a plain relative path: folders of letters, digits, `.`, `_` and `-` or placeholders between `/`, none of them empty or starting with `.`"
    )]
    NotAPath,
    /// Longer than a path may be.
    #[error("it is longer than 200 characters")]
    TooLong,
}

fn known() -> Vec<String> {
    NAMES.iter().map(|name| (*name).to_owned()).collect()
}

/// What a layout is filled with. Everything is made fit for a path on filling.
#[derive(Clone, Debug)]
pub struct Filling<'a> {
    /// The full commit, where there is one.
    pub commit: Option<&'a str>,
    /// The start of the run.
    pub start: jiff::Timestamp,
    /// The event that started it.
    pub event: &'a str,
    /// The service's running number.
    pub run_number: Option<u64>,
    /// The job's name.
    pub job: &'a str,
    /// The tag, where the job has one.
    pub tag: Option<&'a str>,
    /// The run's own name.
    pub run: &'a str,
}

impl Default for Layout {
    fn default() -> Self {
        let part = |part| vec![part];
        Self {
            text: DEFAULT.to_owned(),
            folders: vec![
                part(Part::CommitStart(2)),
                part(Part::Name("commit".to_owned())),
                part(Part::Name("date".to_owned())),
                part(Part::Name("run".to_owned())),
            ],
        }
    }
}

impl Layout {
    /// Reads and checks a layout.
    ///
    /// # Errors
    /// When it is no plain relative path, holds an unknown placeholder, or lacks `{run}`.
    pub fn parse(text: &str) -> Result<Self, LayoutError> {
        if text.len() > 200 {
            return Err(LayoutError::TooLong);
        }
        let folders = text.split('/').map(folder).collect::<Result<Vec<_>, _>>()?;
        if !folders.iter().flatten().any(|part| *part == Part::Name("run".to_owned())) {
            return Err(LayoutError::NoRun);
        }
        Ok(Self { text: text.to_owned(), folders })
    }

    /// The layout as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The run's folder, `runs/…`. Without a commit, the folders that hold nothing but the commit
    /// become one named `uncommitted`.
    pub fn path(&self, filling: &Filling<'_>) -> String {
        let mut path = "runs".to_owned();
        let mut said_uncommitted = false;
        for folder in &self.folders {
            let only_commit = folder.iter().all(Part::is_commit);
            if only_commit && filling.commit.is_none() {
                if !std::mem::replace(&mut said_uncommitted, true) {
                    path = format!("{path}/{UNCOMMITTED}");
                }
                continue;
            }
            let name: String = folder.iter().map(|part| part.fill(filling)).collect();
            path = format!("{path}/{}", fit(&name));
        }
        path
    }
}

impl Part {
    fn is_commit(&self) -> bool {
        matches!(self, Self::CommitStart(_)) || *self == Self::Name("commit".to_owned())
    }

    fn fill(&self, filling: &Filling<'_>) -> String {
        let time = |format: &str| filling.start.strftime(format).to_string();
        match self {
            Self::Text(text) => text.clone(),
            Self::CommitStart(digits) => {
                filling.commit.unwrap_or(UNCOMMITTED).chars().take(*digits).collect()
            }
            Self::Name(name) => match name.as_str() {
                "commit" => filling.commit.unwrap_or(UNCOMMITTED).to_owned(),
                "date" => time("%Y-%m-%d"),
                "yyyy" => time("%Y"),
                "mm" => time("%m"),
                "dd" => time("%d"),
                "hhmm" => time("%H%M"),
                "event" => filling.event.to_owned(),
                "run_number" => {
                    filling.run_number.map_or_else(|| "0".to_owned(), |n| n.to_string())
                }
                "job" => filling.job.to_owned(),
                "tag" => filling.tag.unwrap_or("untagged").to_owned(),
                _ => filling.run.to_owned(),
            },
        }
    }
}

/// A fit name of a folder: what a path cannot hold everywhere becomes `_`.
fn fit(name: &str) -> String {
    let mut name: String =
        name.chars().map(|c| if is_fit(c) { c } else { '_' }).take(200).collect();
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    // A dot at the end is dropped by some systems.
    if name.ends_with('.') {
        name.pop();
        name.push('_');
    }
    name
}

fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

fn folder(text: &str) -> Result<Vec<Part>, LayoutError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('{') {
            let end = inner.find('}').ok_or(LayoutError::LooseBrace)?;
            parts.push(placeholder(&inner[..end])?);
            rest = &inner[end + 1..];
        } else {
            let end = rest.find('{').unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            if plain.contains('}') {
                return Err(LayoutError::LooseBrace);
            }
            if !plain.chars().all(is_fit) || (parts.is_empty() && plain.starts_with('.')) {
                return Err(LayoutError::NotAPath);
            }
            parts.push(Part::Text(plain.to_owned()));
            rest = after;
        }
    }
    if parts.is_empty() { Err(LayoutError::NotAPath) } else { Ok(parts) }
}

fn placeholder(name: &str) -> Result<Part, LayoutError> {
    if let Some(digits) = name.strip_prefix("commit:") {
        let digits = digits.parse().ok().filter(|digits| (1..=40).contains(digits));
        return digits.map(Part::CommitStart).ok_or_else(|| unknown(name));
    }
    if NAMES.contains(&name) { Ok(Part::Name(name.to_owned())) } else { Err(unknown(name)) }
}

fn unknown(name: &str) -> LayoutError {
    LayoutError::UnknownName {
        name: super::problem::shown(name),
        nearest: super::problem::nearest(name, NAMES.iter().copied()).map(str::to_owned),
    }
}

impl TryFrom<String> for Layout {
    type Error = LayoutError;

    fn try_from(text: String) -> Result<Self, LayoutError> {
        Self::parse(&text)
    }
}

impl From<Layout> for String {
    fn from(layout: Layout) -> Self {
        layout.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(commit: Option<&str>) -> Filling<'_> {
        Filling {
            commit,
            start: "2026-11-30T23:59:58Z".parse().expect("a time"),
            event: "schedule",
            run_number: Some(1361),
            job: "sim",
            tag: Some("../../50000 5"),
            run: "schedule-99-1-sim",
        }
    }

    #[test]
    fn the_default_is_what_its_text_says() {
        assert_eq!(Layout::parse(DEFAULT), Ok(Layout::default()));
        let sha = "ab".repeat(20);
        assert_eq!(
            Layout::default().path(&filling(Some(&sha))),
            format!("runs/ab/{sha}/2026-11-30/schedule-99-1-sim")
        );
        assert_eq!(
            Layout::default().path(&filling(None)),
            "runs/uncommitted/2026-11-30/schedule-99-1-sim"
        );
    }

    #[test]
    fn a_layout_of_ones_own() {
        let layout =
            Layout::parse("{job}/{yyyy}/{mm}/{dd}/{hhmm}/{event}_{run_number}-{tag}-{run}");
        assert_eq!(
            layout.expect("a layout").path(&filling(None)),
            "runs/sim/2026/11/30/2359/schedule_1361-.._.._50000_5-schedule-99-1-sim"
        );
        let layout = Layout::parse("{tag}/{run}").expect("a layout");
        assert_eq!(layout.path(&filling(None)), "runs/_.._.._50000_5/schedule-99-1-sim");
    }

    #[test]
    fn layouts_that_cannot_be_used() {
        for (text, error) in [
            ("{commit}", LayoutError::NoRun),
            ("", LayoutError::NotAPath),
            ("/{run}", LayoutError::NotAPath),
            ("a//{run}", LayoutError::NotAPath),
            ("../{run}", LayoutError::NotAPath),
            (".git/{run}", LayoutError::NotAPath),
            ("a\\b/{run}", LayoutError::NotAPath),
            ("a}/{run}", LayoutError::LooseBrace),
            ("{run", LayoutError::LooseBrace),
            ("{run}/{commit:0}", unknown("commit:0")),
            (&"x".repeat(1_000_000), LayoutError::TooLong),
        ] {
            assert_eq!(Layout::parse(text), Err(error), "{}", &text[..text.len().min(40)]);
        }
        let message = Layout::parse("{comit}/{run}").unwrap_err().to_string();
        assert_eq!(message, "`{comit}` is unknown: did you mean `commit`?");
    }
}
