//! Tests against a stub that speaks OpenAI's protocol.

use std::time::{Duration, Instant};

use memory_core::{
    ContentBlock, Json, Message,
    port::{ChatError, ChatEvent, ChatModel, ChatUsage, StopReason},
};
use memory_remote::testing::{Response, Stub};
use serde_json::{Value, json};

use super::*;
use crate::stubs::{KEY, ask, hello, options, rich, streamed, texts};

const TOOL: &str = include_str!("../../tests/recorded/openai-tool.sse");
const COPILOT: &str = include_str!("../../tests/recorded/copilot-tool.sse");
const MISTRAL: &str = include_str!("../../tests/recorded/mistral-thinking.sse");
const OPENROUTER: &str = include_str!("../../tests/recorded/openrouter-details.json");

fn model(stub: &Stub) -> OpenAiChat {
    OpenAiChat::new("m", options(stub)).unwrap()
}

fn says(text: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": text, "refusal": null}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}})
}

fn refusal(status: u16, error: &Value) -> Response {
    Response::json(&json!({"error": error})).status(status)
}

fn recorded(text: &str) -> Stub {
    let text = text.to_owned();
    Stub::start(move |_, _| Response::chunks(text.as_bytes().chunks(37)))
}

fn call(input: &str) -> ContentBlock {
    let (id, name) = ("c1".to_owned(), "weather".to_owned());
    ContentBlock::ToolUse { id, name, input: Json::new(input).unwrap() }
}

#[test]
fn a_request_has_everything_in_the_shape_of_the_api() {
    let stub = Stub::start(|_, _| Response::json(&says("Hi.")));
    let reply = ask(&model(&stub), &rich("m")).unwrap();
    assert_eq!(reply.message, Message::assistant("Hi.").spoken_by("m"));
    assert_eq!(reply.stop, Some(StopReason::EndOfTurn));
    let usage = ChatUsage::default().prompt_tokens(Some(12)).cached_tokens(Some(8)).reply_tokens(Some(3));
    assert_eq!(reply.usage, usage);
    let request = &stub.requests()[0];
    assert_eq!(request.line, "POST /chat/completions");
    assert_eq!(request.header("authorization"), format!("Bearer {KEY}"));
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    let function = json!({"name": "weather", "arguments": "{\"city\": \"Bergen\"}"});
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let spec = json!({"name": "weather", "description": "The weather of a city.", "parameters": parameters});
    let expected = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
            {"role": "assistant", "content": "A map.",
                "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
            {"role": "user", "content": [image, {"type": "text", "text": "And?"}]},
            {"role": "assistant", "content": "Rain."},
            {"role": "user", "content": "Thanks."},
        ],
        "max_tokens": 100,
        "tools": [{"type": "function", "function": spec}],
    });
    assert_eq!(request.body, expected);
}

#[test]
fn members_are_added_and_removed_as_configured() {
    let stub = Stub::start(|_, _| Response::json(&says("Hi.")));
    let extra = json!({"temperature": 0, "max_tokens": null, "max_completion_tokens": 7});
    let options = options(&stub).max_reply_tokens(9).extra(extra.as_object().unwrap().clone());
    ask(&OpenAiChat::new("m", options).unwrap(), &hello()).unwrap();
    let expected = json!({"model": "m", "messages": [{"role": "user", "content": "Hello."}],
        "temperature": 0, "max_completion_tokens": 7});
    assert_eq!(stub.bodies()[0], expected);
}

#[test]
fn recorded_streams_become_replies() {
    let (reply, events) = streamed(&model(&recorded(TOOL)), &hello());
    let reply = reply.unwrap();
    let arguments = r#"{"city": "Paris", "country": "France", "unit": "C"}"#;
    assert!(matches!(&*reply.message.content, [ContentBlock::ToolUse { name, input, .. }]
        if name == "get_weather" && input.as_str() == arguments));
    assert_eq!((reply.stop, reply.usage.prompt_tokens), (Some(StopReason::ToolUse), Some(163)));
    assert_eq!(texts(&events)[2], arguments);
    assert!(matches!(events.last(), Some(ChatEvent::Stop(StopReason::ToolUse))));

    let (reply, events) = streamed(&model(&recorded(COPILOT)), &hello());
    let reply = reply.unwrap();
    assert_eq!(reply.message.tool_calls().collect::<Vec<_>>(), ["call_YC2QMIr5bbEvqMl96iKr7oCN"]);
    let ContentBlock::ToolUse { input, .. } = &reply.message.content[0] else { panic!("{reply:?}") };
    assert_eq!(input.as_str(), texts(&events)[2]);

    let (reply, events) = streamed(&model(&recorded(MISTRAL)), &hello());
    assert_eq!(texts(&events)[..2], ["391".to_owned(), "17 x 23 = 391.".to_owned()]);
    assert_eq!(reply.unwrap().message.text(), "17 x 23 = 391.\n391");
}

