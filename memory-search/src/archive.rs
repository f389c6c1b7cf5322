//! Limits on how many messages of a conversation can be hits.

use std::{
    collections::VecDeque,
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;
use memory_core::{
    ConversationId, NodeId, NodeOutline, NodeRange, Timestamp,
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
    /// Time before which messages were said that are evicted; none by default. What comes before the first message with
    /// a later time is older, and so is a message of unknown time among these.
    pub since: Option<Timestamp>,
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
        const since: Option<Timestamp>,
    }

    /// The stricter of both limits of each kind.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            messages: least(self.messages, other.messages),
            bytes: least(self.bytes, other.bytes),
            since: self.since.max(other.since),
        }
    }

    /// Applies the limits to a conversation. Reads messages only for a limit in bytes, and only the newest that fit.
    ///
    /// # Errors
    /// If the source fails.
    pub async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        Archive::new(LimitsOf::from(*self)).archived(source, of).await
    }
}

/// Limits of a conversation, as its owner, its tags and the time decide them.
#[derive(Clone)]
pub(crate) struct LimitsOf(Arc<dyn Fn(&ConversationState) -> ArchiveLimits + Send + Sync>);

impl LimitsOf {
    pub(crate) fn new(limits: impl Fn(&ConversationState) -> ArchiveLimits + Send + Sync + 'static) -> Self {
        Self(Arc::new(limits))
    }
}

impl From<ArchiveLimits> for LimitsOf {
    fn from(limits: ArchiveLimits) -> Self {
        Self::new(move |_| limits)
    }
}

impl fmt::Debug for LimitsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LimitsOf(..)")
    }
}

/// Limits with a cache of message sizes.
#[derive(Debug)]
pub(crate) struct Archive {
    limits: LimitsOf,
    sizes: Mutex<LruCache<ConversationId, Sizes>>,
}

/// Sizes of the newest messages of a conversation, as far as they fit the limit.
#[derive(Debug, Default)]
struct Sizes {
    /// Number of messages of the conversation.
    nodes: u64,
    /// Limit that the sizes are of.
    most: u64,
    /// Bytes of the newest messages, oldest first.
    newest: VecDeque<u64>,
    total: u64,
}

impl Default for Archive {
    fn default() -> Self {
        Self::new(ArchiveLimits::default().into())
    }
}

impl Archive {
    pub(crate) fn new(limits: LimitsOf) -> Self {
        Self { limits, sizes: Mutex::new(LruCache::new(MOST)) }
    }

    pub(crate) async fn archived(&self, source: &dyn Source, of: &ConversationState) -> Result<Archived, StoreError> {
        let limits = (self.limits.0)(of);
        let by_count = limits.messages.map_or(of.nodes, |most| most.min(of.nodes));
        let by_age = match limits.since {
            // Most conversations are newer as a whole.
            Some(since) if of.first_at.is_some_and(|first| first.is_known() && first >= since) => of.nodes,
            Some(since) => held_since(&source.outline(&of.id).await?, since).min(of.nodes),
            None => of.nodes,
        };
        let by_bytes = match limits.bytes {
            Some(most) => self.held_in(source, of, most).await?,
            None => of.nodes,
        };
        let held = by_count.min(by_bytes).min(by_age);
        Ok(Archived { held, evicted: of.nodes - held })
    }

    /// Number of the newest messages that have at most `most` bytes together.
    async fn held_in(&self, source: &dyn Source, of: &ConversationState, most: u64) -> Result<u64, StoreError> {
        let known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop(&of.id);
        let known = known.filter(|known| known.nodes <= of.nodes && known.most == most).unwrap_or_default();
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
        let sizes = Sizes { nodes: of.nodes, most, newest, total };
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).put(of.id.clone(), sizes);
        Ok(held)
    }
}

/// Number of the newest messages, from the first one on that was said at `since` or later.
fn held_since(outline: &[NodeOutline], since: Timestamp) -> u64 {
    let is_older = |node: &&NodeOutline| !node.at.is_known() || node.at < since;
    let older = outline.iter().take_while(is_older).count();
    // Without any time there is no age.
    let is_timed = outline.iter().take(older).any(|node| node.at.is_known());
    (if is_timed { outline.len() - older } else { outline.len() }) as u64
}
