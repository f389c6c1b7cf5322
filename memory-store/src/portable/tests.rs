//! Conversations out of one store, into another, and out again; and files that were changed.

mod disabled;
mod forks;
mod notes;
mod sample;

use std::{io::Cursor, sync::Arc};

use memory_core::{
    ContentBlock, Hash, Level, Message, NodeDraft, NodeRange, OwnerId, SummaryId, Timestamp,
    json::{InvalidMessage, message_from_raw_json, message_to_json, message_to_raw_json},
    plan::Tree,
    port::{Event, OwnedStore, Progress, Revision, Source, Store, TokenCounter as _},
    proof::TreeHead,
    testing::{MemoryStore, WordCounter},
};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::Value;

use crate::LogStore;

use super::{
    ExchangeError, ExportFile, ImportedExport, ReadLimits,
    line::{Closing, Header},
};
use sample::{everything, fill, id, json, messages, node, plain, said, summary};

fn export(store: &dyn Store, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    block_on(super::export(store, &id(name), &mut bytes, &())).unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<ExportFile, ExchangeError> {
    ExportFile::spool("x.jsonl", &mut Cursor::new(bytes), ReadLimits::default())
}

fn import(store: &dyn Store, bytes: &[u8]) -> Result<ImportedExport, ExchangeError> {
    block_on(super::import(store, &mut open(bytes)?, None, None, &()))
}

/// A message as it stands in a line.
fn written(message: &Message) -> String {
    message_to_raw_json(message).unwrap().get().to_owned()
}

fn read(line: &str) -> Result<Message, InvalidMessage> {
    message_from_raw_json(serde_json::from_str(line).unwrap())
}

/// The export of a small conversation with everything in it.
fn sample_export(count: usize) -> Vec<u8> {
    let store = MemoryStore::default();
    fill(&store, plain(count));
    export(&store, "c")
}

fn lines(bytes: &[u8]) -> Vec<String> {
    str::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// Lines with a closing one that fits them, as a skilled forger would write it.
fn sealed(lines: &[String]) -> Vec<u8> {
    let header: Header = serde_json::from_str(&lines[0]).unwrap();
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let digest = Hash::from_bytes(*blake3::hash(&bytes).as_bytes());
    let closing = Closing::new(lines.len() as u64, header.root, digest);
    bytes.extend(format!("{}\n", serde_json::to_string(&closing).unwrap()).into_bytes());
    bytes
}

/// Golden bytes: if they change, these must stay readable, under another format number.
#[test]
fn an_export_of_format_1_never_changes() {
    let golden = include_bytes!("../../tests/golden/export-1.jsonl");
    let store = MemoryStore::default();
    fill(&store, vec![everything(), Message::user("two"), said(Vec::new())]);
    let bytes = export(&store, "c");
    assert_eq!(str::from_utf8(&bytes).unwrap(), str::from_utf8(golden).unwrap());
    let to = MemoryStore::default();
    import(&to, golden).unwrap();
    assert_eq!(block_on(to.node(&id("c"), node(1))).unwrap(), block_on(store.node(&id("c"), node(1))).unwrap());
}

#[test]
fn memory_stores_and_logs_export_the_same() {
    let bytes = sample_export(5);
    let directory = tempfile::tempdir().unwrap();
    let log = LogStore::open(directory.path()).unwrap();
    let imported = import(&log, &bytes).unwrap();
    assert_eq!((imported.new_nodes, imported.new_summaries, imported.orphaned_summaries), (5, 7, 0));
    assert_eq!(export(&log, "c"), bytes);
    let verified = block_on(log.verify(Some(&id("c")))).unwrap();
    assert_eq!((verified.verified, verified.root), (5, open(&bytes).unwrap().root()));
}

#[test]
fn what_no_log_can_hold_is_refused_before_anything_is_written() {
    let store = MemoryStore::default();
    fill(&store, plain(2));
    let tags = (0..100_000).map(|number| format!("tag-{number}")).collect();
    block_on(store.record(&id("c"), vec![Event::Tags(tags)])).unwrap();
    let bytes = export(&store, "c");
    let error = open(&bytes).unwrap_err().to_string();
    assert!(error.starts_with("x.jsonl:1: its tags cannot be recorded: a list of an event has at most"), "{error}");
    assert!(error.ends_with("nothing was imported"), "{error}");

    let topics = (0..100_000).map(|number| format!("topic-{number}")).collect();
    let store = MemoryStore::default();
    let draft = NodeDraft::new(Message::user("hi"), Timestamp::default(), 1).topics(topics);
    block_on(store.append(&id("c"), vec![draft])).unwrap();
    let error = open(&export(&store, "c")).unwrap_err().to_string();
    assert!(error.starts_with("x.jsonl:2: a message has at most"), "{error}");
}

#[test]
fn counts_of_a_file_are_not_trusted() {
    let store = MemoryStore::default();
    fill(&store, plain(3));
    let bytes = export(&store, "c");
    let mut forged = lines(&bytes);
    forged.pop();
    for line in &mut forged[1..] {
        let at = line.find(r#""tokens":"#).unwrap() + 9;
        let digits = line[at..].find(',').unwrap();
        line.replace_range(at..at + digits, "0");
    }
    let to = MemoryStore::default();
    let counter = WordCounter;
    block_on(super::import(&to, &mut open(&sealed(&forged)).unwrap(), None, Some(&counter), &())).unwrap();
    let nodes = block_on(to.nodes(&id("c"), NodeRange::first_n(3).unwrap())).unwrap();
    assert!(nodes.iter().all(|node| node.tokens == counter.count(&node.message.text()) && node.tokens > 0));
    let summaries = block_on(to.summaries(&id("c"))).unwrap();
    assert!(!summaries.is_empty());
    assert!(summaries.iter().all(|there| there.body.tokens == counter.count(&there.body.text)), "{summaries:?}");
}

#[test]
fn a_stream_without_end_is_refused_within_bounds() {
    let limits = ReadLimits::default().line(1 << 20).stream(8 << 20);
    let check = |from: &mut dyn std::io::Read, expected: &str| {
        let error = ExportFile::spool("a pipe", from, limits).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let told = format!("{error}: {source}");
        assert!(told.contains(expected), "{told}");
    };
    check(&mut std::io::repeat(b'y'), "a pipe:1: the line is longer than 1048576 bytes");
    let mut node = lines(&sample_export(5));
    node.truncate(1);
    let header = format!(
        "{}
",
        node[0]
    );
    check(&mut std::io::Read::chain(header.as_bytes(), std::io::repeat(b'y')), "a pipe:2: the line is longer than");
    let narrow = limits.stream(10);
    let error = ExportFile::spool("a pipe", &mut header.as_bytes(), narrow).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with("it goes on after 10 bytes, and no more is kept of a stream"), "{source}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn everything_comes_back_to_the_same_bytes_and_root(messages in prop::collection::vec(messages(), 2..12)) {
        let directory = tempfile::tempdir().unwrap();
        let from = LogStore::open(directory.path().join("from")).unwrap();
        fill(&from, messages);
        let bytes = export(&from, "c");
        let to = LogStore::open(directory.path().join("to")).unwrap();
        import(&to, &bytes).unwrap();
        prop_assert_eq!(export(&to, "c"), bytes.clone());

        let all = NodeRange::first_n(100).unwrap();
        let c = id("c");
        prop_assert_eq!(block_on(to.nodes(&c, all)).unwrap(), block_on(from.nodes(&c, all)).unwrap());
        prop_assert_eq!(block_on(to.summaries(&c)).unwrap(), block_on(from.summaries(&c)).unwrap());
        prop_assert_eq!(block_on(to.conversation(&c)).unwrap(), block_on(from.conversation(&c)).unwrap());
        let root = |store: &LogStore| block_on(store.verify(None)).unwrap().root;
        prop_assert_eq!(root(&to), root(&from));

        let again = import(&to, &bytes).unwrap();
        prop_assert_eq!((again.new_nodes, again.new_summaries), (0, 0));
    }

    #[test]
    fn a_message_comes_back_from_its_line(message in messages()) {
        let line = written(&message);
        prop_assert!(!line.contains(['\n', '\r']), "{}", line);
        prop_assert_eq!(read(&line), Ok(message));
    }
}

#[test]
fn superseded_summaries_come_back_in_their_places() {
    let from = MemoryStore::default();
    fill(&from, plain(5));
    let c = id("c");
    let told = |store: &dyn Store| {
        let tree = Tree::of(block_on(store.changes(&c, Revision::default())).unwrap());
        let words: Vec<_> = tree.placed().map(|there| (there.clone(), tree.words_for(there.id))).collect();
        (words, block_on(store.summaries(&c)).unwrap())
    };
    let known = told(&from);
    for number in 0..3u8 {
        let anew = known.1.iter().map(|summary| {
            let mut body = summary.body.clone();
            body.input_hash = Hash::of_parts([body.input_hash.as_bytes().as_slice(), &[number]]);
            body.text = format!("{number}: {}", body.text);
            Event::Summary(body)
        });
        block_on(from.record(&c, anew.collect())).unwrap();
    }
    let bytes = export(&from, "c");
    let directory = tempfile::tempdir().unwrap();
    let to = LogStore::open(directory.path()).unwrap();
    assert_eq!(import(&to, &bytes).unwrap().new_summaries, known.1.len() as u64 * 4);
    assert_eq!(told(&to), told(&from));
    assert!(told(&to).0.iter().all(|(there, words)| words.index() >= 3 * known.1.len() && *words != there.id));
    assert_eq!(export(&to, "c"), bytes);
}

#[test]
fn a_line_has_the_shape_of_a_message_as_json_with_the_json_in_it_as_it_came() {
    let input = r#"{"b" : 1.50, "a":[ ]}"#;
    let call = ContentBlock::ToolUse { id: "t".into(), name: "query".into(), input: json(input) };
    let odd = ContentBlock::Unknown(json(r#"{"type":"odd", "n":1e400}"#));
    let result = ContentBlock::ToolResult {
        tool_use_id: "t".into(),
        content: vec![ContentBlock::Text("41 rows".into())],
        is_error: true,
    };
    let message = said(vec![call, odd, result]);
    let line = written(&message);
    assert!(line.contains(input) && line.contains(r#"{"type":"odd", "n":1e400}"#), "{line}");
    for message in [said(vec![message.content[0].clone(), message.content[2].clone()]), Message::assistant("hi")] {
        let line = written(&message);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), message_to_json(&message));
    }
}

#[test]
fn nesting_ends_where_the_log_ends_it() {
    let nested = |depth: usize| {
        let inner = ContentBlock::Text("deep".into());
        let wrap =
            |block, _| ContentBlock::ToolResult { tool_use_id: "t".into(), content: vec![block], is_error: false };
        said(vec![(0..depth).fold(inner, wrap)])
    };
    let read = |message: &Message| read(&written(message)).map_err(|error| error.to_string());
    let directory = tempfile::tempdir().unwrap();
    let log = LogStore::open(directory.path()).unwrap();
    let keeps =
        |message| block_on(log.append(&id("c"), vec![NodeDraft::new(message, Timestamp::default(), 1)])).is_ok();
    let deepest = (1..100).take_while(|depth| keeps(nested(*depth))).last().unwrap();
    assert_eq!(read(&nested(deepest)), Ok(nested(deepest)));
    assert!(read(&nested(deepest + 2)).unwrap_err().contains("nested"));
}

#[test]
fn an_interrupted_import_is_completed_wherever_it_stopped() {
    let bytes = sample_export(6);
    let source = MemoryStore::default();
    import(&source, &bytes).unwrap();
    let c = id("c");
    let drafts: Vec<NodeDraft> = {
        let nodes = block_on(source.nodes(&c, NodeRange::first_n(6).unwrap())).unwrap();
        let draft = |node: memory_core::Node| {
            NodeDraft::new(node.message, node.at, node.tokens)
                .importance(node.importance)
                .topics(node.topics)
                .relates_to(node.relates_to)
                .salt([0; 16])
        };
        nodes.into_iter().map(draft).collect()
    };
    let events: Vec<Event> = {
        let summaries = block_on(source.summaries(&c)).unwrap();
        let pin = Event::Pin { node: node(2), pinned: true };
        [pin].into_iter().chain(summaries.into_iter().map(|summary| Event::Summary(summary.body))).collect()
    };
    for nodes in 1..=drafts.len() {
        for recorded in 0..=events.len() * usize::from(nodes == drafts.len()) {
            let store = MemoryStore::default();
            block_on(store.append(&c, drafts[..nodes].to_vec())).unwrap();
            events[..recorded].iter().for_each(|event| {
                block_on(store.record(&c, vec![event.clone()])).unwrap();
            });
            let imported = import(&store, &bytes).unwrap();
            assert_eq!(imported.new_nodes, 6 - nodes as u64);
            assert_eq!(export(&store, "c"), bytes, "stopped behind node {nodes} and event {recorded}");
        }
    }
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    let bytes = sample_export(4);
    for length in 0..bytes.len() {
        let error = open(&bytes[..length]).unwrap_err();
        let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(matches!(error, ExchangeError::Cut { lines, .. } if lines == whole), "at {length}: {error}");
        assert!(error.is_damage());
    }
}

#[test]
fn a_file_without_one_of_its_lines_or_with_one_twice_is_refused() {
    let all = lines(&sample_export(4));
    for index in 0..all.len() {
        let (mut without, mut twice) = (all.clone(), all.clone());
        without.remove(index);
        twice.insert(index, all[index].clone());
        for lines in [without, twice] {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            assert!(open(text.as_bytes()).is_err(), "line {index}");
        }
    }
}

#[test]
fn every_flipped_byte_is_an_error() {
    let bytes = sample_export(3);
    for index in 0..bytes.len() {
        for flip in [0x01, 0x04, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[index] ^= flip;
            assert!(open(&changed).is_err(), "byte {index} as {:#x}", changed[index]);
        }
    }
}

#[test]
fn a_file_that_was_sealed_anew_is_still_read_critically() {
    let mut all = lines(&sample_export(4));
    all.pop();
    let check = |from: &str, to: &str, expected: &str| {
        let mut changed = all.clone();
        let line = changed.iter_mut().find(|line| line.contains(from)).unwrap();
        *line = line.replace(from, to);
        let error = open(&sealed(&changed)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.ends_with("nothing was imported"), "{error}");
    };
    check("message 3", "massage 3", "its messages give the root");
    check(r#""salt":"0"#, r#""salt":"1"#, "its messages give the root");
    check(r#""salt":"0"#, r#""salt":"+"#, "x.jsonl:2: expected node 1: a salt has 32 hexadecimal digits");
    check(r#""key":"key 4""#, r#""key":"key 2""#, "x.jsonl:5: another message has the key `key 2`, too");
    check(r#""node":2,"salt""#, r#""node":3,"salt""#, "x.jsonl:3: node 3 stands where node 2 belongs");
    check(r#""importance":0.1,"#, r#""importance":1.5,"#, "an importance lies in 0..=1, not at 1.5");
    check(r#""tokens":14,"#, r#""tokens":14,"more":1,"#, "x.jsonl:3: expected node 2: unknown field `more`");
    check(r#""nodes":4"#, r#""nodes":5"#, "x.jsonl:6: expected node 5: ");
    check(r#""level":"META","first":1"#, r#""level":"META","first":2"#, "leaves a gap or overlap");
    check(r#""summary":3"#, r#""summary":2"#, "x.jsonl:8: summary s2 stands after one with the same");
    open(&sealed(&all)).unwrap();
    let newer = all[0].replace(r#""memory_export":1"#, r#""memory_export":7,"more":3"#);
    let error = open(format!("{newer}\n").as_bytes()).unwrap_err();
    assert!(matches!(error, ExchangeError::NewerFormat { found: 7, supported: 6, .. }), "{error}");
}

#[test]
fn an_export_names_the_owner_and_the_import_keeps_it() {
    let ana = OwnerId::new("ana").unwrap();
    let store = MemoryStore::default();
    let drafts = (0..3).map(|n| NodeDraft::new(Message::user(format!("said {n}")), Timestamp::from_millis(n), 2));
    block_on(store.append_for(Some(&ana), &id("c"), drafts.collect())).unwrap();
    let bytes = export(&store, "c");
    let all = lines(&bytes);
    assert!(all[0].starts_with(r#"{"memory_export":2,"#) && all[0].ends_with(r#""owner":"ana"}"#), "{}", all[0]);
    let again = MemoryStore::default();
    import(&again, &bytes).unwrap();
    import(&again, &bytes).expect("completed by importing again");
    assert_eq!(block_on(again.conversation(&id("c"))).unwrap().owner, Some(ana));
    assert_eq!(export(&again, "c"), bytes);
    // Imported for another owner, it is that owner's.
    let (whole, ben) = (Arc::new(MemoryStore::default()), OwnerId::new("ben").unwrap());
    import(&OwnedStore::new(whole.clone(), ben.clone()), &bytes).unwrap();
    assert_eq!(block_on(whole.conversation(&id("c"))).unwrap().owner, Some(ben));
    let bad = |from: &str, to: &str| {
        let header = all[0].replace(from, to);
        let error =
            open(&sealed(&[std::slice::from_ref(&header), &all[1..all.len() - 1]].concat())).unwrap_err().to_string();
        assert!(error.contains("an owner stands in format 2 and later"), "{error}");
    };
    bad(r#""memory_export":2"#, r#""memory_export":1"#);
    bad(r#","owner":"ana""#, "");
}

#[test]
fn of_a_conversation_without_messages_nothing_is_made() {
    let all = lines(&sample_export(4));
    let mut header: Value = serde_json::from_str(&all[0]).unwrap();
    header["nodes"] = 0.into();
    header["summaries"] = 0.into();
    header["root"] = TreeHead::of(&[]).root.to_string().into();
    let store = MemoryStore::default();
    let imported = import(&store, &sealed(&[header.to_string()])).unwrap();
    assert_eq!((imported.nodes, imported.new_nodes, imported.new_summaries), (0, 0, 0));
    assert!(block_on(store.conversations()).unwrap().is_empty());
}

#[test]
fn another_conversation_of_that_name_is_left_alone() {
    let bytes = sample_export(4);
    let store = MemoryStore::default();
    block_on(store.append(&id("c"), vec![NodeDraft::new(Message::user("message 1"), Timestamp::default(), 1)]))
        .unwrap();
    let before = export(&store, "c");
    let error = import(&store, &bytes).unwrap_err();
    assert!(matches!(&error, ExchangeError::Differs { node, .. } if node.get() == 1), "{error}");
    assert_eq!(export(&store, "c"), before);

    let (mut file, other) = (open(&bytes).unwrap(), id("other"));
    block_on(super::import(&store, &mut file, Some(&other), None, &())).unwrap();
    let verified = block_on(store.verify(Some(&other))).unwrap();
    assert_eq!(verified.root, file.root(), "the name is not hashed");
}

#[test]
fn a_conversation_that_went_on_keeps_what_it_has() {
    let bytes = sample_export(4);
    let store = MemoryStore::default();
    import(&store, &bytes).unwrap();
    block_on(store.append(&id("c"), vec![NodeDraft::new(Message::user("more"), Timestamp::default(), 1)])).unwrap();
    let events = vec![
        Event::Title("Mine".into()),
        Event::Pin { node: node(3), pinned: true },
        summary(Level::Summary, (5, 5), &[]),
    ];
    block_on(store.record(&id("c"), events)).unwrap();
    let before = export(&store, "c");
    let imported = import(&store, &bytes).unwrap();
    assert_eq!((imported.nodes, imported.new_nodes, imported.new_summaries), (4, 0, 0));
    assert_eq!(export(&store, "c"), before);
}

/// Acts while a batch is on its way.
struct Meanwhile<'a>(&'a (dyn Fn() + Sync));

impl Progress for Meanwhile<'_> {
    fn report(&self, _done: u64, _total: u64) {
        self.0();
    }
}

#[test]
fn an_export_is_of_one_moment_whatever_happens_meanwhile() {
    let store = MemoryStore::default();
    fill(&store, plain(40));
    let before = export(&store, "c");
    let append = || {
        let more = NodeDraft::new(Message::user("more"), Timestamp::default(), 1);
        let node = block_on(store.append(&id("c"), vec![more])).unwrap()[0].node.get();
        block_on(store.record(&id("c"), vec![summary(Level::Summary, (node, node), &[])])).unwrap();
    };
    let mut bytes = Vec::new();
    block_on(super::export(&store, &id("c"), &mut bytes, &Meanwhile(&append))).unwrap();
    assert!(block_on(store.conversation(&id("c"))).unwrap().nodes > 40, "something happened");
    assert_eq!(bytes, before);
}

#[test]
fn an_import_stops_when_somebody_else_appends_to_the_conversation() {
    let source = MemoryStore::default();
    fill(&source, plain(super::RUN + 2));
    let mut file = open(&export(&source, "c")).unwrap();
    let to = MemoryStore::default();
    let append = || {
        let other = NodeDraft::new(Message::user("other"), Timestamp::default(), 1);
        block_on(to.append(&id("c"), vec![other])).unwrap();
    };
    let error = block_on(super::import(&to, &mut file, None, None, &Meanwhile(&append))).unwrap_err();
    let first_of_the_other = super::RUN as u64 + 1;
    assert!(matches!(&error, ExchangeError::Interleaved { node, .. } if node.get() == first_of_the_other), "{error}");
}

#[test]
fn what_was_made_from_a_lost_summary_is_left_out_and_the_rest_is_numbered_anew() {
    let store = MemoryStore::default();
    fill(&store, plain(4));
    store.lose_summary(&id("c"), SummaryId::new(2).unwrap());
    block_on(store.record(&id("c"), vec![summary(Level::Meta, (3, 4), &[3, 4])])).unwrap();
    let to = MemoryStore::default();
    let imported = import(&to, &export(&store, "c")).unwrap();
    assert_eq!((imported.summaries, imported.new_summaries, imported.orphaned_summaries), (6, 4, 2));
    let summaries = block_on(to.summaries(&id("c"))).unwrap();
    let numbers: Vec<_> = summaries.iter().map(|s| s.id.get()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let spans: Vec<_> = summaries.iter().map(|s| s.body.span.to_string()).collect();
    assert_eq!(spans, ["1", "3", "4", "3-4"]);
    assert_eq!(summaries[3].body.children.iter().map(|child| child.get()).collect::<Vec<_>>(), [2, 3]);
}