#[test]
fn signed_reasoning_of_a_gateway_is_sent_back_to_the_same_model() {
    let stub =
        Stub::start(|number, _| if number == 0 { Response::text(OPENROUTER) } else { Response::json(&says("")) });
    let mut request = hello();
    let reply = ask(&model(&stub), &request).unwrap().message;
    request.messages.push(reply.clone());
    ask(&model(&stub), &request).unwrap();
    ask(&OpenAiChat::new("another", options(&stub)).unwrap(), &request).unwrap();
    let sent: Vec<_> = stub.bodies()[1..].iter().map(|body| body["messages"][1]["reasoning_details"].clone()).collect();
    let given: Value = serde_json::from_str(OPENROUTER).unwrap();
    assert_eq!(sent, [given["choices"][0]["message"]["reasoning_details"].clone(), Value::Null]);
}

#[test]
fn arguments_are_kept_as_they_were_written() {
    for (arguments, expected) in
        [("{\"n\": 1.50}", call("{\"n\": 1.50}")), ("", call("{}")), ("{\"n", call(r#""{\"n""#))]
    {
        let calls = json!([{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments},
            "extra_content": {"google": {"thought_signature": "x"}}}]);
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        let answer = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        let stub = Stub::start(move |_, _| Response::json(&answer));
        let reply = ask(&model(&stub), &hello()).unwrap();
        assert_eq!(reply.message.content, [expected]);
    }
}

#[test]
fn several_calls_without_an_index_are_told_by_their_ids() {
    let chunk = |id: &str, arguments: &str| {
        let call = json!({"id": id, "function": {"name": "weather", "arguments": arguments}});
        format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [call]}}]}))
    };
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let text = format!("{}{}data: {end}\n\n", chunk("a", "{}"), chunk("b", "{\"n\":1}"));
    // No `[DONE]`: the end is known by the reason.
    let (reply, _) = streamed(&model(&recorded(&text)), &hello());
    assert_eq!(reply.unwrap().message.tool_calls().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn an_overflow_is_the_same_error_however_it_is_told() {
    let stub = Stub::start(|number, _| match number {
        0 => refusal(
            400,
            &json!({"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 2031,
            "n_ctx": 512, "message": "request (2031 tokens) exceeds the available context size (512 tokens)"}),
        ),
        _ => Response::chunks(["data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"long\"}}\n\n"]),
    });
    let model = model(&stub);
    let error = ask(&model, &hello()).unwrap_err();
    assert!(matches!(error, ChatError::ContextOverflow { window: 512, prompt_tokens: Some(2031) }), "{error:?}");
    assert_eq!(model.context_window(), 512, "what the server states is remembered");
    let (reply, _) = streamed(&model, &hello());
    assert!(matches!(reply, Err(ChatError::ContextOverflow { .. })), "{reply:?}");
    assert_eq!(stub.requests().len(), 2, "an overflow is not asked again");
}

#[test]
fn a_throttled_request_waits_as_long_as_the_service_asks() {
    let stub = Stub::start(|number, _| match number {
        0 => refusal(429, &json!({"message": "slow down"})).header("retry-after", "0.3"),
        1 => Response::text("not JSON"),
        2 => refusal(503, &json!({"message": "overloaded"})),
        _ => Response::json(&says("Hi.")),
    });
    let begun = Instant::now();
    assert_eq!(ask(&model(&stub), &hello()).unwrap().message.text(), "Hi.");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn a_stream_says_how_long_it_waits_before_it_asks_again() {
    let stub = Stub::start(|number, _| match number {
        0 => refusal(429, &json!({"message": "slow down"})).header("retry-after", "0.3"),
        _ => Response::chunks(["data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"long\"}}\n\n"]),
    });
    let model = model(&stub);
    let (reply, events) = streamed(&model, &hello());
    let waited = Duration::from_millis(200);
    assert!(
        matches!(&events[..], [ChatEvent::Retry { after, detail }] if *after > waited && detail.contains("slow down"))
    );
    assert!(matches!(reply, Err(ChatError::ContextOverflow { .. })), "{reply:?}");
}

#[test]
fn a_window_that_one_stream_states_is_not_the_models() {
    let error = json!({"code": 400, "type": "exceed_context_size_error", "n_ctx": 512, "message": "too long"});
    let stub = Stub::start(move |_, _| refusal(400, &error));
    let model = model(&stub);
    let window = model.context_window();
    let (reply, _) = streamed(&model, &hello());
    assert!(matches!(reply, Err(ChatError::ContextOverflow { window: 512, .. })), "{reply:?}");
    assert_eq!(model.context_window(), window);
}

#[test]
fn a_wait_beyond_the_deadline_is_an_error_at_once() {
    let stub = Stub::start(|_, _| refusal(429, &json!({"message": "x"})).header("retry-after", "600"));
    let error = ask(&model(&stub), &hello()).unwrap_err();
    let wait = Some(Duration::from_mins(10));
    assert!(matches!(&error, ChatError::RateLimited { retry_after, .. } if *retry_after == wait), "{error:?}");
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn lasting_failures_are_not_asked_again() {
    for (status, code) in [(401, "invalid_api_key"), (429, "insufficient_quota"), (404, "model_not_found"), (400, "x")]
    {
        let stub = Stub::start(move |_, _| refusal(status, &json!({"message": "no", "code": code})));
        let error = ask(&model(&stub), &hello()).unwrap_err();
        let is_expected = match code {
            "invalid_api_key" => matches!(error, ChatError::Unauthorized { .. }),
            "insufficient_quota" => matches!(error, ChatError::Exhausted { .. }),
            _ => matches!(error, ChatError::Backend { .. }),
        };
        assert!(is_expected && stub.requests().len() == 1, "{error:?}");
    }
}

#[test]
fn a_stream_that_is_cut_is_asked_again_only_before_its_first_part() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let stub = Stub::start(move |_, _| Response::chunks([part]).cut());
    let (reply, events) = streamed(&model(&stub), &hello());
    assert!(matches!(reply, Err(ChatError::Backend { .. })), "{reply:?}");
    assert_eq!((events.as_slice(), stub.requests().len()), ([ChatEvent::Text("Hel".to_owned())].as_slice(), 1));
    let stub = Stub::start(|number, _| match number {
        0 => Response::chunks(["data: {\"choi"]).cut(),
        1 => Response::chunks(["data: {\"choices\":[]}\n\n"]),
        2 => Response::chunks(["data: malformed\n\n"]),
        _ => Response::chunks([
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ]),
    });
    let (reply, _) = streamed(&model(&stub), &hello());
    assert_eq!((reply.unwrap().message.text().as_str(), stub.requests().len()), ("Hi.", 4));
}

#[test]
fn characters_that_are_split_over_chunks_are_whole() {
    let chunk = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    let text = format!("{}{}", chunk("Grüße, 世界"), chunk(" 😀"))
        + "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for size in [1, 2, 3, 5] {
        let text = text.clone();
        let stub = Stub::start(move |_, _| Response::chunks(text.as_bytes().chunks(size)));
        let (reply, events) = streamed(&model(&stub), &hello());
        assert_eq!(reply.unwrap().message.text(), "Grüße, 世界 😀");
        assert_eq!(texts(&events)[0], "Grüße, 世界 😀");
    }
}

#[test]
fn a_refusal_is_an_error() {
    let refused = json!({"choices": [{"message": {"role": "assistant", "content": null, "refusal": "I can't."},
        "finish_reason": "stop"}]});
    let filtered =
        json!({"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"}]});
    for answer in [refused, filtered] {
        let stub = Stub::start(move |_, _| Response::json(&answer));
        assert!(matches!(ask(&model(&stub), &hello()), Err(ChatError::Refused { .. })));
    }
}

