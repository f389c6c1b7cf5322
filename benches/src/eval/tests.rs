//! A run over generated conversations, from files to run file.

use std::fs;

use memory_core::testing::{MemoryStore, ScanRetriever, WordCounter};
use serde_json::{Value, json};

use super::*;

pub(super) fn parts() -> EvalParts {
    let store = Arc::new(MemoryStore::default());
    let retriever = Arc::new(ScanRetriever::new(store.clone()));
    let memory =
        Memory::builder().store(store.clone()).retriever(retriever.clone()).token_counter(Arc::new(WordCounter));
    EvalParts { store, retriever, counter: Arc::new(WordCounter), memory: memory.build().unwrap() }
}

fn turn(id: &str, text: &str) -> Value {
    json!({"turn_id": id, "session": 1, "timestamp": null, "speaker": "Ada", "role": "user", "text": text, "n_tokens": 1})
}

pub(super) fn data(questions: &[Value]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let talk = json!({"conversation_id": "talk", "dataset": "made-up", "turns": [
        turn("t0", "The kiln reaches 1240 degrees."),
        turn("t1", "Nobody has fed the tortoise."),
        turn("t2", "The kiln is closed on Mondays."),
    ]});
    fs::write(directory.path().join("conversations.jsonl"), format!("{talk}\n")).unwrap();
    let lines: Vec<_> = questions.iter().map(|question| format!("{question}\n")).collect();
    fs::write(directory.path().join("queries.jsonl"), lines.concat()).unwrap();
    directory
}

fn options(data: &tempfile::TempDir, budget: Option<Budget>) -> EvalOptions {
    let run = data.path().join("run.jsonl");
    EvalOptions {
        data: vec![data.path().to_owned()],
        run,
        compare: None,
        budget,
        stop_early: false,
        asked: BTreeSet::from([Asked::One]),
        demand_model: true,
    }
}

#[test]
fn every_question_has_a_line_with_turns_by_their_ids() {
    let data = data(&[
        json!({"query_id": "q0", "conversation_id": "talk", "question": "fed tortoise?", "answerable": true, "evidence": ["t1"]}),
        json!({"query_id": "q1", "conversation_id": "talk", "question": "kiln Mondays", "answerable": false}),
    ]);
    let options = options(&data, Some(Budget::Tokens(20)));
    pollster::block_on(evaluate(&parts(), &options)).unwrap();
    let run = fs::read_to_string(&options.run).unwrap();
    let lines: Vec<Value> = run.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = lines.iter().map(|line| line["query_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["q0", "q1"]);
    assert_eq!(lines[0]["ranked"], json!(["t1"]));
    assert_eq!(lines[1]["ranked"], json!(["t2", "t0"]));
    assert_eq!(lines[1]["packed"], json!(["t2"]), "two messages of 8 tokens and their headers exceed the budget");
    assert!(lines[1]["packed_tokens"].as_u64().unwrap() <= 20);
    assert!(lines[0]["latency_ms"].as_f64().unwrap() >= 0.0);
    assert_eq!(lines[0]["in_context"], Value::Null, "no context fits 20 tokens");
}

#[test]
fn a_full_context_shows_the_evidence_and_its_share_of_history() {
    let question = "fed tortoise?";
    let data = data(&[
        json!({"query_id": "q0", "conversation_id": "talk", "question": question, "answerable": true, "evidence": ["t1"]}),
    ]);
    let options = options(&data, Some(Budget::Tokens(200)));
    pollster::block_on(evaluate(&parts(), &options)).unwrap();
    let line: Value = serde_json::from_str(fs::read_to_string(&options.run).unwrap().trim()).unwrap();
    assert_eq!(line["in_context"], json!(["t0", "t1", "t2"]));
    let share = line["history_share"].as_f64().unwrap();
    assert!(share > 0.05 && share < 0.5, "{share}");
}

#[test]
fn a_question_to_no_conversation_fails_and_leaves_no_run() {
    let data = data(&[json!({"query_id": "q9", "conversation_id": "walk", "question": "Where?"})]);
    let options = options(&data, None);
    let error = pollster::block_on(evaluate(&parts(), &options)).unwrap_err().to_string();
    assert!(error.contains("q9") && error.contains("walk"), "{error}");
    assert!(!options.run.exists());
}

#[test]
fn both_scopes_are_asked_in_one_run_and_only_one_packs() {
    let data =
        data(&[json!({"query_id": "q0", "conversation_id": "talk", "question": "fed tortoise?", "evidence": ["t1"]})]);
    let directory = data.path().join("runs");
    fs::create_dir(&directory).unwrap();
    let options = EvalOptions {
        run: directory.clone(),
        asked: BTreeSet::from([Asked::One, Asked::All]),
        ..options(&data, Some(Budget::Tokens(20)))
    };
    pollster::block_on(evaluate(&parts(), &options)).unwrap();
    let name = contexts::data_name(data.path());
    let read = |file: String| -> Value {
        serde_json::from_str(fs::read_to_string(directory.join(file)).unwrap().trim()).unwrap()
    };
    let (one, all) = (read(format!("{name}.jsonl")), read(format!("{name}-all.jsonl")));
    assert_eq!((&one["ranked"], &all["ranked"]), (&json!(["t1"]), &json!(["t1"])));
    assert_eq!((&one["packed"], &all["packed"]), (&json!(["t1"]), &Value::Null));
}

#[test]
fn all_of_a_store_is_no_scope_and_a_part_of_it_is_one() {
    let (parts, data) = (parts(), data(&[]));
    let subjects = pollster::block_on(import(&parts, data.path())).unwrap();
    let all = || pollster::block_on(everything(&parts, subjects.keys().cloned())).unwrap();
    assert_eq!(all(), Scope::all());
    let draft = memory_core::NodeDraft::new(memory_core::Message::user("More."), Default::default(), 1);
    let other = ConversationId::new("other").unwrap();
    pollster::block_on(parts.store.append(&other, vec![draft])).unwrap();
    assert_eq!(all(), Scope::only(subjects.keys().cloned().collect()));
}
