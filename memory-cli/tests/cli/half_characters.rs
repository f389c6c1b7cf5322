//! Half of a surrogate pair in JSON, as programs write it where they cut a text: at every door U+FFFD stands for it,
//! and everything else is kept.
#![expect(clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use serde_json::{Value, json};

use crate::{
    bridge::Bridge,
    hook::{call, event},
    mcp::Server,
    support::{self, Store},
    transcripts::{SESSION, file},
};

/// In JSON, and as it is kept.
const CUT: &str = r"ELF \udc88\udcff \ud83d\ude00 DELTA-55 \ud83d";
const KEPT: &str = "ELF \u{fffd}\u{fffd} 😀 DELTA-55 \u{fffd}";

/// JSON with the cut text in the place of `CUT`.
fn cut(value: &Value) -> String {
    value.to_string().replace("CUT", CUT)
}

/// Messages of a conversation, as JSON with no character escaped.
fn kept(store: &Store, conversation: &str) -> String {
    let shown = store.json(&["show", conversation, "1-10"]);
    shown["messages"].to_string()
}

#[test]
fn an_import_of_lines_keeps_the_rest_and_counts_the_halves() {
    let store = Store::new();
    let lines = [
        json!({"role": "user", "content": "CUT", "metadata": {"CUT": "CUT"}}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "CUT"}]}),
        json!({"role": "user", "content": r"a path: C:\ud83d"}),
    ];
    let lines: String = lines.iter().map(|line| format!("{}\n", cut(line))).collect();
    let path = store.file("talk.jsonl", &lines);
    let imported = store.json(&["import", "--format", "jsonl", &path]);
    assert!(support::codes(&imported).contains(&"mended"), "{imported:#}");
    assert!(imported.to_string().contains("halves of characters in `talk`: 12"), "{imported:#}");
    let kept = kept(&store, "talk");
    for place in ["\"content\":\"CUT\"", "{\"CUT\":\"CUT\"", "\"tool_use_id\":\"t\",\"content\":\"CUT\""] {
        assert!(kept.contains(&place.replace("CUT", KEPT)), "{place}: {kept}");
    }
    assert!(kept.contains(r"C:\\ud83d"), "a backslash that is written is none of an escape: {kept}");
}

#[test]
fn an_import_of_a_transcript_says_how_many_there_were() {
    let store = Store::new();
    let path = store.file(
        "x.json",
        &cut(&json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "CUT"}]}])),
    );
    let imported = store.json(&["import", &path]);
    assert_eq!(imported["transcripts"][0]["mended"], 3, "{imported:#}");
    assert!(kept(&store, "x").contains(KEPT));
    let again = store.succeed(&["import", &path]);
    assert!(again.contains("put U+FFFD for 3 halves of characters"), "{again}");
}

#[test]
fn metadata_on_the_command_line_is_kept() {
    let store = Store::new();
    store.succeed(&["append", "-c", "talk", "--metadata", &cut(&json!({"note": "CUT"})), "Hello."]);
    assert!(kept(&store, "talk").contains(KEPT));
}

#[test]
fn a_bridge_answers_and_keeps_the_rest() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    let message = |id: &str| json!({"role": "user", "tracking_id": id, "content": [{"text": "CUT"}]});
    bridge.ask(&json!({"op": "open", "id": 0, "manager": "hierarchical", "config": {"conversation": "talk"}}));
    let answer = bridge.send(&cut(&json!({"op": "apply", "id": 0, "messages": [message("a")]})));
    assert_eq!(answer["messages"][0]["content"][0]["text"], KEPT, "{answer}");
    let item = json!({"item": {"CUT": "CUT"}, "message": message("b"), "key": "k"});
    bridge.send(&cut(&json!({"op": "add_items", "conversation": "list", "items": [item]})));
    let items = bridge.ask(&json!({"op": "list_items", "conversation": "list"}))["items"].clone();
    assert_eq!(items, json!([{KEPT: KEPT}]));
    bridge.end();
    assert!(kept(&store, "talk").contains(KEPT));
}

#[test]
fn a_tool_of_the_server_answers_and_keeps_the_rest() {
    let store = Store::new();
    let mut server = Server::begun(&store, &["--allow-append"]);
    let message = json!({"role": "user", "text": "CUT"});
    let call = json!({"name": "append_messages", "arguments": {"conversation_id": "talk", "messages": [message]}});
    let answer = server.ask_written("tools/call", &cut(&call));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["nodes"], json!([1]), "{answer}");
    let node = server.call("expand_node", json!({"conversation_id": "talk", "node_id": 1}));
    assert_eq!(node["text"], KEPT);
}

#[test]
fn a_hook_and_a_watch_take_the_rest_in() {
    let line = json!({"type": "user", "uuid": "a", "sessionId": SESSION, "cwd": "/trip", "message": {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "CUT"}]}});
    for by_hook in [true, false] {
        let store = Store::new();
        let path = file(&store, &format!("p/a/{SESSION}.jsonl"), format!("{}\n", cut(&line)));
        if by_hook {
            let mut stop = event("Stop", &path);
            stop["last_assistant_message"] = "CUT".into();
            let (output, error) = call(&store, &["claude-code"], cut(&stop).as_bytes());
            assert!(output.status.success() && error.is_empty(), "{error}");
        } else {
            store.succeed(&["watch", "--once", &store.path("p")]);
        }
        assert!(kept(&store, SESSION).contains(KEPT), "by a hook: {by_hook}");
    }
}
