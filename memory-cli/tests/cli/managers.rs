//! `memory --manager` and `memory context --turn`, through the binary.

use serde_json::{Value, json};

use crate::support::{self, Store};

/// A conversation `talk` of `count` messages.
fn talk(count: usize) -> Store {
    let store = Store::new();
    let file = store.file("talk.jsonl", &support::messages(count));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

const CONTEXT: [&str; 7] = ["context", "-c", "talk", "--budget", "4000", "--no-record", "What was said?"];

#[test]
fn a_manager_is_chosen_by_name_and_its_settings_are_checked() {
    let store = talk(120);
    let with = |manager: &[&str]| store.succeed(&[&CONTEXT[..], manager].concat());
    let window = with(&["--manager", "sliding-window", "--manager-settings", r#"{"window_size": 6}"#]);
    assert!(window.contains("[Messages 1-114: not shown]"), "{window}");
    for manager in ["summarizing", "semantic-summarizing", "tiered", "importance-window", "query-aware", "knowledge"] {
        let shown = with(&["--manager", manager]);
        assert!(shown.contains("Messages 1-") && !shown.contains("not shown"), "{manager}: {shown}");
    }
    let last = with(&["--manager", "none"]);
    assert!(last.contains("not shown") && !last.contains(" sums up those messages"), "{last}");
    let unknown = store.fail(&[&CONTEXT[..], &["--manager", "window"]].concat(), 2);
    assert!(unknown.contains("sliding-window"), "{unknown}");
    let settings = ["--manager", "summarizing", "--manager-settings", r#"{"summary_ratio": 0.9}"#];
    let wrong = store.fail(&[&CONTEXT[..], &settings].concat(), 2);
    assert!(wrong.contains("between 0.1 and 0.8"), "{wrong}");
}

#[test]
fn a_turn_begins_with_all_of_the_turn_before_also_in_another_process() {
    let store = talk(40);
    let turn = || store.succeed(&["context", "-c", "talk", "--budget", "4000", "--turn", "--raw"]);
    let before = turn();
    store.succeed(&["append", "-c", "talk", "Which message was the first?"]);
    let after = turn();
    assert!(after.starts_with(before.trim_end()) && after.contains("Which message was the first?"), "{after}");
    let aside = ["context", "-c", "talk", "--turn", "--raw", "What was message 3?"];
    assert!(store.succeed(&aside).ends_with("Current question: What was message 3?"));
    assert_eq!(turn(), after, "what is asked aside changes no turn");
    store.fail(&["context", "-c", "talk", "--turn", "--scope", "all"], 2);
}

/// Limits evict from what recall finds, never from the log.
#[test]
fn limits_of_the_archive_evict_the_oldest_from_recall_and_nothing_from_the_log() {
    let store = Store::new();
    for text in ["The ferry leaves at six.", "Lunch is at noon.", "The museum is closed.", "Dinner is at eight."] {
        store.succeed(&["append", "-c", "trip", "--role", "user", text]);
    }
    let limit = ["--max-num-archived-messages", "2"];
    let found = |limit: &[&str]| {
        let found = store.succeed(&[limit, &["search", "-c", "trip", "ferry six"]].concat());
        found.contains("The ferry leaves at six.")
    };
    assert!(found(&[]) && !found(&limit), "it is evicted");
    let stats = store.succeed(&[&limit[..], &["stats", "-c", "trip"]].concat());
    assert!(stats.contains("archive of") && stats.contains("evicted"), "{stats}");
    let stats = store.succeed(&[&limit[..], &["stats", "-c", "trip", "--json"]].concat());
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["conversations"][0]["archive"], json!({"held": 2, "evicted": 2}));
    assert!(store.succeed(&[&limit[..], &["expand", "-c", "trip", "1"]].concat()).contains("The ferry leaves at six."));
    store.succeed(&[&limit[..], &["verify"]].concat());
    assert!(found(&["--max-memory-archived-messages", "1000000"]), "it is found again");
    assert!(!found(&["--max-memory-archived-messages", "100"]));
}
