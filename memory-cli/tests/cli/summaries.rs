//! `memory summaries`: recorded summaries, and repairs by a person.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use std::{io::Write, process::Stdio};

use serde_json::Value;

use crate::support::{self, Store, success};

/// A store with a compacted conversation `trip`.
fn compacted(messages: usize) -> Store {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(messages));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store
}

fn listed(store: &Store, args: &[&str]) -> Vec<Value> {
    store.json(&[&["summaries", "--limit", "10000"], args].concat())["summaries"].as_array().unwrap().clone()
}

/// The number of the first summary of a level.
fn first(store: &Store, level: &str) -> String {
    listed(store, &["--level", level])[0]["summary"].to_string()
}

fn root(store: &Store) -> Value {
    let verified = store.json(&["verify"]);
    assert_eq!(verified["nodes"], verified["verified"], "{verified}");
    verified["root"].clone()
}

#[test]
fn summaries_are_listed_by_range_and_level_and_paged_to_the_end() {
    let store = compacted(300);
    let all = listed(&store, &[]);
    let stats = store.json(&["stats"])["conversations"][0]["summaries"].clone();
    assert_eq!(all.len() as u64, stats.as_u64().unwrap());
    let (mut pages, mut after) = (Vec::new(), None::<String>);
    loop {
        let after_it = after.iter().flat_map(|after| ["--after", after.as_str()]).collect::<Vec<_>>();
        let page = store.json(&[&["summaries", "list", "-c", "trip", "--limit", "31"], &after_it[..]].concat());
        pages.extend(page["summaries"].as_array().unwrap().clone());
        assert_eq!(page["total"], all.len());
        match page["next"].as_u64() {
            Some(next) => after = Some(next.to_string()),
            None => break,
        }
    }
    assert_eq!(pages, all);
    let metas = listed(&store, &["--level", "meta", "--from", "30", "--to", "31"]);
    assert!(!metas.is_empty() && metas.iter().all(|one| one["level"] == "META" && one["current"] == true), "{metas:?}");
    let table = store.succeed(&["summaries", "--level", "summary", "--from", "8", "--to", "8"]);
    assert!(table.contains("SUMMARY") && table.contains("spans ") && table.contains("2023-11-14"), "{table}");
    assert!(store.fail(&["summaries", "--from", "9", "--to", "3"], 2).contains("--to 3 comes before --from 9"));
    assert!(store.fail(&["summaries", "--from", "301"], 3).contains("ends with node 300"));
}

