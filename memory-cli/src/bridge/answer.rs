//! Parts of answers, which are JSON objects.

use serde_json::{Value, json};

use super::message::StrandsMessage;

/// The answer that leaves a list as it is.
pub(super) fn unchanged(messages: &[StrandsMessage]) -> Value {
    let from: Vec<_> = (0..messages.len()).collect();
    json!({"messages": messages, "from": from, "notices": []})
}

/// An answer with one more member.
pub(super) fn with(mut answer: Value, name: &str, value: Value) -> Value {
    if let Some(members) = answer.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    answer
}

/// An answer with the members of another object.
pub(super) fn merged(mut answer: Value, other: Value) -> Value {
    if let (Some(members), Value::Object(others)) = (answer.as_object_mut(), other) {
        members.extend(others);
    }
    answer
}
