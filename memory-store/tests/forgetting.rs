//! A process that is killed while it forgets: reported nodes are forgotten, and nodes that it did not begin are there.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::BTreeSet,
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use memory_core::{
    ConversationId, Message, ModelId, NodeDraft, NodeId, NodeSet, Timestamp,
    port::{
        Derived, Forget, Forgotten, Store, TokenIndex, TokenPart, TokenVectors, VectorIndex, VectorPart, VectorQuery,
    },
};
use memory_store::{DerivedFiles, ExactIndex, LogStore, QuantizedTokens, TokenBits};
use pollster::block_on;

const DIMENSIONS: usize = 48;
const NODES: u64 = 40;
/// Rounds of killing; `MEMORY_CRASH_ROUNDS` asks for more.
const ROUNDS: u64 = 8;
/// Names the store to a child, which is this test again.
const STORE: &str = "MEMORY_TEST_FORGETS_IN";

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn vector(node: u64) -> Vec<f32> {
    let angle = f32::from(u16::try_from(node).unwrap()) / 10.0;
    let mut vector = vec![0.0; DIMENSIONS];
    vector.iter_mut().zip([angle.cos(), angle.sin()]).for_each(|(component, value)| *component = value);
    vector
}

fn indexes(store: &LogStore) -> (ExactIndex, QuantizedTokens) {
    let model = ModelId::new("toy/1");
    (
        ExactIndex::beside(store, model.clone(), DIMENSIONS),
        QuantizedTokens::beside(store, model, DIMENSIONS, TokenBits::Four),
    )
}

/// Makes a store whose messages all have a vector and a token.
fn derive_all(path: &Path) {
    let store = LogStore::open(path).unwrap();
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    block_on(store.append(&talk(), (1..=NODES).map(draft).collect())).unwrap();
    let (vectors, tokens) = indexes(&store);
    for node in 1..=NODES {
        let id = NodeId::new(node).unwrap();
        block_on(vectors.insert(&talk(), &[(id, vec![vector(node)])])).unwrap();
        let said = TokenVectors::new(vec![7], DIMENSIONS, vector(node)).unwrap();
        block_on(tokens.insert(&talk(), &[(id, said)])).unwrap();
        if node % 16 == 0 || node == NODES {
            block_on(vectors.flush()).unwrap();
            block_on(tokens.flush()).unwrap();
        }
    }
}

/// The nodes that have a vector, and those that have tokens.
fn found(store: &LogStore) -> [BTreeSet<u64>; 2] {
    let (talk, (vectors, tokens)) = (talk(), indexes(store));
    let parts = [VectorPart::new(&talk)];
    let hits = block_on(vectors.search(&VectorQuery::new(&vector(1), usize::MAX, &parts))).unwrap().hits;
    let nodes: Vec<_> = (1..=NODES).filter_map(NodeId::new).collect();
    let question = TokenVectors::new(vec![7], DIMENSIONS, vector(1)).unwrap();
    let cosines = block_on(tokens.max_cosines(&question, &[TokenPart::new(&talk, &nodes)])).unwrap().max_cosines;
    let with_tokens = (1..).zip(cosines).filter(|(_, cosines)| cosines.is_some()).map(|(node, _)| node);
    [hits.iter().map(|hit| hit.slot.node.get()).collect(), with_tokens.collect()]
}

fn forget(store: &LogStore, node: u64) {
    let nodes: NodeSet = NodeId::new(node).into_iter().collect();
    let talk = talk();
    for files in [DerivedFiles::vectors(store, None), DerivedFiles::tokens(store, None)] {
        assert_eq!(block_on(files.forget(&Forget::nodes(&talk, &nodes))).unwrap(), Forgotten::All);
    }
}

/// The child: forgets one node after the other, and tells before and after each.
fn forget_until_killed(path: &Path) {
    let store = LogStore::open(path).unwrap();
    for node in (1..=NODES).map(|number| number * 7 % (NODES + 1)) {
        println!("\nbegins {node}");
        forget(&store, node);
        println!("\nforgot {node}");
    }
}

fn numbers<'a>(lines: &'a [String], word: &'a str) -> BTreeSet<u64> {
    lines.iter().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
}

#[test]
fn what_was_reported_as_forgotten_stays_so_and_nothing_else_is_lost_when_the_process_is_killed() {
    if let Some(path) = env::var_os(STORE) {
        return forget_until_killed(Path::new(&path));
    }
    let rounds = env::var("MEMORY_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        derive_all(dir.path());
        let name = "what_was_reported_as_forgotten_stays_so_and_nothing_else_is_lost_when_the_process_is_killed";
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", name, "--nocapture"]).env(STORE, dir.path()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        // In the middle of the work that follows a line; where in it is left to chance.
        let mut lines: Vec<String> = Vec::new();
        while numbers(&lines, "begins ").len() as u64 <= round * 5 % 17 {
            lines.push(output.next().unwrap().unwrap());
        }
        std::thread::sleep(std::time::Duration::from_micros(round * 700 % 5_000));
        child.kill().unwrap();
        child.wait().unwrap();
        lines.extend(output.map_while(Result::ok));
        let (begun, forgotten) = (numbers(&lines, "begins "), numbers(&lines, "forgot "));
        assert!(begun.len() <= forgotten.len() + 1 && !begun.is_empty(), "{lines:?}");

        let store = LogStore::open(dir.path()).unwrap();
        for found in found(&store) {
            assert!(found.is_disjoint(&forgotten), "round {round}: {found:?} after {forgotten:?}");
            let gone: BTreeSet<u64> = (1..=NODES).filter(|node| !found.contains(node)).collect();
            assert!(gone.is_subset(&begun), "round {round}: {gone:?} is gone, {begun:?} was begun");
        }
        // A second call completes the work, and leaves no half-made file.
        for node in begun {
            forget(&store, node);
        }
        for files in [DerivedFiles::vectors(&store, None), DerivedFiles::tokens(&store, None)] {
            assert_eq!(block_on(files.verify()).unwrap(), [], "round {round}");
        }
    }
}
