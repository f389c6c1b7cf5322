//! The limits of the archive: how much of a conversation may be found.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use lru::LruCache;
use memory_core::{ConversationId, ConversationState, NodeId, NodeRange, Source, StoreError, canonical_bytes};

/// Most conversations whose sizes of messages are kept. The messages of others are read again.
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// Messages read at once.
const RUN: u64 = 256;

/// Limits on how much of each conversation may be found. Messages over a limit are evicted from the archive, the oldest
/// first: they are no hits any more. The log has them, they are shown next to a hit and expanded as before, and they
/// are found again when the limit is lifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// The most messages of a conversation; no limit by default.
    pub messages: Option<u64>,
    /// The most bytes of a conversation's messages, as they are hashed; no limit by default.
    pub bytes: Option<u64>,
}

/// How much of a conversation may be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Archived {
    /// The newest messages, which may be found.
    pub held: u64,
    /// The messages before them, which may not.
    pub evicted: u64,
}

impl ArchiveLimits {
    memory_core::setters! {
        const messages: Option<u64>,
        const bytes: Option<u64>,
    }

    /// How much of a conversation may be found under these limits. Reads the messages that may, if their bytes count.
    ///
    /// # Errors
    /// When the source fails.
    pub async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        Archive::new(*self).archived(source, of).await
    }
}

/// The limits, and the sizes of messages that were read for them.
#[derive(Debug)]
pub(crate) struct Archive {
    limits: ArchiveLimits,
    sizes: Mutex<LruCache<ConversationId, Sizes>>,
}

/// The bytes of the newest messages of a conversation that fit the limit.
#[derive(Debug, Default)]
struct Sizes {
    /// How many messages the conversation had.
    nodes: u64,
    /// Bytes of the newest messages, in order.
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

    /// How much of a conversation may be found.
    pub(crate) async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        let by_count = self.limits.messages.map_or(of.nodes, |most| most.min(of.nodes));
        let by_bytes = match self.limits.bytes {
            Some(most) => self.held_in(source, of, most).await?,
            None => of.nodes,
        };
        let held = by_count.min(by_bytes);
        Ok(Archived { held, evicted: of.nodes - held })
    }

    /// How many of the newest messages have at most `most` bytes together.
    async fn held_in(&self, source: &dyn Source, of: &ConversationState, most: u64) -> Result<u64, StoreError> {
        let known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop(&of.id);
        let known = known.filter(|known| known.nodes <= of.nodes).unwrap_or_default();
        let (mut newest, mut total, mut next) = (VecDeque::new(), 0_u64, of.nodes);
        while next > known.nodes && total <= most {
            let first = next.saturating_sub(RUN).max(known.nodes) + 1;
            let run = NodeId::new(first).zip(NodeId::new(next)).and_then(|(first, last)| NodeRange::new(first, last));
            let Some(run) = run else { break };
            // Messages that cannot be read take no bytes.
            let mut sizes = vec![0; usize::try_from(run.count()).unwrap_or_default()];
            for node in source.readable_nodes(&of.id, run).await?.nodes {
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
