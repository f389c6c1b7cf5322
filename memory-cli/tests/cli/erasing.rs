//! `memory erase`: exit codes, what is said of what is erased, and what an import does not bring back.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use crate::support::{self, Store};

fn trip() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(12));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

#[test]
fn a_slip_is_an_error_and_erases_nothing() {
    let store = trip();
    let error = store.fail(&["erase", "-c", "trip", "999", "--yes"], 3);
    assert!(error.contains("node 999 not found"), "{error}");
    for pattern in ["a(", "[z-a]", "x{9999999}"] {
        let error = store.fail(&["erase", "--matching", pattern, "--yes"], 2);
        assert!(error.lines().next().is_some_and(|line| line.contains("is not a regular expression: ")), "{error}");
    }
    assert_eq!(store.json(&["verify"])["erased"], 0);
}

#[test]
fn erased_conversations_and_messages_are_said() {
    let store = trip();
    store.succeed(&["append", "-c", "other", "The code is zebra."]);
    store.succeed(&["erase", "-c", "trip", "3-4", "--yes"]);
    assert!(store.succeed(&["doctor"]).contains("whole: "), "and erased ones are not lost");
    assert!(store.succeed(&["doctor"]).contains(", 2 erased"));
    assert_eq!(store.json(&["doctor"])["erased"], 2);
    store.succeed(&["forget", "other", "--yes"]);
    let listed = store.succeed(&["list"]);
    let of =
        |name: &str| listed.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default().to_owned();
    assert!(of("other").contains("(erased)") && !of("trip").contains("(erased)"), "{listed}");
}

#[test]
fn an_erasure_that_waits_for_its_backup_is_said_by_every_look_at_the_store() {
    let store = trip();
    let backup = support::lost_backup(&store);
    store.fail(&["erase", "-c", "trip", "3", "--yes", "--backup", &backup], 1);
    for command in ["list", "verify"] {
        let answer = store.json(&[command]);
        assert_eq!(support::codes(&answer), ["erasure-pending"], "{answer}");
    }
    assert!(store.fail(&["doctor"], 1).contains("around it"), "it is not as it should be");
    let waits = format!("waits for the backup in {backup}");
    let looked = store.command(&["doctor"]).output().unwrap();
    for said in [String::from_utf8(looked.stdout).unwrap(), store.succeed(&["vacuum"])] {
        assert!(said.contains("of 1 message was begun") && said.contains(&waits), "{said}");
    }
    let open = store.json(&["vacuum"])["open_erasures"][0].clone();
    assert_eq!((open["messages"].clone(), open["waits_for"][0].clone()), (1.into(), backup.as_str().into()), "{open}");
    assert!(store.fail(&["backup", &store.path("other")], 4).contains(&waits));
    std::fs::remove_file(format!("{backup}/files")).unwrap();
    std::fs::rename(store.path("away"), format!("{backup}/files")).unwrap();
    store.succeed(&["vacuum"]);
    assert!(support::codes(&store.json(&["list"])).is_empty());
    store.succeed(&["doctor"]);
}

#[test]
fn what_was_erased_does_not_come_back_under_another_name() {
    let store = Store::new();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let file = store.file("codes.jsonl", &(line("The code is zebra.") + &line("Noted, thank you.")));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["erase", "-c", "codes", "1", "--yes"]);
    let again = store.json(&["import", "--format", "jsonl", "--as", "copy", &file]);
    assert!(support::codes(&again).contains(&"erased"), "{again}");
    assert_eq!(store.json(&["list"])["conversations"].as_array().unwrap().len(), 2);
    assert!(store.json(&["find", "zebra"])["matches"].as_array().unwrap().is_empty());
    // Whoever asks for it gets it back.
    store.succeed(&["import", "--format", "jsonl", "--again", "--as", "wanted", &file]);
    assert_eq!(store.json(&["find", "zebra"])["matches"].as_array().unwrap().len(), 1);

    store.succeed(&["forget", "codes", "--yes"]);
    let all = store.json(&["import", "--format", "jsonl", "--as", "nothing", &file]);
    assert_eq!(all["conversations"][0]["new"], 0, "{all}");
}

#[test]
fn a_backup_that_is_lost_is_given_up_and_the_receipt_says_so() {
    let store = trip();
    let backup = support::lost_backup(&store);
    store.fail(&["erase", "-c", "trip", "3", "--yes", "--backup", &backup], 1);
    assert!(store.fail(&["backup", "--lost", &store.path("elsewhere")], 3).contains("no erasure waits"));
    let given_up = store.json(&["backup", "--lost", &backup]);
    assert_eq!(given_up["receipts"][0]["abandoned"][0], backup.as_str(), "{given_up}");
    assert!(store.json(&["vacuum"])["open_erasures"].as_array().unwrap().is_empty());
    assert!(store.succeed(&["receipt", "show"]).contains("said to be lost"));
    store.succeed(&["receipt", "verify"]);
    store.succeed(&["backup", &store.path("next")]);
}

