//! The nearest nodes of a walk, sorted, with the expanded ones marked.

/// The neighbours were visited.
const EXPANDED: u64 = 1;
/// The node is walked through but not a result.
const BARRED: u64 = 2;
const MARKS: u32 = 2;

/// Maximum nodes, because node and marks share half a word.
pub(super) const MAX_NODES: usize = 1 << (32 - MARKS);

/// Candidates and results of algorithm 2 in one array, nearest first.
///
/// An entry is one word: likeness (reversed, so that the nearest sorts first), node, marks. Entries after the
/// `capacity`-th result are dropped; nodes that are not results do not count.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Vec<u64>,
    capacity: usize,
    results: usize,
    /// All entries before this index are expanded.
    cursor: usize,
}

impl Pool {
    pub(super) fn clear(&mut self, capacity: usize) {
        self.entries.clear();
        self.capacity = capacity.max(1);
        self.results = 0;
        self.cursor = 0;
    }

    /// Adds a node, unless `capacity` results are nearer.
    pub(super) fn push(&mut self, node: u32, likeness: f32, is_result: bool) {
        let entry = entry(node, likeness, is_result);
        let full = self.results >= self.capacity;
        if full && self.entries.last().is_none_or(|last| entry >= *last) {
            return;
        }
        let at = self.entries.partition_point(|other| *other < entry);
        self.entries.insert(at, entry);
        self.cursor = self.cursor.min(at);
        self.results += usize::from(is_result);
        while self.results > self.capacity || (self.results == self.capacity && self.ends_barred()) {
            let Some(dropped) = self.entries.pop() else { break };
            self.results -= usize::from(dropped & BARRED == 0);
        }
    }

    /// True if [`Self::push`] would add a node of this likeness, ignoring ties.
    pub(super) fn takes(&self, likeness: f32) -> bool {
        self.results < self.capacity
            || self.entries.last().is_none_or(|last| u64::from(!ordered(likeness)) <= *last >> 32)
    }

    fn ends_barred(&self) -> bool {
        self.entries.last().is_some_and(|last| last & BARRED != 0)
    }

    /// The nearest node that is not expanded; marks it as expanded.
    pub(super) fn expand(&mut self) -> Option<u32> {
        let rest = self.entries.get_mut(self.cursor..)?;
        let skipped = rest.iter().position(|entry| entry & EXPANDED == 0)?;
        let entry = rest.get_mut(skipped)?;
        *entry |= EXPANDED;
        self.cursor += skipped + 1;
        Some(node(*entry))
    }

    pub(super) fn len(&self) -> usize {
        self.results
    }

    /// Results with their likeness, nearest first, ties by number.
    pub(super) fn results(&self) -> impl Iterator<Item = (u32, f32)> {
        self.entries.iter().filter(|entry| **entry & BARRED == 0).map(|entry| (node(*entry), likeness(*entry)))
    }
}

fn entry(node: u32, likeness: f32, is_result: bool) -> u64 {
    let marks = if is_result { 0 } else { BARRED };
    u64::from(!ordered(likeness)) << 32 | u64::from(node) << MARKS | marks
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of a word")]
fn node(entry: u64) -> u32 {
    entry as u32 >> MARKS
}

fn likeness(entry: u64) -> f32 {
    let bits = !((entry >> 32) as u32);
    f32::from_bits(if bits >> 31 == 1 { bits ^ (1 << 31) } else { !bits })
}

/// Bits that sort like the numbers.
fn ordered(likeness: f32) -> u32 {
    let bits = likeness.to_bits();
    if bits >> 31 == 1 { !bits } else { bits ^ (1 << 31) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NODES: u32 = 1 << 30;

    proptest! {
        #[test]
        fn an_entry_gives_back_what_went_in_and_sorts_by_likeness(
            a in (0..NODES, -1.0f32..1.0),
            b in (0..NODES, -1.0f32..1.0),
        ) {
            let (first, second) = (entry(a.0, a.1, true), entry(b.0, b.1, false));
            prop_assert_eq!((node(first), likeness(first)), a);
            prop_assert_eq!((node(second), likeness(second)), b);
            if a.1 != b.1 {
                prop_assert_eq!(first < second, a.1 > b.1);
            }
        }

        #[test]
        fn the_results_are_the_nearest_that_may_be_results(
            pushed in prop::collection::vec((-1.0f32..1.0, any::<bool>()), 0..200),
            capacity in 1usize..20,
        ) {
            let mut pool = Pool::default();
            pool.clear(capacity);
            let mut expected = Vec::new();
            for (node, (likeness, is_result)) in (0u32..).zip(pushed) {
                pool.push(node, likeness, is_result);
                if is_result {
                    expected.push((node, likeness));
                }
            }
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            expected.truncate(capacity);
            prop_assert_eq!(pool.results().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_nearer_node_that_comes_late_is_expanded_next() {
        let mut pool = Pool::default();
        pool.clear(3);
        pool.push(1, 0.1, true);
        pool.push(2, 0.2, false);
        assert_eq!(pool.expand(), Some(2));
        pool.push(3, 0.3, true);
        assert_eq!([pool.expand(), pool.expand(), pool.expand()], [Some(3), Some(1), None]);
    }
}
