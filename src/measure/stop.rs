//! Asking a measurement to stop, by hand or by signal.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::MeasureError;
use super::system;

/// Why to stop. The job gets the same signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Somebody pressed Ctrl-C, or the service cancels.
    Interrupt,
    /// Somebody asked this process to end, or the process that started it is gone.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl StopCause {
    pub(super) const fn signal(self) -> Signal {
        match self {
            Self::Interrupt => Signal::INT,
            Self::Terminate => Signal::TERM,
            Self::HangUp => Signal::HUP,
        }
    }

    /// The signal's name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

/// A handle by which a run is asked to stop. Copies share one state, which is never reset: who
/// asked once means everything that follows as well.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    inner: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    cause: Option<StopCause>,
    requests: u32,
    wake: Option<Box<dyn Fn(StopCause) + Send>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("cause", &self.cause)
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

impl Stop {
    /// A handle that nobody has used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop. Asking again makes it harsher: SIGTERM at once, then SIGKILL.
    pub fn request(&self, cause: StopCause) {
        self.with(|state| {
            state.cause.get_or_insert(cause);
            state.requests = state.requests.saturating_add(1);
            if let Some(wake) = &state.wake {
                wake(cause);
            }
        });
    }

    /// Why to stop; `None` while nobody asked.
    pub fn cause(&self) -> Option<StopCause> {
        self.with(|state| state.cause)
    }

    /// How often somebody asked.
    pub fn requests(&self) -> u32 {
        self.with(|state| state.requests)
    }

    /// Calls `wake` with each request from now on, and at once where somebody has asked already.
    /// It must not ask this handle anything.
    pub(super) fn on_request(&self, wake: Option<Box<dyn Fn(StopCause) + Send>>) {
        self.with(|state| {
            if let (Some(cause), Some(wake)) = (state.cause, &wake) {
                wake(cause);
            }
            state.wake = wake;
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on SIGINT, SIGTERM and SIGHUP ask through this handle instead of ending the
    /// process, for as long as the process lives.
    ///
    /// # Errors
    /// When the system refuses the handlers or their thread.
    pub fn listen_to_signals(&self) -> Result<(), MeasureError> {
        let refused = |source| MeasureError::System { what: "signal handlers", source };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(refused)?;
        let stop = self.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    stop.request(match signal {
                        SIGINT => StopCause::Interrupt,
                        SIGHUP => StopCause::HangUp,
                        _ => StopCause::Terminate,
                    });
                }
            })
            .map_err(refused)?;
        Ok(())
    }

    /// From now on this process gets SIGTERM when the process that started it ends: in CI, shells
    /// do not forward signals, and a cancelled step would leave us running. Called from the main
    /// thread, after [`Self::listen_to_signals`]. Elsewhere than on Linux it does nothing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn follow_parent(&self, started_by: Option<u32>) -> Result<(), MeasureError> {
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).map_err(
                |source| MeasureError::System {
                    what: "a signal when its parent ends",
                    source: io::Error::from(source),
                },
            )?;
            // The parent may have ended before the call: then the signal never comes.
            if parent_now() != started_by {
                self.request(StopCause::Terminate);
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = started_by;
        Ok(())
    }
}

/// From now on a file that outgrows the limit of this process (`ulimit -f`) is an error of the write,
/// not the end of the process. What it starts begins with the default again.
pub fn outlive_file_limits() {
    system::outlive_file_limits();
}

/// The process that started this one; taken early in `main`, it lets [`Stop::follow_parent`] see
/// that the parent ended meanwhile. `None` when it lives outside this PID namespace.
pub fn parent_now() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_first_cause_stays_and_everybody_hears() {
        let stop = Stop::new();
        let heard = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&heard);
        stop.on_request(Some(Box::new(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        })));
        assert_eq!((stop.cause(), stop.requests()), (None, 0));
        stop.clone().request(StopCause::Interrupt);
        stop.request(StopCause::Terminate);
        assert_eq!((stop.cause(), stop.requests()), (Some(StopCause::Interrupt), 2));
        assert_eq!(heard.load(Ordering::SeqCst), 2);
    }
}
