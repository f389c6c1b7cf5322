//! Messages to and from JSON, content blocks in the shape of Anthropic's Messages API.
//!
//! There is one shape and two spellings. A [`Value`] is for exchange between programs: JSON from outside becomes
//! values, and reading is lenient. Raw text is exact: JSON from outside stays byte for byte, quoted where necessary, so
//! that the read message has the leaf of the written one.

mod quoted;
mod read;
mod source;
mod value;
mod write;

#[cfg(feature = "serde")]
use serde::{Serialize, Serializer};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

#[cfg(feature = "serde")]
use self::write::Block;
use self::{
    read::message,
    value::Raw,
    write::{Spelling, WrittenMessage},
};
#[cfg(feature = "serde")]
use crate::ContentBlock;
use crate::Message;

/// Reason why JSON is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct InvalidMessage {
    /// The member, as in `content[2].input`.
    pub at: String,
    /// The fault.
    pub why: String,
}

/// Members of an object that belong to the caller, by name.
pub type OtherMembers = Vec<(String, Box<RawValue>)>;

/// Reads `{"role", "content", "speaker"?, "key"?, "keep_out_of_summaries"?, "metadata"?}`.
///
/// A member of another name is refused rather than lost. `content` is a text or a list of blocks. A block of an unknown
/// type, or of a known one with foreign members, is kept unchanged.
///
/// # Errors
/// When a member is missing, unknown or of the wrong kind; the error names it.
pub fn message_from_json(value: &Value) -> Result<Message, InvalidMessage> {
    let raw =
        to_raw_value(value).map_err(|error| InvalidMessage { at: "message".to_owned(), why: error.to_string() })?;
    message(Raw { json: &raw, exact: false, foreign: false }, &[]).map(|(message, _)| message)
}

/// Reads the same from text, where JSON from outside (metadata, tool inputs, unknown blocks) is kept byte for byte: no
/// number is rounded.
///
/// In the shape of OpenAI's Chat Completions API, an `image_url` block becomes an image, `tool_calls` of an assistant
/// become calls after the content, and a message with a `tool_call_id` becomes the result of that call. An unknown
/// member of the message is ignored if it is `null`, as `refusal` is there.
///
/// Members named in `beside` are the caller's, and are returned unchanged and in order.
///
/// # Errors
/// As [`message_from_json`]; also when a member of the message, its metadata or a block is given twice.
pub fn message_with_members(text: &RawValue, beside: &[&str]) -> Result<(Message, OtherMembers), InvalidMessage> {
    message(Raw { json: text, exact: false, foreign: true }, beside)
}

/// Writes a message in the shape that [`message_from_json`] reads.
#[must_use]
pub fn message_to_json(message: &Message) -> Value {
    serde_json::to_value(WrittenMessage { message, spelling: Spelling::Values }).unwrap_or_default()
}

/// Serializes a message in the shape of [`message_to_json`].
#[cfg(feature = "serde")]
pub(crate) fn serialize_message<S: Serializer>(message: &Message, serializer: S) -> Result<S::Ok, S::Error> {
    WrittenMessage { message, spelling: Spelling::Values }.serialize(serializer)
}

/// Serializes a block as in the content of a message.
#[cfg(feature = "serde")]
pub(crate) fn serialize_block<S: Serializer>(block: &ContentBlock, serializer: S) -> Result<S::Ok, S::Error> {
    Block(block, Spelling::Values).serialize(serializer)
}

/// Reads a block as in the content of a message.
#[cfg(feature = "serde")]
pub(crate) fn block_from_json(value: &Value) -> Result<ContentBlock, InvalidMessage> {
    let raw = to_raw_value(value).map_err(|error| InvalidMessage { at: "block".to_owned(), why: error.to_string() })?;
    read::block(Raw { json: &raw, exact: false, foreign: false }, "block", 0)
}

/// Reads the output of [`message_to_raw_json`]: exactly the message that was written.
///
/// # Errors
/// As [`message_from_json`].
pub fn message_from_raw_json(raw: &RawValue) -> Result<Message, InvalidMessage> {
    message(Raw { json: raw, exact: true, foreign: false }, &[]).map(|(message, _)| message)
}

