//! Conversations that people come back to, through the binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use serde_json::{Value, json};

use crate::support::{self, Store, messages};

/// Appends messages of the user and the model in turns, an hour apart on a day of May 2023.
fn say(store: &Store, conversation: &str, day: u32, texts: &[&str]) {
    for (index, text) in texts.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        let at = format!("2023-05-{day:02}T{:02}:00:00Z", 8 + index);
        store.succeed(&["append", "-c", conversation, "--role", role, "--at", &at, text]);
    }
}

const TRIP: [&str; 4] = [
    "Hi! Can you help me plan a trip to Rome? The goal is a quiet week without a car.",
    "Gladly. The Aventino hotel is quiet.",
    "We decided to stay at the Aventino hotel. What does the night train cost?",
    "I don't know yet, let me check.",
];

fn store() -> Store {
    let store = Store::new();
    say(&store, "7f3a-trip", 1, &TRIP);
    say(&store, "7f3b", 3, &["Which train goes to Oslo?", "The one at 7:42."]);
    store
}

fn ids(list: &Value) -> Vec<&str> {
    list["conversations"].as_array().unwrap().iter().map(|one| one["conversation"].as_str().unwrap()).collect()
}

#[test]
fn a_conversation_is_named_by_last_its_beginning_or_its_title_in_every_command() {
    let store = store();
    let node = |name: &str| store.json(&["expand", "-c", name, "1"])["conversation"].clone();
    assert_eq!(node("last"), "7f3b");
    assert_eq!(node("7f3a"), "7f3a-trip");
    assert_eq!(node("plan a trip to rome"), "7f3a-trip");
    assert_eq!(store.json(&["show", "Which train"])["conversation"], "7f3b");
    let error = store.fail(&["show", "7f3"], 3);
    assert!(error.contains("`7f3` may mean 2 conversations: `7f3a-trip`, `7f3b`"), "{error}");
    let error = store.fail(&["show", "a trip to nowhere"], 3);
    assert!(error.contains("no conversation is meant by `a trip to nowhere`"), "{error}");
    store.succeed(&["title", "7f3b", "Norway"]);
    assert_eq!(node("norway"), "7f3b");
}

#[test]
fn titles_that_nobody_set_are_derived_and_shown_as_such() {
    let store = store();
    let list = store.json(&["list"]);
    assert_eq!(ids(&list), ["7f3b", "7f3a-trip"]);
    assert_eq!(list["conversations"][1]["title"], "Plan a trip to Rome");
    assert_eq!(list["conversations"][1]["title_derived"], true);
    assert!(store.succeed(&["list"]).contains("[Plan a trip to Rome]"));
    store.succeed(&["title", "7f3a", "Rome"]);
    let title = store.json(&["title", "7f3a"]);
    assert_eq!((&title["conversation"], &title["title"]), (&json!("7f3a-trip"), &json!("Rome")));
    assert_eq!(title["title_derived"], false);
    assert!(store.succeed(&["list"]).contains(" Rome "));
    assert_eq!(store.json(&["title", "7f3a", ""])["title_derived"], true);
}

#[test]
fn marks_are_set_shown_and_taken_back_and_are_no_tags() {
    let store = store();
    store.succeed(&["tag", "7f3a", "--add", "travel"]);
    let marks = store.json(&["mark", "7f3a", "important"]);
    assert_eq!((&marks["conversation"], &marks["important"]), (&json!("7f3a-trip"), &json!(true)));
    assert_eq!((&marks["archived"], &marks["tags"]), (&json!(false), &json!(["travel"])));
    assert_eq!(store.succeed(&["tag", "7f3a"]), "travel\n");
    assert_eq!(ids(&store.json(&["list", "--important"])), ["7f3a-trip"]);
    assert_eq!(store.succeed(&["mark", "7f3a"]), "important\n");
    let error = store.fail(&["tag", "7f3a", "--add", "memory:archived"], 2);
    assert!(error.contains("`memory mark` sets them"), "{error}");
    store.fail(&["mark", "7f3a", "starred"], 2);
    store.succeed(&["mark", "7f3a", "important", "--off"]);
    assert_eq!(ids(&store.json(&["list", "--important"])), [""; 0]);
}

#[test]
fn an_archived_conversation_leaves_the_list_and_is_found_as_before() {
    let store = store();
    store.succeed(&["mark", "last", "archived"]);
    let list = store.json(&["list"]);
    assert_eq!((ids(&list), list["archived"].as_u64()), (vec!["7f3a-trip"], Some(1)));
    assert_eq!(ids(&store.json(&["list", "--archived"])), ["7f3b", "7f3a-trip"]);
    assert_eq!(store.json(&["resume"])["conversation"], "7f3a-trip");
    assert_eq!(store.json(&["search", "Which train goes to Oslo?"])["hits"][0]["conversation"], "7f3b");
    // Marks are in an export, too.
    let export = store.path("oslo.export");
    store.succeed(&["export", "-c", "7f3b", "-o", &export]);
    let other = Store::new();
    other.succeed(&["import", &export]);
    assert_eq!(ids(&other.json(&["list"])), [""; 0]);
}

