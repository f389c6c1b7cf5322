//! Graphs compared at one recall: ours, hnsw_rs and usearch.

use std::{hint::black_box, time::Instant};

use anyhow::{Result, ensure};
use hnsw_rs::prelude::{DistDot, Hnsw};
use memory_store::{Codes, Graph, GraphOptions, Kernels, quantize};

use super::{
    Figures,
    data::{DIMENSIONS, Data, TOP, best, threads},
};
use crate::figure::{Entrant, Figure, interleave};

/// The recall at which times are compared.
const RECALL: f64 = 0.99;
/// Recall at which the curves end.
const ENOUGH: f64 = 0.997;
/// Vectors of the graphs that are built in every round.
const BUILT: usize = 20_000;

pub(super) fn measure(data: &Data, truth: &[Vec<u32>], hnsw_rs: HnswRs, figures: &mut Figures) -> Result<()> {
    eprintln!("vectors: building ours");
    let ours = Ours::build(data);
    #[cfg_attr(not(feature = "usearch"), expect(unused_mut, reason = "the other peers come with the feature"))]
    let mut backends: Vec<Box<dyn Backend + '_>> = vec![Box::new(hnsw_rs)];
    #[cfg(feature = "usearch")]
    {
        eprintln!("vectors: building usearch");
        backends.push(Box::new(super::usearch::Usearch::build_f32(data)?));
        backends.push(Box::new(super::usearch::Usearch::build_f16(data)?));
    }
    eprintln!("vectors: recall against time");
    let own_curve = sweep(&ours, data, truth, ENOUGH)?;
    ensure!(own_curve.best() >= RECALL, "ours gets to a recall of {:.4} only", own_curve.best());
    let curves = backends.iter().map(|peer| sweep(&**peer, data, truth, ENOUGH)).collect::<Result<Vec<_>>>()?;
    figures.push(Figure::single(
        "graph_bytes_per_vector",
        ours.bytes_per_vector(),
        "B",
        "codes, scale and links; the f32 rows, 1,536 bytes, stay in a mapped file",
    ));
    for (peer, curve) in backends.iter().zip(&curves) {
        let key = match peer.name().as_str() {
            "hnsw_rs" => "graph_vs_hnsw_rs",
            "usearch f32" => "graph_vs_usearch_f32",
            _ => "graph_vs_usearch_f16",
        };
        let timed = |backend: &dyn Backend, curve: &Curve| -> Result<[f64; 1]> {
            let [low, high] = curve.around(RECALL);
            let points = [point(backend, data, truth, low)?, point(backend, data, truth, high)?];
            Ok([time_at(RECALL, points)])
        };
        let [[own], [other]] = interleave([
            Entrant::new(ours.name(), ["us"], || timed(&ours, &own_curve)),
            Entrant::new(peer.name(), ["us"], || timed(&**peer, curve)),
        ])?;
        let [low, high] = curve.around(RECALL);
        let short =
            if curve.best() < RECALL { format!(", which gets to {:.4} only", curve.best()) } else { String::new() };
        let what = &data.what;
        let note =
            format!("a query at recall {RECALL}, between ef {low} and {high} of the peer{short}; {what}, one thread");
        figures.push(Figure::speedup(key, &own, &other, note));
    }
    let once = |backend: &dyn Backend| format!("{} {:.1} s", backend.name(), backend.build_s());
    let all = std::iter::once(once(&ours)).chain(backends.iter().map(|peer| once(&**peer))).collect::<Vec<_>>();
    figures
        .push(building(&data.first(BUILT), &format!("built once of all {}: {}", data.rows().len(), all.join(", ")))?);
    Ok(())
}

/// Ours and hnsw_rs, both built again in every round.
fn building(data: &Data, of_all: &str) -> Result<Figure> {
    let [[own], [peer]] = interleave([
        Entrant::new("memory-store graph", ["s"], || Ok([Ours::build(data).build_s()])),
        Entrant::new("hnsw_rs", ["s"], || Ok([HnswRs::build(data).build_s()])),
    ])?;
    let note = format!("of {} vectors, all cores; {of_all}", data.rows().len());
    Ok(Figure::speedup("graph_build_vs_hnsw_rs", &own, &peer, note))
}

/// The numbers of candidates in a sweep.
const SWEEP: [usize; 14] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

