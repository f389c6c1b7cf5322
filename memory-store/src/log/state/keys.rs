//! Nodes by the hash of their message key. The keys themselves stay on disk, and so do the hashes of older ones.

use std::{collections::HashMap, fmt, ops::Range, sync::Arc};

use memory_core::{ErasedKey, Hash, NodeId};

use crate::log::format::frame::{Fields, StoreId};

/// Bytes of an entry of a settled run: hash and node.
pub(crate) const ENTRY: usize = 12;

/// The hash that keys are found by. Choosing keys that collide requires the store's random id.
pub(crate) fn key_hash(store: StoreId, key: &str) -> u64 {
    let hash = Hash::of_parts([store.as_slice(), key.as_bytes()]);
    Fields(hash.as_bytes()).u64().unwrap_or_default()
}

/// The hash that the key of an erased message is found by.
pub(crate) fn erased_key_hash(store: StoreId, key: &ErasedKey) -> u64 {
    let hash = Hash::of_parts([store.as_slice(), key.salt.as_bytes(), &key.digest]);
    Fields(hash.as_bytes()).u64().unwrap_or_default()
}

/// Bytes that are owned elsewhere: a mapped file, or a part of memory.
pub(crate) type Kept = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Entries in the order of their hashes, in a checkpoint.
#[derive(Clone)]
struct Settled {
    kept: Kept,
    range: Range<usize>,
    /// Number of nodes whose keys it holds.
    nodes: u64,
}

impl fmt::Debug for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled").field("range", &self.range).finish_non_exhaustive()
    }
}

impl Settled {
    fn entries(&self) -> &[[u8; ENTRY]] {
        (*self.kept).as_ref().get(self.range.clone()).unwrap_or_default().as_chunks().0
    }
}

/// A decoded entry.
fn parts(entry: &[u8; ENTRY]) -> (u64, u32) {
    let hash = entry.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let node = entry.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    (hash, node)
}

/// The keys of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    settled: Option<Settled>,
    /// Entries since the checkpoint.
    recent: HashMap<u64, u32>,
    /// Further nodes under a hash that is in `recent`.
    collided: Vec<(u64, u32)>,
}

impl Keys {
    /// Keys whose entries are in these bytes of a checkpoint.
    pub(crate) fn settled(kept: Kept, range: Range<usize>, nodes: u64) -> Self {
        Self { settled: Some(Settled { kept, range, nodes }), ..Self::default() }
    }

    /// Hands the keys of the first `nodes` nodes over to `kept`.
    ///
    /// A checkpoint older than one of another process holds fewer keys and changes nothing.
    pub(crate) fn settle(&mut self, kept: Kept, range: Range<usize>, nodes: u64) {
        if self.settled.as_ref().is_some_and(|settled| settled.nodes > nodes) {
            return;
        }
        self.settled = Some(Settled { kept, range, nodes });
        self.recent.retain(|_, node| u64::from(*node) > nodes);
        self.collided.retain(|(_, node)| u64::from(*node) > nodes);
        self.recent.shrink_to_fit();
        // A hash may have been in both.
        for (hash, node) in std::mem::take(&mut self.collided) {
            if let Some(node) = NodeId::new(u64::from(node)) {
                self.insert(hash, node);
            }
        }
    }

    pub(crate) fn insert(&mut self, hash: u64, node: NodeId) {
        // A conversation has at most `u32::MAX` nodes.
        let Ok(node) = u32::try_from(node.get()) else { return };
        if *self.recent.entry(hash).or_insert(node) != node {
            self.collided.push((hash, node));
        }
    }

    /// Number of entries that are not in the checkpoint.
    #[cfg(test)]
    fn recent(&self) -> usize {
        self.recent.len() + self.collided.len()
    }

    /// Nodes under this hash; the caller compares the keys themselves.
    pub(crate) fn candidates(&self, hash: u64) -> Vec<NodeId> {
        let mut found = Vec::new();
        if let Some(settled) = &self.settled {
            let entries = settled.entries();
            let from = entries.partition_point(|entry| parts(entry).0 < hash);
            let same = entries.iter().skip(from).map(parts).take_while(|(other, _)| *other == hash);
            found.extend(same.map(|(_, node)| node));
        }
        found.extend(self.recent.get(&hash));
        found.extend(self.collided.iter().filter(|(other, _)| *other == hash).map(|(_, node)| node));
        found.into_iter().filter_map(|node| NodeId::new(u64::from(node))).collect()
    }

    /// Writes all entries in order.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let settled = self.settled.as_ref().map_or(&[][..], Settled::entries);
        let recent = self.recent.iter().map(|(hash, node)| (*hash, *node)).chain(self.collided.iter().copied());
        let mut all: Vec<(u64, u32)> = settled.iter().map(parts).chain(recent).collect();
        all.sort_unstable();
        for (hash, node) in all {
            out.extend_from_slice(&hash.to_le_bytes());
            out.extend_from_slice(&node.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_before_and_after_they_were_settled() {
        let node = |number| NodeId::new(number).unwrap();
        let mut keys = Keys::default();
        for number in 1..=300u64 {
            keys.insert(number % 100 * 1_000_003, node(number));
        }
        let mut bytes = vec![9; 5];
        keys.encode(&mut bytes);
        let end = bytes.len();
        let mut settled = Keys::settled(Arc::new(bytes), 5..end, 300);
        assert_eq!((keys.recent(), settled.recent()), (300, 0));
        settled.insert(7 * 1_000_003, node(301));
        for (keys, more) in [(&keys, None), (&settled, Some(node(301)))] {
            let mut found = keys.candidates(7 * 1_000_003);
            found.sort_unstable();
            assert_eq!(
                found,
                [Some(node(7)), Some(node(107)), Some(node(207)), more].into_iter().flatten().collect::<Vec<_>>()
            );
            assert_eq!(keys.candidates(5), []);
        }
        let mut again = Vec::new();
        settled.encode(&mut again);
        assert_eq!(again.len(), 301 * ENTRY);
    }

    #[test]
    fn an_older_checkpoint_takes_no_keys_away() {
        let node = |number| NodeId::new(number).unwrap();
        let mut old = Keys::default();
        (1..=100u64).for_each(|n| old.insert(n, node(n)));
        let mut old_bytes = Vec::new();
        old.encode(&mut old_bytes);
        (101..=150u64).for_each(|n| old.insert(n, node(n)));
        let mut new_bytes = Vec::new();
        old.encode(&mut new_bytes);
        // Reloaded from another process's checkpoint of 150 nodes; then this process finishes its own, older one.
        let mut keys = Keys::settled(Arc::new(new_bytes), 0..150 * ENTRY, 150);
        keys.settle(Arc::new(old_bytes), 0..100 * ENTRY, 100);
        assert_eq!(keys.candidates(120), [node(120)]);
    }

    #[test]
    fn another_store_hashes_otherwise() {
        assert_ne!(key_hash([1; 16], "a"), key_hash([2; 16], "a"));
        assert_eq!(key_hash([1; 16], "a"), key_hash([1; 16], "a"));
    }
}
