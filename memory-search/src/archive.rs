//! Limits on how many messages of a conversation can be hits.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use lru::LruCache;
use memory_core::{
    ConversationId, NodeId, NodeRange,
    port::{ConversationState, Source, StoreError},
    proof::canonical_bytes,
};

/// Maximum conversations with cached message sizes.
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// Messages per read.
const RUN: u64 = 256;

/// Limits on how much of each conversation can be found. Messages over a limit are evicted, oldest first: they can no
/// longer be hits, but stay in the log, can be shown next to a hit and expanded, and become hits again when the limit
/// is lifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// Maximum messages of a conversation; no limit by default.
    pub messages: Option<u64>,
    /// Maximum bytes of a conversation's messages in their canonical encoding; no limit by default.
    pub bytes: Option<u64>,
}

/// Split of a conversation into messages that can be hits and evicted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Archived {
    /// Number of the newest messages, which can be hits.
    pub held: u64,
    /// Number of older messages, which are evicted.
    pub evicted: u64,
}

impl ArchiveLimits {
    memory_core::setters! {
        const messages: Option<u64>,
        const bytes: Option<u64>,
    }

    /// Applies the limits to a conversation. Reads messages only for a limit in bytes, and only the newest that fit.
    ///
    /// # Errors
    /// If the source fails.
    pub async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        Archive::new(*self).archived(source, of).await
    }
}

/// Limits with a cache of message sizes.
#[derive(Debug)]
pub(crate) struct Archive {
    limits: ArchiveLimits,
    sizes: Mutex<LruCache<ConversationId, Sizes>>,
}

/// Sizes of the newest messages of a conversation, as far as they fit the limit.
#[derive(Debug, Default)]
struct Sizes {
    /// Number of messages of the conversation.
    nodes: u64,
    /// Bytes of the newest messages, oldest first.
    newest: VecDeque<u64>,
    total: u64,
}

impl Default for Archive {
    fn default() -> Self {
        Self::new(ArchiveLimits::default())
    }
}

impl Archive {
    pub(crate) fn new(limits: ArchiveLimits) -> Self {
        Self { limits, sizes: Mutex::new(LruCache::new(MOST)) }
    }

    pub(crate) async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        let by_count = self.limits.messages.map_or(of.nodes, |most| most.min(of.nodes));
        let by_bytes = match self.limits.bytes {
            Some(most) => self.held_in(source, of, most).await?,
            None => of.nodes,
        };
        let held = by_count.min(by_bytes);
        Ok(Archived { held, evicted: of.nodes - held })
    }

    /// Number of the newest messages that have at most `most` bytes together.
    async fn held_in(&self, source: &dyn Source, of: &ConversationState, most: u64) -> Result<u64, StoreError> {
        let known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop(&of.id);
        let known = known.filter(|known| known.nodes <= of.nodes).unwrap_or_default();
        let (mut newest, mut total, mut next) = (VecDeque::new(), 0_u64, of.nodes);
        while next > known.nodes && total <= most {
            let first = next.saturating_sub(RUN).max(known.nodes) + 1;
            let run = NodeId::new(first).zip(NodeId::new(next)).and_then(|(first, last)| NodeRange::new(first, last));
            let Some(run) = run else { break };
            // Unreadable messages count as 0 bytes.
            let mut sizes = vec![0; usize::try_from(run.count()).unwrap_or_default()];
            for node in source.whole_nodes(&of.id, run).await?.nodes {
                let at = usize::try_from(node.id.get() - first).unwrap_or(usize::MAX);
                if let Some(size) = sizes.get_mut(at) {
                    *size = canonical_bytes(&node.message, node.at).len() as u64;
                }
            }
            total = total.saturating_add(sizes.iter().sum());
            sizes.into_iter().rev().for_each(|size| newest.push_front(size));
            next = first - 1;
        }
        if next == known.nodes {
            total = total.saturating_add(known.total);
            known.newest.into_iter().rev().for_each(|size| newest.push_front(size));
        }
        while total > most {
            let Some(oldest) = newest.pop_front() else { break };
            total -= oldest;
        }
        let held = newest.len() as u64;
        let sizes = Sizes { nodes: of.nodes, newest, total };
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).put(of.id.clone(), sizes);
        Ok(held)
    }
}
