//! Proofs, from the store that makes them to the reader who has none.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Store, failure, memory, messages};

/// A reader without a store: nothing but the proof is there.
struct Reader(TempDir);

impl Reader {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, document: &str, args: &[&str]) -> Command {
        fs::write(self.0.path().join("proof.json"), document).unwrap();
        let mut command = memory();
        command.current_dir(self.0.path()).env("HOME", self.0.path()).env("XDG_DATA_HOME", self.0.path());
        command.args(["verify-proof", "proof.json"]).args(args);
        command
    }

    fn succeed(&self, document: &str, args: &[&str]) -> String {
        let output = self.command(document, args).output().unwrap();
        assert!(output.status.success(), "{document}: {}", String::from_utf8_lossy(&output.stderr));
        let left: Vec<_> = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["proof.json"], "checking a proof makes no store");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fail(&self, document: &str, args: &[&str], code: i32) -> String {
        failure(&mut self.command(document, args), code)
    }
}

fn grow(store: &Store, count: usize) -> String {
    let file = store.file("trip.jsonl", &messages(count));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let verified = store.json(&["verify", "--conversation", "trip"]);
    assert_eq!((&verified["nodes"], &verified["verified"]), (&count.into(), &count.into()));
    verified["root"].as_str().unwrap().to_owned()
}

fn changed(document: &str, pointer: &str, value: Value) -> String {
    let mut document: Value = serde_json::from_str(document).unwrap();
    *document.pointer_mut(pointer).unwrap() = value;
    document.to_string()
}

/// Another digit in the place of the first.
fn tampered(document: &str, pointer: &str) -> String {
    let read: Value = serde_json::from_str(document).unwrap();
    let hex = read.pointer(pointer).unwrap().as_str().unwrap();
    let digit = if hex.starts_with('0') { '1' } else { '0' };
    changed(document, pointer, format!("{digit}{}", &hex[1..]).into())
}

#[test]
fn a_message_is_proven_to_a_reader_without_the_store() {
    let (store, reader) = (Store::new(), Reader::new());
    let root = grow(&store, 60);
    let proof = store.succeed(&["expand", "7", "--conversation", "tr", "--proof"]);
    assert_eq!(proof, store.succeed(&["--json", "expand", "7", "--proof"]), "JSON with --json and without");

    let said = reader.succeed(&proof, &[]);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "the proof holds: node 7 of the 60 of `trip`, under the root");
    assert_eq!(lines[1].trim(), root);
    assert_eq!(lines[2], "is what user said at 2023-11-14T22:20:20Z:");
    assert_eq!(lines[3], "The train leaves at 7:42 from platform 9.");
    assert_eq!(reader.succeed(&proof, &["--root", &root, "--nodes", "60"]), said);
    let json: Value = serde_json::from_str(&reader.succeed(&proof, &["--json", "--root", &root])).unwrap();
    assert_eq!((&json["holds"], &json["node"], &json["nodes"]), (&true.into(), &7.into(), &60.into()));
    assert_eq!((&json["root"], &json["text"]), (&root.as_str().into(), &lines[3].into()));

    let later = grow(&store, 61);
    assert!(reader.fail(&proof, &["--root", &later], 4).contains("not about"), "an old proof, a new root");
    assert!(reader.fail(&proof, &["--root", &root, "--nodes", "59"], 4).contains("over 59 nodes"));
    reader.succeed(&proof, &["--root", &root]);
    reader.fail(&proof, &["--root", "abc"], 2);
    reader.fail(&proof, &["--nodes", "60"], 2);
}

#[test]
fn nothing_before_was_changed_is_proven_after_more_was_said() {
    let (store, reader) = (Store::new(), Reader::new());
    let roots = [1, 24, 40, 63].map(|count| (count, grow(&store, count)));
    let (_, now) = &roots[3];
    for (count, root) in &roots {
        let proof = store.succeed(&["prove", "--conversation", "trip", "--from", root]);
        assert_eq!(proof, store.succeed(&["--json", "prove", "--from", root]));
        let said = reader.succeed(&proof, &[]);
        let lines: Vec<_> = said.lines().map(str::trim).collect();
        assert_eq!(lines[0], format!("the proof holds: the {count} nodes of `trip` under the root"));
        assert_eq!(lines[2], "are, unchanged and in their places, the first of the 63 under the root");
        assert_eq!((lines[1], lines[3]), (root.as_str(), now.as_str()));
        reader.succeed(&proof, &["--root", root, "--nodes", &count.to_string()]);
        reader.succeed(&proof, &["--root", now, "--nodes", "63"]);
    }
    let proof = store.succeed(&["prove", "--from", &roots[1].1]);
    assert!(reader.fail(&proof, &["--root", &roots[2].1], 4).contains("not about"));
    let json: Value = serde_json::from_str(&reader.succeed(&proof, &["--json"])).unwrap();
    assert_eq!((&json["holds"], &json["from"]["nodes"], &json["to"]["nodes"]), (&true.into(), &24.into(), &63.into()));
}

