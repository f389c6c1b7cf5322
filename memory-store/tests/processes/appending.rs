//! Processes that append to one store: killed or stopped in the middle of writing, and writing at once.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command},
    time::Duration,
};

use memory_core::{
    ConversationId, Message, NodeDraft, NodeId, NodeRange, Timestamp,
    port::{Store, StoreError},
};
use memory_store::{LogOptions, LogStore, check_backup, restore};

use crate::child;

/// Rounds of killing; `MEMORY_CRASH_ROUNDS` asks for more.
const ROUNDS: u32 = 20;

type Output = BufReader<ChildStdout>;

fn start(store: &Path, threads: u32) -> (Child, Output) {
    start_with(store, threads, None)
}

/// A child that does other work as well while it appends.
fn start_with(store: &Path, threads: u32, work: Option<&str>) -> (Child, Output) {
    let threads = threads.to_string();
    let arguments = [store.to_str().unwrap(), "talk", &threads].into_iter().chain(work);
    child::start("appender::as_a_child_appends_until_it_is_killed", &arguments.collect::<Vec<_>>())
}

/// Acknowledged messages: the lines that a child printed before it died, without a line that was cut short.
fn acknowledged(mut output: impl Read) -> BTreeMap<NodeId, String> {
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line: &str| {
        let (node, text) = line.split_once(' ').unwrap();
        (NodeId::new(node.parse().unwrap()).unwrap(), text.to_owned())
    };
    whole.lines().filter(|text| !["worked", ""].contains(text)).map(line).collect()
}

