//! Reads one table of the file: known keys with the right types come out, everything else is an
//! error with its place.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::command::Command;
use super::keys::{Kind, Table};
use super::problem::{Sink, What, nearest, shown};
use super::scalar::{self, Threshold};

/// A value with its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
    /// The key with its tables, for messages.
    pub(crate) key: String,
}

impl<T> At<T> {
    fn with<U>(&self, value: U) -> At<U> {
        At { value, span: self.span.clone(), key: self.key.clone() }
    }
}

type Value<'a> = At<&'a DeValue<'a>>;

/// One table of the file.
pub(crate) struct Section<'a> {
    table: &'a DeTable<'a>,
    spec: &'static Table,
    /// The place of the table itself.
    pub(crate) span: Range<usize>,
    path: String,
    pub(crate) sink: &'a Sink,
}

impl<'a> Section<'a> {
    /// Takes the table and tells of every key that it does not know.
    pub(crate) fn new(
        table: &'a DeTable<'a>,
        spec: &'static Table,
        span: Range<usize>,
        path: String,
        sink: &'a Sink,
    ) -> Self {
        for key in table.keys() {
            let name = key.get_ref();
            if spec.key(name).is_none() && !sink.is_full() {
                let names = || spec.keys.iter().map(|key| key.name);
                sink.add(
                    &key.span(),
                    What::UnknownKey {
                        key: shown(name),
                        table: spec.shown().to_owned(),
                        nearest: nearest(name, names()).map(str::to_owned),
                        known: names().map(str::to_owned).collect(),
                    },
                );
            }
        }
        Self { table, spec, span, path, sink }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key and what it may be; `None` when it is not there.
    fn value(&self, key: &'static str) -> Option<(Value<'a>, &'static Kind)> {
        let known = self.spec.key(key);
        debug_assert!(known.is_some(), "`{key}` is missing in the table of keys");
        let value = self.table.get(key)?;
        let at = At { value: value.get_ref(), span: value.span(), key: self.path_of(key) };
        Some((at, &known?.kind))
    }

    /// Whether the key is there, whatever its value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The value of a key, whatever it is.
    pub(crate) fn any(&self, key: &'static str) -> Option<Value<'a>> {
        Some(self.value(key)?.0)
    }

    /// The place of a key's value, else of the table.
    pub(crate) fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    fn wrong_type(&self, at: &Value<'_>, expected: String) {
        let found = type_of(at.value);
        self.sink.add(&at.span, What::WrongType { key: at.key.clone(), expected, found });
    }

    pub(crate) fn bad_value<T>(&self, at: &At<T>, value: &str, expected: impl Into<String>) {
        let what =
            What::BadValue { key: at.key.clone(), value: shown(value), expected: expected.into() };
        self.sink.add(&at.span, what);
    }

    /// Tells that a key is missing.
    pub(crate) fn missing(&self, key: &'static str, why: &'static str) {
        let table = self.spec.shown().to_owned();
        self.sink.add(&self.span, What::Missing { table, key, why });
    }

    fn text_of(&self, at: &Value<'a>, kind: &Kind) -> Option<At<String>> {
        let Some(text) = at.value.as_str() else {
            self.wrong_type(at, kind.expected());
            return None;
        };
        if text.contains('\0') {
            self.bad_value(at, text, "a text without the character NUL");
            return None;
        }
        Some(at.with(text.to_owned()))
    }

    pub(crate) fn text(&self, key: &'static str) -> Option<At<String>> {
        let (at, kind) = self.value(key)?;
        self.text_of(&at, kind)
    }

    pub(crate) fn truth(&self, key: &'static str) -> Option<bool> {
        let (at, kind) = self.value(key)?;
        let truth = at.value.as_bool();
        if truth.is_none() {
            self.wrong_type(&at, kind.expected());
        }
        truth
    }

    pub(crate) fn whole(&self, key: &'static str) -> Option<u32> {
        let (at, kind) = self.value(key)?;
        let Kind::Whole(min, max) = kind else { return None };
        let DeValue::Integer(number) = at.value else {
            self.wrong_type(&at, kind.expected());
            return None;
        };
        let value = u32::from_str_radix(number.as_str(), number.radix()).ok();
        let fits = value.filter(|value| (min..=max).contains(&value));
        if fits.is_none() {
            self.bad_value(&at, &number.to_string(), kind.expected());
        }
        fits
    }

    /// A text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let (at, kind) = self.value(key)?;
        let text = self.text_of(&at, kind)?;
        let parsed = parse(&text.value);
        if parsed.is_none() {
            self.bad_value(&at, &text.value, kind.expected());
        }
        parsed
    }

    /// A size: a text, or a whole number of bytes.
    pub(crate) fn size(&self, key: &'static str) -> Option<u64> {
        match self.value(key)?.0.value {
            DeValue::Integer(number) => {
                let at = self.value(key)?.0;
                let bytes = scalar::size(&number.to_string());
                if bytes.is_none() {
                    self.bad_value(&at, &number.to_string(), scalar::SIZE);
                }
                bytes
            }
            _ => self.parsed(key, scalar::size),
        }
    }

    /// A date: a text, or TOML's own.
    pub(crate) fn date(&self, key: &'static str) -> Option<jiff::civil::Date> {
        let (at, kind) = self.value(key)?;
        let DeValue::Datetime(date) = at.value else { return self.parsed(key, scalar::date) };
        let parsed = scalar::date(&date.to_string());
        if parsed.is_none() {
            self.bad_value(&at, &date.to_string(), kind.expected());
        }
        parsed
    }

    /// A threshold: a text, a number, or a list of a share and an amount.
    pub(crate) fn threshold(&self, key: &'static str) -> Option<Threshold> {
        let (at, _) = self.value(key)?;
        let one = |value: &DeValue<'_>| match value {
            DeValue::String(text) => scalar::threshold(text),
            DeValue::Integer(number) => scalar::threshold(&number.to_string()),
            DeValue::Float(number) => scalar::threshold(number.as_str()),
            _ => None,
        };
        let parsed = match at.value {
            DeValue::Array(items) => {
                let parts: Vec<_> = items.iter().filter_map(|item| one(item.get_ref())).collect();
                match parts.as_slice() {
                    [a, b] if items.len() == 2 => {
                        let relative = a.relative.or(b.relative);
                        let absolute = a.absolute.or(b.absolute);
                        (relative.is_some() && absolute.is_some())
                            .then_some(Threshold { relative, absolute })
                    }
                    [only] if items.len() == 1 => Some(*only),
                    _ => None,
                }
            }
            value => one(value),
        };
        if parsed.is_none() {
            match at.value {
                DeValue::String(text) => self.bad_value(&at, text, scalar::THRESHOLD),
                _ => self.wrong_type(&at, scalar::THRESHOLD.to_owned()),
            }
        }
        parsed
    }