#[test]
fn a_resumed_conversation_says_where_it_stood() {
    let store = store();
    let text = store.succeed(&["resume", "7f3a"]);
    for said in [
        "Where \"Plan a trip to Rome\" (7f3a-trip) stood after 4 messages, the last of Monday 2023-05-01, 11:00:",
        "Goal: The goal is a quiet week without a car. (message 1, user, 2023-05-01)",
        "Decided:\n- We decided to stay at the Aventino hotel. (message 3, user, 2023-05-01)",
        "Open:\n- What does the night train cost? (message 3, user, 2023-05-01)",
        "[Message 4, assistant]: I don't know yet, let me check.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let short = store.json(&["resume", "7f3a", "--budget", "100"]);
    assert!(short["tokens"].as_u64().unwrap() <= 100 && short["text"].as_str().unwrap().contains("Goal: "), "{short}");
    assert_eq!(store.json(&["resume", "7f3a", "--budget", "3"])["text"], "");
    assert!(store.fail(&["resume", "nobody"], 3).contains("nobody"));
    store.fail(&["resume", "7f3a", "--budget", "0"], 2);
}

#[test]
fn a_state_is_shown_by_rules_and_changes_nothing() {
    let store = store();
    let before = store.json(&["verify"])["root"].clone();
    let state = store.json(&["show", "7f3a", "--state"]);
    assert_eq!(state["goal"]["node"], 1);
    assert_eq!(state["decisions"][0]["text"], "We decided to stay at the Aventino hotel.");
    assert_eq!(state["open"][0]["text"], "What does the night train cost?");
    assert_eq!(state["nodes_per_level"]["full"], 4);
    let text = store.succeed(&["show", "7f3a", "--state"]);
    assert!(text.contains("title: Plan a trip to Rome (made of its messages)\n"), "{text}");
    assert!(
        text.contains("decided:\n- We decided to stay at the Aventino hotel. (message 3, user, 2023-05-01)\n"),
        "{text}"
    );
    assert_eq!(store.json(&["verify"])["root"], before);
    store.fail(&["show", "7f3a", "--state", "1-2"], 2);
}

#[test]
fn a_message_is_shown_with_its_model_its_parts_and_its_files() {
    let store = Store::new();
    let lines = [
        json!({"role": "user", "speaker": "Ana", "content": [
            {"type": "text", "text": "Read the report."},
            {"type": "document", "title": "report.txt", "source": {"type": "text", "media_type": "text/plain", "data": "rows"}},
        ]}),
        json!({"role": "assistant", "metadata": {"model": "claude-x"}, "content": [
            {"type": "thinking", "thinking": "I read it.", "signature": "sig"},
            {"type": "text", "text": "I read it."},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "report.txt"}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": "no such file"},
        ]}),
        json!({"role": "user", "content": "That's wrong, the file is there."}),
    ];
    let file = store.file("talk.jsonl", &lines.map(|line| format!("{line}\n")).concat());
    store.succeed(&["import", "--format", "jsonl", &file]);
    let shown = store.json(&["show", "talk"]);
    let [asked, answered, failed, wrong] = [0, 1, 2, 3].map(|index| shown["messages"][index].clone());
    assert_eq!((asked["speaker"].clone(), asked["model"].clone()), (json!("Ana"), Value::Null));
    let attachment =
        json!({"kind": "document", "title": "report.txt", "media_type": "text/plain", "bytes": 4, "url": null});
    assert_eq!(asked["attachments"], json!([attachment]));
    assert_eq!(answered["model"], "claude-x");
    assert_eq!(answered["components"]["calls"], json!([{"id": "a", "name": "read", "input": {"path": "report.txt"}}]));
    assert_eq!(answered["components"]["errors"], json!([{"id": "a", "node": 3, "text": "no such file"}]));
    assert_eq!(failed["components"]["errors"][0]["node"], 3);
    assert_eq!(wrong["relates_to"], json!({"to": 2, "kind": "correction"}));
    assert_eq!(store.json(&["expand", "-c", "talk", "2"]), answered);
    assert!(store.succeed(&["show", "talk"]).contains("2: assistant (claude-x), "));

    let request =
        |model: &[&str]| store.succeed(&[&["context", "-c", "talk", "--messages", "And now?"], model].concat());
    assert!(request(&["--for-model", "claude-x"]).contains("\"sig\""));
    assert!(!request(&["--for-model", "claude-y"]).contains("\"sig\"") && !request(&[]).contains("\"sig\""));
    store.succeed(&["append", "-c", "talk", "--role", "assistant", "--model", "claude-y", "It is."]);
    assert_eq!(store.json(&["expand", "-c", "talk", "5"])["model"], "claude-y");
}

#[test]
fn a_message_that_a_summary_stands_for_is_expandable() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let of = |node: &str| store.json(&["expand", "-c", "trip", node]);
    let [early, late] = [of("1"), of("60")];
    assert_eq!((early["expandable"].clone(), late["expandable"].clone()), (json!(true), json!(false)));
    assert_eq!((early["level"] == "FULL", late["level"] == "FULL"), (false, true));
}

