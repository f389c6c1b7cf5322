//! Limits of the archive.

use memory_core::proof::canonical_bytes;

use super::*;
use crate::{ArchiveLimits, Archived};

fn limited(store: &Arc<CountingStore>, limits: ArchiveLimits) -> HybridRetriever {
    by_words(store).archive_limits(limits)
}

/// The best message for these words.
fn best(retriever: &HybridRetriever, words: &str) -> Option<u64> {
    nodes(&in_talk(retriever, words)).first().copied()
}

fn bytes_of_newest(store: &CountingStore, count: u64) -> u64 {
    let nodes = pollster::block_on(store.conversation(&id("talk"))).unwrap().nodes;
    let run = NodeRange::new(NodeId::new(nodes - count + 1).unwrap(), NodeId::new(nodes).unwrap()).unwrap();
    let read = pollster::block_on(memory_core::port::Source::readable_nodes(store, &id("talk"), run)).unwrap();
    read.nodes.iter().map(|node| canonical_bytes(&node.message, node.at).len() as u64).sum()
}

#[test]
fn messages_beyond_a_limit_are_evicted_oldest_first_and_found_again_without_it() {
    let store = store();
    assert_eq!(best(&by_words(&store), "cello"), Some(2));
    let held = |messages| limited(&store, ArchiveLimits::default().messages(Some(messages)));
    assert_eq!(best(&held(5), "cello"), Some(2), "the newest five are 2 to 6");
    assert!(nodes(&in_talk(&held(4), "cello")).iter().all(|node| *node > 2), "2 is evicted");
    assert_eq!(best(&held(4), "euros"), Some(3));
    assert!(in_talk(&held(0), "piano").hits.is_empty());
    assert_eq!(best(&by_words(&store), "cello"), Some(2), "the log has it");
}

#[test]
fn a_limit_of_bytes_counts_messages_as_they_are_hashed_and_moves_as_they_come() {
    let store = store();
    let most = bytes_of_newest(&store, 3);
    let limits = ArchiveLimits::default().bytes(Some(most));
    let retriever = limited(&store, limits);
    let archived = |limits: ArchiveLimits| {
        let state = pollster::block_on(store.conversation(&id("talk"))).unwrap();
        let Archived { held, evicted } = pollster::block_on(limits.archived(&*store, &state)).unwrap();
        (held, evicted)
    };
    assert_eq!(archived(limits), (3, 3));
    assert_eq!(archived(ArchiveLimits::default().bytes(Some(most - 1))), (2, 4));
    assert_eq!(archived(limits.messages(Some(1))), (1, 5), "the smaller of both");
    assert_eq!(archived(ArchiveLimits::default()), (6, 0));
    assert_eq!(best(&retriever, "library"), Some(5));
    assert!(nodes(&in_talk(&retriever, "euros")).iter().all(|node| *node > 3));
    // The same retriever goes on from the sizes that it knows.
    for number in 0..600 {
        say(&store, "talk", &[&format!("A new message about subject{number}.")]);
    }
    let (held, evicted) = archived(limits);
    assert!(held > 0 && held + evicted == 606, "{held} {evicted}");
    let first = evicted + 1;
    assert!(nodes(&in_talk(&retriever, "library")).iter().all(|node| *node >= first));
    assert_eq!(best(&retriever, "subject599"), Some(606));
    assert_eq!(best(&retriever, &format!("subject{}", first - 7)), Some(first));
    assert_ne!(best(&retriever, &format!("subject{}", first - 8)), Some(first - 1));
}
