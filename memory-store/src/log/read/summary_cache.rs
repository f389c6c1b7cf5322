//! Recently read summaries, so that views of a long conversation do not read them again each time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::Summary;

/// Approximate maximum bytes of the cache.
const MOST_BYTES: usize = 48 << 20;

/// The first summaries of a conversation, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) summaries: Arc<Vec<Summary>>,
    /// Number of the conversation's summaries that were read, including lost ones.
    pub(crate) read: usize,
    bytes: usize,
    used: u64,
}

/// Summaries by the number of their conversation. A summary never changes, so entries do not expire. After segments
/// were replaced, or for another log, the cache is [cleared](SummaryCache::clear).
#[derive(Debug, Default)]
pub(crate) struct SummaryCache(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<u64, Known>,
    bytes: usize,
    clock: u64,
}

impl SummaryCache {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached summaries of a conversation.
    pub(crate) fn get(&self, conversation: u64) -> Known {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let Some(known) = inner.known.get_mut(&conversation) else { return Known::default() };
        known.used = now;
        known.clone()
    }

    /// Stores the readable ones of the first `read` summaries, if there is room. Evicts the least recently used ones.
    pub(crate) fn put(&self, conversation: u64, summaries: Arc<Vec<Summary>>, read: usize) {
        let bytes = summaries.iter().map(bytes_of).sum();
        let mut inner = self.lock();
        inner.clock += 1;
        let known = Known { summaries, read, bytes, used: inner.clock };
        let before = inner.known.insert(conversation, known).map_or(0, |before| before.bytes);
        inner.bytes = inner.bytes + bytes - before;
        while inner.bytes > MOST_BYTES {
            let Some(oldest) = inner.known.iter().min_by_key(|(_, known)| known.used).map(|(number, _)| *number) else {
                return;
            };
            inner.bytes -= inner.known.remove(&oldest).map_or(0, |known| known.bytes);
        }
    }

    pub(crate) fn clear(&self) {
        let mut inner = self.lock();
        inner.known.clear();
        inner.bytes = 0;
    }
}

fn bytes_of(summary: &Summary) -> usize {
    const EACH: usize = size_of::<Summary>() + 32;
    let body = &summary.body;
    let topics: usize = body.metadata.topics.iter().map(|topic| topic.len() + size_of::<String>()).sum();
    EACH + body.text.len() + body.children.len() * 8 + topics
}

#[cfg(test)]
mod tests {
    use memory_core::{Hash, Level, NodeRange, SummaryDraft, SummaryId, WrittenBy};

    use super::*;

    fn summaries(count: u64, text: usize) -> Arc<Vec<Summary>> {
        let one = |number| {
            Summary::new(
                SummaryId::new(number).unwrap(),
                SummaryDraft::new(
                    Level::Summary,
                    NodeRange::first_n(number).unwrap(),
                    "x".repeat(text),
                    1,
                    WrittenBy::new("sample", "1"),
                    Hash::of_parts([]),
                ),
            )
        };
        Arc::new((1..=count).map(one).collect())
    }

    #[test]
    fn what_was_not_asked_for_longest_makes_room() {
        let cache = SummaryCache::default();
        let third = summaries(1, MOST_BYTES / 3);
        for conversation in 1..=2 {
            cache.put(conversation, Arc::clone(&third), 1);
        }
        assert_eq!(cache.get(1).read, 1);
        cache.put(3, Arc::clone(&third), 1);
        assert_eq!([1, 2, 3].map(|conversation| cache.get(conversation).read), [1, 0, 1]);
        cache.put(3, summaries(3, 10), 3);
        cache.put(2, third, 1);
        assert_eq!([1, 2, 3].map(|conversation| cache.get(conversation).read), [1, 1, 3]);
        cache.clear();
        assert_eq!(cache.get(3).read, 0);
    }
}
