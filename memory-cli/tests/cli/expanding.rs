//! Single messages and conversations, as they are named on the command line.

use std::fs;

use serde_json::Value;

use crate::support::{self, Store};

/// `expand` prints the words of the file for a message of any level.
#[test]
fn a_message_is_expanded_exactly_from_any_level() {
    let store = Store::new();
    let lines = support::messages(300);
    let file = store.file("trip.jsonl", &lines);
    store.succeed(&["import", "--format", "jsonl", &file]);
    // A small budget makes ARCHIVEs, too.
    store.succeed(&["context", "--budget", "700", "What was decided?"]);
    let said: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for level in ["full", "summary", "meta", "archive"] {
        let page = store.json(&["browse", "--level", level, "--limit", "1000"]);
        let entries = page["entries"].as_array().unwrap();
        let first = entries.first().unwrap_or_else(|| panic!("nothing at level {level}"));
        let node = first["nodes"][0].as_u64().unwrap();
        let shown = store.json(&["expand", &node.to_string()]);
        let content = &said[usize::try_from(node - 1).unwrap()]["content"];
        assert_eq!(&shown["message"]["content"], content, "{level}");
    }
}

#[test]
fn a_message_is_shown_with_every_digit_of_its_numbers() {
    let store = Store::new();
    let call = r#"{"type":"tool_use","id":"t","name":"add","input":{"n":12345678901234567890.5,"m":[1e400,1.50]}}"#;
    let line = format!(
        r#"{{"role":"assistant","content":[{call}],"metadata":{{"order":98765432109876543210,"timestamp":1712345678.12345678901}}}}"#
    );
    let file = store.file("add.jsonl", &line);
    store.succeed(&["import", "--format", "jsonl", &file]);
    for command in [["show", "add"], ["expand", "1"]] {
        let shown = store.succeed(&[&command[..], &["--json"]].concat());
        let numbers = ["12345678901234567890.5", "1e400", "1.50", "98765432109876543210", "1712345678.12345678901"];
        assert!(numbers.iter().all(|number| shown.contains(number)), "{command:?}: {shown}");
    }
}

#[test]
fn a_name_may_be_shortened_while_it_is_unique() {
    let store = Store::new();
    for name in ["trip-north", "trip-south", "work", "work-2"] {
        let file = store.file(&format!("{name}.jsonl"), &support::messages(3));
        store.succeed(&["import", "--format", "jsonl", "--conversation", name, &file]);
        fs::remove_file(file).unwrap();
    }
    let conversation =
        |beginning: &str| store.json(&["stats", "-c", beginning])["conversations"][0]["conversation"].clone();
    assert_eq!(conversation("trip-n"), "trip-north");
    assert_eq!(conversation("work-"), "work-2");
    assert_eq!(conversation("work"), "work", "a whole name is itself, also where another begins with it");
    let refused = store.fail(&["stats", "-c", "trip"], 3);
    assert!(refused.contains("`trip` may mean 2 conversations: `trip-north`, `trip-south`"), "{refused}");
}
