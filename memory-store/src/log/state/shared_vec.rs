//! A vector whose copies share their common prefix, so that a fork takes memory only for its additions.

use std::sync::Arc;

/// Items of a leaf: together with the leaf's branch, the cost of changing one place of a copy.
pub(crate) const LEAF: usize = 128;
/// Leaves of a branch.
const BRANCH: usize = 128;

type Branch<T> = Arc<Vec<Arc<[T]>>>;

/// Items in order. After the full leaves comes a tail that is not shared.
#[derive(Clone, Debug)]
pub(crate) struct SharedVec<T> {
    /// Branches, full except for the last, which may hold leaves that no longer count.
    branches: Vec<Branch<T>>,
    /// Number of full leaves that count.
    leaves: usize,
    /// Items after the full leaves, fewer than a leaf holds.
    tail: Vec<T>,
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        Self { branches: Vec::new(), leaves: 0, tail: Vec::new() }
    }
}

impl<T: PartialEq + Copy> PartialEq for SharedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Copy> SharedVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.leaves * LEAF + self.tail.len()
    }

    /// Adds an item at the end.
    pub(crate) fn push(&mut self, item: T) {
        if self.tail.len() == self.tail.capacity() {
            // The capacity doubles up to a whole leaf, not beyond.
            self.tail.reserve_exact(self.tail.len().clamp(1, LEAF - self.tail.len()));
        }
        self.tail.push(item);
        if self.tail.len() == LEAF {
            self.push_leaf();
        }
    }

    fn push_leaf(&mut self) {
        let leaf = Arc::from(self.tail.as_slice());
        self.tail.clear();
        let within = self.leaves % BRANCH;
        self.branches.truncate(self.leaves.div_ceil(BRANCH));
        match self.branches.last_mut().filter(|_| within > 0) {
            Some(branch) => {
                let branch = Arc::make_mut(branch);
                branch.truncate(within);
                branch.push(leaf);
            }
            None => self.branches.push(Arc::new(vec![leaf])),
        }
        self.leaves += 1;
    }

    fn leaf(&self, leaf: usize) -> Option<&Arc<[T]>> {
        self.branches.get(leaf / BRANCH)?.get(leaf % BRANCH)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let leaf = index / LEAF;
        if leaf < self.leaves {
            return self.leaf(leaf)?.get(index % LEAF);
        }
        self.tail.get(index - self.leaves * LEAF)
    }

    /// An item to be changed only in this copy.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let leaf = index / LEAF;
        if leaf < self.leaves {
            let branch = Arc::make_mut(self.branches.get_mut(leaf / BRANCH)?);
            return Arc::make_mut(branch.get_mut(leaf % BRANCH)?).get_mut(index % LEAF);
        }
        self.tail.get_mut(index - self.leaves * LEAF)
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_from(0)
    }

    /// The items from `first` on.
    pub(crate) fn iter_from(&self, first: usize) -> impl Iterator<Item = &T> {
        let skip = first / LEAF;
        let leaves = (skip..self.leaves).filter_map(|leaf| self.leaf(leaf)).map(|leaf| &**leaf);
        let begun = skip.min(self.leaves) * LEAF;
        leaves.chain([self.tail.as_slice()]).flatten().skip(first - begun)
    }

    /// The length of the prefix for which `holds` is true; it is false for every item after that.
    pub(crate) fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut until) = (0, self.len());
        while from < until {
            let middle = from + (until - from) / 2;
            if self.get(middle).is_some_and(&holds) {
                from = middle + 1;
            } else {
                until = middle;
            }
        }
        from
    }

    /// The first `count` items, or all if there are fewer, shared with these.
    pub(crate) fn first(&self, count: usize) -> Self {
        let leaves = (count / LEAF).min(self.leaves);
        let branches = self.branches.iter().take(leaves.div_ceil(BRANCH)).cloned().collect();
        let rest = self.iter_from(leaves * LEAF).take(count - leaves * LEAF).take(LEAF - 1);
        Self { branches, leaves, tail: rest.copied().collect() }
    }

    /// Places among the first `count` where `other` has another item; shared parts are skipped.
    pub(crate) fn differing<'a>(&'a self, other: &'a Self, count: usize) -> impl Iterator<Item = usize>
    where
        T: PartialEq,
    {
        let is_shared = move |leaf: usize| {
            let both = self.leaf(leaf).filter(|_| leaf < self.leaves).zip(other.leaf(leaf));
            both.is_some_and(|(own, others)| leaf < other.leaves && Arc::ptr_eq(own, others))
        };
        let leaves = (0..count.div_ceil(LEAF)).filter(move |leaf| !is_shared(*leaf));
        let places = leaves.flat_map(move |leaf| leaf * LEAF..((leaf + 1) * LEAF).min(count));
        places.filter(|place| self.get(*place) != other.get(*place))
    }

    /// Bytes of memory that a fresh copy takes for itself.
    #[cfg(test)]
    pub(crate) fn own_bytes(&self) -> usize {
        self.branches.capacity() * size_of::<Branch<T>>() + self.tail.capacity() * size_of::<T>()
    }

    /// Bytes of memory, spare capacity and shared parts included.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        const ARC: usize = 2 * size_of::<usize>();
        let leaf = ARC + LEAF * size_of::<T>();
        let branch = |branch: &Branch<T>| ARC + size_of::<Vec<Arc<[T]>>>() + branch.capacity() * size_of::<Arc<[T]>>();
        let branches: usize = self.branches.iter().map(branch).sum();
        let pointers = self.branches.capacity() * size_of::<Branch<T>>();
        self.leaves * leaf + branches + pointers + self.tail.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(items: impl IntoIterator<Item = u32>) -> SharedVec<u32> {
        let mut all = SharedVec::default();
        items.into_iter().for_each(|item| all.push(item));
        all
    }

    /// Two branches, three leaves and five items.
    const MANY: u32 = 128 * 128 * 2 + 128 * 3 + 5;

    #[test]
    fn a_copy_and_what_it_was_made_of_grow_apart() {
        let whole = of(0..MANY);
        for count in [0, 1, LEAF - 1, LEAF, LEAF * BRANCH, LEAF * BRANCH + 1, MANY as usize, MANY as usize + 9] {
            let kept = u32::try_from(count).unwrap().min(MANY);
            let mut part = whole.first(count);
            assert!(part.iter().copied().eq(0..kept), "the first {count}");
            (0..300).for_each(|n| part.push(1_000_000 + n));
            if let Some(first) = part.get_mut(0).filter(|_| kept > 0) {
                *first = 7;
            }
            assert!(part.iter().skip(1).copied().eq((0..kept).chain(1_000_000..1_000_300).skip(1)));
            assert!(whole.iter().copied().eq(0..MANY), "after a copy of {count} was changed");
            assert_eq!(part.partition_point(|item| *item < 1_000_000), kept as usize);
        }
    }

    #[test]
    fn only_what_differs_is_looked_at() {
        let whole = of(0..MANY);
        let mut part = whole.first(MANY as usize - 3);
        assert_eq!(part.differing(&whole, part.len()).count(), 0);
        for place in [3, LEAF * 9, MANY as usize - 4] {
            *part.get_mut(place).unwrap() = u32::MAX;
        }
        assert_eq!(part.differing(&whole, part.len()).collect::<Vec<_>>(), [3, LEAF * 9, MANY as usize - 4]);
        assert!(part.differing(&whole.first(1), 2).eq([1]), "behind the end of one of them");
    }

    proptest! {
        #[test]
        fn it_is_a_vector(steps in prop::collection::vec((0u8..4, any::<u16>()), 1..60)) {
            let (mut shared, mut plain) = (SharedVec::default(), Vec::new());
            for (step, number) in steps {
                let at = usize::from(number);
                match step {
                    0 | 1 => (0..at % 700).for_each(|n| { shared.push(n); plain.push(n); }),
                    2 => {
                        let count = if plain.is_empty() { 0 } else { at % (plain.len() + 1) };
                        shared = shared.first(count);
                        plain.truncate(count);
                    }
                    _ if plain.is_empty() => {}
                    _ => {
                        let at = at % plain.len();
                        let kept = shared.clone();
                        *shared.get_mut(at).unwrap() = 9999;
                        plain[at] = 9999;
                        prop_assert_eq!(kept.differing(&shared, plain.len()).count(), usize::from(kept.get(at) != Some(&9999)));
                    }
                }
                prop_assert_eq!(shared.len(), plain.len());
                prop_assert_eq!(shared.last(), plain.last());
                prop_assert!(shared.iter().eq(plain.iter()));
                let from = at % (plain.len() + 1);
                prop_assert!(shared.iter_from(from).eq(plain.iter().skip(from)));
                prop_assert_eq!(shared.get(from), plain.get(from));
            }
        }
    }
}
