//! usearch with `f32` and with half-precision components.

use std::{thread, time::Instant};

use anyhow::{Context, Result};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::{
    backends::{Backend, threads},
    data::{DIMENSIONS, Data},
    sizes::TOP,
};

/// Vectors that one thread adds before the others start.
const ALONE: usize = 1_000;

/// usearch at the settings that its documentation recommends, with more candidates while building.
pub(super) struct Usearch {
    index: Index,
    name: &'static str,
    build_s: f64,
}

impl Usearch {
    pub(super) fn build_f32(data: &Data) -> Result<Self> {
        Self::build(data, "usearch f32", ScalarKind::F32)
    }

    pub(super) fn build_f16(data: &Data) -> Result<Self> {
        Self::build(data, "usearch f16", ScalarKind::F16)
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
        Ok(Self { index, name, build_s: start.elapsed().as_secs_f64() })
    }
}

impl Backend for Usearch {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn build_s(&self) -> f64 {
        self.build_s
    }

    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>> {
        self.index.change_expansion_search(ef);
        let found = self.index.search(query, TOP)?;
        Ok(found.keys.iter().filter_map(|key| u32::try_from(*key).ok()).collect())
    }
}
