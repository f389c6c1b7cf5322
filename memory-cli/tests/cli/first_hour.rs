//! The first hour: commands of a new user, including wrong ones.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{self, Store, failure};

/// A store with a conversation of 60 messages, whose view was shown once after 20 of them.
fn trip() -> Store {
    let store = Store::new();
    let lines = support::messages(60);
    let (begin, _) = lines.match_indices('\n').nth(19).unwrap();
    let file = store.file("trip.jsonl", &lines[..=begin]);
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["context", "Which platform?"]);
    fs::write(&file, lines).unwrap();
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

fn piped(command: &mut Command, text: &[u8]) -> std::process::Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_message_is_appended_from_an_argument_and_from_standard_input() {
    let store = Store::new();
    assert_eq!(store.succeed(&["append", "-c", "trip", "Hello"]), "1\n");
    let output = piped(&mut store.command(&["append", "--role", "assistant", "--speaker", "Bob"]), b"two\nlines\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n");
    let node = store.json(&["expand", "2"]);
    assert_eq!(node["message"], json!({"role": "assistant", "speaker": "Bob", "content": "two\nlines"}));
    let at = "2024-05-01T10:00:00+02:00";
    store.succeed(&["append", "--at", at, "--metadata", r#"{"a": 1}"#, "--keep-out-of-summaries", "Secret."]);
    let node = store.json(&["expand", "3"]);
    assert_eq!(node["at"], "2024-05-01T08:00:00Z");
    assert_eq!(node["message"]["metadata"], json!({"a": 1, "utc_offset": 7200}));
    assert_eq!(node["message"]["keep_out_of_summaries"], true);
}

#[test]
fn a_message_without_a_zone_is_of_the_users_own() {
    let store = Store::new();
    let said = ["append", "-c", "trip", "--key", "k1", "--at", "2026-07-01T22:30:00Z", "The ferry sails at noon."];
    store.succeed(&said);
    let zoned = |zone: &'static str, arguments: &[&'static str]| [&["--time-zone", zone], arguments].concat();
    // A message that is there stays as it is, whatever zone is configured since.
    assert_eq!(store.succeed(&zoned("Europe/Berlin", &said)), "1\n");
    let later = ["append", "-c", "trip", "--key", "k2", "--at", "2026-07-02T22:30:00Z", "The ferry was late."];
    assert_eq!(store.succeed(&zoned("Europe/Berlin", &later)), "2\n");
    assert_eq!(store.succeed(&zoned("Asia/Tokyo", &later)), "2\n");
    assert_eq!(store.succeed(&later), "2\n");
    let elsewhere = ["append", "-c", "trip", "--at", "2026-07-03T22:30:00+09:00", "And back."];
    store.succeed(&zoned("Europe/Berlin", &elsewhere));
    let offset = |node: &'static str| store.json(&["expand", node])["message"]["metadata"]["utc_offset"].clone();
    assert_eq!([offset("1"), offset("2"), offset("3")], [Value::Null, 7_200.into(), 32_400.into()]);
    let shown = store.succeed(&["context", "-c", "trip", "When was the ferry late?"]);
    assert!(shown.contains("[Friday 2026-07-03, 00:30]"), "{shown}");
    assert!(store.fail(&zoned("Europe/Nowhere", &later), 2).contains("is no time zone"));
    // A time of day without an offset is one of the user's.
    let local = ["append", "-c", "trip", "--at", "2026-07-04T00:00", "At midnight."];
    store.succeed(&zoned("Europe/Berlin", &local));
    store.succeed(&zoned("Europe/Berlin", &["append", "-c", "trip", "--at", "2026-12-24 18:00", "In winter."]));
    store.succeed(&["append", "-c", "trip", "--at", "2026-12-24 18:00", "In no zone."]);
    let said_at = |node: &'static str| store.json(&["expand", node])["at"].clone();
    let times = ["2026-07-03T22:00:00Z", "2026-12-24T17:00:00Z", "2026-12-24T18:00:00Z"];
    assert_eq!([said_at("4"), said_at("5"), said_at("6")], times);
    assert!(store.fail(&["append", "--at", "2026-07-03T22:30:00+15:00", "x"], 2).contains("at most 14 hours"));
}

#[test]
fn a_message_under_a_key_is_appended_once() {
    let store = Store::new();
    let append = |text| store.json(&["append", "-c", "trip", "--key", "k1", text]);
    let shape = |node, new, nodes| json!({"conversation": "trip", "node": node, "new": new, "nodes": nodes});
    assert_eq!(append("Hello"), shape(1, true, 1));
    store.succeed(&["append", "Other"]);
    assert_eq!(append("Hello"), shape(1, false, 2));
    let refused = store.fail(&["append", "--key", "k1", "Something else"], 1);
    assert!(refused.contains("already names a different message, node 1"), "{refused}");
    let dated = |at| ["append", "-c", "trip", "--key", "k2", "--at", at, "Hello"];
    for is_new in [true, false] {
        assert_eq!(store.json(&dated("2024-05-01"))["new"], is_new);
    }
    let refused = store.fail(&dated("2025-05-01"), 1);
    assert!(refused.contains("already names a different message, node 3"), "another time: {refused}");
}

#[test]
fn what_is_no_message_is_refused_and_makes_no_store() {
    let store = Store::new();
    for args in [
        &["append", "-c", "trip", ""][..],
        &["append", "-c", "a b", "x"],
        &["append", "-c", "trip", "--metadata", "[]", "x"],
    ] {
        store.fail(args, 2);
    }
    let output = piped(&mut store.command(&["append", "-c", "trip"]), &[0xff]);
    assert_eq!(output.status.code(), Some(2));
    let nowhere = store.fail(&["append", "Hello"], 3);
    assert!(nowhere.contains("there is no store"), "{nowhere}");
    assert!(!fs::exists(store.path("store")).unwrap());
}

#[test]
fn conversations_are_listed_the_latest_first() {
    let store = trip();
    store.succeed(&["append", "-c", "late", "--at", "2024-05-01", "Hello"]);
    store.succeed(&["append", "-c", "early", "--at", "2020-05-01", "Hello"]);
    store.succeed(&["tag", "early", "--add", "home"]);
    store.succeed(&["title", "early", "How it began"]);
    let names = |args: &[&str]| -> Vec<String> {
        let listed = store.json(args);
        listed["conversations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["conversation"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(names(&["list"]), ["late", "trip", "early"]);
    assert_eq!(names(&["list", "--tag", "home"]), ["early"]);
    assert_eq!(names(&["list", "--limit", "1"]), ["late"]);
    assert_eq!(store.json(&["list", "--limit", "1"])["more"], 2);
    let table = store.succeed(&["list"]);
    assert!(table.contains("How it began") && table.contains("2020-05-01"), "{table}");
}

/// Another owner's conversations are not found by any of the new commands.
#[test]
fn an_owner_lists_and_changes_what_is_theirs_alone() {
    let store = trip();
    fn as_ana<'a>(args: &[&'a str]) -> Vec<&'a str> {
        [&["--owner", "ana"], args].concat()
    }
    store.succeed(&as_ana(&["append", "-c", "hers", "Hello"]));
    assert_eq!(store.json(&as_ana(&["list"]))["conversations"].as_array().unwrap().len(), 1);
    for args in [&["show", "trip"][..], &["pin", "trip", "1"], &["tag", "trip"], &["title", "trip", "x"]] {
        store.fail(&as_ana(args), 3);
    }
    store.fail(&as_ana(&["append", "-c", "trip", "x"]), 2);
    assert_eq!(store.json(&as_ana(&["title", "hers"]))["title_derived"], true);
}

