//! What a file holds, told by its content: JSON, JSON lines, a table, or `key = value` lines.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::model::text::shown;

/// Largest file that is read, in bytes.
pub const FILE_MAX: usize = 16 << 20;
/// Most cells of a table, missing ones included.
const CELLS_MAX: usize = 2_000_000;
/// Most columns of a table.
const COLUMNS_MAX: usize = 1000;

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    /// What it holds, in the form that was asked for.
    pub(super) content: Content,
    /// How many lines could not be understood, and the first of them, from 1.
    pub(super) skipped: Option<(usize, usize)>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A JSON object or list, the last values of JSON lines, the last row of a table, or the
    /// pairs of `key = value` lines.
    Single(Value),
    /// Values over time.
    Table(Table),
}

/// The form in which content is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Single,
    Table,
}

/// Named columns of one length; a missing cell is `null`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) cells: Vec<Value>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Too large.
    #[error("it has {bytes} bytes, more than the {FILE_MAX} that are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Compressed, or of some other binary kind.
    #[error("it is not text")]
    NotText,
    /// HTML, whatever its name says.
    #[error("it holds HTML, not data: some profilers write a page into a file named `.json`")]
    Html,
    /// Broken JSON.
    #[error("it starts like JSON, but is not: {reason}")]
    Json {
        /// What the JSON reader says, made printable.
        reason: String,
    },
    /// A broken table.
    #[error("it looks like a table, but is not: {reason}")]
    Table {
        /// What the reader of tables says, made printable.
        reason: String,
    },
    /// A table with too many cells, missing ones included.
    #[error("its table has more than {CELLS_MAX} cells")]
    TooManyCells,
    /// None of the known forms.
    #[error("it is neither JSON, nor JSON lines, nor CSV, nor lines of `key = value`")]
    Unknown,
}

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8], form: Form) -> Result<Document, Unreadable> {
    if bytes.len() > FILE_MAX {
        return Err(Unreadable::TooLarge { bytes: bytes.len() });
    }
    if bytes.contains(&0) || bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Unreadable::NotText);
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    match text.chars().next() {
        None => Err(Unreadable::Empty),
        Some('<') => Err(Unreadable::Html),
        Some('{' | '[') => json(text, form),
        Some(_) => match first_separator(text) {
            Some('=' | ':') => Ok(pairs(text, form)),
            Some(delimiter) => table(text, delimiter, form),
            None if text.lines().nth(1).is_some() => table(text, ',', form),
            None => Err(Unreadable::Unknown),
        },
    }
}

/// The sign that splits the first line that is no comment: `key = a, b` is a pair, `a,b=c` a
/// table, and so is `a:b,c` when the next line has as many commas.
fn first_separator(text: &str) -> Option<char> {
    let mut lines = text.lines().filter(|line| !is_comment(line));
    let line = lines.next()?;
    if let Some(quoted) = line.trim_start().strip_prefix('"') {
        let after = quoted.split_once('"')?.1;
        return after.trim_start().chars().next().filter(|c| ",;\t=:".contains(*c));
    }
    let first = line.chars().find(|c| ",;\t=:".contains(*c))?;
    let commas = |line: &str| line.matches(',').count();
    let is_table = first == ':'
        && commas(line) > 0
        && lines.next().is_some_and(|next| commas(next) == commas(line));
    Some(if is_table { ',' } else { first })
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn json(text: &str, form: Form) -> Result<Document, Unreadable> {
    let text = named_numbers(text);
    let value = match serde_json::from_str::<Value>(&text) {
        Ok(value) => value,
        Err(error) => {
            let reason = shown(&error.to_string());
            return lines(&text, form).unwrap_or(Err(Unreadable::Json { reason }));
        }
    };
    let is_list =
        |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_object));
    let content = match (form, value) {
        (Form::Table, Value::Object(map)) => Content::Table(from_lists(map)?),
        (Form::Table, Value::Array(items)) => Content::Table(from_objects(items)?),
        // The single values of a list of objects are the last ones.
        (Form::Single, list) if is_list(&list) => Content::Single(merged(list)),
        (_, value) => Content::Single(value),
    };
    Ok(Document { content, skipped: None })
}

/// JSON lines; `None` where the first line is no object of its own.
fn lines(text: &str, form: Form) -> Option<Result<Document, Unreadable>> {
    let mut objects = Vec::new();
    let mut skipped: Option<(usize, usize)> = None;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(object @ Value::Object(_)) => objects.push(object),
            _ if objects.is_empty() => return None,
            _ => skipped.get_or_insert((0, i + 1)).0 += 1,
        }
    }
    let content = match form {
        Form::Single => Content::Single(merged(Value::Array(objects))),
        Form::Table => match from_objects(objects) {
            Ok(table) => Content::Table(table),
            Err(why) => return Some(Err(why)),
        },
    };
    Some(Ok(Document { content, skipped }))
}

