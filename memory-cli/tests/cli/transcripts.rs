//! Transcripts of other programs through the binary.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{fs, io::Write};

use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::support::{self, Store};

pub(crate) const SESSION: &str = "5f0c4a5e-6d0f-4a55-9c39-1a2b3c4d5e6f";

pub(crate) fn file(store: &Store, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = store.path(name);
    fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

fn zipped(name: &str, content: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(content.as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

fn line(uuid: &str, parent: Option<&str>, kind: &str, message: Value) -> Value {
    json!({"parentUuid": parent, "isSidechain": false, "cwd": "/trip", "sessionId": SESSION, "type": kind,
           "uuid": uuid, "timestamp": "2026-03-02T09:14:00.250Z", "message": message})
}

pub(crate) fn said(uuid: &str, parent: Option<&str>, text: &str) -> Value {
    line(uuid, parent, "user", json!({"role": "user", "content": text}))
}

pub(crate) fn answer(uuid: &str, parent: &str, id: &str, block: Value) -> Value {
    line(
        uuid,
        Some(parent),
        "assistant",
        json!({"id": id, "role": "assistant", "model": "claude-opus-4-7", "content": [block]}),
    )
}

/// A session in which the user looks for a train, and then goes back.
pub(crate) fn session() -> Vec<Value> {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Timetable", "input": {"to": "Rome"}});
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "7:42 platform 9"}]);
    vec![
        said("aaaaaaaa-1", None, "When does the train to Rome leave?"),
        answer(
            "aaaaaaaa-2",
            "aaaaaaaa-1",
            "m1",
            json!({"type": "thinking", "thinking": "Ask the timetable.", "signature": "s"}),
        ),
        answer("aaaaaaaa-3", "aaaaaaaa-2", "m1", call),
        line("aaaaaaaa-4", Some("aaaaaaaa-3"), "user", json!({"role": "user", "content": result})),
        json!({"type": "progress", "uuid": "pppppppp-1", "parentUuid": "aaaaaaaa-4", "sessionId": SESSION}),
        answer("aaaaaaaa-5", "pppppppp-1", "m2", json!({"type": "text", "text": "It leaves at 7:42 from platform 9."})),
        said("bbbbbbbb-1", Some("aaaaaaaa-5"), "Book the window seat."),
        said("cccccccc-1", Some("aaaaaaaa-5"), "Book the aisle seat."),
        json!({"type": "summary", "summary": "Train to Rome", "leafUuid": "aaaaaaaa-5"}),
        json!({"type": "hologram", "sessionId": SESSION}),
    ]
}

pub(crate) fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(crate) fn texts(store: &Store, id: &str) -> Vec<String> {
    let nodes = store.json(&["show", id]);
    let text =
        |node: &Value| format!("{}: {}", node["message"]["role"].as_str().unwrap(), node["text"].as_str().unwrap());
    nodes["messages"].as_array().unwrap_or_else(|| panic!("{nodes:#}")).iter().map(text).collect()
}

