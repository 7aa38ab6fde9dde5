//! The declared inputs of a job: names, types, defaults, choices.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::de::DeValue;

use super::keys::{PARAM, PARAM_TYPES};
use super::names::{Named, unique};
use super::problem::{What, list, shown};
use super::section::{At, Section, type_of};

/// Words that a param cannot be named: placeholders of perftrail's own, and what a comment on a
/// pull request means by them.
pub const RESERVED: &[&str] = &[
    "commit",
    "event",
    "run",
    "run_number",
    "output",
    "job",
    "help",
    "accept",
    "against",
    "sha",
    "repetitions",
];
/// Longest text a param may have, in bytes.
pub const TEXT_MAX: usize = 4096;

/// A declared input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamDecl {
    /// Its name.
    pub name: String,
    /// What values may be.
    pub kind: ParamType,
    /// The value when nothing else is asked for.
    pub default: Value,
    /// The only values that are accepted; empty when any is.
    pub choices: Vec<Value>,
    /// The command-line flag that the value becomes.
    pub flag: Option<String>,
    /// Whether runs with other values belong to another history.
    pub identity: bool,
}

/// What the values of a param may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamType {
    /// A whole number of 64 bits.
    Int,
    /// A finite decimal number.
    Float,
    /// `true` or `false`.
    Bool,
    /// Any text.
    String,
}

/// Why a value cannot be a param's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// Not of the param's type.
    #[error("param `{name}` is `{value}`, expected {expected}")]
    WrongType {
        /// The param.
        name: String,
        /// The value, cut.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Not one of the choices.
    #[error("param `{name}` is `{value}`, expected one of {}", list(.choices))]
    NoChoice {
        /// The param.
        name: String,
        /// The value, cut.
        value: String,
        /// All choices.
        choices: Vec<String>,
    },
    /// Longer than a param may be, or with a NUL in it.
    #[error("param `{name}` is longer than {TEXT_MAX} bytes or holds the character NUL")]
    Unfit {
        /// The param.
        name: String,
    },
}

impl ParamType {
    /// What a message says is expected.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Int => "a whole number",
            Self::Float => "a finite decimal number",
            Self::Bool => "true or false",
            Self::String => "a string",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "string" => Self::String,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_i64() => Self::Int,
            Value::Number(_) => Self::Float,
            Value::String(_) => Self::String,
            _ => return None,
        })
    }

    /// The value as this type: a whole number is a decimal one too.
    fn accept(self, value: &Value) -> Option<Value> {
        match (self, Self::of(value)?) {
            (Self::Float, Self::Int) => value.as_f64().map(Value::from),
            (own, other) => (own == other).then(|| value.clone()),
        }
    }
}

impl ParamDecl {
    /// The value that `text` means, checked against type and choices.
    ///
    /// # Errors
    /// When it is of another type, none of the choices, or unfit for a command.
    pub fn read(&self, text: &str) -> Result<Value, ParamError> {
        if text.len() > TEXT_MAX || text.contains('\0') {
            return Err(ParamError::Unfit { name: self.name.clone() });
        }
        let value = match self.kind {
            ParamType::Int => text.parse::<i64>().ok().map(Value::from),
            ParamType::Float => {
                text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
            }
            ParamType::Bool => match text {
                "true" => Some(Value::from(true)),
                "false" => Some(Value::from(false)),
                _ => None,
            },
            ParamType::String => Some(Value::from(text)),
        };
        let value = value.ok_or_else(|| ParamError::WrongType {
            name: self.name.clone(),
            value: shown(text),
            expected: self.kind.expected(),
        })?;
        if self.choices.is_empty() || self.choices.contains(&value) {
            return Ok(value);
        }
        Err(ParamError::NoChoice {
            name: self.name.clone(),
            value: shown(text),
            choices: self.choices.iter().map(|choice| shown(&text_of(choice))).collect(),
        })
    }

    /// Whether a value of it can hold what a shell would take for more than a plain word.
    pub fn is_free_text(&self) -> bool {
        self.kind == ParamType::String
    }
}

/// The text of a param's value: what stands in commands and tags.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The params of a job, in the order of the file.
pub(crate) fn read_all(job: &Section<'_>) -> Vec<ParamDecl> {
    let entries = job.entries("params").unwrap_or_default();
    let named: Vec<_> = entries
        .iter()
        .map(|(name, _)| Named { name: &name.value, span: name.span.clone() })
        .collect();
    unique(&named, "param", RESERVED, job.sink);
    entries
        .into_iter()
        .filter_map(|(name, value)| {
            if value.value.is_table() {
                return from_table(&name.value, &job.section(&value, &PARAM)?);
            }
            let default = scalar(job, &value)?;
            Some(ParamDecl {
                kind: ParamType::of(&default)?,
                name: name.value,
                default,
                choices: Vec::new(),
                flag: None,
                identity: true,
            })
        })
        .collect()
}

