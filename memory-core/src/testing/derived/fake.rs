//! Derived data in memory that passes the suite, so that the suite itself is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use super::{DerivedUnderTest, derived_conformance};
use crate::{
    ConversationId, Hash, NodeId,
    port::{
        BoxFuture, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten, Holding, Holdings,
    },
};

/// The derived bytes of each node with their hash.
type Nodes = BTreeMap<u64, (Vec<u8>, Hash)>;

#[derive(Clone, Debug, Default)]
struct Fake {
    all: Arc<Mutex<BTreeMap<ConversationId, Nodes>>>,
    keeps_forgotten_ones: bool,
}

fn size(nodes: &Nodes) -> DerivedSize {
    let disk = nodes.values().map(|(bytes, _)| bytes.len() as u64).sum();
    DerivedSize::default().count(nodes.len() as u64).disk(disk)
}

impl Derived for Fake {
    fn kind(&self) -> DerivedKind {
        DerivedKind::Words
    }

    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>> {
        let holding = |(id, nodes): (&ConversationId, &Nodes)| {
            Holding::new(id.clone(), nodes.keys().last().copied().unwrap_or(0), size(nodes))
        };
        let all = self.all.lock().unwrap().iter().map(holding).collect();
        Box::pin(async move { Ok(Holdings::new(all, DerivedSize::default())) })
    }

    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>> {
        let mut all = self.all.lock().unwrap();
        match (what.nodes, all.get_mut(what.conversation)) {
            _ if self.keeps_forgotten_ones => {}
            (Some(gone), Some(nodes)) => nodes.retain(|node, _| !gone.contains(NodeId::new(*node).unwrap())),
            (None, _) => drop(all.remove(what.conversation)),
            (Some(_), None) => {}
        }
        Box::pin(async { Ok(Forgotten::All) })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>> {
        let mut faults = Vec::new();
        for (id, nodes) in self.all.lock().unwrap().iter() {
            let bad = nodes.iter().filter(|(_, (bytes, hash))| Hash::of_parts([bytes.as_slice()]) != *hash);
            faults
                .extend(bad.map(|(node, _)| DerivedFault::new(Some(id.clone()), format!("node {node}"), "it changed")));
        }
        Box::pin(async move { Ok(faults) })
    }
}

fn bytes(conversation: &ConversationId, node: u64) -> Vec<u8> {
    format!("<node {node} of {conversation}>").into_bytes()
}

impl DerivedUnderTest for Fake {
    fn open(&self) -> Arc<dyn Derived> {
        Arc::new(self.clone())
    }

    fn derive(&self, conversation: &ConversationId, through: u64) {
        let mut all = self.all.lock().unwrap();
        let nodes = all.entry(conversation.clone()).or_default();
        for node in 1..=through {
            let bytes = bytes(conversation, node);
            nodes.insert(node, (bytes.clone(), Hash::of_parts([bytes.as_slice()])));
        }
    }

    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        self.all.lock().unwrap().get(conversation).map(|nodes| nodes.keys().copied().collect()).unwrap_or_default()
    }

    fn at_rest(&self) -> Vec<u8> {
        self.all.lock().unwrap().values().flat_map(BTreeMap::values).flat_map(|(bytes, _)| bytes.clone()).collect()
    }

    fn bytes_of(&self, conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        Some(bytes(conversation, node))
    }

    fn flip(&self, nth: usize) -> bool {
        let mut all = self.all.lock().unwrap();
        let mut at_rest = all.values_mut().flat_map(BTreeMap::values_mut).flat_map(|(bytes, _)| bytes);
        at_rest.nth(nth).map(|byte| *byte ^= 1).is_some()
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

#[test]
fn a_fake_passes_the_suite_of_derived_data() {
    derived_conformance(&Fake::default());
}

#[test]
#[should_panic(expected = "node 6 is forgotten")]
fn derived_data_that_only_claims_to_forget_does_not_pass() {
    derived_conformance(&Fake { keeps_forgotten_ones: true, ..Fake::default() });
}