    fn word_of(&self, at: &Value<'a>, words: &[&'static str], kind: &Kind) -> Option<&'static str> {
        let text = self.text_of(at, kind)?;
        let found = words.iter().find(|word| **word == text.value).copied();
        if found.is_none() {
            self.sink.add(
                &at.span,
                What::UnknownWord {
                    key: at.key.clone(),
                    value: shown(&text.value),
                    nearest: nearest(&text.value, words.iter().copied()).map(str::to_owned),
                    known: words.iter().map(|word| (*word).to_owned()).collect(),
                },
            );
        }
        found
    }

    /// One of the words of the key.
    pub(crate) fn word(&self, key: &'static str) -> Option<&'static str> {
        let (at, kind) = self.value(key)?;
        let Kind::Word(words) = kind else { return None };
        self.word_of(&at, words, kind)
    }

    /// The items of a list.
    pub(crate) fn list(&self, key: &'static str) -> Option<(Vec<Value<'a>>, &'static Kind)> {
        let (at, kind) = self.value(key)?;
        let Kind::List(of) = kind else { return None };
        let Some(items) = at.value.as_array() else {
            self.wrong_type(&at, kind.expected());
            return None;
        };
        Some((items_of(&at.key, items), of))
    }

    pub(crate) fn texts(&self, key: &'static str) -> Option<Vec<At<String>>> {
        let (items, of) = self.list(key)?;
        Some(items.iter().filter_map(|item| self.text_of(item, of)).collect())
    }

    pub(crate) fn words(&self, key: &'static str) -> Option<Vec<At<&'static str>>> {
        let (items, of) = self.list(key)?;
        let Kind::Word(words) = of else { return None };
        let words_of = |item: &Value<'a>| self.word_of(item, words, of).map(|word| item.with(word));
        Some(items.iter().filter_map(words_of).collect())
    }

    /// A list of strings, or one string that is split at spaces.
    pub(crate) fn split_words(&self, key: &'static str) -> Option<Vec<String>> {
        let (at, kind) = self.value(key)?;
        match at.value {
            DeValue::String(_) => {
                let text = self.text_of(&at, kind)?;
                Some(text.value.split_whitespace().map(str::to_owned).collect())
            }
            DeValue::Array(items) => {
                let items = items_of(&at.key, items);
                Some(
                    items
                        .iter()
                        .filter_map(|item| self.text_of(item, &Kind::Text))
                        .map(|text| text.value)
                        .collect(),
                )
            }
            _ => {
                self.wrong_type(&at, kind.expected());
                None
            }
        }
    }

    /// A command: a string for the shell, or a list of strings.
    pub(crate) fn command(&self, key: &'static str) -> Option<At<Command>> {
        let (at, kind) = self.value(key)?;
        let command = match at.value {
            DeValue::String(_) => Command::Shell(self.text_of(&at, kind)?.value),
            DeValue::Array(_) => Command::Argv(self.split_words(key)?),
            _ => {
                self.wrong_type(&at, kind.expected());
                return None;
            }
        };
        if command.is_empty() {
            self.bad_value(&at, "", "a command that is not empty");
            return None;
        }
        Some(at.with(command))
    }

    /// The entries of a table with keys of the user's choice, in the order of the file.
    pub(crate) fn entries(&self, key: &'static str) -> Option<Vec<(At<String>, Value<'a>)>> {
        let (at, kind) = self.value(key)?;
        let Some(table) = at.value.as_table() else {
            self.wrong_type(&at, kind.expected());
            return None;
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(name, value)| {
                let path = format!("{}.{}", at.key, shown(name.get_ref()));
                let name = At {
                    value: name.get_ref().clone().into_owned(),
                    span: name.span(),
                    key: at.key.clone(),
                };
                (name, At { value: value.get_ref(), span: value.span(), key: path })
            })
            .collect();
        entries.sort_by_key(|(name, _)| name.span.start);
        Some(entries)
    }

    /// A table of texts with keys of the user's choice.
    pub(crate) fn text_map(&self, key: &'static str) -> Option<Vec<(At<String>, At<String>)>> {
        let entries = self.entries(key)?;
        Some(
            entries
                .into_iter()
                .filter_map(|(name, value)| Some((name, self.text_of(&value, &Kind::Text)?)))
                .collect(),
        )
    }

    /// The same as a plain map.
    pub(crate) fn plain_map(&self, key: &'static str) -> BTreeMap<String, String> {
        let entries = self.text_map(key).unwrap_or_default();
        entries.into_iter().map(|(name, value)| (name.value, value.value)).collect()
    }

    /// A table under a key.
    pub(crate) fn table(&self, key: &'static str) -> Option<Section<'a>> {
        let (at, kind) = self.value(key)?;
        let Kind::Table(spec) = kind else { return None };
        self.section(&at, spec)
    }

    /// The value as a table of that kind.
    pub(crate) fn section(&self, at: &Value<'a>, spec: &'static Table) -> Option<Section<'a>> {
        let Some(table) = at.value.as_table() else {
            self.wrong_type(at, "a table".to_owned());
            return None;
        };
        Some(Section::new(table, spec, at.span.clone(), at.key.clone(), self.sink))
    }

    /// The tables of a list of tables, in order.
    pub(crate) fn tables(&self, key: &'static str) -> Vec<Section<'a>> {
        let Some((at, kind)) = self.value(key) else { return Vec::new() };
        let Kind::Tables(spec) = kind else { return Vec::new() };
        let Some(items) = at.value.as_array() else {
            self.wrong_type(&at, format!("{}, written {}", kind.expected(), spec.shown()));
            return Vec::new();
        };
        items_of(&at.key, items).iter().filter_map(|item| self.section(item, spec)).collect()
    }
}

fn items_of<'a>(key: &str, items: &'a [Spanned<DeValue<'a>>]) -> Vec<Value<'a>> {
    let at = |(i, item): (usize, &'a Spanned<DeValue<'a>>)| At {
        value: item.get_ref(),
        span: item.span(),
        key: format!("{key}[{i}]"),
    };
    items.iter().enumerate().map(at).collect()
}

/// What a value is, for messages.
pub(crate) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
