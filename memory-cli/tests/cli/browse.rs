//! `memory browse`: pages that join.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "whatever fails here fails a test")]

use memory_core::{
    ConversationId, Hash, Level, Message, NodeDraft, NodeId, NodeRange, SummaryDraft, SummaryId, Timestamp, WrittenBy,
    port::{Event, Store as _},
};
use memory_store::LogStore;
use serde_json::Value;

use crate::support::{self, Store};

/// Appends messages without a summary of any: one frame for each count.
fn say(store: &Store, id: &str, counts: &[i64]) {
    let log = LogStore::open(store.path("store")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut said = 0;
    for count in counts {
        let draft = |number| {
            // Long enough to be summarized.
            let text = format!("Remark number {number} about the weather and the museum of day {number}. ").repeat(4);
            NodeDraft::new(Message::user(text), Timestamp::from_millis(number), 60)
        };
        let drafts = (said + 1..=said + count).map(draft).collect();
        runtime.block_on(log.append(&ConversationId::new(id).unwrap(), drafts)).unwrap();
        said += count;
    }
}

/// The pages of so many entries, from the first to the one that says it is the last.
fn pages(store: &Store, args: &[&str], limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut from) = (Vec::new(), 1);
    loop {
        let (limit, first) = (limit.to_string(), from.to_string());
        let page = store.json(&[&["browse", "--limit", &limit, "--from", &first], args].concat());
        pages.push(page["entries"].as_array().unwrap().clone());
        match page["next"].as_u64() {
            Some(next) => {
                assert!(next > from, "{args:?}: the page behind {from} begins at {next}");
                from = next;
            }
            None => return pages,
        }
    }
}

/// Entries of one large page; smaller pages of any size must show the same.
fn joined(store: &Store, args: &[&str]) -> Vec<Value> {
    let whole = pages(store, args, 1_000).concat();
    let total = whole.len();
    for limit in [1, 2, 7, total.saturating_sub(1), total, total + 1].into_iter().filter(|limit| *limit > 0) {
        let pages = pages(store, args, limit);
        assert_eq!(pages.concat(), whole, "{args:?}: pages of {limit}");
        let (last, before) = pages.split_last().unwrap();
        assert!(before.iter().all(|page| page.len() >= limit), "{args:?}: a page of {limit} is not full");
        assert!(!last.is_empty() || whole.is_empty(), "{args:?}: there is nothing behind a page of {limit}");
    }
    whole
}

fn nodes(entry: &Value) -> [u64; 2] {
    [0, 1].map(|end| entry["nodes"][end].as_u64().unwrap())
}

/// Last message of entries that must follow each other without a gap or an overlap.
fn tiled(entries: &[Value]) -> u64 {
    entries.iter().map(nodes).fold(0, |end, [first, last]| {
        assert_eq!(first, end + 1, "a gap or an overlap");
        last
    })
}

#[test]
fn pages_join_without_gap_or_overlap_with_summaries_and_without() {
    let store = Store::new();
    say(&store, "trip", &[60]);
    for level in [&[][..], &["--level", "full"]] {
        let entries = joined(&store, level);
        assert_eq!((entries.len(), tiled(&entries)), (60, 60));
        assert!(entries.iter().all(|entry| entry["level"] == "FULL"), "{entries:?}");
    }
    assert_eq!(joined(&store, &["--level", "summary"]), Vec::<Value>::new());

    store.succeed(&["context", "--budget", "4000", "Which platform?"]);
    let top = joined(&store, &[]);
    assert_eq!(tiled(&top), 60);
    assert!(top.first().unwrap()["level"] != "FULL" && top.last().unwrap()["level"] == "FULL", "{top:?}");
    let full = joined(&store, &["--level", "full"]);
    assert_eq!((full.len(), tiled(&full)), (60, 60));
    let summaries = joined(&store, &["--level", "summary"]);
    assert!(!summaries.is_empty() && tiled(&summaries) < 60);
    assert!(summaries.iter().all(|entry| entry["level"] == "SUMMARY"), "{summaries:?}");
}

