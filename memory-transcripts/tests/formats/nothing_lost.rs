//! Nothing of a source is lost silently: records without a message are kept next to one, or counted by name.

use memory_core::{ContentBlock, Role};
use memory_transcripts::{Format, Limits, TranscriptError, Why, find};
use serde_json::{Value, json};

use crate::support::{Files, Read, read, read_as};

/// A member that no format knows.
const STRANGE: &str = "zq_strange";
const WORDS: &str = "words of a stranger";

/// The value with a member that nothing knows in each of its objects in turn, and where that object is.
fn with_a_stranger(value: &Value) -> Vec<(String, Value)> {
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.push(at.to_owned());
                members.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), found));
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(index, value)| places(value, &format!("{at}/{index}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(value, "", &mut found);
    let strange = |at: String| {
        let mut strange = value.clone();
        strange.pointer_mut(&at).unwrap()[STRANGE] = WORDS.into();
        (at, strange)
    };
    found.into_iter().map(strange).collect()
}

fn is_accounted_for(read: &Read) -> bool {
    let kept = format!("{:?}", read.messages).contains(WORDS);
    kept || read.report.skipped().any(|skipped| skipped.what.contains(STRANGE) || skipped.why == Why::Broken)
}

#[test]
fn a_member_that_nothing_knows_is_kept_or_counted_by_name_wherever_it_stands() {
    let openai = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "Hi."}, {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}]},
        {"role": "assistant", "content": "Hello.", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "a lake"}]},
        {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
    ]});
    let answer = json!({"id": "r", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}]});
    let responses = json!({"model": "m", "instructions": "Be short.", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a lake"}]},
    ], "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "web_search_call", "id": "w", "action": {"query": "lakes"}},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "A lake."}]},
    ]});
    let anthropic = json!({"system": [{"type": "text", "text": "Be short."}], "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a lake"}]}]},
    ]});
    let bedrock = json!({"modelId": "m", "system": [{"text": "Be short."}], "messages": [
        {"role": "user", "content": [{"text": "Hi."}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "look", "input": {"a": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "a lake"}]}}]},
    ]});
    let langchain = json!([
        {"type": "human", "data": {"content": [{"type": "text", "text": "Hi."}], "additional_kwargs": {}}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"id": "c", "name": "look", "args": {"a": 1}}],
                                "response_metadata": {"model_name": "m"}, "usage_metadata": {"input_tokens": 1}}},
        {"type": "tool", "data": {"content": "a lake", "tool_call_id": "c"}},
    ]);
    let chatgpt = json!([{"conversation_id": "c", "title": "t", "current_node": "b", "mapping": {
        "a": {"id": "a", "parent": null, "message": {"id": "a", "author": {"role": "user"},
              "content": {"content_type": "text", "parts": ["Hi."]}, "metadata": {"citations": [{"title": "x"}]}}},
        "b": {"id": "b", "parent": "a", "message": {"id": "b", "author": {"role": "assistant"},
              "content": {"content_type": "thoughts", "thoughts": [{"summary": "Hm.", "content": "A lake."}]}}},
    }}]);
    let claude = json!([{"uuid": "c", "name": "t", "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "Hi.", "attachments": [{"file_name": "x.txt", "extracted_content": "lake"}],
         "files": [{"file_name": "y.png"}]},
        {"uuid": "b", "sender": "assistant", "content": [
            {"type": "text", "text": "Hello."},
            {"type": "tool_use", "name": "look", "input": {"a": 1}},
            {"type": "tool_result", "name": "look", "content": [{"type": "text", "text": "a lake"}]}]},
    ]}]);
    let lists = [
        ("openai", openai),
        ("openai", answer),
        ("openai-responses", responses),
        ("anthropic", anthropic),
        ("bedrock", bedrock),
        ("langchain", langchain),
        ("chatgpt", chatgpt),
        ("claude", claude),
    ];
    let codex = vec![
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "session_meta", "payload": {"id": "s", "timestamp": "t"}}),
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "response_item",
               "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}}),
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "response_item",
               "payload": {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}}),
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "response_item",
               "payload": {"type": "custom_tool_call_output", "call_id": "c", "output": {"content": "no", "success": false}}}),
    ];
    let claude_code = vec![
        json!({"type": "user", "uuid": "a", "sessionId": "s", "message": {"role": "user", "content": "Hi."}}),
        json!({"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s", "message": {"id": "m", "role": "assistant",
               "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}]}}),
        json!({"type": "user", "uuid": "c", "parentUuid": "b", "sessionId": "s", "message": {"role": "user",
               "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a lake"}]}]}}),
    ];
    let pi = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"}),
        json!({"type": "message", "id": "a", "message": {"role": "user", "content": "Hi."}}),
        json!({"type": "message", "id": "b", "parentId": "a", "message": {"role": "assistant", "usage": {"input": 1}, "content": [
            {"type": "text", "text": "Hello."}, {"type": "toolCall", "id": "t", "name": "look", "arguments": {"a": 1}}]}}),
        json!({"type": "message", "id": "c", "parentId": "b", "message": {"role": "toolResult", "toolCallId": "t",
               "content": [{"type": "text", "text": "a lake"}]}}),
    ];
    let files = Files::new();
    let mut lost = Vec::new();
    let mut check = |format: &str, at: &str, text: String| {
        let path = files.write("x.json", text);
        if !is_accounted_for(&read_as(&path, Some(format.parse().unwrap()))) {
            lost.push(format!("{format}: {at}"));
        }
    };
    for (format, value) in lists {
        for (at, strange) in with_a_stranger(&value) {
            check(format, &at, strange.to_string());
        }
    }
    for (format, lines) in [("codex", codex), ("claude-code", claude_code), ("pi", pi)] {
        for (at, strange) in with_a_stranger(&lines.into()) {
            let lines: String = strange.as_array().unwrap().iter().map(|line| format!("{line}\n")).collect();
            check(format, &at, lines);
        }
    }
    assert_eq!(lost, [""; 0]);
}

