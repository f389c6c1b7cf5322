//! Options of choosing between a scan and a graph.

use crate::GraphOptions;

/// Search method of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Scan or graph, whichever is faster for this number of vectors and this selection.
    #[default]
    Fastest,
    /// Only scans; results are exact.
    Scan,
    /// Graph, even for few vectors, except for a narrow selection.
    Graph,
    /// Like [`Method::Graph`], with the graph of the crate hnsw_rs, which each process rebuilds in memory.
    #[cfg(feature = "hnsw-rs")]
    HnswRs,
}

/// Options of choosing between a scan and a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AutoOptions {
    /// Search method.
    pub method: Method,
    /// Minimum vectors of a conversation for a graph.
    pub graph_from: usize,
    /// Selections below this share of the vectors, in percent, are scanned. 10 by default: below that a walk meets more
    /// than ten times as many vectors as are selected, one by one, while a scan reads only the selected ones, adjacent
    /// in memory.
    pub subset_percent: u8,
    /// Candidates that a walk keeps; more of them improve recall and take longer. 320 by default, which finds 99 % of
    /// the nearest among 100,000 sentences for questions, which are farther from sentences than sentences are from each
    /// other.
    pub ef: usize,
    /// Options of building graphs.
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

    /// Maximum vectors that are scanned next to a graph before they are linked: few enough for a fast answer, and
    /// enough to be worth a thread.
    pub(super) fn scan_beside(&self, linked: usize) -> usize {
        if self.method == Method::Fastest { (linked / 64).max(512) } else { 0 }
    }
}
