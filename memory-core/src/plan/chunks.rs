//! A vector whose copies share unchanged parts.

use std::sync::Arc;

/// Elements of a chunk, and chunks of a branch.
const CHUNK: usize = 128;
const BRANCH: usize = 128;

type Branch<T> = Arc<Vec<Arc<Vec<T>>>>;

/// A vector in shared chunks. A copy copies one pointer per branch; a write copies the changed chunk, and the pointers
/// of its branch, if they are shared.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T> {
    /// Branches and chunks are full, except the last; none is empty.
    branches: Vec<Branch<T>>,
    len: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { branches: Vec::new(), len: 0 }
    }
}

impl<T> Chunks<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.branches.get(index / CHUNK / BRANCH)?.get(index / CHUNK % BRANCH)?.get(index % CHUNK)
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.branches.iter().flat_map(|branch| branch.iter()).flat_map(|chunk| chunk.iter())
    }

    /// The first index whose element does not satisfy `is`, where all elements that do come first.
    pub(super) fn partition_point(&self, mut is: impl FnMut(&T) -> bool) -> usize {
        let (mut from, mut until) = (0, self.len);
        while from < until {
            let middle = from + (until - from) / 2;
            if self.get(middle).is_some_and(&mut is) {
                from = middle + 1;
            } else {
                until = middle;
            }
        }
        from
    }
}

impl<T: Clone> Chunks<T> {
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let branch = Arc::make_mut(self.branches.get_mut(index / CHUNK / BRANCH)?);
        Arc::make_mut(branch.get_mut(index / CHUNK % BRANCH)?).get_mut(index % CHUNK)
    }

    pub(super) fn push(&mut self, element: T) {
        let (is_chunk, is_branch) = (self.len.is_multiple_of(CHUNK), self.len.is_multiple_of(CHUNK * BRANCH));
        match self.branches.last_mut().map(Arc::make_mut).filter(|_| !is_branch) {
            None => self.branches.push(Arc::new(vec![Arc::new(vec![element])])),
            Some(branch) => match branch.last_mut().filter(|_| !is_chunk) {
                None => branch.push(Arc::new(vec![element])),
                Some(chunk) => Arc::make_mut(chunk).push(element),
            },
        }
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let branch = Arc::make_mut(self.branches.last_mut()?);
        let chunk = Arc::make_mut(branch.last_mut()?);
        let element = chunk.pop();
        if chunk.is_empty() {
            branch.pop();
        }
        if branch.is_empty() {
            self.branches.pop();
        }
        self.len -= usize::from(element.is_some());
        element
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn chunks_are_a_vector_and_copies_do_not_see_each_other(len in 0usize..20_000, steps in prop::collection::vec((0u8..3, 0usize..20_000), 0..200)) {
            let mut plain: Vec<usize> = (0..len).collect();
            let mut chunks = Chunks::default();
            plain.iter().for_each(|&n| chunks.push(n));
            let (before, copy) = (plain.clone(), chunks.clone());
            for (step, n) in steps {
                match step {
                    0 => { plain.push(n); chunks.push(n); }
                    1 => prop_assert_eq!(plain.pop(), chunks.pop()),
                    _ => {
                        if let Some(there) = plain.get_mut(n) { *there += 1; }
                        if let Some(there) = chunks.get_mut(n) { *there += 1; }
                    }
                }
            }
            prop_assert_eq!((chunks.len(), chunks.last()), (plain.len(), plain.last()));
            prop_assert!(chunks.iter().eq(&plain));
            prop_assert!(copy.iter().eq(&before));
            for bound in [0, 1, 127, 128, 129, 2_999, 16_383, 16_384, 16_385, 30_000] {
                prop_assert_eq!(copy.partition_point(|n| *n < bound), before.partition_point(|n| *n < bound));
                prop_assert_eq!(copy.get(bound), before.get(bound));
            }
        }
    }
}
