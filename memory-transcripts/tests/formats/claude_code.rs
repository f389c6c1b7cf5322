//! Sessions of Claude Code.

use memory_core::ContentBlock;
use memory_transcripts::{Format, Limits, Why, follow};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Files, Read, add, follow_from, read, read_as};

const SESSION: &str = "5f0c4a5e-6d0f-4a55-9c39-1a2b3c4d5e6f";

/// A line with the members that every line has.
fn line(uuid: &str, parent: Option<&str>, kind: &str, more: Value) -> Value {
    let mut line = json!({
        "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/trip", "sessionId": SESSION,
        "version": "2.1.9", "gitBranch": "main", "type": kind, "uuid": uuid, "timestamp": "2026-03-02T09:14:00.250Z",
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

fn user(uuid: &str, parent: Option<&str>, text: &str) -> Value {
    line(uuid, parent, "user", json!({"message": {"role": "user", "content": text}}))
}

fn answer(uuid: &str, parent: &str, id: &str, block: Value) -> Value {
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-7", "content": [block],
                         "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 9}});
    line(uuid, Some(parent), "assistant", json!({"message": message, "requestId": "req_1"}))
}

fn result(uuid: &str, parent: &str, call: &str, text: &str) -> Value {
    let content = json!([{"tool_use_id": call, "type": "tool_result", "content": text}]);
    line(
        uuid,
        Some(parent),
        "user",
        json!({"message": {"role": "user", "content": content}, "toolUseResult": {"stdout": text}}),
    )
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}, "caller": {"type": "direct"}})
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A session with thinking, two calls at once, a compaction, a rewind and a sidechain.
fn session() -> Vec<Value> {
    let thinking = json!({"type": "thinking", "thinking": "Two things to look at.", "signature": "c2ln"});
    vec![
        json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": false}),
        line(
            "meta",
            None,
            "user",
            json!({"isMeta": true, "message": {"role": "user", "content": "<local-command-caveat>"}}),
        ),
        user("u1", Some("meta"), "Which files are there?"),
        answer("a1", "u1", "msg_1", thinking),
        answer("a2", "a1", "msg_1", text("I look.")),
        answer("a3", "a2", "msg_1", call("t1")),
        result("r1", "a3", "t1", "a.txt"),
        answer("a4", "a3", "msg_1", call("t2")),
        result("r2", "a4", "t2", "b.txt"),
        line("p1", Some("r2"), "progress", json!({"data": {}})),
        answer("a5", "p1", "msg_2", text("There are a.txt and b.txt.")),
        user("u2", Some("a5"), "Delete them."),
        answer("a6", "u2", "msg_3", text("Done.")),
        // The user went back and asked something else.
        user("u3", Some("a5"), "Keep them."),
        answer("a7", "u3", "msg_4", text("They stay.")),
        line(
            "c1",
            None,
            "system",
            json!({"subtype": "compact_boundary", "logicalParentUuid": "a7", "content": "Compacted"}),
        ),
        line(
            "c2",
            Some("c1"),
            "user",
            json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true,
             "message": {"role": "user", "content": "This session is being continued."}}),
        ),
        user("u4", Some("c2"), "And now?"),
        json!({"type": "summary", "summary": "Files of the trip", "leafUuid": "a5"}),
        json!({"type": "summary", "summary": "Of another session", "leafUuid": "elsewhere"}),
        json!({"type": "hologram", "sessionId": SESSION}),
    ]
}

fn check_session(read: &Read) {
    let fork = format!("{SESSION}-u3");
    let answer = "assistant: Two things to look at.\nI look.\nBash({\"command\":\"ls\"})\nBash({\"command\":\"ls\"})";
    let main = [
        "user: Which files are there?",
        answer,
        "user: a.txt",
        "user: b.txt",
        "assistant: There are a.txt and b.txt.",
        "user: Delete them.",
        "assistant: Done.",
    ];
    assert_eq!(read.texts(SESSION), main);
    assert_eq!(read.texts(&fork), ["user: Keep them.", "assistant: They stay.", "user: And now?"]);
    assert_eq!(read.forks(), [(fork, SESSION.to_owned(), "a5".to_owned())]);
}

