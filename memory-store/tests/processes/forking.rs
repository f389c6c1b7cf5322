//! A process that is killed while it forks conversations and appends to them and to their forks.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, Read},
    path::Path,
};

use memory_core::{
    ConversationId, Node, NodeId, NodeRange, Summary,
    port::{ConversationState, NodeProof, Source, Store},
};
use memory_store::LogStore;

use crate::child;

/// Rounds of killing; `MEMORY_CRASH_ROUNDS` asks for more.
const ROUNDS: u32 = 20;
/// Rounds at one store, so that what is compared after each of them stays small.
const ROUNDS_OF_A_STORE: u32 = 10;

/// Lines that a child printed before it died.
#[derive(Debug, Default)]
struct Acknowledged {
    /// Conversation, node and text.
    said: Vec<(ConversationId, NodeId, String)>,
    /// Child, parent, and the last node that both have in common.
    forked: Vec<(ConversationId, ConversationId, NodeId)>,
}

impl Acknowledged {
    /// Leaves out a line that was cut short.
    fn read(mut output: impl Read) -> Self {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let id = |name: &str| ConversationId::new(name).unwrap();
        let node = |number: &str| NodeId::new(number.parse().unwrap()).unwrap();
        let mut all = Self::default();
        for line in whole.lines() {
            match *line.splitn(4, ' ').collect::<Vec<_>>() {
                ["said", name, number, text] => all.said.push((id(name), node(number), text.to_owned())),
                ["forked", child, parent, number] => all.forked.push((id(child), id(parent), node(number))),
                _ => panic!("not a line of the child's: {line}"),
            }
        }
        all
    }
}

/// All that a store holds of a conversation.
#[derive(Debug, PartialEq)]
struct Contents {
    state: ConversationState,
    nodes: Vec<Node>,
    summaries: Vec<Summary>,
    proofs: Vec<NodeProof>,
}

impl Contents {
    fn texts(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.message.text()).collect()
    }
}

fn contents(store: &LogStore) -> BTreeMap<ConversationId, Contents> {
    pollster::block_on(async {
        let mut all = BTreeMap::new();
        for state in store.conversations().await.unwrap() {
            let (id, range) = (state.id.clone(), NodeRange::first_n(state.nodes).unwrap());
            let nodes = store.nodes(&id, range).await.unwrap();
            let proofs = store.proofs(&id, range).await.unwrap();
            assert_eq!((nodes.len() as u64, proofs.len() as u64), (state.nodes, state.nodes), "{id}");
            let summaries = store.summaries(&id).await.unwrap();
            all.insert(id, Contents { state, nodes, summaries, proofs });
        }
        all
    })
}

