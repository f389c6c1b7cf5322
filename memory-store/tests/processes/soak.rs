//! Many writers and readers in several processes, and segments replaced, compressed and backed up beneath them.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdout},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId, Hash, Level, Message, MessageKey, NodeDraft, NodeId, NodeRange, SummaryDraft, Timestamp, WrittenBy,
    port::{Event, Source, Store},
};
use memory_store::{CompressionOptions, LogOptions, LogStore, VacuumOptions, check_backup};

use crate::child;

const WRITERS: usize = 64;
const READERS: usize = 8;
const CONVERSATIONS: usize = 5;

/// Duration of the test; `MEMORY_SOAK_SECONDS` sets another.
fn duration() -> Duration {
    Duration::from_secs(env::var("MEMORY_SOAK_SECONDS").map_or(1, |seconds| seconds.parse().unwrap()))
}

fn id(index: usize) -> ConversationId {
    ConversationId::new(&format!("talk-{}", index % CONVERSATIONS)).unwrap()
}

/// Another process.
struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(mode: &str, store: &Path) -> Self {
        let arguments = [mode, store.to_str().unwrap(), "other"];
        let (child, output) = child::start("soak_worker::as_a_child_works_until_it_is_asked", &arguments);
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the other process is gone");
        line.trim_end().to_owned()
    }

    /// Sends a line and returns the answer.
    fn ask(&mut self) -> String {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.line()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The child has ended, unless the test failed.
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

/// Stops all threads when it is dropped, after a panic too.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn summary(node: NodeId) -> Event {
    Event::Summary(SummaryDraft::new(
        Level::Summary,
        NodeRange::single(node),
        format!("about node {node}"),
        3,
        WrittenBy::new("soak", "1"),
        Hash::of_parts([node.get().to_le_bytes().as_slice()]),
    ))
}

/// Acknowledged messages: conversation, node and text.
type Acknowledged = Mutex<BTreeMap<(ConversationId, NodeId), String>>;

/// Appends, every third message with a key and twice, summarizes and pins.
fn write(store: &LogStore, writer: usize, stop: &AtomicBool, acknowledged: &Acknowledged) {
    let mut number = 0usize;
    while !stop.load(Ordering::Relaxed) {
        let id = id(writer + number);
        let text = format!("{writer}-{number} {}", "x".repeat(number % 300));
        let mut draft = NodeDraft::new(Message::user(text.as_str()), Timestamp::from_millis(0), 1);
        let keyed = number.is_multiple_of(3);
        draft.message.key = keyed.then(|| MessageKey::new(&format!("{writer}-{number}")).unwrap());
        let appended = pollster::block_on(store.append(&id, vec![draft.clone()])).unwrap()[0];
        let doubled = acknowledged.lock().unwrap().insert((id.clone(), appended.node), text);
        assert_eq!(doubled, None, "node {} of {id} was given out twice", appended.node);
        if keyed {
            let again = pollster::block_on(store.append(&id, vec![draft])).unwrap()[0];
            assert_eq!(again.node, appended.node, "the same key is the same node");
        }
        if number.is_multiple_of(5) {
            let pin = Event::Pin { node: appended.node, pinned: number.is_multiple_of(2) };
            let title = Event::Title(format!("{writer}-{number}"));
            pollster::block_on(store.record(&id, vec![summary(appended.node), pin, title])).unwrap();
        }
        number += 1;
    }
}

/// Reads acknowledged messages, which must be there unchanged.
fn read(store: &LogStore, reader: usize, stop: &AtomicBool, acknowledged: &Acknowledged) {
    let mut round = reader;
    while !stop.load(Ordering::Relaxed) {
        let some: Vec<_> = {
            let acknowledged = acknowledged.lock().unwrap();
            let skipped = round * 37 % acknowledged.len().max(1);
            acknowledged.iter().skip(skipped).take(3).map(|(place, text)| (place.clone(), text.clone())).collect()
        };
        for ((id, node), text) in some {
            let read = pollster::block_on(store.node(&id, node)).unwrap();
            assert_eq!(read.message.text(), text, "node {node} of {id}");
            assert!(pollster::block_on(store.conversation(&id)).unwrap().nodes >= node.get());
            pollster::block_on(store.summaries(&id)).unwrap();
        }
        round += 1;
    }
}

#[test]
fn many_writers_and_readers_in_several_processes_lose_nothing_and_agree() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let options = LogOptions::default().segment_bytes(256 << 10).checkpoint_bytes(64 << 10);
    let store = LogStore::open_with(&path, options).unwrap();
    let reader = LogStore::open_read_only(&path).unwrap();
    let (stop, acknowledged) = (AtomicBool::new(false), Acknowledged::default());
    let mut others = [Worker::start("write", &path), Worker::start("read", &path)];
    let (mut replaced, mut backups) = (0, 0);
    thread::scope(|scope| {
        let (store, reader, stop, acknowledged) = (&store, &reader, &stop, &acknowledged);
        let _stop = Stop(stop);
        for writer in 0..WRITERS {
            scope.spawn(move || write(store, writer, stop, acknowledged));
        }
        for number in 0..READERS {
            let store = if number % 2 == 0 { store } else { reader };
            scope.spawn(move || read(store, number, stop, acknowledged));
        }
        let began = Instant::now();
        let kinds = [
            VacuumOptions::default(),
            VacuumOptions::compress(CompressionOptions::default().level(1)),
            VacuumOptions::expand(),
        ];
        for kind in kinds.into_iter().cycle() {
            pollster::block_on(store.seal()).unwrap();
            replaced += store.vacuum(kind, &()).unwrap().replaced;
            store.backup(&backup, &()).unwrap();
            backups += 1;
            if began.elapsed() >= duration() && backups >= kinds.len() {
                break;
            }
        }
    });
    let [by_writer, by_reader] = others.each_mut().map(|other| other.ask().parse::<u64>().unwrap());
    assert!(
        by_writer > 0 && by_reader > 0 && replaced > 0 && check_backup(&backup, None, &()).unwrap().damaged.is_empty()
    );

    let acknowledged = acknowledged.into_inner().unwrap();
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{:?}", verified.damage);
    assert_eq!(verified.nodes, acknowledged.len() as u64 + by_writer, "no gap and no double");
    for index in 0..CONVERSATIONS {
        let id = id(index);
        let nodes = pollster::block_on(reader.nodes(&id, NodeRange::first_n(1 << 40).unwrap())).unwrap();
        let here = acknowledged.iter().filter(|((of, _), _)| *of == id);
        assert!(here.map(|((_, node), text)| (*node, text.clone())).eq(nodes.iter().map(|n| (n.id, n.message.text()))));
    }
    let should = format!("{} {} {}", verified.nodes, verified.verified, verified.root);
    for other in &mut others {
        assert_eq!(other.ask(), should, "every process verifies the same");
        assert!(other.child.wait().unwrap().success());
    }
    let again = pollster::block_on(reader.verify(None)).unwrap();
    assert_eq!(format!("{} {} {}", again.nodes, again.verified, again.root), should);
    println!(
        "{} nodes, {by_reader} rounds of reading, {replaced} segments replaced, {backups} backups",
        verified.nodes
    );
}