fn texts(name: &str, text: &str, format: Option<Format>) -> Vec<String> {
    let files = Files::new();
    let read = read_as(&files.write(name, text), format);
    read.ids().iter().flat_map(|id| read.texts(id)).collect()
}

#[test]
fn answers_that_are_a_text_are_said_by_the_model() {
    let check = |text: &str, expected: &[&str]| assert_eq!(texts("x.json", text, None), expected, "{text}");
    check(
        r#"[{"instruction":"Translate to French","input":"Good morning","output":"Bonjour"}]"#,
        &["user: Translate to French\n\nGood morning", "assistant: Bonjour"],
    );
    check(r#"[{"instruction":"Say hi","input":"","output":"Hi"}]"#, &["user: Say hi", "assistant: Hi"]);
    check(r#"{"input":"What is 2+2?","output":"4"}"#, &["user: What is 2+2?", "assistant: 4"]);
    check(
        r#"{"messages":[{"role":"user","content":"q"}],"response":"the answer"}"#,
        &["user: q", "assistant: the answer"],
    );
    check(r#"{"choices":[{"text":"It was a dark night."}]}"#, &["assistant: It was a dark night."]);
    check(
        r#"{"system":"Be short.","choices":[{"message":{"role":"assistant","content":"Hi."}}]}"#,
        &["system: Be short.", "assistant: Hi."],
    );
}

#[test]
fn citations_of_an_answer_are_kept_beside_it() {
    let files = Files::new();
    let annotation = json!({"type": "url_citation", "url_citation": {"url": "https://x.example", "title": "Lakes"}});
    let chat = json!({"messages": [{"role": "user", "content": "q"},
                                   {"role": "assistant", "content": "A lake.", "annotations": [annotation]}]});
    let responses = json!([{"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "A lake.", "annotations": [annotation]}]}]);
    for (value, index, member) in [(chat, 1, "members"), (responses, 0, "block_members")] {
        let read = read(&files.write("x.json", value.to_string()));
        let kept = read.metadata("x", index, member);
        assert!(kept.contains("https://x.example") && kept.contains("annotations"), "{kept}");
    }
}

#[test]
fn further_choices_and_members_of_new_formats_are_counted() {
    let files = Files::new();
    let choice = |text: &str| json!({"message": {"role": "assistant", "content": text}});
    let value = json!({"choices": [choice("one"), choice("two"), choice("three")], "temperature": 1, "ideal": "one", "empty": []});
    let read = read(&files.write("x.json", value.to_string()));
    let expected =
        [(Why::Unknown, "member ideal", 1), (Why::Note, "member temperature", 1), (Why::NoPlace, "further choice", 2)];
    assert_eq!(read.skipped(), expected.map(|(why, what, count)| (why, what.to_owned(), count)));
}

#[test]
fn a_call_and_its_result_stay_a_pair_whatever_they_hold() {
    for (input, content) in [
        (json!({}), json!([{"query": "a", "result": "b"}])),
        (json!("text"), json!({"rows": [1]})),
        (json!([1]), json!([[1], "x", 7, {"type": "text"}])),
        (Value::Null, Value::Null),
    ] {
        let value = json!({"messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": content}]}]});
        let files = Files::new();
        let read = read(&files.write("x.json", value.to_string()));
        let messages = &read.messages["x"];
        assert_eq!(messages[0].message.tool_calls().collect::<Vec<_>>(), ["t1"], "{value}");
        assert_eq!(messages[1].message.tool_results().collect::<Vec<_>>(), ["t1"], "{value}");
        let whole = format!("{messages:?}");
        assert!(!content.to_string().contains("rows") || whole.contains("rows"), "{whole}");
    }
}

#[test]
fn reasoning_after_which_nothing_was_said_is_a_message() {
    let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let user = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let files = Files::new();
    let items = json!([user("a"), reasoning, user("b"), reasoning]);
    let whole = read(&files.write("x.json", json!({"model": "m", "input": items}).to_string()));
    assert_eq!(whole.texts("x"), ["user: a", "assistant: Hm.", "user: b", "assistant: Hm."]);
    let thought = &whole.messages["x"][1].message;
    assert!(thought.role == Role::Assistant && matches!(thought.content[0], ContentBlock::Reasoning { .. }));
    // A list may continue, so reasoning at its end waits; keys of messages that were read stay.
    let list = read(&files.write("x.json", items.to_string()));
    assert_eq!(list.texts("x"), ["user: a", "assistant: Hm.", "user: b"]);
    assert_eq!(list.skipped(), [(Why::Unfinished, "reasoning at the end".to_owned(), 1)]);
}

#[test]
fn reasoning_that_an_event_alone_tells_is_kept_once() {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-03-02T09:14:00Z", "type": kind, "payload": payload});
    let event = |kind: &str, name: &str, text: &str| line("event_msg", json!({"type": kind, name: text}));
    let said = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        line("response_item", json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let reasoning = |text: &str| {
        line("response_item", json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}))
    };
    let meta = line("session_meta", json!({"id": "s", "timestamp": "t"}));
    let check = |lines: &[Value], expected: &[&str]| {
        let files = Files::new();
        let lines: String = [&meta].into_iter().chain(lines).map(|line| format!("{line}\n")).collect();
        assert_eq!(read(&files.write("x.jsonl", lines)).texts("s"), expected);
    };
    let aborted = event("turn_aborted", "reason", "interrupted");
    check(
        &[said("user", "Go."), event("agent_reasoning", "text", "**Running tests**"), aborted.clone()],
        &["user: Go.", "assistant: **Running tests**"],
    );
    check(
        &[
            said("user", "Go."),
            reasoning("Running tests"),
            aborted.clone(),
            said("user", "Stop."),
            said("assistant", "Stopped."),
        ],
        &["user: Go.", "assistant: Running tests", "user: Stop.", "assistant: Stopped."],
    );
    check(
        &[
            said("user", "Go."),
            event("agent_reasoning", "text", "Run."),
            reasoning("Run."),
            event("agent_message", "message", "Done."),
            said("assistant", "Done."),
        ],
        &["user: Go.", "assistant: Run.\nDone."],
    );
    let half = [said("user", "Go."), event("agent_message", "message", "Half an ans")];
    check(&[half.as_slice(), &[aborted]].concat(), &["user: Go.", "assistant: Half an ans"]);
    let files = Files::new();
    let lines: String = [&meta].into_iter().chain(&half).map(|line| format!("{line}\n")).collect();
    let read = read(&files.write("x.jsonl", lines));
    assert_eq!(read.skipped(), [(Why::Unfinished, "event_msg/agent_message".to_owned(), 1)], "it may go on");
}

#[test]
fn plain_transcripts_tell_who_spoke() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(texts("x.md", text, Some(Format::Markdown)), expected, "{text}");
    };
    let both = ["user: hello", "assistant: hi"];
    check("## User\nhello\n\n## Gemini\nhi\n", &both);
    check("You said:\n\nhello\n\nChatGPT said:\n\nhi\n", &both);
    check("## Prompt:\nhello\n\n## Response:\nhi\n", &both);
    check("_**User (2025-10-01 10:00Z)**_\n\nhello\n\n_**Agent (model gpt-5, mode Agent)**_\n\nhi\n", &both);
    check("_**User**_\n\nhello\n\n_**Assistant**_\n\nhi\n", &both);
    check("### 👤 User\n\nhello\n\n### 🤖 GPT-4o\n\nhi\n", &both);
    check("# A talk\n\n#### You:\nhello\n\n#### ChatGPT:\nhi\n", &both);
    check("user: hello\nGitHub Copilot: hi\n", &both);
    check("**User**\n\nhello\n\n---\n\n**Cursor**\n\nhi\n", &["user: hello", "assistant: hi"]);
    // Headings of an answer are none of a speaker.
    let answer = "## Steps\n\n### Model\n\nx\n\n## Response\n\n**Human:** no";
    check(
        &format!("## User\n\nhello\n\n## Assistant\n\n{answer}\n"),
        &["user: hello", &format!("assistant: {answer}")],
    );
    let files = Files::new();
    let text = "_**User (2025-10-01T10:00:00Z)**_\n\nhello\n\n_**Agent (model gpt-5)**_\n\nhi\n";
    let read = read_as(&files.write("x.md", text), Some(Format::Markdown));
    assert_eq!(read.messages["x"][0].at.unwrap().to_string(), "2025-10-01T10:00:00Z");
    assert_eq!(read.metadata("x", 1, "heading"), "\"model gpt-5\"");
}

