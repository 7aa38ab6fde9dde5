//! The template engine: one instance for each output language, each with its own escape function.
//!
//! Templates hold layout only. A value that a template names and the view lacks is an error, and
//! so is a `null` in a view: absence has its words there.

use serde::Serialize;
use serde_json::Value;
use tera::{Context, Tera};

use super::{ReportError, escape};

/// What a template writes, which decides how text is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// A page.
    Html,
    /// A drawing.
    Svg,
    /// What GitHub shows.
    Markdown,
}

type Template = (&'static str, &'static str);

const HTML: &[Template] = &[
    ("parts.html", include_str!("../../templates/page/parts.html")),
    ("report.html", include_str!("../../templates/page/report.html")),
    ("difference.html", include_str!("../../templates/page/difference.html")),
];

const SVG: &[Template] = &[
    ("call-tree.svg", include_str!("../../templates/svg/call-tree.svg")),
    ("timeline.svg", include_str!("../../templates/svg/timeline.svg")),
    ("badge.svg", include_str!("../../templates/svg/badge.svg")),
    ("trend.svg", include_str!("../../templates/svg/trend.svg")),
];

const MARKDOWN: &[Template] = &[
    ("parts.md", include_str!("../../templates/markdown/parts.md")),
    ("intro.md", include_str!("../../templates/markdown/intro.md")),
    ("alert.md", include_str!("../../templates/markdown/alert.md")),
    ("table.md", include_str!("../../templates/markdown/table.md")),
    ("section.md", include_str!("../../templates/markdown/section.md")),
    ("row.md", include_str!("../../templates/markdown/row.md")),
    ("log.md", include_str!("../../templates/markdown/log.md")),
    ("difference.md", include_str!("../../templates/markdown/difference.md")),
    ("history.md", include_str!("../../templates/markdown/history.md")),
    ("job.md", include_str!("../../templates/markdown/job.md")),
    ("landing.md", include_str!("../../templates/markdown/landing.md")),
    ("comment.md", include_str!("../../templates/markdown/comment.md")),
    ("comment_end.md", include_str!("../../templates/markdown/comment_end.md")),
    ("comment_nothing.md", include_str!("../../templates/markdown/comment_nothing.md")),
    ("comment_running.md", include_str!("../../templates/markdown/comment_running.md")),
    ("issue.md", include_str!("../../templates/markdown/issue.md")),
    ("summary.md", include_str!("../../templates/markdown/summary.md")),
    ("summary_trend.md", include_str!("../../templates/markdown/summary_trend.md")),
];

impl Language {
    const fn templates(self) -> &'static [Template] {
        match self {
            Self::Html => HTML,
            Self::Svg => SVG,
            Self::Markdown => MARKDOWN,
        }
    }

    const fn escape(self) -> tera::EscapeFn {
        match self {
            Self::Html | Self::Svg => escape::html,
            Self::Markdown => escape::markdown,
        }
    }
}

/// Templates of one language, parsed.
pub(crate) struct Engine {
    tera: Tera,
}

impl Engine {
    /// Parses the templates of `language`.
    pub(crate) fn new(language: Language) -> Result<Self, ReportError> {
        let mut tera = Tera::new();
        tera.autoescape_on([".html", ".svg", ".md"]);
        tera.set_escape_fn(language.escape());
        tera.add_raw_templates(language.templates().iter().copied())
            .map_err(|source| ReportError::Parse { source: Box::new(source) })?;
        Ok(Self { tera })
    }

    /// Fills `template` with the fields of `view`.
    pub(crate) fn render(
        &self,
        template: &'static str,
        view: &impl Serialize,
    ) -> Result<String, ReportError> {
        let fail = |source| ReportError::Render { template, source: Box::new(source) };
        let value =
            serde_json::to_value(view).map_err(|source| ReportError::View { template, source })?;
        if let Some(place) = null_in(&value, "view") {
            return Err(ReportError::Absent { template, place });
        }
        let context = Context::from_serialize(&value).map_err(fail)?;
        self.tera.render(template, &context).map_err(fail)
    }
}

/// The path of the first `null` in `value`.
fn null_in(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Null => Some(place.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(i, item)| null_in(item, &format!("{place}[{i}]")))
        }
        Value::Object(fields) => {
            fields.iter().find_map(|(name, field)| null_in(field, &format!("{place}.{name}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_parses() {
        for language in [Language::Html, Language::Svg, Language::Markdown] {
            let engine = Engine::new(language).expect("templates that parse");
            assert_eq!(engine.tera.get_template_names().count(), language.templates().len());
        }
    }

    /// Text that is not escaped: what our own code made of checked parts, and nothing else.
    #[test]
    fn only_checked_text_is_not_escaped() {
        let known = [
            "style",
            "script",
            "policy",
            "json",
            "figure.svg",
            "drawing",
            "calls.drawing",
            "calls.json",
            "cell.url",
            "history.url",
            "metric.url",
        ];
        for (name, text) in [HTML, SVG, MARKDOWN].concat() {
            for before in text.split("| safe").collect::<Vec<_>>().split_last().expect("one part").1
            {
                let expression = before.rsplit("{{").next().expect("a part").trim();
                assert!(known.contains(&expression), "{name}: {expression}");
            }
        }
    }

    #[test]
    fn a_missing_value_is_an_error() {
        let mut engine = Engine::new(Language::Html).expect("templates that parse");
        engine.tera.add_raw_template("t.html", "{{ a }}{{ b.c }}").expect("a template");
        let render = |view: Value| engine.render("t.html", &view);
        assert_eq!(render(serde_json::json!({"a": "<", "b": {"c": "d"}})).expect("text"), "&lt;d");
        assert!(matches!(render(serde_json::json!({"a": 1})), Err(ReportError::Render { .. })));
        assert!(matches!(
            render(serde_json::json!({"a": 1, "b": {}})),
            Err(ReportError::Render { .. })
        ));
        let absent = render(serde_json::json!({"a": 1, "b": {"c": [null]}}));
        assert!(matches!(absent, Err(ReportError::Absent { place, .. }) if place == "view.b.c[0]"));
    }
}
