//! Kernels of the vector index: inner products of codes and components, in the cache and out of it.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memory_store::{Kernels, quantize};

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

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! { name = benches; config = quick(); targets = products, quantization }
criterion_main!(benches);
