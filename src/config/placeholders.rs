//! Which placeholders a command knows, and whether each stands where it can be filled safely.

use super::command::Command;
use super::params::ParamDecl;
use super::problem::What;
use super::quote::quote;
use super::section::{At, Section};
use super::template::{self, Piece, Place};

/// What perftrail fills in by itself, besides params.
pub const BUILT_IN: &[&str] = &["commit", "event", "run", "run_number", "output"];

const UNSURE: &str = "stands where the shell has rules of its own and no quoting holds (a here-document, backticks, $'…', arithmetic, inside ${…}, after such a part): put it before, into \"$( )\", or give the command as a list of strings";
const FLAG_QUOTED: &str = "stands inside quotes, but its param becomes a flag, which is a word of its own: take the quotes away";
const FLAG_GLUED: &str =
    "is part of a longer string, but its param becomes a flag: make it a list item of its own";
const OUTPUT_IN_SETUP: &str = "is made for each repetition, after `setup`: use `prepare` instead";

/// Whether `name` is filled in a command of a job with these params.
pub fn is_known(name: &str, params: &[ParamDecl]) -> bool {
    BUILT_IN.contains(&name) || params.iter().any(|param| param.name == name)
}

/// The command of a key, with its placeholders checked.
pub(crate) fn command(
    section: &Section<'_>,
    key: &'static str,
    params: &[ParamDecl],
) -> Option<Command> {
    let command = section.command(key)?;
    let known = |name: &str| is_known(name, params);
    match &command.value {
        Command::Shell(text) => {
            for piece in template::shell(text, known) {
                if let Piece::Hole { name, place } = piece {
                    check(section, &command, &name, place, params);
                }
            }
        }
        Command::Argv(argv) => {
            for element in argv {
                let pieces = template::plain(element, known);
                let alone = pieces.len() == 1;
                for piece in pieces {
                    let Piece::Hole { name, place } = piece else { continue };
                    if !alone && has_flag(&name, params) {
                        unsafe_place(section, &command, &name, FLAG_GLUED);
                    }
                    check(section, &command, &name, place, params);
                }
            }
        }
    }
    Some(command.value)
}

fn check(
    section: &Section<'_>,
    command: &At<Command>,
    name: &str,
    place: Place,
    params: &[ParamDecl],
) {
    let param = params.iter().find(|param| param.name == name);
    if name == "output" && command.key.ends_with("setup") {
        unsafe_place(section, command, name, OUTPUT_IN_SETUP);
    }
    let free_text = name == "output" || param.is_some_and(ParamDecl::is_free_text);
    // A flag is the file's own text; it stands anywhere when it is a plain word.
    let free_flag = param.and_then(|param| param.flag.as_deref()).is_some_and(|f| quote(f) != f);
    let why = match place {
        Place::Single | Place::Double if has_flag(name, params) => FLAG_QUOTED,
        Place::Unsure if free_text || free_flag => UNSURE,
        _ => return,
    };
    unsafe_place(section, command, name, why);
}

fn has_flag(name: &str, params: &[ParamDecl]) -> bool {
    params.iter().any(|param| param.name == name && param.flag.is_some())
}

fn unsafe_place(section: &Section<'_>, command: &At<Command>, name: &str, why: &'static str) {
    let what = What::UnsafePlace { key: command.key.clone(), name: name.to_owned(), why };
    section.sink.add(&command.span, what);
}