/// One object of all, the last value of each name.
fn merged(objects: Value) -> Value {
    let Value::Array(objects) = objects else { return objects };
    let mut all = Map::new();
    for object in objects {
        if let Value::Object(map) = object {
            all.extend(map);
        }
    }
    Value::Object(all)
}

/// The columns of a list of objects. What is no object is left out.
fn from_objects(objects: Vec<Value>) -> Result<Table, Unreadable> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut columns: Vec<Column> = Vec::new();
    let mut cells = 0;
    for (row, object) in objects.into_iter().enumerate() {
        let Value::Object(map) = object else { continue };
        for (name, value) in map {
            let next = columns.len();
            let place = *places.entry(name.clone()).or_insert(next);
            if place == next && next < COLUMNS_MAX {
                columns.push(Column { name, cells: Vec::new() });
            }
            let Some(column) = columns.get_mut(place) else { continue };
            // Ragged objects could ask for far more cells than the file holds.
            cells += row + 1 - column.cells.len().min(row + 1);
            if cells > CELLS_MAX {
                return Err(Unreadable::TooManyCells);
            }
            column.cells.resize(row, Value::Null);
            column.cells.push(value);
        }
    }
    evened(columns)
}

/// The columns of an object of lists; lists with inner lists or objects are left out.
fn from_lists(map: Map<String, Value>) -> Result<Table, Unreadable> {
    let mut columns = Vec::new();
    for (name, value) in map {
        if let Value::Array(cells) = value
            && columns.len() < COLUMNS_MAX
            && !cells.iter().any(|cell| cell.is_object() || cell.is_array())
        {
            columns.push(Column { name, cells });
        }
    }
    evened(columns)
}

/// Makes all columns as long as the longest.
fn evened(mut columns: Vec<Column>) -> Result<Table, Unreadable> {
    let length = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    if columns.len().saturating_mul(length) > CELLS_MAX {
        return Err(Unreadable::TooManyCells);
    }
    for column in &mut columns {
        column.cells.resize(length, Value::Null);
    }
    Ok(Table { columns })
}

/// A table with a header row.
fn table(text: &str, delimiter: char, form: Form) -> Result<Document, Unreadable> {
    let broken = |error: &csv::Error| Unreadable::Table { reason: shown(&error.to_string()) };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(u8::try_from(delimiter).unwrap_or(b','))
        .comment(Some(b'#'))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| broken(&error))?;
    let column = |name: &str| Column { name: unquoted(name).to_owned(), cells: Vec::new() };
    let mut columns: Vec<Column> = headers.iter().map(column).collect();
    if columns.len() > COLUMNS_MAX {
        return Err(Unreadable::Table { reason: format!("{} columns", columns.len()) });
    }
    let mut skipped: Option<(usize, usize)> = None;
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        if record.len() != columns.len() {
            let line = record.position().map_or(0, csv::Position::line);
            skipped.get_or_insert((0, usize::try_from(line).unwrap_or(usize::MAX))).0 += 1;
            continue;
        }
        for (column, text) in columns.iter_mut().zip(&record) {
            if form == Form::Single {
                column.cells.clear();
            }
            // Quotes after a space are not the reader's own.
            let text = unquoted(text);
            column.cells.push(if text.is_empty() { Value::Null } else { Value::from(text) });
        }
    }
    let content = match form {
        Form::Table => Content::Table(Table { columns }),
        Form::Single => {
            let last = |mut column: Column| Some((column.name, column.cells.pop()?));
            Content::Single(Value::Object(columns.into_iter().filter_map(last).collect()))
        }
    };
    Ok(Document { content, skipped })
}

/// Lines of `key = value` or `key: value`; they are no table.
fn pairs(text: &str, form: Form) -> Document {
    if form == Form::Table {
        return Document { content: Content::Table(Table::default()), skipped: None };
    }
    let mut all = Map::new();
    let mut skipped: Option<(usize, usize)> = None;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
        match line.split_once(['=', ':']).map(|(key, value)| (unquoted(key), unquoted(value))) {
            Some((key, value)) if !key.is_empty() => {
                all.insert(key.to_owned(), Value::from(value));
            }
            _ => skipped.get_or_insert((0, i + 1)).0 += 1,
        }
    }
    Document { content: Content::Single(Value::Object(all)), skipped }
}

/// Without spaces, and without one pair of quotes.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

/// Python and others write `NaN` and `Infinity`, which are no JSON. They become texts, so that
/// the rest of the file is read and they are named where a number was expected.
pub(in crate::record) fn named_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => {
                let end = string_end(rest);
                out.push_str(&rest[..end]);
                end
            }
            'N' | 'I' | '-' => {
                let word =
                    ["NaN", "Infinity", "-Infinity"].into_iter().find(|w| rest.starts_with(w));
                if let Some(word) = word {
                    out.push('"');
                    out.push_str(word);
                    out.push('"');
                    word.len()
                } else {
                    out.push(c);
                    1
                }
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

/// The bytes of the JSON string that starts here.
fn string_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    // A backslash at the end may point behind the text; a broken string ends with it.
    text.len()
}