/// Writes a message on one line. `docs/format.md`, section "Export", specifies when JSON from outside is quoted.
///
/// # Errors
/// No error is known; the type is that of the printer.
pub fn message_to_raw_json(message: &Message) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&WrittenMessage { message, spelling: Spelling::Exact })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{ContentBlock, Json, Media, Role, testing::messages};

    #[test]
    fn a_block_with_members_we_do_not_know_is_kept_whole() {
        let cached = json!({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}});
        let message = message_from_json(&json!({"role": "user", "content": [cached.clone()]})).unwrap();
        assert_eq!(message.text(), "hi");
        assert_eq!(message_to_json(&message)["content"][0], cached);
    }

    #[test]
    fn errors_name_the_member() {
        let check = |value: Value, at: &str| assert_eq!(message_from_json(&value).unwrap_err().at, at, "{value}");
        check(json!([]), "message");
        check(json!({"content": "x"}), "role");
        check(json!({"role": "robot", "content": "x"}), "role");
        check(json!({"role": "user"}), "content");
        check(json!({"role": "user", "content": [{"text": "x"}]}), "content[0].type");
        check(
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": 3}]}),
            "content[0].content",
        );
        check(json!({"role": "user", "content": "x", "key": ""}), "key");
        check(json!({"role": "assistant", "content": null, "tool_calls": []}), "tool_calls");
        check(json!({"role": "user", "content": "x", "keep_out_of_summarys": true}), "keep_out_of_summarys");
    }

    fn imported(json: &str) -> Result<Message, InvalidMessage> {
        message_with_members(serde_json::from_str(json).unwrap(), &[]).map(|(message, _)| message)
    }

    #[test]
    fn calls_in_the_shape_of_openai_are_calls_and_their_answers_results() {
        let call = |arguments: &str| {
            let call = json!({"id": "c1", "type": "function", "function": {"name": "sum", "arguments": arguments}});
            imported(&json!({"role": "assistant", "content": null, "tool_calls": [call]}).to_string()).unwrap()
        };
        let input = |message: &Message| match message.content.as_slice() {
            [ContentBlock::ToolUse { id, name, input }] if id == "c1" && name == "sum" => input.as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(input(&call(r#"{"of": [1, 0.10000000000000000001]}"#)), r#"{"of": [1, 0.10000000000000000001]}"#);
        assert_eq!([call(""), call("{\"of")].each_ref().map(input), ["{}", r#""{\"of""#]);
        let said = imported(r#"{"role":"assistant","content":"Wait.","tool_calls":[]}"#).unwrap();
        assert_eq!(said.content, [ContentBlock::Text("Wait.".to_owned())]);

        let answer = imported(r#"{"role":"tool","tool_call_id":"c1","content":"3"}"#).unwrap();
        let content = vec![ContentBlock::Text("3".to_owned())];
        let result = ContentBlock::ToolResult { tool_use_id: "c1".to_owned(), content, is_error: false };
        assert_eq!((answer.role, answer.content), (Role::Tool, vec![result]));

        let fault = |json: &str| imported(json).unwrap_err().at;
        assert_eq!(fault(r#"{"role":"user","content":"x","tool_calls":[{}]}"#), "tool_calls");
        assert_eq!(fault(r#"{"role":"assistant","tool_calls":[{"id":"c1"}]}"#), "tool_calls[0].function");
        assert_eq!(fault(r#"{"role":"user","content":"x","tool_call_id":"c1"}"#), "tool_call_id");
        assert_eq!(fault(r#"{"role":"assistant","tool_calls":null}"#), "content");
    }

    #[test]
    fn a_picture_in_the_shape_of_openai_is_a_picture() {
        let check = |image: &str, expected: Option<Media>| {
            let block = format!(r#"{{"type":"image_url","image_url":{image}}}"#);
            let read = imported(&format!(r#"{{"role":"user","content":[{block}]}}"#)).unwrap();
            let unknown = || ContentBlock::Unknown(Json::new(&block).unwrap());
            assert_eq!(read.content, [expected.map_or_else(unknown, ContentBlock::Image)], "{image}");
            // Blocks that were kept as they came stay so.
            let kept = Message::new(Role::User, vec![unknown()]);
            assert_eq!(message_from_raw_json(&message_to_raw_json(&kept).unwrap()), Ok(kept.clone()));
            assert_eq!(message_from_json(&message_to_json(&kept)), Ok(kept));
        };
        let png = || Some(Media::Bytes { media_type: "image/png".to_owned(), data: [1, 2, 3].as_slice().into() });
        check(r#"{"url":"data:image/png;base64,AQID"}"#, png());
        check(r#"{"url":"data:image/png;base64,AQID","detail":"auto"}"#, png());
        check(r#"{"url":"https://example.com/a.png"}"#, Some(Media::Url("https://example.com/a.png".to_owned())));
        check(r#"{"url":"data:image/png;base64,AQID","detail":"low"}"#, None);
        check(r#"{"url":"data:image/png;base64,?"}"#, None);
        check(r#"{"url":"data:,hi"}"#, None);
        check(r#""https://example.com/a.png""#, None);
    }

    #[test]
    fn a_member_that_is_null_says_nothing_and_any_other_is_refused() {
        let read = imported(r#"{"role":"assistant","content":"hi","refusal":null,"audio":null}"#).unwrap();
        assert_eq!(read, Message::assistant("hi"));
        assert_eq!(imported(r#"{"role":"assistant","content":"hi","refusal":"no"}"#).unwrap_err().at, "refusal");
        let half = imported(r#"{"role":"user","content":"\ud800"}"#).unwrap_err();
        assert!(half.why.contains("surrogate"), "{half}");
    }

    proptest! {
        #[test]
        fn messages_survive_the_round_trip(message in messages()) {
            prop_assert_eq!(message_from_json(&message_to_json(&message)), Ok(message));
        }

        #[test]
        fn messages_survive_the_round_trip_as_text(message in messages()) {
            let raw = message_to_raw_json(&message).unwrap();
            prop_assert!(!raw.get().contains(['\n', '\r']));
            prop_assert_eq!(message_from_raw_json(&raw), Ok(message));
        }
    }
}