/// Kills a child over and over, at one store. Each round it does the next of `works` beside appending.
fn lossless_when_killed(works: &[Option<&str>]) {
    let rounds = env::var("MEMORY_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("store");
    let backup = outside.path().join("store.backup");
    let talk = ConversationId::new("talk").unwrap();
    let mut known: BTreeMap<NodeId, String> = BTreeMap::new();
    for (round, work) in (0..rounds).zip(works.iter().cycle()) {
        let (mut child, mut output) = start_with(&dir, 1 + round % 4, *work);
        // The kill comes after a number of acknowledgements that differs from round to round; where in a
        // write it hits is left to chance.
        let mut head = String::new();
        let lines = 1 + (round * 13) % 97;
        // In the first round with a kind of work, that was done once.
        let (mut told, mut worked) = (0, round as usize >= works.len() || work.is_none_or(|work| work == "checkpoint"));
        while told < lines || !worked {
            let start = head.len();
            assert!(output.read_line(&mut head).unwrap() > 0, "round {round}: the child is gone");
            match &head[start..] {
                "worked\n" => worked = true,
                _ => told += 1,
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let of_this_round = acknowledged(head.as_bytes().chain(output));
        assert!(of_this_round.len() >= lines as usize, "round {round}: the child wrote less than it was waited for");
        for (node, text) in of_this_round {
            assert!(known.insert(node, text).is_none(), "round {round}: node {node} was given out twice");
        }

        let store = LogStore::open(&dir).unwrap();
        assert!(store.report().damage.is_empty(), "round {round}: {:?}", store.report().damage);
        let Some(last) = known.keys().next_back() else { continue };
        let all = NodeRange::new(NodeId::FIRST, NodeId::new(last.get() + 1_000).unwrap()).unwrap();
        let nodes = pollster::block_on(store.nodes(&talk, all)).unwrap();
        for (node, text) in &known {
            assert_eq!(nodes[node.index()].message.text(), *text, "round {round}: node {node}");
        }
        let verified = pollster::block_on(store.verify(None)).unwrap();
        assert!(verified.is_whole(), "round {round}: {:?}", verified.damage);
        assert_eq!(verified.verified, nodes.len() as u64);
        // Messages may be there that were written but not acknowledged; from now on they stay.
        known = nodes.into_iter().map(|node| (node.id, node.message.text())).collect();
        // A backup is there once its manifest is, and is never half of one.
        if backup.join("MANIFEST").exists() {
            let check = check_backup(&backup, None, &()).unwrap();
            assert_eq!(check.damaged, [], "round {round}");
            let restored = outside.path().join(format!("restored-{round}"));
            restore(&backup, &restored, &()).unwrap();
            let restored = LogStore::open_read_only(&restored).unwrap();
            assert!(pollster::block_on(restored.verify(None)).unwrap().is_whole(), "round {round}");
        }
    }
    assert!(!works.contains(&Some("backup")) || backup.join("MANIFEST").exists(), "no backup was ever finished");
}

#[test]
fn lossless_when_the_process_is_killed_in_the_middle_of_writing() {
    lossless_when_killed(&[None]);
}

#[test]
fn lossless_when_the_process_is_killed_while_segments_checkpoints_and_backups_are_written() {
    lossless_when_killed(&[Some("vacuum"), Some("compress"), Some("backup"), Some("checkpoint"), Some("expand")]);
}

/// Reads lines until one begins with this word.
fn read_until(output: &mut impl BufRead, word: &str) {
    let mut line = String::new();
    while line.split_whitespace().next() != Some(word) {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the child is gone");
    }
}

#[test]
fn another_process_writes_and_reads_while_one_is_writing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut output) = start(dir.path(), 1);
    read_until(&mut output, "1");
    let writer = LogStore::open(dir.path()).unwrap();
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    let talk = ConversationId::new("talk").unwrap();
    for round in 0..20 {
        let draft = NodeDraft::new(Message::user(format!("ours {round}")), Timestamp::from_millis(0), 1);
        let appended = pollster::block_on(writer.append(&talk, vec![draft])).unwrap();
        let seen = pollster::block_on(reader.node(&talk, appended[0].node)).unwrap();
        assert_eq!(seen.message.text(), format!("ours {round}"), "what one process was told is kept, all see");
        // The other way round: a message that the child printed is there for us.
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let (node, text) = line.trim_end_matches('\n').split_once(' ').unwrap();
        for store in [&writer, &reader] {
            let seen = pollster::block_on(store.node(&talk, NodeId::new(node.parse().unwrap()).unwrap())).unwrap();
            assert_eq!(seen.message.text(), text);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let draft = NodeDraft::new(Message::user("behind the dead"), Timestamp::from_millis(0), 1);
    pollster::block_on(writer.append(&talk, vec![draft])).expect("a dead holder is no obstacle");
    for store in [&writer, &reader] {
        assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
    }
}

#[test]
fn four_processes_appending_to_one_conversation_leave_no_gap_no_double_and_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut children, outputs): (Vec<_>, Vec<_>) = (0..4).map(|_| start(dir.path(), 2)).unzip();
    let outputs: Vec<_> = outputs
        .into_iter()
        .map(|mut output| {
            let mut head = String::new();
            // Each gets its turn, however busy the others are.
            for _ in 0..60 {
                assert!(output.read_line(&mut head).unwrap() > 0, "the child is gone");
            }
            (head, output)
        })
        .collect();
    children.iter_mut().for_each(|child| child.kill().unwrap());
    for child in &mut children {
        child.wait().unwrap();
    }
    let told: Vec<_> = outputs.into_iter().map(|(head, output)| acknowledged(head.as_bytes().chain(output))).collect();

    let store = LogStore::open(dir.path()).unwrap();
    assert!(store.report().damage.is_empty(), "{:?}", store.report().damage);
    let talk = ConversationId::new("talk").unwrap();
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{:?}", verified.damage);
    let all = NodeRange::first_n(verified.nodes).unwrap();
    let nodes = pollster::block_on(store.nodes(&talk, all)).unwrap();
    assert!(nodes.iter().map(|node| node.id).eq(all.iter()), "no gap");
    let mut seen = BTreeMap::new();
    for (node, text) in told.iter().flatten() {
        assert_eq!(nodes[node.index()].message.text(), *text);
        assert!(seen.insert(node, text).is_none(), "node {node} was given out twice");
    }
    for of_one in told {
        for thread in ["0-", "1-"] {
            // A thread waits for each answer, so its numbers grow with its messages.
            let numbers: Vec<u64> =
                of_one.values().filter_map(|text| text.strip_prefix(thread)?.split(' ').next()?.parse().ok()).collect();
            assert!(numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        }
    }
}

#[test]
fn a_stuck_writer_is_named_and_the_log_is_whole_when_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogStore::open_with(dir.path(), LogOptions::default().lock_timeout(Duration::from_millis(1))).unwrap();
    let (mut child, mut output) = start(dir.path(), 1);
    read_until(&mut output, "1");
    let signal = |name: &str| {
        let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(done.success());
    };
    let talk = ConversationId::new("talk").unwrap();
    let append = || {
        let draft = NodeDraft::new(Message::user("ours"), Timestamp::from_millis(0), 1);
        pollster::block_on(writer.append(&talk, vec![draft]))
    };
    // Stopped at any moment; most often it holds the lock then, since it does little else than syncing.
    let stuck = (0..2_000).find_map(|_| {
        signal("-STOP");
        match append() {
            // The child may have been stopped before it wrote its name into the lock.
            Err(StoreError::Locked { pid, host, .. }) if pid == child.id() => Some(host),
            Ok(_) | Err(StoreError::Locked { .. }) => {
                signal("-CONT");
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    });
    let host = stuck.expect("it never held the lock when it was stopped");
    assert_eq!(host.as_str(), gethostname::gethostname().to_string_lossy());
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    assert!(pollster::block_on(reader.node(&talk, NodeId::FIRST)).is_ok(), "readers wait for nobody");

    signal("-CONT");
    while append().is_err() {}
    child.kill().unwrap();
    child.wait().unwrap();
    let of_child = acknowledged(output);
    let store = LogStore::open(dir.path()).unwrap();
    for (node, text) in of_child {
        assert_eq!(pollster::block_on(store.node(&talk, node)).unwrap().message.text(), text);
    }
    assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
}
