//! Lists of messages for the interfaces of models.

use memory_core::{ContentBlock, Media};
use memory_transcripts::{Format, Why};
use serde_json::{Value, json};

use crate::support::{Files, read, read_as};

fn chat() -> Vec<Value> {
    vec![
        json!({"role": "developer", "content": "Be short."}),
        json!({"role": "user", "name": "Ana", "content": [{"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
            {"type": "file", "file": {"filename": "p.pdf", "file_data": "data:application/pdf;base64,AQID"}},
            {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}),
        json!({"role": "assistant", "content": null, "refusal": null, "reasoning_content": "Look it up.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"n\": 1.0}"}},
                           {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{not json"}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "a lake"}),
        json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]}),
        json!({"role": "wizard", "content": "?"}),
    ]
}

#[test]
fn openai_messages_are_read_as_a_document_a_list_or_lines() {
    let files = Files::new();
    let whole = read(&files.write("talk.json", json!({"model": "gpt-5", "messages": chat()}).to_string()));
    let texts = whole.texts("talk");
    assert_eq!(texts[0], "system: Be short.");
    assert!(
        texts[1].starts_with("user: What is this?\n[image: image/png, 3 bytes]\n[document: p.pdf, application/pdf"),
        "{texts:?}"
    );
    assert_eq!(texts[2], "assistant: Look it up.\nlook({\"n\": 1.0})\nlook(\"{not json\")");
    assert_eq!(texts[3..], ["tool: a lake", "assistant: I cannot say."]);
    assert_eq!(whole.messages["talk"][1].message.speaker.as_deref(), Some("Ana"));
    assert_eq!(whole.messages["talk"][2].message.model().as_deref(), Some("gpt-5"));
    let skipped =
        [(Why::Unknown, "message of the role wizard".to_owned(), 1), (Why::NoPlace, "input_audio".to_owned(), 1)];
    assert_eq!(whole.skipped(), skipped);
    let pretty = serde_json::to_string_pretty(&chat()).unwrap();
    let list = read(&files.write("talk.json", pretty));
    let lines: String = chat().iter().map(|message| format!("{message}\n")).collect();
    let lines = read_as(&files.write("talk.jsonl", lines), Some(Format::OpenAi));
    assert_eq!(list.all(), lines.all());
    assert_eq!(list.texts("talk"), whole.texts("talk"));
    let keys =
        |read: &crate::support::Read| -> Vec<_> { read.all()[0].1.iter().map(|(key, ..)| key.clone()).collect() };
    assert_eq!(keys(&list), keys(&whole), "the same messages have the same keys");
}

#[test]
fn each_conversation_of_training_data_is_one() {
    let files = Files::new();
    let line =
        |text: &str| json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]});
    let path = files.write("train.jsonl", format!("{}\n{}\n", line("a"), line("b")));
    let read = read(&path);
    assert_eq!(read.ids(), ["train", "train-2"]);
    assert_eq!(read.texts("train-2"), ["user: b", "assistant: ok"]);
}

