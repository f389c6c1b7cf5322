//! Choice of a scan or a graph for an answer.

use crate::GraphOptions;

/// How a conversation is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// By a scan or a graph, whichever is faster for the number of vectors and the selection.
    #[default]
    Fastest,
    /// Only by scans: nothing is approximate.
    Scan,
    /// By a graph, even for few vectors, except for a narrow selection.
    Graph,
    /// As [`Method::Graph`], by the graph of the crate hnsw_rs, which is kept only in memory and rebuilt each time.
    #[cfg(feature = "hnsw-rs")]
    HnswRs,
}

/// When a graph answers in place of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AutoOptions {
    /// The method.
    pub method: Method,
    /// The fewest vectors of a conversation that a graph is built for.
    pub graph_from: usize,
    /// A selection of less than this share of the vectors, in percent, is scanned. 10 by default: below that a walk
    /// meets more than ten times as many vectors as are selected, one by one, and a scan meets only those, side by
    /// side.
    pub subset_percent: u8,
    /// Candidates that a walk keeps: more of them find more, and take longer. 320 by default. With that, 99 of 100 of
    /// the nearest were found among 100,000 sentences by questions, which are farther from sentences than sentences are
    /// from each other.
    pub ef: usize,
    /// How graphs are built.
    pub graph: GraphOptions,
}

impl Default for AutoOptions {
    fn default() -> Self {
        Self {
            method: Method::Fastest,
            graph_from: 20_000,
            subset_percent: 10,
            ef: 320,
            graph: GraphOptions::default(),
        }
    }
}

impl AutoOptions {
    memory_core::setters! {
        const subset_percent: u8,
        const method: Method,
        const graph_from: usize,
        const ef: usize,
        const graph: GraphOptions,
    }

    /// How many vectors are scanned next to a graph before they are linked to it: few enough for a fast answer, and
    /// enough at once to be worth a thread.
    pub(super) fn scan_beside(&self, linked: usize) -> usize {
        if self.method == Method::Fastest { (linked / 64).max(512) } else { 0 }
    }
}
