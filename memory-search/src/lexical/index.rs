//! The postings of the conversations that were searched lately.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use lru::LruCache;
use memory_core::{ConversationId, Losses, Node, NodeId, NodeRange, Progress, Store, StoreError};

use super::{Analyzer, NodeTerms, Postings, indexed_text};

/// Nodes read from the store at a time.
const CHUNK: u64 = 512;

/// Postings by conversation: made from the store when they are first asked for and carried on from where they
/// end ever after. A node that could not be read then counts as lost from there on. Postings that were not used for
/// the longest time are dropped when all together grow too large.
#[derive(Debug)]
pub(crate) struct WordIndex {
    analyzer: Analyzer,
    max_bytes: usize,
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
    /// Held while nodes of the conversation are embedded, so that no two callers embed the same.
    pub(crate) embedding: tokio::sync::Mutex<()>,
}

impl WordIndex {
    /// An empty index that keeps about `max_bytes` of postings beside those in use.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let held = Held { by_conversation: LruCache::unbounded(), bytes: 0 };
        Self { analyzer: Analyzer::default(), max_bytes, held: Mutex::new(held) }
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

    /// The words of the first `nodes` nodes of a conversation at least, and how many nodes had to be read for it.
    pub(crate) async fn catch_up(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        nodes: u64,
        progress: &dyn Progress,
    ) -> Result<(Arc<Indexed>, u64), StoreError> {
        let words = self.words(conversation);
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
            progress.report(through.min(nodes).saturating_sub(begun), nodes.saturating_sub(begun));
        }
        if through > begun {
            self.account(conversation, &words);
        }
        Ok((words, through.saturating_sub(begun)))
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

    fn add(&self, nodes: Vec<(NodeId, Option<&Node>, NodeTerms)>, losses: &Losses) {
        let mut postings = self.postings.write().unwrap_or_else(PoisonError::into_inner);
        nodes.into_iter().for_each(|(node, said, terms)| postings.push(node, said, terms));
        postings.lose(losses);
    }
}

fn chunk_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(CHUNK).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}

#[cfg(test)]
mod tests;
