//! `memory fork`: two conversations that go on from one past.

use std::fs;

use crate::support::{self, Store};

#[test]
fn a_fork_goes_on_from_a_message_and_leaves_the_other_alone() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let shown = store.succeed(&["context", "--budget", "700", "Which platform?"]);
    let more = store.file("trip.jsonl", &support::messages(90));
    store.succeed(&["import", "--format", "jsonl", &more]);
    let log_bytes = || fs::metadata(store.path("store/log/0001.seg")).unwrap().len();
    let before = log_bytes();

    let forked = store.json(&["fork", "trip", "--at", "61", "--as", "other"]);
    assert_eq!(forked["conversation"], "other");
    assert_eq!((forked["nodes"].as_u64(), forked["forked_from"]["node"].as_u64()), (Some(61), Some(61)));
    assert_eq!(forked["forked_from"]["conversation"], "trip");
    assert!(log_bytes() < before + 4096, "no message is copied");
    assert_eq!(store.succeed(&["fork", "other"]).split(' ').next(), Some("other-fork-1"));

    // Views of the shared past are the same in parent and child.
    for conversation in ["trip", "other", "other-fork-1"] {
        assert_eq!(store.succeed(&["context", "--conversation", conversation, "--as-of", "60"]), shown);
        assert_eq!(
            store.succeed(&["expand", "--conversation", conversation, "33"]),
            store.succeed(&["expand", "--conversation", "trip", "33"])
        );
    }
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    for (name, text) in [("other", "The zeppelin leaves from Bergen"), ("trip", "The submarine leaves from Oslo")] {
        let shared = if name == "other" { support::messages(61) } else { support::messages(90) };
        let own = store.file(&format!("{name}.jsonl"), &format!("{shared}{}", line(text)));
        store.succeed(&["import", "--format", "jsonl", &own]);
    }
    let nodes = |conversation| store.json(&["verify", "--conversation", conversation])["nodes"].clone();
    assert_eq!([nodes("trip"), nodes("other"), nodes("other-fork-1")], [91, 62, 61]);
    let verified = store.json(&["verify"]);
    assert_eq!((verified["nodes"].as_u64(), verified["verified"].as_u64()), (Some(214), Some(214)));
    store.succeed(&["doctor"]);
    let context = store.json(&["context", "--conversation", "other", "--budget", "900", "zeppelin"]);
    assert!(context["text"].as_str().unwrap().contains("zeppelin"), "{context}");
    assert!(!context["text"].as_str().unwrap().contains("submarine"), "{context}");

    // Each message is found once, where it was said first.
    let found = store.json(&["search", "--limit", "200", "train day platform zeppelin submarine leaves"]);
    let mut hits: Vec<_> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["conversation"].to_string(), hit["node"].as_u64().unwrap()))
        .collect();
    hits.sort();
    assert!(hits.contains(&("\"other\"".to_owned(), 62)) && hits.contains(&("\"trip\"".to_owned(), 91)), "{hits:?}");
    assert!(hits.iter().all(|(conversation, node)| conversation == "\"trip\"" || *node > 61), "{hits:?}");

    // The fork outlives a vacuum and the loss of its caches.
    fs::remove_dir_all(store.path("store/cache")).unwrap();
    store.succeed(&["vacuum", "--seal", "--compress"]);
    assert_eq!(store.succeed(&["context", "--conversation", "other", "--as-of", "60"]), shown);
    assert_eq!(nodes("other"), 62);
    store.fail(&["fork", "trip", "--as", "other"], 2);
    store.fail(&["fork", "trip", "--at", "92"], 3);
    store.fail(&["fork", "nowhere"], 3);
}
