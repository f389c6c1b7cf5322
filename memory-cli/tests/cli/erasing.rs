//! `memory erase`: exit codes, what is said of what is erased, and what an import does not bring back.

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
    let backup = store.path("backup");
    store.succeed(&["backup", &backup]);
    std::fs::rename(format!("{backup}/files"), store.path("away")).unwrap();
    std::fs::write(format!("{backup}/files"), "").unwrap();
    store.fail(&["erase", "-c", "trip", "3", "--yes", "--backup", &backup], 1);
    for command in ["list", "verify"] {
        let answer = store.json(&[command]);
        assert_eq!(support::codes(&answer), ["erasure-pending"], "{answer}");
    }
    assert!(store.fail(&["doctor"], 1).contains("around it"), "it is not as it should be");
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
