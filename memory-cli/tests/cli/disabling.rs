//! `memory disable` and `memory enable`, and what shows disabled messages.

use crate::support::{self, Store};

fn trip() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

#[test]
fn a_disabled_message_is_shown_only_with_the_flag() {
    let store = trip();
    let question = ["context", "-c", "trip", "--budget", "20000", "Which platform?"];
    assert!(store.succeed(&question).contains("platform 9"));
    let changed = store.json(&["disable", "-c", "trip", "7", "--by", "Ann"]);
    assert_eq!(changed["conversations"][0]["changes"][0]["nodes"], serde_json::json!([[7, 7]]));
    let context = store.succeed(&question);
    assert!(!context.contains("platform 9") && context.contains("[Message 7: disabled]"), "{context}");
    assert!(!store.succeed(&["context", "-c", "trip", "--budget", "700", "Which platform?"]).contains("platform 9"));
    assert!(store.json(&["find", "platform"])["matches"].as_array().unwrap().is_empty());
    assert_eq!(store.json(&["find", "--disabled", "platform"])["matches"].as_array().unwrap().len(), 1);
    let found = store.json(&["search", "platform 9"]);
    assert!(found["hits"].as_array().unwrap().iter().all(|hit| hit["node"] != 7), "{found}");
    let found = store.json(&["search", "--disabled", "platform 9"]);
    assert!(found["hits"][0]["node"] == 7 && found["hits"][0]["disabled"] == true, "{found}");
    assert_eq!(store.succeed(&["expand", "-c", "trip", "7"]).trim(), "[disabled]");
    assert!(store.succeed(&["expand", "-c", "trip", "7", "--disabled"]).contains("platform 9"));
    store.fail(&["expand", "-c", "trip", "7", "--proof"], 2);
    let proof = store.file("proof.json", &store.succeed(&["expand", "-c", "trip", "7", "--disabled", "--proof"]));
    assert!(store.succeed(&["verify-proof", &proof]).contains("platform 9"));
    let verified = store.json(&["verify"]);
    assert_eq!((&verified["verified"], &verified["nodes"], &verified["erased"]), (&60.into(), &60.into(), &0.into()));
    store.succeed(&["doctor"]);
    assert!(store.succeed(&["disable", "-c", "trip", "--list"]).contains("by Ann"));
    assert_eq!(store.json(&["list"])["conversations"][0]["disabled"], 1);

    store.succeed(&["vacuum", "--seal"]);
    store.succeed(&["enable", "-c", "trip", "--all"]);
    assert!(store.succeed(&question).contains("platform 9"));
    store.succeed(&["disable", "--matching", "platform [0-9]"]);
    assert!(!store.succeed(&question).contains("platform 9"));
    store.succeed(&["enable", "--matching", "platform"]);
    assert!(store.succeed(&question).contains("platform 9"));
    store.fail(&["disable", "-c", "trip", "999"], 3);
    store.fail(&["disable", "-c", "trip"], 2);
    assert!(store.fail(&["disable", "--matching", "a("], 2).starts_with("error: `a(` is not a regular expression: "));
    store.fail(&["disable", "-c", "trip", "--summary", "9999"], 3);
    store.fail(&["disable", "-c", "trip", "--summary", "s9999"], 3);
}

#[test]
fn erasing_a_disabled_message_finds_it() {
    let store = trip();
    store.succeed(&["disable", "-c", "trip", "7"]);
    let erased = store.json(&["erase", "--matching", "platform", "--yes"]);
    assert_eq!(erased["plan"]["conversations"][0]["messages"], 1, "{erased}");
    assert_eq!(erased["receipt"]["scan"]["found"], 0);
    assert_eq!(store.succeed(&["expand", "-c", "trip", "7", "--disabled"]).trim(), "[erased]");
    assert_eq!(store.json(&["list"])["conversations"][0]["disabled"], 0);
}

#[test]
fn a_pattern_disables_in_forks_too() {
    let store = trip();
    store.succeed(&["fork", "trip", "--at", "30", "--as", "before"]);
    store.succeed(&["disable", "--matching", "platform [0-9]"]);
    for conversation in ["trip", "before"] {
        assert!(!store.succeed(&["show", conversation, "1-20", "--whole"]).contains("platform 9"), "{conversation}");
    }
    store.succeed(&["enable", "--matching", "platform [0-9]"]);
    assert!(store.succeed(&["show", "before", "1-20", "--whole"]).contains("platform 9"));
    store.fail(&["erase", "-c", "trip", "--document", "none", "--yes"], 3);
}

#[test]
fn an_export_carries_what_is_disabled() {
    let store = trip();
    store.succeed(&["disable", "-c", "trip", "7-8"]);
    let file = store.path("trip.export");
    store.succeed(&["export", "-c", "trip", "-o", &file]);
    let other = Store::new();
    other.succeed(&["import", &file]);
    assert_eq!(other.json(&["list"])["conversations"][0]["disabled"], 2);
    assert!(!other.succeed(&["context", "-c", "trip", "--budget", "20000", "Which platform?"]).contains("platform 9"));
    other.succeed(&["enable", "-c", "trip", "--all"]);
    assert!(other.succeed(&["context", "-c", "trip", "--budget", "20000", "Which platform?"]).contains("platform 9"));
}

