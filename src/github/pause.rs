//! Waiting, and what it depends on.

use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Tells the time, waits, and spreads waits by chance. A test brings its own, and never waits.
pub trait Pause: Send + Sync {
    /// The time of day; never earlier than it was.
    fn now(&self) -> Timestamp;
    /// Waits.
    fn sleep(&self, time: Duration);
    /// A random number in `0..1`.
    fn fraction(&self) -> f64;
}

/// The machine's own: the wall clock once, the monotonic clock from then on.
#[derive(Clone, Copy, Debug)]
pub struct RealPause {
    wall: Timestamp,
    start: Instant,
}

impl RealPause {
    /// Reads both clocks.
    pub fn new() -> Self {
        Self { wall: Timestamp::now(), start: Instant::now() }
    }
}

impl Default for RealPause {
    fn default() -> Self {
        Self::new()
    }
}

impl Pause for RealPause {
    fn now(&self) -> Timestamp {
        self.wall.checked_add(self.start.elapsed()).unwrap_or(self.wall)
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }

    fn fraction(&self) -> f64 {
        fastrand::f64()
    }
}
