//! Reports of `memory doctor` on everything around a store, through the binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever fails here fails a test")]

use std::{fs, process::Command};

use serde_json::Value;

use crate::{
    models::model,
    support::{self, Store, failure, success, trip},
};

/// `memory doctor` on a store, in a home of its own.
fn doctor(store: &Store, args: &[&str]) -> Command {
    let mut command = store.hybrid(&[&["doctor"], args].concat());
    fs::create_dir_all(store.path("home")).unwrap();
    command.env("HOME", store.path("home")).env("MEMORY_MODELS", store.path("models")).current_dir(store.path("home"));
    command
}

fn told(store: &Store, args: &[&str], code: i32) -> Value {
    let output = doctor(store, &[&["--json"], args].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The state and the remedy of an item.
fn item<'a>(told: &'a Value, what: &str) -> (&'a str, Option<&'a str>) {
    let items = told["setup"].as_array().unwrap();
    let item = items.iter().find(|item| item["what"] == what);
    let item = item.unwrap_or_else(|| panic!("no {what}: {told:#}"));
    (item["state"].as_str().unwrap(), item["remedy"].as_str())
}

#[test]
fn what_is_only_missing_is_said_with_the_command_that_gets_it_and_is_no_failure() {
    let store = trip();
    let shown = success(&mut doctor(&store, &[]));
    assert!(shown.contains("whole: 30 of 30 nodes"), "{shown}");
    for expected in [
        "missing: ONNX Runtime: ONNX Runtime is missing at ",
        "missing: embedding model: ",
        "to get it: memory model fetch all-MiniLM-L6-v2",
    ] {
        assert!(shown.contains(expected), "no {expected}: {shown}");
    }
    let asked = ["--embedding-model", "all-MiniLM-L12-v2"];
    let (state, remedy) = item_of(&told(&store, &asked, 0), "embedding model");
    assert_eq!((state.as_str(), remedy.as_str()), ("missing", "memory model fetch all-MiniLM-L12-v2"));
    // A tokenizer alone.
    let directory = store.path("models/org/mine");
    fs::create_dir_all(&directory).unwrap();
    fs::write(format!("{directory}/config.json"), r#"{"model_type": "bert", "hidden_size": 4}"#).unwrap();
    let told = told(&store, &["--embedding-model", "org/mine"], 0);
    assert_eq!(item(&told, "tokenizer"), ("missing", Some("memory model fetch org/mine")));
    // Recall by words needs no model, so nothing is missing.
    assert_eq!(item(&self::told(&store, &["--words-only"], 0), "embedding model").0, "here");
    let told = self::told(&store, &["--reranker", "ms-marco-MiniLM"], 1);
    assert_eq!(item(&told, "cross-encoder").0, "wrong");
}

fn item_of(told: &Value, what: &str) -> (String, String) {
    let (state, remedy) = item(told, what);
    (state.to_owned(), remedy.unwrap_or_default().to_owned())
}

#[test]
fn messages_that_are_not_embedded_are_counted_until_they_are() {
    let store = Store::new();
    let model = model(&store, "first", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
    let file = store.file("trip.jsonl", &support::messages(30));
    let run = |args: &[&str]| success(&mut store.hybrid(&[&["--embedding-model", &model], args].concat()));
    run(&["append", "-c", "first", "The train."]);
    run(&["index"]);
    run(&["import", "--no-embed", "--format", "jsonl", &file]);
    let told = told(&store, &[], 0);
    assert_eq!(item(&told, "embedded messages"), ("missing", Some("memory index")));
    assert!(told.to_string().contains("found by words alone: 30 messages of 1 conversation"), "{told:#}");
    assert_eq!(item(&told, "embedding model").0, "here");
    run(&["index"]);
    assert_eq!(item(&self::told(&store, &[], 0), "embedded messages"), ("here", None));
    // Notes are never embedded, and are not missing.
    let asked = store.file("asked.jsonl", "{\"op\": \"create_session\", \"session_id\": \"trip\", \"session\": {}}\n");
    let mut bridge = store.hybrid(&["--embedding-model", &model, "bridge", "--stdio"]);
    success(bridge.stdin(fs::File::open(asked).unwrap()));
    assert_eq!(store.json(&["verify"])["conversations"].as_array().unwrap().len(), 3);
    assert_eq!(item(&self::told(&store, &[], 0), "embedded messages"), ("here", None));
}

#[test]
fn hooks_of_a_program_that_is_gone_are_wrong() {
    let store = trip();
    let settings = store.path("home/.claude/settings.json");
    fs::create_dir_all(store.path("home/.claude")).unwrap();
    assert_eq!(
        item(&told(&store, &[], 0), "hooks of Claude Code"),
        ("missing", Some("memory hook install claude-code"))
    );
    let mut install = store.hybrid(&["hook", "install", "claude-code", "--yes"]);
    success(install.env("HOME", store.path("home")));
    assert_eq!(item(&told(&store, &[], 0), "hooks of Claude Code").0, "here");
    let program = env!("CARGO_BIN_EXE_memory");
    let gone = format!("{}/gone/memory", store.path(""));
    fs::write(&settings, fs::read_to_string(&settings).unwrap().replace(program, &gone)).unwrap();
    let told = told(&store, &[], 1);
    assert_eq!(item(&told, "hooks of Claude Code"), ("wrong", Some("memory hook install claude-code")));
    assert!(told.to_string().contains("gone/memory, which does not exist"), "{told:#}");
    assert_eq!(told["whole"], true);
    fs::write(&settings, "no json").unwrap();
    assert_eq!(item(&self::told(&store, &[], 1), "hooks of Claude Code").0, "wrong");
}

#[test]
fn plugins_strategies_and_a_configuration_that_do_not_work_are_wrong() {
    let store = trip();
    let told = told(&store, &["--plugins", &store.path("none"), "--summarizer", "no-such"], 1);
    assert_eq!((item(&told, "plugin").0, item(&told, "summarizer").0), ("wrong", "wrong"));
    let file = store.file("config.toml", "lock-timeout = 0.5\nvectors = \"scan\"\nbudget = 1\n");
    let told = self::told(&store, &["--config", &file], 2);
    let faults = told["setup"].as_array().unwrap().iter().filter(|item| item["what"] == "configuration");
    assert_eq!(
        faults
            .filter(|item| item["state"] == "wrong" && item["remedy"] == format!("memory config check {file}"))
            .count(),
        2
    );
    let good = store.file("good.toml", "vectors = \"scan\"\n");
    assert_eq!(item(&self::told(&store, &["--config", &good], 0), "configuration").0, "here");
}

#[test]
fn without_a_store_the_rest_is_said_and_the_store_is_not_found() {
    let store = Store::new();
    let told = told(&store, &[], 3);
    assert_eq!(item(&told, "ONNX Runtime"), ("missing", Some("memory model fetch")));
    let error = failure(&mut doctor(&store, &[]), 3);
    assert!(error.contains("there is no store at"), "{error}");
    assert!(!fs::exists(store.path("store")).unwrap());
}
