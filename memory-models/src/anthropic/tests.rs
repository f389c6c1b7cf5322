//! Tests against a stub that speaks Anthropic's protocol.

use memory_core::{
    ContentBlock, Json, Message, Role,
    port::{Breakpoint, ChatError, ChatUsage, StopReason},
};
use memory_remote::testing::{Response, Stub};
use serde_json::{Value, json};

use super::*;
use crate::stubs::{KEY, ask, hello, options, rich, streamed, texts};

const SIGNATURES: &str = include_str!("../../tests/recorded/anthropic-signatures.sse");
const REDACTED: &str = include_str!("../../tests/recorded/anthropic-redacted.sse");
const CUT_ARGUMENTS: &str = include_str!("../../tests/recorded/anthropic-cut-arguments.sse");
const CACHE: &str = include_str!("../../tests/recorded/anthropic-cache.sse");

fn model(stub: &Stub) -> AnthropicChat {
    AnthropicChat::new("m", options(stub)).unwrap()
}

fn answer(content: &Value, stop: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop, "usage": {"input_tokens": 5, "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 7, "output_tokens": 3}})
}

fn says(text: &str) -> Value {
    answer(&json!([{"type": "text", "text": text, "citations": null}]), "end_turn")
}

fn recorded(text: &str) -> Stub {
    let text = text.to_owned();
    Stub::start(move |_, _| Response::chunks(text.as_bytes().chunks(41)))
}

fn signed(text: &str, signature: &str) -> ContentBlock {
    ContentBlock::Reasoning { text: text.to_owned(), signature: Some(signature.to_owned()) }
}

#[test]
fn a_request_has_everything_in_the_shape_of_the_api() {
    let stub = Stub::start(|_, _| Response::json(&says("Hi.")));
    let at = |message, block| Breakpoint { message, block };
    // The first of five is dropped; the last stands on a message that holds one block only.
    let breakpoints = vec![at(0, 0), at(0, 1), at(1, 0), at(2, 1), at(4, 0)];
    let reply = ask(&model(&stub), &rich("m").breakpoints(breakpoints)).unwrap();
    assert_eq!(reply.message, Message::assistant("Hi.").spoken_by("m"));
    assert_eq!(reply.stop, Some(StopReason::EndOfTurn));
    let usage = ChatUsage::default()
        .prompt_tokens(Some(102))
        .cached_tokens(Some(90))
        .cache_written_tokens(Some(7))
        .reply_tokens(Some(3));
    assert_eq!(reply.usage, usage);
    let request = &stub.requests()[0];
    assert_eq!(request.line, "POST /v1/messages");
    assert_eq!((request.header("x-api-key"), request.header("anthropic-version")), (KEY, "2023-06-01"));
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AQID"});
    let cached = json!({"type": "ephemeral"});
    let result = json!({"type": "tool_result", "tool_use_id": "c1", "is_error": false,
        "content": [{"type": "text", "text": "rain"}, {"type": "image", "source": source}]});
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let expected = json!({
        "model": "m",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": source, "cache_control": cached},
            ]},
            // Reasoning cannot end a prefix.
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "A map."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bergen"}},
            ]},
            {"role": "user", "content": [result, {"type": "text", "text": "And?", "cache_control": cached}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Rain."}]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks.", "cache_control": cached}]},
        ],
        "tools": [{"name": "weather", "description": "The weather of a city.", "input_schema": schema}],
    });
    assert_eq!(request.body, expected);
}

#[test]
fn blocks_that_the_service_refuses_are_left_out_or_mended() {
    let stub = Stub::start(|_, _| Response::json(&says("Hi.")));
    let unsigned = ContentBlock::Reasoning { text: "Hm.".to_owned(), signature: None };
    let call = ContentBlock::ToolUse { id: "c".to_owned(), name: "f".to_owned(), input: Json::string("{\"n") };
    let foreign = ContentBlock::Unknown(Json::new(r#"{"guardContent": {}}"#).unwrap());
    let said = Message::new(Role::Assistant, vec![unsigned, ContentBlock::Text(" \n".to_owned()), call, foreign]);
    let blank = Message::assistant("");
    ask(&model(&stub), &ChatRequest::new(vec![Message::user("Go."), said, blank])).unwrap();
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "f", "input": {"arguments": "{\"n"}},
            {"type": "text", "text": "{\"guardContent\": {}}"},
        ]},
    ]);
    let body = &stub.bodies()[0];
    assert_eq!((&body["messages"], &body["max_tokens"]), (&expected, &json!(4096)));
}

