//! The log made smaller through the binary, also while another process appends.
#![expect(clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{fs, process::Stdio};

use serde_json::Value;

use crate::support::{self, Store};

fn root(store: &Store, conversation: &str) -> Value {
    let verified = store.json(&["verify", "-c", conversation]);
    assert_eq!(verified["nodes"], verified["verified"], "{verified}");
    verified["root"].clone()
}

#[test]
fn a_log_is_compressed_and_expanded_and_stays_what_it_was() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(600));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let before = root(&store, "trip");
    let nothing = store.succeed(&["vacuum"]);
    assert!(nothing.contains("nothing to do") && nothing.contains("--seal"), "{nothing}");

    let shown = store.succeed(&["vacuum", "--compress", "--level", "19", "--block-size", "4096", "--seal"]);
    assert!(shown.starts_with("1 of 1 sealed segments rewritten, "), "{shown}");
    assert_eq!(root(&store, "trip"), before);
    assert!(store.succeed(&["expand", "7"]).contains("platform 9"));
    assert!(store.succeed(&["vacuum", "--compress"]).starts_with("nothing to rewrite: "));
    let again = store.json(&["vacuum", "--compress"]);
    assert_eq!((&again["replaced"], &again["dropped"]), (&0.into(), &0.into()));
    let small = again["bytes_after"].as_u64().unwrap();
    assert_eq!(fs::metadata(store.path("store/log/0001.seg")).unwrap().len(), small);

    let expanded = store.json(&["vacuum", "--expand"]);
    assert_eq!(expanded["bytes_before"].as_u64(), Some(small));
    assert!(expanded["bytes_after"].as_u64().unwrap() > 2 * small, "{expanded}");
    assert_eq!(root(&store, "trip"), before);
    store.succeed(&["doctor"]);
}

#[test]
fn a_log_is_rewritten_while_another_process_appends() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(600));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let before = root(&store, "trip");
    let file = store.file("late.jsonl", &support::messages(6_000));
    let import = ["--json", "import", "--format", "jsonl", &file];
    let mut child = store.command(&import).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rewritten = 0;
    for round in 0.. {
        let is_over = child.try_wait().unwrap().is_some();
        // The import's compaction has the lease now and then.
        let way = if round % 2 == 0 { "--compress" } else { "--expand" };
        let output = store.command(&["--json", "vacuum", "--seal", way]).output().unwrap();
        match output.status.code() {
            Some(0) => {
                let report: Value = serde_json::from_slice(&output.stdout).unwrap();
                rewritten += report["replaced"].as_u64().unwrap();
            }
            Some(5) => {}
            _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        }
        assert_eq!(root(&store, "trip"), before);
        if is_over {
            break;
        }
    }
    assert!(rewritten > 0);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(store.json(&["stats", "-c", "late"])["conversations"][0]["nodes"], 6_000);
    assert_eq!(store.json(&import[1..])["conversations"][0]["new"], 0);
    store.succeed(&["doctor"]);
}

#[test]
fn a_damaged_store_is_not_rewritten() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.flip("platform 9");
    for command in [&["vacuum", "--compress", "--seal"][..], &["vacuum"]] {
        let error = store.fail(command, 4);
        assert!(error.contains("doctor") && error.contains("0001.seg"), "{error}");
    }
}

#[test]
fn a_vacuum_makes_no_store_and_takes_no_odd_options() {
    let store = Store::new();
    store.fail(&["vacuum"], 3);
    assert!(!fs::exists(store.path("store")).unwrap());
    for wrong in [
        &["--level", "3"][..],
        &["--compress", "--level", "20"],
        &["--compress", "--block-size", "1000"],
        &["--compress", "--expand"],
    ] {
        store.fail(&[&["vacuum"], wrong].concat(), 2);
    }
}
