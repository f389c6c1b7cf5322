//! `memory context --scope`: recall from several conversations, through the binary.

use std::fs;

use serde_json::Value;

use crate::support::{self, Store};

/// A message of a conversation, a minute after the one before.
fn said(number: u64, text: &str) -> String {
    let role = if number % 2 == 1 { "user" } else { "assistant" };
    let at = 1_700_000_000_000 + number * 60_000;
    format!("{}\n", serde_json::json!({"role": role, "content": text, "at": at}))
}

/// A conversation to ask in, and two others that know of the ferry.
fn three(owner: Option<&str>) -> Store {
    let store = Store::new();
    let ferry = said(1, "Which quay has the ferry?") + &said(2, "The ferry leaves from quay 31.");
    let rules = said(1, "The ferry takes no bicycles.");
    let owner = owner.map_or(vec![], |owner| vec!["--owner", owner]);
    for (name, text) in [("talk", support::messages(40)), ("trip", ferry), ("rules", rules)] {
        let file = store.file(&format!("{name}.jsonl"), &text);
        store.succeed(&[&owner[..], &["import", "--format", "jsonl", &file]].concat());
    }
    store
}

const ASK: [&str; 6] = ["context", "-c", "talk", "--budget", "900", "Where does the ferry leave, with bicycles?"];

fn ask<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ASK[..], more].concat()
}

#[test]
fn a_context_recalls_from_the_conversations_that_are_named_and_from_no_others() {
    let store = three(None);
    let alone = store.succeed(&ask(&[]));
    assert!(!alone.contains("ferry leaves") && alone == store.succeed(&ask(&["--scope", "this"])));
    let every = store.succeed(&ask(&["--scope", "all"]));
    assert!(every.contains("The ferry leaves from quay 31.") && every.contains("no bicycles"), "{every}");
    assert!(every.contains("[Conversation A]: id ") && every.contains("]: id trip, 2023-11-14"), "{every}");
    // The beginning of a name is enough, as elsewhere.
    let one = store.succeed(&ask(&["--scope", "tri"]));
    assert!(one.contains("quay 31") && !one.contains("no bicycles"), "{one}");
    assert_eq!(store.succeed(&ask(&["--scope", "trip", "--scope", "rules"])), every);

    let json = store.json(&ask(&["--scope", "trip"]));
    let pieces = json["pieces"].as_array().unwrap();
    let found = pieces.iter().find(|piece| piece["conversation"] == "trip").unwrap();
    assert_eq!((found["kind"].as_str(), found["id"].as_str().unwrap().ends_with(" of trip")), (Some("recalled"), true));
    assert!(pieces.iter().all(|piece| ["trip".into(), Value::Null].contains(&piece["conversation"])), "{json}");
    assert!(json["tokens"].as_u64() <= Some(900), "{json}");
    let explained = store.succeed(&ask(&["--scope", "trip", "--explain"]));
    assert!(explained.contains("2 of trip"), "{explained}");
    let messages = store.succeed(&ask(&["--scope", "trip", "--messages"]));
    assert!(messages.contains("[Conversation A]: id trip"), "{messages}");

    store.fail(&ask(&["--scope", "nobody"]), 3);
    store.fail(&ask(&["--scope", "t"]), 3);
    store.fail(&ask(&["--scope", "all", "--scope", "trip"]), 2);
    store.fail(&["context", "-c", "talk", "--as-of", "40", "--scope", "all"], 2);
}

#[test]
fn what_was_shown_of_several_conversations_is_shown_again_byte_for_byte() {
    let store = three(None);
    let shown = store.succeed(&ask(&["--scope", "all"]));
    let check = |store: &Store| {
        assert_eq!(store.succeed(&["context", "-c", "talk", "--as-of", "40"]), shown);
        assert_eq!(store.succeed(&["replay", "-c", "talk", "1"]), shown);
        assert_eq!(
            store.succeed(&["replay", "-c", "talk", "--check"]).trim_end(),
            "talk: 1 of 1 views are what was shown"
        );
    };
    check(&store);
    let more = store.file("trip-more.jsonl", &said(3, "The ferry was late."));
    store.succeed(&["import", "--format", "jsonl", "-c", "trip", &more]);
    fs::remove_dir_all(store.path("store/cache")).unwrap();
    store.succeed(&["vacuum", "--seal", "--compress"]);
    check(&store);
    store.succeed(&["backup", &store.path("backup")]);
    fs::remove_dir_all(store.path("store")).unwrap();
    store.succeed(&["restore", &store.path("backup")]);
    check(&store);
    let listed = store.json(&["replay", "-c", "talk"]);
    let elsewhere = listed["views"][0]["elsewhere"].as_array().unwrap();
    assert!(elsewhere.iter().any(|other| other["conversation"] == "trip"), "{listed}");
}

