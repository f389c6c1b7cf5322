//! Messages to and from JSON in the shape of Strands Agents, whose blocks are those of Amazon Bedrock's Converse API.
//!
//! Bytes are wrapped as Strands' sessions do: `{"__bytes_encoded__": true, "data": BASE64}`.

mod media;
mod read;
mod write;

use serde_json::Value;

use crate::{Json, Message, json::InvalidMessage};

/// The metadata member for content that only Strands has: members of the message, and blocks that could not be written
/// back unchanged.
const STRANDS: &str = "strands";

/// Reads `{"role", "content": [block…], …}`.
///
/// The message's metadata keeps other members, such as `metadata` and `tracking_id`, and blocks with more content than
/// ours hold: [`message_to_strands`] writes them back unchanged. A block of an unknown kind is
/// [kept](crate::ContentBlock::Unknown).
///
/// # Errors
/// When the role is missing or unknown, or `content` is not a list of objects; the error names the member.
pub fn message_from_strands(value: &Value) -> Result<Message, InvalidMessage> {
    let mut message = read::message(value)?;
    let beside = read::beside(value, &message);
    if !beside.is_empty() {
        message.metadata.insert(STRANDS.to_owned(), Json::from_value(&beside.into()));
    }
    Ok(message)
}

/// Writes a message in the shape that [`message_from_strands`] reads; one that it read is written exactly.
///
/// A role that Strands lacks becomes the user's. A block that Strands lacks is written as text.
#[must_use]
pub fn message_to_strands(message: &Message) -> Value {
    write::message(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{ContentBlock, testing::messages};

    fn survives(value: &Value) -> Message {
        let message = message_from_strands(value).unwrap();
        assert_eq!(&message_to_strands(&message), value);
        message
    }

    #[test]
    fn a_conversation_with_tools_is_understood_and_written_back_exactly() {
        let call = survives(&json!({"role": "assistant", "tracking_id": "7f", "content": [
            {"text": "Let me look."},
            {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Bergen", "days": 3}}},
        ]}));
        assert_eq!(call.tool_calls().collect::<Vec<_>>(), ["t1"]);
        let result = survives(&json!({"role": "user", "content": [
            {"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "no"}, {"json": {"code": 5}}]}},
        ]}));
        assert_eq!(result.tool_results().collect::<Vec<_>>(), ["t1"]);
        assert!(matches!(result.content[0], ContentBlock::ToolResult { is_error: true, .. }));
    }

    #[test]
    fn unknown_blocks_and_metadata_survive_the_round_trip() {
        let message = survives(&json!({
            "role": "assistant",
            "content": [
                {"cachePoint": {"type": "default", "ttl": "1h"}},
                {"text": "with more", "citations": [1]},
                {"toolUse": {"toolUseId": "t", "name": "n", "input": {}, "reasoningSignature": "s"}},
                {"toolResult": {"toolUseId": "t", "content": []}},
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"reasoningContent": {"redactedContent": {"__bytes_encoded__": true, "data": "AAEC"}}},
                {"image": {"format": "png", "source": {"bytes": {"__bytes_encoded__": true, "data": "AAEC"}}}},
                {"image": {"format": "png", "source": {"location": {"type": "s3", "uri": "s3://b/k"}}}},
                {"document": {"format": "pdf", "name": "plan", "source": {"bytes": {"__bytes_encoded__": true, "data": "AA=="}}}},
                {"video": {"format": "mp4", "source": {"bytes": {"__bytes_encoded__": true, "data": ""}}}},
            ],
            "metadata": {"usage": {"inputTokens": 3}, "custom": {"pinned": true}},
            "tracking_id": "3a",
            "other": [1.5, null],
        }));
        assert_eq!(message.tool_calls().collect::<Vec<_>>(), ["t"], "a call with more in it is still a call");
        assert!(matches!(message.content[6], ContentBlock::Image(_)));
    }

    #[test]
    fn what_is_no_message_is_an_error_that_names_the_member() {
        let check = |value: Value, at: &str| assert_eq!(message_from_strands(&value).unwrap_err().at, at, "{value}");
        check(json!([]), "message");
        check(json!({"content": []}), "role");
        check(json!({"role": "robot", "content": []}), "role");
        check(json!({"role": "user"}), "content");
        check(json!({"role": "user", "content": "text"}), "content");
        check(json!({"role": "user", "content": ["text"]}), "content[0]");
    }

    proptest! {
        /// Whatever a log holds can be shown to an agent, with every call and result.
        #[test]
        fn every_message_can_be_written(message in messages()) {
            let written = message_to_strands(&message);
            let read = message_from_strands(&written).unwrap();
            prop_assert!(read.tool_calls().eq(message.tool_calls()));
            prop_assert!(read.tool_results().eq(message.tool_results()));
            prop_assert_eq!(message_to_strands(&read), written);
        }
    }
}
