//! When to ask again: the rules alone, without a clock or a network.

use std::time::Duration;

/// How long and how often to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To connect, TLS included.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub read: Duration,
    /// For one try, from the first byte to the last.
    pub attempt: Duration,
    /// For all tries of one call and the waits between them.
    pub total: Duration,
    /// The most tries after trouble; waiting for a rate limit does not count.
    pub tries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(30),
            attempt: Duration::from_mins(1),
            total: Duration::from_mins(5),
            tries: 6,
        }
    }
}

/// Whether a call may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Twice is as good as once: GET, PATCH, PUT, DELETE.
    Freely,
    /// Only when the first was certainly not acted upon: POST.
    IfNotDone,
}

/// What happened to one try, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The request did not leave: no connection.
    NotSent,
    /// It may have arrived, but no whole answer came.
    NoAnswer,
    /// 5xx; with what the server asks to wait.
    Server(Option<Duration>),
    /// The rate limit refused it before anything was done; with what GitHub asks to wait.
    Limited(Option<Duration>),
    /// An answer that another try will not change.
    Final,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after this time.
    After(Duration),
    /// Give up. After a rate limit: what would have to be waited.
    GiveUp(Option<Duration>),
}

/// How a call went so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct SoFar {
    /// Tries that ended in trouble, this one included, rate limits apart.
    pub(super) troubles: u32,
    /// Tries that met a rate limit, this one included.
    pub(super) limits: u32,
    /// Time since the call began.
    pub(super) spent: Duration,
}

/// The first wait after trouble, before it is doubled and spread.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after trouble.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// What to wait for a rate limit that names no time; doubled each time.
const LIMIT_WAIT: Duration = Duration::from_mins(1);
/// Many runners wait for the same moment: they come back spread over this time.
const LIMIT_SPREAD: Duration = Duration::from_secs(5);

/// Decides whether to ask again, and after what time. `fraction` is a random number in `0..1`.
///
/// After trouble the wait is anything from nothing to 1 s, 2 s, 4 s … 30 s (full jitter), so that
/// clients that failed together do not come back together. A time that the server names is kept.
pub(super) fn next(
    trouble: Trouble,
    repeat: Repeat,
    so_far: SoFar,
    patience: &Patience,
    fraction: f64,
) -> Next {
    let done_maybe = matches!(trouble, Trouble::NoAnswer | Trouble::Server(_));
    if trouble == Trouble::Final || (done_maybe && repeat == Repeat::IfNotDone) {
        return Next::GiveUp(None);
    }
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.5 };
    let jitter = doubled(FIRST_WAIT, so_far.troubles).min(LONGEST_WAIT).mul_f64(fraction);
    let wait = match trouble {
        Trouble::Limited(asked) => asked
            .unwrap_or_else(|| doubled(LIMIT_WAIT, so_far.limits))
            .saturating_add(LIMIT_SPREAD.mul_f64(fraction)),
        Trouble::Server(Some(asked)) => asked.max(jitter),
        _ => jitter,
    };
    let limited = matches!(trouble, Trouble::Limited(_));
    let in_time = so_far.spent.saturating_add(wait) < patience.total;
    if in_time && (limited || so_far.troubles < patience.tries) {
        Next::After(wait)
    } else {
        Next::GiveUp(limited.then_some(wait))
    }
}

/// `first` after one time, twice that after two, and so on.
fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        connect: Duration::from_secs(1),
        read: Duration::from_secs(1),
        attempt: Duration::from_secs(1),
        total: Duration::from_mins(5),
        tries: 6,
    };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn after(seconds: f64) -> Next {
        Next::After(Duration::from_secs_f64(seconds))
    }

    fn first(trouble: Trouble, repeat: Repeat) -> Next {
        let so_far = SoFar { troubles: 1, limits: 1, spent: Duration::ZERO };
        next(trouble, repeat, so_far, &PATIENCE, 0.5)
    }

    #[test]
    fn what_may_be_sent_again() {
        use Repeat::{Freely, IfNotDone};
        let stop = Next::GiveUp(None);
        for (trouble, freely, if_not_done) in [
            (Trouble::NotSent, after(0.5), after(0.5)),
            (Trouble::NoAnswer, after(0.5), stop),
            (Trouble::Server(None), after(0.5), stop),
            (Trouble::Server(Some(seconds(7))), after(7.0), stop),
            (Trouble::Limited(None), after(62.5), after(62.5)),
            (Trouble::Limited(Some(seconds(20))), after(22.5), after(22.5)),
            (Trouble::Final, stop, stop),
        ] {
            assert_eq!(first(trouble, Freely), freely, "{trouble:?}");
            assert_eq!(first(trouble, IfNotDone), if_not_done, "{trouble:?}");
        }
    }

    #[test]
    fn waits_double_up_to_half_a_minute_and_are_spread() {
        let waits = |fraction| {
            [1, 2, 3, 4, 5].map(|troubles| {
                let so_far = SoFar { troubles, limits: 0, spent: Duration::ZERO };
                next(Trouble::NotSent, Repeat::Freely, so_far, &PATIENCE, fraction)
            })
        };
        assert_eq!(waits(0.0), [after(0.0); 5]);
        assert_eq!(waits(1.0), [1.0, 2.0, 4.0, 8.0, 16.0].map(after));
        let patient = Patience { tries: u32::MAX, ..PATIENCE };
        let late = SoFar { troubles: 4_000_000, limits: 0, spent: Duration::ZERO };
        assert_eq!(next(Trouble::NotSent, Repeat::Freely, late, &patient, 1.0), after(30.0));
        assert_eq!(next(Trouble::NotSent, Repeat::Freely, late, &patient, f64::NAN), after(15.0));
    }

    #[test]
    fn tries_and_time_have_an_end() {
        let ask = |trouble, troubles, limits, spent| {
            let so_far = SoFar { troubles, limits, spent: seconds(spent) };
            next(trouble, Repeat::Freely, so_far, &PATIENCE, 0.0)
        };
        let stop = Next::GiveUp(None);
        assert_eq!(ask(Trouble::NotSent, 5, 0, 0), after(0.0));
        assert_eq!(ask(Trouble::NotSent, 6, 0, 0), stop);
        assert_eq!(ask(Trouble::NotSent, 1, 0, 300), stop);
        // A rate limit does not use up the tries, but its wait must fit into the time.
        assert_eq!(ask(Trouble::Limited(Some(seconds(10))), 0, 40, 289), after(10.0));
        assert_eq!(
            ask(Trouble::Limited(Some(seconds(10))), 0, 1, 290),
            Next::GiveUp(Some(seconds(10)))
        );
        assert_eq!(ask(Trouble::Limited(None), 0, 2, 0), after(120.0));
        assert_eq!(
            ask(Trouble::Limited(Some(Duration::MAX)), 0, 1, 0),
            Next::GiveUp(Some(Duration::MAX))
        );
    }
}
