//! How vectors are compared, as the command line says it.

use clap::ValueEnum;
use memory_store::Method;

/// How vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vectors {
    /// By a scan or a graph, whichever is the faster
    Fastest,
    /// By scans alone
    Scan,
    /// By a graph, however few there are
    Graph,
    /// By the graph of the crate `hnsw_rs`
    HnswRs,
}

impl From<Vectors> for Method {
    fn from(vectors: Vectors) -> Self {
        match vectors {
            Vectors::Fastest => Self::Fastest,
            Vectors::Scan => Self::Scan,
            Vectors::Graph => Self::Graph,
            Vectors::HnswRs => Self::HnswRs,
        }
    }
}