fn from_table(name: &str, section: &Section<'_>) -> Option<ParamDecl> {
    let word = section.word("type").and_then(ParamType::from_word);
    let flag = section.text("flag");
    if let Some(flag) = &flag
        && (flag.value.trim().is_empty() || flag.value.len() > 100)
    {
        section.bad_value(flag, &flag.value, "a command-line flag such as \"--fast\"");
    }
    let identity = section.truth("identity").unwrap_or(true);
    let Some(at) = section.any("default") else {
        if !section.has("default") {
            section.missing("default", "a run that asks for nothing needs a value");
        }
        return None;
    };
    let written = scalar(section, &at)?;
    let kind = word.or_else(|| ParamType::of(&written))?;
    let default = typed(section, &at, kind)?;
    let mut choices = Vec::new();
    if let Some((items, _)) = section.list("choices") {
        choices = items.iter().filter_map(|item| typed(section, item, kind)).collect();
        if choices.len() == items.len() && !choices.contains(&default) {
            let known: Vec<_> = choices.iter().map(|choice| shown(&text_of(choice))).collect();
            let expected = if known.is_empty() {
                "at least one choice".to_owned()
            } else {
                format!("one of the choices {}", known.join(", "))
            };
            section.bad_value(&at, &text_of(&default), expected);
        }
    }
    Some(ParamDecl {
        name: name.to_owned(),
        kind,
        default,
        choices,
        flag: flag.map(|flag| flag.value),
        identity,
    })
}

fn typed(section: &Section<'_>, at: &At<&DeValue<'_>>, kind: ParamType) -> Option<Value> {
    let value = scalar(section, at)?;
    let accepted = kind.accept(&value);
    if accepted.is_none() {
        let found = type_of(at.value);
        let expected = format!("{} (its type is \"{}\")", kind.expected(), kind.word());
        section.sink.add(&at.span, What::WrongType { key: at.key.clone(), expected, found });
    }
    accepted
}

impl ParamType {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Int => PARAM_TYPES[0],
            Self::Float => PARAM_TYPES[1],
            Self::Bool => PARAM_TYPES[2],
            Self::String => PARAM_TYPES[3],
        }
    }
}

fn scalar(section: &Section<'_>, at: &At<&DeValue<'_>>) -> Option<Value> {
    let expected = super::keys::Kind::Scalar.expected();
    match at.value {
        DeValue::String(text) if text.len() <= TEXT_MAX && !text.contains('\0') => {
            Some(Value::from(text.as_ref()))
        }
        DeValue::String(text) => {
            section.bad_value(
                at,
                text,
                format!("at most {TEXT_MAX} bytes without the character NUL"),
            );
            None
        }
        DeValue::Boolean(truth) => Some(Value::from(*truth)),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix()).ok();
            if value.is_none() {
                section.bad_value(at, &number.to_string(), "a whole number of 64 bits");
            }
            value.map(Value::from)
        }
        DeValue::Float(number) => {
            let value = number.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
            if value.is_none() {
                section.bad_value(at, number.as_str(), "a finite number");
            }
            value.map(Value::from)
        }
        other => {
            let found = type_of(other);
            section.sink.add(&at.span, What::WrongType { key: at.key.clone(), expected, found });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decl(kind: ParamType, choices: Vec<Value>) -> ParamDecl {
        ParamDecl {
            name: "p".to_owned(),
            kind,
            default: Value::Null,
            choices,
            flag: None,
            identity: true,
        }
    }

    #[test]
    fn text_becomes_a_typed_value() {
        for (kind, text, value) in [
            (ParamType::Int, "5", Some(json!(5))),
            (ParamType::Int, "-5", Some(json!(-5))),
            (ParamType::Int, "5.0", None),
            (ParamType::Int, "99999999999999999999", None),
            (ParamType::Float, "5", Some(json!(5.0))),
            (ParamType::Float, "1e3", Some(json!(1000.0))),
            (ParamType::Float, "NaN", None),
            (ParamType::Float, "inf", None),
            (ParamType::Bool, "true", Some(json!(true))),
            (ParamType::Bool, "yes", None),
            (ParamType::String, "a b; $(c)", Some(json!("a b; $(c)"))),
            (ParamType::String, "a\0b", None),
        ] {
            assert_eq!(decl(kind, vec![]).read(text).ok(), value, "{text}");
        }
        assert!(decl(ParamType::String, vec![]).read(&"x".repeat(1_000_000)).is_err());
    }

    #[test]
    fn choices_are_the_only_values() {
        let decl = decl(ParamType::Int, vec![json!(2000), json!(50_000)]);
        assert_eq!(decl.read("2000"), Ok(json!(2000)));
        assert_eq!(
            decl.read("5000").unwrap_err().to_string(),
            "param `p` is `5000`, expected one of `2000`, `50000`"
        );
    }
}