/// Runs a child, kills it after some acknowledgements, and returns all of them.
fn run_and_kill(store: &Path, round: u32, work: Option<&str>) -> Acknowledged {
    let (number, threads) = (round.to_string(), (1 + round % 4).to_string());
    let arguments = [store.to_str().unwrap(), &number, &threads].into_iter().chain(work);
    let (mut child, mut output) =
        child::start("forker::as_a_child_forks_until_it_is_killed", &arguments.collect::<Vec<_>>());
    // The kill comes after a number of acknowledgements that differs from round to round; where in a fork or an
    // append it hits is left to chance.
    let mut head = String::new();
    let lines = 1 + (round * 29) % 97;
    for _ in 0..lines {
        assert!(output.read_line(&mut head).unwrap() > 0, "round {round}: the child is gone");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    Acknowledged::read(head.as_bytes().chain(output))
}

/// Checks that a conversation has its shared prefix, and otherwise only its own messages.
fn has_the_right_past(now: &BTreeMap<ConversationId, Contents>, id: &ConversationId, round: u32) {
    let fork = &now[id];
    let mut shared = 0;
    if let Some(from) = &fork.state.forked_from {
        let parent = &now[&from.conversation];
        shared = from.node.index() + 1;
        assert!(fork.nodes.len() >= shared, "round {round}: {id} has less than it shares");
        assert_eq!(fork.texts()[..shared], parent.texts()[..shared], "round {round}: {id}");
        assert_eq!(fork.proofs[..shared], parent.proofs[..shared], "round {round}: {id}");
        // Both were there before it was forked.
        assert!(fork.nodes[from.node.index()].pinned, "round {round}: {id} lost a pin of its past");
        let about = format!("{} about {}", from.conversation, from.node);
        assert!(fork.summaries.iter().any(|summary| summary.body.text == about), "round {round}: {id} lost `{about}`");
    }
    let own = format!("{id} ");
    for text in &fork.texts()[shared..] {
        assert!(text.starts_with(&own), "round {round}: {id} says what was said elsewhere: {text}");
    }
    for summary in fork.summaries.iter().filter(|summary| summary.body.span.last().index() >= shared) {
        assert!(summary.body.text.starts_with(&own), "round {round}: {id} has another's {summary:?}");
    }
}

/// Kills a child over and over, and reads the whole store each time. Returns the final number of forks of forks.
fn lossless_at_a_store(rounds: impl Iterator<Item = u32>) -> usize {
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("store");
    let mut known: BTreeMap<ConversationId, Contents> = BTreeMap::new();
    for round in rounds {
        let work = [None, Some("vacuum"), Some("checkpoint")][round as usize % 3];
        let acknowledged = run_and_kill(&dir, round, work);
        let store = LogStore::open(&dir).unwrap();
        assert!(store.report().damage.is_empty(), "round {round}: {:?}", store.report().damage);
        let verified = pollster::block_on(store.verify(None)).unwrap();
        assert!(verified.is_whole(), "round {round}: {:?}", verified.damage);
        let now = contents(&store);
        assert_eq!(verified.verified, now.values().map(|contents| contents.state.nodes).sum::<u64>());
        for (id, node, text) in acknowledged.said {
            assert_eq!(now[&id].nodes[node.index()].message.text(), text, "round {round}: node {node} of {id}");
        }
        for (child, parent, node) in acknowledged.forked {
            let from = now[&child].state.forked_from.as_ref().map(|from| (&from.conversation, from.node));
            assert_eq!(from, Some((&parent, node)), "round {round}: {child}");
        }
        now.keys().for_each(|id| has_the_right_past(&now, id, round));
        // Events may be there that were written but not acknowledged; from then on they stay.
        for (id, before) in &known {
            let now = &now[id];
            assert_eq!(now.state.forked_from, before.state.forked_from, "round {round}: {id}");
            assert!(now.texts().starts_with(&before.texts()), "round {round}: {id}");
            assert!(now.proofs.starts_with(&before.proofs), "round {round}: {id}");
            assert!(now.summaries.starts_with(&before.summaries), "round {round}: {id}");
        }
        known = now;
        drop(store);
        // Read from the beginning it is the same. In the other rounds the next child begins with the checkpoint.
        if round % 2 == 1 {
            // A short log has no checkpoint.
            if dir.join("cache").exists() {
                fs::remove_dir_all(dir.join("cache")).unwrap();
            }
            let reader = LogStore::open_read_only(&dir).unwrap();
            assert!(contents(&reader) == known, "round {round}: the log and its checkpoint differ");
        }
    }
    let forks = known.values().filter_map(|contents| contents.state.forked_from.as_ref());
    forks.filter(|from| known[&from.conversation].state.forked_from.is_some()).count()
}

#[test]
fn lossless_when_the_process_is_killed_in_the_middle_of_forking() {
    let rounds = env::var("MEMORY_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let stores = (0..rounds).step_by(ROUNDS_OF_A_STORE as usize);
    let forks_of_forks = stores.map(|first| lossless_at_a_store(first..rounds.min(first + ROUNDS_OF_A_STORE)));
    assert!(forks_of_forks.sum::<usize>() > 0, "no fork was ever forked");
}
