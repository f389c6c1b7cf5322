//! usearch with `f32` and with half-precision components.

use std::{thread, time::Instant};

use anyhow::{Context, Result};
use memory_store::Kernels;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::{
    data::{DIMENSIONS, Data, TOP, best, threads},
    graph::Backend,
};

/// Vectors that one thread adds before the others start.
const ALONE: usize = 1_000;

/// usearch with the settings that its documentation recommends, but more candidates while building.
///
/// Half precision does not reach the recall at which times are compared, because near neighbours change places. So
/// twice the requested number is rescored with `f32`, as in our own index.
pub(super) struct Usearch<'a> {
    index: Index,
    /// Vectors for rescoring, if any.
    rescored_by: Option<&'a Data>,
    name: &'static str,
    build_s: f64,
}

impl<'a> Usearch<'a> {
    pub(super) fn build_f32(data: &'a Data) -> Result<Self> {
        Self::build(data, "usearch f32", ScalarKind::F32)
    }

    pub(super) fn build_f16(data: &'a Data) -> Result<Self> {
        Ok(Self { rescored_by: Some(data), ..Self::build(data, "usearch f16", ScalarKind::F16)? })
    }

    fn build(data: &Data, name: &'static str, quantization: ScalarKind) -> Result<Self> {
        let options = IndexOptions {
            dimensions: DIMENSIONS,
            metric: MetricKind::IP,
            quantization,
            connectivity: 16,
            expansion_add: 128,
            expansion_search: 64,
            multi: false,
        };
        let start = Instant::now();
        let index = Index::new(&options)?;
        let rows: Vec<_> = (0u64..).zip(data.rows()).collect();
        let threads = threads().get();
        index.reserve_capacity_and_threads(rows.len(), threads)?;
        // If threads begin with an empty index, parts of the graph may be unreachable.
        let (first, others) = rows.split_at(rows.len().min(ALONE));
        first.iter().try_for_each(|(key, row)| index.add(*key, row))?;
        thread::scope(|scope| {
            let add = |first: usize| {
                let (index, rows) = (&index, &others);
                move || rows.iter().skip(first).step_by(threads).try_for_each(|(key, row)| index.add(*key, row))
            };
            let all: Vec<_> = (0..threads).map(|first| scope.spawn(add(first))).collect();
            all.into_iter()
                .try_for_each(|thread| thread.join().ok().context("a thread of usearch panicked")?.context("adding"))
        })?;
        Ok(Self { index, rescored_by: None, name, build_s: start.elapsed().as_secs_f64() })
    }
}

impl Backend for Usearch<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn build_s(&self) -> f64 {
        self.build_s
    }

    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>> {
        self.index.change_expansion_search(ef);
        let Some(data) = self.rescored_by else {
            let found = self.index.search(query, TOP)?;
            return Ok(found.keys.iter().filter_map(|key| u32::try_from(*key).ok()).collect());
        };
        let found = self.index.search(query, 2 * TOP)?;
        let kernels = Kernels::detected();
        let score = |row: u32| (row, kernels.dot_f32(query, data.row(row as usize)));
        Ok(best(found.keys.iter().filter_map(|key| u32::try_from(*key).ok()).map(score), TOP))
    }
}
