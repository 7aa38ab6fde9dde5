//! The `repository_dispatch`: tells a repository's workflows that something happened.

use serde_json::{Map, Value, json};

use super::Client;
use super::call::Call;
use super::error::{DispatchProblem, Error};
use super::repository::check_repository;

const EVENT_TYPE_MAX: usize = 100;
const KEYS_MAX: usize = 10;
const PAYLOAD_MAX: usize = 65_535;

impl Client {
    /// Sends a `repository_dispatch`. It is sent once: when it is not known whether GitHub took
    /// it, [`Error::unsure`] is true.
    ///
    /// # Errors
    /// [`Error::Dispatch`] or [`Error::Name`] before anything is sent; [`Error::NotFound`] or
    /// [`Error::Forbidden`] when the token may not write the repository's contents.
    pub fn dispatch(
        &self,
        owner: &str,
        name: &str,
        event_type: &str,
        payload: &Map<String, Value>,
    ) -> Result<(), Error> {
        check_repository(owner, name)?;
        check_dispatch(event_type, payload).map_err(|problem| Error::Dispatch { problem })?;
        let body = json!({"event_type": event_type, "client_payload": payload});
        let doing = format!("send the repository_dispatch to {owner}/{name}");
        let call = Call::post(&["repos", owner, name, "dispatches"], body, doing);
        self.wire.ask(&call).map(drop)
    }
}

fn check_dispatch(event_type: &str, payload: &Map<String, Value>) -> Result<(), DispatchProblem> {
    let characters = event_type.chars().count();
    if !(1..=EVENT_TYPE_MAX).contains(&characters) {
        return Err(DispatchProblem::EventType { characters });
    }
    let keys = payload.len();
    if keys > KEYS_MAX {
        return Err(DispatchProblem::Keys { keys });
    }
    let characters = Value::Object(payload.clone()).to_string().chars().count();
    if characters > PAYLOAD_MAX {
        return Err(DispatchProblem::Length { characters });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(keys: usize, length: usize) -> Map<String, Value> {
        (0..keys).map(|key| (format!("k{key}"), Value::String("é".repeat(length)))).collect()
    }

    #[test]
    fn github_s_limits_hold() {
        let long = "x".repeat(101);
        // {"k0":"…"} is nine characters around the value.
        let fits = PAYLOAD_MAX - 9;
        for (event_type, payload, want) in [
            ("new-results", payload(10, 3), Ok(())),
            (&long[..100], payload(0, 0), Ok(())),
            (&long, payload(0, 0), Err(DispatchProblem::EventType { characters: 101 })),
            ("", payload(0, 0), Err(DispatchProblem::EventType { characters: 0 })),
            ("e", payload(11, 3), Err(DispatchProblem::Keys { keys: 11 })),
            ("e", payload(1, fits), Ok(())),
            ("e", payload(1, fits + 1), Err(DispatchProblem::Length { characters: 65_536 })),
        ] {
            assert_eq!(check_dispatch(event_type, &payload), want, "{event_type}");
        }
    }
}
