//! Reminders at the start of a session, from the sessions before it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    hook::{call, event, reminder, silent, started},
    support::Store,
    transcripts::{SESSION, answer, file, lines, said, session, texts},
};

/// The lines of a session of another name.
fn named(id: &str, all: &[Value]) -> String {
    lines(all).replace(SESSION, id)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A session with an exchange, whose last answer was captured.
fn talk(store: &Store, id: &str, asked: &str, answered: &str) -> String {
    let all = [said("u1", None, asked), answer("a1", "u1", "m1", text(answered))];
    let path = file(store, &format!("p/{id}.jsonl"), named(id, &all));
    silent(store, "claude-code", &event("Stop", &path));
    path
}

fn at_start(store: &Store) -> String {
    reminder(store, "claude-code", &started(&store.path("p/next.jsonl"), "startup"))
}

#[test]
fn sessions_without_a_matter_are_passed_over() {
    let store = Store::new();
    talk(&store, "real", "We keep the parser in one file. Which tests are missing?", "The one of strings.");
    let command =
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args></command-args>";
    for (id, says) in [("exit", command), ("out", "<local-command-stdout>Bye!</local-command-stdout>"), ("hi", "hi")] {
        let mut line = said("u1", None, says);
        line["timestamp"] = "2026-03-05T09:14:00Z".into();
        let path = file(&store, &format!("p/{id}.jsonl"), named(id, &[line]));
        silent(&store, "claude-code", &event("SessionEnd", &path));
    }
    let text = at_start(&store);
    assert!(text.contains("Which tests are missing?") && text.contains("-c real"), "{text}");
    store.fail(&["show", "exit"], 3);
    let listed = store.json(&["list"]);
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2, "{listed:#}");
}

#[test]
fn a_neighbour_that_cannot_be_read_is_told_once_and_takes_nothing_away() {
    let store = Store::new();
    talk(&store, "real", "We keep the parser in one file. Which tests are missing?", "The one of strings.");
    let broken = file(&store, "p/broken.jsonl", named("broken", &[said("u1", None, "A beginning.")]));
    silent(&store, "claude-code", &event("Stop", &broken));
    let left = file(&store, "p/left.jsonl", named("left", &[said("u1", None, "What is left?")]));
    silent(&store, "claude-code", &event("UserPromptSubmit", &left));
    let mut line = vec![b'x'; (64 << 20) + 10];
    line.push(b'\n');
    fs::write(&broken, [fs::read(&broken).unwrap(), line].concat()).unwrap();
    let more = [said("u1", None, "What is left?"), answer("a1", "u1", "m1", text("This is left."))];
    file(&store, "p/left.jsonl", named("left", &more));
    let start = started(&store.path("p/next.jsonl"), "startup").to_string();
    let (output, error) = call(&store, &["claude-code"], start.as_bytes());
    assert!(error.contains("broken.jsonl") && error.lines().count() == 1, "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("additionalContext"));
    assert_eq!(texts(&store, "left").len(), 2, "the others are caught up with");
    let (output, error) = call(&store, &["claude-code"], start.as_bytes());
    assert_eq!(error, "", "it is told once");
    assert!(String::from_utf8_lossy(&output.stdout).contains("additionalContext"));
}

#[test]
fn a_reminder_is_found_behind_any_number_of_other_conversations() {
    let store = Store::new();
    talk(&store, "real", "We keep the parser in one file. Which tests are missing?", "The one of strings.");
    let other = |number: usize| {
        let mut line = said("u1", None, "Something of another directory.");
        line["cwd"] = "/elsewhere".into();
        line["timestamp"] = "2026-05-01T09:14:00Z".into();
        file(&store, &format!("o/other-{number}.jsonl"), named(&format!("other-{number}"), &[line]));
    };
    (0..230).for_each(other);
    store.succeed(&["import", &store.path("o"), "--no-embed"]);
    assert!(at_start(&store).contains("Which tests are missing?"));
}

#[test]
fn after_a_compaction_the_session_itself_is_meant() {
    let store = Store::new();
    let path = talk(&store, SESSION, "We keep the parser in one file. Which tests are missing?", "The one of strings.");
    let text = reminder(&store, "claude-code", &started(&path, "compact"));
    assert!(text.starts_with("Notes of this session from before it was compacted"), "{text}");
    assert!(!text.contains("earlier session") && text.contains("Which tests are missing?"), "{text}");
}

#[test]
fn a_small_budget_gives_a_small_reminder() {
    let store = Store::new();
    let asked =
        "We decided to keep the parser in one file, because it is short. Which tests of the parser are missing?";
    talk(&store, SESSION, asked, "The one of strings with escapes, and the one of numbers with exponents.");
    let start = started(&store.path("p/next.jsonl"), "startup").to_string();
    let mut lengths = Vec::new();
    for budget in [25, 50, 80, 120, 160, 200, 300, 400] {
        let (output, error) = call(&store, &["claude-code", "--budget", &budget.to_string()], start.as_bytes());
        assert_eq!(error, "");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("nothing in {budget}"));
        let text = value["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        assert!(text.contains("earlier session"), "{budget}: {text}");
        lengths.push((budget, text.len(), text.contains("[Message 1, user]: We decided")));
    }
    assert!(lengths.iter().filter(|(budget, ..)| *budget >= 200).all(|(.., says)| *says), "{lengths:?}");
    assert!(lengths.iter().all(|(budget, length, _)| *length <= budget * 6), "{lengths:?}");
}

#[test]
fn titles_arrive_by_hook_and_a_persons_stands_in_place_of_a_guess() {
    let store = Store::new();
    let title = |kind: &str, member: &str, title: &str| json!({"type": kind, "sessionId": SESSION, member: title});
    let mut all = vec![said("u1", None, "Where to?")];
    let name = format!("p/{SESSION}.jsonl");
    let take = |all: &[Value]| {
        let path = file(&store, &name, lines(all));
        silent(&store, "claude-code", &event(if all.len() == 1 { "UserPromptSubmit" } else { "Stop" }, &path));
        store.succeed(&["title", SESSION])
    };
    take(&all);
    all.push(answer("a1", "u1", "m1", text("To Rome.")));
    all.push(title("ai-title", "aiTitle", "A guess"));
    assert!(take(&all).contains("A guess"));
    all.push(title("custom-title", "customTitle", "Rome in May"));
    assert!(take(&all).contains("Rome in May"));
    store.succeed(&["title", SESSION, "My own"]);
    all.push(title("custom-title", "customTitle", "Rome in June"));
    assert!(take(&all).contains("My own"), "what was set here stays");
    // An import of the whole agrees.
    let other = Store::new();
    let path = file(&other, &name, lines(&all[..3]));
    other.succeed(&["import", &path]);
    file(&other, &name, lines(&all));
    other.succeed(&["import", &path]);
    assert!(other.succeed(&["title", SESSION]).contains("Rome in June"));
}

#[test]
fn the_end_of_a_subagent_ends_no_answer_of_the_session() {
    let store = Store::new();
    let begun = vec![said("u1", None, "Start the long job."), answer("a1", "u1", "m1", text("Working on it."))];
    let path = file(&store, &format!("p/{SESSION}.jsonl"), lines(&begun));
    let mut inner = said("s1", None, "Find all uses.");
    (inner["isSidechain"], inner["agentId"]) = (true.into(), "abc".into());
    let mut found = answer("s2", "s1", "m9", text("Three uses."));
    (found["isSidechain"], found["agentId"]) = (true.into(), "abc".into());
    let agent = file(&store, "p/sub/agent-abc.jsonl", lines(&[inner, found]));
    let mut stop = event("SubagentStop", &path);
    stop["agent_transcript_path"] = agent.as_str().into();
    silent(&store, "claude-code", &stop);
    assert_eq!(texts(&store, SESSION), ["user: Start the long job."]);
    assert_eq!(texts(&store, &format!("{SESSION}-agent-abc")), ["user: Find all uses.", "assistant: Three uses."]);
    let call_of = answer("a2", "a1", "m1", json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}}));
    file(&store, &format!("p/{SESSION}.jsonl"), lines(&[begun, vec![call_of]].concat()));
    silent(&store, "claude-code", &event("Stop", &path));
    assert_eq!(texts(&store, SESSION), ["user: Start the long job.", "assistant: Working on it.\nBash({})"]);
    // A fault of the session's transcript is told, also where the subagent's has none.
    stop["transcript_path"] = "/etc/passwd".into();
    let (_, error) = call(&store, &["claude-code"], stop.to_string().as_bytes());
    assert!(error.contains("/etc/passwd"), "{error}");
}

