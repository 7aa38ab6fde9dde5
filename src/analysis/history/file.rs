//! A plain series that people bring along: CSV with a `value` column, or JSON.

use serde::Deserialize;
use serde_json::Value;

use super::series::{Point, Series};

/// Most points of a series.
pub const POINTS_MAX: usize = 100_000;

/// A series and the times of its points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesFile {
    /// The series.
    pub series: Series,
    /// When each point was measured, where the file tells.
    pub times: Vec<Option<String>>,
}

/// Why a file is no series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// It is neither JSON nor CSV in UTF-8.
    #[error("it is no UTF-8 text")]
    Encoding,
    /// It is JSON of another form.
    #[error("it is no JSON series: {0}. Expected is a list of numbers, or an object with `values`")]
    Json(#[from] serde_json::Error),
    /// It is no CSV.
    #[error("it is no CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The CSV has no column of values.
    #[error("the CSV has no column `value`; its columns are {columns}")]
    NoValue {
        /// Those that it has.
        columns: String,
    },
    /// A value is no number.
    #[error("line {line} has {text:?} for a value, which is no number; leave it empty for none")]
    NoNumber {
        /// Its line.
        line: u64,
        /// What stands there.
        text: String,
    },
    /// Two lists are not equally long.
    #[error("`{name}` has {found} items, and `values` has {expected}")]
    Length {
        /// The list.
        name: &'static str,
        /// Its length.
        found: usize,
        /// How many values there are.
        expected: usize,
    },
    /// There are too many points.
    #[error("it has {points} points, and at most {POINTS_MAX} are judged")]
    TooLong {
        /// How many.
        points: usize,
    },
}

/// The object form; other keys are the user's own.
#[derive(Deserialize)]
struct Columns {
    values: Vec<Option<f64>>,
    #[serde(default)]
    machine: Option<Vec<Value>>,
    #[serde(default)]
    commit: Option<Vec<Value>>,
    #[serde(default)]
    time: Option<Vec<Value>>,
    #[serde(default)]
    exact: Option<bool>,
}

/// Reads a series. Values that are missing stay in their place.
///
/// # Errors
/// When the text is no series, or has too many points.
pub fn read(bytes: &[u8]) -> Result<SeriesFile, SeriesError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SeriesError::Encoding)?;
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let file = if text.starts_with(['[', '{']) { of_json(text)? } else { of_csv(text)? };
    match file.series.points.len() {
        points if points > POINTS_MAX => Err(SeriesError::TooLong { points }),
        _ => Ok(file),
    }
}

fn of_json(text: &str) -> Result<SeriesFile, SeriesError> {
    // Told apart by hand: so the error says what is wrong, and where.
    let columns = if text.starts_with('[') {
        let values = serde_json::from_str(text)?;
        Columns { values, machine: None, commit: None, time: None, exact: None }
    } else {
        serde_json::from_str(text)?
    };
    let count = columns.values.len();
    let named = |name, list: Option<Vec<Value>>| match list {
        None => Ok(vec![None; count]),
        Some(list) if list.len() != count => {
            Err(SeriesError::Length { name, found: list.len(), expected: count })
        }
        Some(list) => Ok(list.iter().map(word).collect()),
    };
    let machines = named("machine", columns.machine)?;
    let commits = named("commit", columns.commit)?;
    let times = named("time", columns.time)?;
    let points = columns.values.into_iter().zip(machines).zip(commits);
    let points = points.map(|((value, machine), commit)| Point {
        value: value.filter(|value| value.is_finite()),
        machine,
        commit,
        ..Point::default()
    });
    Ok(SeriesFile { series: Series { points: points.collect(), exact: columns.exact }, times })
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

fn of_csv(text: &str) -> Result<SeriesFile, SeriesError> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let headers = reader.headers()?.clone();
    let column = |name: &str| headers.iter().position(|title| title.eq_ignore_ascii_case(name));
    let Some(value) = column("value") else {
        let columns = headers.iter().take(20).collect::<Vec<_>>().join(", ");
        return Err(SeriesError::NoValue { columns });
    };
    let (machine, commit, time) = (column("machine"), column("commit"), column("time"));
    let mut file = SeriesFile::default();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, csv::Position::line);
        let cell = |column: Option<usize>| {
            column.and_then(|at| row.get(at)).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        file.series.points.push(Point {
            value: number(row.get(value).unwrap_or_default(), line)?,
            machine: cell(machine),
            commit: cell(commit),
            ..Point::default()
        });
        file.times.push(cell(time));
    }
    Ok(file)
}

/// A number; `None` where the file says that there is none.
fn number(text: &str, line: u64) -> Result<Option<f64>, SeriesError> {
    const NONE: [&str; 6] = ["", "na", "n/a", "nan", "null", "none"];
    if NONE.contains(&text.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        _ => Err(SeriesError::NoNumber { line, text: text.chars().take(40).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(file: &SeriesFile) -> Vec<Option<f64>> {
        file.series.points.iter().map(|point| point.value).collect()
    }

    #[test]
    fn the_forms_that_people_have() {
        let expected = [Some(1.5), None, Some(-2.0)];
        for text in [
            "[1.5, null, -2]",
            "{\"values\": [1.5, null, -2], \"mine\": {}}",
            "value\n1.5\nNA\n-2\n",
            "\u{feff}time,Value\r\n2026-01-01,1.5\r\n2026-01-02,\r\n2026-01-03,-2\r\n",
            "# made by hand\nname,value\na,1.5\nb,nan\nc,-2e0\n",
        ] {
            assert_eq!(values(&read(text.as_bytes()).unwrap()), expected, "{text}");
        }
        let file = read(
            br#"{"values": [1, 2], "machine": [7, "b"], "commit": [null, "c"], "time": ["t", ""], "exact": true}"#,
        )
        .unwrap();
        assert_eq!(file.series.exact, Some(true));
        let points = &file.series.points;
        assert_eq!(points[0].machine.as_deref(), Some("7"));
        assert_eq!((points[0].commit.as_deref(), points[1].commit.as_deref()), (None, Some("c")));
        assert_eq!(file.times, [Some("t".to_owned()), None]);
        assert_eq!(values(&read(b"[]").unwrap()), []);
        assert_eq!(values(&read(b"value").unwrap()), []);
    }

    #[test]
    fn what_is_no_series_is_said() {
        for (text, why) in [
            (&b"\xff"[..], "no UTF-8"),
            (b"{\"values\": 3}", "an object with `values`"),
            (b"{\"values\": [\"3\"]}", "an object with `values`"),
            (b"[1, NaN]", "no JSON series"),
            (b"{\"values\": [1], \"machine\": [1, 2]}", "`machine` has 2 items"),
            (b"date,seconds\n1,2\n", "columns are date, seconds"),
            (b"value\n1\nfast\n", "line 3 has \"fast\""),
            (b"value\n1\ninf\n", "line 3"),
            (b"", "no column `value`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let long = format!("[{}1]", "1,".repeat(POINTS_MAX));
        assert!(read(long.as_bytes()).unwrap_err().to_string().contains("100001 points"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
