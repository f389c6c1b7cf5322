//! Output of the writers, read by the readers and compared by eye.

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{ContentBlock, Json, Media};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;
use crate::{Format, Item, Limits, find};

fn written(shape: Written, messages: &[Message]) -> (String, LeftOut) {
    let mut out = Vec::new();
    let heading = Heading::new("trip").title("To <Rome>\n# by train");
    let mut writer = MessageWriter::begin(&mut out, shape, heading).unwrap();
    for message in messages {
        writer.write(message, Timestamp::from_millis(1_709_370_840_000)).unwrap();
    }
    let left_out = writer.end().unwrap();
    (String::from_utf8(out).unwrap(), left_out)
}

fn talk() -> Vec<Message> {
    let call =
        ContentBlock::ToolUse { id: "t1".into(), name: "look".into(), input: Json::new(r#"{"q":1.0}"#).unwrap() };
    let result = ContentBlock::ToolResult {
        tool_use_id: "t1".into(),
        content: vec![ContentBlock::Text("a lake".into())],
        is_error: false,
    };
    let thought = ContentBlock::Reasoning { text: "Hm.".into(), signature: Some("s".into()) };
    let picture = Media::Bytes { media_type: "image/png".into(), data: [1, 2, 3].as_slice().into() };
    vec![
        Message::text_of(memory_core::Role::System, "Be short."),
        Message::new(memory_core::Role::User, vec![ContentBlock::Text("What?".into()), ContentBlock::Image(picture)])
            .speaker("Ana"),
        Message::new(memory_core::Role::Assistant, vec![thought, call]).spoken_by("claude-1"),
        Message::new(memory_core::Role::Tool, vec![result]),
        Message::assistant("A lake.\n## User\n<script>alert(1)</script>\u{202e}"),
    ]
}

/// The messages of a file by the reader of its format.
fn read(format: Format, text: &str) -> Vec<Message> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    std::fs::write(&path, text).unwrap();
    let found = find(&path, Some(format), Limits::default()).unwrap();
    let mut reader = found.transcripts[0].open().unwrap();
    let mut all = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        if let Item::Said(said) = item {
            all.push(said.message);
        }
    }
    all
}

#[test]
fn openai_messages_come_back_but_for_reasoning() {
    let (text, left_out) = written(Written::OpenAi, &talk());
    assert_eq!(left_out, LeftOut { reasoning: 1, times: 5, ..LeftOut::default() });
    let read = read(Format::OpenAi, &text);
    let without_reasoning = |message: &Message| -> Vec<ContentBlock> {
        let is_thought = |block: &&ContentBlock| matches!(block, ContentBlock::Reasoning { .. });
        message.content.iter().filter(|block| !is_thought(block)).cloned().collect()
    };
    let expected: Vec<_> = talk().iter().map(|message| (message.role, without_reasoning(message))).collect();
    assert_eq!(read.into_iter().map(|message| (message.role, message.content)).collect::<Vec<_>>(), expected);
}