#[test]
fn the_last_page_says_so_and_one_behind_the_end_is_refused() {
    let store = Store::new();
    let file = store.file("trip.jsonl", &support::messages(60));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let note = |args: &[&str]| {
        let output = store.command(&[&["browse", "--level", "full"], args].concat()).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(note(&[]).contains("more from node 51: --from 51"), "{}", note(&[]));
    for last in [&["--from", "51"][..], &["--from", "60", "--limit", "1"], &["--limit", "60"]] {
        assert!(!note(last).contains("more from"), "{last:?}: {}", note(last));
        assert_eq!(store.json(&[&["browse", "--level", "full"], last].concat())["next"], Value::Null, "{last:?}");
    }
    for args in [&["--from", "61"][..], &["--from", "18446744073709551615"], &["--from", "61", "--level", "meta"]] {
        let error = store.fail(&[&["browse"], args].concat(), 3);
        assert!(error.contains("`trip` ends with node 60: nothing stands at "), "{args:?}: {error}");
    }
    for (limit, code) in [("0", 2), ("-1", 2)] {
        store.fail(&["browse", "--limit", limit], code);
    }
    let all = store.json(&["browse", "--limit", "18446744073709551615", "--from", "2"]);
    assert_eq!((all["entries"].as_array().unwrap().len(), &all["next"]), (59, &Value::Null));
}

#[test]
fn a_page_with_lost_messages_is_not_taken_for_the_last() {
    let store = Store::new();
    say(&store, "trip", &[6, 14, 40]);
    // Message 12 is in one frame with all nodes from 7 to 20, which are lost with it.
    store.flip("number 12 ");
    for level in [&[][..], &["--level", "full"]] {
        for limit in [1, 3, 10, 20, 50, 60] {
            let pages = pages(&store, level, limit);
            assert!(pages.iter().all(|page| page.len() <= limit), "{level:?}: more than {limit} on a page");
            let entries = pages.concat();
            assert_eq!(tiled(&entries), 60, "{level:?}: pages of {limit}");
            let lost = entries.iter().filter(|entry| entry["text"] == "(lost)");
            assert_eq!(lost.map(nodes).map(|[first, last]| last - first + 1).sum::<u64>(), 14, "{level:?}: {limit}");
        }
    }
}

#[test]
fn archives_that_stand_above_each_other_are_shown_once_on_pages_that_end() {
    let store = Store::new();
    say(&store, "long", &[9]);
    let log = LogStore::open(store.path("store")).unwrap();
    let id = ConversationId::new("long").unwrap();
    let summary = |level, first, last, children: &[u64]| {
        let node = |at| NodeId::new(at).unwrap();
        Event::Summary(
            SummaryDraft::new(
                level,
                NodeRange::new(node(first), node(last)).unwrap(),
                format!("{level} of {first} to {last}"),
                4,
                WrittenBy::new("test", "1"),
                Hash::of_parts([[first, last].map(u64::to_le_bytes).as_flattened()]),
            )
            .children(children.iter().filter_map(|child| SummaryId::new(*child)).collect()),
        )
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let of_messages = (1..=8).map(|node| summary(Level::Summary, node, node, &[]));
        log.record(&id, of_messages.collect()).await.unwrap();
        for (level, first, last, children) in [
            (Level::Meta, 1, 2, [1, 2]),
            (Level::Meta, 3, 4, [3, 4]),
            (Level::Meta, 5, 6, [5, 6]),
            (Level::Meta, 7, 8, [7, 8]),
            (Level::Archive, 1, 4, [9, 10]),
            (Level::Archive, 5, 8, [11, 12]),
            (Level::Archive, 1, 8, [13, 14]),
        ] {
            log.record(&id, vec![summary(level, first, last, &children)]).await.unwrap();
        }
    });
    drop(log);
    let archives = |from: &str| -> Vec<_> {
        let page = store.json(&["browse", "--level", "archive", "--from", from]);
        page["entries"].as_array().unwrap().iter().map(nodes).collect()
    };
    assert_eq!(archives("1"), [[1, 8], [1, 4], [5, 8]]);
    assert_eq!(archives("2"), [[1, 8], [1, 4], [5, 8]], "those that hold node 2");
    assert_eq!(archives("6"), [[1, 8], [5, 8]]);
    assert_eq!(archives("5"), [[5, 8]], "the page before showed the one above");
    assert_eq!(archives("9"), Vec::<[u64; 2]>::new());
    let pages = pages(&store, &["--level", "archive"], 1);
    let pages: Vec<Vec<_>> = pages.iter().map(|page| page.iter().map(nodes).collect()).collect();
    assert_eq!(pages, [vec![[1, 8], [1, 4]], vec![[5, 8]]]);
    for level in ["summary", "meta", "archive", "full"] {
        joined(&store, &["--level", level]);
    }
    assert_eq!(tiled(&joined(&store, &[])), 9);
}