/// Result of a backend with one number of candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    ef: usize,
    recall: f64,
    /// Microseconds for each query.
    us: f64,
}

/// The points of one backend, in order of rising recall.
#[derive(Clone, Debug)]
struct Curve {
    points: Vec<Point>,
}

/// Runs all queries one after the other, on one thread.
#[expect(clippy::cast_precision_loss, reason = "some thousand hits")]
fn point(backend: &dyn Backend, data: &Data, truth: &[Vec<u32>], ef: usize) -> Result<Point> {
    let mut found = Vec::with_capacity(truth.len());
    let start = Instant::now();
    for query in data.queries() {
        found.push(black_box(backend.search(query, ef)?));
    }
    let us = start.elapsed().as_secs_f64() * 1e6 / found.len() as f64;
    let hits: usize =
        found.iter().zip(truth).map(|(found, truth)| found.iter().filter(|row| truth.contains(row)).count()).sum();
    Ok(Point { ef, recall: hits as f64 / (truth.len() * TOP) as f64, us })
}

/// Sweeps the candidates until recall is above `enough`.
fn sweep(backend: &dyn Backend, data: &Data, truth: &[Vec<u32>], enough: f64) -> Result<Curve> {
    let mut points: Vec<Point> = Vec::new();
    for ef in SWEEP {
        // The first round warms up.
        point(backend, data, truth, ef)?;
        points.push(point(backend, data, truth, ef)?);
        if points.last().is_some_and(|point| point.recall >= enough) {
            break;
        }
    }
    Ok(Curve { points })
}

impl Curve {
    /// The highest recall.
    fn best(&self) -> f64 {
        self.points.iter().map(|point| point.recall).fold(0.0, f64::max)
    }

    /// The numbers of candidates below and above a given recall. If it is not reached, twice the largest number: more
    /// candidates would take even longer.
    fn around(&self, recall: f64) -> [usize; 2] {
        let last = self.points.len().saturating_sub(1);
        let above = self.points.iter().position(|point| point.recall >= recall);
        let below = above.map_or(last, |above| above.saturating_sub(1));
        [below, above.unwrap_or(last)].map(|at| self.points.get(at).map_or(0, |point| point.ef))
    }
}

/// The microseconds at a recall between two points, interpolated.
fn time_at(recall: f64, [below, above]: [Point; 2]) -> f64 {
    let share = (recall - below.recall) / (above.recall - below.recall);
    if share.is_finite() { below.us + (above.us - below.us) * share.clamp(0.0, 1.0) } else { above.us }
}

/// An index of all rows of some data.
pub(super) trait Backend {
    fn name(&self) -> String;

    /// Seconds that building took.
    fn build_s(&self) -> f64;

    /// The [`TOP`] nearest rows to a query, nearest first, with `ef` candidates.
    fn search(&self, query: &[f32], ef: usize) -> Result<Vec<u32>>;
}

/// Our graph, searched by codes; twice as many candidates as are asked for are scored again by components.
#[derive(Debug)]
struct Ours<'a> {
    data: &'a Data,
    codes: Vec<i8>,
    scales: Vec<f32>,
    graph: Graph,
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

    fn codes(&self) -> Codes<'_> {
        Codes::new(DIMENSIONS, &self.codes, &self.scales)
    }

    /// Bytes for each vector: codes, scale and links. The components are not counted, here or for a peer: they are in a
    /// mapped file, and a search reads twenty rows.
    #[expect(clippy::cast_precision_loss, reason = "some bytes")]
    fn bytes_per_vector(&self) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_at_a_recall_lies_between_the_points_around_it() {
        let point = |ef, recall, us| Point { ef, recall, us };
        let (low, high) = (point(32, 0.98, 100.0), point(48, 1.0, 200.0));
        assert!((time_at(0.99, [low, high]) - 150.0).abs() < 1e-6);
        assert_eq!(time_at(0.99, [high, high]), 200.0);
        let curve = Curve { points: vec![low, high] };
        assert_eq!(curve.around(0.99), [32, 48]);
        assert_eq!(curve.around(0.5), [32, 32]);
        let short = Curve { points: vec![low] };
        assert_eq!((short.best(), short.around(0.99)), (0.98, [32, 32]));
        assert_eq!(time_at(0.99, [low, low]), 100.0);
    }
}