#[test]
fn a_mention_is_followed_where_that_is_asked_for_and_to_no_other_owner() {
    let store = store();
    say(&store, "now", 10, &["Hello.", "Hello!"]);
    store.succeed(&["--owner", "ana", "append", "-c", "hers", "Plan a trip to Rome with the code 9-1-4."]);
    let question = "As we discussed in the trip to Rome, which hotel was it?";
    let ask = ["context", "-c", "now", question];
    let without = store.json(&ask);
    assert!(!without["text"].as_str().unwrap().contains("Aventino"));
    let with = store.json(&[&ask[..], &["--follow-mentions"]].concat());
    assert!(with["text"].as_str().unwrap().contains("Aventino") && !with["text"].as_str().unwrap().contains("9-1-4"));
    assert_eq!(support::codes(&with), ["mention-followed"]);
    assert_eq!(with["used"]["conversations"], json!(["7f3a-trip"]));
    let pieces = with["used"]["pieces"].as_array().unwrap();
    assert!(!pieces.is_empty() && pieces.iter().all(|piece| piece.as_str().unwrap().ends_with(" of 7f3a-trip")));
}

#[test]
fn a_search_and_a_context_say_what_of_the_memory_they_used() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let found = store.json(&["search", "--limit", "1", "Which platform does the train leave from?"]);
    assert_eq!(found["used"]["pieces"], json!(["message 7 of trip"]));
    assert_eq!(store.json(&["search", "zzzz"])["used"]["pieces"], json!([]));
    let used = &store.json(&["context", "--budget", "800", "Which platform does the train leave from?"])["used"];
    assert!(used["pieces"].as_array().unwrap().contains(&json!("message 7")), "{used}");
    assert!(used["summaries"].as_u64().unwrap() > 0, "{used}");
}

#[test]
fn figures_over_time_show_growth_compression_and_subjects() {
    let store = store();
    let file = store.file("long.jsonl", &messages(400));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let stats = store.json(&["stats", "--over-time", "--by", "day", "-c", "7f3a"]);
    let row = &stats["conversations"][0]["rows"][0];
    assert_eq!((row["start"].clone(), row["total_nodes"].clone()), (json!("2023-05-01T00:00:00Z"), json!(4)));
    let all = store.json(&["stats", "--over-time"]);
    assert_eq!(all["conversations"].as_array().unwrap().len(), 3);
    let text = store.succeed(&["stats", "--over-time", "-c", "long"]);
    assert!(text.contains("2023-11-14") && text.contains(" x"), "{text}");
    store.fail(&["stats", "--by", "day"], 2);
    store.fail(&["stats", "--over-time", "--by", "year"], 2);
}

#[test]
fn sessions_are_listed_shown_begun_and_archived_as_conversations_are() {
    let store = store();
    assert_eq!(store.json(&["sessions"]), store.json(&["list"]), "one list");
    assert_eq!(store.succeed(&["sessions", "list"]), store.succeed(&["list"]));
    let shown = store.json(&["sessions", "show", "7f3a"]);
    assert_eq!((&shown["session"], &shown["last"]["node"]), (&"7f3a-trip".into(), &4.into()));
    assert_eq!(shown["state"], store.json(&["show", "7f3a", "--state"]));
    assert_eq!(shown["conversations"][0]["agent"], Value::Null);
    let text = store.succeed(&["sessions", "show", "7f3a"]);
    assert!(text.contains("goal") && text.contains("I don't know yet"), "{text}");
    store.succeed(&["sessions", "create", "flat", "Where is the flat?", "--title", "A flat", "--tag", "home"]);
    assert_eq!(store.json(&["sessions", "--tag", "home"])["conversations"][0]["title"], "A flat");
    assert!(store.fail(&["sessions", "create", "flat", "Again"], 2).contains("already"));
    store.succeed(&["sessions", "archive", "flat"]);
    assert_eq!(ids(&store.json(&["sessions"])), ["7f3b", "7f3a-trip"]);
    store.succeed(&["sessions", "unarchive", "a flat"]);
    assert_eq!(ids(&store.json(&["sessions"])).len(), 3);
}

#[test]
fn the_conversations_of_agents_are_one_session() {
    let store = store();
    for (day, agent) in [(5, "planner"), (6, "book%20er")] {
        say(&store, &format!("strands:a%20trip:{agent}"), day, &TRIP);
    }
    for name in ["a trip", "strands:a%20trip:planner"] {
        let shown = store.json(&["sessions", "show", name]);
        assert_eq!(shown["session"], "a trip");
        let agents: Vec<_> =
            shown["conversations"].as_array().unwrap().iter().map(|one| one["agent"].as_str().unwrap()).collect();
        assert_eq!(agents, ["book er", "planner"], "the last one spoken in first");
    }
    let archived = store.json(&["sessions", "archive", "a trip"]);
    assert_eq!(archived["conversations"].as_array().unwrap().len(), 2);
    assert_eq!(ids(&store.json(&["sessions"])), ["7f3b", "7f3a-trip"]);
}
