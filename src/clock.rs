//! The time of day, so that everything else can be given one in a test.

use jiff::Timestamp;

/// Tells the time.
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
