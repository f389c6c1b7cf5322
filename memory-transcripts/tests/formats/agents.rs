//! Sessions of agents: Gemini CLI, Qwen Code, opencode, Cline, and Claude Code and Codex without their own files.

use memory_core::{ContentBlock, Role};
use memory_transcripts::{Format, Limits, Why, find};
use serde_json::{Value, json};

use crate::support::{Files, Read, read};

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn format_of(files: &Files, name: &str) -> Format {
    find(&files.path(name), None, Limits::default()).unwrap().transcripts[0].format()
}

/// Ids of all calls, and of all results.
fn pairs(read: &Read, id: &str) -> (Vec<String>, Vec<String>) {
    let messages = || read.messages[id].iter().map(|said| &said.message);
    (
        messages().flat_map(|message| message.tool_calls().map(str::to_owned)).collect(),
        messages().flat_map(|message| message.tool_results().map(str::to_owned)).collect(),
    )
}

fn gemini(id: &str, kind: &str, content: impl Into<Value>) -> Value {
    json!({"id": id, "timestamp": "2026-02-03T10:00:00.000Z", "type": kind, "content": content.into()})
}

fn with_call(mut message: Value, result: Value, status: &str) -> Value {
    message["model"] = "gemini-3-pro".into();
    message["thoughts"] = json!([{"subject": "Look", "description": "List the folder.", "timestamp": "t"}]);
    message["tokens"] = json!({"input": 10, "output": 5});
    message["toolCalls"] = json!([{"id": "list-1", "name": "list_directory", "args": {"path": "."}, "status": status,
        "result": result, "resultDisplay": "2 items", "timestamp": "t", "displayName": "ReadFolder"}]);
    message
}

fn answered() -> Value {
    json!([{"functionResponse": {"id": "list-1", "name": "list_directory", "response": {"output": "a.rs\nb.rs"}}}])
}

#[test]
fn a_session_of_gemini_cli_gives_thoughts_calls_and_results() {
    let files = Files::new();
    let session = json!({"sessionId": "g-1", "projectHash": "ab", "startTime": "2026-02-03T10:00:00Z", "lastUpdated": "t",
        "summary": "Folders", "messages": [
            gemini("m0", "user", "<session_context>\nToday is Tuesday.\n</session_context>"),
            gemini("m1", "user", json!([{"text": "What is here?"}])),
            gemini("m2", "info", "Update available"),
            with_call(gemini("m3", "gemini", "I look."), answered(), "success"),
            gemini("m4", "gemini", "Two files.")]});
    let read = read(&files.write("session-x.json", session.to_string()));
    assert_eq!(
        read.texts("g-1"),
        [
            "user: What is here?",
            "assistant: Look\nList the folder.\nI look.\nlist_directory({\"path\":\".\"})",
            "tool: a.rs\nb.rs",
            "assistant: Two files."
        ]
    );
    let (calls, results) = pairs(&read, "g-1");
    assert_eq!((calls, results), (vec!["list-1".to_owned()], vec!["list-1".to_owned()]));
    let messages = &read.messages["g-1"];
    assert_eq!(messages[1].message.model().as_deref(), Some("gemini-3-pro"));
    assert!(messages.iter().all(|said| said.at.is_some()));
    assert_eq!(read.titles["g-1"], "Folders");
    let skipped = [(Why::Note, "context of the program".to_owned(), 1), (Why::Note, "info".to_owned(), 1)];
    assert_eq!(read.skipped(), skipped);
}

