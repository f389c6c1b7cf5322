//! A cache of blocks in memory, which can be damaged and can be full.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use memory_core::{
    ConversationId,
    port::{Block, BlockCache, BlockCacheError, BlockId, BlockKey, BlockRun, BoxFuture, Source},
};

/// Keeps blocks next to a store.
#[derive(Debug)]
pub(in super::super) struct MemoryBlocks {
    store: Arc<dyn Source>,
    blocks: Mutex<Vec<(BlockKey, Arc<Block>)>>,
    written: AtomicU64,
    pub(in super::super) is_full: AtomicBool,
}

impl MemoryBlocks {
    pub(in super::super) fn beside(store: Arc<dyn Source>) -> Self {
        Self { store, blocks: Mutex::default(), written: AtomicU64::new(0), is_full: AtomicBool::new(false) }
    }

    /// The runs that a conversation has.
    pub(in super::super) fn runs(&self, id: &ConversationId) -> Vec<String> {
        let blocks = self.blocks.lock().unwrap();
        let runs = blocks.iter().flat_map(|(_, block)| &block.runs).filter(|run| run.conversation == *id);
        let mut runs: Vec<_> = runs.map(|run| run.nodes).collect();
        runs.sort();
        runs.iter().map(ToString::to_string).collect()
    }

    /// How many blocks there are.
    pub(in super::super) fn len(&self) -> usize {
        self.blocks.lock().unwrap().len()
    }

    /// Changes every byte without the cache's knowledge.
    pub(in super::super) fn damage(&self) {
        for (_, block) in self.blocks.lock().unwrap().iter_mut() {
            let bytes: Vec<u8> = block.bytes().unwrap().iter().map(|byte| byte ^ 0x55).collect();
            *block = Arc::new(Block::new(block.id.clone(), block.runs.clone(), Arc::new(bytes)));
        }
    }

    async fn is_current(&self, run: &BlockRun) -> bool {
        self.store.conversation(&run.conversation).await.is_ok_and(|state| state.nodes >= run.nodes.last().get())
    }
}

impl BlockCache for MemoryBlocks {
    fn blocks(&self, key: BlockKey) -> BoxFuture<'_, Vec<Arc<Block>>> {
        Box::pin(async move {
            let blocks = self.blocks.lock().unwrap();
            blocks.iter().filter(|(of, _)| *of == key).map(|(_, block)| Arc::clone(block)).collect()
        })
    }

    fn write<'a>(
        &'a self,
        key: BlockKey,
        runs: &'a [BlockRun],
        bytes: &'a [u8],
        replaced: &'a [BlockId],
    ) -> BoxFuture<'a, Result<bool, BlockCacheError>> {
        Box::pin(async move {
            if self.is_full.load(Ordering::Relaxed) {
                return Err(BlockCacheError::Backend { backend: "the test", source: "no room".into() });
            }
            let mut known = Vec::new();
            for run in runs {
                known.push(run.clone().is_current(self.is_current(run).await));
            }
            let id = BlockId::new(&self.written.fetch_add(1, Ordering::Relaxed).to_string());
            let mut blocks = self.blocks.lock().unwrap();
            blocks.retain(|(_, block)| !replaced.contains(&block.id));
            blocks.push((key, Arc::new(Block::new(id, known, Arc::new(bytes.to_vec())))));
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
