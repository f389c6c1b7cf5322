//! Memory that a process holds, and its limit.
#![expect(clippy::unwrap_used, reason = "a helper of tests, which the lints do not know as a test")]

use std::sync::Arc;

use memory::{Access, Builder, Config, Query, Scope, port::CachedInMemory};
use memory_core::testing::HashEmbedder;
use pollster::block_on;

use crate::support::{Dir, remark};

const CONVERSATIONS: usize = 40;
const LIMIT: usize = 20_000;

/// Memory held after a search of each conversation, by kind.
fn held_after_searches(dir: &Dir, config: impl FnOnce(Config) -> Config) -> Vec<CachedInMemory> {
    let config = config(Config::new(dir.store(), Access::Write));
    let memory = Builder::of(config).embedder(Arc::new(HashEmbedder::new(32))).background(false).open().unwrap();
    for number in 0..CONVERSATIONS {
        let talk = memory.conversation(&format!("talk-{number}")).unwrap();
        if block_on(memory.conversations()).unwrap().len() < CONVERSATIONS {
            block_on(talk.append_batch((1..=60).map(|at| (remark(at), memory::Timestamp::from_millis(1))).collect()))
                .unwrap();
        }
    }
    block_on(memory.catch_up()).unwrap();
    for number in 0..CONVERSATIONS {
        let id = memory::ConversationId::new(&format!("talk-{number}")).unwrap();
        let found = block_on(memory.search(Query::new("what about remark 7?", Scope::one(&id)))).unwrap();
        assert!(!found.hits.is_empty());
    }
    memory.held()
}

#[test]
fn a_process_holds_no_more_than_it_is_allowed_to_and_says_how_much() {
    let dir = Dir::new();
    let held = held_after_searches(&dir, |config| config);
    let kinds: Vec<_> = held.iter().map(|held| held.kind.name()).collect();
    assert_eq!(kinds, ["words", "vectors", "tokens"]);
    for held in held {
        assert!(held.bytes > LIMIT as u64, "{held:?}: the second part of the test shows nothing");
        assert_eq!(held.limit, 64 << 20);
    }
    for held in held_after_searches(&dir, |config| config.held_bytes(LIMIT)) {
        assert!((1..=LIMIT as u64).contains(&held.bytes), "{held:?}");
    }
}
