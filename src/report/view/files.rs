//! Outputs and files beside the record, and what was left out.

use super::cell::{Cell, Section, Table, number, text};
use super::details::plural;
use super::metrics::amount;
use crate::model::metric::Unit;
use crate::record::{File, FileRole, Record};
use crate::report::link::Url;
use crate::report::plain;

/// The files of the bundle: the job's outputs first, then perftrail's own.
pub(crate) fn outputs(record: &Record) -> Section {
    let (kept, left_out): (Vec<&File>, Vec<&File>) =
        record.files.iter().partition(|file| file.left_out.is_none());
    let size =
        |files: &[&File]| amount(files.iter().map(|file| file.bytes as f64).sum(), &Unit::Bytes);
    let mut lead = Vec::new();
    if record.files.is_empty() {
        lead.push("The run left no files but its record.".to_owned());
    } else {
        let dropped = if left_out.is_empty() {
            "nothing was left out".to_owned()
        } else {
            format!("{}, {}, left out", plural(left_out.len(), "file"), size(&left_out))
        };
        lead.push(format!("{}, {}; {dropped}.", plural(kept.len(), "file"), size(&kept)));
    }
    let mut sorted = kept;
    sorted.sort_by_key(|file| order(file.role));
    let columns = [text("File"), number("Size"), text("What it is"), text("SHA-256")];
    let rows = sorted.into_iter().map(|file| {
        vec![
            Cell::code_link(&plain::name(&file.path), Url::beside(&file.path)),
            Cell::number(amount(file.bytes as f64, &Unit::Bytes)),
            Cell::text(role(file.role)),
            hash(file),
        ]
    });
    let kept = Table::new("In the bundle", &columns, rows);
    let columns = [text("File"), number("Size"), text("What it is"), text("Why")];
    let rows = left_out.into_iter().map(|file| {
        vec![
            Cell::code(&plain::name(&file.path)),
            Cell::number(amount(file.bytes as f64, &Unit::Bytes)),
            Cell::text(role(file.role)),
            Cell::absent(file.left_out.as_deref().unwrap_or_default()),
        ]
    });
    let left_out = Table::new("Left out", &columns, rows);
    Section::new("files", "Outputs and files", lead, vec![left_out, kept])
}

fn hash(file: &File) -> Cell {
    match &file.sha256 {
        Some(hash) => Cell::code(&hash.chars().take(12).collect::<String>()),
        None => Cell::absent("not read"),
    }
}

const fn order(role: FileRole) -> u8 {
    match role {
        FileRole::Collected => 0,
        FileRole::Kept => 1,
        FileRole::Raw => 2,
        FileRole::Bundle => 3,
    }
}

const fn role(role: FileRole) -> &'static str {
    match role {
        FileRole::Bundle => "perftrail's own",
        FileRole::Collected => "output of the job",
        FileRole::Kept => "kept as it was",
        FileRole::Raw => "raw profiler output",
    }
}
