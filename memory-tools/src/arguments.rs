//! Arguments as models give them, fitted to a tool's schema.

use memory::text::one_line;
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Arguments fitted to the schema of a tool: an optional one may be `null`, an integer may be written as `10.0` or
/// `"10"`, a list as its JSON in a text, and a list of one text as that text.
///
/// # Errors
/// If one has another type, in words for the model.
pub(crate) fn fitted(
    mut arguments: Map<String, Value>,
    schema: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    arguments.retain(|_, value| !value.is_null());
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in &mut arguments {
        let Some(property) = properties.and_then(|all| all.get(name)) else { continue };
        let Some(kind) = property.get("type").and_then(Value::as_str) else { continue };
        match kind {
            "integer" => whole(value),
            "array" => {
                if let Value::String(text) = value {
                    *value = serde_json::from_str(text).ok().filter(Value::is_array).unwrap_or_else(|| json!([text]));
                }
            }
            _ => {}
        }
        let (is_fit, what) = match kind {
            "integer" if property.get("minimum").and_then(Value::as_u64).is_some() => {
                (value.is_u64(), "a whole number, not below 0")
            }
            "integer" => (value.is_i64() || value.is_u64(), "a whole number"),
            "string" => (value.is_string(), "a text"),
            "boolean" => (value.is_boolean(), "true or false"),
            "array" => (value.is_array(), "a list"),
            _ => (true, ""),
        };
        if !is_fit {
            let given: String = value.to_string().chars().take(80).collect();
            return Err(Failure(format!("{name} is {}: give {what}", one_line(&given))));
        }
        // Bounds are checked when a number is used, and no model counts so far.
        if let Some(most) = property.get("maximum")
            && value.as_u64().is_some_and(|number| number > u64::from(u32::MAX))
        {
            *value = most.clone();
        }
    }
    Ok(arguments)
}

/// Replaces a value that means an integer by the integer.
fn whole(value: &mut Value) {
    let number = match &*value {
        Value::Number(number) if number.is_f64() => number.as_f64(),
        Value::String(text) => text.trim().parse::<u32>().ok().map(f64::from),
        _ => None,
    };
    // Up to this bound each integer has a float of its own.
    if let Some(number) = number.filter(|number| number.fract() == 0.0 && number.abs() < 9e15) {
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
        let whole = number as i64;
        *value = u64::try_from(whole).map_or_else(|_| whole.into(), Value::from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(arguments: Value) -> Result<Value, String> {
        let schema = json!({"properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "line": {"type": "integer"},
            "query": {"type": "string"},
            "tags": {"type": "array"},
        }});
        let (Value::Object(arguments), Value::Object(schema)) = (arguments, schema) else { unreachable!() };
        fitted(arguments, &schema).map(Value::Object).map_err(|Failure(why)| why)
    }

    #[test]
    fn arguments_are_taken_as_models_write_them() {
        for (given, taken) in [
            (json!({"limit": null, "query": "x"}), json!({"query": "x"})),
            (json!({"limit": 10.0, "line": -1.0}), json!({"limit": 10, "line": -1})),
            (json!({"limit": "10"}), json!({"limit": 10})),
            (json!({"limit": 99_999_999_999_u64}), json!({"limit": 100})),
            (json!({"tags": "home"}), json!({"tags": ["home"]})),
            (json!({"tags": "[\"home\", \"[work]\"]"}), json!({"tags": ["home", "[work]"]})),
            (json!({"tags": "[work] home"}), json!({"tags": ["[work] home"]})),
            (json!({"other": [null]}), json!({"other": [null]})),
        ] {
            assert_eq!(fit(given), Ok(taken));
        }
        for (given, why) in [
            (json!({"limit": -5}), "limit is -5: give a whole number, not below 0"),
            (json!({"limit": 1.5}), "limit is 1.5: give a whole number, not below 0"),
            (json!({"line": "A190"}), "line is \"A190\": give a whole number"),
            (json!({"query": 5}), "query is 5: give a text"),
            (json!({"tags": {"a": 1}}), "tags is {\"a\":1}: give a list"),
        ] {
            assert_eq!(fit(given), Err(why.to_owned()));
        }
    }
}
