//! Fills placeholders: in shell commands by quoted values, in lists by plain ones.

use std::collections::BTreeMap;

use serde_json::Value;

use super::PlannedRun;
use crate::config::params::text_of;
use crate::config::placeholders::BUILT_IN;
use crate::config::quote::quote;
use crate::config::template::{self, Piece, Place};
use crate::config::{Command, Step};
use crate::model::param::Param;

/// Longest tag, in characters.
pub const TAG_MAX: usize = 80;
/// Stands for the commit where there is none.
const UNCOMMITTED: &str = "uncommitted";

/// What perftrail itself knows when a command is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The commit; `None` outside a repository: `{commit}` is `uncommitted` then.
    pub commit: Option<&'a str>,
    /// What started the run.
    pub event: &'a str,
    /// The run's own name.
    pub run: &'a str,
    /// The service's running number; `None`: `{run_number}` is empty.
    pub run_number: Option<u64>,
    /// The folder for this repetition's output; `None` for `setup`, which has none.
    pub output: Option<&'a str>,
}

/// Why a command cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The shell has rules of its own there.
    #[error(
        "`{{{name}}}` stands where the shell has rules of its own and its value `{value}` cannot be quoted: move it, or give the command as a list of strings"
    )]
    UnsafePlace {
        /// The placeholder.
        name: String,
        /// Its value, cut.
        value: String,
    },
    /// No command can hold a NUL.
    #[error("the value of `{{{name}}}` holds the character NUL, which no command can hold")]
    Nul {
        /// The placeholder.
        name: String,
    },
    /// A flag inside quotes or a longer string.
    #[error(
        "`{{{name}}}` becomes a flag, which is a word of its own: it cannot stand inside quotes or a longer string"
    )]
    FlagInside {
        /// The placeholder.
        name: String,
    },
    /// There is no output folder yet.
    #[error("`{{output}}` is made for each repetition, after `setup`")]
    NoOutput,
}

impl PlannedRun {
    /// The set-up command, ready to run.
    ///
    /// # Errors
    /// When a placeholder cannot be filled safely.
    pub fn setup(&self, around: &Surroundings<'_>) -> Result<Option<Command>, RenderError> {
        let around = Surroundings { output: None, ..*around };
        self.job.setup.as_ref().map(|command| self.fill(command, &around)).transpose()
    }

    /// The command before each repetition, ready to run.
    ///
    /// # Errors
    /// As [`PlannedRun::setup`].
    pub fn prepare(&self, around: &Surroundings<'_>) -> Result<Option<Command>, RenderError> {
        self.job.prepare.as_ref().map(|command| self.fill(command, around)).transpose()
    }

    /// The steps, ready to run. A command typed after `--` stays as it is.
    ///
    /// # Errors
    /// As [`PlannedRun::setup`].
    pub fn steps(&self, around: &Surroundings<'_>) -> Result<Vec<Step>, RenderError> {
        let fill = |step: &Step| {
            let run =
                if self.job.verbatim { step.run.clone() } else { self.fill(&step.run, around)? };
            Ok(Step { name: step.name.clone(), run })
        };
        self.job.steps.iter().map(fill).collect()
    }

    fn fill(&self, command: &Command, around: &Surroundings<'_>) -> Result<Command, RenderError> {
        let filler = Filler { params: &self.params, flags: &self.job.flags, around };
        Ok(match command {
            Command::Shell(text) => Command::Shell(filler.shell(text)?),
            Command::Argv(argv) => Command::Argv(filler.argv(argv)?),
        })
    }
}

/// The tag for these params: what a folder's name cannot hold becomes `_`.
pub fn tag(text: &str, params: &BTreeMap<String, Param>) -> String {
    let mut tag = String::new();
    for piece in template::plain(text, |name| params.contains_key(name)) {
        match piece {
            Piece::Text(text) => tag.push_str(&text),
            Piece::Hole { name, .. } => tag.push_str(&text_of(&params[&name].value)),
        }
    }
    let fit = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let mut tag: String = tag.chars().map(|c| if fit(c) { c } else { '_' }).take(TAG_MAX).collect();
    if tag.is_empty() || tag.starts_with(['.', '-']) {
        tag.insert(0, '_');
        tag.truncate(TAG_MAX);
    }
    tag
}

struct Filler<'a> {
    params: &'a BTreeMap<String, Param>,
    flags: &'a BTreeMap<String, String>,
    around: &'a Surroundings<'a>,
}

