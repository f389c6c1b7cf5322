//! The inverted index of one conversation.

use std::collections::{BTreeMap, HashMap};

use memory_core::{Block, Losses, Node, NodeId, NodeRange};

use super::{
    NodeTable, NodeTerms,
    segment::{List, Segment, occurrences},
    stored_rows::StoredRows,
};

/// An inverted index over the first nodes of one conversation; grows node by node.
///
/// Saved nodes are in segments, which are searched in their serialized form. Newer nodes are in separate lists until
/// they are [sealed](Self::seal).
#[derive(Debug, Default)]
pub(crate) struct Postings {
    segments: Vec<Segment>,
    /// The nodes after the segments.
    lists: HashMap<Box<str>, List>,
    lengths: Vec<u32>,
    node_table: NodeTable,
    total_length: u64,
    losses: Losses,
    heap_bytes: usize,
    /// How many of the first nodes come from saved blocks and were not read by this process.
    restored: u64,
}

/// A saved block that was decoded and is valid by itself.
pub(crate) struct DecodedBlock {
    segment: Segment,
    rows: StoredRows,
}

impl DecodedBlock {
    /// Decodes a block; `None` if it is invalid.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        Segment::open(block).map(|(segment, rows)| Self { segment, rows })
    }

    /// Nodes that could not be read when the block was written.
    pub(crate) fn lost(&self) -> Vec<NodeRange> {
        self.rows.lost(self.segment.nodes().first())
    }
}

