//! The conformance suite of [`BlockCache`]: one set of checks that every cache passes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a suite of tests: a breach panics")]

use std::sync::Arc;

use crate::{Block, BlockCache, BlockKey, ConversationId, Message, NodeDraft, NodeId, NodeRange, Store, Timestamp};

/// Checks the contract of [`BlockCache`] over an empty store. Each call of `open` returns the cache as another process
/// would open it.
///
/// # Panics
/// When the cache breaks the contract.
pub async fn block_cache_conformance(store: &dyn Store, open: &dyn Fn() -> Arc<dyn BlockCache>) {
    let [talk, other] = ["talk", "other"].map(|name| ConversationId::new(name).expect("a plain name"));
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    for id in [&talk, &other] {
        store.append(id, (0..9).map(draft).collect()).await.unwrap();
    }
    let key = BlockKey { kind: "words", version: 1, conversation: &talk };
    let cache = open();
    let write = async |first, last| cache.write(key, &block(first, last)).await.unwrap();

    assert_eq!(cache.read(key).await, [], "nothing was written");
    assert!(!write(2, 3).await, "no block ends before it");
    assert!(write(1, 4).await);
    assert!(write(5, 6).await);
    assert!(!write(4, 7).await, "it begins within a block");
    assert!(!write(8, 9).await, "there is a gap before it");
    assert!(!write(5, 6).await, "there is as much already");
    assert!(!write(1, 6).await, "blocks reach as far already");
    assert!(!write(7, 10).await, "its last node is in no log");
    assert!(write(7, 8).await);
    assert_eq!(cache.read(key).await, [block(1, 4), block(5, 6), block(7, 8)], "in order");
    assert_eq!(open().read(key).await, [block(1, 4), block(5, 6), block(7, 8)], "opened again");

    assert!(write(5, 9).await, "it takes the place of two that reach less far");
    assert_eq!(open().read(key).await, [block(1, 4), block(5, 9)]);
    for key in
        [BlockKey { kind: "other", ..key }, BlockKey { version: 2, ..key }, BlockKey { conversation: &other, ..key }]
    {
        assert_eq!(cache.read(key).await, [], "{key:?}");
    }
    // Each conversation has its own blocks.
    let of_other = BlockKey { conversation: &other, ..key };
    assert!(cache.write(of_other, &block(1, 2)).await.unwrap());
    assert_eq!(cache.read(of_other).await, [block(1, 2)]);
    assert_eq!(cache.read(key).await, [block(1, 4), block(5, 9)]);
    // A newer version starts from the beginning, and an empty block is valid too.
    let newer = BlockKey { version: 2, ..key };
    let empty = Block { bytes: Arc::default(), ..block(1, 9) };
    assert!(cache.write(newer, &empty).await.unwrap());
    assert_eq!(open().read(newer).await, [empty]);
}

fn block(first: u64, last: u64) -> Block {
    let node = |node| NodeId::new(node).expect("nodes begin at 1");
    let nodes = NodeRange::new(node(first), node(last)).expect("first before last");
    Block { nodes, bytes: format!("what nodes {nodes} come to").into_bytes().into() }
}
