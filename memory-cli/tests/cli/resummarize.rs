//! `memory resummarize`: other words in the places of old ones, and nothing lost by it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{fs, process::Stdio, thread, time::Duration};

use serde_json::Value;

use crate::support::{self, Store};

/// A store with a compacted conversation `trip`.
fn compacted(messages: usize) -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(messages));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

/// Entries of `browse` on every level above FULL.
fn summaries(store: &Store, conversation: &str) -> Vec<Value> {
    let of =
        |level| store.json(&["browse", "-c", conversation, "--level", level, "--limit", "10000"])["entries"].clone();
    let entries = ["summary", "meta", "archive"].map(of);
    // Words that are recorded again have another number.
    let unnumbered = |mut entry: Value| {
        entry.as_object_mut().unwrap().remove("summary");
        entry
    };
    entries.iter().flat_map(|entries| entries.as_array().unwrap().clone()).map(unnumbered).collect()
}

fn stats(store: &Store) -> [u64; 2] {
    let stats = store.json(&["stats", "-c", "trip"])["conversations"][0].clone();
    ["summaries", "superseded"].map(|figure| stats[figure].as_u64().unwrap())
}

fn root(store: &Store, conversation: &str) -> Value {
    let verified = store.json(&["verify", "-c", conversation]);
    assert_eq!(verified["nodes"], verified["verified"], "{verified}");
    verified["root"].clone()
}

#[test]
fn summaries_are_written_anew_and_every_view_is_what_it_was() {
    let store = compacted(300);
    let shown = store.succeed(&["context", "--budget", "700", "Which platform?"]);
    let (before, [written, none], verified) = (summaries(&store, "trip"), stats(&store), root(&store, "trip"));
    assert!(
        none == 0 && before.iter().all(|entry| entry["written_by"]["strategy"].as_str().unwrap().starts_with("spans")),
        "{before:?}"
    );
    let first_words = ["--summarizer", "first-words"];

    let part =
        store.json(&[&["resummarize", "tri", "--nodes", "30-31", "--level", "summary"], &first_words[..]].concat());
    assert_eq!((part["conversation"].as_str(), part["rewritten"].as_u64()), (Some("trip"), Some(2)), "{part}");
    assert_eq!(stats(&store), [written + 2, 2]);
    let lines = store.succeed(&[&["resummarize"], &first_words[..]].concat());
    let rest = written - 2;
    assert!(lines.starts_with(&format!("trip: {rest} summaries written anew, 2 as they were\n")), "{lines}");
    let again = store.json(&[&["resummarize", "trip"], &first_words[..]].concat());
    assert_eq!((&again["rewritten"], &again["unchanged"]), (&0.into(), &written.into()));
    assert_eq!((&again["tokens_before"], &again["by_fallback"]), (&again["tokens_after"], &0.into()));
    assert_eq!(stats(&store), [2 * written, written]);

    let after = summaries(&store, "trip");
    assert!(
        after.iter().all(|entry| entry["written_by"]["strategy"].as_str().unwrap().starts_with("first-words")),
        "{after:?}"
    );
    let places = |entries: &[Value]| -> Vec<_> {
        entries.iter().map(|entry| [&entry["level"], &entry["nodes"]].map(Value::clone)).collect()
    };
    assert_eq!(places(&before), places(&after));
    assert_eq!(store.succeed(&["context", "--as-of", "v1"]), shown);

    // Forks, exports and a smaller log have the new words, and the old ones for old views.
    store.succeed(&["fork", "trip", "--at", "300", "--as", "fork"]);
    let file = store.path("trip.export.jsonl");
    store.succeed(&["export", "-c", "trip", "-o", &file]);
    let other = Store::new();
    other.succeed(&["import", &file]);
    assert_eq!((summaries(&other, "trip"), stats(&other)), (after.clone(), stats(&store)));
    let sealed = store.json(&["vacuum", "--seal", "--compress"]);
    assert_eq!(sealed["replaced"], 1, "{sealed}");
    fs::remove_dir_all(store.path("store/cache")).unwrap();
    for conversation in ["trip", "fork"] {
        assert_eq!(summaries(&store, conversation), after);
        assert_eq!(store.succeed(&["context", "-c", conversation, "--as-of", "v1"]), shown);
        assert_eq!(root(&store, conversation), verified);
    }
    store.succeed(&["replay", "-c", "trip", "--check"]);
    store.succeed(&["doctor"]);

    // Each has its own words from then on.
    store.succeed(&["resummarize", "fork"]);
    assert_eq!((summaries(&store, "trip"), summaries(&store, "fork")), (after, before));
    assert_ne!(store.succeed(&["context", "-c", "trip", "--budget", "700", "Which platform?"]), shown);
}

#[test]
fn what_cannot_be_written_anew_is_said() {
    let store = compacted(300);
    assert!(store.fail(&["resummarize", "trap"], 3).contains("no conversation `trap`; nearest: `trip`"));
    let beyond = store.fail(&["resummarize", "trip", "--nodes", "290-301"], 3);
    assert!(beyond.contains("node 301 not found: `trip` has nodes 1 to 300"), "{beyond}");
    let none = store.fail(&["resummarize", "trip", "--nodes", "300"], 3);
    assert!(none.contains("no summary of `trip` covers any of the nodes 300 yet"), "{none}");
    for wrong in
        [["--nodes", "9-3"], ["--nodes", "0-3"], ["--nodes", "x"], ["--level", "full"], ["--summarizer", "none"]]
    {
        store.fail(&[&["resummarize", "trip"], &wrong[..]].concat(), 2);
    }
    let few = store.file("few.jsonl", &support::messages(3));
    store.succeed(&["import", "--format", "jsonl", &few]);
    assert!(store.fail(&["resummarize"], 2).contains("2 conversations"));
    let none = store.fail(&["--json", "resummarize", "few"], 3);
    assert!(
        serde_json::from_str::<Value>(&none).unwrap()["error"].as_str().unwrap().contains("`few` has no summary yet")
    );
}

#[test]
fn a_process_that_is_killed_in_the_middle_leaves_a_whole_store() {
    let store = compacted(3_000);
    let shown = store.succeed(&["context", "--budget", "900", "Which platform?"]);
    let (before, [written, _], verified) = (summaries(&store, "trip"), stats(&store), root(&store, "trip"));
    let of = |summarizer: &str| store.command(&["resummarize", "trip", "--summarizer", summarizer]);
    let (mut halves, mut millis) = (0, 30);
    for round in 0..60 {
        let [all, _] = stats(&store);
        let by = if round % 2 == 0 { "first-words" } else { "spans" };
        let mut child = of(by).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(millis));
        child.kill().unwrap();
        child.wait().unwrap();
        let [then, superseded] = stats(&store);
        assert_eq!(then, written + superseded, "each of them has a place or is superseded");
        assert_eq!(store.succeed(&["context", "--as-of", "v1"]), shown);
        assert_eq!((summaries(&store, "trip").len(), root(&store, "trip")), (before.len(), verified.clone()));
        match then - all {
            0 => millis += millis / 4,
            new if new < written => halves += 1,
            _ => millis -= millis / 4,
        }
        if halves == 4 {
            break;
        }
    }
    assert!(halves > 0, "none was killed in the middle");
    support::success(&mut of("first-words"));
    support::success(&mut of("spans"));
    assert_eq!(summaries(&store, "trip"), before, "the first words again");
    store.succeed(&["doctor"]);
    store.succeed(&["vacuum", "--seal"]);
    assert_eq!(summaries(&store, "trip"), before);
}