#[test]
fn a_log_of_gemini_cli_keeps_what_was_taken_back_as_a_branch() {
    let files = Files::new();
    let begin = [
        json!({"sessionId": "g-2", "projectHash": "ab", "startTime": "2026-02-03T10:00:00Z", "messages": []}),
        gemini("m1", "user", "One."),
        with_call(gemini("m2", "gemini", "Look."), Value::Null, "executing"),
        // The call has ended.
        with_call(gemini("m2", "gemini", "Look."), answered(), "success"),
        gemini("m3", "user", "Two."),
        gemini("m4", "gemini", "Second."),
    ];
    let rest = [
        json!({"$rewindTo": "m3"}),
        gemini("m5", "user", "Another two."),
        json!({"$set": {"summary": "Counting", "messages": [
            gemini("x1", "user", "One."),
            gemini("x2", "user", "<state_snapshot>\nall so far"),
            gemini("m5", "user", "Another two.")]}}),
        gemini("m6", "gemini", "Third."),
    ];
    let path = files.write("s.jsonl", lines(&[begin.as_slice(), &rest].concat()));
    let whole = read(&path);
    let shared = [
        "user: One.",
        "assistant: Look\nList the folder.\nLook.\nlist_directory({\"path\":\".\"})",
        "tool: a.rs\nb.rs",
    ];
    assert_eq!(whole.texts("g-2"), [shared.as_slice(), &["user: Another two.", "assistant: Third."]].concat());
    assert_eq!(whole.texts("g-2-m3"), ["user: Two.", "assistant: Second."]);
    assert_eq!(whole.forks(), [("g-2-m3".to_owned(), "g-2".to_owned(), "m2.1".to_owned())]);
    assert_eq!(whole.titles["g-2"], "Counting");
    let before = read(&files.write("s.jsonl", lines(&begin)));
    assert_eq!(before.texts("g-2"), [shared.as_slice(), &["user: Two.", "assistant: Second."]].concat());
}

#[test]
fn a_later_record_of_gemini_cli_adds_to_a_message_and_erases_nothing() {
    let files = Files::new();
    let begin = [
        json!({"sessionId": "g-3", "projectHash": "ab", "startTime": "2026-02-03T10:00:00Z"}),
        gemini("m1", "user", json!([{"text": "Which tram?"}])),
        gemini("m2", "gemini", "Line four."),
    ];
    let tokens = json!({"input": 5, "output": 2});
    for later in [
        json!({"type": "message_update", "id": "m2", "tokens": tokens}),
        json!({"type": "gemini", "id": "m2", "tokens": tokens}),
        json!({"type": "gemini", "id": "m2", "content": "", "toolCalls": [], "tokens": tokens}),
    ] {
        let read = read(&files.write("s.jsonl", lines(&[begin.as_slice(), std::slice::from_ref(&later)].concat())));
        assert_eq!(read.texts("g-3"), ["user: Which tram?", "assistant: Line four."], "{later}");
        assert_eq!(read.metadata("g-3", 1, "usage"), tokens.to_string());
        assert_eq!(read.skipped(), []);
    }
    // A record is named by its own line.
    let noted = [begin.as_slice(), &[gemini("m3", "info", "Update available"), gemini("m4", "user", "And back?")]];
    let read = read(&files.write("s.jsonl", lines(&noted.concat())));
    assert!(read.report.skipped().all(|skipped| skipped.first.ends_with("s.jsonl:4")));
}

#[test]
fn messages_of_gemini_cli_need_no_ids_and_no_times() {
    let files = Files::new();
    let said = |kind: &str, content: &str| json!({"type": kind, "content": content});
    let session = json!({"sessionId": "g-4", "messages": [said("user", "Rain?"), said("gemini", "No.")]});
    let bare = json!([gemini("m1", "user", "Rain?"), gemini("m2", "gemini", "No.")]);
    for (name, id, value) in [("a.json", "g-4", session), ("b.json", "b", bare)] {
        let read = read(&files.write(name, value.to_string()));
        assert_eq!(format_of(&files, name), Format::Gemini);
        assert_eq!(read.texts(id), ["user: Rain?", "assistant: No."]);
    }
}

