//! When to try again: full jitter, doubling, within a given time, and not too often for a server.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use crate::github::Pause;
use crate::results::Target;

/// GitHub takes at most six pushes a minute into one repository.
const PUSHES_MAX: usize = 6;
const PUSHES_TIME: Duration = Duration::from_mins(1);

/// Waits between tries. Give [`Retry::wait`] to [`super::publish`].
pub struct Retry<'a> {
    pause: &'a dyn Pause,
    start: Timestamp,
    total: Duration,
    pace: Pace,
    /// When the last few tries began.
    tries: VecDeque<Timestamp>,
}

/// Waits of one kind of target: the first, before it is doubled, and the longest.
#[derive(Clone, Copy, Debug)]
struct Pace {
    first: Duration,
    longest: Duration,
    is_server: bool,
}

impl<'a> Retry<'a> {
    /// Tries from now on for `total` at most.
    pub fn new(pause: &'a dyn Pause, total: Duration, target: &Target) -> Self {
        let is_server = matches!(target, Target::Remote(_));
        let pace = if is_server {
            Pace { first: Duration::from_secs(1), longest: Duration::from_secs(30), is_server }
        } else {
            Pace { first: Duration::from_millis(20), longest: Duration::from_secs(1), is_server }
        };
        let start = pause.now();
        Self { pause, start, total, pace, tries: VecDeque::from([start]) }
    }

    /// Waits before try number `next`; `false` says that the time is over.
    ///
    /// The wait is anything from nothing to the first wait, twice that, and so on (full jitter), so
    /// that publishers that met do not meet again.
    pub fn wait(&mut self, next: u32) -> bool {
        let now = self.pause.now();
        let doubled = self.pace.first.saturating_mul(1 << next.saturating_sub(2).min(16));
        let jitter = doubled.min(self.pace.longest).mul_f64(self.pause.fraction().clamp(0.0, 1.0));
        let wait = jitter.max(self.until_allowed(now));
        if since(self.start, now).saturating_add(wait) >= self.total {
            return false;
        }
        self.pause.sleep(wait);
        self.tries.push_back(self.pause.now());
        while self.tries.len() > PUSHES_MAX {
            self.tries.pop_front();
        }
        true
    }

    /// How long until the server takes one more push.
    fn until_allowed(&self, now: Timestamp) -> Duration {
        match self.tries.front() {
            Some(oldest) if self.pace.is_server && self.tries.len() >= PUSHES_MAX => {
                PUSHES_TIME.saturating_sub(since(*oldest, now))
            }
            _ => Duration::ZERO,
        }
    }
}

/// The time from `then` to `now`; nothing where the clock went back.
fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::*;
    use crate::results::remote::{Connection, Credential};

    /// A clock that only sleeping moves, with waits always at their longest.
    struct Told(Mutex<Timestamp>);

    impl Pause for Told {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }

        fn sleep(&self, time: Duration) {
            *self.0.lock().unwrap() += time;
        }

        fn fraction(&self) -> f64 {
            1.0
        }
    }

    fn waits(target: &Target, total: Duration) -> Vec<Duration> {
        let pause = Told(Mutex::new(Timestamp::UNIX_EPOCH));
        let mut retry = Retry::new(&pause, total, target);
        let mut waits = Vec::new();
        let mut before = pause.now();
        for next in 2..100 {
            if !retry.wait(next) {
                break;
            }
            waits.push(since(before, pause.now()));
            before = pause.now();
        }
        waits
    }

    #[test]
    fn a_server_is_asked_at_most_six_times_a_minute() {
        let connection = Connection::new("https://host/a/b".to_owned(), Credential::Own, []);
        let waits = waits(&Target::Remote(connection), Duration::from_mins(5));
        let seconds: Vec<u64> = waits.iter().map(Duration::as_secs).collect();
        // 1 + 2 + 4 + 8 + 16 s bring the sixth push; the seventh waits for the minute to end.
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30, 30]);
        let starts: Vec<u64> = seconds
            .iter()
            .scan(0, |sum, wait| {
                *sum += wait;
                Some(*sum)
            })
            .collect();
        assert!(starts.windows(7).all(|window| window[6] - window[0] >= 60));
        assert!(starts.last().is_some_and(|last| *last < 300));
    }

    #[test]
    fn a_folder_is_tried_again_soon() {
        let waits = waits(&Target::Local(PathBuf::from("x")), Duration::from_secs(3));
        let millis: Vec<u128> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [20, 40, 80, 160, 320, 640, 1000]);
    }
}
