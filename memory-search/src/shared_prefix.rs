//! Prefixes that forks share, whose messages are searched once.

use std::collections::{BTreeMap, HashMap};

use memory_core::{
    ConversationId,
    port::{ConversationState, ForkedFrom, Source, StoreError},
};

/// For each conversation, the number of first nodes that an earlier conversation covers. `first` comes first; parents
/// come before their forks, and otherwise the order is by name.
pub(crate) async fn seen_before(
    source: &dyn Source,
    states: &[ConversationState],
    first: Option<&ConversationId>,
) -> Result<Vec<u64>, StoreError> {
    let mut seen = vec![0; states.len()];
    // A single conversation does not need its ancestors, which may be unreadable.
    if states.len() < 2 || states.iter().all(|state| state.forked_from.is_none()) {
        return Ok(seen);
    }
    let mut parents: HashMap<ConversationId, Option<ForkedFrom>> =
        states.iter().map(|state| (state.id.clone(), state.forked_from.clone())).collect();
    let mut lineages = Vec::with_capacity(states.len());
    for (place, state) in states.iter().enumerate() {
        lineages.push((lineage(source, state, &mut parents).await?, place));
    }
    let is_first = |lineage: &[(ConversationId, u64)]| lineage.first().map(|(own, _)| own) == first;
    lineages.sort_by_key(|(lineage, place)| (!is_first(lineage), lineage.len(), *place));
    // The messages that a conversation shares with others are always its first ones.
    let mut covered: BTreeMap<ConversationId, u64> = BTreeMap::new();
    for (lineage, place) in lineages {
        let shared = lineage.iter().filter_map(|(owner, until)| Some(*covered.get(owner)?.min(until)));
        if let Some(seen) = seen.get_mut(place) {
            *seen = shared.max().unwrap_or(0);
        }
        for (owner, until) in lineage {
            let covered = covered.entry(owner).or_default();
            *covered = (*covered).max(until);
        }
    }
    Ok(seen)
}

/// The conversation and its ancestors, nearest first, each with the last node that they share.
async fn lineage(
    source: &dyn Source,
    state: &ConversationState,
    parents: &mut HashMap<ConversationId, Option<ForkedFrom>>,
) -> Result<Vec<(ConversationId, u64)>, StoreError> {
    let mut lineage = vec![(state.id.clone(), state.nodes)];
    let (mut from, mut until) = (state.forked_from.clone(), state.nodes);
    while let Some(ForkedFrom { conversation, node }) = from {
        until = until.min(node.get());
        from = match parents.get(&conversation) {
            Some(known) => known.clone(),
            None => {
                let found = source.conversation(&conversation).await?.forked_from;
                parents.insert(conversation.clone(), found.clone());
                found
            }
        };
        lineage.push((conversation, until));
    }
    Ok(lineage)
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, NodeDraft, NodeId, Timestamp, port::Store, testing::MemoryStore};

    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::new(name).unwrap()
    }

    fn append(store: &MemoryStore, to: &str, count: u64) {
        let draft = |n| NodeDraft::new(Message::user(format!("{to} {n}")), Timestamp::from_millis(n), 1);
        let drafts = (0..i64::try_from(count).unwrap()).map(draft).collect();
        pollster::block_on(store.append(&id(to), drafts)).unwrap();
    }

    fn fork(store: &MemoryStore, parent: &str, node: u64, child: &str, more: u64) {
        pollster::block_on(store.fork(&id(parent), NodeId::new(node).unwrap(), &id(child))).unwrap();
        append(store, child, more);
    }

    fn seen(store: &MemoryStore, among: &[&str]) -> Vec<u64> {
        seen_after(store, None, among)
    }

    fn seen_after(store: &MemoryStore, first: Option<&str>, among: &[&str]) -> Vec<u64> {
        pollster::block_on(async {
            let mut states = Vec::new();
            for name in among {
                states.push(store.conversation(&id(name)).await.unwrap());
            }
            seen_before(store, &states, first.map(id).as_ref()).await.unwrap()
        })
    }

    #[test]
    fn each_message_is_seen_once() {
        let store = MemoryStore::default();
        append(&store, "z-trunk", 20);
        fork(&store, "z-trunk", 10, "a", 5);
        fork(&store, "z-trunk", 15, "b", 5);
        fork(&store, "a", 13, "c", 2);
        fork(&store, "a", 4, "d", 1);
        append(&store, "e", 3);
        assert_eq!(seen(&store, &["a", "b", "c", "d", "e", "z-trunk"]), [10, 15, 13, 4, 0, 0]);
        assert_eq!(seen(&store, &["c", "z-trunk"]), [10, 0], "a parent that is not searched has nothing to show");
        assert_eq!(seen(&store, &["a", "b"]), [0, 10], "nor has one that both share");
        assert_eq!(seen(&store, &["c", "d"]), [0, 4]);
        assert_eq!(seen(&store, &["c"]), [0]);
        // Nodes of the conversation that asks are its own, also where it is a fork.
        assert_eq!(seen_after(&store, Some("c"), &["a", "c", "z-trunk"]), [13, 0, 10]);
        assert_eq!(seen_after(&store, Some("e"), &["a", "e", "z-trunk"]), [10, 0, 0]);
    }
}
