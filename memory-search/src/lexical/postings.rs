//! The inverted index of one conversation.

use std::{collections::HashMap, sync::Arc};

use memory_core::{Node, NodeId, NodeRange, port::Losses};

use super::{
    NodeTable, NodeTerms, Spoken, Vocabulary,
    segment::{List, SegmentRun, before, occurrences},
    segment_builder::Piece,
    stored_rows::StoredRows,
};

/// Inverted index of the first nodes of one conversation; grows node by node.
///
/// Saved nodes are in runs of segments, which are searched in their serialized form. Newer nodes are in lists until
/// segments [replace these](Self::take_saved).
#[derive(Debug, Default)]
pub(crate) struct Postings {
    saved: Vec<SegmentRun>,
    /// Terms of the nodes after the saved ones; shared with [copies](Self::without).
    lists: Arc<HashMap<Box<str>, List>>,
    lengths: Vec<u32>,
    node_table: NodeTable,
    total_length: u64,
    losses: Losses,
    heap_bytes: usize,
    /// Number of first nodes that come from saved blocks and were not read by this process.
    restored: u64,
    /// Indices of the nodes that count as if they had no words, sorted.
    hidden: Vec<usize>,
}

impl Postings {
    /// Last indexed node; 0 for none.
    pub(crate) fn through(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// Last node in a segment.
    pub(crate) fn saved(&self) -> u64 {
        self.saved.last().and_then(SegmentRun::nodes).map_or(0, |nodes| nodes.last().get())
    }

    /// Last node that this process has not read itself; nodes up to it may have been lost since they were indexed.
    pub(crate) fn restored(&self) -> u64 {
        self.restored
    }

    /// Number of terms of each node, including repeats but not stop words.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Speaker, time and session of each node.
    pub(crate) fn node_table(&self) -> &NodeTable {
        &self.node_table
    }

    /// Unreadable nodes, which are indexed without terms.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Number of nodes that are indexed with terms.
    pub(crate) fn readable(&self) -> u64 {
        self.through().saturating_sub(self.losses.count() + self.hidden.len() as u64)
    }

    /// A copy that nothing in the `hidden` nodes influences: neither their words, nor who said them, nor what they are.
    /// They keep their time and session.
    pub(crate) fn without(&self, mut hidden: Vec<usize>) -> Self {
        hidden.retain(|index| *index < self.lengths.len());
        let mut lengths = self.lengths.clone();
        let mut total_length = self.total_length;
        for index in &hidden {
            let length = lengths.get_mut(*index).map(std::mem::take).unwrap_or_default();
            total_length -= u64::from(length);
        }
        Self {
            saved: self.saved.clone(),
            lists: Arc::clone(&self.lists),
            node_table: self.node_table.without(&hidden),
            losses: self.losses.clone(),
            heap_bytes: 0,
            restored: self.restored,
            lengths,
            total_length,
            hidden,
        }
    }

    /// True if a node counts as if it had no words.
    pub(crate) fn hides(&self, index: usize) -> bool {
        self.hidden.binary_search(&index).is_ok()
    }

    /// Indices of the nodes that count as if they had no words.
    pub(crate) fn hidden(&self) -> &[usize] {
        &self.hidden
    }

    pub(crate) fn total_length(&self) -> u64 {
        self.total_length
    }

    /// Number of nodes that contain `term`.
    pub(crate) fn nodes_with(&self, term: &str) -> u32 {
        if !self.hidden.is_empty() {
            return u32::try_from(self.occurrences(term).len()).unwrap_or(u32::MAX);
        }
        let saved = self.saved.iter().filter_map(|run| run.entry(term)).map(|entry| entry.nodes);
        let saved = saved.fold(0, u32::saturating_add);
        saved.saturating_add(self.lists.get(term).map_or(0, |list| list.nodes))
    }

    /// Nodes that contain `term`, as indices from 0, in order, with the number of occurrences.
    pub(crate) fn occurrences(&self, term: &str) -> Vec<(usize, u32)> {
        let saved = self.saved.iter().filter_map(|run| Some((run.entry(term)?.pairs, before(run.nodes()?))));
        let new = self.lists.get(term).map(|list| (list.pairs.as_slice(), self.before_lists()));
        let pairs = saved.chain(new).flat_map(|(pairs, before)| occurrences(pairs, before));
        let pairs = pairs.filter_map(|(position, count)| Some((position.checked_sub(1)? as usize, count)));
        pairs.filter(|(index, _)| !self.hides(*index)).collect()
    }

    /// Languages of the indexed nodes.
    pub(super) fn spoken(&self) -> Spoken {
        Spoken::counted(self.readable(), |marker| u64::from(self.nodes_with(marker)))
    }

    /// Last node in a segment.
    fn before_lists(&self) -> u32 {
        u32::try_from(self.saved()).unwrap_or(u32::MAX)
    }

    /// Adds the next node; `said` is `None` if it is unreadable. Ignores any other node, which is indexed already or
    /// would leave a gap.
    pub(crate) fn push(&mut self, node: NodeId, said: Option<&Node>, terms: NodeTerms) {
        let Ok(position) = u32::try_from(node.get()) else { return };
        if node.index() != self.lengths.len() {
            return;
        }
        self.node_table.push(said, &terms);
        let before = self.before_lists();
        let lists = Arc::make_mut(&mut self.lists);
        for (term, count) in terms.counts {
            let term_bytes = size_of::<(Box<str>, List)>() + term.len();
            let list = lists.entry(term).or_insert_with(|| List::after(before));
            self.heap_bytes += if list.nodes == 0 { term_bytes } else { 0 };
            self.heap_bytes += list.push(position, count);
        }
        self.lengths.push(terms.length);
        self.total_length += u64::from(terms.length);
    }

    /// Adds the nodes of a saved run with their rows, of which `losses` are unreadable; `false` if the run does not
    /// continue the index.
    pub(super) fn restore(&mut self, run: SegmentRun, mut rows: StoredRows, losses: &Losses) -> bool {
        let follows = run
            .nodes()
            .is_some_and(|nodes| nodes.first().index() == self.lengths.len() && self.saved() == self.through());
        if !follows || !self.node_table.restore(&mut rows) {
            return false;
        }
        self.total_length += rows.lengths.iter().copied().map(u64::from).sum::<u64>();
        self.lengths.append(&mut rows.lengths);
        self.saved.push(run);
        self.losses.extend(losses);
        self.restored = self.through();
        true
    }

    /// Nodes that are in no segment; `None` if there are none.
    pub(super) fn unsaved(&self) -> Option<Piece<'_>> {
        let nodes = NodeRange::new(NodeId::new(self.saved() + 1)?, NodeId::new(self.through())?)?;
        let begin = nodes.first().index();
        let mut rows = self.node_table.rows_from(begin);
        rows.lengths = self.lengths.get(begin..)?.to_vec();
        let lost = self.losses.within(nodes).flat_map(NodeRange::iter);
        rows.lost = lost.map(|node| node.index() - begin).collect();
        Some(Piece::New { nodes, rows, lists: &self.lists })
    }

