//! Options of building a graph.

/// Options of building a graph. Graphs with equal options and rows are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphOptions {
    /// Maximum neighbours that a node chooses on each layer, the paper's M; twice as many on the lowest layer. 8 to 64,
    /// by default 24.
    pub degree: usize,
    /// Candidates for the neighbours of a node, the paper's efConstruction. 1 to 4096, by default 200.
    pub ef_construction: usize,
    /// Seed of the layers of nodes.
    pub seed: u64,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { degree: 24, ef_construction: 200, seed: 0 }
    }
}

impl GraphOptions {
    memory_core::setters! {
        const degree: usize,
        const ef_construction: usize,
        const seed: u64,
    }

    /// Clamps each value to its range.
    pub(super) fn checked(self) -> Self {
        Self { degree: self.degree.clamp(8, 64), ef_construction: self.ef_construction.clamp(1, 4096), seed: self.seed }
    }

    /// Maximum neighbours of a node on a layer.
    pub(super) fn capacity(&self, layer: usize) -> usize {
        if layer == 0 { 2 * self.degree } else { self.degree }
    }
}
