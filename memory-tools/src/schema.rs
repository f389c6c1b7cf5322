//! JSON schemas of the tools' arguments and answers, as short as a client needs them.

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// Members without meaning for a model or a validator of JSON.
const DROPPED: [&str; 3] = ["$schema", "title", "format"];

/// Schemas by the type they describe.
type Schemas = HashMap<TypeId, Arc<Map<String, Value>>>;

/// The schema of a tool's arguments, cached since each call needs it.
pub(crate) fn input<T: JsonSchema + 'static>() -> Arc<Map<String, Value>> {
    static MADE: LazyLock<Mutex<Schemas>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || object::<T>(SchemaSettings::draft2020_12().for_deserialize());
    Arc::clone(made.entry(TypeId::of::<T>()).or_insert_with(make))
}

/// A schema without the members that refuse others, since a call refuses these as well.
pub(crate) fn brief(schema: &Map<String, Value>) -> Arc<Map<String, Value>> {
    let mut brief = schema.clone();
    brief.remove("additionalProperties");
    Arc::new(brief)
}

/// The schema of a tool's answer.
pub(crate) fn output<T: JsonSchema>() -> Arc<Map<String, Value>> {
    object::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn object<T: JsonSchema>(settings: SchemaSettings) -> Arc<Map<String, Value>> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    let Value::Object(mut object) = schema else { return Arc::default() };
    // The documentation of the type is the tool's own description.
    object.remove("description");
    object.entry("properties").or_insert_with(|| Map::new().into());
    Arc::new(object)
}

/// Drops meaningless members, and `null` as the second way to leave out an optional member.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for name in DROPPED {
                // A property may have the same name.
                if members.get(name).is_some_and(Value::is_string) {
                    members.remove(name);
                }
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            members.values_mut().for_each(shorten);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Input of a tool.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "its schema is what is tested")]
    struct Asked {
        /// How many.
        #[serde(default)]
        count: Option<u32>,
        title: String,
    }

    #[test]
    fn a_schema_says_what_a_client_needs_and_no_more() {
        let schema = Value::Object((*input::<Asked>()).clone());
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "count": {"description": "How many.", "type": "integer", "minimum": 0},
                "title": {"type": "string"}
            },
            "required": ["title"]
        });
        assert_eq!(schema, expected);
    }
}