#[test]
fn recorded_streams_become_replies() {
    let (reply, events) = streamed(&model(&recorded(SIGNATURES)), &hello());
    let reply = reply.unwrap();
    let call = |id: &str| ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "get_weather".to_owned(),
        input: Json::new(r#"{"city":"Cairo","country":"Egypt","unit":"C"}"#).unwrap(),
    };
    let expected = vec![
        signed("First block.", "opaque-start-only"),
        signed("Second block.", "opaque-prefix-complete"),
        call("tool_fixture_001"),
    ];
    assert_eq!(reply.message, Message::new(Role::Assistant, expected).spoken_by("m"));
    assert_eq!((reply.stop, reply.usage.reply_tokens), (Some(StopReason::ToolUse), Some(9)));
    assert_eq!(texts(&events)[2], r#"{"city":"Cairo","country":"Egypt","unit":"C"}"#);

    let (reply, _) = streamed(&model(&recorded(REDACTED)), &hello());
    let blob = Json::from_value(&json!({"type": "redacted_thinking", "data": "redacted-fixture-blob"}));
    let expected = vec![
        signed("First block.", "sig-first"),
        ContentBlock::Unknown(blob),
        signed("Third block.", "sig-third"),
        call("tool_fixture_redacted_001"),
    ];
    assert_eq!(reply.unwrap().message.content, expected);

    let (reply, _) = streamed(&model(&recorded(CUT_ARGUMENTS)), &hello());
    let reply = reply.unwrap();
    let ContentBlock::ToolUse { input, .. } = &reply.message.content[0] else { panic!("{reply:?}") };
    assert_eq!((input.to_value(), reply.stop), (json!("{\"summary\":\"The American Rev"), Some(StopReason::MaxTokens)));

    let (reply, events) = streamed(&model(&recorded(CACHE)), &hello());
    let reply = reply.unwrap();
    assert_eq!((reply.message.text().as_str(), texts(&events)[0].as_str()), ("OK.", "OK."));
    let usage = ChatUsage::default()
        .prompt_tokens(Some(4211))
        .cached_tokens(Some(0))
        .cache_written_tokens(Some(4202))
        .reply_tokens(Some(5));
    assert_eq!(reply.usage, usage);
}

/// Everything that only the model understands goes back as it came, and to this model alone.
#[test]
fn what_was_signed_goes_back_verbatim_to_the_same_model_only() {
    let content = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "compaction", "content": null, "encrypted_content": "e", "signature": "s"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
        {"type": "text", "text": "Rain.", "citations": [{"cited_text": "rain"}]},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}, "caller": {"type": "direct"}},
    ]);
    let given = content.clone();
    let stub = Stub::start(move |number, _| {
        Response::json(&if number == 0 { answer(&given, "tool_use") } else { says("Hi.") })
    });
    let reply = ask(&model(&stub), &hello()).unwrap().message;
    assert_eq!(reply.tool_calls().collect::<Vec<_>>(), ["c1"]);
    let mut request = hello();
    request.messages.push(reply);
    ask(&model(&stub), &request).unwrap();
    ask(&AnthropicChat::new("another", options(&stub)).unwrap(), &request).unwrap();
    let bodies = stub.bodies();
    let mut expected = content.as_array().unwrap().clone();
    expected[5].as_object_mut().unwrap().remove("caller");
    assert_eq!(bodies[1]["messages"][1]["content"], Value::from(expected.clone()));
    assert_eq!(bodies[2]["messages"][1]["content"], Value::from(expected.split_off(3)));
}

#[test]
fn overflows_and_refusals_have_types() {
    let stub = Stub::start(|_, _| Response::json(&answer(&json!([]), "model_context_window_exceeded")));
    let error = ask(&model(&stub), &hello()).unwrap_err();
    assert!(matches!(error, ChatError::ContextOverflow { window: 200_000, prompt_tokens: Some(102) }), "{error:?}");
    let stub = Stub::start(|_, _| Response::json(&answer(&json!([]), "refusal")));
    assert!(matches!(ask(&model(&stub), &hello()), Err(ChatError::Refused { .. })));
    let of = |status: u16, kind: &'static str, message: &'static str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        let stub = Stub::start(move |_, _| Response::json(&error).status(status));
        (
            ask(&AnthropicChat::new("m", options(&stub).attempts(2)).unwrap(), &hello()).unwrap_err(),
            stub.requests().len(),
        )
    };
    let (error, asked) = of(400, "invalid_request_error", "prompt is too long: 210,000 tokens > 200000 maximum");
    let is_overflow = matches!(error, ChatError::ContextOverflow { window: 200_000, prompt_tokens: Some(210_000) });
    assert!(is_overflow && asked == 1, "{error:?}");
    assert!(matches!(of(401, "authentication_error", "invalid x-api-key"), (ChatError::Unauthorized { .. }, 1)));
    assert!(matches!(of(429, "rate_limit_error", "slow"), (ChatError::RateLimited { .. }, 2)));
    assert!(matches!(of(529, "overloaded_error", "Overloaded"), (ChatError::Backend { .. }, 2)));
    assert!(matches!(of(400, "invalid_request_error", "roles must alternate"), (ChatError::Backend { .. }, 1)));
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_that_error() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\n";
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n";
    let stub = Stub::start(move |_, _| Response::chunks([start, error]));
    let (reply, _) = streamed(&AnthropicChat::new("m", options(&stub).attempts(3)).unwrap(), &hello());
    assert!(matches!(reply, Err(ChatError::Backend { .. })) && stub.requests().len() == 3);
    let stub = Stub::start(move |_, _| Response::chunks([start]));
    let (reply, _) = streamed(&AnthropicChat::new("m", options(&stub).attempts(1)).unwrap(), &hello());
    assert!(reply.unwrap_err().to_string().contains("failed"));
}

#[test]
fn the_address_may_end_with_the_version() {
    let stub = Stub::start(|_, _| Response::json(&says("Hi.")));
    let options = options(&stub).base(format!("{}/gateway/v1/", stub.url())).betas(vec!["a".into(), "b".into()]);
    ask(&AnthropicChat::new("m", options).unwrap(), &hello()).unwrap();
    let request = &stub.requests()[0];
    assert_eq!((request.line.as_str(), request.header("anthropic-beta")), ("POST /gateway/v1/messages", "a,b"));
}