#[test]
fn contents_of_googles_api_pair_calls_without_ids() {
    let files = Files::new();
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let response = |name: &str, said: &str| json!({"functionResponse": {"name": name, "response": {"output": said}}});
    let history = json!([
        {"role": "user", "parts": [{"text": "Go."}, {"inlineData": {"mimeType": "image/png", "data": "AQID"}}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": true}, call("ls"), call("cat")]},
        {"role": "user", "parts": [response("cat", "two"), response("ls", "one")]},
        {"role": "model", "parts": [{"text": "Done."}]}]);
    for (name, value) in [("a.json", history.clone()), ("b.json", json!({"history": history, "authType": "x"}))] {
        let read = read(&files.write(name, value.to_string()));
        let id = name.trim_end_matches(".json");
        assert_eq!(
            read.texts(id),
            [
                "user: Go.\n[image: image/png, 3 bytes]",
                "assistant: Hm.\nls({})\ncat({})",
                "tool: two\none",
                "assistant: Done."
            ]
        );
        let (calls, results) = pairs(&read, id);
        assert_eq!(results, [calls[1].clone(), calls[0].clone()]);
        assert!(matches!(read.messages[id][1].message.content[0], ContentBlock::Reasoning { .. }));
        assert_eq!(read.skipped(), []);
    }
}

#[test]
fn qwen_code_is_no_claude_code_and_its_rewinds_are_forks() {
    let files = Files::new();
    let line = |uuid: &str, parent: Option<&str>, kind: &str, parts: Value| {
        let role = if kind == "assistant" { "model" } else { "user" };
        json!({"uuid": uuid, "parentUuid": parent, "sessionId": "q-1", "timestamp": "2026-02-03T10:00:00Z", "type": kind,
            "cwd": "/w", "version": "0.5.0", "message": {"role": role, "parts": parts}})
    };
    let mut answer = line(
        "b",
        Some("a"),
        "assistant",
        json!([{"text": "Look.", "thought": true}, {"functionCall": {"id": "c1", "name": "ls", "args": {"d": "."}}}]),
    );
    (answer["model"], answer["usageMetadata"]) = ("qwen3-coder".into(), json!({"totalTokenCount": 9}));
    let mut result = line(
        "c",
        Some("b"),
        "tool_result",
        json!([{"functionResponse": {"id": "c1", "name": "ls", "response": {"error": "none"}}}]),
    );
    result["toolCallResult"] = json!({"callId": "c1", "status": "error"});
    let mut note = line("n", Some("c"), "user", json!([{"text": "Task ended."}]));
    (note["subtype"], note["provenance"]) = ("notification".into(), "system".into());
    let title = json!({"uuid": "t", "parentUuid": "n", "sessionId": "q-1", "type": "system", "subtype": "custom_title",
        "systemPayload": {"customTitle": "Folders", "titleSource": "manual"}});
    let path = files.write(
        "q-1.jsonl",
        lines(&[
            line("a", None, "user", json!([{"text": "List."}])),
            answer,
            result,
            note,
            title,
            line("d", Some("n"), "assistant", json!([{"text": "Nothing."}])),
            line("e", Some("c"), "assistant", json!([{"text": "Again."}])),
        ]),
    );
    assert_eq!(format_of(&files, "q-1.jsonl"), Format::QwenCode);
    let read = read(&path);
    assert_eq!(
        read.texts("q-1"),
        ["user: List.", "assistant: Look.\nls({\"d\":\".\"})", "user: error:\nnone", "assistant: Nothing."]
    );
    assert_eq!(read.messages["q-1"][1].message.model().as_deref(), Some("qwen3-coder"));
    assert_eq!(read.titles["q-1"], "Folders");
    assert_eq!(read.skipped(), [(Why::Note, "message of the program".to_owned(), 1)]);
    let back = files.write(
        "q-1.jsonl",
        lines(&[
            line("a", None, "user", json!([{"text": "One."}])),
            line("b", Some("a"), "assistant", json!([{"text": "First."}])),
            line("c", Some("b"), "user", json!([{"text": "Two."}])),
            line("d", Some("c"), "assistant", json!([{"text": "Second."}])),
            line("e", Some("b"), "user", json!([{"text": "Another two."}])),
        ]),
    );
    let read = crate::support::read(&back);
    assert_eq!(read.forks(), [("q-1-e".to_owned(), "q-1".to_owned(), "b".to_owned())]);
}

fn opencode() -> (Value, Vec<(Value, Vec<Value>)>) {
    let part = |message: &str, id: &str, kind: &str, more: Value| {
        let mut part = json!({"id": id, "sessionID": "ses_1", "messageID": message, "type": kind});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    };
    let session = json!({"id": "ses_1", "projectID": "p", "directory": "/w", "title": "Folders", "version": "1.0",
        "time": {"created": 1_760_000_000_000_u64, "updated": 1_760_000_000_000_u64}});
    let asked =
        json!({"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1_760_000_001_000_u64}});
    let mut said =
        json!({"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1_760_000_002_000_u64}});
    (said["modelID"], said["parentID"]) = ("gpt-5".into(), "msg_1".into());
    let tool = |call: &str, status: &str, more: Value| {
        let mut state = json!({"status": status, "input": {"d": call}});
        state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part("msg_2", &format!("prt_2{call}"), "tool", json!({"callID": call, "tool": "list", "state": state}))
    };
    let parts = vec![
        part("msg_2", "prt_0", "step-start", json!({})),
        part("msg_2", "prt_1", "reasoning", json!({"text": "Hm."})),
        tool("c1", "completed", json!({"output": "one", "title": "x"})),
        tool("c2", "error", json!({"error": "denied"})),
        part("msg_2", "prt_4", "step-finish", json!({"cost": 0})),
        part("msg_2", "prt_5", "step-start", json!({})),
        part(
            "msg_2",
            "prt_5c3",
            "tool",
            json!({"callID": "c3", "tool": "list", "state": {"status": "running", "input": {"d": "c3"}}}),
        ),
        part("msg_2", "prt_6", "text", json!({"text": "Done."})),
    ];
    let question = vec![
        part("msg_1", "prt_a", "text", json!({"text": "List."})),
        part("msg_1", "prt_b", "text", json!({"text": "Called the Read tool", "synthetic": true})),
        part(
            "msg_1",
            "prt_c",
            "file",
            json!({"mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AQID"}),
        ),
    ];
    (session, vec![(asked, question), (said, parts)])
}

#[test]
fn a_session_of_opencode_is_the_same_from_its_export_and_its_folder() {
    let (session, messages) = opencode();
    let files = Files::new();
    let said: Vec<_> = messages.iter().map(|(info, parts)| json!({"info": info, "parts": parts})).collect();
    let export = read(&files.write("x.json", json!({"info": session, "messages": said}).to_string()));
    assert_eq!(
        export.texts("ses_1"),
        [
            "user: List.\n[document: added by opencode]\nCalled the Read tool\n[image: image/png, 3 bytes]",
            "assistant: Hm.\nlist({\"d\":\"c1\"})\nlist({\"d\":\"c2\"})",
            "tool: one\nerror:\ndenied",
            "assistant: list({\"d\":\"c3\"})\nDone."
        ]
    );
    let first = &export.messages["ses_1"][0];
    assert_eq!((first.at.unwrap().as_millis(), first.message.metadata["cwd"].as_str()), (1_760_000_001_000, "\"/w\""));
    assert_eq!(export.messages["ses_1"][1].message.model().as_deref(), Some("gpt-5"));
    assert_eq!(export.titles["ses_1"], "Folders");
    files.write("storage/session/p/ses_1.json", session.to_string());
    for (info, parts) in &messages {
        let id = info["id"].as_str().unwrap();
        files.write(&format!("storage/message/ses_1/{id}.json"), info.to_string());
        for part in parts {
            files.write(&format!("storage/part/{id}/{}.json", part["id"].as_str().unwrap()), part.to_string());
        }
    }
    let mut stored = read(&files.path("storage"));
    assert_eq!(stored.messages["ses_1"].len(), 4);
    // In a folder, parts are in the order of their ids.
    let count = |read: &Read| pairs(read, "ses_1").0.len();
    assert_eq!((count(&stored), count(&export)), (3, 3));
    assert_eq!(stored.messages.remove("ses_1").unwrap()[0], *first);
}

#[test]
fn a_session_of_opencode_needs_no_ids_of_messages() {
    let files = Files::new();
    let said = |role: &str, text: &str| json!({"info": {"role": role}, "parts": [{"type": "text", "text": text}]});
    let messages = json!([said("user", "Ferry?"), said("assistant", "At nine."), said("user", "Ferry?")]);
    let export = json!({"info": {"id": "ses_2", "title": "Boats"}, "messages": messages});
    let flat = json!({"id": "ses_2", "title": "Boats", "messages": messages});
    for value in [export, flat] {
        let read = read(&files.write("x.json", value.to_string()));
        assert_eq!(read.texts("ses_2"), ["user: Ferry?", "assistant: At nine.", "user: Ferry?"]);
        assert_eq!(read.titles["ses_2"], "Boats");
    }
}

#[test]
fn a_failed_tool_of_opencode_has_the_text_of_its_failure() {
    let files = Files::new();
    let part = |state: Value| json!({"type": "tool", "callID": "c", "tool": "sh", "state": state});
    let messages = json!([{"info": {"id": "m", "role": "assistant"}, "parts": [
        part(json!({"status": "error", "input": {}, "output": "1 failed"})),
        part(json!({"status": "error", "input": {}, "error": "denied", "output": "none"}))]}]);
    let read = read(&files.write("x.json", json!({"info": {"id": "ses_3"}, "messages": messages}).to_string()));
    assert_eq!(read.texts("ses_3")[1], "tool: error:\n1 failed\nerror:\ndenied");
}

#[test]
fn a_task_of_cline_gives_the_words_calls_and_results_that_were_shown() {
    let files = Files::new();
    let entry = |ts: u64, kind: &str, of: &str, text: &str| json!({"ts": 1_757_000_000_000 + ts, "type": kind, kind: of, "text": text});
    let tool = json!({"tool": "readFile", "path": "a.rs"}).to_string();
    let question = json!({"question": "Which?", "options": ["left", "right"]}).to_string();
    let mut entries = vec![
        entry(1, "say", "text", "Fix the bug."),
        entry(2, "say", "api_req_started", "{\"request\":\"...\"}"),
        entry(3, "say", "reasoning", "Hm."),
        entry(4, "say", "tool", &tool),
        entry(5, "ask", "command", "cargo test"),
        entry(6, "say", "command_output", "1 failed"),
        entry(7, "ask", "followup", &question),
        entry(8, "say", "user_feedback", "Left."),
        entry(9, "say", "completion_result", "Done.HAS_CHANGES"),
        entry(10, "ask", "completion_result", ""),
    ];
    entries[2]["modelInfo"] = json!({"providerId": "x", "modelId": "claude-x"});
    let path = files.write("tasks/1757/ui_messages.json", Value::from(entries.clone()).to_string());
    let whole = read(&path);
    assert_eq!(
        whole.texts("1757"),
        [
            "user: Fix the bug.",
            "assistant: Hm.",
            "assistant: readFile({\"path\":\"a.rs\"})",
            "assistant: command({\"text\":\"cargo test\"})",
            "tool: 1 failed",
            "assistant: Which?\n- left\n- right",
            "user: Left.",
            "assistant: Done."
        ]
    );
    let messages = &whole.messages["1757"];
    assert_eq!(messages[0].at.unwrap().as_millis(), 1_757_000_000_001);
    assert_eq!(messages[4].message.tool_results().next(), messages[3].message.tool_calls().next());
    assert_eq!((messages[1].message.model().as_deref(), messages[6].message.role), (Some("claude-x"), Role::User));
    // Notes change while a task goes on; what was said keeps its keys.
    entries[1]["text"] = "{\"cost\":1}".into();
    assert_eq!(read(&files.write("tasks/1757/ui_messages.json", Value::from(entries).to_string())).all(), whole.all());
    // The messages as the model had them hold more.
    let history = json!([{"role": "user", "content": [{"type": "text", "text": "Fix the bug."}], "ts": 1_757_000_000_001_u64},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}],
         "modelInfo": {"modelId": "claude-x"}, "ts": 1_757_000_000_002_u64}]);
    files.write("tasks/1757/api_conversation_history.json", history.to_string());
    let both = read(&files.path("tasks"));
    assert_eq!(both.texts("1757"), ["user: Fix the bug.", "assistant: read({})"]);
    let said = &both.messages["1757"][1];
    assert_eq!((said.at.unwrap().as_millis(), said.message.model().as_deref()), (1_757_000_000_002, Some("claude-x")));
    assert_eq!(
        both.skipped(),
        [(Why::Repeated, "ui_messages.json beside api_conversation_history.json".to_owned(), 1)]
    );
}

#[test]
fn a_session_of_clines_own_program_is_named_by_its_id() {
    let files = Files::new();
    let session = json!({"version": 1, "sessionId": "s-9", "origin": {"mode": "user"}, "system_prompt": "Be short.", "messages": [
        {"id": "u", "role": "user", "content": [{"type": "text", "text": "Hi."}, {"type": "image", "data": "AQID", "mediaType": "image/png"}], "ts": 1_757_000_000_000_u64},
        {"id": "a", "role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}], "modelInfo": {"id": "m", "provider": "p"}},
        {"id": "r", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "name": "read", "content": "ok"}]}]});
    let read = read(&files.write("s-9.messages.json", session.to_string()));
    assert_eq!(
        read.texts("s-9"),
        ["system: Be short.", "user: Hi.\n[image: image/png, 3 bytes]", "assistant: read({})", "user: ok"]
    );
    assert_eq!(read.messages["s-9"][2].message.model().as_deref(), Some("m"));
}

#[test]
fn output_of_codex_exec_gives_its_completed_items_and_interrupted_calls() {
    let files = Files::new();
    let item = |event: &str, id: &str, kind: &str, more: Value| {
        let mut item = json!({"id": id, "type": kind});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": event, "item": item})
    };
    let read = read(&files.write(
        "run.jsonl",
        lines(&[
            json!({"type": "thread.started", "thread_id": "t-1"}),
            json!({"type": "turn.started"}),
            item("item.completed", "item_0", "reasoning", json!({"text": "Look."})),
            item(
                "item.started",
                "item_1",
                "command_execution",
                json!({"command": "ls", "aggregated_output": "", "status": "in_progress"}),
            ),
            item(
                "item.completed",
                "item_1",
                "command_execution",
                json!({"command": "ls", "aggregated_output": "none", "exit_code": 2, "status": "completed"}),
            ),
            item(
                "item.completed",
                "item_2",
                "mcp_tool_call",
                json!({"server": "docs", "tool": "find", "arguments": {"q": 1},
            "result": {"content": [{"type": "text", "text": "found"}]}, "status": "completed"}),
            ),
            item("item.completed", "item_3", "file_change", json!({"changes": [{"path": "a"}], "status": "completed"})),
            item("item.completed", "item_4", "agent_message", json!({"text": "Done."})),
            item("item.started", "item_5", "command_execution", json!({"command": "sleep 9", "status": "in_progress"})),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1}}),
        ]),
    ));
    assert_eq!(
        read.texts("t-1-exec"),
        [
            "assistant: Look.",
            "assistant: shell({\"command\":\"ls\"})",
            "tool: error:\nnone",
            "assistant: docs__find({\"q\":1})",
            "tool: found",
            "assistant: file_change({\"changes\":[{\"path\":\"a\"}]})",
            "tool: completed",
            "assistant: Done.",
            "assistant: shell({\"command\":\"sleep 9\"})"
        ]
    );
    let (calls, results) = pairs(&read, "t-1-exec");
    assert_eq!(calls[..3], results[..]);
}

