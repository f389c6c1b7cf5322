//! The conformance suite of [`Source`]: requirements of everything that is searched.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a suite of tests: a breach panics")]

use crate::{
    ConversationId, Node, NodeId, NodeOutline, NodeRange,
    port::{Source, StoreError},
};

/// Checks that `source` fulfils the contract of [`Source`], and that it has just these conversations with these nodes,
/// all readable.
///
/// # Panics
/// At the first breach, with its description.
pub async fn source_conformance(source: &dyn Source, holds: &[(ConversationId, Vec<Node>)]) {
    let mut names: Vec<_> = holds.iter().map(|(name, _)| name).collect();
    names.sort();
    let states = source.conversations().await.unwrap();
    assert_eq!(states.iter().map(|state| &state.id).collect::<Vec<_>>(), names, "all, by name");
    for state in states {
        assert_eq!(source.conversation(&state.id).await.unwrap(), state, "one by one as in the list");
    }
    for (name, nodes) in holds {
        one_conversation(source, name, nodes).await;
    }
    let none = ConversationId::new("nobody-has-this-name").unwrap();
    let all = NodeRange::single(NodeId::FIRST);
    let unknown = |error: StoreError| matches!(error, StoreError::UnknownConversation { .. });
    assert!(unknown(source.conversation(&none).await.unwrap_err()));
    assert!(unknown(source.readable_nodes(&none, all).await.unwrap_err()));
    assert!(unknown(source.outline(&none).await.unwrap_err()));
    assert!(unknown(source.summaries(&none).await.unwrap_err()));
}

async fn one_conversation(source: &dyn Source, name: &ConversationId, nodes: &[Node]) {
    let state = source.conversation(name).await.unwrap();
    let count = nodes.len() as u64;
    assert_eq!(state.nodes, count, "{name}");
    assert_eq!(state.tokens, nodes.iter().map(|node| u64::from(node.tokens)).sum::<u64>(), "{name}");
    let known = nodes.iter().rfind(|node| node.at.is_known()).or(nodes.last());
    let ends = (nodes.first().map(|node| node.at), known.map(|node| node.at));
    assert_eq!((state.first_at, state.last_at), ends, "{name}");
    assert!(nodes.iter().enumerate().all(|(index, node)| node.id == NodeId::from_index(index)), "numbered from 1");
    for (first, last) in [(1, count), (1, 1), (2, count + 9), (count, count), (count + 1, count + 2)] {
        let Some(range) = NodeId::new(first).zip(NodeId::new(last)).and_then(|(a, b)| NodeRange::new(a, b)) else {
            continue;
        };
        let read = source.readable_nodes(name, range).await.unwrap();
        assert!(read.losses.is_empty(), "{name}, {range}: {:?}", read.losses);
        let from = usize::try_from(first - 1).unwrap().min(nodes.len());
        let to = usize::try_from(last).unwrap().min(nodes.len());
        assert_eq!(read.nodes, nodes[from..to.max(from)], "{name}: the nodes {range} that there are");
    }
    let outline: Vec<_> = nodes.iter().map(NodeOutline::of).collect();
    assert_eq!(source.outline(name).await.unwrap(), outline, "{name}");
    let summaries = source.summaries(name).await.unwrap();
    assert!(summaries.is_sorted_by_key(|summary| summary.id), "{name}: by number");
    assert!(summaries.iter().all(|summary| summary.body.span.last().get() <= count), "{name}: of nodes that are there");
}
