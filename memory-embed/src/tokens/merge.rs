//! Byte pair merging: counts the tokens of a word.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::vocabulary::Vocabulary;

/// Merges the bytes of one word after another. Always merges the leftmost of the pairs whose token has the lowest rank.
#[derive(Debug)]
pub(super) struct Merger {
    vocabulary: &'static Vocabulary,
    /// For each byte, the part that begins there; stale once an earlier part has absorbed it.
    parts: Vec<Span>,
    /// Pairs that form a token: its rank, and the start of the pair.
    pairs: BinaryHeap<Reverse<(u32, u32)>>,
}

/// Bytes of a word that form a token.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Start of the previous part; meaningless in the first part.
    before: u32,
    end: u32,
    /// Rank of the token that this part forms with the next one.
    pair: Option<u32>,
}

impl Merger {
    pub(super) fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, parts: Vec::new(), pairs: BinaryHeap::new() }
    }

    /// Number of tokens of a word of less than 4 GiB. Every single byte is a token.
    pub(super) fn count(&mut self, word: &[u8]) -> usize {
        if word.len() < 2 || self.vocabulary.rank(word).is_some() {
            return word.len().min(1);
        }
        let length = u32::try_from(word.len()).unwrap_or(u32::MAX);
        self.pairs.clear();
        self.parts.clear();
        self.parts.extend((0..length).map(|at| Span { before: at.saturating_sub(1), end: at + 1, pair: None }));
        for at in 0..length {
            self.offer(word, at);
        }
        let mut count = word.len();
        while let Some(Reverse((rank, begin))) = self.pairs.pop() {
            // Stale pairs stay in the heap when one of their parts grows.
            if self.part(begin).is_some_and(|part| part.pair == Some(rank)) && self.merge(word, begin).is_some() {
                count -= 1;
            }
        }
        count
    }

    /// Merges the part at `begin` with the next one.
    fn merge(&mut self, word: &[u8], begin: u32) -> Option<()> {
        let part = *self.part(begin)?;
        let taken = self.part(part.end)?;
        let end = taken.end;
        taken.pair = None;
        self.part(begin)?.end = end;
        if let Some(after) = self.part(end) {
            after.before = begin;
        }
        self.offer(word, begin);
        if begin > 0 {
            self.offer(word, part.before);
        }
        Some(())
    }

    /// Adds the pair that begins at `begin` to the heap, if it forms a token.
    fn offer(&mut self, word: &[u8], begin: u32) {
        let rank = self.pair(word, begin);
        if let Some(part) = self.part(begin) {
            part.pair = rank;
        }
        if let Some(rank) = rank {
            self.pairs.push(Reverse((rank, begin)));
        }
    }

    fn pair(&mut self, word: &[u8], begin: u32) -> Option<u32> {
        let middle = self.part(begin)?.end;
        let end = self.part(middle)?.end;
        self.vocabulary.rank(word.get(usize::try_from(begin).ok()?..usize::try_from(end).ok()?)?)
    }

    fn part(&mut self, begin: u32) -> Option<&mut Span> {
        self.parts.get_mut(usize::try_from(begin).ok()?)
    }
}