#[test]
fn an_owner_erases_from_a_backup_and_the_operator_sees_every_receipt() {
    let store = Store::new();
    let backup = store.path("backup");
    for owner in ["ana", "ben"] {
        let talk = format!("talk-of-{owner}");
        store.succeed(&["--owner", owner, "append", "-c", &talk, &format!("{owner}quaggaword is a secret.")]);
    }
    store.succeed(&["backup", &backup]);
    store.succeed(&["--owner", "ana", "erase", "--all", "--yes", "--backup", &backup]);
    let files = |word: &str| holding(std::path::Path::new(&backup), word);
    assert!(files("anaquaggaword").is_empty() && !files("benquaggaword").is_empty());
    store.succeed(&["--owner", "ben", "erase", "-c", "talk-of-ben", "1", "--yes"]);
    let receipts = |args: &[&str]| store.json(args)["receipts"].as_array().unwrap().clone();
    let owners: Vec<_> = receipts(&["receipt", "list"]).iter().map(|one| one["owner"].clone()).collect();
    assert_eq!(owners, ["ben", "ana"], "the last one first");
    assert_eq!(receipts(&["--owner", "ana", "receipt", "list"]).len(), 1);
    let id = receipts(&["--owner", "ana", "receipt", "list"])[0]["id"].as_str().unwrap().to_owned();
    store.succeed(&["receipt", "verify", &id]);
    store.fail(&["--owner", "ben", "receipt", "show", &id], 3);
    assert!(store.succeed(&["receipt", "list"]).contains("1 message of 1 conversation of ben, clean"));
}

/// Files below a directory that hold a word.
fn holding(directory: &std::path::Path, word: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(holding(&path, word));
        } else if std::fs::read(&path).unwrap().windows(word.len()).any(|bytes| bytes == word.as_bytes()) {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_key_of_an_erased_message_is_answered_as_such() {
    let store = Store::new();
    let append = ["append", "-c", "trip", "--key", "k1", "The code is zebra."];
    store.succeed(&append);
    store.succeed(&["append", "-c", "trip", "Hello"]);
    store.succeed(&["erase", "-c", "trip", "1", "--yes"]);
    let said = store.command(&append).output().unwrap();
    assert!(String::from_utf8(said.stderr).unwrap().contains("had this key and was erased: nothing was appended"));
    assert_eq!(store.json(&append)["erased"], true);
}

#[test]
fn what_was_erased_is_counted_apart_from_what_was_there() {
    let store = Store::new();
    let lines = support::messages(60);
    let file = store.file("trip.jsonl", &lines);
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["erase", "-c", "trip", "1-3", "--yes"]);
    let again = store.json(&["import", "--format", "jsonl", &file]);
    let said: Vec<_> = again["notices"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(said.iter().any(|text| text.contains("had 57 of 60 messages before; appended: 0")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("3 messages of `trip` were erased here")), "{said:?}");
}

#[test]
fn policies_of_retention_are_of_a_store_an_owner_a_conversation_or_a_tag() {
    let store = Store::new();
    for (owner, talk) in [("ana", "hers"), ("ana", "tagged"), ("ben", "his")] {
        for number in 1..=6 {
            let at = format!("2024-0{number}-01T10:00:00Z");
            let text = format!("Message {number} of {talk}: quagga{number}.");
            store.succeed(&["--owner", owner, "append", "-c", talk, "--at", &at, &text]);
        }
    }
    let found = |word: &str| {
        let hits = store.json(&["search", "--limit", "50", word]);
        let hit = |hit: &serde_json::Value| format!("{} {}", hit["conversation"].as_str().unwrap(), hit["node"]);
        hits["hits"].as_array().unwrap().iter().map(hit).collect::<std::collections::BTreeSet<_>>()
    };
    let all = found("quagga2 quagga5");
    assert_eq!(all.iter().filter(|hit| hit.ends_with(" 2")).count(), 3, "{all:?}");
    // Newer messages alone are found of one conversation, and of all of an owner.
    store.succeed(&["retention", "set", "-c", "hers", "--messages", "2"]);
    store.succeed(&["--owner", "ben", "retention", "set", "--messages", "3"]);
    store.fail(&["--owner", "ben", "retention", "set", "--of", "ana", "--messages", "3"], 1);
    let few = found("quagga2 quagga5");
    assert!(!few.contains("hers 2") && !few.contains("his 2") && few.contains("tagged 2"), "{few:?}");
    assert!(few.contains("hers 5") && few.contains("his 5"), "{few:?}");
    assert!(store.succeed(&["expand", "-c", "hers", "2"]).contains("quagga2"), "it is kept");
    let policies = store.json(&["retention", "show"]);
    assert_eq!(policies["policies"].as_array().unwrap().len(), 2, "{policies}");
    assert_eq!(store.json(&["--owner", "ben", "retention", "show"])["policies"].as_array().unwrap().len(), 1);
    // What is older than its days goes where the policy says so.
    store.succeed(&["--owner", "ana", "tag", "tagged", "--add", "short"]);
    store.succeed(&["retention", "set", "--tag", "short", "--days", "30", "--erase"]);
    let planned = store.json(&["retention", "run", "--dry-run"]);
    assert_eq!(planned["plan"]["conversations"][0]["messages"], 6, "{planned}");
    assert!(store.succeed(&["expand", "-c", "tagged", "2"]).contains("quagga2"), "nothing went yet");
    let ran = store.json(&["retention", "run"]);
    assert_eq!(ran["receipt"]["conversations"][0]["conversation"], "tagged", "{ran}");
    assert_eq!(ran["evicted"].as_array().unwrap().len(), 2, "{ran}");
    assert!(store.succeed(&["expand", "-c", "tagged", "2"]).contains("[erased]"));
    assert!(store.json(&["find", "of tagged"])["matches"].as_array().unwrap().is_empty());
    store.succeed(&["receipt", "verify"]);
    assert!(store.json(&["retention", "run"]).get("receipt").is_none_or(serde_json::Value::is_null), "once is enough");
    // Without a limit it ends, and evicted messages are found again.
    store.succeed(&["retention", "set", "-c", "hers"]);
    assert!(found("quagga2 quagga5").contains("hers 2"));
}
