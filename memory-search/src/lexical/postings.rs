//! Which nodes of a conversation hold which term, and how often.

use std::collections::HashMap;

use memory_core::{Losses, Node, NodeId};

use super::{Cast, NodeTerms};

/// An inverted index over the first nodes of one conversation; grows node by node.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    lists: HashMap<Box<str>, List>,
    lengths: Vec<u32>,
    cast: Cast,
    total_length: u64,
    losses: Losses,
    heap_bytes: usize,
}

/// Where one term occurs: pairs of (distance from the last node that has it, how often), each number in groups
/// of seven bits, so that a pair takes about two bytes.
#[derive(Debug, Default)]
struct List {
    pairs: Vec<u8>,
    nodes: u32,
    /// Position of the last node; 0 before the first.
    last: u32,
}

impl Postings {
    /// All nodes up to this position are in it; 0 for none.
    pub(crate) fn through(&self) -> u64 {
        self.lengths.len() as u64
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
        self.lists.get(term).map_or(0, |list| list.nodes)
    }

    /// Each node that holds `term`, as an index from 0, and how often it does; in order.
    pub(crate) fn occurrences(&self, term: &str) -> impl Iterator<Item = (usize, u32)> {
        let mut pairs = self.lists.get(term).map_or([].as_slice(), |list| &list.pairs);
        let mut position = 0;
        std::iter::from_fn(move || {
            position += read_number(&mut pairs)?;
            let count = read_number(&mut pairs)?;
            Some((position.checked_sub(1)? as usize, count))
        })
    }

    /// Adds the next node, which is not `said` where it could not be read. Any other is ignored: either it is in it
    /// already, or it would leave a gap.
    pub(crate) fn push(&mut self, node: NodeId, said: Option<&Node>, terms: NodeTerms) {
        let Ok(position) = u32::try_from(node.get()) else { return };
        if node.index() != self.lengths.len() {
            return;
        }
        self.cast.push(said, &terms);
        for (term, count) in terms.counts {
            let term_bytes = size_of::<(Box<str>, List)>() + term.len();
            let list = self.lists.entry(term).or_default();
            self.heap_bytes += if list.nodes == 0 { term_bytes } else { 0 };
            self.heap_bytes += write_number(&mut list.pairs, position - list.last);
            self.heap_bytes += write_number(&mut list.pairs, count);
            list.last = position;
            list.nodes += 1;
        }
        self.lengths.push(terms.length);
        self.total_length += u64::from(terms.length);
    }

    /// Notes which of the nodes that were pushed have no words because they could not be read.
    pub(crate) fn lose(&mut self, losses: &Losses) {
        self.losses.extend(losses);
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap_bytes + self.lengths.len() * size_of::<u32>() + self.cast.bytes()
    }
}

/// Appends `number` in groups of seven bits, the lowest first, and gives the bytes it took.
fn write_number(out: &mut Vec<u8>, mut number: u32) -> usize {
    let before = out.len();
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7F);
            return out.len() - before;
        }
        out.push(low | 0x80);
    }
}

fn read_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for shift in (0..32).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
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

        #[test]
        fn numbers_read_back(numbers in prop::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            let written: usize = numbers.iter().map(|&number| write_number(&mut bytes, number)).sum();
            prop_assert_eq!(written, bytes.len());
            let mut rest = bytes.as_slice();
            let read: Vec<_> = std::iter::from_fn(|| read_number(&mut rest)).collect();
            prop_assert_eq!(read, numbers);
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
