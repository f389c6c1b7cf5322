//! Several processes and one store: killed in the middle of writing, and kept apart while they live.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use memory_core::{ConversationId, NodeId, NodeRange, Store, StoreError};
use memory_store::LogStore;

/// Rounds of killing; `MEMORY_CRASH_ROUNDS` asks for more.
const ROUNDS: u32 = 20;

/// The example lies beside the directory of the tests' own binaries.
fn appender() -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join("append_until_killed");
    assert!(path.exists(), "{} is not built: run `cargo test -p memory-store` as a whole", path.display());
    path
}

fn start(store: &Path, threads: u32) -> Child {
    let arguments = [store.as_os_str(), "talk".as_ref(), threads.to_string().as_ref()].map(ToOwned::to_owned);
    Command::new(appender()).args(arguments).stdout(Stdio::piped()).spawn().unwrap()
}

/// What a child printed before it died, without a line that was cut short.
fn acknowledged(mut output: impl Read) -> BTreeMap<NodeId, String> {
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line: &str| {
        let (node, text) = line.split_once(' ').unwrap();
        (NodeId::new(node.parse().unwrap()).unwrap(), text.to_owned())
    };
    whole.lines().filter(|text| *text != "open").map(line).collect()
}

#[test]
fn lossless_when_the_process_is_killed_in_the_middle_of_writing() {
    let rounds = env::var("MEMORY_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let talk = ConversationId::new("talk").unwrap();
    let mut known: BTreeMap<NodeId, String> = BTreeMap::new();
    for round in 0..rounds {
        let mut child = start(dir.path(), 1 + round % 4);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // The kill comes after a number of acknowledgements that differs from round to round; where in a
        // write it hits is left to chance.
        let mut head = String::new();
        let lines = 1 + (round * 13) % 97;
        for _ in 0..lines {
            output.read_line(&mut head).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let of_this_round = acknowledged(head.as_bytes().chain(output));
        // The first line only says that the store is open.
        assert!(
            of_this_round.len() + 1 >= lines as usize,
            "round {round}: the child wrote less than it was waited for"
        );
        for (node, text) in of_this_round {
            assert!(known.insert(node, text).is_none(), "round {round}: node {node} was given out twice");
        }

        let store = LogStore::open(dir.path()).unwrap();
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
        // What was written but not acknowledged may be there; from now on it stays.
        known = nodes.into_iter().map(|node| (node.id, node.message.text())).collect();
    }
}

#[test]
fn a_second_process_is_told_who_writes_and_may_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = start(dir.path(), 1);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "1" {
        line.clear();
        output.read_line(&mut line).unwrap();
        line.truncate(line.find(' ').unwrap_or(line.len()));
    }
    let refused = LogStore::open(dir.path()).unwrap_err();
    let StoreError::Locked { pid, host, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(*pid, child.id());
    assert_eq!(host.as_str(), gethostname::gethostname().to_string_lossy());
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    let talk = ConversationId::new("talk").unwrap();
    assert!(pollster::block_on(reader.node(&talk, NodeId::FIRST)).unwrap().message.text().starts_with("0-0 "));
    assert!(pollster::block_on(reader.verify(None)).unwrap().is_whole());

    child.kill().unwrap();
    child.wait().unwrap();
    LogStore::open(dir.path()).expect("a dead holder is no obstacle");
}
