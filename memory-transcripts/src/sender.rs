//! Who of a group said a message, as OpenClaw records it.

use memory_core::{Json, Message};
use serde_json::{Map, Value};

/// The member of a message's metadata that holds the identity of its sender.
const SENDER: &str = "sender";
/// The members of an identity, as the source names them and as they are kept, the best name first.
const MEMBERS: [(&str, &str); 3] = [("senderName", "name"), ("senderUsername", "username"), ("senderId", "id")];

/// The message with its sender: the speaker is the best name there is, and the whole identity is in the metadata.
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