#[test]
fn the_last_words_of_a_killed_session_are_taken_at_once_and_from_another_day() {
    let store = Store::new();
    let path = file(&store, &format!("p/{SESSION}.jsonl"), lines(&session()[..1]));
    silent(&store, "claude-code", &event("UserPromptSubmit", &path));
    // The last line has no end.
    let more = [
        said("aaaaaaaa-1", None, "When does the train to Rome leave?"),
        answer("a2", "aaaaaaaa-1", "m1", text("It leaves at noon.")),
    ];
    file(&store, &format!("p/{SESSION}.jsonl"), lines(&more).trim_end());
    assert!(at_start(&store).contains("It leaves at noon."));
    // Nothing is there twice once the line is whole.
    file(&store, &format!("p/{SESSION}.jsonl"), lines(&more));
    silent(&store, "claude-code", &event("SessionEnd", &path));
    assert_eq!(texts(&store, SESSION).len(), 2);

    let store = Store::new();
    let item = |role: &str, kind: &str, text: &str| {
        json!({"timestamp": "2026-03-02T09:14:01Z", "type": "response_item",
               "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}})
    };
    let all = [
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "session_meta", "payload": {"id": "codex-1", "cwd": "/trip"}}),
        item("user", "input_text", "Which test of the parser is missing?"),
        item("assistant", "output_text", "The one of strings."),
    ];
    let path = file(&store, "sessions/2026/02/28/rollout-1.jsonl", lines(&all[..2]));
    silent(&store, "codex", &event("UserPromptSubmit", &path));
    file(&store, "sessions/2026/02/28/rollout-1.jsonl", lines(&all));
    let next = file(&store, "sessions/2026/03/02/rollout-2.jsonl", "");
    let text = reminder(&store, "codex", &started(&next, "startup"));
    assert!(text.contains("The one of strings."), "{text}");
}