#[test]
fn a_chat_answer_beside_its_request_is_read_after_it() {
    let files = Files::new();
    let both = json!({"id": "x", "model": "m", "messages": [{"role": "user", "content": "Hi."}],
                      "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}]});
    assert_eq!(read(&files.write("a.json", both.to_string())).texts("a"), ["user: Hi.", "assistant: Hello."]);
}

#[test]
fn items_of_the_responses_api_are_read_with_their_reasoning() {
    let files = Files::new();
    let answer = json!({"id": "resp_1", "object": "response", "model": "gpt-5", "instructions": "Be short.", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "How late?"}, {"type": "input_image", "image_url": "https://a/b.png"}]},
        {"type": "item_reference", "id": "x"}], "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Ask."}], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "7:42"}]},
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"type": "compaction", "id": "cmp", "encrypted_content": "e"},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "7:42.", "annotations": []}]},
        {"type": "reasoning", "id": "rs2", "summary": []}, {"type": "telepathy"}]});
    let read = read(&files.write("r.json", answer.to_string()));
    let texts = read.texts("r");
    assert_eq!(
        texts[..4],
        ["system: Be short.", "user: How late?\n[image: https://a/b.png]", "assistant: Ask.\nclock({})", "tool: 7:42"]
    );
    assert_eq!(texts[5], "assistant: 7:42.");
    assert!(matches!(&read.messages["r"][2].message.content[0],
                     ContentBlock::Reasoning { signature: Some(signature), .. } if signature == "e"));
    let skipped: Vec<_> = read.skipped().into_iter().map(|(why, what, _)| (why, what)).collect();
    let expected = [
        (Why::Unknown, "telepathy"),
        (Why::View, "compaction"),
        (Why::Note, "member id"),
        (Why::Note, "member object"),
        (Why::Repeated, "item_reference"),
        (Why::Empty, "reasoning"),
    ];
    assert_eq!(skipped, expected.map(|(why, what)| (why, what.to_owned())));
}

#[test]
fn anthropic_requests_keep_system_thinking_and_blocks_of_unknown_types() {
    let files = Files::new();
    let request = json!({"model": "claude-opus-4-7", "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "tool_use", "id": "t", "name": "map", "input": {"q": "here"}, "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Bergen"}], "is_error": false},
            {"type": "document", "title": "map", "source": {"type": "base64", "media_type": "application/pdf", "data": "AQID"}}]},
        {"role": "assistant", "content": [{"type": "compaction", "content": null}, {"type": "text", "text": "Bergen."}]},
    ]});
    let read = read(&files.write("a.json", request.to_string()));
    let texts = read.texts("a");
    assert_eq!(texts[..2], ["system: Be short.", "user: Where?"]);
    assert_eq!(texts[4], "assistant: Bergen.", "a compaction that failed changed nothing");
    let said = &read.messages["a"][2].message;
    assert_eq!(said.model().as_deref(), Some("claude-opus-4-7"));
    assert!(
        matches!(said.content[0], ContentBlock::Reasoning { .. })
            && matches!(said.content[1], ContentBlock::ToolUse { .. })
    );
    assert!(read.skipped().contains(&(Why::NoPlace, "redacted_thinking".to_owned(), 1)), "{:?}", read.skipped());
    assert!(said.metadata["block_members"].as_str().starts_with("{\"1\":"), "{:?}", said.metadata);
    assert_eq!(said.tool_calls().collect::<Vec<_>>(), ["t"]);
    assert!(matches!(
        &read.messages["a"][3].message.content[1],
        ContentBlock::Document { media: Media::Bytes { .. }, .. }
    ));
}

