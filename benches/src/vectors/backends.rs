//! The indexes that are compared.

use std::{num::NonZero, thread, time::Instant};

use anyhow::Result;
use hnsw_rs::prelude::{DistDot, Hnsw};
use memory_core::{ConversationId, ModelId, NodeId, VectorIndex, VectorPart, VectorQuery};
use memory_store::{Codes, ExactIndex, Graph, GraphOptions, Kernels, quantize};

use super::{
    data::{DIMENSIONS, Data, best},
    sizes::TOP,
};

/// An index of all rows of some data.
pub(super) trait Backend {
    fn name(&self) -> String;

    /// Seconds that building took.
    fn build_s(&self) -> f64;

    /// The [`TOP`] nearest rows to a query, nearest first, with `ef` candidates.
    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>>;
}

/// Threads that every index may build with.
pub(super) fn threads() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Our graph, searched by codes; twice as many candidates as are asked for are scored again by components.
#[derive(Debug)]
pub(super) struct Ours<'a> {
    data: &'a Data,
    codes: Vec<i8>,
    scales: Vec<f32>,
    pub(super) graph: Graph,
    build_s: f64,
}

impl<'a> Ours<'a> {
    pub(super) fn build(data: &'a Data) -> Self {
        let start = Instant::now();
        let (codes, scales) = data.codes();
        let mut graph = Graph::new(GraphOptions::default());
        graph.grow(scales.len());
        graph.link(&Codes::new(DIMENSIONS, &codes, &scales), threads());
        Self { data, codes, scales, graph, build_s: start.elapsed().as_secs_f64() }
    }

    pub(super) fn codes(&self) -> Codes<'_> {
        Codes::new(DIMENSIONS, &self.codes, &self.scales)
    }

    /// Bytes for each vector: codes, scale and links. The components are in a mapped file, of which a search reads
    /// twenty rows. They are not counted, here or for a peer.
    #[expect(clippy::cast_precision_loss, reason = "some bytes")]
    pub(super) fn bytes_per_vector(&self) -> f64 {
        let bytes = self.codes.len() + size_of_val(self.scales.as_slice()) + self.graph.bytes();
        bytes as f64 / self.scales.len() as f64
    }
}

impl Backend for Ours<'_> {
    fn name(&self) -> String {
        "memory-store graph".to_owned()
    }

    fn build_s(&self) -> f64 {
        self.build_s
    }

    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>> {
        let mut codes = Vec::with_capacity(DIMENSIONS);
        let _scale = quantize(query, &mut codes);
        let near = self.graph.search(&self.codes(), &codes, 2 * TOP, ef, |_| true);
        let kernels = Kernels::detected();
        let score = |row: u32| (row, kernels.dot_f32(query, self.data.row(row as usize)));
        Ok(best(near.iter().map(|near| score(near.row)), TOP))
    }
}

/// hnsw_rs with its SIMD distances, built by its own threads, with the settings of its examples.
pub(super) struct HnswRs {
    index: Hnsw<'static, f32, DistDot>,
    build_s: f64,
}

impl HnswRs {
    const DEGREE: usize = 24;
    const EF_CONSTRUCTION: usize = 200;

    pub(super) fn build(data: &Data) -> Self {
        let start = Instant::now();
        let rows: Vec<_> = data.rows().zip(0..).collect();
        let mut index = Hnsw::new(Self::DEGREE, rows.len(), 16, Self::EF_CONSTRUCTION, DistDot);
        index.parallel_insert_slice(&rows);
        index.set_searching_mode(true);
        Self { index, build_s: start.elapsed().as_secs_f64() }
    }

    /// The nearest among some rows.
    pub(super) fn search_among(&self, query: &[f32], ef: usize, passes: &[bool]) -> Vec<u32> {
        let filter = |row: &usize| passes.get(*row) == Some(&true);
        let found = self.index.search_filter(query, TOP, ef, Some(&filter));
        found.iter().filter_map(|found| u32::try_from(found.d_id).ok()).collect()
    }
}

impl Backend for HnswRs {
    fn name(&self) -> String {
        "hnsw_rs".to_owned()
    }

    fn build_s(&self) -> f64 {
        self.build_s
    }

    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>> {
        let found = self.index.search(query, TOP, ef);
        Ok(found.iter().filter_map(|found| u32::try_from(found.d_id).ok()).collect())
    }
}

/// The scan of the product: all rows by their codes.
#[derive(Debug)]
pub(super) struct CodesScan {
    index: ExactIndex,
    conversation: ConversationId,
}

impl CodesScan {
    pub(super) fn build(data: &Data) -> Result<Self> {
        let (index, conversation) =
            (ExactIndex::in_memory(ModelId::new("bench"), DIMENSIONS), ConversationId::new("bench")?);
        let nodes = (1u64..).filter_map(NodeId::new).zip(data.rows());
        let nodes: Vec<_> = nodes.map(|(node, row)| (node, vec![row.to_vec()])).collect();
        pollster::block_on(index.insert(&conversation, &nodes))?;
        Ok(Self { index, conversation })
    }
}

impl Backend for CodesScan {
    fn name(&self) -> String {
        "int8 scan, all cores".to_owned()
    }

    fn build_s(&self) -> f64 {
        0.0
    }

    fn search(&self, query: &[f32], _ef: usize) -> Result<Vec<u32>> {
        let parts = [VectorPart::new(&self.conversation)];
        let answer = pollster::block_on(self.index.search(&VectorQuery::new(query, TOP, &parts)))?;
        Ok(answer.hits.iter().filter_map(|hit| u32::try_from(hit.slot.node.index()).ok()).collect())
    }
}

/// A scan of all rows by their components.
#[derive(Debug)]
pub(super) struct Scan<'a>(pub(super) &'a Data);

impl Backend for Scan<'_> {
    fn name(&self) -> String {
        "f32 scan".to_owned()
    }

    fn build_s(&self) -> f64 {
        0.0
    }

    fn search(&self, query: &[f32], _ef: usize) -> Result<Vec<u32>> {
        Ok(self.0.nearest(query))
    }
}
