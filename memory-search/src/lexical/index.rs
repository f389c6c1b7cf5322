//! An LRU cache of postings by conversation.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, Ordering},
};

use lru::LruCache;
use memory_core::{
    BlockCache, BlockKey, ConversationId, Losses, Node, NodeId, NodeRange, Progress, Source, StoreError,
};

use super::{Analyzer, NodeTerms, Postings, indexed_text, postings::DecodedBlock, segment};

/// Nodes read from the store at a time.
const CHUNK: u64 = 512;
/// Nodes that a question may leave unsaved: reading them again takes some milliseconds.
pub(crate) const MAX_UNSAVED: u64 = 256;
/// Nodes after which a block is saved while reading continues, so that an interrupted run loses little.
const NODES_BETWEEN_BLOCKS: u64 = 1 << 15;

/// Postings by conversation. They are loaded from the block cache, or built from the store, when a conversation is
/// first searched, and extended from then on. A node that could not be read counts as lost from then on. The least
/// recently used postings are dropped when all together grow too large.
#[derive(Debug)]
pub(crate) struct WordIndex {
    analyzer: Analyzer,
    max_bytes: usize,
    cache: Option<Arc<dyn BlockCache>>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    by_conversation: LruCache<ConversationId, (Arc<Indexed>, usize)>,
    bytes: usize,
}

/// The index of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    postings: RwLock<Postings>,
    /// Whether the saved blocks were loaded.
    is_restored: AtomicBool,
    /// Locked while saved blocks are read or written.
    saving: tokio::sync::Mutex<()>,
    /// Locked while nodes of the conversation are embedded, so that no two callers embed the same nodes.
    pub(crate) embedding: tokio::sync::Mutex<()>,
}

