//! Tests against a stub that speaks Bedrock's protocol.

use memory_core::{
    ContentBlock, Message, Role,
    port::{Breakpoint, ChatError, StopReason},
};
use memory_remote::testing::{Response, Stub};
use serde_json::{Value, json};

use super::*;
use crate::stubs::{KEY, ask, hello, options, rich, streamed, texts};

const REDACTED_TOOL: &[u8] = include_bytes!("../../tests/recorded/bedrock-redacted-tool.bin");
const THINKING_TOOL: &[u8] = include_bytes!("../../tests/recorded/bedrock-thinking-tool.bin");

fn model(stub: &Stub) -> BedrockChat {
    BedrockChat::new("amazon.nova-lite-v1:0", options(stub)).unwrap()
}

fn recorded(bytes: &'static [u8]) -> Stub {
    Stub::start(move |_, _| {
        Response::chunks(bytes.chunks(1000)).header("content-type", "application/vnd.amazon.eventstream")
    })
}

fn refusal(status: u16, code: &str, message: &str) -> Response {
    Response::json(&json!({"message": message})).status(status).header("x-amzn-errortype", code)
}

#[test]
fn a_request_has_everything_in_the_shape_of_the_api() {
    let stub = recorded(REDACTED_TOOL);
    let at = |message, block| Breakpoint { message, block };
    let id = "amazon.nova-lite-v1:0";
    ask(&model(&stub), &rich(id).breakpoints(vec![at(0, 1), at(1, 0), at(2, 1)])).unwrap();
    let request = &stub.requests()[0];
    assert_eq!(request.line, "POST /model/amazon.nova-lite-v1%3A0/converse-stream");
    assert_eq!(request.header("authorization"), format!("Bearer {KEY}"));
    let image = json!({"image": {"format": "png", "source": {"bytes": "AQID"}}});
    let point = json!({"cachePoint": {"type": "default"}});
    let schema = json!({"json": {"type": "object", "properties": {"city": {"type": "string"}}}});
    let spec = json!({"name": "weather", "description": "The weather of a city.", "inputSchema": schema});
    let expected = json!({
        "messages": [
            {"role": "user", "content": [{"text": "What is this?"}, image, point]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}},
                {"text": "A map."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Bergen"}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "rain"}, image]}},
                {"text": "And?"},
                point,
            ]},
            {"role": "assistant", "content": [{"text": "Rain."}]},
            {"role": "user", "content": [{"text": "Thanks."}]},
        ],
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 100},
        "toolConfig": {"tools": [{"toolSpec": spec}]},
    });
    assert_eq!(request.body, expected);
}

#[test]
fn recorded_streams_become_replies() {
    let stub = recorded(THINKING_TOOL);
    let (reply, events) = streamed(&model(&stub), &hello());
    let reply = reply.unwrap();
    let [text, reasoning, arguments] = texts(&events);
    let blocks = &reply.message.content;
    assert!(matches!(&blocks[0], ContentBlock::Reasoning { text, signature: Some(_) } if *text == reasoning));
    assert!(matches!(&blocks[1], ContentBlock::Text(said) if *said == text && !text.is_empty()));
    assert!(matches!(&blocks[2], ContentBlock::ToolUse { name, input, .. }
        if name == "get_weather" && input.as_str() == arguments));
    assert_eq!(arguments, r#"{"city": "Lyon", "country": "France", "unit": "C"}"#);
    assert_eq!(
        (reply.stop, reply.usage.prompt_tokens, reply.usage.reply_tokens),
        (Some(StopReason::ToolUse), Some(651), Some(609))
    );
}

/// Encrypted reasoning goes back as it came, and to the same model alone.
#[test]
fn encrypted_reasoning_goes_back_to_the_same_model_only() {
    let stub = recorded(REDACTED_TOOL);
    let reply = ask(&model(&stub), &hello()).unwrap().message;
    assert_eq!(reply.tool_calls().count(), 1);
    let mut request = hello();
    request.messages.push(reply);
    ask(&model(&stub), &request).unwrap();
    ask(&BedrockChat::new("another", options(&stub)).unwrap(), &request).unwrap();
    let bodies = stub.bodies();
    let redacted = |body: &Value| body["messages"][1]["content"][0]["reasoningContent"]["redactedContent"].clone();
    let bytes = String::from_utf8_lossy(REDACTED_TOOL).into_owned();
    let sent = redacted(&bodies[1]);
    assert!(sent.as_str().is_some_and(|sent| sent.len() > 100 && bytes.contains(sent)), "{sent}");
    assert_eq!(redacted(&bodies[2]), Value::Null);
}

#[test]
fn failures_have_types() {
    let of = |status: u16, code: &'static str, message: &'static str| {
        let stub = Stub::start(move |_, _| refusal(status, code, message));
        let model = BedrockChat::new("m", options(&stub).attempts(2)).unwrap();
        (ask(&model, &hello()).unwrap_err(), stub.requests().len())
    };
    let (error, asked) = of(400, "ValidationException", "Input is too long for requested model.");
    assert!(matches!(error, ChatError::ContextOverflow { .. }) && asked == 1, "{error:?}");
    let (error, asked) = of(429, "ThrottlingException", "Too many tokens, please wait before trying again.");
    assert!(matches!(error, ChatError::RateLimited { .. }) && asked == 2, "{error:?}");
    assert!(matches!(of(403, "AccessDeniedException", "no"), (ChatError::Unauthorized { .. }, 1)));
    assert!(matches!(of(500, "InternalServerException", "x"), (ChatError::Backend { .. }, 2)));
    assert!(matches!(of(400, "ValidationException", "roles must alternate"), (ChatError::Backend { .. }, 1)));
    let stub = Stub::start(|_, _| Response::json(&json!({"error": {"message": "prompt is too long"}})).status(400));
    let error = ask(&model(&stub), &hello()).unwrap_err();
    assert!(matches!(error, ChatError::ContextOverflow { .. }), "in another form: {error:?}");
    let (error, _) = of(400, "ValidationException", "key test-key-of-models");
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
}

#[test]
fn a_stream_that_is_cut_is_a_failure() {
    let stub = Stub::start(|_, _| {
        let chunks = THINKING_TOOL.get(..5000).unwrap_or_default().chunks(1000);
        Response::chunks(chunks).header("content-type", "application/vnd.amazon.eventstream").cut()
    });
    let (reply, events) = streamed(&model(&stub), &hello());
    assert!(matches!(reply, Err(ChatError::Backend { .. })) && !events.is_empty(), "{reply:?}");
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn documents_and_names_are_accepted() {
    let stub = recorded(REDACTED_TOOL);
    let media = memory_core::Media::Text { media_type: "text/plain".to_owned(), text: "x".to_owned() };
    let document = ContentBlock::Document { title: Some("plan_v2.final?.txt".to_owned()), media };
    ask(&model(&stub), &ChatRequest::new(vec![Message::new(Role::User, vec![document])])).unwrap();
    let expected = json!({"document": {"format": "txt", "name": "plan v2 final txt", "source": {"bytes": "eA=="}}});
    assert_eq!(stub.bodies()[0]["messages"][0]["content"][0], expected);
}
