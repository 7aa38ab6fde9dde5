//! The JSON Schema of the file, made from the table of keys. It describes the file as written.

use serde_json::{Map, Value, json};

use super::keys::{self, Key, Kind, Table};
use crate::model::names::METRIC_NAME_MAX;

/// The schema's own version: it changes when a file that was right becomes wrong.
pub const VERSION: u32 = 1;

const NAME: &str = "^[A-Za-z_][A-Za-z0-9_-]{0,39}$";
const DURATION: &str =
    r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)\s*)+$";

/// The whole schema.
pub fn schema() -> Value {
    let mut root = table(&keys::TOP);
    let mut definitions = Map::new();
    for one in keys::ALL {
        definitions.insert(definition(one), table(one));
    }
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("perftrail.toml"));
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

/// The name under which a table is defined.
fn definition(table: &Table) -> String {
    table.written.trim_matches(['[', ']']).replace('.', "_").to_ascii_lowercase()
}

fn reference(table: &Table) -> Value {
    json!({ "$ref": format!("#/$defs/{}", definition(table)) })
}

fn table(table: &Table) -> Value {
    let properties: Map<_, _> =
        table.keys.iter().map(|key| (key.name.to_owned(), described(key))).collect();
    let either = table.written == keys::JOB.written;
    let required: Vec<_> = table
        .keys
        .iter()
        .filter(|key| key.default.is_empty() && !table.written.is_empty())
        .filter(|key| !(either && matches!(key.name, "run" | "step")))
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": table.about,
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some(schema) = schema.as_object_mut() {
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if either {
            let one = json!([{ "required": ["run"] }, { "required": ["step"] }]);
            schema.insert("oneOf".to_owned(), one);
        }
    }
    schema
}

fn described(key: &Key) -> Value {
    let mut schema = value(&key.kind);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(key.meaning));
        // A default in words is no JSON; what is written as TOML here reads as JSON too.
        if let Ok(default) = serde_json::from_str::<Value>(key.default) {
            schema.insert("default".to_owned(), default);
        }
    }
    schema
}

fn value(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::Regex => json!({ "type": "string" }),
        Kind::Glob => json!({ "type": "string", "minLength": 1 }),
        Kind::Name => json!({ "type": "string", "pattern": NAME }),
        Kind::Truth => json!({ "type": "boolean" }),
        Kind::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration => json!({ "type": "string", "pattern": DURATION }),
        Kind::Size => json!({ "type": ["string", "integer"], "minimum": 0 }),
        Kind::Threshold => json!({
            "type": ["string", "number", "array"],
            "items": { "type": ["string", "number"] },
            "minItems": 1,
            "maxItems": 2,
        }),
        Kind::Date => json!({ "type": "string", "format": "date" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Command => json!({
            "type": ["string", "array"],
            "items": { "type": "string" },
            "minItems": 1,
            "minLength": 1,
        }),
        Kind::Words => json!({ "type": ["string", "array"], "items": { "type": "string" } }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Kind::List(of) => json!({ "type": "array", "items": value(of) }),
        Kind::Map(of) => json!({ "type": "object", "additionalProperties": value(of) }),
        Kind::Table(table) => reference(table),
        Kind::Tables(table) => json!({ "type": "array", "items": reference(table) }),
        Kind::Named(table) => json!({
            "type": "object",
            "propertyNames": { "maxLength": METRIC_NAME_MAX },
            "additionalProperties": reference(table),
        }),
        Kind::Params(table) => json!({
            "type": "object",
            "propertyNames": { "pattern": NAME },
            "additionalProperties": { "anyOf": [value(&Kind::Scalar), reference(table)] },
        }),
    }
}
