//! How a new user types: names first, no quotes, slips of the finger, groups alone.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::fs;

use crate::support::{self, Store, failure, memory, success};

/// Standard error of a command that succeeds.
fn noted(store: &Store, args: &[&str]) -> String {
    let output = store.command(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

/// A conversation of 60 messages with a view and summaries, and another.
fn two() -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", &file]);
    store.succeed(&["append", "-c", "hotel", "The river is near."]);
    store.succeed(&["context", "-c", "trip", "--budget", "900", "When does the train leave?"]);
    store
}

#[test]
fn the_first_word_names_the_conversation_where_there_is_one() {
    let store = two();
    let context = store.json(&["context", "trip", "which", "platform?"]);
    assert_eq!((&context["conversation"], &context["question"]), (&"trip".into(), &"which platform?".into()));
    assert!(store.fail(&["context", "which", "platform?"], 2).contains("say which"));
    let found = store.json(&["find", "hotel", "river"]);
    assert_eq!(found["conversations"], serde_json::json!(["hotel"]));
    assert!(noted(&store, &["find", "hotel", "river"]).contains("in `hotel`"), "a note says so");
    let found = store.json(&["search", "platform", "of", "the", "train"]);
    assert_eq!((&found["question"], &found["hits"][0]["node"]), (&"platform of the train".into(), &7.into()));
    assert_eq!(store.json(&["replay", "trip", "1"])["question"], "When does the train leave?");
    assert_eq!(store.json(&["list", "hotel"])["conversations"][0]["conversation"], "hotel");
    for args in [&["stats", "trip"][..], &["verify", "trip"], &["export", "trip"], &["browse", "trip", "--plain"]] {
        let usage = success(memory().args([args[0], "-h"]));
        assert!(usage.contains("[CONVERSATION]"), "{usage}");
        assert_eq!(store.succeed(args), store.succeed(&[&args[..1], &["-c", "trip"], &args[2..]].concat()), "{args:?}");
    }
    store.succeed(&["append", "trip", "I prefer window seats."]);
    let fact = store.json(&["facts", "trip"])["entries"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(store.json(&["facts", "disable", "trip", &fact])["id"], fact);
}

#[test]
fn a_text_is_appended_to_the_conversation_that_is_named_first_and_to_no_other() {
    let store = Store::new();
    store.succeed(&["append", "trip", "The train leaves."]);
    store.succeed(&["append", "And", "comes", "back."]);
    store.succeed(&["append", "trip", "It", "rains."]);
    let shown = store.succeed(&["show", "trip"]);
    for text in ["The train leaves.\n", "\nAnd comes back.\n", "\nIt rains.\n"] {
        assert!(shown.contains(text), "{shown}");
    }
    assert_eq!(store.json(&["append", "hotel", "Near the river."])["nodes"], 1, "a new name before a quoted text");
    assert!(store.fail(&["append", "to", "whom?"], 2).contains("say which"));
    store.succeed(&["set", "trip", "--title", "To the north", "--tag", "travel", "--pin", "2", "--important"]);
    let shown = store.succeed(&["set", "trip"]);
    assert_eq!(shown, "conversation: trip\ntitle: To the north\ntags: travel\nmarks: important\npinned: 2\n");
    store.succeed(&["title", "trip", "Over", "the", "mountains"]);
    assert_eq!(store.succeed(&["show", "mountains", "1"]), store.succeed(&["show", "trip", "1"]), "words of a title");
    let tagged = store.succeed(&["tag", "trip", "long", "term"]);
    assert_eq!(tagged, "long term\ntravel\n");
}

#[test]
fn nothing_is_appended_to_a_conversation_called_last() {
    let store = Store::new();
    let refused = store.fail(&["append", "-c", "last", "Hello."], 3);
    assert!(!refused.contains("begins with it"), "{refused}");
    store.succeed(&["append", "-c", "trip", "Hello."]);
    store.succeed(&["append", "-c", "last", "And again."]);
    let listed = store.succeed(&["list"]);
    assert!(listed.contains("trip") && !listed.contains("\nlast "), "{listed}");
    assert!(store.succeed(&["show", "last"]).contains("And again."));
}

#[test]
fn summaries_and_runs_are_opened_by_their_numbers() {
    let store = two();
    let summary = store.succeed(&["expand", "trip", "s1"]);
    assert!(summary.len() > 20 && summary == store.succeed(&["summaries", "trip", "s1"]), "{summary}");
    let run = store.succeed(&["expand", "trip", "5-7"]);
    assert_eq!(run, store.succeed(&["show", "trip", "5-7", "--whole"]));
    assert!(store.fail(&["expand", "trip", "s9999"], 3).contains("s9999"));
    store.fail(&["expand", "trip", "5-7", "--proof"], 2);
}

#[test]
fn a_group_without_a_command_shows_its_first_page() {
    let store = two();
    for (group, list) in [
        ("config", &["config", "show"][..]),
        ("retention", &["retention", "show"]),
        ("receipt", &["receipt", "list"]),
        ("model", &["model", "list"]),
        ("plugins", &["plugins", "list"]),
    ] {
        assert_eq!(store.succeed(&[group]), store.succeed(list), "{group}");
    }
    assert!(store.succeed(&["hook"]).contains("install"));
}

#[test]
fn a_wrong_word_suggests_what_may_be_meant() {
    for (word, expected) in
        [("serach", "'search'"), ("delete", "'erase'"), ("history", "'show'"), ("recall", "'context'")]
    {
        for args in [&[word][..], &["help", word]] {
            let said = failure(memory().args(args), 2);
            assert!(said.contains(expected), "{args:?}: {said}");
        }
    }
    let store = two();
    assert!(store.fail(&["show", "tirp"], 3).contains("nearest: `trip`"));
    assert!(!store.fail(&["show", "quarterly-taxes"], 3).contains("nearest"), "nothing is near");
}

#[test]
fn files_of_one_name_are_conversations_of_their_own() {
    let store = Store::new();
    let chat = |text: &str| format!("**User:** {text}\n\n**Assistant:** Yes, {text}\n");
    fs::create_dir_all(store.path("chats/sub")).unwrap();
    store.file("chats/cursor.md", &chat("the first"));
    store.file("chats/sub/cursor.md", &chat("the second"));
    store.succeed(&["import", &store.path("chats")]);
    let listed = store.succeed(&["list"]);
    assert!(listed.contains("cursor ") && listed.contains("sub-cursor "), "{listed}");
    let again = store.json(&["import", &store.path("chats")]);
    assert_eq!(again["conversations"][0]["new"], 0, "{again}");

    let line =
        |text: &str| format!("{{\"role\": \"user\", \"content\": \"{text}\", \"time\": \"2026-03-02T09:20:00Z\"}}\n");
    let file = store.file("trip.jsonl", &line("one"));
    store.succeed(&["import", &file]);
    store.file("trip.jsonl", &[line("one"), line("two")].concat());
    let grown = store.json(&["import", &file]);
    assert!(!support::codes(&grown).contains(&"other-file"), "{grown}");
    assert_eq!(grown["conversations"][0]["nodes"], 2);
    fs::create_dir_all(store.path("other")).unwrap();
    let other = store.file("other/trip.jsonl", &line("three"));
    assert_eq!(support::codes(&store.json(&["import", &other])), ["other-file"]);
    let named = store.file("other/trip.jsonl", &line("four"));
    assert!(support::codes(&store.json(&["import", "--as", "trip", &named])).is_empty(), "asked for");
    let unknown = store.file("x.json", "{\"log\": {\"role\": \"user\", \"content\": \"hi\"}}");
    assert!(store.fail(&["import", &unknown], 2).contains("in no format that this program recognizes"));
}

/// The limit counts hits with different words, and the one with a date stands for those of the same words.
#[test]
fn equal_words_are_one_hit() {
    let store = Store::new();
    for number in 0..6 {
        let at = if number == 3 { vec!["--at", "2026-03-02T09:20:00Z"] } else { Vec::new() };
        store.succeed(&[&["append", "-c", "trip"][..], &at, &["The night train leaves from platform 9."]].concat());
    }
    store.succeed(&["append", "-c", "trip", "A train needs a platform."]);
    let found = store.json(&["search", "--limit", "3", "train platform"]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{found}");
    let folded = hits.iter().find(|hit| hit["also"].as_array().unwrap().len() == 5);
    assert!(folded.is_some(), "{found}");
}

#[test]
fn limits_and_erasures_say_what_they_do() {
    let store = two();
    let set = noted(&store, &["retention", "set", "-c", "trip", "--messages", "10"]);
    assert!(set.contains("leave out 50 older messages of 1 conversation"), "{set}");
    store.succeed(&["retention", "set", "-c", "hotel", "--messages", "0"]);
    let none = noted(&store, &["search", "-c", "hotel", "river"]);
    assert!(none.contains("1 older message is over a limit"), "{none}");
    store.succeed(&["set", "hotel", "--title", "Near the river"]);
    let output = store.command(&["forget", "hotel"]).output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(shown.contains("title: Near the river") && shown.contains("The river is near."), "{shown}");
    assert!(said.contains("--yes") && !said.contains("Usage"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}
