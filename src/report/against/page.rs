//! The findings as Markdown, and as a page that needs nothing else.

use serde::Serialize;

use super::icicle::{self, Icicle};
use super::text::{CHARGED, place, remark, rest, share_of};
use super::{Findings, Moved, Noted, Pairing, Side, Told};
use crate::model::quantity;
use crate::profile::view::difference::Charge;
use crate::report::engine::{Engine, Language};
use crate::report::markdown::{self, Part};
use crate::report::view::cell::{number, text};
use crate::report::view::{Cell, Section, Table, amount};
use crate::report::{ReportError, csp, plain};

/// The style of the page: that of a run's, and what only this one has.
const STYLE: &str = concat!(
    include_str!("../../../templates/page/report.css"),
    include_str!("../../../templates/page/difference.css")
);
/// So many functions that are worse than a rule allows are told one by one.
const WORSE_MAX: usize = 6;
/// Largest Markdown, in bytes.
const MARKDOWN_MAX: usize = 64 * 1024;

#[derive(Serialize)]
struct View {
    before: String,
    after: String,
    sentence: String,
    /// What a reader must know before the numbers.
    alerts: Vec<Alert>,
    sections: Vec<Section>,
    tool: String,
}

#[derive(Serialize)]
struct Alert {
    tone: &'static str,
    word: &'static str,
    message: String,
}

fn view(findings: &Findings) -> View {
    let alert = |tone, word| {
        move |message: &String| Alert { tone, word, message: plain::line(message, 400) }
    };
    let mut over: Vec<String> = findings.worse.iter().take(WORSE_MAX).cloned().collect();
    if let Some(more) = findings.worse.len().checked_sub(WORSE_MAX).filter(|more| *more > 0) {
        over.push(format!("{more} more"));
    }
    let worse = over.iter().map(alert("bad", "Worse than a rule allows"));
    let warnings = findings.warnings.iter().map(alert("warning", "Careful"));
    let known = findings.ignored.iter().map(alert("", "Known"));
    View {
        before: findings.before.clone(),
        after: findings.after.clone(),
        sentence: findings.sentence.clone(),
        alerts: worse.chain(warnings).chain(known).collect(),
        sections: vec![
            functions(findings),
            numbers("numbers", "Numbers", &findings.metrics),
            numbers("durations", "Steps and phases", &findings.durations),
            outputs(findings),
        ],
        tool: format!("perftrail {}", env!("CARGO_PKG_VERSION")),
    }
}

fn numbers(id: &'static str, title: &'static str, all: &[Moved]) -> Section {
    let rows = all.iter().map(|moved| {
        let change = quantity::relative(moved.before, moved.after);
        let nothing = if moved.after == 0.0 { "nothing" } else { "from nothing" };
        let change = change.map_or_else(|| Cell::text(nothing), Cell::number);
        vec![
            Cell::text(&moved.label),
            Cell::number(amount(moved.before, &moved.unit)),
            Cell::number(amount(moved.after, &moved.unit)),
            change,
        ]
    });
    let columns = [text("What"), number("Before"), number("After"), number("Change")];
    let table = Table::new("Of both runs", &columns, rows);
    let lead =
        if all.is_empty() { vec!["Nothing that both runs have.".to_owned()] } else { vec![] };
    Section::new(id, title, lead, vec![table])
}

fn functions(findings: &Findings) -> Section {
    let mut lead = Vec::new();
    let mut tables = Vec::new();
    if findings.profiles.is_empty() {
        lead.push("No profile that both runs have.".to_owned());
    }
    for pairing in &findings.profiles {
        match table_of(pairing) {
            Some((table, sentences)) => {
                lead.extend(sentences);
                tables.extend(
                    pairing
                        .difference
                        .as_ref()
                        .and_then(|told| own_functions(told, &pairing.label)),
                );
                tables.push(table);
            }
            None => lead.push(format!("{}: not compared: {}.", pairing.label, pairing.why)),
        }
    }
    Section::new("functions", "Functions", lead, tables)
}

