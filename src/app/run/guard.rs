//! Keeps a fault of perftrail's own from losing what was measured.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::RunError;

/// Does it; a panic becomes an error. What `act` holds must not be used for more than telling what
/// was there before.
///
/// # Errors
/// When it panics.
pub(super) fn guarded<T>(what: &'static str, act: impl FnOnce() -> T) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(act))
        .map_err(|panic| RunError::Fault { what, said: said(panic.as_ref()) })
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no words").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded("counting", || 3).unwrap(), 3);
        let error = guarded("reading", || -> u32 { panic!("slice {}", 7) }).unwrap_err();
        assert!(error.to_string().starts_with("reading met a fault"), "{error}");
        assert!(error.to_string().contains("slice 7"), "{error}");
        assert!(!error.is_usage());
    }
}
