//! Parts of the tests against stubs of services.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use memory_core::{
    ContentBlock, Json, Media, Message, Role,
    port::{ChatError, ChatEvent, ChatModel, ChatReply, ChatRequest, ToolSpec},
};
use memory_remote::{ApiKey, testing::Stub};
use pollster::block_on;
use serde_json::json;

use crate::ChatOptions;

/// Key of the tests.
pub(crate) const KEY: &str = "test-key-of-models";

/// Options for a stub, with short pauses.
pub(crate) fn options(stub: &Stub) -> ChatOptions {
    ChatOptions::default()
        .base(stub.url())
        .api_key(ApiKey::new(KEY).unwrap())
        .region("eu-central-1")
        .first_pause(Duration::from_millis(1))
        .longest_pause(Duration::from_millis(2))
}

pub(crate) fn ask(model: &dyn ChatModel, request: &ChatRequest) -> Result<ChatReply, ChatError> {
    block_on(model.reply(request))
}

/// A streamed reply and its parts.
pub(crate) fn streamed(model: &dyn ChatModel, request: &ChatRequest) -> (Result<ChatReply, ChatError>, Vec<ChatEvent>) {
    let events = Mutex::new(Vec::new());
    let take = |event| events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    let reply = block_on(model.stream(request, &take));
    (reply, events.into_inner().unwrap())
}

/// The texts of the parts of a kind, joined.
pub(crate) fn texts(events: &[ChatEvent]) -> [String; 3] {
    let mut texts = [String::new(), String::new(), String::new()];
    for event in events {
        match event {
            ChatEvent::Text(part) => texts[0].push_str(part),
            ChatEvent::Reasoning(part) => texts[1].push_str(part),
            ChatEvent::ToolArguments { part, .. } => texts[2].push_str(part),
            _ => {}
        }
    }
    texts
}

pub(crate) fn hello() -> ChatRequest {
    ChatRequest::new(vec![Message::user("Hello.")])
}

pub(crate) fn picture() -> ContentBlock {
    ContentBlock::Image(Media::Bytes { media_type: "image/png".to_owned(), data: [1, 2, 3].as_slice().into() })
}

/// A request with everything: a system prompt, a picture, a call with its result, reasoning of this model and of
/// another, tools and breakpoints.
pub(crate) fn rich(model: &str) -> ChatRequest {
    let text = |text: &str| ContentBlock::Text(text.to_owned());
    let signed = || ContentBlock::Reasoning { text: "Hm.".to_owned(), signature: Some("sig".to_owned()) };
    let call = ContentBlock::ToolUse {
        id: "c1".to_owned(),
        name: "weather".to_owned(),
        input: Json::new(r#"{"city": "Bergen"}"#).unwrap(),
    };
    let result = ContentBlock::ToolResult {
        tool_use_id: "c1".to_owned(),
        content: vec![text("rain"), picture()],
        is_error: false,
    };
    let schema = Json::from_value(&json!({"type": "object", "properties": {"city": {"type": "string"}}}));
    ChatRequest::new(vec![
        Message::new(Role::User, vec![text("What is this?"), picture()]),
        Message::new(Role::Assistant, vec![signed(), text("A map."), call]).spoken_by(model),
        Message::new(Role::User, vec![result, text("And?")]),
        Message::new(Role::Assistant, vec![signed(), text("Rain.")]).spoken_by("another"),
        Message::user("Thanks."),
    ])
    .system("Be brief.".to_owned())
    .tools(vec![ToolSpec::new("weather", "The weather of a city.", schema)])
    .max_reply_tokens(100)
}
