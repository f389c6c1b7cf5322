//! Index of a block of tokens: number of tokens and distinct token ids of each node.

use crate::wire::{In, Out};

/// Appends the entry of a node: its number of tokens and its distinct token ids.
pub(super) fn write_entry(tokens: u32, ids: &[u32], out: &mut Out) {
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    out.number(tokens.into());
    out.number(distinct.len() as u64);
    let mut before = 0;
    for id in distinct {
        out.number(u64::from(id - before));
        before = id;
    }
}

/// Parses an entry; also returns the bytes after it. `None` if it is invalid.
pub(super) fn read_entry(bytes: &[u8]) -> Option<(u32, Vec<u32>, &[u8])> {
    let mut bytes = In(bytes);
    let tokens = bytes.u32()?;
    let count = bytes.u32()?;
    // An id takes at least one byte, which bounds the allocation for an invalid count.
    let mut ids = Vec::with_capacity((count as usize).min(bytes.0.len()));
    let mut last = 0_u32;
    for _ in 0..count {
        last = last.checked_add(bytes.u32()?)?;
        ids.push(last);
    }
    Some((tokens, ids, bytes.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_read_back(nodes in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u32>(), 0..9)), 0..9)) {
            let mut bytes = Out::default();
            nodes.iter().for_each(|(tokens, ids)| write_entry(*tokens, ids, &mut bytes));
            let mut rest = bytes.0.as_slice();
            for (tokens, mut ids) in nodes {
                ids.sort_unstable();
                ids.dedup();
                let read = read_entry(rest).unwrap();
                prop_assert_eq!((read.0, &read.1), (tokens, &ids));
                rest = read.2;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn bytes_that_are_no_entry_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some((_, ids, rest)) = read_entry(&bytes) {
                prop_assert!(ids.len() + rest.len() <= bytes.len());
            }
        }
    }
}
