//! Members of a source's values that a message has no field for: kept in its metadata, or counted by name.

use memory_core::{Json, Message, Role, Timestamp};
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

/// The message with the model that spoke it, if it is the model's.
pub(crate) fn by_model(message: Message, model: Option<&str>) -> Message {
    match model.filter(|_| message.role == Role::Assistant) {
        Some(model) => message.spoken_by(model),
        None => message,
    }
}

/// A time as text, or in seconds or milliseconds since 1970.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    if let Some(text) = value.as_str() {
        return text.parse().ok();
    }
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
    let millis = if number < SECONDS { number * 1e3 } else { number };
    #[expect(clippy::cast_possible_truncation, reason = "clamped by the cast")]
    let millis = millis.round() as i64;
    Some(Timestamp::from_millis(millis))
}

/// Numbers below are seconds since 1970: they end in the year 5138.
const SECONDS: f64 = 1e11;

/// Metadata member of a message with the identity of its sender in a group, as OpenClaw records it.
const SENDER: &str = "sender";
/// Members of an identity: name in the source and name in the metadata, the best for display first.
const IDENTITY: [(&str, &str); 3] = [("senderName", "name"), ("senderUsername", "username"), ("senderId", "id")];

/// Adds the sender to a message: the speaker is the best name, and the metadata hold the whole identity.
pub(crate) fn said_by(mut message: Message, identity: &Value) -> Message {
    let member = |(from, to): (&str, &str)| {
        let text = identity[from].as_str()?.trim();
        (!text.is_empty()).then(|| (to.to_owned(), Value::from(text)))
    };
    let members: Map<String, Value> = IDENTITY.into_iter().filter_map(member).collect();
    if let Some(name) = members.values().next().and_then(Value::as_str) {
        message.speaker = Some(name.to_owned());
        message.metadata.insert(SENDER.to_owned(), Json::from_value(&members.into()));
    }
    message
}
