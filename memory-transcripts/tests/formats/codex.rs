//! Rollouts of Codex.

use memory_core::ContentBlock;
use memory_transcripts::{Format, Why};
use serde_json::{Value, json};

use crate::support::{Files, Read, add, follow_from, read};

const ID: &str = "0199a213-81a4-7c3e-8f8d-0c5f3f7a1b22";

fn record(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-03-02T09:14:00.250Z", "type": kind, "payload": payload})
}

fn item(payload: Value) -> Value {
    record("response_item", payload)
}

fn said(role: &str, kind: &str, text: &str) -> Value {
    item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn rollout() -> Vec<Value> {
    vec![
        record(
            "session_meta",
            json!({"id": ID, "timestamp": "t", "cwd": "/w", "originator": "codex_cli", "cli_version": "1"}),
        ),
        said("developer", "input_text", "<permissions instructions>"),
        said("user", "input_text", "<environment_context>\n<cwd>/w</cwd>"),
        record("turn_context", json!({"model": "gpt-5.4-codex", "cwd": "/w"})),
        said("user", "input_text", "Run the tests."),
        record("event_msg", json!({"type": "user_message", "message": "Run the tests."})),
        item(json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Run them."}],
                    "encrypted_content": "gAAA"})),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"cargo\",\"test\"]}", "call_id": "c1"}),
        ),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "ok"})),
        record("event_msg", json!({"type": "token_count", "info": null})),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c2", "status": "completed"}),
        ),
        item(
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": {"content": "no", "success": false}}),
        ),
        item(json!({"type": "ghost_snapshot", "ghost_commit": {}})),
        record("compacted", json!({"message": "So far…", "replacement_history": [{"type": "message"}]})),
        said("assistant", "output_text", "All pass."),
        item(json!({"type": "new_thing"})),
    ]
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_rollout_gives_its_response_items_alone() {
    let files = Files::new();
    let read = read(&files.write("rollout-2026.jsonl", lines(&rollout())));
    let expected = [
        "user: Run the tests.",
        "assistant: Run them.\nshell({\"command\":[\"cargo\",\"test\"]})",
        "tool: ok",
        "assistant: apply_patch({\"input\":\"*** Begin\"})",
        "tool: error:\nno",
        "assistant: All pass.",
    ];
    assert_eq!(read.texts(ID), expected);
    let call = &read.messages[ID][1].message;
    assert!(
        matches!(&call.content[0], ContentBlock::Reasoning { signature: Some(signature), .. } if signature == "gAAA")
    );
    assert_eq!(call.model().as_deref(), Some("gpt-5.4-codex"));
    assert_eq!(read.metadata(ID, 1, "reasoning_ids"), r#"["rs_1"]"#);
    let expected = [
        (Why::Unknown, "new_thing", 1),
        (Why::View, "compacted", 1),
        (Why::Note, "context of the program", 1),
        (Why::Note, "developer instructions", 1),
        (Why::Note, "ghost_snapshot", 1),
        (Why::Note, "turn_context", 1),
        (Why::Repeated, "event_msg/token_count", 1),
        (Why::Repeated, "event_msg/user_message", 1),
    ];
    assert_eq!(read.skipped(), expected.map(|(why, what, count)| (why, what.to_owned(), count)));
}

#[test]
fn a_packed_rollout_is_read_unless_the_plain_one_is_there() {
    let files = Files::new();
    let plain = lines(&rollout());
    let expected = read(&files.write("plain/r.jsonl", &plain)).all();
    let packed = zstd::bulk::compress(plain.as_bytes(), 3).unwrap();
    let path = files.write("2026/03/02/r.jsonl.zst", &packed);
    assert_eq!(read(&path).all(), expected);
    assert_eq!(read(&files.path("2026")).all(), expected);
    files.write("2026/03/02/r.jsonl", lines(&rollout()[..5]));
    let both = read(&files.path("2026"));
    assert_eq!(both.texts(ID).len(), 1);
    assert!(both.skipped().contains(&(Why::Repeated, "packed file beside the plain one".to_owned(), 1)));
}

#[test]
fn a_rollout_that_grew_goes_on_wherever_it_was_cut() {
    let all = rollout();
    let whole = lines(&all);
    let files = Files::new();
    let expected = read(&files.write("whole.jsonl", &whole)).all();
    for cut in 0..=whole.len() {
        if !whole.is_char_boundary(cut) {
            continue;
        }
        let path = files.write("r.jsonl", &whole[..cut]);
        let (mut read, mut imported) = (Read::default(), Read::default());
        add(&mut imported, &path, Some(Format::Codex));
        let position = follow_from(&mut read, &path, Format::Codex, None);
        files.write("r.jsonl", &whole);
        follow_from(&mut read, &path, Format::Codex, Some(&position));
        assert_eq!(read.all(), expected, "followed from {cut}");
        add(&mut imported, &path, None);
        assert_eq!(imported.all(), expected, "imported up to {cut}");
    }
}

fn event(kind: &str, member: &str, text: &str) -> Value {
    record("event_msg", json!({"type": kind, member: text}))
}

#[test]
fn words_that_only_events_hold_are_kept_where_they_were_said() {
    let files = Files::new();
    let meta = || record("session_meta", json!({"id": ID, "cwd": "/w"}));
    let call = || item(json!({"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"}));
    let check = |records: Vec<Value>, expected: &[&str]| {
        let read = read(&files.write("r.jsonl", lines(&records)));
        assert_eq!(read.texts(ID), expected);
        read.skipped().into_iter().filter(|(why, ..)| *why == Why::Repeated).map(|(.., count)| count).sum::<u64>()
    };
    // Only the answer is an item.
    for member in ["message", "text"] {
        let asked = event("user_message", member, "Say hello.");
        let said = said("assistant", "output_text", "Hello.");
        assert_eq!(check(vec![meta(), asked, said], &["user: Say hello.", "assistant: Hello."]), 0);
    }
    // All words are events.
    let all = vec![
        meta(),
        event("user_message", "text", "List."),
        call(),
        event("agent_message", "text", "I look."),
        event("user_message", "text", "And?"),
        event("agent_message", "text", "Nothing."),
    ];
    let expected = ["user: List.", "assistant: ls({})", "assistant: I look.", "user: And?", "assistant: Nothing."];
    assert_eq!(check(all, &expected), 0);
    // An item says the same, before or after, with other white space or more around it.
    let item_of = |text: &str| said("user", "input_text", text);
    let answer = || said("assistant", "output_text", "Yes.");
    for (one, two) in [
        (item_of("Is it\n so?"), event("user_message", "message", "Is it so?")),
        (event("user_message", "message", "Is it so?"), item_of("Is it\n so?")),
        (item_of("Is it\n so?"), event("user_message", "message", "# Files\n- a\n\nIs it so?")),
    ] {
        assert_eq!(check(vec![meta(), one, two, answer()], &["user: Is it\n so?", "assistant: Yes."]), 1);
    }
    let of_program = event("user_message", "message", "<environment_context>\n</environment_context>");
    assert_eq!(check(vec![meta(), of_program, item_of("Hi."), answer()], &["user: Hi.", "assistant: Yes."]), 1);
}

#[test]
fn a_rollout_of_events_goes_on_wherever_it_was_cut() {
    let all = [
        record("session_meta", json!({"id": ID, "cwd": "/w"})),
        event("user_message", "text", "List."),
        item(json!({"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"})),
        event("user_message", "text", "And?"),
        said("assistant", "output_text", "Nothing."),
    ];
    let files = Files::new();
    let expected = read(&files.write("whole.jsonl", lines(&all))).all();
    for cut in 0..=all.len() {
        let path = files.write("r.jsonl", lines(&all[..cut]));
        let mut read = Read::default();
        let position = follow_from(&mut read, &path, Format::Codex, None);
        files.write("r.jsonl", lines(&all));
        follow_from(&mut read, &path, Format::Codex, Some(&position));
        assert_eq!(read.all(), expected, "followed from record {cut}");
    }
}