/// What a placeholder becomes.
enum Filling {
    Value(String),
    /// Words of the command line: none, the flag, or the flag and its value.
    Words(Vec<String>),
}

impl Filler<'_> {
    fn is_known(&self, name: &str) -> bool {
        BUILT_IN.contains(&name) || self.params.contains_key(name)
    }

    fn filling(&self, name: &str) -> Result<Filling, RenderError> {
        let around = self.around;
        let text = match name {
            "commit" => around.commit.unwrap_or(UNCOMMITTED).to_owned(),
            "event" => around.event.to_owned(),
            "run" => around.run.to_owned(),
            "run_number" => around.run_number.map_or_else(String::new, |n| n.to_string()),
            "output" => around.output.ok_or(RenderError::NoOutput)?.to_owned(),
            param => {
                let value = self.params.get(param).map_or(&Value::Null, |param| &param.value);
                if let Some(flag) = self.flags.get(param) {
                    return without_nul(name, flag_words(flag, value)).map(Filling::Words);
                }
                text_of(value)
            }
        };
        without_nul(name, vec![text])
            .map(|mut texts| Filling::Value(texts.pop().unwrap_or_default()))
    }

    fn shell(&self, text: &str) -> Result<String, RenderError> {
        let mut command = String::with_capacity(text.len());
        for piece in template::shell(text, |name| self.is_known(name)) {
            let (name, place) = match piece {
                Piece::Text(text) => {
                    command.push_str(&text);
                    continue;
                }
                Piece::Hole { name, place } => (name, place),
            };
            let quoted = match self.filling(&name)? {
                Filling::Value(value) => quoted(&name, &value, place)?,
                Filling::Words(words) => {
                    let words: Vec<_> = words.iter().map(|word| quote(word)).collect();
                    match place {
                        Place::Bare => words.join(" "),
                        Place::Single | Place::Double => {
                            return Err(RenderError::FlagInside { name });
                        }
                        Place::Unsure => {
                            let text = words.join(" ");
                            if text.contains(['\'', '\\']) {
                                return Err(unsafe_place(&name, &text));
                            }
                            text
                        }
                    }
                }
            };
            command.push_str(&quoted);
        }
        Ok(command)
    }

    fn argv(&self, argv: &[String]) -> Result<Vec<String>, RenderError> {
        let mut out = Vec::with_capacity(argv.len());
        for element in argv {
            let pieces = template::plain(element, |name| self.is_known(name));
            if let [Piece::Hole { name, .. }] = pieces.as_slice() {
                match self.filling(name)? {
                    Filling::Value(value) => out.push(value),
                    Filling::Words(words) => out.extend(words),
                }
                continue;
            }
            let mut filled = String::new();
            for piece in pieces {
                match piece {
                    Piece::Text(text) => filled.push_str(&text),
                    Piece::Hole { name, .. } => match self.filling(&name)? {
                        Filling::Value(value) => filled.push_str(&value),
                        Filling::Words(_) => return Err(RenderError::FlagInside { name }),
                    },
                }
            }
            out.push(filled);
        }
        Ok(out)
    }
}

/// `true` is the flag, `false` nothing, anything else the flag and the value.
fn flag_words(flag: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Bool(true) => vec![flag.to_owned()],
        Value::Bool(false) => Vec::new(),
        other => vec![flag.to_owned(), text_of(other)],
    }
}

fn without_nul(name: &str, texts: Vec<String>) -> Result<Vec<String>, RenderError> {
    if texts.iter().any(|text| text.contains('\0')) {
        return Err(RenderError::Nul { name: name.to_owned() });
    }
    Ok(texts)
}

/// A value as it may stand at a place. Inside quotes these are closed before it and opened again.
fn quoted(name: &str, value: &str, place: Place) -> Result<String, RenderError> {
    let word = quote(value);
    Ok(match place {
        Place::Bare => word,
        Place::Single => format!("'{word}'"),
        Place::Double => format!("\"{word}\""),
        // An empty value needs quotes too, but nothing can come of it.
        Place::Unsure if word == value || value.is_empty() => value.to_owned(),
        Place::Unsure => return Err(unsafe_place(name, value)),
    })
}

fn unsafe_place(name: &str, value: &str) -> RenderError {
    let value = crate::config::problem::shown(value);
    RenderError::UnsafePlace { name: name.to_owned(), value }
}
