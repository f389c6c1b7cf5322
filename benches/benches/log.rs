//! The log's hot paths: appending, hashing, reading, reopening.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::{hint::black_box, path::Path, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastrand::Rng;
use memory_benches::Corpus;
use memory_core::{ConversationId, Message, NodeDraft, NodeId, NodeRange, Timestamp, port::Store, proof::LeafHasher};
use memory_store::LogStore;

const RECORD_BYTES: [usize; 2] = [200, 2_000];
const NODES: u64 = 10_000;
const RUN: u64 = 50;

fn conversation() -> ConversationId {
    ConversationId::new("bench").expect("a plain name")
}

fn drafts(corpus: &mut Corpus, count: usize, bytes: usize) -> Vec<NodeDraft> {
    (0..count).map(|_| NodeDraft::new(Message::user(corpus.text(bytes)), Timestamp::default(), 50)).collect()
}

fn filled(path: &Path, bytes: usize) -> LogStore {
    let store = LogStore::open(path).expect("an empty directory");
    let mut corpus = Corpus::new(1);
    for _ in 0..NODES / 1_000 {
        let batch = drafts(&mut corpus, 1_000, bytes);
        pollster::block_on(store.append(&conversation(), batch)).expect("room on disk");
    }
    store
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/append_synced");
    for batch in [1, 10, 100] {
        let directory = tempfile::tempdir().expect("a directory");
        let store = LogStore::open(directory.path().join("store")).expect("an empty directory");
        let (conversation, mut corpus) = (conversation(), Corpus::new(2));
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_with_input(BenchmarkId::new("200B", batch), &batch, |bencher, &batch| {
            bencher.iter_batched(
                || drafts(&mut corpus, batch, 200),
                |drafts| pollster::block_on(store.append(&conversation, drafts)).expect("room on disk"),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/read");
    let conversation = conversation();
    for bytes in RECORD_BYTES {
        let directory = tempfile::tempdir().expect("a directory");
        let store = filled(&directory.path().join("store"), bytes);
        // Read by position first, and out of a map once the segment is sealed.
        for state in ["active", "sealed"] {
            let mut rng = Rng::with_seed(3);
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::new("point", format!("{bytes}B/{state}")), |bencher| {
                bencher.iter_batched(
                    || NodeId::new(rng.u64(1..=NODES)).expect("positions begin at 1"),
                    |node| pollster::block_on(store.node(&conversation, node)).expect("a node that is there"),
                    BatchSize::SmallInput,
                );
            });
            group.throughput(Throughput::Elements(RUN));
            group.bench_function(BenchmarkId::new("run_of_50", format!("{bytes}B/{state}")), |bencher| {
                bencher.iter_batched(
                    || {
                        let first = NodeId::new(rng.u64(1..=NODES - RUN)).expect("positions begin at 1");
                        NodeRange::single(first).widen(RUN - 1, first.get() + RUN - 1)
                    },
                    |run| pollster::block_on(store.nodes(&conversation, run)).expect("nodes that are there"),
                    BatchSize::SmallInput,
                );
            });
            pollster::block_on(store.seal()).expect("room on disk");
        }
    }
    group.finish();
}

/// The leaves of a batch, the greater part of what an append computes.
fn leaves(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/leaves_of_100");
    for bytes in RECORD_BYTES {
        let batch = drafts(&mut Corpus::new(4), 100, bytes);
        group.throughput(Throughput::Bytes(100 * bytes as u64));
        group.bench_function(format!("{bytes}B"), |bencher| {
            let salted = || batch.iter().map(|draft| (&[7; 16], &draft.message, draft.at));
            bencher.iter(|| LeafHasher::default().leaves(black_box(salted())));
        });
    }
    group.finish();
}

fn reopen(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/reopen");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    drop(filled(&path, 200));
    group.throughput(Throughput::Elements(NODES));
    group.bench_function("10k_of_200B", |bencher| {
        bencher.iter_with_large_drop(|| black_box(LogStore::open_read_only(&path).expect("a whole store")));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = append, leaves, read, reopen
}
criterion_main!(benches);
