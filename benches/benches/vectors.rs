//! Kernels of the vector index: inner products of codes and components, in the cache and out of it.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::{
    num::NonZero,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memory_store::{Codes, Graph, GraphOptions, Kernels, quantize};

const DIMENSIONS: usize = 384;
/// Rows that fit the second cache, the third, and none.
const ROWS: [usize; 3] = [1_000, 10_000, 200_000];
/// Neighbours that a graph looks at together.
const GATHERED: usize = 32;

/// Components between −1 and 1, the same for a seed.
fn components(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.f32() * 2.0 - 1.0).take(count).collect()
}

fn codes(components: &[f32]) -> Vec<i8> {
    let mut codes = Vec::with_capacity(components.len());
    for row in components.chunks_exact(DIMENSIONS) {
        let _scale = quantize(row, &mut codes);
    }
    codes
}

fn products(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernels");
    for rows in ROWS {
        let (query, block) = (components(DIMENSIONS, 1), components(DIMENSIONS * rows, 2));
        let (query_codes, block_codes) = (codes(&query), codes(&block));
        let mut random = fastrand::Rng::with_seed(3);
        let ids = 0..u32::try_from(rows).expect("few rows");
        let ids: Vec<u32> = std::iter::repeat_with(|| random.u32(ids.clone())).take(rows).collect();
        let mut out = vec![0; rows];
        for kernels in Kernels::available() {
            let id = |what: &str| BenchmarkId::new(format!("{what}/{}", kernels.name()), rows);
            group.throughput(Throughput::Bytes(block_codes.len() as u64));
            group.bench_function(id("dots_i8"), |bencher| {
                bencher.iter(|| kernels.dots_i8(&query_codes, &block_codes, &mut out));
            });
            group.bench_function(id("dots_i8_of"), |bencher| {
                bencher.iter(|| {
                    for (ids, out) in ids.chunks(GATHERED).zip(out.chunks_mut(GATHERED)) {
                        kernels.dots_i8_of(&query_codes, &block_codes, ids, out);
                    }
                });
            });
            group.throughput(Throughput::Bytes(4 * block.len() as u64));
            group.bench_function(id("dot_f32"), |bencher| {
                bencher.iter(|| block.chunks_exact(DIMENSIONS).map(|row| kernels.dot_f32(&query, row)).sum::<f32>());
            });
        }
    }
    group.finish();
}

fn quantization(criterion: &mut Criterion) {
    let vectors = components(DIMENSIONS * 1_000, 4);
    let mut group = criterion.benchmark_group("quantize");
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("1000", |bencher| bencher.iter(|| codes(&vectors)));
    group.finish();
}

/// Linking one more row, and finding ten, in graphs of two sizes.
fn graph(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("graph");
    for rows in [1_000, 10_000] {
        // The second half is linked row by row.
        let block = components(DIMENSIONS * 2 * rows, 4);
        let mut codes = Vec::new();
        let scales: Vec<f32> = block.chunks_exact(DIMENSIONS).map(|row| quantize(row, &mut codes)).collect();
        let first = |rows: usize| {
            let codes = codes.get(..rows * DIMENSIONS).expect("a row left");
            Codes::new(DIMENSIONS, codes, scales.get(..rows).expect("a row left"))
        };
        let built = |rows| {
            let mut graph = Graph::new(GraphOptions::default());
            graph.grow(rows);
            graph.link(&first(rows), NonZero::<usize>::MIN);
            graph
        };
        let mut graph = built(rows);
        let mut queries = block.chunks_exact(DIMENSIONS).skip(rows).cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("search", rows), |bencher| {
            bencher.iter(|| {
                let mut query = Vec::with_capacity(DIMENSIONS);
                let _scale = quantize(queries.next().expect("endless"), &mut query);
                graph.search(&first(rows), &query, 20, 128, |_| true)
            });
        });
        group.bench_function(BenchmarkId::new("insert", rows), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut took = Duration::ZERO;
                for _ in 0..iterations {
                    if graph.len() == 2 * rows {
                        graph = built(rows);
                    }
                    let linked = graph.len() + 1;
                    let start = Instant::now();
                    graph.grow(linked);
                    graph.link(&first(linked), NonZero::<usize>::MIN);
                    took += start.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    targets = products, quantization, graph
}
criterion_main!(benches);
