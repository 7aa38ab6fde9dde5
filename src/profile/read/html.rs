//! Data inside HTML pages: pyinstrument's of 3.x to 5.x, and Scalene's, whatever the file is called.

use super::super::error::{Fault, Reason};
use super::super::json::Json;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;

/// What stands before the data, and whose it is.
const MARKS: &[(&[u8], Kind, &str)] = &[
    (b"window.profileSession = ", Kind::PyinstrumentJson, "pyinstrument"),
    (b"const sessionData = ", Kind::PyinstrumentTree, "pyinstrument"),
    (b"const profile = ", Kind::Scalene, "Scalene"),
];

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let marks: Vec<&[u8]> = MARKS.iter().map(|(mark, ..)| *mark).collect();
    let Some(found) = json.leave_until(&marks)? else {
        let instead = "let the profiler write JSON (Scalene 1.5: `--cli --json`, pyinstrument: \
                       `-o F.pyisession`)";
        return Err(json.wrong(Reason::Html { instead }));
    };
    let (_, kind, tool) = MARKS[found];
    reading.kind = kind;
    reading
        .note(format!("this is {tool}'s HTML page; the profile was read from the data inside it"));
    match kind {
        Kind::Scalene => super::scalene::read(context, json, reading),
        _ => super::pyinstrument_tree::read(context, json, reading),
    }
}
