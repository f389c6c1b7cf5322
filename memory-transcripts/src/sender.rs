//! The sender of a message in a group, as OpenClaw records it.

use memory_core::{Json, Message};
use serde_json::{Map, Value};

/// Metadata member of a message with the identity of its sender.
const SENDER: &str = "sender";
/// Members of an identity: name in the source and name in the metadata, the best for display first.
const MEMBERS: [(&str, &str); 3] = [("senderName", "name"), ("senderUsername", "username"), ("senderId", "id")];

/// Adds the sender to a message: the speaker is the best name, and the metadata hold the whole identity.
pub(crate) fn said_by(mut message: Message, identity: &Value) -> Message {
    let member = |(from, to): (&str, &str)| {
        let text = identity.get(from)?.as_str()?.trim();
        (!text.is_empty()).then(|| (to.to_owned(), Value::from(text)))
    };
    let members: Map<String, Value> = MEMBERS.into_iter().filter_map(member).collect();
    if let Some(name) = members.values().next().and_then(Value::as_str) {
        message.speaker = Some(name.to_owned());
        message.metadata.insert(SENDER.to_owned(), Json::from_value(&members.into()));
    }
    message
}