#[test]
fn a_session_of_claude_code_is_imported_shown_searched_and_counted() {
    let store = Store::new();
    let path = file(&store, &format!("{SESSION}.jsonl"), lines(&session()));
    let imported = store.json(&["import", &path]);
    let fork = format!("{SESSION}-cccccccc");
    let rows = imported["conversations"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{imported:#}");
    assert_eq!((&rows[0]["conversation"], &rows[0]["new"]), (&SESSION.into(), &5.into()));
    assert_eq!((&rows[1]["conversation"], &rows[1]["new"]), (&fork.as_str().into(), &1.into()));
    let read = &imported["transcripts"][0];
    assert_eq!((&read["format"], &read["records"], &read["messages"]), (&"claude-code".into(), &10.into(), &6.into()));
    let skipped: Vec<_> =
        read["skipped"].as_array().unwrap().iter().map(|one| (one["what"].as_str(), one["why"].as_str())).collect();
    assert_eq!(skipped, [(Some("hologram"), Some("unknown")), (Some("progress"), Some("note"))]);
    assert!(store.succeed(&["title", SESSION]).contains("Train to Rome"));
    let shown = store.succeed(&["show", &fork]);
    assert!(shown.contains("aisle seat") && !shown.contains("window seat"), "{shown}");
    let found = store.succeed(&["search", "which platform"]);
    assert!(found.contains("7:42"), "{found}");
    let context = store.succeed(&["context", "-c", SESSION, "When does it leave?"]);
    assert!(context.contains("It leaves at 7:42 from platform 9."), "{context}");
    let forks = store.json(&["list"]);
    let listed =
        forks["conversations"].as_array().unwrap().iter().find(|one| one["conversation"] == fork.as_str()).unwrap();
    assert_eq!(listed["nodes"], 5, "it shares four messages");
    let text = store.succeed(&["import", &path]);
    assert!(text.contains("as claude-code: 10 records, 2 conversations (1 of them forks), 6 messages"), "{text}");
    assert!(text.contains("skipped 1 × hologram: of an unknown type"), "{text}");
}

#[test]
fn summaries_that_an_import_leaves_are_written_by_the_next_context() {
    let store = Store::new();
    let text = |number: usize| format!("Decided for stop {number}: the train to Rome leaves at 7:42. ").repeat(12);
    let id = |number: usize| format!("{number:08}-a");
    let said: Vec<_> = (0..60)
        .map(|number| said(&id(number), (number > 0).then(|| id(number - 1)).as_deref(), &text(number)))
        .collect();
    let path = file(&store, &format!("{SESSION}.jsonl"), lines(&said));
    store.succeed(&["import", "--no-embed", "--no-summaries", &path]);
    let summaries = || store.json(&["stats"])["conversations"][0]["summaries"].as_u64().unwrap();
    assert_eq!(summaries(), 0);
    store.succeed(&["context", "--budget", "1000", "Which platform?"]);
    assert!(summaries() > 0);
}

#[test]
fn importing_any_beginning_and_then_all_is_importing_all() {
    let all = lines(&session());
    let expected = {
        let store = Store::new();
        store.succeed(&["import", &file(&store, "s.jsonl", &all)]);
        (texts(&store, SESSION), texts(&store, &format!("{SESSION}-cccccccc")))
    };
    // Within a line, after each line, and within an answer of several lines.
    let cuts: Vec<_> = all.match_indices('\n').map(|(at, _)| at + 1).chain([all.len() / 3]).collect();
    for cut in cuts {
        let store = Store::new();
        let path = file(&store, "s.jsonl", &all[..cut]);
        store.succeed(&["import", "--format", "claude-code", &path]);
        file(&store, "s.jsonl", &all);
        store.succeed(&["import", &path]);
        let again = store.json(&["import", &path]);
        assert!(again["conversations"].as_array().unwrap().iter().all(|one| one["new"] == 0), "{again:#}");
        assert!(!again.to_string().contains("differ"), "{again:#}");
        let main = texts(&store, SESSION);
        // An answer that was cut within goes on in a message of its own.
        let joined = |texts: &[String]| texts.join("\n").replace("\nassistant: Timetable", "\nTimetable");
        assert_eq!(joined(&main), joined(&expected.0), "cut at {cut}");
        assert_eq!(texts(&store, &format!("{SESSION}-cccccccc")).last(), expected.1.last());
    }
}

#[test]
fn each_format_is_recognized_and_imported() {
    let store = Store::new();
    let node = |id: &str, parent: Value, role: &str, text: &str| {
        json!({"id": id, "parent": parent, "children": [], "message": {"id": id, "author": {"role": role},
               "content": {"content_type": "text", "parts": [text]}, "create_time": 1_709_370_840.0}})
    };
    let chatgpt = json!([{"conversation_id": "gpt-1", "title": "Lake", "current_node": "b", "mapping": {
        "a": node("a", Value::Null, "user", "Which lake?"), "b": node("b", "a".into(), "assistant", "Garda.")}}]);
    let claude = json!([{"uuid": "ai-1", "name": "Hill", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Which hill?", "content": [], "attachments": [], "files": []}]}]);
    let codex = [
        json!({"timestamp": "2026-03-02T09:14:00Z", "type": "session_meta", "payload": {"id": "codex-1"}}),
        json!({"timestamp": "2026-03-02T09:14:01Z", "type": "response_item", "payload": {"type": "message", "role": "user",
               "content": [{"type": "input_text", "text": "Which test?"}]}}),
    ];
    let strands = json!({"message": {"role": "user", "content": [{"text": "Which agent?"}]}, "message_id": 0, "redact_message": null});
    file(&store, "s/session_one/session.json", "{}");
    file(&store, "s/session_one/agents/agent_a/messages/message_0.json", strands.to_string());
    let whole = |value: Value| value.to_string();
    let files = [
        ("chatgpt", file(&store, "gpt.zip", zipped("conversations.json", &chatgpt.to_string())), "gpt-1"),
        ("claude", file(&store, "claude.zip", zipped("conversations.json", &claude.to_string())), "ai-1"),
        ("codex", file(&store, "codex/rollout.jsonl", lines(&codex)), "codex-1"),
        (
            "openai",
            file(&store, "openai.json", whole(json!({"messages": [{"role": "user", "content": "Which?"}]}))),
            "openai",
        ),
        (
            "openai-responses",
            file(
                &store,
                "responses.json",
                whole(json!([{"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}])),
            ),
            "responses",
        ),
        (
            "anthropic",
            file(
                &store,
                "anthropic.json",
                whole(json!({"system": "Be.", "messages": [{"role": "user", "content": "Which?"}]})),
            ),
            "anthropic",
        ),
        (
            "bedrock",
            file(
                &store,
                "bedrock.json",
                whole(json!({"messages": [{"role": "user", "content": [{"text": "Which?"}]}]})),
            ),
            "bedrock",
        ),
        (
            "langchain",
            file(&store, "lang.json", whole(json!([{"type": "human", "data": {"content": "Which?"}}]))),
            "lang",
        ),
        ("strands", store.path("s"), "strands:one:a"),
    ];
    for (format, path, id) in &files {
        let imported = store.json(&["import", path]);
        assert_eq!(imported["transcripts"][0]["format"], *format, "{imported:#}");
        assert_eq!(imported["conversations"][0]["conversation"], *id, "{imported:#}");
        assert!(!texts(&store, id).is_empty());
        let again = store.json(&["import", "--format", format, path]);
        assert_eq!(again["conversations"][0]["new"], 0, "{again:#}");
    }
    let markdown = file(&store, "talk.md", "## User\n\nWhich way?\n\n## Assistant\n\nNorth.\n");
    let imported = store.json(&["import", "--format", "markdown", "--as", "way", &markdown]);
    assert_eq!(imported["conversations"][0]["conversation"], "way");
    assert_eq!(texts(&store, "way"), ["user: Which way?", "assistant: North."]);
    let all = store.json(&["import", &store.path("codex")]);
    assert_eq!(all["transcripts"][0]["files"], 1, "a directory is looked through: {all:#}");
}

#[test]
fn an_export_that_went_on_from_an_earlier_message_goes_to_a_branch() {
    let store = Store::new();
    let node = |id: &str, parent: Value, text: &str| {
        json!({"id": id, "parent": parent, "children": [], "message": {"id": id, "author": {"role": "user"},
               "content": {"content_type": "text", "parts": [text]}}})
    };
    let export = |current: &str, nodes: &[(&str, Value, &str)]| {
        let mapping: serde_json::Map<_, _> =
            nodes.iter().map(|(id, parent, text)| ((*id).to_owned(), node(id, parent.clone(), text))).collect();
        json!([{"conversation_id": "chat", "current_node": current, "mapping": mapping}]).to_string()
    };
    let first = [("n1", Value::Null, "Hello."), ("n2", "n1".into(), "Rome?")];
    let path = file(&store, "conversations.json", export("n2", &first));
    store.succeed(&["import", &path]);
    let edited = [first.to_vec(), vec![("n3", "n1".into(), "Oslo?"), ("n4", "n3".into(), "By boat?")]].concat();
    file(&store, "conversations.json", export("n4", &edited));
    let imported = store.json(&["import", &path]);
    assert_eq!(texts(&store, "chat"), ["user: Hello.", "user: Rome?"]);
    assert_eq!(texts(&store, "chat-n3"), ["user: Hello.", "user: Oslo?", "user: By boat?"]);
    assert!(support::codes(&imported).contains(&"diverged"), "{imported:#}");
    let again = store.json(&["import", &path]);
    assert!(again["conversations"].as_array().unwrap().iter().all(|one| one["new"] == 0), "{again:#}");
}

#[test]
fn what_a_source_changed_is_told_and_what_is_there_stays() {
    let store = Store::new();
    let talk = |text: &str| json!([{"type": "human", "data": {"content": text, "id": "h1"}}]).to_string();
    let path = file(&store, "talk.json", talk("My number is 4711."));
    store.succeed(&["import", &path]);
    file(&store, "talk.json", talk("[removed]"));
    let imported = store.json(&["import", &path]);
    assert!(support::codes(&imported).contains(&"differs"), "{imported:#}");
    assert_eq!(texts(&store, "talk"), ["user: My number is 4711."]);
}

#[test]
fn damaged_and_empty_transcripts_import_nothing_and_say_where() {
    let store = Store::new();
    let good = file(&store, "good.json", json!({"messages": [{"role": "user", "content": "Hi."}]}).to_string());
    let cut = file(&store, "cut.json", r#"[{"conversation_id": "a", "mapping": {}}, {"conversation_id": "#);
    let error = store.fail(&["import", &good, &cut], 4);
    assert!(error.contains("cut.json:1, byte 42") && error.contains("nothing was imported"), "{error}");
    let empty = file(&store, "empty.jsonl", lines(&[json!({"type": "summary", "summary": "x", "leafUuid": "u"})]));
    let error = store.fail(&["import", &empty], 1);
    assert!(
        error.contains("holds no message: nothing was imported") && error.contains("skipped 1 × summary"),
        "{error}"
    );
    assert!(store.fail(&["import", &file(&store, "x.bin", "??")], 2).contains("docs/import.md lists"));
    assert!(
        store
            .fail(&["import", "--as", "x", &file(&store, "s.jsonl", lines(&session()))], 2)
            .contains("names its conversations")
    );
    store.fail(&["list"], 3);
}

#[test]
fn an_import_says_what_it_archived_guessed_and_left_out() {
    let store = Store::new();
    let run = lines(&[
        json!({"type": "thread.started", "thread_id": "night"}),
        json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Done."}}),
    ]);
    let said = store.succeed(&["import", &file(&store, "run.jsonl", run)]);
    assert!(said.contains("archived 1 conversation in which no person speaks: `memory list --archived`"), "{said}");
    let chat = file(&store, "chat.txt", "12/01/25, 09:10 - Ann: one\n12/02/25, 08:00 - Ben: two\n");
    let said = store.succeed(&["import", &chat]);
    assert!(said.contains("read 2 × date as day/month/year: a guess") && !said.contains("archived"), "{said}");
    let talk = file(&store, "talk.jsonl", lines(&[json!({"role": "user", "content": "Hi.", "session_id": "s"})]));
    let left_out = store.json(&["import", &talk]);
    assert!(support::codes(&left_out).contains(&"members-left-out"), "{left_out:#}");
    assert_eq!(left_out["conversations"][0]["archived"], false);
}

#[test]
fn a_conversation_is_exported_for_other_programs_and_to_read() {
    let store = Store::new();
    store.succeed(&["import", &file(&store, "s.jsonl", lines(&session()))]);
    for format in ["openai", "anthropic"] {
        let path = store.path(&format!("{format}.json"));
        let done = store.json(&["export", "-c", SESSION, "--format", format, "-o", &path]);
        assert_eq!(done["exported"][0]["nodes"], 5, "{done:#}");
        let other = Store::new();
        let imported = other.json(&["import", "--format", format, &path]);
        assert!(imported["conversations"][0]["new"].as_u64().unwrap() >= 4, "{imported:#}");
        assert!(texts(&other, format).last().unwrap().contains("window seat"));
    }
    let page = store.succeed(&["export", "-c", SESSION, "--format", "html"]);
    assert!(page.starts_with("<!doctype html>") && page.contains("<title>Train to Rome</title>"), "{page}");
    store.succeed(&["export", "--all", "--format", "markdown", "-o", &store.path("texts")]);
    let text = fs::read_to_string(store.path(&format!("texts/{SESSION}.md"))).unwrap();
    assert!(text.starts_with("# Train to Rome\n\n## User\n\n*2026-03-02T09:14:00.25Z*\n\nWhen does"), "{text}");
}

#[test]
fn files_that_are_only_called_alike_are_not_one_conversation() {
    let store = Store::new();
    let message = |text: &str| format!("{}\n", json!({"role": "user", "content": text}));
    let (a, b) = (file(&store, "a/chat.jsonl", message("One.")), file(&store, "b/chat.jsonl", message("Two.")));
    let error = store.fail(&["import", "--format", "jsonl", &a, &b], 2);
    assert!(
        error.contains("a/chat.jsonl") && error.contains("b/chat.jsonl") && error.contains("--conversation"),
        "{error}"
    );
    let list =
        |text: &str| json!([{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]).to_string();
    let (c, d) = (file(&store, "a/messages.json", list("One.")), file(&store, "b/messages.json", list("Two.")));
    let error = store.fail(&["import", &c, &d], 2);
    assert!(error.contains("would both be the conversation `messages`"), "{error}");
    store.fail(&["list"], 3);
    // One conversation in two files is one where it is asked for, and a file may be given twice.
    store.succeed(&["import", "--format", "jsonl", "--as", "both", &a, &b]);
    assert_eq!(texts(&store, "both"), ["user: One.", "user: Two."]);
    store.succeed(&["import", &c, &c]);
    assert_eq!(texts(&store, "messages").len(), 2);
}

#[test]
fn a_file_in_utf16_is_refused_by_that_name() {
    let store = Store::new();
    let text = json!([{"role": "user", "content": "Hello."}]).to_string();
    let bytes: Vec<u8> = [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let path = file(&store, "talk.json", bytes);
    for args in [&["import", &path] as &[&str], &["import", "--format", "jsonl", &path]] {
        let error = store.fail(args, 2);
        assert!(error.contains("is UTF-16") && error.contains("iconv"), "{error}");
    }
}

#[test]
fn an_export_says_what_it_leaves_out() {
    let store = Store::new();
    store.succeed(&["append", "-c", "trip", "--speaker", "Ana Lucia", "Where to?"]);
    for (format, expected) in [("openai", "without 1 times"), ("markdown", "1 message\n")] {
        let output = store.command(&["export", "-c", "trip", "--format", format]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn exports_in_a_directory_are_read_back_with_the_transcripts_beside_them() {
    let store = Store::new();
    store.succeed(&["import", &file(&store, "s.jsonl", lines(&session()))]);
    let texts_of = |store: &Store| texts(store, SESSION);
    let all = store.path("all");
    store.succeed(&["export", "--all", "-o", &all]);
    for args in [&["import", &all] as &[&str], &["import", "--format", "memory", &all]] {
        let other = Store::new();
        let imported = other.json(args);
        assert_eq!(imported["conversations"].as_array().unwrap().len(), 2, "{imported:#}");
        assert_eq!(texts_of(&other), texts_of(&store));
    }
    file(&store, "all/talk.md", "## User\n\nWhich way?\n\n## Assistant\n\nNorth.\n");
    file(&store, "all/other.bin", "x");
    let other = Store::new();
    let imported = other.json(&["import", &all]);
    assert_eq!(imported["conversations"].as_array().unwrap().len(), 3, "{imported:#}");
    assert_eq!(texts(&other, "talk"), ["user: Which way?", "assistant: North."]);
    assert!(imported.to_string().contains("export of this program"), "{imported:#}");
}

#[test]
fn conversations_without_a_person_stay_out_of_lists_until_one_speaks() {
    let store = Store::new();
    let event = |caller: Option<&str>, kind: &str, text: &str| json!({"type": kind, "session_id": SESSION, "parent_tool_use_id": caller, "message": {"role": kind, "content": text}});
    let run = [
        event(None, "assistant", "I look."),
        event(Some("t"), "user", "Look."),
        event(Some("t"), "assistant", "Found."),
    ];
    let path = file(&store, "run.jsonl", lines(&run));
    store.succeed(&["import", &path]);
    let list = store.json(&["list"]);
    assert_eq!((list["conversations"].as_array().unwrap().len(), list["archived"].as_u64()), (0, Some(2)), "{list:#}");
    assert!(store.succeed(&["search", "Found."]).contains("Found."));
    file(&store, "run.jsonl", lines(&[run.as_slice(), &[event(None, "user", "Thanks.")]].concat()));
    store.succeed(&["import", &path]);
    let list = store.json(&["list"]);
    let listed: Vec<_> =
        list["conversations"].as_array().unwrap().iter().map(|one| one["conversation"].clone()).collect();
    assert_eq!(listed, [SESSION], "{list:#}");
}