impl WordIndex {
    /// An empty index that retains about `max_bytes` of postings that are not in use.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let held = Held { by_conversation: LruCache::unbounded(), bytes: 0 };
        Self { analyzer: Analyzer::default(), max_bytes, cache: None, held: Mutex::new(held) }
    }

    /// Saves postings in `cache` between runs.
    pub(crate) fn save_in(&mut self, cache: Arc<dyn BlockCache>) {
        self.cache = Some(cache);
    }

    /// The terms of a question.
    pub(crate) fn question(&self, text: &str) -> Vec<Box<str>> {
        self.analyzer.question(text)
    }

    /// All nodes up to this position are indexed.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        let held = self.held();
        held.by_conversation.peek(conversation).map_or(0, |(indexed, _)| indexed.read().through())
    }

    /// Indexes at least the first `nodes` nodes of a conversation; returns how many nodes were read for it. Leaves at
    /// most `unsaved` nodes that a later run must read again.
    pub(crate) async fn catch_up(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        nodes: u64,
        unsaved: u64,
        progress: &dyn Progress,
    ) -> Result<(Arc<Indexed>, u64), StoreError> {
        let words = self.words(conversation);
        let was_restored = self.restore(source, conversation, &words).await?;
        let begun = words.read().through();
        let mut through = begun;
        while let Some(chunk) = chunk_after(through, nodes) {
            let read = source.readable_nodes(conversation, chunk).await?;
            let terms = |node| -> (NodeId, Option<&Node>, NodeTerms) {
                let node: &Node = node;
                let terms = self.analyzer.document(&indexed_text(&node.message));
                (node.id, Some(node), terms)
            };
            let mut terms: Vec<_> = read.nodes.iter().map(terms).collect();
            // A lost node has no terms but keeps its position.
            let lost = read.losses.runs().iter().flat_map(|run| run.iter());
            terms.extend(lost.map(|node| (node, None, NodeTerms::default())));
            terms.sort_by_key(|(node, _, _)| *node);
            words.add(terms, &read.losses);
            let reached = words.read().through();
            if reached <= through {
                break;
            }
            through = reached;
            self.save(conversation, &words, NODES_BETWEEN_BLOCKS).await;
            progress.report(through.min(nodes).saturating_sub(begun), nodes.saturating_sub(begun));
        }
        self.save(conversation, &words, unsaved.saturating_add(1)).await;
        if through > begun || was_restored {
            self.account(conversation, &words);
        }
        Ok((words, through.saturating_sub(begun)))
    }

    /// Loads the saved blocks of a conversation, once; returns whether this call did.
    async fn restore(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        words: &Indexed,
    ) -> Result<bool, StoreError> {
        let Some(cache) = &self.cache else { return Ok(false) };
        if words.is_restored.load(Ordering::Acquire) {
            return Ok(false);
        }
        let _reading = words.saving.lock().await;
        if words.is_restored.load(Ordering::Acquire) {
            return Ok(false);
        }
        for block in cache.read(key(conversation)).await {
            let Some(kept) = DecodedBlock::of(&block) else {
                tracing::warn!(%conversation, nodes = %block.nodes, "saved words are invalid: reading the messages again");
                break;
            };
            // A node that could not be read when the block was written has no terms in it. If it can be read now, the
            // block is stale.
            let mut losses = Losses::default();
            let mut is_found = false;
            for lost in kept.lost() {
                let read = source.readable_nodes(conversation, lost).await?;
                is_found |= !read.nodes.is_empty();
                losses.extend(&read.losses);
            }
            if is_found || !words.write().restore(kept, &losses) {
                break;
            }
        }
        words.is_restored.store(true, Ordering::Release);
        Ok(true)
    }

    /// Saves the unsaved nodes of a conversation if there are at least `least`. A failure to save is logged and does
    /// not fail the search.
    async fn save(&self, conversation: &ConversationId, words: &Indexed, least: u64) {
        let Some(cache) = &self.cache else { return };
        let unsaved = || {
            let postings = words.read();
            postings.through() - postings.sealed()
        };
        if unsaved() < least {
            return;
        }
        let _writing = words.saving.lock().await;
        // Another call may have saved it in the meantime.
        let block = if unsaved() < least { None } else { words.write().seal() };
        let Some(block) = block else { return };
        match cache.write(key(conversation), &block).await {
            // Not written: another process has saved more, or other runs of nodes, which take precedence.
            Ok(is_written) => tracing::debug!(%conversation, nodes = %block.nodes, is_written, "words saved"),
            Err(error) => tracing::warn!(%conversation, %error, "words are not saved for the next run"),
        }
    }

    /// The index of a conversation, created if there is none.
    fn words(&self, conversation: &ConversationId) -> Arc<Indexed> {
        let mut held = self.held();
        if let Some((words, _)) = held.by_conversation.get(conversation) {
            return Arc::clone(words);
        }
        let words = Arc::new(Indexed::default());
        held.put(conversation.clone(), Arc::clone(&words), 0);
        words
    }

    fn account(&self, conversation: &ConversationId, words: &Arc<Indexed>) {
        let bytes = words.read().bytes();
        let mut held = self.held();
        held.put(conversation.clone(), Arc::clone(words), bytes);
        while held.bytes > self.max_bytes && held.by_conversation.len() > 1 {
            let Some((_, (_, bytes))) = held.by_conversation.pop_lru() else { break };
            held.bytes -= bytes;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn put(&mut self, conversation: ConversationId, words: Arc<Indexed>, bytes: usize) {
        let before = self.by_conversation.put(conversation, (words, bytes)).map_or(0, |(_, bytes)| bytes);
        self.bytes = self.bytes + bytes - before;
    }
}

impl Indexed {
    /// The current postings; they may grow once the guard is dropped.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Postings> {
        self.postings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all nodes that this process has not read itself, and records which cannot be read.
    pub(crate) async fn check(&self, source: &dyn Source, conversation: &ConversationId) -> Result<(), StoreError> {
        let restored = self.read().restored();
        let (mut losses, mut through) = (Losses::default(), 0);
        while let Some(chunk) = chunk_after(through, restored) {
            losses.extend(&source.readable_nodes(conversation, chunk).await?.losses);
            through = chunk.last().get();
        }
        self.write().check(&losses);
        Ok(())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Postings> {
        self.postings.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, nodes: Vec<(NodeId, Option<&Node>, NodeTerms)>, losses: &Losses) {
        let mut postings = self.write();
        nodes.into_iter().for_each(|(node, said, terms)| postings.push(node, said, terms));
        postings.lose(losses);
    }
}

fn key(conversation: &ConversationId) -> BlockKey<'_> {
    BlockKey { kind: "words", version: segment::VERSION, conversation }
}

fn chunk_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(CHUNK).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}

#[cfg(test)]
mod tests;
