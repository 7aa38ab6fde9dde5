//! The index of a tip, read month by month as far as it is needed, with new lines put in.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::earlier::earlier;
use crate::record::index::Line;
use crate::record::shard::{Shard, shard_path};
use crate::results::ResultsError;
use crate::results::tip::Tip;

/// Runs in the landing page's table.
pub(super) const RUNS_SHOWN: usize = 20;
/// Points of each history that the landing page may draw.
const POINTS: usize = 200;
/// The landing page reads at most so many lines, or a job that seldom runs would have it read
/// the whole index every time.
const LINES_MAX: usize = 2000;
/// So many months back is a run looked for to show beside another.
pub(super) const MONTHS_BACK: usize = 24;

/// So many of the newest months are asked for at once; few landing pages need more.
pub(super) const MONTHS_EXPECTED: usize = 4;

/// The index of a tip with new lines.
pub(super) struct Index<'t, 'r> {
    tip: &'t Tip<'r>,
    /// Newest first.
    months: Vec<String>,
    shards: BTreeMap<String, Shard>,
    touched: BTreeSet<String>,
    /// The months that were made anew; `None` for those of the tip.
    anew: Option<BTreeMap<String, Vec<u8>>>,
    /// Months that were asked for, and how many of them the last time.
    asked: BTreeSet<String>,
    step: usize,
}

impl<'t, 'r> Index<'t, 'r> {
    pub(super) fn new(tip: &'t Tip<'r>) -> Result<Self, ResultsError> {
        let months = tip.months()?;
        Ok(Self::with(tip, months, None))
    }

    /// An index that was made anew, by month, whatever the tip holds.
    pub(super) fn anew(tip: &'t Tip<'r>, shards: BTreeMap<String, Vec<u8>>) -> Self {
        Self::with(tip, shards.keys().rev().cloned().collect(), Some(shards))
    }

    fn with(
        tip: &'t Tip<'r>,
        months: Vec<String>,
        anew: Option<BTreeMap<String, Vec<u8>>>,
    ) -> Self {
        Self {
            tip,
            months,
            shards: BTreeMap::new(),
            touched: BTreeSet::new(),
            anew,
            asked: BTreeSet::new(),
            step: MONTHS_EXPECTED,
        }
    }

    /// How many months were read so far.
    pub(super) fn months_read(&self) -> usize {
        self.shards.len()
    }

    /// The months that it holds, newest first.
    pub(super) fn months(&self) -> &[String] {
        &self.months
    }

    pub(super) fn shard(&mut self, month: &str) -> Result<&mut Shard, ResultsError> {
        if !self.shards.contains_key(month) {
            let shard = match &self.anew {
                Some(shards) => Shard::parse(shards.get(month).map_or(&[], Vec::as_slice)),
                None => self.tip.shard(month)?,
            };
            self.shards.insert(month.to_owned(), shard);
        }
        Ok(self.shards.entry(month.to_owned()).or_default())
    }

    /// Puts a line in its place.
    pub(super) fn insert(&mut self, line: Line) -> Result<(), ResultsError> {
        let month = line.month();
        self.shard(&month)?.insert(line);
        if !self.months.contains(&month) {
            self.months.push(month.clone());
            self.months.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.touched.insert(month);
        Ok(())
    }

    /// Takes the line of `path` out of a month.
    pub(super) fn remove(&mut self, month: &str, path: &str) -> Result<(), ResultsError> {
        if self.shard(month)?.remove(path).is_some() {
            self.touched.insert(month.to_owned());
        }
        Ok(())
    }

    /// The newest earlier run to show beside `line`.
    pub(super) fn earlier(&mut self, line: &Line) -> Result<Option<Line>, ResultsError> {
        let month = line.month();
        let back: Vec<String> = self
            .months
            .iter()
            .filter(|other| **other <= month)
            .take(MONTHS_BACK)
            .cloned()
            .collect();
        for (number, month) in back.iter().enumerate() {
            self.look_ahead(&back[number..]);
            if let Some(found) = earlier(self.shard(month)?.lines(), line) {
                return Ok(Some(found.clone()));
            }
        }
        Ok(None)
    }

    /// The runs of the key of `line`, up to its month: so many of the newest as a verdict needs.
    pub(super) fn of_key(&mut self, line: &Line) -> Result<Vec<Line>, ResultsError> {
        let mut found: Vec<Line> = Vec::new();
        let month = line.month();
        let planned = line.planned.strftime("%Y-%m").to_string();
        let newest = month.max(planned);
        let back: Vec<String> = self
            .months
            .iter()
            .filter(|other| **other <= newest)
            .take(MONTHS_BACK)
            .cloned()
            .collect();
        for (number, month) in back.iter().enumerate() {
            self.look_ahead(&back[number..]);
            let shard = self.shard(month)?;
            found.extend(shard.lines().filter(|other| other.key == line.key).cloned());
            if found.len() >= POINTS {
                break;
            }
        }
        Ok(found)
    }

    /// The lines that the landing page is made of, newest first: as many months as the newest
    /// [`POINTS`] of every history in its table need. The index alone decides, not what was
    /// published last, so the same index always gives the same page.
    pub(super) fn window(&mut self) -> Result<Vec<Line>, ResultsError> {
        let mut window: Vec<Line> = Vec::new();
        let months = self.months.clone();
        for (number, month) in months.iter().enumerate() {
            self.look_ahead(&months[number..]);
            window.extend(self.shard(month)?.lines().rev().cloned());
            if window.len() >= LINES_MAX || is_enough(&window) {
                break;
            }
        }
        Ok(window)
    }

    /// Brings the first of the months and some that will probably be read after it: each time twice
    /// as many as before, so that an index of many small months costs a server few questions.
    fn look_ahead(&mut self, months: &[String]) {
        let is_at_hand = |month| self.shards.contains_key(month) || self.asked.contains(month);
        if self.anew.is_some() || months.first().is_none_or(is_at_hand) {
            return;
        }
        self.step *= 2;
        let ahead = &months[..months.len().min(self.step)];
        self.tip.expect(&ahead.iter().map(|month| shard_path(month)).collect::<Vec<_>>());
        self.asked.extend(ahead.iter().cloned());
    }

    /// The months that changed: path and content.
    pub(super) fn touched(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        self.touched.iter().filter_map(|month| {
            let shard = self.shards.get(month)?;
            Some((shard_path(month), shard.to_bytes()))
        })
    }

    /// Lines that could not be read, for people.
    pub(super) fn corrupt(&self) -> impl Iterator<Item = String> {
        self.shards.iter().flat_map(|(month, shard)| {
            shard.corrupt().iter().map(move |corrupt| {
                format!("{} line {}: {}", shard_path(month), corrupt.number, corrupt.why)
            })
        })
    }
}

fn is_enough(window: &[Line]) -> bool {
    if window.len() < RUNS_SHOWN {
        return false;
    }
    let mut points: BTreeMap<&str, usize> =
        window.iter().take(RUNS_SHOWN).map(|line| (line.key.as_str(), 0)).collect();
    for line in window.iter().filter(|line| line.has_values()) {
        if let Some(count) = points.get_mut(line.key.as_str()) {
            *count += 1;
        }
    }
    points.values().all(|count| *count >= POINTS)
}