#[test]
fn a_session_is_one_conversation_with_a_fork_for_each_rewind() {
    let files = Files::new();
    let read = read(&files.write("s.jsonl", lines(&session())));
    check_session(&read);
    assert_eq!(read.titles[SESSION], "Files of the trip");
    let merged = &read.messages[SESSION][1].message;
    assert!(
        matches!(&merged.content[0], ContentBlock::Reasoning { signature: Some(signature), .. } if signature == "c2ln")
    );
    assert_eq!(merged.tool_calls().collect::<Vec<_>>(), ["t1", "t2"], "a call with more members is still a call");
    assert_eq!(merged.model().as_deref(), Some("claude-opus-4-7"));
    assert_eq!(merged.key.as_ref().unwrap().as_str(), "a1");
    assert_eq!(read.metadata(SESSION, 1, "usage"), r#"{"input_tokens":3,"output_tokens":9}"#);
    assert_eq!(
        read.metadata(SESSION, 1, "block_members"),
        r#"{"2":{"caller":{"type":"direct"}},"3":{"caller":{"type":"direct"}}}"#
    );
    assert_eq!(read.metadata(SESSION, 0, "cwd"), r#""/trip""#);
    assert_eq!(read.metadata(SESSION, 1, "cwd"), "", "what has not changed is not repeated");
    assert_eq!(read.messages[SESSION][0].at.unwrap().to_string(), "2026-03-02T09:14:00.25Z");
    let expected = [
        (Why::Unknown, "hologram", 1),
        (Why::View, "summary of a compaction", 1),
        (Why::View, "system/compact_boundary", 1),
        (Why::Note, "file-history-snapshot", 1),
        (Why::Note, "progress", 1),
        (Why::Note, "summary of what is not in the file", 1),
        (Why::Note, "user (isMeta)", 1),
    ];
    assert_eq!(read.skipped(), expected.map(|(why, what, count)| (why, what.to_owned(), count)));
}

#[test]
fn sidechains_are_conversations_of_their_own() {
    let files = Files::new();
    let side = |uuid: &str, parent: Option<&str>, agent: Option<&str>, text: &str| {
        let mut line = user(uuid, parent, text);
        line["isSidechain"] = true.into();
        line["agentId"] = agent.into();
        line
    };
    let mixed = [
        user("u1", None, "Find the bug."),
        answer("a1", "u1", "m1", call("t1")),
        side("s1", None, None, "Look in a."),
        side("s3", None, None, "Look in b."),
        side("s2", Some("s1"), None, "More of a."),
        result("r1", "a1", "t1", "found"),
    ];
    files.write("project/s.jsonl", lines(&mixed));
    files.write(
        &format!("project/{SESSION}/subagents/agent-a77.jsonl"),
        lines(&[side("g1", None, Some("a77"), "Look in c."), side("g2", Some("g1"), Some("a77"), "In d.")]),
    );
    files.write("project/sessions-index.json", "{}");
    let read = read(&files.path("project"));
    let name = |rest: &str| format!("{SESSION}-{rest}");
    assert_eq!(read.ids(), [SESSION, &name("agent-a77"), &name("side-s1"), &name("side-s3")]);
    assert_eq!(read.texts(&name("side-s1")), ["user: Look in a.", "user: More of a."]);
    assert_eq!(read.texts(&name("agent-a77")), ["user: Look in c.", "user: In d."]);
    assert_eq!(read.texts(SESSION).len(), 3);
    assert_eq!(read.metadata(&name("agent-a77"), 0, "subagent_of"), format!("{SESSION:?}"));
    assert_eq!(read.skipped(), [(Why::Unknown, "file *.json".to_owned(), 1)]);
}

#[test]
fn lines_that_are_torn_repeated_or_of_the_program_are_counted() {
    let files = Files::new();
    let error = json!({"isApiErrorMessage": true, "message": {"role": "assistant", "model": "<synthetic>",
                       "content": [{"type": "text", "text": "API Error"}]}});
    let mut text =
        lines(&[user("u1", None, "Hi."), user("u1", None, "Hi."), line("e", Some("u1"), "assistant", error)]);
    text.push_str("{\"type\":\"user\",\"uu{\"type\":\n");
    text.push_str(&lines(&[answer("a1", "e", "m", self::text("Hello."))]));
    text.push_str("{\"type\":\"user\",\"uuid\":\"u2\",\"par");
    let read = read(&files.write("s.jsonl", text));
    assert_eq!(read.texts(SESSION), ["user: Hi.", "assistant: Hello."]);
    let counted: Vec<_> = read.skipped().into_iter().map(|(why, ..)| why).collect();
    assert_eq!(counted, [Why::Broken, Why::Note, Why::Repeated, Why::Unfinished]);
    let first = read.report.skipped().next().unwrap();
    assert!(first.first.ends_with("s.jsonl:4"), "{first:?}");
}

#[test]
fn a_followed_file_goes_on_where_it_was_left_at_every_line() {
    let all = session();
    for cut in 0..=all.len() {
        let files = Files::new();
        let path = files.write("s.jsonl", lines(&all[..cut]));
        let mut read = Read::default();
        let position = follow_from(&mut read, &path, Format::ClaudeCode, None);
        files.write("s.jsonl", lines(&all));
        // A rewind to before the position is told, and then the file is read again.
        let mut reader = follow(&path, Format::ClaudeCode, Some(&position), Limits::default()).unwrap();
        let rewound = loop {
            match reader.read() {
                Ok(Some(item)) => read.take(item),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if rewound {
            assert!((12..=14).contains(&cut), "only the rewind goes back: {cut}");
            follow_from(&mut read, &path, Format::ClaudeCode, None);
        }
        // An answer that may continue is returned once the file is complete.
        add(&mut read, &path, None);
        check_session(&read);
    }
}

#[test]
fn an_answer_whose_lines_may_go_on_is_held_back_while_a_file_grows() {
    let all = session();
    let files = Files::new();
    let path = files.write("s.jsonl", lines(&all[..5]));
    let mut read = Read::default();
    let position = follow_from(&mut read, &path, Format::ClaudeCode, None);
    assert_eq!(read.texts(SESSION).len(), 1);
    files.write("s.jsonl", lines(&all[..11]));
    follow_from(&mut read, &path, Format::ClaudeCode, Some(&position));
    assert_eq!(read.texts(SESSION).len(), 4, "{:?}", read.texts(SESSION));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A file that has grown gives the same messages and more. An answer that was cut in the middle is given again,
    /// longer and under its key.
    #[test]
    fn reading_a_beginning_and_then_all_is_reading_all(cut in any::<prop::sample::Index>()) {
        let files = Files::new();
        let whole = lines(&session());
        let path = files.write("whole.jsonl", &whole);
        let expected = read(&path).all();
        let cut = cut.index(whole.len() + 1);
        let part = read_as(&files.write("part.jsonl", &whole[..cut]), Some(Format::ClaudeCode));
        for (id, messages) in part.all() {
            let (_, all) = expected.iter().find(|(known, _)| *known == id).unwrap();
            prop_assert!(messages.len() <= all.len());
            let open = messages.len().saturating_sub(3);
            prop_assert_eq!(&messages[..open], &all[..open]);
            for (given, all) in messages.iter().zip(all) {
                prop_assert_eq!(&given.0, &all.0);
            }
        }
    }
}

fn attachment(uuid: &str, parent: &str, attachment: Value) -> Value {
    line(uuid, Some(parent), "attachment", json!({"attachment": attachment, "promptId": "p-1"}))
}

#[test]
fn what_a_person_types_while_the_model_works_is_said() {
    let queued = |prompt: Value| json!({"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}, "prompt": prompt});
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let mut repeated = user("u2", Some("a3"), "Stop: leave the table alone!");
    repeated["promptId"] = "p-1".into();
    let mut later = user("u3", Some("u2"), "Stop: leave the table alone!");
    later["promptId"] = "p-2".into();
    let all = vec![
        user("u1", None, "Start the long job."),
        answer("a1", "u1", "msg_1", text("I start.")),
        answer("a2", "a1", "msg_1", call("t1")),
        result("r1", "a2", "t1", "ok"),
        attachment("q1", "r1", queued("Stop: leave the table alone!".into())),
        attachment("q2", "q1", queued(json!([{"type": "text", "text": "Like here:"}, picture]))),
        attachment("n1", "q2", json!({"type": "queued_command", "commandMode": "task-notification", "prompt": "done"})),
        attachment("n2", "n1", json!({"type": "queued_command", "origin": {"kind": "coordinator"}, "prompt": "go"})),
        attachment("n3", "n2", json!({"type": "todo_reminder", "content": []})),
        answer("a3", "n3", "msg_2", text("I leave it alone.")),
        repeated,
        later,
        answer("a4", "u3", "msg_3", text("Again: I leave it.")),
    ];
    let files = Files::new();
    let path = files.write("s.jsonl", lines(&all));
    let whole = read(&path);
    let expected = [
        "user: Start the long job.",
        "assistant: I start.\nBash({\"command\":\"ls\"})",
        "user: ok",
        "user: Stop: leave the table alone!",
        "user: Like here:\n[image: image/png, 3 bytes]",
        "assistant: I leave it alone.",
        "user: Stop: leave the table alone!",
        "assistant: Again: I leave it.",
    ];
    assert_eq!(whole.texts(SESSION), expected);
    assert!(whole.forks().is_empty());
    assert!(whole.skipped().contains(&(Why::Repeated, "user".to_owned(), 1)), "{:?}", whole.skipped());
    // Read as it grows, the same.
    let mut grown = Read::default();
    let mut position = None;
    for count in 1..=all.len() {
        files.write("s.jsonl", lines(&all[..count]));
        position = Some(follow_from(&mut grown, &path, Format::ClaudeCode, position.as_ref()));
    }
    assert_eq!(grown.texts(SESSION), expected[..7]);
}

#[test]
fn commands_of_the_program_are_notes_and_what_is_typed_after_one_is_said() {
    let command = |uuid: &str, parent: Option<&str>, name: &str, args: &str| {
        let text = format!(
            "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n<command-args>{args}</command-args>"
        );
        user(uuid, parent, &text)
    };
    let files = Files::new();
    let printed = user("u2", Some("u1"), "<local-command-stdout>Bye!</local-command-stdout>");
    let empty = read(&files.write("s.jsonl", lines(&[command("u1", None, "exit", ""), printed.clone()])));
    assert!(empty.conversations.is_empty(), "{empty:?}");
    let all = [
        command("u1", None, "model", "opus"),
        printed,
        command("u3", Some("u2"), "review", "the parser"),
        answer("a1", "u3", "msg_1", text("It is sound.")),
    ];
    let read = read(&files.write("s.jsonl", lines(&all)));
    assert_eq!(read.texts(SESSION), ["user: /review the parser", "assistant: It is sound."]);
}

#[test]
fn a_title_may_stand_before_the_first_message_and_be_replaced() {
    let title = |kind: &str, member: &str, title: &str| json!({"type": kind, "sessionId": SESSION, member: title});
    let files = Files::new();
    let all = [
        title("ai-title", "aiTitle", "A guess"),
        user("u1", None, "Where to?"),
        answer("a1", "u1", "msg_1", text("To Rome.")),
        title("custom-title", "customTitle", "Rome in May"),
        title("ai-title", "aiTitle", "Another guess"),
    ];
    let path = files.write("s.jsonl", lines(&all));
    let whole = read(&path);
    assert_eq!(whole.titles[SESSION], "Rome in May");
    assert_eq!(whole.replaced, ["A guess"]);
    assert_eq!(whole.skipped(), [(Why::Note, "ai-title".to_owned(), 1)]);
    let (mut grown, mut position) = (Read::default(), None);
    for count in 1..=all.len() {
        files.write("s.jsonl", lines(&all[..count]));
        position = Some(follow_from(&mut grown, &path, Format::ClaudeCode, position.as_ref()));
    }
    // Held-back lines are read again, with the titles after it.
    grown.replaced.dedup();
    assert_eq!((&grown.titles, &grown.replaced), (&whole.titles, &whole.replaced));
    let elsewhere = [all[1].clone(), json!({"type": "custom-title", "sessionId": "another", "customTitle": "x"})];
    let read = read(&files.write("t.jsonl", lines(&elsewhere)));
    assert_eq!(read.skipped(), [(Why::Note, "custom-title of what is not in the file".to_owned(), 1)]);
}

#[test]
fn a_rewind_to_the_first_prompt_is_a_conversation_of_its_own() {
    let all = [
        user("u1", None, "Plan a trip to Rome."),
        answer("a1", "u1", "msg_1", text("By train.")),
        user("u2", None, "Plan a trip to Oslo."),
        answer("a2", "u2", "msg_2", text("By ship.")),
    ];
    let files = Files::new();
    let path = files.write("s.jsonl", lines(&all));
    let check = |read: &Read| {
        assert_eq!(read.texts(SESSION), ["user: Plan a trip to Rome.", "assistant: By train."]);
        assert_eq!(read.texts(&format!("{SESSION}-u2"))[0], "user: Plan a trip to Oslo.");
        assert!(read.forks().is_empty());
    };
    check(&read(&path));
    let (mut grown, mut position) = (Read::default(), None);
    for count in 1..=all.len() {
        files.write("s.jsonl", lines(&all[..count]));
        position = Some(follow_from(&mut grown, &path, Format::ClaudeCode, position.as_ref()));
    }
    check(&grown);
}

#[test]
fn a_last_line_without_end_is_read_when_the_file_ends_there() {
    let files = Files::new();
    let whole = lines(&[user("u1", None, "Where to?"), user("u2", Some("u1"), "To Rome?")]);
    for (cut, expected) in [(1, 2), (30, 1)] {
        let path = files.write("s.jsonl", &whole[..whole.len() - cut]);
        let mut reader = follow(&path, Format::ClaudeCode, None, Limits::default()).unwrap();
        let mut read = Read::default();
        let mut take = |reader: &mut memory_transcripts::Reader| {
            while let Some(item) = reader.read().unwrap() {
                read.take(item);
            }
        };
        take(&mut reader);
        let position = reader.position().unwrap();
        reader.finish();
        take(&mut reader);
        assert_eq!(read.texts(SESSION).len(), expected);
        assert!(position.offset < whole.len() as u64 - 50, "a later reader reads the line again");
    }
}

fn queue(operation: &str, reason: Option<&str>, prompt: &str) -> Value {
    json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-03-02T09:20:00.000Z", "sessionId": SESSION,
        "content": prompt, "reason": reason})
}

#[test]
fn a_prompt_that_the_model_took_from_the_queue_is_kept_once() {
    let files = Files::new();
    let begin = [user("u1", None, "Run it."), answer("a1", "u1", "m1", call("t1")), result("r1", "a1", "t1", "ok")];
    let end = |parent: &str| [answer("a2", parent, "m2", text("Done.")), user("u2", Some("a2"), "Thanks.")];
    let attachment = json!({"type": "queued_command", "commandMode": "prompt", "prompt": "Briefly."});
    let attached = line("q1", Some("r1"), "attachment", json!({"attachment": attachment}));
    let taken = || queue("remove", Some("absorbed_mid_turn"), "Briefly.");
    let kept = [
        "user: Run it.",
        "assistant: Bash({\"command\":\"ls\"})",
        "user: ok",
        "user: Briefly.",
        "assistant: Done.",
        "user: Thanks.",
    ];
    let without = [&kept[..3], &kept[4..]].concat();
    for (queued, parent, expected, repeated) in [
        (vec![queue("enqueue", None, "Briefly."), taken()], "r1", &kept[..], 0),
        (vec![taken(), attached.clone()], "q1", &kept[..], 1),
        (vec![attached, taken()], "q1", &kept[..], 1),
        (vec![queue("remove", None, "Briefly.")], "r1", &without[..], 0),
    ] {
        let all = [&begin[..], &queued, &end(parent)].concat();
        let whole = read(&files.write("whole.jsonl", lines(&all)));
        assert_eq!(whole.texts(SESSION), expected);
        assert_eq!(whole.skipped().iter().filter(|(why, ..)| *why == Why::Repeated).count(), repeated);
        for cut in 0..=all.len() {
            let path = files.write("s.jsonl", lines(&all[..cut]));
            let mut followed = Read::default();
            let position = follow_from(&mut followed, &path, Format::ClaudeCode, None);
            files.write("s.jsonl", lines(&all));
            follow_from(&mut followed, &path, Format::ClaudeCode, Some(&position));
            // Both the note and the attachment may be new, and then only the texts are equal.
            assert_eq!(followed.texts(SESSION), expected, "followed from record {cut}");
        }
    }
    let said = read(&files.write("s.jsonl", lines(&[&begin[..], &[taken()], &end("r1")].concat())));
    assert_eq!(said.messages[SESSION][3].at, "2026-03-02T09:20:00.000Z".parse().ok());
}

#[test]
fn lines_without_ids_belong_to_the_session_of_their_file() {
    let files = Files::new();
    let bare = |role: &str, text: &str| json!({"type": role, "message": {"role": role, "content": text}, "timestamp": "2026-03-02T09:14:00Z"});
    let mut named = bare("user", "Mend it.");
    named["sessionId"] = "s-9".into();
    let expected = ["user: Mend it.", "assistant: Mended.", "user: Thanks."];
    for (name, first) in [("s-9", named), ("x", bare("user", "Mend it."))] {
        let all = [first, bare("assistant", "Mended."), bare("user", "Thanks.")];
        let read = read(&files.write("x.jsonl", lines(&all)));
        assert_eq!((read.ids(), read.texts(name)), (vec![name], expected.map(str::to_owned).to_vec()));
    }
}

#[test]
fn an_output_stream_keeps_results_and_a_last_answer_that_no_message_has() {
    let files = Files::new();
    let stream = |kind: &str, more: Value| {
        let mut line = json!({"type": kind, "session_id": "q-1", "timestamp": "2026-03-02T09:14:00Z"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]);
    let called = stream("assistant", json!({"message": {"role": "assistant", "content": call}}));
    let given = stream("tool_result", json!({"tool_use_id": "t1", "is_error": false, "content": "ok"}));
    let end = |said: &str, is_error: bool| {
        stream("result", json!({"subtype": "success", "is_error": is_error, "result": said}))
    };
    let said = stream("assistant", json!({"message": {"role": "assistant", "content": [text("All is well.")]}}));
    let called_and_given = ["assistant: Bash({})", "user: ok"];
    for (rest, last) in [
        (vec![end("All is well.", false)], Some("assistant: All is well.")),
        (vec![said, end("All is well.", false)], Some("assistant: All is well.")),
        (vec![end("API Error: 500", true)], None),
    ] {
        let read = read(&files.write("run.jsonl", lines(&[vec![called.clone(), given.clone()], rest].concat())));
        assert_eq!(read.texts("q-1"), called_and_given.into_iter().chain(last).collect::<Vec<_>>());
    }
}