#[test]
fn messages_are_shown_word_for_word_and_not_all_at_once() {
    let store = trip();
    let shown = store.succeed(&["show"]);
    assert!(shown.starts_with("41: user, ") && shown.contains("\n60: assistant, "), "{shown}");
    let shown = store.command(&["show", "trip", "7-60", "--limit", "2"]).output().unwrap();
    let (text, hint) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(text.contains("\nThe train leaves at 7:42 from platform 9.\n\n8: "), "{text}");
    assert!(!text.contains("\n9: ") && hint.contains("52 more: memory show trip 9-60"), "{text}{hint}");
    let json = store.json(&["show", "trip", "7"]);
    assert_eq!(json["messages"][0], store.json(&["expand", "7"]), "one shape of a message");
    store.fail(&["show", "trip", "61-70"], 3);
    store.fail(&["show", "trip", "x"], 2);

    let long = "word ".repeat(2_000);
    store.succeed(&["append", &long]);
    let shown = store.succeed(&["show", "trip", "61"]);
    assert!(shown.len() < 5_000 && shown.contains("… and 6,000 characters more: --whole"), "{shown}");
    assert!(store.succeed(&["show", "trip", "61", "--whole"]).contains(&long));
    assert_eq!(store.json(&["show", "trip", "61"])["messages"][0]["text"], long.as_str());
}

