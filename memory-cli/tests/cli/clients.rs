//! The clients of other languages, and the lines that the documentation shows of them.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::{bridge::Bridge, support::Store};

const PAGE: &str = include_str!("../../../docs/clients.md");

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The program, if it is on this machine; otherwise the test says that it was skipped.
fn program(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_err() {
        eprintln!("skipped: there is no `{name}`");
        return None;
    }
    let mut command = Command::new(name);
    command.env("MEMORY_BINARY", env!("CARGO_BIN_EXE_memory")).env("MEMORY_CONFIG", "none");
    Some(command)
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{command:?}: {printed}{}", String::from_utf8_lossy(&done.stderr));
    printed
}

/// The block of the page in a language.
fn block(language: &str) -> &'static str {
    let after = PAGE.split_once(&format!("```{language}\n")).unwrap().1;
    after.split_once("```").unwrap().0
}

#[test]
fn the_client_for_node_passes_its_own_tests() {
    let Some(mut node) = program("node") else { return };
    run(node.arg("--test").current_dir(root().join("typescript")));
}

#[test]
fn what_the_page_shows_runs_in_python() {
    let Some(mut python) = program("python3") else { return };
    let store = Store::new();
    let page = store.file("page.py", block("python"));
    let python = python.arg(page).current_dir(store.path("")).env("PYTHONPATH", root().join("python"));
    assert!(run(python).contains("QX-4471"));
}

#[test]
fn what_the_page_shows_runs_in_node() {
    let Some(mut node) = program("node") else { return };
    let store = Store::new();
    let page = store.file("page.mjs", &block("js").replace("memory-client", &client()));
    assert!(run(node.arg(page).current_dir(store.path(""))).contains("QX-4471"));
}

/// The address of the client in this tree.
fn client() -> String {
    format!("file://{}", root().join("typescript").join("index.mjs").display())
}

#[test]
fn a_program_without_a_list_gets_the_answers_of_the_commands() {
    let store = Store::new();
    let mut bridge = Bridge::over(&store);
    let append = |text: &str, at: &str| {
        let message = json!({"role": "user", "content": text, "speaker": "Ann"});
        json!({"op": "append", "conversation": "trip", "message": message, "at": at})
    };
    let first = bridge.ask(&append("The locker at the harbour is QX-4471.", "2026-03-01T10:00:00+01:00"));
    assert_eq!((&first["node"], &first["new"], &first["nodes"]), (&json!(1), &json!(true), &json!(1)));
    bridge.ask(&append("We decided to take the night train.", "2026-03-02"));
    let commands: [(_, &[&str]); 4] = [
        (json!({"op": "messages", "conversation": "trip"}), &["show", "trip"]),
        (json!({"op": "conversations"}), &["list"]),
        (json!({"op": "reminder", "conversation": "trip"}), &["resume", "trip"]),
        (json!({"op": "facts", "conversation": "trip"}), &["facts", "list", "-c", "trip"]),
    ];
    for (request, command) in commands {
        let printed: Value = serde_json::from_str(&store.succeed(&[command, &["--json"]].concat())).unwrap();
        assert_eq!(bridge.ask(&request), printed, "{request}");
    }
    let found = bridge.ask(&json!({"op": "search", "question": "Which locker is it?", "neighbours": 1, "limit": 1}));
    assert_eq!((&found["hits"][0]["node"], &found["hits"][0]["after"][0]["node"]), (&json!(1), &json!(2)), "{found}");
    let shown = bridge.ask(&json!({"op": "context", "conversation": "trip", "question": "Which locker is it?"}));
    assert!(shown["prompt"]["text"].as_str().unwrap().contains("QX-4471"), "{shown}");
    let history = bridge.ask(&json!({"op": "context", "conversation": "trip"}));
    assert!(!history["request"].to_string().contains("Current question"), "{history}");
    for (request, code) in [
        (json!({"op": "messages", "conversation": "nowhere"}), "not_found"),
        (json!({"op": "messages", "conversation": "trip", "nodes": [8, 9]}), "not_found"),
        (json!({"op": "search", "conversation": "nowhere", "question": "Who?"}), "not_found"),
        (append("Hello.", "soon"), "invalid_config"),
        (json!({"op": "append", "conversation": "trip", "message": {"role": "user"}}), "invalid_message"),
        (json!({"op": "context", "conversation": "trip", "budget": 1}), "budget_too_small"),
    ] {
        assert_eq!(bridge.refused(&request), code, "{request}");
    }
    bridge.end();
}
