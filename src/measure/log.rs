//! The job's output in bounded memory: its head, its tail, and how much lay between.

use std::collections::VecDeque;

/// How many bytes of output are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBudget {
    /// From the start.
    pub head: usize,
    /// From the end.
    pub tail: usize,
}

impl Default for LogBudget {
    fn default() -> Self {
        Self { head: 256 * 1024, tail: 256 * 1024 }
    }
}

/// Output of a job, both streams, lines in the order in which they were ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedLog {
    budget: LogBudget,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl BoundedLog {
    /// An empty one.
    pub fn new(budget: LogBudget) -> Self {
        Self { budget, head: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    /// Adds bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        if self.tail.is_empty() && self.left_out == 0 {
            let room = self.budget.head.saturating_sub(self.head.len()).min(bytes.len());
            let (first, rest) = bytes.split_at(room);
            self.head.extend_from_slice(first);
            bytes = rest;
        }
        let too_long = bytes.len().saturating_sub(self.budget.tail);
        if too_long > 0 {
            self.left_out += (self.tail.len() + too_long) as u64;
            self.tail.clear();
            bytes = &bytes[too_long..];
        }
        let over = (self.tail.len() + bytes.len()).saturating_sub(self.budget.tail);
        self.left_out += over as u64;
        self.tail.drain(..over);
        self.tail.extend(bytes);
    }

    /// How many bytes between head and tail are gone.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty() && self.left_out == 0
    }

    /// What is kept, with a line between head and tail that says how much is missing there.
    /// The bytes are the job's own: they need not be UTF-8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut all = self.head.clone();
        if self.left_out > 0 {
            if all.last().is_some_and(|&last| last != b'\n') {
                all.push(b'\n');
            }
            let line = format!("[perftrail: {} bytes of output left out here]\n", self.left_out);
            all.extend_from_slice(line.as_bytes());
        }
        all.extend(&self.tail);
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_gap_is_told() {
        let mut log = BoundedLog::new(LogBudget { head: 4, tail: 4 });
        log.push(b"abcdef");
        assert_eq!(log.to_bytes(), b"abcdef");
        log.push(b"ghij");
        assert_eq!(log.left_out(), 2);
        assert_eq!(
            String::from_utf8_lossy(&log.to_bytes()),
            "abcd\n[perftrail: 2 bytes of output left out here]\nghij"
        );
        log.push(b"0123456789");
        assert_eq!(log.left_out(), 12);
        assert!(log.to_bytes().ends_with(b"6789"));
    }

    proptest! {
        #[test]
        fn nothing_is_invented_or_lost(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..20),
            head in 0_usize..60,
            tail in 0_usize..60,
        ) {
            let mut log = BoundedLog::new(LogBudget { head, tail });
            for chunk in &chunks {
                log.push(chunk);
            }
            let all = chunks.concat();
            prop_assert_eq!((log.head.len() + log.tail.len()) as u64 + log.left_out(), all.len() as u64);
            prop_assert!(all.starts_with(&log.head));
            prop_assert!(all.ends_with(log.tail.make_contiguous()));
            prop_assert!(log.head.len() <= head && log.tail.len() <= tail);
        }
    }
}