/// The project's own functions, with what they call outside of it.
fn own_functions(told: &Told, label: &str) -> Option<Table> {
    let row = |charge: &Charge| {
        vec![
            Cell::code(&charge.function),
            Cell::code(&place(charge)),
            Cell::number(amount(charge.spent.before, &told.weight.unit)),
            Cell::number(amount(charge.spent.after, &told.weight.unit)),
            Cell::number(share_of(charge.spent, told.sum.before)),
        ]
    };
    let columns = [
        text("Function"),
        text("Where"),
        number("Before"),
        number("After"),
        number("Of all before"),
    ];
    let caption = format!("{label}: {}", CHARGED.to_lowercase());
    (!told.charged.is_empty()).then(|| Table::new(caption, &columns, told.charged.iter().map(row)))
}

fn table_of(pairing: &Pairing) -> Option<(Table, Vec<String>)> {
    let told = pairing.difference.as_ref()?;
    let weight = &told.weight;
    let caption = format!(
        "{}: {}, {}: what each function spent itself",
        pairing.label,
        plain::line(&weight.name, 60),
        weight.measured.as_str()
    );
    let row = |noted: &Noted| {
        let change = &noted.change;
        let by = change.own.change();
        let sign = if by < 0.0 { '\u{2212}' } else { '+' };
        let place = if change.file.is_empty() { &change.module } else { &change.file };
        let total = change.total.map_or_else(
            || Cell::absent("not known"),
            |total| {
                let sign = if total.change() < 0.0 { '\u{2212}' } else { '+' };
                Cell::number(format!("{sign}{}", amount(total.change().abs(), &weight.unit)))
            },
        );
        let remark = remark(noted);
        vec![
            Cell::code(&change.function),
            Cell::code(place),
            Cell::number(amount(change.own.before, &weight.unit)),
            Cell::number(amount(change.own.after, &weight.unit)),
            Cell::number(format!("{sign}{}", amount(by.abs(), &weight.unit))),
            Cell::number(share_of(change.own, told.sum.before)),
            total,
            Cell::text(if remark.is_empty() { "changed" } else { &remark }),
        ]
    };
    let columns = [
        text("Function"),
        text("Where"),
        number("Self before"),
        number("Self after"),
        number("Change"),
        number("Of all before"),
        number("With callees"),
        text("Remark"),
    ];
    let table = Table::new(caption, &columns, told.functions.iter().map(row));
    let mut lead: Vec<String> =
        told.notices.iter().map(|notice| plain::line(notice, 300)).collect();
    lead.push(format!("{}: {}", pairing.label, rest(told)));
    Some((table, lead))
}

fn outputs(findings: &Findings) -> Section {
    let rows = findings.outputs.iter().map(|output| vec![Cell::text(output)]);
    let table = Table::new("By their sha256", &[text("Output")], rows);
    let lead = match findings.outputs.len() {
        0 => vec!["No output differs.".to_owned()],
        _ => vec![],
    };
    Section::new("outputs", "Outputs", lead, vec![table])
}

/// The findings as Markdown.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn markdown(findings: &Findings) -> Result<String, ReportError> {
    let view = view(findings);
    let engine = Engine::new(Language::Markdown)?;
    let rows = view.alerts.iter().map(|alert| engine.render("alert.md", alert));
    let mut parts = vec![Part {
        head: engine.render("difference.md", &serde_json::json!({ "view": &view }))?,
        rows: rows.collect::<Result<_, _>>()?,
        foot: String::new(),
        keep: markdown::Keep::First,
        left_out: 0,
        words: ("notices", "the data (`--format json`)"),
    }];
    for section in &view.sections {
        parts.extend(markdown::section_parts(section, &engine)?);
    }
    let text = markdown::fitted(&parts, MARKDOWN_MAX);
    Ok(format!("{}\n", text.trim_end()))
}

/// The findings as a page that needs nothing else and no script.
///
/// # Errors
/// As [`markdown()`].
pub fn page(findings: &Findings, before: Side<'_>, after: Side<'_>) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct Page {
        style: &'static str,
        policy: String,
        view: View,
        icicles: Vec<Icicle>,
    }
    let page = Page {
        style: STYLE,
        policy: csp::policy(STYLE, ""),
        view: view(findings),
        icicles: icicle::all(before, after, &findings.profiles),
    };
    Engine::new(Language::Html)?.render("difference.html", &page)
}