#[test]
fn pins_tags_and_titles_are_set_shown_and_taken_back() {
    let store = trip();
    assert_eq!(store.json(&["pin", "trip", "9"]), json!({"conversation": "trip", "node": 9, "pinned": true}));
    assert_eq!(store.json(&["expand", "9"])["pinned"], true);
    store.succeed(&["pin", "9", "--off"]);
    assert_eq!(store.json(&["expand", "9"])["pinned"], false);
    store.fail(&["pin", "trip", "61"], 3);

    let tags = |args: &[&str]| store.json(&[&["tag", "trip"], args].concat())["tags"].clone();
    assert_eq!(tags(&["--add", "travel", "--add", "a"]), json!(["a", "travel"]));
    assert_eq!(tags(&["--remove", "a", "--add", "b"]), json!(["b", "travel"]));
    assert_eq!(store.succeed(&["tag"]), "b\ntravel\n");
    store.fail(&["tag", "trip", "--add", " "], 2);

    store.succeed(&["title", "trip", "To Rome\u{1b}[31m"]);
    assert_eq!(store.succeed(&["title"]), "To Rome\\u{1b}[31m\n", "nothing raw reaches a terminal");
    assert_eq!(store.json(&["title", "trip", ""])["title_derived"], true, "what was set is taken back");
}

/// A command that reads a store says how to make one, and makes none itself.
#[test]
fn a_store_that_is_missing_is_not_found_and_none_is_made() {
    let store = Store::new();
    fs::create_dir(store.path("empty")).unwrap();
    for args in [
        &["list"][..],
        &["show"],
        &["context", "x"],
        &["context", "--as-of", "3"],
        &["replay"],
        &["fork", "trip"],
        &["search", "x"],
        &["find", "x"],
        &["expand", "1"],
        &["browse"],
        &["pin", "1"],
        &["tag"],
        &["tag", "--add", "x"],
        &["title"],
        &["title", "trip", "x"],
        &["append", "x"],
        &["summaries"],
        &["summaries", "dissolve", "1"],
        &["facts"],
        &["facts", "disable", "1.1"],
        &["sessions"],
        &["sessions", "show"],
        &["resummarize"],
        &["index"],
        &["stats"],
        &["verify"],
        &["doctor"],
        &["doctor", "--salvage", "saved"],
        &["backup", "backup"],
        &["vacuum"],
        &["export"],
        &["prove", "--from", "0000000000000000000000000000000000000000000000000000000000000000"],
        &["model", "migrate", "./none"],
    ] {
        for place in ["store", "empty"] {
            let at = store.path(place);
            let mut command = support::memory();
            let said = failure(command.args(["--store", &at]).args(args).current_dir(store.path(".")), 3);
            assert!(said.contains("there is no store at") && said.contains(place), "{args:?}: {said}");
            assert!(
                said.contains("`memory import FILE`") && said.contains("`memory demo --keep DIR`"),
                "{args:?}: {said}"
            );
        }
    }
    assert!(!fs::exists(store.path("store")).unwrap(), "none is made");
    assert_eq!(fs::read_dir(store.path("empty")).unwrap().count(), 0);
    // One that lost its list of formats to damage is there, and doctor is for it.
    let broken = trip();
    fs::remove_file(broken.path("store/FORMAT")).unwrap();
    assert!(!broken.fail(&["stats"], 4).contains("there is no store"));
}