#[test]
fn a_request_that_is_dropped_is_cancelled() {
    let stub = Stub::start(|_, _| {
        std::thread::sleep(Duration::from_millis(200));
        refusal(503, &json!({"message": "late"}))
    });
    let model = model(&stub);
    let request = hello();
    let mut asked = model.reply(&request);
    let waker = std::task::Waker::noop();
    assert!(asked.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    while stub.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(asked);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(stub.requests().len(), 1, "no second attempt");
}

#[test]
fn a_silent_service_is_not_awaited_for_ever() {
    let stub = Stub::start(|_, _| {
        std::thread::sleep(Duration::from_millis(400));
        Response::text("")
    });
    let options = options(&stub).timeout(Duration::from_millis(50)).attempts(2);
    let error = ask(&OpenAiChat::new("m", options).unwrap(), &hello()).unwrap_err();
    let ChatError::Backend { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(source.downcast_ref(), Some(ModelError::TimedOut { .. })), "{error:?}");
}

#[test]
fn no_error_and_no_model_shows_the_key() {
    let stub = Stub::start(|_, request| {
        refusal(401, &json!({"message": format!("Incorrect key: {}", request.header("authorization"))}))
    });
    let model = model(&stub);
    let shown = format!("{:?} {model:?} {:?}", ask(&model, &hello()).unwrap_err(), options(&stub));
    assert!(shown.contains("[redacted]") && !shown.contains(KEY), "{shown}");
    let plain = ChatOptions::default().base("http://10.0.0.1/v1").api_key(ApiKey::new(KEY).unwrap());
    let error = OpenAiChat::new("m", plain).unwrap_err();
    assert!(matches!(&error, ModelError::Setup { what } if what.contains("plain http")), "{error}");
}

#[test]
fn the_window_of_an_unknown_server_is_small() {
    let window = |options: ChatOptions| OpenAiChat::new("m", options).unwrap().context_window();
    assert_eq!(window(ChatOptions::default()), 128_000);
    assert_eq!(window(ChatOptions::default().base("http://127.0.0.1:11434/v1")), 4096);
    assert_eq!(window(ChatOptions::default().base("http://127.0.0.1:11434/v1").window(9000)), 9000);
}