impl Postings {
    /// All nodes up to this position are indexed; 0 for none.
    pub(crate) fn through(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// All nodes up to this position are in segments.
    pub(crate) fn sealed(&self) -> u64 {
        self.segments.last().map_or(0, |last| last.nodes().last().get())
    }

    /// Nodes up to this position were not read by this process: they may have been lost since they were indexed.
    pub(crate) fn restored(&self) -> u64 {
        self.restored
    }

    /// The number of terms of each node, repeats included, stop words excluded.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Speaker, time and session of each node.
    pub(crate) fn node_table(&self) -> &NodeTable {
        &self.node_table
    }

    /// Nodes that could not be read and are indexed without terms.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// How many nodes are indexed with their terms.
    pub(crate) fn readable(&self) -> u64 {
        self.through() - self.losses.count()
    }

    /// Sum of [`Self::lengths`].
    pub(crate) fn total_length(&self) -> u64 {
        self.total_length
    }

    /// How many nodes contain `term`.
    pub(crate) fn nodes_with(&self, term: &str) -> u32 {
        let kept: u32 = self.segments.iter().map(|segment| segment.nodes_with(term)).fold(0, u32::saturating_add);
        kept.saturating_add(self.lists.get(term).map_or(0, |list| list.nodes))
    }

    /// Each node that contains `term`, as an index from 0, with the number of occurrences; in order.
    pub(crate) fn occurrences(&self, term: &str) -> impl Iterator<Item = (usize, u32)> {
        let kept = self.segments.iter().map(|segment| (segment.pairs(term), segment.before()));
        let new = self.lists.get(term).map(|list| (list.pairs.as_slice(), self.before_lists()));
        let all: Vec<_> = kept.chain(new).collect();
        let pairs = all.into_iter().flat_map(|(pairs, before)| occurrences(pairs, before));
        pairs.filter_map(|(position, count)| Some((position.checked_sub(1)? as usize, count)))
    }

    /// The position of the last node in a segment.
    fn before_lists(&self) -> u32 {
        u32::try_from(self.sealed()).unwrap_or(u32::MAX)
    }

    /// Adds the next node; `said` is `None` if it could not be read. Any other node is ignored: either it is indexed
    /// already, or it would leave a gap.
    pub(crate) fn push(&mut self, node: NodeId, said: Option<&Node>, terms: NodeTerms) {
        let Ok(position) = u32::try_from(node.get()) else { return };
        if node.index() != self.lengths.len() {
            return;
        }
        self.node_table.push(said, &terms);
        let before = self.before_lists();
        for (term, count) in terms.counts {
            let term_bytes = size_of::<(Box<str>, List)>() + term.len();
            let list = self.lists.entry(term).or_insert_with(|| List::after(before));
            self.heap_bytes += if list.nodes == 0 { term_bytes } else { 0 };
            self.heap_bytes += list.push(position, count);
        }
        self.lengths.push(terms.length);
        self.total_length += u64::from(terms.length);
    }

    /// Adds the nodes of a saved block, of which `losses` cannot be read; `false` if the block does not follow the
    /// indexed nodes.
    pub(crate) fn restore(&mut self, kept: DecodedBlock, losses: &Losses) -> bool {
        let DecodedBlock { segment, mut rows } = kept;
        let follows = segment.nodes().first().index() == self.lengths.len() && self.sealed() == self.through();
        if !follows || !self.node_table.restore(&mut rows) {
            return false;
        }
        self.total_length += rows.lengths.iter().copied().map(u64::from).sum::<u64>();
        self.lengths.append(&mut rows.lengths);
        self.heap_bytes += segment.bytes();
        self.segments.push(segment);
        self.losses.extend(losses);
        self.restored = self.through();
        true
    }

    /// Merges the unsaved nodes into a new segment, together with trailing segments as long as these have at most twice
    /// as many nodes as what they are merged with. So there are few segments, and each node is rewritten only a few
    /// times. Returns the block to save; `None` if there is nothing to save or too much for a block.
    pub(crate) fn seal(&mut self) -> Option<Block> {
        let through = self.through();
        let mut first = self.sealed() + 1;
        if first > through {
            return None;
        }
        let mut kept = self.segments.len();
        while let Some(last) = kept.checked_sub(1).and_then(|last| self.segments.get(last)) {
            if last.nodes().count() > 2 * (through + 1 - first) {
                break;
            }
            first = last.nodes().first().get();
            kept -= 1;
        }
        let nodes = NodeRange::new(NodeId::new(first)?, NodeId::new(through)?)?;
        let begin = nodes.first().index();
        let mut rows = self.node_table.rows_from(begin);
        rows.lengths = self.lengths.get(begin..)?.to_vec();
        let lost = self.losses.within(nodes).flat_map(NodeRange::iter);
        rows.lost = lost.map(|node| node.index() - begin).collect();
        let joined = self.segments.get(kept..)?;
        let block = Segment::block(nodes, &rows.write(), &self.joined(joined, u32::try_from(first - 1).ok()?))?;
        let (segment, _) = Segment::open(&block)?;
        let (freed, taken) = (joined.iter().map(Segment::bytes).sum::<usize>(), segment.bytes());
        let of_lists =
            self.lists.iter().map(|(term, list)| size_of::<(Box<str>, List)>() + term.len() + list.pairs.len());
        self.heap_bytes = (self.heap_bytes + taken).saturating_sub(freed + of_lists.sum::<usize>());
        self.segments.truncate(kept);
        self.segments.push(segment);
        self.lists = HashMap::new();
        Some(block)
    }

    /// Merges the lists of some segments and of the unsaved nodes, after node `before`.
    fn joined(&self, segments: &[Segment], before: u32) -> BTreeMap<Box<str>, List> {
        let mut terms: BTreeMap<Box<str>, List> = BTreeMap::new();
        let mut add = |term: &str, pairs: &[u8], after: u32| {
            let list = match terms.get_mut(term) {
                Some(list) => list,
                None => terms.entry(term.into()).or_insert_with(|| List::after(before)),
            };
            for (position, count) in occurrences(pairs, after) {
                list.push(position, count);
            }
        };
        for segment in segments {
            segment.terms().for_each(|(term, pairs)| add(term, pairs, segment.before()));
        }
        self.lists.iter().for_each(|(term, list)| add(term, &list.pairs, self.before_lists()));
        terms
    }

    /// Records which of the pushed nodes could not be read.
    pub(crate) fn lose(&mut self, losses: &Losses) {
        self.losses.extend(losses);
    }

    /// Records which nodes cannot be read, after all of them were read.
    pub(crate) fn check(&mut self, losses: &Losses) {
        self.losses.extend(losses);
        self.restored = 0;
    }

    /// Its approximate size in memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap_bytes + self.lengths.len() * size_of::<u32>() + self.node_table.bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn terms(counts: &BTreeMap<String, u32>) -> NodeTerms {
        let counts: Vec<_> = counts.iter().map(|(term, &count)| (term.as_str().into(), count)).collect();
        NodeTerms { length: counts.iter().map(|&(_, count)| count).sum(), counts }
    }

    proptest! {
        #[test]
        fn occurrences_are_what_was_pushed(
            nodes in prop::collection::vec(prop::collection::btree_map("[ab]{1,2}", 1u32..400, 0..5), 0..300),
        ) {
            let mut postings = Postings::default();
            for (index, node) in nodes.iter().enumerate() {
                postings.push(NodeId::from_index(index), None, terms(node));
            }
            for term in ["a", "b", "aa", "ab", "ba", "bb", "c"] {
                let expected: Vec<_> =
                    nodes.iter().enumerate().filter_map(|(i, node)| Some((i, *node.get(term)?))).collect();
                prop_assert_eq!(postings.nodes_with(term) as usize, expected.len());
                prop_assert_eq!(postings.occurrences(term).collect::<Vec<_>>(), expected);
            }
            let sum: u64 = nodes.iter().flat_map(BTreeMap::values).map(|&count| u64::from(count)).sum();
            prop_assert_eq!(postings.total_length(), sum);
        }
    }

    #[test]
    fn a_node_out_of_turn_changes_nothing() {
        let mut postings = Postings::default();
        let one = || terms(&BTreeMap::from([("x".to_owned(), 1)]));
        postings.push(NodeId::FIRST, None, one());
        postings.push(NodeId::FIRST, None, one());
        postings.push(NodeId::from_index(2), None, one());
        assert_eq!((postings.through(), postings.nodes_with("x")), (1, 1));
    }
}
