//! The findings as text.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::{Findings, Moved, Noted, Pairing, Told};
use crate::model::quantity;
use crate::profile::view::difference::{Charge, Pair, Presence};
use crate::report::plain;
use crate::report::view::amount;

/// What the functions of the project are listed under.
pub(super) const CHARGED: &str = "The project's functions with what they call outside of it";

/// Changes of metrics below this share are not listed.
const LISTED_MIN: f64 = 0.01;

/// The findings as plain text, ended by a newline.
pub fn render(findings: &Findings, width: u16) -> String {
    let mut text = String::new();
    let _ =
        writeln!(text, "{}\nagainst {}\n\n{}", findings.after, findings.before, findings.sentence);
    for warning in &findings.warnings {
        let _ = writeln!(text, "Careful: {warning}");
    }
    for (title, sentences) in
        [("Worse than a rule allows", &findings.worse), ("Known", &findings.ignored)]
    {
        for sentence in sentences {
            let _ = writeln!(text, "{title}: {sentence}");
        }
    }
    numbers(&mut text, "Numbers", &findings.metrics, width);
    numbers(&mut text, "Steps and phases", &findings.durations, width);
    for pairing in &findings.profiles {
        functions(&mut text, pairing, width);
    }
    if !findings.outputs.is_empty() {
        let _ = writeln!(text, "\nOutputs");
        for output in &findings.outputs {
            let _ = writeln!(text, "  {output}");
        }
    }
    text
}

fn numbers(text: &mut String, title: &str, all: &[Moved], width: u16) {
    let listed = |moved: &&Moved| {
        moved.relative().map_or(moved.after != 0.0, |change| change.abs() >= LISTED_MIN)
    };
    let rows: Vec<Vec<String>> = all
        .iter()
        .filter(listed)
        .map(|moved| {
            let change = quantity::relative(moved.before, moved.after);
            vec![
                moved.label.clone(),
                amount(moved.before, &moved.unit),
                amount(moved.after, &moved.unit),
                change.unwrap_or_else(|| "from nothing".to_owned()),
            ]
        })
        .collect();
    if all.is_empty() {
        return;
    }
    if rows.is_empty() {
        let _ = writeln!(text, "\n{title}: nothing moved by 1 % or more.");
        return;
    }
    let quiet = all.len() - rows.len();
    let _ = writeln!(text, "\n{}", table(&[title, "Before", "After", "Change"], rows, width));
    if quiet > 0 {
        let _ = writeln!(text, "{quiet} more moved by less than 1 %.");
    }
}

fn functions(text: &mut String, pairing: &Pairing, width: u16) {
    let Some(told) = &pairing.difference else {
        let _ = writeln!(text, "\nFunctions, {}: not compared: {}.", pairing.label, pairing.why);
        return;
    };
    let weight = &told.weight;
    let what = format!("{}, {}", plain::line(&weight.name, 60), weight.measured.as_str());
    for notice in &told.notices {
        let _ = writeln!(text, "\nCareful: {}", plain::line(notice, 300));
    }
    own_functions(text, told, &pairing.label, width);
    if told.functions.is_empty() {
        let _ = writeln!(
            text,
            "\nFunctions, {} ({what}): in none of {} did self change beyond noise.",
            pairing.label, told.quiet
        );
        return;
    }
    let row = |noted: &Noted| {
        let change = &noted.change;
        let place = if change.file.is_empty() { &change.module } else { &change.file };
        vec![
            plain::line(&change.function, 80),
            plain::line(place, 60),
            amount(change.own.before, &weight.unit),
            amount(change.own.after, &weight.unit),
            share_of(change.own, told.sum.before),
            remark(noted),
        ]
    };
    let rows = told.functions.iter().map(row).collect();
    let title = format!("Functions, {}: {what}", pairing.label);
    let head = [title.as_str(), "Where", "Self before", "Self after", "Of all before", ""];
    let _ = writeln!(text, "\n{}", table(&head, rows, width));
    let _ = writeln!(text, "{}", rest(told));
}

/// The project's own functions, with what they call outside of it.
fn own_functions(text: &mut String, told: &Told, label: &str, width: u16) {
    if told.charged.is_empty() {
        return;
    }
    let row = |charge: &Charge| {
        vec![
            plain::line(&charge.function, 80),
            place(charge),
            amount(charge.spent.before, &told.weight.unit),
            amount(charge.spent.after, &told.weight.unit),
            share_of(charge.spent, told.sum.before),
            String::new(),
        ]
    };
    let title = format!("{CHARGED}, {label}");
    let head = [title.as_str(), "Where", "Before", "After", "Of all before", ""];
    let rows = told.charged.iter().map(row).collect();
    let _ = writeln!(text, "\n{}", table(&head, rows, width));
}

/// `model.py:12`.
pub(super) fn place(charge: &Charge) -> String {
    let file = plain::line(&charge.file, 60);
    if charge.line == 0 { file } else { format!("{file}:{}", charge.line) }
}

/// A change as a share of all that was spent before.
pub(super) fn share_of(pair: Pair, sum: f64) -> String {
    let share = if sum > 0.0 { pair.change() / sum } else { 0.0 };
    let sign = if share < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}

/// What stands beside a function: whether it is new or gone, and what a rule says.
pub(super) fn remark(noted: &Noted) -> String {
    let presence = match noted.change.presence {
        Presence::Both => "",
        Presence::New => "new",
        Presence::Vanished => "gone",
    };
    let parts = [presence, &noted.rule].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// `12 more changed by less than noise or next to nothing, 3 by more, 2 are hidden by rules.`
pub(super) fn rest(told: &Told) -> String {
    let mut text = format!("{} more changed by less than noise or next to nothing", told.quiet);
    for (count, what) in [(told.left_out, "by more"), (told.hidden, "are hidden by rules")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text.push('.');
    text
}

fn table(head: &[&str], rows: Vec<Vec<String>>, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─')));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(40));
    table.set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    let texts = if head.len() > 4 { 2 } else { 1 };
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= texts {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
