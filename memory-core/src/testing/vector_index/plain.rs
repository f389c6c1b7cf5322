//! The expected content of an index, and pseudo-random vectors to insert.

use std::collections::BTreeMap;

use super::{DIMENSIONS, Nodes};
use crate::{NodeId, NodeSet, port::Slot};

/// The expected content of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain {
    pub(super) vectors: BTreeMap<Slot, Vec<f32>>,
    pub(super) through: u64,
}

impl Plain {
    pub(super) fn insert(&mut self, nodes: &Nodes) {
        for (node, vectors) in nodes {
            let slots = (0..).map(|chunk| Slot { node: *node, chunk });
            self.vectors.extend(slots.zip(vectors.iter().cloned()));
            self.through = node.get();
        }
    }

    pub(super) fn remove(&mut self, nodes: &NodeSet) -> u64 {
        let before = self.vectors.len();
        self.vectors.retain(|slot, _| !nodes.contains(slot.node));
        (before - self.vectors.len()) as u64
    }

    pub(super) fn cosine(&self, slot: Slot, query: &[f32]) -> Option<f32> {
        self.vectors.get(&slot).map(|vector| cosine(query, vector))
    }

    /// The slots of the `limit` nearest, nearest first.
    pub(super) fn nearest(&self, query: &[f32], limit: usize, only: Option<&NodeSet>) -> Vec<(f32, Slot)> {
        let may_answer = |slot: &Slot| only.is_none_or(|only| only.contains(slot.node));
        let of = self.vectors.iter().filter(|(slot, _)| may_answer(slot));
        let mut all: Vec<_> = of.map(|(slot, vector)| (cosine(query, vector), *slot)).collect();
        all.sort_by(|(a, a_slot), (b, b_slot)| b.total_cmp(a).then(a_slot.cmp(b_slot)));
        all.truncate(limit);
        all
    }
}

/// Pseudo-random numbers from a seed: Steele and others' SplitMix64 (OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// −1..1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are taken, which a float holds")]
    fn component(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(super) fn unit(&mut self) -> Vec<f32> {
        unit((0..DIMENSIONS).map(|_| self.component()).collect())
    }

    /// A vector near `centre`: their cosine is about 0.8.
    pub(super) fn near(&mut self, centre: &[f32]) -> Vec<f32> {
        let away = self.unit();
        unit(centre.iter().zip(away).map(|(centre, away)| centre + 0.75 * away).collect())
    }

    /// Nodes from `from` on, near some of `centres`. Some have no vector or several.
    pub(super) fn nodes(&mut self, centres: &[Vec<f32>], from: u64, count: u64) -> Nodes {
        let mut nodes = Vec::new();
        for position in from..from + count {
            let chunks = match self.below(16) {
                0 => 0,
                1 => 3,
                _ => 1,
            };
            let mut vector = || {
                let centre = self.below(centres.len() as u64);
                self.near(centres.get(usize::try_from(centre).unwrap()).unwrap())
            };
            let vectors = (0..chunks).map(|_| vector()).collect();
            nodes.push((NodeId::new(position).unwrap(), vectors));
        }
        nodes
    }

    pub(super) fn centres(&mut self, count: usize) -> Vec<Vec<f32>> {
        (0..count).map(|_| self.unit()).collect()
    }
}

pub(super) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|component| *component /= length);
    vector
}

pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
