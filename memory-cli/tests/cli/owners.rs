//! Two owners in one store: nothing of one is seen by the other, by any command.

use std::fs;

use crate::support::{self, Store};

const SECRET: &str = "zeppelin";

fn as_owner<'a>(owner: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["--owner", owner], args].concat()
}

/// Ana's conversation of 40 messages with the secret at the end, and Ben's of 30.
fn shared() -> Store {
    let store = Store::new();
    let secret = format!("{{\"role\":\"user\",\"content\":\"The {SECRET} leaves at noon.\"}}\n");
    let hers = store.file("trip-hers.jsonl", &format!("{}{secret}", support::messages(40)));
    let his = store.file("trip-his.jsonl", &support::messages(30));
    store.succeed(&as_owner("ana", &["import", "--format", "jsonl", &hers]));
    store.succeed(&as_owner("ben", &["import", "--format", "jsonl", &his]));
    store
}

#[test]
fn nothing_of_one_owner_is_seen_by_the_other_through_any_command() {
    let store = shared();
    // A view of hers is recorded.
    store.succeed(&as_owner("ana", &["context", "--budget", "700", SECRET]));
    let root = store.json(&as_owner("ana", &["verify"]))["root"].as_str().unwrap().to_owned();
    for args in [
        &["search", SECRET][..],
        &["find", SECRET],
        &["expand", "41"],
        &["browse"],
        &["stats"],
        &["facts", "--all"],
        &["context", "--no-record", SECRET],
        &["replay"],
        &["index"],
        &["verify"],
        &["export"],
    ] {
        let seen = store.succeed(&as_owner("ana", args));
        let others = store.command(&as_owner("ben", args)).output().unwrap();
        let text = [others.stdout.as_slice(), others.stderr.as_slice()].concat();
        let text = String::from_utf8(text).unwrap();
        for hidden in ["trip-hers", "leaves at noon", &root] {
            assert!(!text.contains(hidden), "{args:?} shows {hidden}: {text}");
        }
        if *args != ["search", SECRET] && *args != ["find", SECRET] {
            assert!(!seen.is_empty(), "{args:?}");
        }
    }
    for args in [
        &["search", "--conversation", "trip-hers", SECRET][..],
        &["find", "--conversation", "trip-hers", SECRET],
        &["expand", "--conversation", "trip-hers", "41"],
        &["browse", "--conversation", "trip-hers"],
        &["stats", "--conversation", "trip-hers"],
        &["context", "--conversation", "trip-hers", SECRET],
        &["context", "--conversation", "trip-hers", "--as-of", "1"],
        &["replay", "--conversation", "trip-hers"],
        &["index", "--conversation", "trip-hers"],
        &["verify", "--conversation", "trip-hers"],
        &["export", "--conversation", "trip-hers"],
        &["prove", "--conversation", "trip-hers", "--from", &root],
        &["resummarize", "trip-hers"],
        &["summaries", "--conversation", "trip-hers"],
        &["summaries", "rewrite", "1", "x", "--conversation", "trip-hers"],
        &["summaries", "dissolve", "1", "--conversation", "trip-hers"],
        &["facts", "--conversation", "trip-hers"],
        &["facts", "history", "--conversation", "trip-hers", "41.1"],
        &["facts", "add", "--conversation", "trip-hers", "--kind", "fact", "x"],
        &["facts", "disable", "--conversation", "trip-hers", "41.1"],
        &["sessions", "show", "trip-hers"],
        &["sessions", "archive", "trip-hers"],
        &["fork", "trip-hers", "--as", "mine"],
    ] {
        let refused = store.fail(&as_owner("ben", args), 3);
        let made_up: Vec<_> = args.iter().map(|arg| if *arg == "trip-hers" { "trip-hxrs" } else { *arg }).collect();
        let unknown = store.fail(&as_owner("ben", &made_up), 3);
        assert_eq!(refused.replace("trip-hers", "trip-hxrs"), unknown, "{args:?}: as one that does not exist");
    }
}

#[test]
fn each_owner_works_as_if_the_store_were_theirs_and_without_one_all_is_seen() {
    let store = shared();
    let nodes = |owner: &str| store.json(&as_owner(owner, &["verify"]))["nodes"].as_u64();
    assert_eq!((nodes("ana"), nodes("ben"), nodes("eve")), (Some(41), Some(30), Some(0)));
    assert_eq!(store.json(&["verify"])["nodes"], 71);
    let found = store.json(&as_owner("ana", &["search", SECRET]));
    assert_eq!(
        (found["hits"][0]["node"].as_u64(), found["hits"][0]["conversation"].as_str()),
        (Some(41), Some("trip-hers"))
    );
    let found = store.json(&as_owner("ben", &["search", SECRET]));
    assert!(found["hits"].as_array().unwrap().iter().all(|hit| hit["conversation"] == "trip-his"), "{found}");
    // The only conversation of each needs no name, and a fork stays with its owner.
    store.succeed(&as_owner("ana", &["expand", "41"]));
    store.succeed(&as_owner("ana", &["fork", "--at", "10", "--as", "her-fork"]));
    assert_eq!((nodes("ana"), nodes("ben")), (Some(51), Some(30)));
    store.fail(&["expand", "41"], 2);
    // A name is taken in the whole store.
    let again = store.file("trip-hers.jsonl", &support::messages(2));
    let refused = store.fail(&as_owner("ben", &["import", "--format", "jsonl", &again]), 2);
    assert!(refused.contains("choose another name"), "{refused}");
    for args in [&["doctor"][..], &["vacuum"], &["backup", "nowhere"], &["encrypt"], &["decrypt"]] {
        let refused = store.fail(&as_owner("ana", args), 2);
        assert!(refused.contains("MEMORY_OWNER"), "{refused}");
    }
    store.fail(&["--owner", "a b", "verify"], 2);
    let from_environment = store.command(&["verify", "--json"]).env("MEMORY_OWNER", "ben").output().unwrap();
    let verified: serde_json::Value = serde_json::from_slice(&from_environment.stdout).unwrap();
    assert_eq!(verified["nodes"], 30);
}

#[test]
fn an_export_keeps_whose_it_was_unless_another_owner_imports_it() {
    let store = shared();
    let file = store.path("hers.jsonl");
    store.succeed(&as_owner("ana", &["export", "--output", &file]));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("{\"memory_export\":2,\"conversation\":\"trip-hers\""), "{text}");
    assert!(text.lines().next().unwrap().ends_with("\"owner\":\"ana\"}"), "{text}");
    let other = Store::new();
    other.succeed(&["import", "--no-embed", &file]);
    assert_eq!(other.json(&as_owner("ana", &["verify"]))["nodes"], 41);
    assert_eq!(other.json(&as_owner("ben", &["verify"]))["nodes"], 0);
    other.succeed(&as_owner("ben", &["import", "--no-embed", "--conversation", "given", &file]));
    assert_eq!(other.json(&as_owner("ben", &["verify"]))["nodes"], 41);
}
