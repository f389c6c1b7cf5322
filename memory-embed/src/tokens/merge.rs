//! Byte pair merging: how many tokens a word comes to.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::vocabulary::Vocabulary;

/// Merges the bytes of one word after the other, always the leftmost of the pairs whose token has the lowest rank.
#[derive(Debug)]
pub(super) struct Merger {
    vocabulary: &'static Vocabulary,
    /// The part that begins at each byte of the word; stale where a part before it took it in.
    parts: Vec<Part>,
    /// Pairs that make a token: its rank, and where the pair begins.
    pairs: BinaryHeap<Reverse<(u32, u32)>>,
}

/// Bytes of a word that make a token.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where the part before it begins; of no meaning in the first.
    before: u32,
    end: u32,
    /// The rank of the token that it makes with the part after it.
    pair: Option<u32>,
}

impl Merger {
    pub(super) fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, parts: Vec::new(), pairs: BinaryHeap::new() }
    }

    /// The tokens of a word of less than 4 GiB; every single byte is a token.
    pub(super) fn count(&mut self, word: &[u8]) -> usize {
        if word.len() < 2 || self.vocabulary.rank(word).is_some() {
            return word.len().min(1);
        }
        let length = u32::try_from(word.len()).unwrap_or(u32::MAX);
        self.pairs.clear();
        self.parts.clear();
        self.parts.extend((0..length).map(|at| Part { before: at.saturating_sub(1), end: at + 1, pair: None }));
        for at in 0..length {
            self.offer(word, at);
        }
        let mut count = word.len();
        while let Some(Reverse((rank, begin))) = self.pairs.pop() {
            // Offers are not taken back when one of the two parts grows.
            if self.part(begin).is_some_and(|part| part.pair == Some(rank)) && self.merge(word, begin).is_some() {
                count -= 1;
            }
        }
        count
    }

    /// Makes one part of the one at `begin` and the one after it.
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

    /// Considers the pair that begins at `begin`.
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

    fn part(&mut self, begin: u32) -> Option<&mut Part> {
        self.parts.get_mut(usize::try_from(begin).ok()?)
    }
}
