//! A vector whose copies share unchanged parts.

use std::sync::Arc;

/// Elements of a chunk.
const CHUNK: usize = 1024;

/// A vector in shared chunks. A copy copies one pointer per chunk; a write copies the changed chunk if it is shared.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T> {
    /// Chunks are full, except the last; none is empty.
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunks<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The first index whose element does not satisfy `is`, where all elements that do come first.
    pub(super) fn partition_point(&self, mut is: impl FnMut(&T) -> bool) -> usize {
        let full = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&mut is));
        let within = self.chunks.get(full).map_or(0, |chunk| chunk.partition_point(is));
        (full * CHUNK + within).min(self.len)
    }
}

impl<T: Clone> Chunks<T> {
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    pub(super) fn push(&mut self, element: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(element),
            _ => self.chunks.push(Arc::new(vec![element])),
        }
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let chunk = self.chunks.last_mut()?;
        let element = Arc::make_mut(chunk).pop();
        if chunk.is_empty() {
            self.chunks.pop();
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
        fn chunks_are_a_vector_and_copies_do_not_see_each_other(len in 0usize..3_000, steps in prop::collection::vec((0u8..3, 0usize..3_000), 0..60)) {
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
            for bound in [0, 1, 1_023, 1_024, 1_025, 2_999, 5_000] {
                prop_assert_eq!(copy.partition_point(|n| *n < bound), before.partition_point(|n| *n < bound));
                prop_assert_eq!(copy.get(bound), before.get(bound));
            }
        }
    }
}
