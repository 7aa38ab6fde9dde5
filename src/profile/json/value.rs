//! Small JSON files as a whole, for formats whose parts refer to each other.

use serde_json::{Map, Value};

use super::super::error::{Fault, Reason};
use super::{Json, Next};

/// Deeper values are left out: no small format nests deeper.
const DEPTH_MAX: u32 = 64;
/// Most values of one file.
const VALUES_MAX: u64 = 10_000_000;

/// Reads whole values. Numbers that are not finite become `null`; of a key that stands twice the
/// last counts.
#[derive(Debug, Default)]
pub(in super::super) struct Dom {
    values: u64,
}

impl Dom {
    /// The next value.
    pub(in super::super) fn value(&mut self, json: &mut Json<'_, '_>) -> Result<Value, Fault> {
        self.at_depth(json, 0)
    }

    fn at_depth(&mut self, json: &mut Json<'_, '_>, depth: u32) -> Result<Value, Fault> {
        self.values += 1;
        if self.values > VALUES_MAX {
            let what = "the number of values";
            return Err(json.wrong(Reason::TooLarge { what, limit: VALUES_MAX }));
        }
        if depth > DEPTH_MAX {
            json.skip()?;
            return Ok(Value::Null);
        }
        Ok(match json.peek()? {
            Next::Object => {
                let mut map = Map::new();
                json.object(&mut |json, key| {
                    let value = self.at_depth(json, depth + 1)?;
                    map.insert(key.to_owned(), value);
                    Ok(())
                })?;
                Value::Object(map)
            }
            Next::Array => {
                let mut list = Vec::new();
                json.array(&mut |json| {
                    list.push(self.at_depth(json, depth + 1)?);
                    Ok(())
                })?;
                Value::Array(list)
            }
            Next::Text => Value::String(json.text()?.to_owned()),
            Next::Number => {
                serde_json::Number::from_f64(json.number()?).map_or(Value::Null, Value::Number)
            }
            Next::Word => json.flag()?.map_or(Value::Null, Value::Bool),
        })
    }
}