#[test]
fn a_plain_transcript_whose_speakers_are_not_known_is_refused() {
    let files = Files::new();
    let refused = |text: &str| {
        let found = find(&files.write("x.md", text), Some(Format::Markdown), Limits::default()).unwrap();
        let mut reader = found.transcripts[0].open().unwrap();
        loop {
            match reader.read() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it was read: {text}"),
                Err(error) => break error,
            }
        }
    };
    for (text, named) in [
        ("## User\nhello\n\n## Wombat\nhi\n", "x.md:4: who speaks after `## Wombat`"),
        ("**User:** hello\n\n**Wombat:** hi\n", "x.md:3: who speaks after `**Wombat:** hi`"),
        ("User: hello\nWombat: hi\n", "x.md:2: "),
        ("**Anna**\nhello\n\n**ChatGPT**\nhi\n", "x.md:1: who speaks after `**Anna**`"),
        // The other speaker is named in another way.
        ("## User\nhello\n\n**Assistant:** hi\n", "x.md:4: "),
        (
            "# aider chat started at 2024-05-02 10:00:00\n\n#### fix the bug\n\nI changed foo.\n",
            "x.md:1: no line names a speaker",
        ),
        ("[12/08/24, 09:15:33] Anna: Hi, are we meeting at noon?\n", "x.md:1: no line names a speaker"),
        ("12/08/2024, 09:15 - Anna: Hi, are we meeting at noon?\n", "x.md:1: no line names a speaker"),
    ] {
        let error = refused(text);
        assert!(matches!(error, TranscriptError::Speaker { .. }), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn lines_before_the_first_speaker_are_counted_and_a_title_is_none_of_them() {
    let files = Files::new();
    let text = "# A talk\n\nExported today.\nBy hand.\n\n## User\nhello\n";
    let read = read_as(&files.write("x.md", text), Some(Format::Markdown));
    assert_eq!(read.skipped(), [(Why::Note, "lines before the first speaker".to_owned(), 2)]);
    assert_eq!(read.titles["x"], "A talk");
}

#[test]
fn a_directory_gives_every_transcript_that_is_recognized_and_says_of_others_why_not() {
    let files = Files::new();
    let messages = |text: &str| json!({"messages": [{"role": "user", "content": text}]}).to_string();
    files.write("d/a.json", messages("one"));
    files.write("d/deeper/b.json", messages("two"));
    files.write("d/c.jsonl", messages("three"));
    files.write("d/tool-results/r.json", messages("a result"));
    files.write("d/package.json", r#"{"name": "x"}"#);
    files.write("d/notes.md", "## User\nhello\n\n## Assistant\nhi\n");
    let read = read(&files.path("d"));
    assert_eq!(read.ids(), ["a", "b", "c", "notes"]);
    let other = |what: &str, why| (why, what.to_owned(), 1);
    let expected = [other("file *.json", Why::Unknown), other("file *.json", Why::OtherFile)];
    assert_eq!(read.skipped(), expected);
    let named = read_as(&files.path("d"), Some(Format::Markdown));
    assert_eq!(named.texts("notes"), ["user: hello", "assistant: hi"]);
}

#[test]
fn half_a_character_is_replaced_and_everything_else_is_kept() {
    let halves = [r"\ud83d", r"\uDE00", r"\udc88\udcff", r"\ude00\ud83d"];
    let files = Files::new();
    let lines = |half: &str| {
        let claude_code = format!(
            r#"{{"type":"user","uuid":"a","sessionId":"s","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"ELF {half} \ud83d\ude00 DELTA-55"}}]}},"{half}":1}}"#
        );
        let codex = format!(
            r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"function_call_output","call_id":"t","output":"ELF {half} \ud83d\ude00 DELTA-55"}}}}"#
        );
        let pi = format!(
            "{{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\"}}\n{{\"type\":\"message\",\"id\":\"a\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"t\",\"content\":\"ELF {half} \\ud83d\\ude00 DELTA-55\"}}}}"
        );
        let anthropic = format!(
            r#"[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"ELF {half} \ud83d\ude00 DELTA-55"}}]}}]"#
        );
        let openai = format!(
            r#"[{{"role":"tool","tool_call_id":"t","content":"ELF {half} \ud83d\ude00 DELTA-55","{half}":{{"{half}":2}}}}]"#
        );
        let chatgpt = format!(
            r#"[{{"conversation_id":"s","mapping":{{"a":{{"parent":null,"message":{{"author":{{"role":"tool"}},"content":{{"content_type":"text","parts":["ELF {half} \ud83d\ude00 DELTA-55"]}}}}}}}}}}]"#
        );
        let claude = format!(
            r#"[{{"uuid":"s","chat_messages":[{{"uuid":"a","sender":"assistant","content":[{{"type":"tool_result","name":"x","content":"ELF {half} \ud83d\ude00 DELTA-55"}}]}}]}}]"#
        );
        let langchain = format!(
            r#"[{{"type":"tool","data":{{"tool_call_id":"t","content":"ELF {half} \ud83d\ude00 DELTA-55"}}}}]"#
        );
        let bedrock = format!(
            r#"[{{"role":"user","content":[{{"toolResult":{{"toolUseId":"t","content":[{{"text":"ELF {half} \ud83d\ude00 DELTA-55"}}]}}}}]}}]"#
        );
        [
            (Format::ClaudeCode, claude_code),
            (Format::Codex, codex),
            (Format::Pi, pi),
            (Format::Anthropic, anthropic),
            (Format::OpenAi, openai),
            (Format::ChatGpt, chatgpt),
            (Format::ClaudeAi, claude),
            (Format::LangChain, langchain),
            (Format::Bedrock, bedrock),
        ]
    };
    for half in halves {
        for (format, text) in lines(half) {
            let read = read_as(&files.write("x.json", text), Some(format));
            let (_, messages) = read.messages.first_key_value().unwrap();
            let message = &messages[0].message;
            let said = message.text();
            let put = "\u{fffd}".repeat(half.len() / 6);
            assert!(said.ends_with(&format!("ELF {put} 😀 DELTA-55")), "{format}: {said}");
            assert!(matches!(message.content[..], [ContentBlock::ToolResult { .. }]), "{format}: {message:?}");
            assert!(read.report.mended >= half.len() as u64 / 6, "{format}");
        }
    }
}
