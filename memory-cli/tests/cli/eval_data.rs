//! Long conversations through the real binary: in, shown at a tenth of their tokens, verified.
//!
//! A sample of our own making is in the tree. Real data lies next to the project and may not be copied into it: without
//! it its tests are skipped, but fail where `CI=true`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::{self, Store};

fn data(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/eval").join(name);
    if root.join("conversations.jsonl").is_file() {
        return Some(root);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no evaluation data at {}", root.display());
    eprintln!("skipped: no evaluation data at {}", root.display());
    None
}

fn values(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The nodes of the pieces that satisfy `is`, in order.
fn nodes(context: &Value, is: impl Fn(&str) -> bool) -> Vec<u64> {
    let pieces = context["pieces"].as_array().unwrap().iter().filter(|piece| is(piece["kind"].as_str().unwrap()));
    pieces.flat_map(|piece| support::nodes(&piece["nodes"])).collect()
}

/// A file of the conversation's name, with a message a line.
fn file(store: &Store, conversation: &Value) -> String {
    let line = |turn: &Value| {
        let [id, session, at] = ["turn_id", "session", "timestamp"].map(|name| &turn[name]);
        let [name, role, content] = ["speaker", "role", "text"].map(|name| &turn[name]);
        json!({"id": id, "session": session, "at": at, "name": name, "role": role, "content": content})
    };
    let lines: Vec<_> =
        conversation["turns"].as_array().unwrap().iter().map(|turn| format!("{}\n", line(turn))).collect();
    store.file(&format!("{}.jsonl", conversation["conversation_id"].as_str().unwrap()), &lines.concat())
}

fn check(name: &str) {
    if let Some(data) = data(name) {
        check_all(&data);
    }
}

fn check_all(data: &Path) {
    let store = Store::new();
    let conversations = values(&data.join("conversations.jsonl"));
    let files: Vec<_> = conversations.iter().map(|conversation| file(&store, conversation)).collect();
    let command = ["import", "--format", "jsonl"].into_iter().chain(files.iter().map(String::as_str));
    let imported = store.json(&command.collect::<Vec<_>>());
    let questions = values(&data.join("queries.jsonl"));
    assert_eq!(imported["conversations"].as_array().unwrap().len(), conversations.len());
    let mut without_recall = 0;
    for conversation in &conversations {
        let id = conversation["conversation_id"].as_str().unwrap();
        let turns = conversation["turns"].as_array().unwrap();
        let tokens: u64 = turns.iter().filter_map(|turn| turn["n_tokens"].as_u64()).map(|tokens| tokens + 8).sum();
        let budget = (tokens / 10).to_string();
        let question = questions.iter().find(|question| question["conversation_id"] == id).unwrap();
        let question = question["question"].as_str().unwrap();
        let context = store.json(&["context", "--conversation", id, "--budget", &budget, question]);
        assert!(context["tokens"].as_u64().unwrap() <= tokens / 10, "{id}");
        let history = nodes(&context, |kind| kind != "recalled" && kind != "standing");
        assert_eq!(history, (1..=turns.len() as u64).collect::<Vec<_>>(), "{id}: every message exactly once");
        let verbatim: HashSet<_> = nodes(&context, |kind| kind == "message").into_iter().collect();
        let recalled = nodes(&context, |kind| kind == "recalled");
        assert!(!recalled.iter().any(|node| verbatim.contains(node)), "{id}: nothing is shown twice");
        without_recall += usize::from(recalled.is_empty());
        let verified = store.succeed(&["verify", "--conversation", id]);
        let expected = format!("verified {0} of {0} nodes, root ", turns.len());
        assert!(verified.lines().last().unwrap().starts_with(&expected), "{id}: {verified}");
    }
    // By words alone, a question whose words nobody said recalls nothing.
    assert!(without_recall <= conversations.len() / 6, "{without_recall} questions recalled nothing");
}

#[test]
fn the_sample_is_shown_at_a_tenth_and_verified() {
    check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/sample"));
}

#[test]
fn locomo_is_shown_at_a_tenth_and_verified() {
    check("locomo");
}

#[test]
fn beam100k_is_shown_at_a_tenth_and_verified() {
    check("beam100k");
}

#[test]
fn beam500k_is_shown_at_a_tenth_and_verified() {
    check("beam500k");
}

#[test]
fn qmsum_is_shown_at_a_tenth_and_verified() {
    check("qmsum");
}