#[test]
fn a_root_that_never_was_is_said_to_be_none() {
    let store = Store::new();
    let root = grow(&store, 5);
    let other = store.file("other.jsonl", &messages(5));
    store.succeed(&["import", "--format", "jsonl", &other]);
    let error = store.fail(&["prove", "--conversation", "other", "--from", &root], 3);
    assert!(error.contains("`other` has 5 nodes and at none of them had the root"), "{error}");
    let everything = store.json(&["verify"]);
    assert_eq!(everything["conversations"].as_array().unwrap().len(), 2);
    store.fail(&["prove", "--conversation", "trip", "--from", everything["root"].as_str().unwrap()], 3);
    let nothing = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    assert!(store.fail(&["prove", "--conversation", "trip", "--from", nothing], 2).contains("nothing to prove"));
    store.fail(&["prove", "--conversation", "nowhere", "--from", &root], 3);
    store.fail(&["prove", "--from", &root], 2);
    store.fail(&["expand", "6", "--conversation", "trip", "--proof"], 3);
}

#[test]
fn tampered_documents_are_refused() {
    let (store, reader) = (Store::new(), Reader::new());
    let earlier = grow(&store, 11);
    grow(&store, 37);
    let message = store.succeed(&["expand", "7", "--proof"]);
    let history = store.succeed(&["prove", "--from", &earlier]);

    let words = changed(&message, "/message/content", "The train leaves at 7:43 from platform 9.".into());
    let error = reader.fail(&words, &[], 4);
    assert!(error.contains("the proof does not hold: the path leads to the root"), "{error}");
    for document in [
        changed(&message, "/message/role", "assistant".into()),
        changed(&message, "/at", "2023-11-14T22:20:21Z".into()),
        changed(&message, "/node", 8.into()),
        changed(&message, "/nodes", 7.into()),
        changed(&message, "/path", json!([])),
        tampered(&message, "/salt"),
        tampered(&message, "/root"),
        tampered(&message, "/path/2"),
        changed(&history, "/from/nodes", 12.into()),
        changed(&history, "/path", json!([])),
        tampered(&history, "/from/root"),
        tampered(&history, "/to/root"),
        tampered(&history, "/path/1"),
    ] {
        assert!(reader.fail(&document, &[], 4).contains("does not hold"), "{document}");
    }
    // With a root of its own, a forged document may hold; it is not about the root that the reader trusts.
    let mut roots = error.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64);
    let forged = changed(&words, "/root", roots.next().unwrap().into());
    let believed = reader.succeed(&forged, &[]);
    assert!(believed.contains("7:43"), "{believed}");
    let verified = store.json(&["verify"]);
    assert!(reader.fail(&forged, &["--root", verified["root"].as_str().unwrap()], 4).contains("not about"));
}

#[test]
fn what_is_no_proof_is_said_to_be_none() {
    let (store, reader) = (Store::new(), Reader::new());
    grow(&store, 3);
    let whole = store.succeed(&["expand", "2", "--proof"]);
    let check = |document: &str, why: &str| {
        let error = reader.fail(document, &[], 1);
        assert!(error.contains("proof.json is not a proof") && error.contains(why), "{error}");
    };
    check("", "EOF");
    check("[]", "proof: expected an object");
    check(&store.succeed(&["--json", "expand", "2"]), "format: missing");
    check(&changed(&whole, "/format", 2.into()), "use a newer version");
    check(&changed(&whole, "/salt", "abc".into()), "salt: a salt is 32 hexadecimal digits");
    check(&changed(&whole, "/proof", "\u{1b}[2J".into()), "\\u{1b}[2J");
    let error = failure(memory().args(["verify-proof", &store.path("nowhere.json")]), 1);
    assert!(error.contains("cannot read") && error.contains("nowhere.json"), "{error}");
    let error = failure(reader.command("{", &["--json"]).stdout(Stdio::null()), 1);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!(error["exit_code"], 1);
}

#[test]
fn a_proof_is_read_from_standard_input() {
    let store = Store::new();
    grow(&store, 9);
    let proof = store.succeed(&["expand", "7", "--proof"]);
    let mut command = memory();
    command.args(["verify-proof", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(proof.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("platform 9"));
}

#[test]
fn verify_prints_the_root_of_each_conversation_whole() {
    let store = Store::new();
    let trip = grow(&store, 8);
    let file = store.file("other-with-a-name-that-makes-the-table-wide.jsonl", &messages(5));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let shown = store.succeed(&["verify"]);
    assert!(shown.contains(&format!("{trip}  8 of 8  trip\n")) && shown.contains("  5 of 5  other-"), "{shown}");
    let all = store.json(&["verify"]);
    for (conversation, nodes) in [(0, 5), (1, 8)] {
        let one = &all["conversations"][conversation];
        assert_eq!((&one["nodes"], &one["verified"]), (&nodes.into(), &nodes.into()));
        assert!(shown.contains(one["root"].as_str().unwrap()), "{shown}");
    }
    let last = shown.lines().last().unwrap();
    assert_eq!(last, format!("verified 13 of 13 nodes, root {}", all["root"].as_str().unwrap()));
    let one = store.succeed(&["verify", "--conversation", "trip"]);
    assert_eq!(one.trim_end(), format!("verified 8 of 8 nodes, root {trip}"));
}