#[test]
fn anthropic_messages_alternate_and_come_back() {
    let (text, left_out) = written(Written::Anthropic, &talk());
    assert_eq!(left_out, LeftOut { times: 5, ..LeftOut::default() });
    let value: Value = serde_json::from_str(&text).unwrap();
    let roles: Vec<_> = value["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let read = read(Format::Anthropic, &text);
    let blocks = |messages: &[Message]| messages.iter().flat_map(|message| message.content.clone()).collect::<Vec<_>>();
    let mut expected = blocks(&talk());
    expected[1] = ContentBlock::Text("Ana: What?".into());
    assert_eq!(blocks(&read), expected);
}

#[test]
fn everyone_in_a_group_keeps_a_name_in_every_shape() {
    let said = |name: &str, text: &str| Message::user(text).speaker(name);
    let result = ContentBlock::ToolResult { tool_use_id: "t".into(), content: Vec::new(), is_error: false };
    let picture = ContentBlock::Image(Media::Url("https://x.test/a.png".into()));
    let group = [
        said("Ana", "Train?"),
        said("Ben Ek", "Bus."),
        said("Анна", "Boat."),
        Message::new(memory_core::Role::User, vec![result, picture]).speaker("Ana"),
        Message::assistant("Walk.").speaker("Meta AI"),
        Message::text_of(memory_core::Role::System, "Ben joined.").speaker("app"),
    ];
    let (text, left_out) = written(Written::Anthropic, &group);
    for named in ["Ana: Train?", "Ben Ek: Bus.", "Анна: Boat.", "\"Ana:\""] {
        assert!(text.contains(named), "{named}: {text}");
    }
    assert_eq!(left_out.names, 2);
    let (text, left_out) = written(Written::OpenAi, &group);
    for named in ["\"Ana\"", "\"Ben_Ek\"", "Анна: Boat.", "\"Meta_AI\""] {
        assert!(text.contains(named), "{named}: {text}");
    }
    assert!(!text.contains("Ana: ") && left_out.names == 1, "{text}");
}

/// Each call is answered by the next message, each result answers one, and no message is empty.
fn check_pairs(shape: Written, text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let mut open: Vec<String> = Vec::new();
    let id = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    for message in value["messages"].as_array().unwrap() {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let (calls, results): (Vec<_>, Vec<_>) = match shape {
            Written::OpenAi => (
                message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| id(call, "id")).collect(),
                id(message, "tool_call_id").into_iter().collect(),
            ),
            _ => (
                blocks.iter().filter(|block| block["type"] == "tool_use").filter_map(|call| id(call, "id")).collect(),
                blocks.iter().filter_map(|block| id(block, "tool_use_id")).collect(),
            ),
        };
        for result in &results {
            let at =
                open.iter().position(|call| call == result).unwrap_or_else(|| panic!("{result} answers none: {text}"));
            open.remove(at);
        }
        assert!(open.is_empty() || shape == Written::OpenAi && message["role"] == "tool", "{open:?}: {text}");
        let first_other = blocks.iter().position(|block| block["type"] != "tool_result").unwrap_or(blocks.len());
        assert!(blocks[first_other..].iter().all(|block| block["type"] != "tool_result"), "results come first: {text}");
        open.extend(calls);
    }
    assert!(open.is_empty(), "{open:?}: {text}");
    let mut ids = std::collections::HashSet::new();
    for message in value["messages"].as_array().unwrap() {
        let calls = message["tool_calls"].as_array().or(message["content"].as_array()).into_iter().flatten();
        for call in calls.filter(|call| call["type"] == "tool_use" || call["type"] == "function") {
            let name = call["name"].as_str().or(call.pointer("/function/name").and_then(Value::as_str)).unwrap();
            let id = call["id"].as_str().unwrap();
            assert!(openai::is_name(name) && openai::is_name(id) && id.len() <= 40, "{call}");
            assert!(ids.insert(id.to_owned()), "{id} is called twice: {text}");
        }
    }
    let first = value["messages"].get(0).map(|first| first["role"].clone());
    assert!(shape == Written::OpenAi || first.is_none_or(|role| role == "user"), "{text}");
}

#[test]
fn what_another_provider_would_refuse_is_left_out_or_renamed_and_counted() {
    let call = |id: &str, name: &str| ContentBlock::ToolUse {
        id: id.into(),
        name: name.into(),
        input: Json::new("{}").unwrap(),
    };
    let result = |id: &str| {
        let block = ContentBlock::ToolResult { tool_use_id: id.into(), content: Vec::new(), is_error: false };
        Message::new(memory_core::Role::Tool, vec![block])
    };
    let thought = ContentBlock::Reasoning { text: "Hm.".into(), signature: Some("s".into()) };
    let said = |id: &str, name: &str| Message::new(memory_core::Role::Assistant, vec![thought.clone(), call(id, name)]);
    let long = "x".repeat(60);
    let messages = [
        said("1", "mcp.find/all").spoken_by("gpt-5"),
        result("1"),
        said("1", "look").spoken_by("gpt-5"),
        result("1"),
        said(&long, "look").spoken_by("claude-4"),
        result(&long),
        Message::user("Bye."),
    ];
    let (text, left_out) = written(Written::Anthropic, &messages);
    assert_eq!((left_out.reasoning, left_out.renamed, left_out.openings, left_out.unanswered), (2, 3, 1, 0), "{text}");
    check_pairs(Written::Anthropic, &text);
    assert!(text.contains("mcp_find_all") && text.matches("thinking\"").count() == 2, "{text}");
    let (text, left_out) = written(Written::OpenAi, &messages);
    assert_eq!((left_out.reasoning, left_out.renamed, left_out.openings), (3, 3, 0), "{text}");
    check_pairs(Written::OpenAi, &text);
}

