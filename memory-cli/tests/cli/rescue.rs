//! Damaged stores, backups and restored stores through the binary.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::fs;

use serde_json::Value;

use crate::support::{self, Store};

/// A store with two conversations of 30 messages each, and the root of each.
fn store_of_two() -> Store {
    let store = Store::new();
    for name in ["trip", "late"] {
        let file = store.file(&format!("{name}.jsonl"), &support::messages(30));
        store.succeed(&["import", "--format", "jsonl", &file]);
    }
    store
}

fn root(store: &Store, at: &str, conversation: &str) -> Value {
    let text = support::success(&mut on(store, at, &["--json", "verify", "--conversation", conversation]));
    serde_json::from_str::<Value>(&text).unwrap()["root"].clone()
}

pub(crate) fn on(store: &Store, at: &str, args: &[&str]) -> std::process::Command {
    let mut command = support::memory();
    command.args(["--store", &store.path(at)]).args(args);
    command
}

/// Flips a byte of the message that names a platform, of the conversation that came first.
pub(crate) fn damage(store: &Store) {
    store.flip("platform 9");
}

#[test]
fn doctor_calls_a_whole_store_whole() {
    let store = store_of_two();
    let shown = store.succeed(&["doctor"]);
    assert!(shown.contains("whole: 60 of 60 nodes"), "{shown}");
    let told = store.json(&["doctor"]);
    assert_eq!((&told["whole"], &told["verified"]), (&true.into(), &60.into()));
    assert_eq!(told["damage"], Value::Array(Vec::new()));
    support::failure(&mut on(&store, "nothing", &["doctor"]), 3);
    assert!(!fs::exists(store.path("nothing")).unwrap());
}

#[test]
fn doctor_says_what_is_damaged_and_saves_the_rest() {
    let store = store_of_two();
    let late = root(&store, "store", "late");
    damage(&store);
    let before = fs::read(store.path("store/log/0001.seg")).unwrap();
    let output = store.hybrid(&["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("0001.seg at byte") && shown.contains("lost with it: nodes 7 of `trip`"), "{shown}");
    assert!(shown.contains("memory doctor --salvage DIR"), "it says what to do: {shown}");

    let output = store.hybrid(&["--json", "doctor", "--salvage", &store.path("saved")]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "the store is still damaged");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["nodes"], &told["verified"]), (&60.into(), &59.into()));
    assert_eq!(told["damage"][0]["lost"][0], serde_json::json!({"conversation": "trip", "nodes": [7, 7]}));
    assert_eq!((&told["salvaged"]["verified"], &told["salvaged"]["damage"]), (&59.into(), &Value::Array(Vec::new())));
    assert_eq!(fs::read(store.path("store/log/0001.seg")).unwrap(), before);

    assert_eq!(root(&store, "saved", "late"), late);
    let error = support::failure(&mut on(&store, "saved", &["expand", "-c", "trip", "7"]), 4);
    assert!(error.contains("was lost to damage before the store was salvaged"), "{error}");
    let node = support::success(&mut on(&store, "saved", &["expand", "-c", "trip", "8"]));
    assert!(node.contains("Remark number 8"), "{node}");
    let output = on(&store, "saved", &["doctor"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(4), "{shown}");
    assert!(shown.contains("nothing is damaged") && shown.contains("59 of 60"), "{shown}");
    // Nothing is put where something is.
    let error = support::failure(&mut store.hybrid(&["doctor", "--salvage", &store.path("saved")]), 1);
    assert!(error.contains("lies inside of a store"), "{error}");
}

#[test]
fn a_program_is_told_of_a_tail_that_was_cut() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    // Half of a frame stands behind the log, as after a crash. Zeros at its end would be room that was never written.
    let segment = store.path("store/log/0001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let torn = [whole.as_slice(), &whole[64..163], &[1]].concat();
    std::fs::write(&segment, &torn).unwrap();
    std::fs::remove_file(store.path("store/HORIZON")).unwrap();
    let more = store.file("late.jsonl", &support::messages(2));
    let output = store.command(&["--json", "import", "--format", "jsonl", &more]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let warnings: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [warning] = warnings.as_slice() else { panic!("{said}") };
    assert_eq!(warning["level"], "WARN");
    assert_eq!((&warning["offset"], &warning["bytes"]), (&whole.len().into(), &100.into()), "{said}");
    assert_eq!(warning["path"], segment);
    // Cut once, it is told of once.
    let output = store.command(&["--json", "verify"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_backup_is_verified_and_restored() {
    let store = store_of_two();
    let backup = store.path("backup");
    let first = store.json(&["backup", &backup]);
    assert_eq!(first["files"], first["copied"]);
    let again = store.json(&["backup", &backup]);
    assert_eq!(again["copied"], 0);
    assert!(store.succeed(&["backup", "--verify", &backup]).starts_with("verified 2 of 2 files, taken 2"));

    let restored = store.json(&["restore", &backup, &store.path("restored")]);
    assert_eq!((&restored["verified"], &restored["damage"]), (&60.into(), &Value::Array(Vec::new())));
    assert_eq!(root(&store, "restored", "trip"), root(&store, "store", "trip"));
    // Without --to, the store is made where --store says.
    let shown = support::success(&mut on(&store, "other", &["restore", &backup]));
    assert!(shown.lines().last().unwrap().starts_with("verified 60 of 60 nodes, root "), "{shown}");
    let error = support::failure(&mut on(&store, "other", &["restore", &backup]), 1);
    assert!(error.contains("give a directory that is empty"), "{error}");
    support::failure(&mut store.hybrid(&["restore", &store.path("nothing"), &store.path("new")]), 1);
    support::failure(&mut store.hybrid(&["backup", &store.path("store/cache/backup")]), 1);
}

#[test]
fn a_damaged_backup_exits_with_4_and_makes_no_store() {
    let store = store_of_two();
    let backup = store.path("backup");
    store.succeed(&["backup", &backup]);
    let files = fs::read_dir(store.path("backup/files")).unwrap().map(|entry| entry.unwrap().path());
    let segment = files.into_iter().find(|path| path.extension().is_some()).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[1_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let output = store.hybrid(&["--json", "backup", "--verify", &backup]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["damaged"][0]["path"], segment.to_str().unwrap());
    let error = store.fail(&["restore", &backup, &store.path("new")], 4);
    assert!(error.contains("hash does not match"), "{error}");
    assert!(!fs::exists(store.path("new")).unwrap());
    // A backup of a damaged store fails and leaves the earlier backup unchanged.
    damage(&store);
    let error = store.fail(&["backup", &backup], 4);
    assert!(error.contains("nothing was backed up"), "{error}");
}
