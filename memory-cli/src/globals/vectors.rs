//! Names of the ways to compare vectors.

use clap::ValueEnum;
use memory_store::Method;

/// How vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vectors {
    /// By a scan or a graph, whichever is faster
    Fastest,
    /// By scans alone
    Scan,
    /// By a graph, however few vectors there are
    Graph,
    /// By the graph of the crate `hnsw_rs`, which each process builds in memory
    #[cfg(feature = "hnsw-rs")]
    HnswRs,
}

impl From<Vectors> for Method {
    fn from(vectors: Vectors) -> Self {
        match vectors {
            Vectors::Fastest => Self::Fastest,
            Vectors::Scan => Self::Scan,
            Vectors::Graph => Self::Graph,
            #[cfg(feature = "hnsw-rs")]
            Vectors::HnswRs => Self::HnswRs,
        }
    }
}
