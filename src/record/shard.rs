//! A shard of the index: the lines of one month, `index/YYYY-MM.jsonl`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::index::{Line, LineError};

/// The folder of the shards.
pub const INDEX_DIR: &str = "index";

/// The lines of one month, sorted by start and path, one a path.
///
/// What it does not understand it keeps: lines of a newer format stay byte for byte as they were
/// read, and lines that are damaged stand at the end.
#[derive(Debug, Default)]
pub struct Shard {
    lines: BTreeMap<(Timestamp, String), Kept>,
    starts: BTreeMap<String, Timestamp>,
    corrupt: Vec<Corrupt>,
}

/// A line and the bytes it was read from.
#[derive(Debug)]
struct Kept {
    line: Line,
    text: String,
}

/// A line that could not be read.
#[derive(Debug)]
pub struct Corrupt {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its bytes, without the newline.
    pub bytes: Vec<u8>,
    /// What is wrong with it.
    pub why: WhyCorrupt,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum WhyCorrupt {
    /// It is no UTF-8.
    #[error("the line is no UTF-8 text")]
    Encoding,
    /// It is no line of the index.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// The path of a month's shard; `month` is `YYYY-MM`.
pub fn shard_path(month: &str) -> String {
    format!("{INDEX_DIR}/{month}.jsonl")
}

/// The month of a file in the index folder, `None` for a file that is no shard.
pub fn month_of(file_name: &str) -> Option<&str> {
    let month = file_name.strip_suffix(".jsonl")?;
    let (year, rest) = month.split_once('-')?;
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|c| c.is_ascii_digit());
    (digits(year, 4) && digits(rest, 2)).then_some(month)
}

impl Shard {
    /// Reads a shard. Of two lines with one path the later in the file holds.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut shard = Self::default();
        for (index, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            if bytes.is_empty() {
                continue;
            }
            match read_line(bytes) {
                Ok(kept) => {
                    shard.put(kept);
                }
                Err(why) => {
                    shard.corrupt.push(Corrupt { number: index + 1, bytes: bytes.to_vec(), why });
                }
            }
        }
        shard
    }

    /// Puts a line in its place; gives the line of that path that stood here before.
    pub fn insert(&mut self, line: Line) -> Option<Line> {
        let text = line.to_json();
        self.put(Kept { line, text })
    }

    fn put(&mut self, kept: Kept) -> Option<Line> {
        let before = self.remove(&kept.line.path);
        self.starts.insert(kept.line.path.clone(), kept.line.start);
        self.lines.insert((kept.line.start, kept.line.path.clone()), kept);
        before
    }

    /// Takes the line of `path` out.
    pub fn remove(&mut self, path: &str) -> Option<Line> {
        let (path, start) = self.starts.remove_entry(path)?;
        self.lines.remove(&(start, path)).map(|kept| kept.line)
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.values().map(|kept| &kept.line)
    }

    /// The lines, oldest first.
    pub fn into_lines(self) -> impl DoubleEndedIterator<Item = Line> {
        self.lines.into_values().map(|kept| kept.line)
    }

    /// Lines that could not be read.
    pub fn corrupt(&self) -> &[Corrupt] {
        &self.corrupt
    }

    /// The file: lines in order, then what could not be read as it was.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lines = self.lines.values().map(|kept| kept.text.as_bytes());
        let corrupt = self.corrupt.iter().map(|corrupt| corrupt.bytes.as_slice());
        let mut bytes = Vec::new();
        for line in lines.chain(corrupt) {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes
    }
}

fn read_line(bytes: &[u8]) -> Result<Kept, WhyCorrupt> {
    let text = std::str::from_utf8(bytes).map_err(|_| WhyCorrupt::Encoding)?;
    let line = Line::parse(text)?;
    Ok(Kept { line, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read::read;

    fn line(path: &str, start: &str) -> Line {
        let bytes = include_bytes!("../../tests/fixtures/records/v1/succeeded.json");
        let mut record = read(bytes).unwrap().record;
        record.run.started = Some(start.parse().unwrap());
        Line::of(&record, path)
    }

    fn paths(shard: &Shard) -> Vec<&str> {
        shard.lines().map(|line| line.path.as_str()).collect()
    }

    #[test]
    fn lines_are_sorted_and_unique_whatever_order_they_came_in() {
        let all = [
            line("runs/b", "2026-11-02T00:00:00Z"),
            line("runs/c", "2026-11-01T00:00:00Z"),
            line("runs/a", "2026-11-02T00:00:00Z"),
        ];
        let mut shard = Shard::default();
        for line in &all {
            assert_eq!(shard.insert(line.clone()), None);
        }
        assert_eq!(paths(&shard), ["runs/c", "runs/a", "runs/b"]);
        let mut backwards = Shard::default();
        for line in all.iter().rev() {
            backwards.insert(line.clone());
        }
        assert_eq!(shard.to_bytes(), backwards.to_bytes());
        assert_eq!(Shard::parse(&shard.to_bytes()).to_bytes(), shard.to_bytes());
        let later = line("runs/c", "2026-11-03T00:00:00Z");
        assert_eq!(shard.insert(later).map(|line| line.start), Some(all[1].start));
        assert_eq!(paths(&shard), ["runs/a", "runs/b", "runs/c"]);
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let first = line("runs/a", "2026-11-02T00:00:00Z").to_json();
        let newer = first.replace("runs/a", "runs/b").replacen('{', r#"{"energy":[1,2],"#, 1);
        let mut file = format!("<<<<<<< ours\n{first}\n\n{{\"path\":\r\n{newer}\n").into_bytes();
        file.extend_from_slice(b"\xff\xfe");
        let mut shard = Shard::parse(&file);
        assert_eq!(paths(&shard), ["runs/a", "runs/b"]);
        let numbers: Vec<_> = shard.corrupt().iter().map(|corrupt| corrupt.number).collect();
        assert_eq!(numbers, [1, 4, 6]);
        shard.insert(line("runs/0", "2026-11-02T00:00:00Z"));
        let text = String::from_utf8_lossy(&shard.to_bytes()).into_owned();
        assert!(text.contains(&newer));
        assert!(text.ends_with("<<<<<<< ours\n{\"path\":\n\u{fffd}\u{fffd}\n"), "{text}");
    }

    #[test]
    fn only_months_are_shards() {
        assert_eq!(shard_path("2026-11"), "index/2026-11.jsonl");
        assert_eq!(month_of("2026-11.jsonl"), Some("2026-11"));
        for name in
            ["2026-11.json", "notes.jsonl", "20x6-11.jsonl", "2026-1.jsonl", "2026-11-1.jsonl"]
        {
            assert_eq!(month_of(name), None, "{name}");
        }
    }
}
