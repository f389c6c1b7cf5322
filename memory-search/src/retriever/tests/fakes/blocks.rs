//! A cache of blocks in memory, which can be damaged and can be full.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use memory_core::{Block, BlockCache, BlockCacheError, BlockKey, BoxFuture, ConversationId, Source};

/// The blocks of one version.
#[derive(Debug, Default)]
struct Row {
    version: u32,
    blocks: Vec<Block>,
}

/// Keeps blocks beside a store.
#[derive(Debug)]
pub(in super::super) struct MemoryBlocks {
    store: Arc<dyn Source>,
    rows: Mutex<BTreeMap<(ConversationId, &'static str), Row>>,
    pub(in super::super) is_full: AtomicBool,
}

impl MemoryBlocks {
    pub(in super::super) fn beside(store: Arc<dyn Source>) -> Self {
        Self { store, rows: Mutex::default(), is_full: AtomicBool::new(false) }
    }

    /// The runs of the one kind of blocks that a conversation has.
    pub(in super::super) fn runs(&self, id: &ConversationId) -> Vec<String> {
        let rows = self.rows.lock().unwrap();
        let of_conversation = rows.iter().filter(|((of, _), _)| of == id);
        of_conversation.flat_map(|(_, row)| &row.blocks).map(|block| block.nodes.to_string()).collect()
    }

    /// Changes every byte without the cache's knowledge.
    pub(in super::super) fn damage(&self) {
        for row in self.rows.lock().unwrap().values_mut() {
            row.blocks.iter_mut().for_each(|block| block.bytes = block.bytes.iter().map(|byte| byte ^ 0x55).collect());
        }
    }
}

impl BlockCache for MemoryBlocks {
    fn read<'a>(&'a self, key: BlockKey<'a>) -> BoxFuture<'a, Vec<Block>> {
        Box::pin(async move {
            let rows = self.rows.lock().unwrap();
            let row = rows.get(&(key.conversation.clone(), key.kind)).filter(|row| row.version == key.version);
            row.map(|row| row.blocks.clone()).unwrap_or_default()
        })
    }

    fn write<'a>(&'a self, key: BlockKey<'a>, block: &'a Block) -> BoxFuture<'a, Result<bool, BlockCacheError>> {
        Box::pin(async move {
            if self.is_full.load(Ordering::Relaxed) {
                return Err(BlockCacheError::Backend { backend: "the test", source: "no room".into() });
            }
            let in_log = self.store.conversation(key.conversation).await.map_or(0, |state| state.nodes);
            let mut rows = self.rows.lock().unwrap();
            let row = rows.entry((key.conversation.clone(), key.kind)).or_default();
            let stays = |before: &&Block| row.version == key.version && before.nodes.last() < block.nodes.first();
            let kept: Vec<Block> = row.blocks.iter().take_while(stays).cloned().collect();
            let reached = row.blocks.last().filter(|_| row.version == key.version).map_or(0, |b| b.nodes.last().get());
            let before = kept.last().map_or(0, |before| before.nodes.last().get());
            let (first, last) = (block.nodes.first().get(), block.nodes.last().get());
            if first != before + 1 || last <= reached || last > in_log {
                return Ok(false);
            }
            *row = Row { version: key.version, blocks: kept.into_iter().chain([block.clone()]).collect() };
            Ok(true)
        })
    }
}

#[test]
fn blocks_in_memory_keep_the_contract_of_a_cache() {
    let store = Arc::new(memory_core::testing::MemoryStore::default());
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    pollster::block_on(memory_core::testing::block_cache_conformance(&*store, &|| cache.clone()));
}