/// All files below a directory that hold a text.
fn holding(dir: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path).unwrap_or_default().windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_bridge_that_keeps_nothing_writes_nothing_anywhere() {
    use std::{io::Write, process::Stdio};

    let store = Store::new();
    let home = store.path("");
    let mut command = support::memory();
    for name in ["HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, &home);
    }
    command.args(["bridge", "--stdio", "--no-persist", "--words-only", "--store", &store.path("store")]);
    let mut child = command.current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut requests = child.stdin.take().unwrap();
    let message = serde_json::json!({"role": "user", "content": [{"text": "The code is zebra44712."}]});
    let item = serde_json::json!({"item": 1, "message": message, "key": "k1"});
    for request in [
        serde_json::json!({"op": "add_items", "conversation": "trip", "items": [item]}),
        serde_json::json!({"op": "create_session", "session_id": "zebra44712", "session": {"of": "zebra44712"}}),
        serde_json::json!({"op": "list_items", "conversation": "trip"}),
    ] {
        writeln!(requests, "{request}").unwrap();
    }
    drop(requests);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert!(answers.lines().count() == 3 && !answers.contains("error"), "{answers}");
    assert_eq!(holding(std::path::Path::new(&home), "zebra44712"), Vec::<String>::new());
    assert!(!std::path::Path::new(&store.path("store")).exists());
}

/// A conversation of a person, a model and two tools, one of which lies.
fn with_tools() -> Store {
    let store = Store::new();
    let call = |id: &str, tool: &str| serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": {}}]});
    let result = |id: &str, text: &str| serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]});
    let said = |role: &str, text: &str| serde_json::json!({"role": role, "content": text});
    let lines = [
        said("user", "Which gate does the ferry leave from?"),
        call("c1", "web"),
        result("c1", "The ferry leaves from gate quagga."),
        said("assistant", "It leaves from gate quagga."),
        said("user", "And when does the ferry leave?"),
        call("c2", "timetable"),
        result("c2", "The ferry leaves at noon."),
        said("assistant", "It leaves at noon."),
    ];
    let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = store.file("trip.jsonl", &all);
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

#[test]
fn a_source_is_put_under_quarantine_with_what_was_derived_from_it_and_comes_back_alone() {
    let store = with_tools();
    store.succeed(&["disable", "-c", "trip", "8"]);
    let held = store.json(&["quarantine", "tool:web", "--by", "Ann"]);
    assert_eq!(held["conversations"][0]["nodes"], serde_json::json!([[2, 4]]), "{held}");
    assert!(store.json(&["find", "quagga"])["matches"].as_array().unwrap().is_empty());
    let context = store.succeed(&["context", "-c", "trip", "Which gate does the ferry leave from?"]);
    assert!(!context.contains("quagga") && context.contains("at noon"), "{context}");
    assert_eq!(store.json(&["quarantine", "--list"])["quarantines"][0]["source"], "tool:web");
    assert!(store.succeed(&["disable", "-c", "trip", "--list"]).contains("quarantine of tool:web | Ann"));
    assert!(store.succeed(&["quarantine", "tool:web"]).starts_with("nothing changed"));
    let lifted = store.json(&["quarantine", "--undo", "tool:web"]);
    assert_eq!(lifted["conversations"][0]["nodes"], serde_json::json!([[2, 4]]), "{lifted}");
    assert_eq!(store.json(&["find", "quagga"])["matches"].as_array().unwrap().len(), 2);
    assert_eq!(store.succeed(&["expand", "-c", "trip", "8"]).trim(), "[disabled]", "for another reason");
    assert!(store.succeed(&["quarantine", "--list"]).contains("nothing is under quarantine"));

    let whole = store.json(&["quarantine", "conversation:trip"]);
    assert_eq!(whole["conversations"][0]["nodes"], serde_json::json!([[1, 7]]), "{whole}");
    store.succeed(&["quarantine", "--undo", "conversation:trip"]);
    let imported = store.json(&["quarantine", "import:trip"]);
    assert_eq!(imported["conversations"][0]["nodes"], serde_json::json!([[1, 7]]), "{imported}");
    store.succeed(&["quarantine", "--undo", "import:trip"]);
    store.fail(&["quarantine", "conversation:nowhere"], 3);
    store.fail(&["quarantine", "mail:x"], 2);
}

#[test]
fn recall_is_limited_to_sources_and_each_message_says_its_own() {
    let store = with_tools();
    store.succeed(&["append", "-c", "mine", "The ferry leaves from gate four."]);
    store.succeed(&["append", "-c", "mine", "--role", "assistant", "Noted: the ferry leaves from gate four."]);
    let found = |trust: &str| {
        let found = store.json(&["search", "--trust", trust, "Which gate does the ferry leave from?"]);
        let hit = |hit: &serde_json::Value| format!("{} {}", hit["conversation"].as_str().unwrap(), hit["node"]);
        found["hits"].as_array().unwrap().iter().map(hit).collect::<Vec<_>>()
    };
    assert_eq!(found("person"), ["mine 1"]);
    assert_eq!(found("user,model").len(), 2);
    assert!(found("import").iter().all(|hit| hit.starts_with("trip")) && !found("import").is_empty());
    store.fail(&["search", "--trust", "friend", "Which gate?"], 2);
    let sources = store.json(&["provenance", "-c", "trip", "3-4"]);
    let [result, reply] = [0, 1].map(|at| sources["sources"][at].clone());
    assert_eq!((&result["source"], &result["tools"][0]), (&"import".into(), &"web".into()), "{sources}");
    assert_eq!((&reply["tools"][0], &reply["from"]), (&"web".into(), &serde_json::json!([[3, 3]])), "{sources}");
    let own = store.json(&["provenance", "-c", "mine", "1-2"]);
    assert_eq!(
        (&own["sources"][0]["source"], &own["sources"][1]["source"]),
        (&"user".into(), &"model".into()),
        "{own}"
    );
    store.fail(&["provenance", "-c", "mine", "9"], 3);
}