#[test]
fn a_view_of_any_message_is_shown_and_said_not_to_have_been() {
    let store = trip();
    let first = store.json(&["context", "--as-of", "20"]);
    assert_eq!((&first["view"], support::codes(&first)), (&json!(1), Vec::new()), "it was shown");
    assert_eq!(store.json(&["context", "--as-of", "40"])["view"], 1, "the last one before message 41");
    for node in 1..20 {
        let shown = store.json(&["context", "--as-of", &node.to_string()]);
        assert_eq!((&shown["nodes"], &shown["view"]), (&json!(node), &Value::Null));
        assert_eq!(support::codes(&shown), ["not-shown"]);
        let covered: Vec<_> =
            shown["pieces"].as_array().unwrap().iter().flat_map(|piece| support::nodes(&piece["nodes"])).collect();
        assert_eq!(covered, (1..=node).collect::<Vec<_>>());
    }
    let asked = ["context", "--as-of", "30", "--budget", "700", "Which platform?"];
    let shown = store.json(&asked);
    assert_eq!((&shown["nodes"], &shown["question"]), (&json!(30), &json!("Which platform?")));
    let text = shown["text"].as_str().unwrap();
    assert!(text.contains("platform 9") && !text.contains("day 31"), "{text}");
    assert!(shown["tokens"].as_u64().unwrap() <= 700);
    let said = store.command(&asked).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("note: no model was shown this"), "people are told as well");
    let by_time = store.json(&["context", "--as-of", "2023-11-14T22:20:00Z"]);
    assert_eq!((&by_time["nodes"], support::codes(&by_time)), (&json!(6), vec!["not-shown"]));
    assert_eq!(store.json(&["replay"])["views"].as_array().unwrap().len(), 1, "nothing of it is recorded");
    assert_eq!(store.json(&["stats"])["conversations"][0]["nodes"], 60);
    store.fail(&["context", "--as-of", "61"], 3);
    store.fail(&["context", "--as-of", "v2"], 3);
    store.fail(&["context", "--as-of", "v1", "Which platform?"], 2);
}

/// A fork at the message has the same messages and summaries, so its view is the same.
#[test]
fn a_past_view_is_that_of_a_fork() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(400));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["fork", "trip", "--at", "300", "--as", "fork"]);
    for question in ["Which platform?", "How is the weather on day 250?"] {
        let past = store.json(&["context", "-c", "trip", "--as-of", "300", "--budget", "1500", question]);
        let said = store.json(&["expand", "-c", "trip", "300"]);
        let now = said["at"].as_str().unwrap();
        let fork = store.json(&["context", "-c", "fork", "--no-record", "--now", now, "--budget", "1500", question]);
        assert_eq!(past["text"], fork["text"]);
    }
}

#[test]
fn a_mistake_in_a_command_shows_the_usage_of_that_command() {
    let store = trip();
    store.succeed(&["append", "-c", "other", "Hello"]);
    for (args, usage) in [
        (&["expand", "1"][..], "Usage: memory expand [OPTIONS] <NODE>"),
        (&["title"], "Usage: memory title [OPTIONS] [CONVERSATION] [TITLE]"),
        (&["fork"], "Usage: memory fork [OPTIONS] [CONVERSATION]"),
        (&["search"], "Usage: memory search"),
        (&["restore"], "<BACKUP> [TARGET]"),
    ] {
        let said = store.fail(args, 2);
        assert!(said.contains(usage), "{args:?}: {said}");
    }
    assert!(store.fail(&["title"], 2).contains("say which as the first argument (`memory list` shows them)"));
}

/// Notices and errors of the libraries are read by people who know the commands alone.
#[test]
fn no_notice_names_the_programming_interface() {
    let store = Store::new();
    let first = crate::models::model(&store, "first", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
    let file = store.file("talk.jsonl", &support::messages(200));
    let import = ["--embedding-model", &first, "import", "--no-embed", "--format", "jsonl", &file];
    support::success(&mut store.hybrid(&import));
    let output = store.hybrid(&["--embedding-model", &first, "search", "the weather"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`memory index`") && !said.contains("::"), "{said}");
}

#[test]
fn the_demo_prints_one_json_value() {
    let store = Store::new();
    let shown = store.json(&["demo", "--keep", &store.path("demo")]);
    assert_eq!(shown["found"]["node"], shown["expand"]["node"]);
    assert!(
        shown["context"]["text"]
            .as_str()
            .unwrap()
            .contains(shown["found"]["piece"]["text"].as_str().unwrap().trim_end())
    );
    assert_eq!(shown["verify"]["nodes"], shown["import"]["read"]);
    assert_eq!(store.json(&["demo"])["store"], Value::Null);
    let listed = support::success(support::memory().args(["--store", &store.path("demo"), "--json", "list"]));
    assert!(listed.contains("\"tally\""), "{listed}");
}

#[test]
fn a_backup_is_restored_to_the_place_that_is_named_behind_it() {
    let store = trip();
    let (backup, target) = (store.path("backup"), store.path("restored"));
    store.succeed(&["backup", &backup]);
    assert_eq!(store.json(&["restore", &backup, &target])["store"], target.as_str());
    let root = |at: &str| support::success(support::memory().args(["--store", at, "verify"]));
    assert_eq!(root(&target), store.succeed(&["verify"]));
}
