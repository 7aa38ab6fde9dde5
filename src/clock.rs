//! The time of day and the time that passes, so that everything else can be given them in a test.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Tells the time of day.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's.
    System,
    /// Always the same instant.
    Fixed(Timestamp),
}

impl Clock {
    /// The time now, cut to whole milliseconds.
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => {
                let now = Timestamp::now();
                Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
            }
            Self::Fixed(time) => time,
        }
    }
}

/// Tells how much time has passed, whatever happens to the time of day.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Four hex digits' worth of chance, so that two runs of one second differ.
pub fn chance() -> u16 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds every new state from the system's randomness.
    let hash = std::collections::hash_map::RandomState::new().build_hasher().finish();
    u16::try_from(hash & 0xffff).unwrap_or(0)
}