#[test]
fn bedrock_requests_are_read() {
    let files = Files::new();
    let request = json!({"modelId": "amazon.nova", "system": [{"text": "Be short."}], "messages": [
        {"role": "user", "content": [{"text": "Weather?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "w", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {"c": 5}}], "status": "success"}}]}]});
    let path = files.write("b.json", request.to_string());
    let read = read(&path);
    assert_eq!(read.texts("b")[..3], ["system: Be short.", "user: Weather?", "assistant: w({})"]);
    assert_eq!(read.messages["b"][2].message.model().as_deref(), Some("amazon.nova"));
}

#[test]
fn both_shapes_of_langchain_give_the_same_messages() {
    let files = Files::new();
    let human = json!({"content": "Hi.", "additional_kwargs": {}, "response_metadata": {}, "id": "h1"});
    let ai = json!({"content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": 1}}],
        "tool_calls": [{"name": "look", "args": {"q": 1}, "id": "c1", "type": "tool_call"}, {"name": "see", "args": {}, "id": "c2"}],
        "invalid_tool_calls": [], "usage_metadata": {"input_tokens": 1}, "response_metadata": {"model_name": "gpt-5"}, "id": "run-1"});
    let tool = json!({"content": "lake", "tool_call_id": "c1", "status": "error", "name": "look", "id": null});
    let parts = [
        ("human", "HumanMessage", human),
        ("ai", "AIMessageChunk", ai),
        ("tool", "ToolMessage", tool),
        ("remove", "RemoveMessage", json!({"id": "h1", "content": ""})),
    ];
    let dicts: Vec<_> = parts.iter().map(|(kind, _, data)| json!({"type": kind, "data": data})).collect();
    let dumped: Vec<_> = parts
        .iter()
        .map(|(_, class, kwargs)| json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": kwargs}))
        .collect();
    let dicts = read(&files.write("a/l.json", json!(dicts).to_string()));
    let dumped = read(&files.write("b/l.json", json!({"messages": dumped}).to_string()));
    assert_eq!(dicts.texts("l"), ["user: Hi.", "assistant: I look.\nlook({\"q\":1})\nsee({})", "tool: error:\nlake"]);
    assert_eq!(dicts.texts("l"), dumped.texts("l"));
    assert_eq!(dicts.messages["l"][1].message.model().as_deref(), Some("gpt-5"));
    assert_eq!(dicts.messages["l"][1].message.key.as_ref().unwrap().as_str(), "run-1");
    assert_eq!(dicts.skipped(), [(Why::View, "remove".to_owned(), 1)]);
}

#[test]
fn markdown_is_read_by_the_style_of_its_first_speaker() {
    let files = Files::new();
    let text = "# A trip\n\n## User\n\nWhat does `User:` do?\n\nUser: like this\n\n```\n## User\n```\n\n## Claude\n\nIt is a label.\n";
    let read = read_as(&files.write("t.md", text), Some(Format::Markdown));
    assert_eq!(
        read.texts("t"),
        ["user: What does `User:` do?\n\nUser: like this\n\n```\n## User\n```", "assistant: It is a label."]
    );
    assert_eq!(read.titles["t"], "A trip");
    let labels = read_as(&files.write("l.txt", "Human: Hi.\nHow late?\n\nAssistant: Late.\n"), Some(Format::Markdown));
    assert_eq!(labels.texts("l"), ["user: Hi.\nHow late?", "assistant: Late."]);
    let bold = read_as(&files.write("b.md", "**You:** Hi.\n\n**ChatGPT:**\n\nHello.\n"), Some(Format::Markdown));
    assert_eq!(bold.texts("b"), ["user: Hi.", "assistant: Hello."]);
}

/// Pictures and files of every interface are kept, and bytes of other kinds are named and never a text.
#[test]
fn no_bytes_become_text() {
    let data = "QUJD".repeat(300);
    let files = Files::new();
    let source = json!({"bytes": data});
    let bedrock = json!([{"role": "user", "content": [
        {"text": "Look."},
        {"image": {"format": "png", "source": source}},
        {"document": {"format": "pdf", "name": "plan", "source": source}},
        {"video": {"format": "mp4", "source": source}},
        {"cachePoint": {"type": "default"}},
        {"toolResult": {"toolUseId": "t", "content": [{"image": {"format": "png", "source": source}}]}},
    ]}]);
    let langchain = json!([{"type": "human", "data": {"content": [
        {"type": "text", "text": "Look."},
        {"type": "image", "source_type": "base64", "data": data, "mime_type": "image/png"},
        {"type": "image", "base64": data, "mime_type": "image/png"},
        {"type": "image", "image_url": format!("data:image/png;base64,{data}")},
        {"type": "image", "url": "https://x.example/y.png"},
        {"type": "file", "base64": data, "mime_type": "application/pdf", "filename": "plan.pdf"},
        {"type": "audio", "base64": data, "mime_type": "audio/wav"},
    ]}}]);
    let responses = json!([
        {"role": "user", "content": [{"type": "input_file", "filename": "p.pdf", "file_data": format!("data:application/pdf;base64,{data}")}]},
        {"type": "image_generation_call", "id": "ig", "status": "completed", "result": data},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": format!("data:image/png;base64,{data}")}},
    ]);
    let anthropic = json!([
        {"role": "user", "content": [{"type": "text", "text": "Think."}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": data}, {"type": "text", "text": "Done."}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": data}]},
    ]);
    let check = |name: &str, value: &Value, texts: &[&str], skipped: &[(Why, &str, u64)]| {
        let read = read(&files.write(&format!("{name}.json"), value.to_string()));
        assert_eq!(read.texts(name), texts, "{name}");
        let of: Vec<_> = read.report.skipped().map(|one| (one.why, one.what.as_str(), one.count)).collect();
        assert_eq!(of, skipped, "{name}");
        read
    };
    let picture = "[image: image/png, 900 bytes]";
    let whole = check(
        "bedrock",
        &bedrock,
        &[&format!("user: Look.\n{picture}\n[document: plan, application/pdf, 900 bytes]\n{picture}")],
        &[(Why::NoPlace, "cachePoint", 1), (Why::NoPlace, "video", 1)],
    );
    assert!(matches!(whole.messages["bedrock"][0].message.content[1], ContentBlock::Image(Media::Bytes { .. })));
    assert!(!whole.messages["bedrock"][0].message.metadata.contains_key("strands"));
    check(
        "langchain",
        &langchain,
        &[&format!(
            "user: Look.\n{picture}\n{picture}\n{picture}\n[image: https://x.example/y.png]\n[document: plan.pdf, application/pdf, 900 bytes]"
        )],
        &[(Why::NoPlace, "audio", 1)],
    );
    let screenshot = "assistant: {\"type\":\"computer_call_output\",\"call_id\":\"c\",\"output\":{\"type\":\"computer_screenshot\",\"image_url\":\"[1200 characters of base64]\"}}";
    check(
        "responses",
        &responses,
        &["user: [document: p.pdf, application/pdf, 900 bytes]", &format!("assistant: {picture}"), screenshot],
        &[(Why::NoPlace, "bytes in computer_call_output", 1)],
    );
    check(
        "anthropic",
        &anthropic,
        &["user: Think.", "assistant: Done."],
        &[(Why::Empty, "assistant", 1), (Why::NoPlace, "redacted_thinking", 2)],
    );
}

#[test]
fn a_log_of_requests_and_responses_gives_both() {
    let files = Files::new();
    let asked = json!({"model": "m", "messages": [{"role": "user", "content": "Tram?"}]});
    let said = json!({"role": "assistant", "content": "Line four."});
    let chat = json!({"id": "r1", "request": asked, "response": {"choices": [{"message": said}]}});
    let claude = json!({"request": {"model": "m", "system": "Be short.", "messages": [{"role": "user", "content": "Tram?"}]},
        "response": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Line four."}]}});
    let responses = json!({"request": {"model": "m", "input": "Tram?"}, "response": {"output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Line four."}]}]}});
    for (value, format) in [(&chat, Format::OpenAi), (&claude, Format::Anthropic), (&responses, Format::Responses)] {
        let path = files.write("log.jsonl", format!("{value}\n"));
        assert_eq!(Format::of_beginning(value.to_string().as_bytes()), Some(format));
        let texts = read(&path).texts("log");
        assert_eq!(texts.iter().rev().take(2).collect::<Vec<_>>(), ["assistant: Line four.", "user: Tram?"]);
    }
    // Among lines of another shape, too; and only conversations with messages are counted.
    let other = json!({"messages": [{"role": "user", "content": "Bus?"}], "error": "none"});
    let path = files.write("log.jsonl", format!("{chat}\n{other}\n{}\n", json!({"id": 3})));
    let read = read_as(&path, Some(Format::OpenAi));
    assert_eq!((read.texts("log").len(), read.texts("log-2").len(), read.report.conversations), (2, 1, 2));
}
