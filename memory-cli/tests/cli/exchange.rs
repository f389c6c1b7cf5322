//! Conversations out of one store and into another, through the binary.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use memory_core::{
    ConversationId, Message, NodeDraft, Timestamp,
    port::{Source, Store as _, TokenCounter as _},
};
use memory_embed::TiktokenCounter;
use memory_store::LogStore;

use crate::support::{self, Store, memory};

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap()
}

#[test]
fn the_demo_conversation_comes_back_to_the_same_bytes_and_root() {
    let (from, to) = (Store::new(), Store::new());
    from.succeed(&["demo", "--keep", &from.path("store")]);
    let verified = from.succeed(&["verify"]);
    let file = from.path("tally.jsonl");
    let exported = from.json(&["export", "--output", &file]);
    assert_eq!(
        (&exported["exported"][0]["conversation"], &exported["exported"][0]["file"]),
        (&"tally".into(), &file.as_str().into())
    );
    assert!(exported["exported"][0]["summaries"].as_u64().unwrap() > 100, "{exported}");
    let bytes = fs::read_to_string(&file).unwrap();
    assert_eq!(from.succeed(&["export", "-c", "tal"]), bytes, "a pipe gets the same");
    assert_eq!(fs::read_dir(from.path("")).unwrap().count(), 2, "store and file, nothing temporary");

    let imported = to.succeed(&["import", &file]);
    assert_eq!(last_line(&imported), last_line(&verified));
    assert_eq!(to.succeed(&["export"]), bytes);
    let stats = |store: &Store| {
        let mut stats = store.json(&["stats"])["conversations"][0].clone();
        // Only bytes of messages are compared, since derived data is made when it is asked for.
        stats["bytes"] = stats["bytes"]["messages"].clone();
        stats
    };
    assert_eq!(stats(&to), stats(&from), "the summaries are there: nothing is paid for twice");
    let again = to.json(&["import", "--format", "memory", &file]);
    let again = &again["conversations"][0];
    assert_eq!((&again["new"], &again["new_summaries"]), (&0.into(), &0.into()));
    assert_eq!(again["verified"], again["nodes"]);
}

#[test]
fn an_export_comes_through_a_pipe_under_another_name() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let bytes = store.succeed(&["export"]);
    let mut child = store.hybrid(&["import", "-", "--as", "copy", "--words-only"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let verified = store.json(&["verify"]);
    let conversations = verified["conversations"].as_array().unwrap();
    let names: Vec<_> = conversations.iter().map(|c| c["conversation"].as_str().unwrap()).collect();
    assert_eq!(names, ["copy", "trip"]);
    assert_eq!(conversations[0]["root"], conversations[1]["root"], "the name is not hashed");
    assert!(String::from_utf8(output.stdout).unwrap().contains(conversations[0]["root"].as_str().unwrap()));

    let directory = store.path("all");
    store.succeed(&["export", "--all", "--output", &directory]);
    let other = Store::new();
    let files = [format!("{directory}/copy.jsonl"), format!("{directory}/trip.jsonl")];
    other.succeed(&["import", &files[0], &files[1]]);
    assert_eq!(other.json(&["verify"]), verified);
}

/// An export holds what a fork shares as well, so that it needs its parent nowhere.
#[test]
fn a_fork_comes_back_to_the_same_root_without_its_parent_and_beside_it() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.succeed(&["context", "--budget", "700", "Which platform?"]);
    store.succeed(&["fork", "trip", "--at", "45", "--as", "other"]);
    let more = store.file("trip.jsonl", &support::messages(90));
    store.succeed(&["import", "--format", "jsonl", &more]);
    let own = support::messages(45) + "{\"role\":\"user\",\"content\":\"The zeppelin leaves from Bergen\"}\n";
    let own = store.file("other.jsonl", &own);
    store.succeed(&["import", "--format", "jsonl", &own]);
    let root = |store: &Store, id: &str| {
        let verified = store.json(&["verify", "--conversation", id]);
        assert_eq!(verified["verified"], 46, "{verified}");
        verified["root"].as_str().unwrap().to_owned()
    };
    let messages = |store: &Store, id: &str| {
        let expand = |node: usize| store.json(&["expand", "--conversation", id, &node.to_string()])["message"].clone();
        (1..=46).map(expand).collect::<Vec<_>>()
    };
    let summaries =
        |store: &Store, id: &str| store.json(&["browse", "-c", id, "--level", "summary"])["entries"].clone();
    let (should, said, summarized) = (root(&store, "other"), messages(&store, "other"), summaries(&store, "other"));
    assert!(summarized.as_array().unwrap().len() > 10, "{summarized}");
    let file = store.path("fork.jsonl");
    let exported = store.json(&["export", "-c", "other", "--output", &file]);
    assert_eq!(exported["exported"][0]["root"].as_str(), Some(should.as_str()));

    let elsewhere = Store::new();
    let imported = elsewhere.json(&["import", &file]);
    assert_eq!(imported["conversations"][0]["new"], 46, "{imported}");
    let before = store.json(&["verify", "--conversation", "trip"]);
    store.succeed(&["import", "--as", "copy", &file]);
    assert_eq!(store.json(&["verify", "--conversation", "trip"]), before, "the parent is as it was");
    for (store, id) in [(&elsewhere, "other"), (&store, "copy")] {
        assert_eq!(root(store, id), should, "{id}");
        assert_eq!(messages(store, id), said, "{id}");
        assert_eq!(summaries(store, id), summarized, "{id}");
    }
    // The fork itself has all of it already.
    let again = store.json(&["import", &file]);
    let again = &again["conversations"][0];
    assert_eq!((&again["new"], &again["new_summaries"]), (&0.into(), &0.into()), "{again}");
    assert_eq!(root(&store, "other"), should);
    store.succeed(&["doctor"]);
}

