//! Walks through the graph towards a vector.

use super::{Codes, Graph, pool::Pool, visited::Visited};

/// Working memory of a walk, kept for the next one.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) pool: Pool,
    visited: Visited,
    /// Neighbours that were not met before, and their products.
    met: Vec<u32>,
    products: Vec<i32>,
}

impl Walk {
    /// Goes from `entry` down to the layer above `bottom`, on each layer to the node that is nearer than all its
    /// neighbours: algorithm 1, lines 5 to 7, which is algorithm 5, lines 3 to 5.
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
                // Each step gets nearer, so it ends.
                if nearest == from {
                    break;
                }
            }
        }
        nearest
    }

    /// Algorithm 2: from `entries` to the `ef` nearest nodes of a layer among those that `is_result` accepts; they are
    /// the pool's results afterwards. The others are only walked through.
    ///
    /// Candidates and results are one pool: a candidate that is farther than the worst of `ef` results would end the
    /// walk, so it need not be kept.
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

    /// Compares with every node that [`Self::search_layer`] did not reach.
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

/// Where on which layer a walk begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    pub(super) number: usize,
    pub(super) entries: &'a [u32],
}