    /// Replaces lists by runs of segments, if the runs cover the nodes that were saved before, or all nodes.
    pub(super) fn take_saved(&mut self, runs: Vec<SegmentRun>) {
        let through = runs.last().and_then(SegmentRun::nodes).map_or(0, |nodes| nodes.last().get());
        if through == self.through() {
            self.lists = Arc::default();
            self.heap_bytes = 0;
        } else if through != self.saved() {
            return;
        }
        self.saved = runs;
    }

    /// Records indexed nodes that have become unreadable.
    pub(crate) fn lose(&mut self, losses: &Losses) {
        self.losses.extend(losses);
    }

    /// Records unreadable nodes after this process has read all nodes.
    pub(crate) fn check(&mut self, losses: &Losses) {
        self.losses.extend(losses);
        self.restored = 0;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.heap_bytes + self.lengths.len() * size_of::<u32>() + self.node_table.bytes()
    }
}

impl Vocabulary for Postings {
    fn nodes_with(&self, term: &str) -> u64 {
        u64::from(Self::nodes_with(self, term))
    }

    fn each_term(&self, visit: &mut dyn FnMut(&str)) {
        self.saved.iter().for_each(|run| run.segment.terms().for_each(|(term, _)| visit(term)));
        self.lists.keys().for_each(|term| visit(term));
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
                prop_assert_eq!(postings.occurrences(term), expected);
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