#[test]
fn a_person_rewrites_a_summary_and_nothing_is_lost() {
    let store = compacted(300);
    let shown = store.succeed(&["context", "--budget", "700", "Which platform?"]);
    let (verified, archive) = (root(&store), first(&store, "archive"));
    let before = listed(&store, &["--level", "archive"])[0].clone();
    let mut text = store.command(&["summaries", "rewrite", &archive, "--by", "Ana\u{202e}"]);
    let mut child = text.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("Talk of a trip\u{1b}, by Ana.\n".as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let after = listed(&store, &["--level", "archive"])[0].clone();
    assert_eq!(
        (after["text"].as_str(), &after["written_by"]),
        (Some("Talk of a trip, by Ana."), &serde_json::json!({"strategy": "person", "version": "Ana"}))
    );
    assert_eq!((&after["nodes"], &after["place"]), (&before["nodes"], &before["place"]));
    let replaced = listed(&store, &["--level", "archive", "--replaced"]);
    assert!(replaced.iter().any(|one| one["text"] == before["text"] && one["current"] == false), "{replaced:?}");
    let top = store.json(&["browse"])["entries"].clone();
    assert_eq!(top[0]["text"], "Talk of a trip, by Ana.", "{top}");
    assert_eq!(store.succeed(&["context", "--as-of", "v1"]), shown);
    let report = store.json(&["resummarize", "--summarizer", "first-words"]);
    assert_eq!(report["by_person"], 1, "{report}");
    assert_eq!(listed(&store, &["--level", "archive"])[0]["text"], "Talk of a trip, by Ana.");
    let file = store.path("trip.export.jsonl");
    store.succeed(&["export", "-c", "trip", "-o", &file]);
    let other = Store::new();
    other.succeed(&["import", &file]);
    assert_eq!(listed(&other, &["--replaced"]), listed(&store, &["--replaced"]), "an export has them all");
    let back = store.json(&["summaries", "rewrite", &archive, "--again"]);
    assert_eq!(back["text"], before["text"]);
    store.succeed(&["replay", "--check"]);
    store.succeed(&["doctor"]);
    assert_eq!(root(&store), verified);
}

#[test]
fn the_editor_opens_with_the_old_text_and_its_end_without_a_change_records_nothing() {
    let store = compacted(300);
    let archive = first(&store, "archive");
    let in_editor = |editor: &str| {
        let store_path = store.path("store");
        let memory = env!("CARGO_BIN_EXE_memory");
        let line = format!("'{memory}' --store '{store_path}' --words-only summaries rewrite {archive}");
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("EDITOR", editor).env_remove("VISUAL").stdin(Stdio::null());
        success(&mut command)
    };
    if cfg!(target_os = "linux") {
        let same = in_editor("true");
        assert!(same.contains("nothing was recorded"), "{same}");
        let changed = in_editor("printf 'Edited.' >");
        assert!(changed.contains("replaces"), "{changed}");
        assert_eq!(listed(&store, &["--level", "archive"])[0]["text"], "Edited.");
    }
}

#[test]
fn a_dissolved_summary_gives_way_to_its_parts_until_it_is_rewritten() {
    let store = compacted(300);
    let shown = store.succeed(&["context", "--budget", "700", "Which platform?"]);
    let archive = first(&store, "archive");
    let nodes = listed(&store, &["--level", "archive"])[0]["nodes"].clone();
    let is_dissolved = || {
        let all = listed(&store, &["--level", "archive"]);
        all.iter().find(|one| archive == one["place"].to_string().as_str()).unwrap()["dissolved"] == true
    };
    assert!(!is_dissolved());
    let said = store.succeed(&["summaries", "dissolve", &archive, "-c", "trip"]);
    assert!(said.contains("is dissolved: its parts are shown"), "{said}");
    assert!(store.fail(&["summaries", "dissolve", &archive], 1).contains("dissolved already"));
    let top = store.json(&["browse", "--limit", "1000"])["entries"].as_array().unwrap().clone();
    assert!(top.iter().all(|entry| entry["nodes"] != nodes), "{top:?}");
    assert!(is_dissolved());
    let context = store.json(&["context", "--budget", "1500", "Which platform?"]);
    assert!(context["tokens"].as_u64().unwrap() <= 1500);
    let pieces = context["pieces"].as_array().unwrap();
    assert!(pieces.iter().all(|piece| piece["nodes"] != nodes), "{context}");
    let history: Vec<_> = pieces
        .iter()
        .filter(|piece| !["recalled", "standing", "question"].contains(&piece["kind"].as_str().unwrap()))
        .collect();
    let covered: Vec<_> = history.iter().flat_map(|piece| support::nodes(&piece["nodes"])).collect();
    assert_eq!(covered, (1..=300).collect::<Vec<_>>(), "each message once");
    assert_eq!(store.succeed(&["context", "--as-of", "v1"]), shown);
    store.succeed(&["replay", "--check"]);
    store.succeed(&["summaries", "rewrite", &archive, "--again"]);
    assert!(!is_dissolved());
}

#[test]
fn a_repair_that_cannot_be_is_said_and_records_nothing() {
    let store = compacted(300);
    let count = listed(&store, &["--replaced"]).len();
    let (leaf, archive) = (first(&store, "summary"), first(&store, "archive"));
    let error = store.fail(&["summaries", "rewrite", &archive, &"word ".repeat(400)], 1);
    assert!(error.contains("may have") && error.contains("shorten it"), "{error}");
    assert!(store.fail(&["summaries", "rewrite", &archive, " "], 1).contains("blank"));
    assert!(store.fail(&["summaries", "rewrite", "99999", "x"], 3).contains("has no summary s99999"));
    assert!(store.fail(&["summaries", "dissolve", &leaf], 1).contains("pin that message"));
    store.fail(&["summaries", "rewrite", "0", "x"], 2);
    store.fail(&["summaries", "dissolve", "x"], 2);
    assert_eq!(listed(&store, &["--replaced"]).len(), count);
}
