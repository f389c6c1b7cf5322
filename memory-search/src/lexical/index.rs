//! The postings of the conversations that were searched lately.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, Ordering},
};

use lru::LruCache;
use memory_core::{BlockCache, BlockKey, ConversationId, Losses, Node, NodeId, NodeRange, Progress, Store, StoreError};

use super::{Analyzer, NodeTerms, Postings, indexed_text, postings::Kept, segment};

/// Nodes read from the store at a time.
const CHUNK: u64 = 512;
/// Nodes that a question leaves unkept: to read them again takes some milliseconds.
pub(crate) const MOST_UNKEPT: u64 = 256;
/// Nodes after which what was read is kept although there is more, so that an interrupted run loses little.
const NODES_BETWEEN_BLOCKS: u64 = 1 << 15;

/// Postings by conversation: taken from where they are kept between runs, or made from the store when they are first asked for and carried on from where they
/// end ever after. A node that could not be read then counts as lost from there on. Postings that were not used for
/// the longest time are dropped when all together grow too large.
#[derive(Debug)]
pub(crate) struct WordIndex {
    analyzer: Analyzer,
    max_bytes: usize,
    kept: Option<Arc<dyn BlockCache>>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    by_conversation: LruCache<ConversationId, (Arc<Indexed>, usize)>,
    bytes: usize,
}

/// What is held of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    postings: RwLock<Postings>,
    /// Whether what is kept of the conversation was read.
    is_restored: AtomicBool,
    /// Held while what is kept is read or written.
    keeping: tokio::sync::Mutex<()>,
    /// Held while nodes of the conversation are embedded, so that no two callers embed the same.
    pub(crate) embedding: tokio::sync::Mutex<()>,
}

impl WordIndex {
    /// An empty index that holds about `max_bytes` of postings beside those in use.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let held = Held { by_conversation: LruCache::unbounded(), bytes: 0 };
        Self { analyzer: Analyzer::default(), max_bytes, kept: None, held: Mutex::new(held) }
    }

    /// Keeps postings in `cache` between runs.
    pub(crate) fn keep_in(&mut self, cache: Arc<dyn BlockCache>) {
        self.kept = Some(cache);
    }

    /// The terms that a question looks for.
    pub(crate) fn question(&self, text: &str) -> Vec<Box<str>> {
        self.analyzer.question(text)
    }

    /// All nodes up to this position are held.
    pub(crate) fn through(&self, conversation: &ConversationId) -> u64 {
        let held = self.held();
        held.by_conversation.peek(conversation).map_or(0, |(indexed, _)| indexed.read().through())
    }

    /// The words of the first `nodes` nodes of a conversation at least, and how many nodes had to be read for it. Leaves
    /// at most `unkept` of them for a later run to read again.
    pub(crate) async fn catch_up(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        nodes: u64,
        unkept: u64,
        progress: &dyn Progress,
    ) -> Result<(Arc<Indexed>, u64), StoreError> {
        let words = self.words(conversation);
        let was_restored = self.restore(store, conversation, &words).await?;
        let begun = words.read().through();
        let mut through = begun;
        while let Some(chunk) = chunk_after(through, nodes) {
            let read = store.readable_nodes(conversation, chunk).await?;
            let terms = |node| -> (NodeId, Option<&Node>, NodeTerms) {
                let node: &Node = node;
                let terms = self.analyzer.document(&indexed_text(&node.message));
                (node.id, Some(node), terms)
            };
            let mut terms: Vec<_> = read.nodes.iter().map(terms).collect();
            // A lost node has no words and keeps its place.
            let lost = read.losses.runs().iter().flat_map(|run| run.iter());
            terms.extend(lost.map(|node| (node, None, NodeTerms::default())));
            terms.sort_by_key(|(node, _, _)| *node);
            words.add(terms, &read.losses);
            let reached = words.read().through();
            if reached <= through {
                break;
            }
            through = reached;
            self.keep(conversation, &words, NODES_BETWEEN_BLOCKS).await;
            progress.report(through.min(nodes).saturating_sub(begun), nodes.saturating_sub(begun));
        }
        self.keep(conversation, &words, unkept.saturating_add(1)).await;
        if through > begun || was_restored {
            self.account(conversation, &words);
        }
        Ok((words, through.saturating_sub(begun)))
    }

    /// Takes in what is kept of a conversation, once; whether this did.
    async fn restore(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        words: &Indexed,
    ) -> Result<bool, StoreError> {
        let Some(cache) = &self.kept else { return Ok(false) };
        if words.is_restored.load(Ordering::Acquire) {
            return Ok(false);
        }
        let _reading = words.keeping.lock().await;
        if words.is_restored.load(Ordering::Acquire) {
            return Ok(false);
        }
        for block in cache.read(key(conversation)).await {
            let Some(kept) = Kept::of(&block) else {
                tracing::warn!(%conversation, nodes = %block.nodes, "kept words make no sense: reading the messages again");
                break;
            };
            // Nodes that could not be read then have no words in it. One that can be read now ought to.
            let mut losses = Losses::default();
            let mut is_found = false;
            for lost in kept.lost() {
                let read = store.readable_nodes(conversation, lost).await?;
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

    /// Keeps what of a conversation is not kept yet, where that is `least` nodes or more. That it cannot be is no
    /// reason not to answer.
    async fn keep(&self, conversation: &ConversationId, words: &Indexed, least: u64) {
        let Some(cache) = &self.kept else { return };
        let unkept = || {
            let postings = words.read();
            postings.through() - postings.sealed()
        };
        if unkept() < least {
            return;
        }
        let _writing = words.keeping.lock().await;
        // Another call may have kept it in the meantime.
        let block = if unkept() < least { None } else { words.write().seal() };
        let Some(block) = block else { return };
        match cache.write(key(conversation), &block).await {
            // Another process has kept more, or other runs of nodes: those count.
            Ok(is_written) => tracing::debug!(%conversation, nodes = %block.nodes, is_written, "words kept"),
            Err(error) => tracing::warn!(%conversation, %error, "words are not kept for the next run"),
        }
    }

    /// What is held of a conversation, or new and empty.
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
    /// The postings as they are; they may grow once the guard is dropped.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Postings> {
        self.postings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all nodes again that were not read by this process, and notes which of them cannot be.
    pub(crate) async fn check(&self, store: &dyn Store, conversation: &ConversationId) -> Result<(), StoreError> {
        let restored = self.read().restored();
        let (mut losses, mut through) = (Losses::default(), 0);
        while let Some(chunk) = chunk_after(through, restored) {
            losses.extend(&store.readable_nodes(conversation, chunk).await?.losses);
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
