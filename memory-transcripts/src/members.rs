//! Members of a source's values that no reader knows: kept in the message's metadata, or counted by name.

use memory_core::Message;
use serde_json::{Map, Value};

use crate::exact;

/// Metadata member of a message that holds the unknown members of the source's message.
const MEMBERS: &str = "members";

/// Members of a value that are not empty and not among `taken`.
pub(crate) fn others(value: &Value, taken: &[&str]) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    let others = members.filter(|(name, value)| !taken.contains(&name.as_str()) && says_something(value));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// False for an empty value.
pub(crate) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Keeps members in the metadata of their message.
pub(crate) fn keep(message: &mut Message, members: Map<String, Value>) {
    if !members.is_empty() {
        message.metadata.insert(MEMBERS.to_owned(), exact::json(&members.into()));
    }
}
