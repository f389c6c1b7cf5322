//! The conformance suite of [`BlockCache`]: one set of checks that every cache passes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a suite of tests: a breach panics")]

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ConversationId, Message, NodeDraft, NodeId, NodeRange, Timestamp,
    port::{BlockCache, BlockId, BlockKey, BlockRun, Store},
};

const KEY: BlockKey = BlockKey { kind: "words", version: 1 };

/// Each block's bytes with its runs, as `talk 1-4`, those that are not current in brackets.
type Seen = BTreeMap<String, Vec<String>>;

/// Checks the contract of [`BlockCache`] over an empty store. Each call of `open` returns the cache as another process
/// would open it.
///
/// # Panics
/// When the cache breaks the contract.
pub async fn block_cache_conformance(store: &dyn Store, open: &dyn Fn() -> Arc<dyn BlockCache>) {
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    for id in ["talk", "other"] {
        let id = ConversationId::new(id).expect("a plain name");
        store.append(&id, (0..9).map(draft).collect()).await.unwrap();
    }
    let (cache, beside) = (open(), open());
    let write = async |runs: &[BlockRun], bytes: &str, replaced: &[BlockId]| {
        assert!(cache.write(KEY, runs, bytes.as_bytes(), replaced).await.unwrap());
    };

    assert_eq!(seen(&*cache, KEY).await, of(&[]), "nothing was written");
    write(&[run("talk", 1, 4)], "one", &[]).await;
    write(&[run("talk", 5, 6), run("other", 1, 2)], "two", &[]).await;
    let two = of(&[("one", &["talk 1-4"]), ("two", &["talk 5-6", "other 1-2"])]);
    for cache in [&cache, &beside, &open()] {
        assert_eq!(seen(&**cache, KEY).await, two, "also in another process");
    }
    write(&[run("talk", 3, 10), run("none", 1, 1)], "no such nodes", &[]).await;
    let strange = of(&[("no such nodes", &["[talk 3-10]", "[none 1]"])]);
    assert_eq!(seen(&*cache, KEY).await, strange.into_iter().chain(two).collect(), "they are in no log");

    let all: Vec<BlockId> = cache.blocks(KEY).await.iter().map(|block| block.id.clone()).collect();
    write(&[run("other", 1, 9), run("talk", 1, 9)], "all", &all).await;
    let one = of(&[("all", &["other 1-9", "talk 1-9"])]);
    for cache in [&cache, &beside, &open()] {
        assert_eq!(seen(&**cache, KEY).await, one, "what was replaced is gone");
    }
    write(&[run("talk", 1, 9)], "again", &all).await;
    assert_eq!(seen(&*beside, KEY).await.len(), 2, "to replace what is gone is no error, nor are nodes in two blocks");

    let (other, newer) = (BlockKey { kind: "other", ..KEY }, BlockKey { version: 2, ..KEY });
    for key in [other, newer] {
        assert_eq!(seen(&*cache, key).await, of(&[]), "{key:?}");
    }
    // An empty block is valid too.
    assert!(cache.write(newer, &[run("talk", 1, 9)], b"", &[]).await.unwrap());
    assert_eq!(seen(&*open(), newer).await, of(&[("", &["talk 1-9"])]));
}

async fn seen(cache: &dyn BlockCache, key: BlockKey) -> Seen {
    let mut seen = Seen::new();
    for block in cache.blocks(key).await {
        let bytes = String::from_utf8(block.bytes().expect("whole").to_vec()).unwrap();
        let name = |run: &BlockRun| format!("{} {}", run.conversation, run.nodes);
        let show = |run: &BlockRun| if run.is_current { name(run) } else { format!("[{}]", name(run)) };
        let before = seen.insert(bytes, block.runs.iter().map(show).collect());
        assert!(before.is_none(), "a block is listed once");
    }
    seen
}

fn of(blocks: &[(&str, &[&str])]) -> Seen {
    let runs = |runs: &[&str]| runs.iter().map(|run| (*run).to_owned()).collect();
    blocks.iter().map(|(bytes, of)| ((*bytes).to_owned(), runs(of))).collect()
}

fn run(conversation: &str, first: u64, last: u64) -> BlockRun {
    let node = |node| NodeId::new(node).expect("nodes begin at 1");
    let nodes = NodeRange::new(node(first), node(last)).expect("first before last");
    BlockRun::new(ConversationId::new(conversation).expect("a plain name"), nodes)
}