#[test]
fn what_is_no_whole_export_is_refused_and_nothing_is_written() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(20));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let bytes = store.succeed(&["export"]);
    let other = Store::new();
    let lines: Vec<_> = bytes.split_inclusive('\n').collect();
    for kept in 1..lines.len() {
        let cut = other.file("cut.jsonl", &lines[..kept].concat());
        let error = other.fail(&["import", &cut], 4);
        assert!(error.contains(&format!("no closing line after line {kept}; nothing was imported")), "{error}");
    }
    let altered = other.file("altered.jsonl", &bytes.replacen("Remark number 3", "Remark number 4", 1));
    assert!(other.fail(&["import", &altered], 4).contains("was altered since it was exported"));
    assert!(!fs::exists(other.path("store")).unwrap(), "no store was made");

    assert!(store.json(&["import", &file])["conversations"][0]["new"] == 0);
    // A file of a directory that is not known stops nothing, so that only nothing at all is an error.
    assert!(store.fail(&["import", &store.path("")], 1).contains("trip.jsonl"));
    store.fail(&["import", "--as", "x", &altered, &altered], 4);
    let good = store.file("good.jsonl", &bytes);
    assert!(store.fail(&["import", "--as", "x", &good, &good], 2).contains("one by one"));
    store.fail(&["export", "--all"], 2);
    store.fail(&["--json", "export"], 2);
    store.fail(&["export", "-c", "nothing"], 3);
    let said = store.file("other.jsonl", &support::messages(3));
    store.succeed(&["import", "--format", "jsonl", "-c", "other", &said]);
    let before = store.succeed(&["verify"]);
    let error = store.fail(&["import", "--as", "other", &good], 1);
    assert!(error.contains("`other` is there already and differs") && error.contains("at node 1"), "{error}");
    assert_eq!(store.succeed(&["verify"]), before);
}

#[test]
fn a_damaged_conversation_is_not_exported_and_leaves_no_file() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(30));
    store.succeed(&["import", "--format", "jsonl", &file]);
    store.flip("platform 9");
    let exported = store.path("export.jsonl");
    store.fail(&["export", "--output", &exported], 4);
    assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 2, "the store and what was imported");
}

/// Kills the import as soon as a part of the conversation can be seen in the store, then imports again.
#[test]
fn an_import_that_was_killed_is_completed_by_importing_again() {
    const MESSAGES: usize = 30_000;
    let source = Store::new();
    let id = ConversationId::new("long").unwrap();
    let log = LogStore::open(source.path("store")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // The counter of an import, which counts again.
    let counter = TiktokenCounter::cl100k();
    for batch in (0..MESSAGES).collect::<Vec<_>>().chunks(5_000) {
        let draft = |number: &usize| {
            let text = format!("message {number} {}", "with some words ".repeat(20));
            let tokens = counter.count(&text);
            NodeDraft::new(Message::user(text), Timestamp::from_millis(i64::try_from(*number).unwrap()), tokens)
        };
        runtime.block_on(log.append(&id, batch.iter().map(draft).collect())).unwrap();
    }
    drop(log);
    let file = source.path("long.jsonl");
    source.succeed(&["export", "--output", &file]);

    let store = Store::new();
    let path = store.path("store");
    let mut interrupted = 0;
    for _ in 0..5 {
        let before = seen(&path, &id, &runtime);
        let mut child = start(memory().args(["--store", &path, "import", "--words-only", &file]));
        while seen(&path, &id, &runtime) <= before && child.try_wait().unwrap().is_none() {}
        // SIGKILL on Unix.
        child.kill().unwrap();
        child.wait().unwrap();
        let there = seen(&path, &id, &runtime);
        interrupted += usize::from(there > before && there < MESSAGES as u64);
    }
    assert!(interrupted > 0, "no import was killed halfway");
    let imported = store.succeed(&["import", &file]);
    assert!(last_line(&imported).starts_with("verified 30000 of 30000 nodes, root "), "{imported}");
    assert_eq!(last_line(&imported), last_line(&source.succeed(&["verify"])));
    let again = store.path("again.jsonl");
    store.succeed(&["export", "--output", &again]);
    assert!(fs::read(&again).unwrap() == fs::read(&file).unwrap(), "the exports differ");
}

fn start(command: &mut Command) -> std::process::Child {
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Number of messages of a conversation for a reader who opens the store now.
fn seen(path: &str, id: &ConversationId, runtime: &tokio::runtime::Runtime) -> u64 {
    // Until the import has made it there is no store.
    let Ok(store) = LogStore::open_read_only(path) else { return 0 };
    runtime.block_on(store.conversation(id)).map_or(0, |state| state.nodes)
}

#[cfg(not(feature = "age"))]
#[test]
fn an_export_for_recipients_of_age_says_how_to_read_it() {
    let store = Store::new();
    let file = store.file("trip.age", "age-encryption.org/v1\n-> X25519 abc\n");
    let error = store.fail(&["import", &file], 2);
    assert!(error.contains("age --decrypt"), "{error}");
}
