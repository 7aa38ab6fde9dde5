//! An object of numbers: seconds by function, figures of a run. The file does not say units; the
//! end of a name may (`_sec`, `_MB`).
//!
//! What is made of Scalene's output keeps its names: there `max_footprint_mb` is MiB, although
//! `mb` elsewhere is a million bytes.

use serde_json::Value;

use super::super::super::error::{Fault, Reason};
use super::super::super::json::{Dom, Json};
use super::super::super::reading::Reading;
use super::{Context, MIB};
use crate::model::metric::{Better, Unit};
use crate::model::units::from_name_suffix;

/// An object with more numbers is data, not figures of a run.
const NUMBERS_MAX: usize = 64;

pub(super) fn read(
    _: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let object = file.as_object().filter(|object| !object.is_empty());
    let Some(object) = object else {
        return Err(json.wrong(Reason::Missing { what: "an object of numbers" }));
    };
    if object.len() > NUMBERS_MAX {
        let limit = NUMBERS_MAX as u64;
        return Err(json.wrong(Reason::TooLarge { what: "the number of figures", limit }));
    }
    let mut without = false;
    for (name, value) in object {
        let Some(value) = Value::as_f64(value) else { continue };
        let (unit, factor) = match name.as_str() {
            "max_footprint_mb" => (Unit::Bytes, MIB),
            _ => from_name_suffix(name).unwrap_or((Unit::None, 1.0)),
        };
        without |= unit == Unit::None;
        if let Some(metric) = reading.exact(name, value * factor, unit) {
            metric.better = Better::Neither;
            "read".clone_into(&mut metric.method);
        }
    }
    if without {
        reading.note(
            "numbers without a unit in their names have none; a `read` rule can name it (seconds by function: `as = \"phases\"`)",
        );
    }
    Ok(())
}
