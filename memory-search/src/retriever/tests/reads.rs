//! How often a message, and the outline of a conversation, is read from the store.

use super::{fakes::MemoryBlocks, late::Pianist, *};

/// A store of `count` remarks and a retriever that has their words from a cache, so that it has read no message itself.
fn restored(count: usize) -> (Arc<CountingStore>, HybridRetriever) {
    let store = Arc::new(CountingStore::default());
    append(&store, "talk", (1..=count).map(|n| Message::user(format!("remark {n} about topic{}", n % 7))));
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let retriever = || by_words(&store).word_cache(cache.clone());
    pollster::block_on(retriever().catch_up(&id("talk"), &())).unwrap();
    let restored = retriever();
    (store, restored)
}

/// How often each of the first `count` messages was read while `act` ran.
fn reads_of<T>(store: &CountingStore, count: u64, act: impl FnOnce() -> T) -> (T, Vec<u64>) {
    let reads = || (1..=count).map(|node| store.reads(&id("talk"), node));
    let before: Vec<_> = reads().collect();
    let done = act();
    (done, reads().zip(before).map(|(after, before)| after - before).collect())
}

#[test]
fn a_hit_is_read_once() {
    let (store, retriever) = restored(40);
    let (found, reads) = reads_of(&store, 40, || in_talk(&retriever, "remark 7, topic3"));
    assert_eq!(found.hits.len(), 3);
    for (reads, node) in reads.iter().zip(1..) {
        assert_eq!(*reads, u64::from(nodes(&found).contains(&node)), "node {node}: {:?}", nodes(&found));
    }
    for hit in &found.hits {
        let node = pollster::block_on(store.node(&hit.conversation, hit.node.id)).unwrap();
        assert_eq!(*hit.node, node, "what was read comes with the hit");
    }
}

#[test]
fn a_hit_that_was_read_to_be_reranked_is_not_read_again() {
    let (store, retriever) = restored(40);
    let model = Arc::new(Pianist(ModelId::new("pianist"), false));
    let retriever = retriever.reranker(model, RerankOptions::default().candidates(9));
    let (found, reads) = reads_of(&store, 40, || in_talk(&retriever, "remark 7, topic3"));
    assert_eq!((found.hits.len(), reads.iter().max(), reads.iter().sum::<u64>()), (3, Some(&1), 9));
}

#[test]
fn a_recalled_message_is_read_once() {
    let (store, retriever) = restored(40);
    for max_characters in [None, Some(100_000)] {
        let ask = || {
            recall(&retriever, "remark 7, topic3", |request| {
                (request.limit, request.radius, request.max_characters) = (4, 1, max_characters);
            })
        };
        let (recalled, reads) = reads_of(&store, 40, ask);
        assert!(!recalled.excerpts.is_empty());
        for excerpt in &recalled.excerpts {
            assert!(excerpt.nodes.iter().all(|node| reads[node.index()] == 1), "{reads:?}");
            assert!(excerpt.messages.iter().map(|node| node.id).eq(excerpt.nodes.iter()), "all of them, in order");
        }
    }
}

#[test]
fn a_second_recall_reads_no_outline() {
    let (store, restored) = restored(40);
    let read_here = by_words(&store);
    for (retriever, first) in [(&restored, 1), (&read_here, 0)] {
        for (at, expected) in [first, 0, 0].into_iter().enumerate() {
            let before = store.outlines_read(&id("talk"));
            let recalled = recall(retriever, "remark 7, topic3", |_| ());
            assert!(recalled.tokens > 8, "the outline states what it costs");
            assert_eq!(store.outlines_read(&id("talk")) - before, expected, "recall {at}");
            say(&store, "talk", &["Something new."]);
        }
    }
}

#[test]
fn outlines_that_grew_are_those_of_the_store() {
    let (store, retriever) = restored(40);
    let known = |nodes| {
        pollster::block_on(retriever.words.catch_up(&*store, &id("talk"), nodes, 0, &())).unwrap();
        let nodes = usize::try_from(nodes).unwrap();
        pollster::block_on(retriever.words.outlines(&*store, &id("talk"), nodes)).unwrap().to_vec()
    };
    let stored = || pollster::block_on(store.outline(&id("talk"))).unwrap();
    assert_eq!(known(40), stored());
    say(&store, "talk", &["one", "two\nlines", "three"]);
    assert_eq!(known(43), stored());
    say(&store, "talk", &["four", "five", "six"]);
    store.lose(&id("talk"), 45);
    assert_eq!(known(46), stored(), "after a gap the store is asked");
}
