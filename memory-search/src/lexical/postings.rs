//! Which nodes of a conversation hold which term, and how often.

use std::collections::{BTreeMap, HashMap};

use memory_core::{Block, Losses, Node, NodeId, NodeRange};

use super::{
    Cast, NodeTerms,
    roll::Roll,
    segment::{List, Segment, occurrences},
};

/// An inverted index over the first nodes of one conversation; grows node by node.
///
/// What was kept between runs lies in segments, which are searched as they lie; what came since is in lists of its own,
/// until it is [sealed](Self::seal).
#[derive(Debug, Default)]
pub(crate) struct Postings {
    segments: Vec<Segment>,
    /// Of the nodes behind the segments.
    lists: HashMap<Box<str>, List>,
    lengths: Vec<u32>,
    cast: Cast,
    total_length: u64,
    losses: Losses,
    heap_bytes: usize,
    /// How many nodes, from the first, were not read by this process but kept by an earlier one.
    restored: u64,
}

/// A block that was read and makes sense by itself.
pub(crate) struct Kept {
    segment: Segment,
    roll: Roll,
}

impl Kept {
    /// What is kept in a block; `None` where it makes no sense.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        Segment::open(block).map(|(segment, roll)| Self { segment, roll })
    }

    /// Nodes that could not be read when it was made.
    pub(crate) fn lost(&self) -> Vec<NodeRange> {
        self.roll.lost(self.segment.nodes().first())
    }
}

impl Postings {
    /// All nodes up to this position are in it; 0 for none.
    pub(crate) fn through(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// All nodes up to this position are in segments.
    pub(crate) fn sealed(&self) -> u64 {
        self.segments.last().map_or(0, |last| last.nodes().last().get())
    }

    /// Nodes up to this position were not read by this process: they may have been lost since they were.
    pub(crate) fn restored(&self) -> u64 {
        self.restored
    }

    /// Terms of each node in order, repeats counted, stop words left out.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Who said each node, and when.
    pub(crate) fn cast(&self) -> &Cast {
        &self.cast
    }

    /// Nodes that are in it without their words, which could not be read.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// How many nodes are in it with their words.
    pub(crate) fn readable(&self) -> u64 {
        self.through() - self.losses.count()
    }

    /// Sum of [`Self::lengths`].
    pub(crate) fn total_length(&self) -> u64 {
        self.total_length
    }

    /// How many nodes hold `term`.
    pub(crate) fn nodes_with(&self, term: &str) -> u32 {
        let kept: u32 = self.segments.iter().map(|segment| segment.nodes_with(term)).fold(0, u32::saturating_add);
        kept.saturating_add(self.lists.get(term).map_or(0, |list| list.nodes))
    }

    /// Each node that holds `term`, as an index from 0, and how often it does; in order.
    pub(crate) fn occurrences(&self, term: &str) -> impl Iterator<Item = (usize, u32)> {
        let kept = self.segments.iter().map(|segment| (segment.pairs(term), segment.before()));
        let new = self.lists.get(term).map(|list| (list.pairs.as_slice(), self.before_lists()));
        let all: Vec<_> = kept.chain(new).collect();
        let pairs = all.into_iter().flat_map(|(pairs, before)| occurrences(pairs, before));
        pairs.filter_map(|(position, count)| Some((position.checked_sub(1)? as usize, count)))
    }

    /// The position of the last node that is in a segment.
    fn before_lists(&self) -> u32 {
        u32::try_from(self.sealed()).unwrap_or(u32::MAX)
    }

    /// Adds the next node, which is not `said` where it could not be read. Any other is ignored: either it is in it
    /// already, or it would leave a gap.
    pub(crate) fn push(&mut self, node: NodeId, said: Option<&Node>, terms: NodeTerms) {
        let Ok(position) = u32::try_from(node.get()) else { return };
        if node.index() != self.lengths.len() {
            return;
        }
        self.cast.push(said, &terms);
        let before = self.before_lists();
        for (term, count) in terms.counts {
            let term_bytes = size_of::<(Box<str>, List)>() + term.len();
            let list = self.lists.entry(term).or_insert_with(|| List::behind(before));
            self.heap_bytes += if list.nodes == 0 { term_bytes } else { 0 };
            self.heap_bytes += list.push(position, count);
        }
        self.lengths.push(terms.length);
        self.total_length += u64::from(terms.length);
    }

    /// Adds the nodes of a block that was kept, `losses` of which cannot be read; `false` where it does not follow
    /// those that are in it.
    pub(crate) fn restore(&mut self, kept: Kept, losses: &Losses) -> bool {
        let Kept { segment, mut roll } = kept;
        let follows = segment.nodes().first().index() == self.lengths.len() && self.sealed() == self.through();
        if !follows || !self.cast.restore(&mut roll) {
            return false;
        }
        self.total_length += roll.lengths.iter().copied().map(u64::from).sum::<u64>();
        self.lengths.append(&mut roll.lengths);
        self.heap_bytes += segment.bytes();
        self.segments.push(segment);
        self.losses.extend(losses);
        self.restored = self.through();
        true
    }

    /// Makes one segment of what is in none yet, and of the last segments as long as they hold no more than twice as
    /// many nodes as what they are joined with: so there are few of them, and each node is written again but a few
    /// times. Gives the block that keeps it; `None` where there is nothing to keep, or too much for a block.
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
        let mut roll = self.cast.roll(begin);
        roll.lengths = self.lengths.get(begin..)?.to_vec();
        let lost = self.losses.within(nodes).flat_map(NodeRange::iter);
        roll.lost = lost.map(|node| node.index() - begin).collect();
        let joined = self.segments.get(kept..)?;
        let block = Segment::block(nodes, &roll.write(), &self.joined(joined, u32::try_from(first - 1).ok()?))?;
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

    /// The lists of some segments and of what is in none, behind node `before`.
    fn joined(&self, segments: &[Segment], before: u32) -> BTreeMap<Box<str>, List> {
        let mut terms: BTreeMap<Box<str>, List> = BTreeMap::new();
        let mut add = |term: &str, pairs: &[u8], behind: u32| {
            let list = match terms.get_mut(term) {
                Some(list) => list,
                None => terms.entry(term.into()).or_insert_with(|| List::behind(before)),
            };
            for (position, count) in occurrences(pairs, behind) {
                list.push(position, count);
            }
        };
        for segment in segments {
            segment.terms().for_each(|(term, pairs)| add(term, pairs, segment.before()));
        }
        self.lists.iter().for_each(|(term, list)| add(term, &list.pairs, self.before_lists()));
        terms
    }

    /// Notes which of the nodes that were pushed have no words because they could not be read.
    pub(crate) fn lose(&mut self, losses: &Losses) {
        self.losses.extend(losses);
    }

    /// Notes which nodes cannot be read, after all of them were read.
    pub(crate) fn check(&mut self, losses: &Losses) {
        self.losses.extend(losses);
        self.restored = 0;
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap_bytes + self.lengths.len() * size_of::<u32>() + self.cast.bytes()
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
