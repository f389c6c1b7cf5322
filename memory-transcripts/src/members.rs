//! Members of a source's values that nothing here reads: they are kept beside the message, or counted by name.

use memory_core::Message;
use serde_json::{Map, Value};

use crate::exact;

/// The member of a message's metadata that holds those of the source's message.
const MEMBERS: &str = "members";

/// The members of a value that say something and are none of `taken`.
pub(crate) fn others(value: &Value, taken: &[&str]) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    let others = members.filter(|(name, value)| !taken.contains(&name.as_str()) && says_something(value));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// False for what stands where there is nothing.
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
