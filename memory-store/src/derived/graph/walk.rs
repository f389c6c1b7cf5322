//! Walks through the graph towards a query.

use super::{Codes, Graph, pool::Pool};

/// Reusable working memory of a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) pool: Pool,
    visited: Visited,
    /// Neighbours that are visited for the first time, and their products.
    met: Vec<u32>,
    products: Vec<i32>,
}

impl Walk {
    /// Walks greedily from `entry` to a local optimum on each layer above `bottom`: algorithm 1, lines 5 to 7, also
    /// algorithm 5, lines 3 to 5.
    pub(super) fn descend(&mut self, graph: &Graph, codes: &Codes<'_>, query: &[i8], entry: u32, bottom: usize) -> u32 {
        self.met.clear();
        self.met.push(entry);
        let likeness = codes.likenesses(query, &self.met, &mut self.products).next();
        let (mut nearest, mut best) = (entry, likeness.unwrap_or(f32::NEG_INFINITY));
        for layer in (bottom + 1..=graph.level(entry)).rev() {
            loop {
                let from = nearest;
                self.met.clear();
                graph.neighbours(from, layer, |node| self.met.push(node));
                self.met.retain(|node| codes.has(*node));
                for (node, likeness) in self.met.iter().zip(codes.likenesses(query, &self.met, &mut self.products)) {
                    if likeness > best {
                        (nearest, best) = (*node, likeness);
                    }
                }
                // Terminates, because each step gets nearer.
                if nearest == from {
                    break;
                }
            }
        }
        nearest
    }

    /// Algorithm 2: walks from `entries` to the `ef` nearest nodes of a layer that `is_result` accepts and leaves them
    /// in the pool. Other nodes are only walked through.
    ///
    /// One pool holds candidates and results, because a candidate farther than the worst of `ef` results would end the
    /// walk anyway.
    pub(super) fn search_layer(
        &mut self,
        graph: &Graph,
        codes: &Codes<'_>,
        query: &[i8],
        layer: Layer<'_>,
        ef: usize,
        is_result: impl Fn(u32) -> bool,
    ) {
        let Self { pool, visited, met, products } = self;
        visited.clear(codes.len());
        pool.clear(ef);
        met.clear();
        met.extend(layer.entries.iter().filter(|node| codes.has(**node) && visited.insert(**node)));
        loop {
            for (node, likeness) in met.iter().zip(codes.likenesses(query, met, products)) {
                if pool.takes(likeness) {
                    pool.push(*node, likeness, is_result(*node));
                }
            }
            let Some(next) = pool.expand() else { return };
            met.clear();
            graph.neighbours(next, layer.number, |node| {
                if codes.has(node) && visited.insert(node) {
                    met.push(node);
                }
            });
        }
    }

    /// Compares every node that [`Self::search_layer`] did not reach.
    pub(super) fn search_unmet(&mut self, codes: &Codes<'_>, query: &[i8], is_result: impl Fn(u32) -> bool) {
        let Self { pool, visited, met, products } = self;
        let mut nodes = (0..).take(codes.len()).filter(|node| visited.insert(*node) && is_result(*node));
        loop {
            met.clear();
            met.extend(nodes.by_ref().take(256));
            if met.is_empty() {
                return;
            }
            for (node, likeness) in met.iter().zip(codes.likenesses(query, met, products)) {
                pool.push(*node, likeness, true);
            }
        }
    }
}

/// Layer and starting nodes of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    pub(super) number: usize,
    pub(super) entries: &'a [u32],
}

/// Nodes that a walk has visited: a bit for each. Clearing touches only words that were set, so that a walk costs what
/// it visits, whatever the size of the graph.
#[derive(Debug, Default)]
struct Visited {
    words: Vec<u64>,
    touched: Vec<u32>,
}

impl Visited {
    /// Clears all bits, and makes room for `nodes`.
    fn clear(&mut self, nodes: usize) {
        for word in self.touched.drain(..) {
            if let Some(word) = self.words.get_mut(word as usize) {
                *word = 0;
            }
        }
        let words = nodes.div_ceil(64);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// True if the node is visited for the first time; `false` for a node without room.
    fn insert(&mut self, node: u32) -> bool {
        let (at, bit) = (node / 64, 1u64 << (node % 64));
        let Some(word) = self.words.get_mut(at as usize) else { return false };
        let is_new = *word & bit == 0;
        if *word == 0 {
            self.touched.push(at);
        }
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_once_until_cleared() {
        let mut visited = Visited::default();
        visited.clear(130);
        assert!(visited.insert(0) && visited.insert(64) && visited.insert(129));
        assert!(!visited.insert(64) && visited.insert(63));
        // The room comes in words of 64.
        assert!(!visited.insert(192));
        visited.clear(130);
        assert!(visited.insert(64) && visited.insert(63) && visited.insert(129));
    }
}