#[test]
fn claude_code_is_read_from_the_web_and_from_its_output_stream() {
    let files = Files::new();
    let line = |uuid: &str, parent: Option<&str>, role: &str, content: Value| {
        json!({"type": role, "uuid": uuid, "parentUuid": parent, "timestamp": "2026-02-03T10:00:00Z",
            "message": {"role": role, "content": content}})
    };
    let call = json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]);
    let session = json!({"loglines": [line("a", None, "user", "Go.".into()), line("b", Some("a"), "assistant", call.clone()),
        line("c", Some("b"), "user", result.clone())]});
    let web = read(&files.write("web.json", serde_json::to_string_pretty(&session).unwrap()));
    assert_eq!(web.texts("web"), ["user: Go.", "assistant: Bash({})", "user: ok"]);
    assert_eq!(format_of(&files, "web.json"), Format::ClaudeCodeWeb);
    let event = |kind: &str, caller: Option<&str>, content: Value| json!({"type": kind, "session_id": "s-1", "parent_tool_use_id": caller, "message": {"role": kind, "content": content}});
    let stream = read(&files.write(
        "out.jsonl",
        lines(&[
            json!({"type": "system", "subtype": "init", "session_id": "s-1", "cwd": "/w"}),
            event("assistant", None, call),
            event("user", Some("t"), json!([{"type": "text", "text": "Look for it."}])),
            event("assistant", Some("t"), json!([{"type": "text", "text": "Found."}])),
            event("user", None, result),
            json!({"type": "result", "subtype": "success", "session_id": "s-1", "result": "ok"}),
        ]),
    ));
    assert_eq!(stream.texts("s-1"), ["assistant: Bash({})", "user: ok", "assistant: ok"]);
    assert_eq!(stream.texts("s-1-agent-t"), ["user: Look for it.", "assistant: Found."]);
}