#[test]
fn a_message_of_another_conversation_that_is_gone_is_named() {
    let store = three(None);
    // The message has a frame of its own: damage to the first frame would lose the whole conversation.
    let more = store.file("more.jsonl", &said(3, "Another ferry leaves from quay 55."));
    store.succeed(&["import", "--format", "jsonl", "-c", "trip", &more]);
    // Another message follows, because a loss at the very end of a log is not detected.
    let last = store.file("last.jsonl", &said(4, "Good night."));
    store.succeed(&["import", "--format", "jsonl", "-c", "trip", &last]);
    assert!(store.succeed(&ask(&["--scope", "trip"])).contains("quay 55"));
    store.flip("Another ferry leaves from quay 55.");
    let error = store.fail(&["replay", "-c", "talk", "1"], 4);
    assert!(error.contains("of `trip`: messages 3 are gone"), "{error}");
}

#[test]
fn a_context_of_one_owner_shows_nothing_of_another() {
    let store = three(Some("ana"));
    let his = store.file("his.jsonl", &said(1, "My ferry leaves from quay 77."));
    store.succeed(&["--owner", "ben", "import", "--format", "jsonl", &his]);
    let nobodys = store.file("nobodys.jsonl", &said(1, "A ferry leaves from quay 88."));
    store.succeed(&["import", "--format", "jsonl", &nobodys]);
    // Also for who administers the store.
    for owner in [&["--owner", "ana"][..], &[]] {
        let every = store.succeed(&[owner, &ask(&["--scope", "all"])[..]].concat());
        assert!(every.contains("quay 31") && !every.contains("quay 77") && !every.contains("quay 88"), "{every}");
        let refused = store.fail(&[owner, &ask(&["--scope", "his"])[..]].concat(), 3);
        assert!(refused.contains("no conversation `his`") && !refused.contains("ben"), "{refused}");
    }
}

#[test]
fn a_conversation_that_just_fits_leaves_room_for_the_answer_of_another() {
    let store = three(None);
    let full = store.json(&["context", "-c", "talk", "--no-record", "--budget", "100000", "Which quay has the ferry?"]);
    let tokens = full["tokens"].as_u64().unwrap();
    for beside in [0, 1, 20, 60, 200] {
        let budget = (tokens + beside).to_string();
        let args = [
            "context",
            "-c",
            "talk",
            "--no-record",
            "--scope",
            "all",
            "--budget",
            &budget,
            "Which quay has the ferry?",
        ];
        let shown = store.json(&args);
        assert!(shown["text"].as_str().unwrap().contains("The ferry leaves from quay 31."), "{budget}: {shown}");
        assert!(shown["tokens"].as_u64().unwrap() <= tokens + beside);
    }
    // Alone it is still shown word for word.
    let alone = store.json(&[
        "context",
        "-c",
        "talk",
        "--no-record",
        "--budget",
        &(tokens + 64).to_string(),
        "Which quay has the ferry?",
    ]);
    assert_eq!(alone["text"], full["text"]);
}

#[test]
fn of_a_long_message_of_another_conversation_a_part_is_recalled() {
    let store = three(None);
    let long = said(1, &format!("The ferry leaves from quay 31. {}", "It is a long way to the quay. ".repeat(200)));
    let file = store.file("long.jsonl", &long);
    let ends = store.file("talk.jsonl", &support::messages(12));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["import", "--format", "jsonl", "-c", "mine", &ends]);
    let args =
        ["context", "-c", "mine", "--no-record", "--scope", "long", "--budget", "700", "Which quay has the ferry?"];
    let shown = store.json(&args);
    assert!(shown["tokens"].as_u64().unwrap() <= 700 && shown["text"].as_str().unwrap().contains("quay 31"), "{shown}");
}