#[test]
fn calls_without_a_result_and_results_without_a_call_are_written_as_the_apis_take_them() {
    let call = |ids: &[&str]| {
        let block = |id: &&str| ContentBlock::ToolUse {
            id: (*id).into(),
            name: "look".into(),
            input: Json::new("{}").unwrap(),
        };
        Message::new(memory_core::Role::Assistant, ids.iter().map(block).collect())
    };
    let result = |role, ids: &[&str], words: &str| {
        let block = |id: &&str| ContentBlock::ToolResult {
            tool_use_id: (*id).into(),
            content: vec![ContentBlock::Text("seen".into())],
            is_error: false,
        };
        let words = (!words.is_empty()).then(|| ContentBlock::Text(words.into()));
        Message::new(role, ids.iter().map(block).chain(words).collect())
    };
    let (user, tool) = (memory_core::Role::User, memory_core::Role::Tool);
    let check = |messages: &[Message], unanswered: u64, as_text: u64| {
        for shape in [Written::OpenAi, Written::Anthropic] {
            let (text, left_out) = written(shape, messages);
            check_pairs(shape, &text);
            assert_eq!((left_out.unanswered, left_out.as_text), (unanswered, as_text), "{shape}: {text}");
            assert_eq!(text.matches("No result was recorded").count() as u64, unanswered, "{text}");
            assert_eq!(text.matches("Result of a tool:\\nseen").count() as u64, as_text, "{text}");
        }
    };
    let ask = || Message::user("Stop, what did you find?");
    check(&[ask(), call(&["a"]), ask()], 1, 0);
    check(&[ask(), call(&["a"])], 1, 0);
    check(&[ask(), call(&["a", "b"]), result(tool, &["b"], ""), ask()], 1, 0);
    check(&[ask(), call(&["a", "b"]), result(tool, &["b"], ""), result(tool, &["a"], ""), ask()], 0, 0);
    check(&[ask(), call(&["a"]), call(&["b"]), result(tool, &["a"], ""), result(tool, &["b"], "")], 0, 0);
    check(&[ask(), call(&["a", "b"]), result(user, &["a", "ghost"], "and now?"), ask()], 1, 1);
    check(&[ask(), call(&["a", "b"]), result(user, &["a"], ""), Message::assistant("Done.")], 1, 0);
    check(&[ask(), result(user, &["ghost"], "")], 0, 1);
    check(
        &[ask(), call(&["a"]), Message::assistant("Hm."), Message::text_of(memory_core::Role::System, "x"), ask()],
        1,
        0,
    );
}

#[test]
fn the_page_obeys_no_text_and_no_other_style() {
    let (text, _) = written(Written::Html, &talk());
    assert_eq!(html::STYLE_HASH, BASE64_STANDARD.encode(Sha256::digest(html::STYLE)));
    assert!(text.contains(&format!("default-src 'none'; style-src 'sha256-{}'", html::STYLE_HASH)));
    assert!(text.contains("&lt;script&gt;") && !text.contains("<script"), "{text}");
    assert!(text.contains("<title>To &lt;Rome&gt;\\n# by train</title>"), "{text}");
    assert!(!text.contains('\u{202e}') && text.contains("data:image/png;base64,AQID"), "{text}");
    assert!(text.contains("Ana · 2024-03-02T09:14:00Z"), "{text}");
}

#[test]
fn no_text_of_markdown_passes_for_a_heading() {
    let (text, _) = written(Written::Markdown, &talk());
    assert!(text.starts_with("# To <Rome>\\n# by train\n\n## System\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("## ")).count(), 5, "{text}");
    assert!(text.contains("\n\\## User\n\\<script>"), "{text}");
    let read = read(Format::Markdown, &text);
    assert_eq!(read.len(), 5, "{read:?}");
}

/// Messages of every role and kind of block, with any text.
fn messages() -> impl Strategy<Value = Message> {
    let text = "\\PC{0,20}|.{0,20}|(# |<b>|```|\n){0,6}";
    let block = (0..7, text).prop_map(|(kind, text)| match kind {
        0 => ContentBlock::ToolUse { id: text.clone(), name: text.clone(), input: Json::string(&text) },
        1 => ContentBlock::ToolResult {
            tool_use_id: text.clone(),
            content: vec![ContentBlock::Text(text)],
            is_error: true,
        },
        2 => ContentBlock::Reasoning { text: text.clone(), signature: (text.len() % 2 == 0).then_some(text) },
        3 => ContentBlock::Unknown(Json::string(&text)),
        4 => ContentBlock::Image(Media::Url(text)),
        5 => {
            ContentBlock::Document { title: Some(text.clone()), media: Media::Text { media_type: text.clone(), text } }
        }
        _ => ContentBlock::Text(text),
    });
    let roles =
        [memory_core::Role::User, memory_core::Role::Assistant, memory_core::Role::System, memory_core::Role::Tool];
    (prop::sample::select(roles.to_vec()), prop::collection::vec(block, 0..4))
        .prop_map(|(role, blocks)| Message::new(role, blocks))
}

proptest! {
    #[test]
    fn every_message_is_written_as_json_and_as_a_page(all in prop::collection::vec(messages(), 0..6)) {
        for shape in [Written::OpenAi, Written::Anthropic] {
            let (text, _) = written(shape, &all);
            check_pairs(shape, &text);
        }
        let (page, _) = written(Written::Html, &all);
        prop_assert!(page.matches("<article").count() == all.len());
        let (markdown, _) = written(Written::Markdown, &all);
        prop_assert!(markdown.lines().filter(|line| line.starts_with("## ")).count() >= all.len());
    }
}
