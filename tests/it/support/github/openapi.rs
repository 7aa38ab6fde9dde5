//! Holds requests against GitHub's own description of its API, where `PERFTRAIL_OPENAPI` names the
//! file (`generated/api.github.com.json` of the npm package `@octokit/openapi`).

use std::sync::OnceLock;
use std::{env, fs};

use serde_json::Value;

/// What is wrong with a request; nothing where there is no description.
pub(crate) fn offences(method: &str, path: &str, body: Option<&Value>) -> Vec<String> {
    static DESCRIPTION: OnceLock<Option<Value>> = OnceLock::new();
    let description = DESCRIPTION.get_or_init(|| {
        let file = env::var_os("PERFTRAIL_OPENAPI")?;
        let text = fs::read(&file).expect("PERFTRAIL_OPENAPI names a file");
        Some(serde_json::from_slice(&text).expect("PERFTRAIL_OPENAPI names a description"))
    });
    match description {
        Some(description) => Description(description).offences(method, path, body),
        None => Vec::new(),
    }
}

struct Description<'a>(&'a Value);

impl<'a> Description<'a> {
    fn offences(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<String> {
        // By numeric id: a redirect's target, which the description leaves out.
        let path = match path.strip_prefix("/repositories/") {
            Some(rest) => format!("/repos/o/{rest}"),
            None => path.to_owned(),
        };
        let Some(operation) = self.operation(method, &path) else {
            return vec![format!("the description has no {method} {path}")];
        };
        let wanted = self.follow(&operation["requestBody"]);
        let schema = &wanted["content"]["application/json"]["schema"];
        let mut found = Vec::new();
        match body {
            Some(body) if schema.is_null() => found.push(format!("{path} takes no body: {body}")),
            Some(body) => self.check(schema, body, "body", &mut found),
            None if wanted["required"] == true => found.push(format!("{path} wants a body")),
            None => {}
        }
        found
    }

    /// The operation whose path matches in the most literal segments.
    fn operation(&self, method: &str, path: &str) -> Option<&'a Value> {
        let parts: Vec<&str> = path.split('/').collect();
        let literal = |template: &str| {
            let wanted: Vec<&str> = template.split('/').collect();
            let fits = |(want, part): (&&str, &&str)| want.starts_with('{') || want == part;
            (wanted.len() == parts.len() && wanted.iter().zip(&parts).all(fits))
                .then(|| wanted.iter().filter(|want| !want.starts_with('{')).count())
        };
        let paths = self.0["paths"].as_object()?;
        let (_, item) = paths
            .iter()
            .filter_map(|(template, item)| Some((literal(template)?, item)))
            .max_by_key(|(literals, _)| *literals)?;
        item.get(method.to_lowercase())
    }

    fn follow(&self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => self.0.pointer(pointer).expect("a reference that leads somewhere"),
            None => value,
        }
    }

    /// The rules that GitHub's request bodies use.
    fn check(&self, schema: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let schema = self.follow(schema);
        if value.is_null() && schema["nullable"] == true {
            return;
        }
        for either in ["oneOf", "anyOf"] {
            if let Some(options) = schema[either].as_array() {
                let fits = |option| {
                    let mut found = Vec::new();
                    self.check(option, value, at, &mut found);
                    found.is_empty()
                };
                if !options.iter().any(fits) {
                    found.push(format!("{at} fits none of {either}"));
                }
            }
        }
        let of_type = match schema["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            _ => true,
        };
        if !of_type {
            found.push(format!("{at} is no {}: {value}", schema["type"]));
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            found.push(format!("{at} is none of {allowed:?}"));
        }
        let length = match value {
            Value::String(text) => Some((text.chars().count(), "minLength", "maxLength")),
            Value::Array(items) => Some((items.len(), "minItems", "maxItems")),
            Value::Object(keys) => Some((keys.len(), "minProperties", "maxProperties")),
            _ => None,
        };
        if let Some((length, min, max)) = length {
            let bound = |name: &str| schema[name].as_u64().and_then(|n| usize::try_from(n).ok());
            if bound(min).is_some_and(|min| length < min)
                || bound(max).is_some_and(|max| length > max)
            {
                found.push(format!("{at} has a length of {length}"));
            }
        }
        self.check_parts(schema, value, at, found);
    }

    fn check_parts(&self, schema: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        for item in value.as_array().into_iter().flatten() {
            self.check(&schema["items"], item, &format!("{at}[]"), found);
        }
        let Some(keys) = value.as_object() else { return };
        for required in schema["required"].as_array().into_iter().flatten() {
            if required.as_str().is_some_and(|name| !keys.contains_key(name)) {
                found.push(format!("{at} has no {required}"));
            }
        }
        for (name, part) in keys {
            let at = format!("{at}.{name}");
            match schema["properties"].get(name) {
                Some(known) => self.check(known, part, &at, found),
                // GitHub lets unknown keys pass and ignores them: here they are slips.
                None if schema["properties"].is_object()
                    && !schema["additionalProperties"].is_object()
                    && schema["additionalProperties"] != true =>
                {
                    found.push(format!("{at} is unknown"));
                }
                None => {}
            }
        }
    }
}

#[test]
fn a_description_is_held_against_requests() {
    let description = serde_json::json!({
        "paths": {
            "/repos/{o}/{n}/dispatches": {"post": {"requestBody": {
                "required": true,
                "content": {"application/json": {"schema": {"$ref": "#/components/dispatch"}}},
            }}},
            "/repos/{o}/{n}/{other}": {"get": {}},
        },
        "components": {"dispatch": {
            "type": "object",
            "required": ["event_type"],
            "properties": {
                "event_type": {"type": "string", "maxLength": 4},
                "client_payload": {"type": "object", "additionalProperties": true},
            },
        }},
    });
    let offences = |method: &str, path: &str, body: Option<Value>| {
        Description(&description).offences(method, path, body.as_ref())
    };
    let path = "/repos/a/b/dispatches";
    let fine = serde_json::json!({"event_type": "e", "client_payload": {"any": 1}});
    assert_eq!(offences("POST", path, Some(fine.clone())), [""; 0]);
    assert_eq!(offences("POST", "/repositories/1/dispatches", Some(fine.clone())), [""; 0]);
    assert_eq!(offences("GET", "/repos/a/b/c", None), [""; 0]);
    insta::assert_debug_snapshot!([
        offences("POST", path, None),
        offences("PUT", path, None),
        offences("GET", "/nothing", None),
        offences("GET", "/repos/a/b/c", Some(fine)),
        offences("POST", path, Some(serde_json::json!({"event_type": "eeeee", "x": 1}))),
        offences("POST", path, Some(serde_json::json!({"client_payload": []}))),
    ], @r#"
    [
        [
            "/repos/a/b/dispatches wants a body",
        ],
        [
            "the description has no PUT /repos/a/b/dispatches",
        ],
        [
            "the description has no GET /nothing",
        ],
        [
            "/repos/a/b/c takes no body: {\"event_type\":\"e\",\"client_payload\":{\"any\":1}}",
        ],
        [
            "body.event_type has a length of 5",
            "body.x is unknown",
        ],
        [
            "body has no \"event_type\"",
            "body.client_payload is no \"object\": []",
        ],
    ]
    "#);
}
