//! Embedding with the real model: a question, and a batch of messages. Skipped where the model is not there.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memory_benches::Corpus;
use memory_core::port::Embedder;
use memory_embed::{ALL_MINILM_L6_V2, ModelStore, OnnxEmbedder, OnnxOptions};

const BATCH: usize = 32;
const MESSAGE_BYTES: usize = 300;

fn embed(criterion: &mut Criterion) {
    let files = match ModelStore::discover(None).and_then(|models| models.locate(&ALL_MINILM_L6_V2)) {
        Ok(files) => files,
        Err(missing) => {
            eprintln!("embed: skipped, {missing}");
            return;
        }
    };
    let embedder = OnnxEmbedder::load(&files, &OnnxOptions::default()).expect("a model that is whole");
    let mut corpus = Corpus::new(1);
    let mut group = criterion.benchmark_group("embed");

    let question = corpus.question();
    group.throughput(Throughput::Elements(1));
    group.bench_function("question", |bencher| {
        bencher.iter(|| pollster::block_on(embedder.embed_query(&question)).expect("a vector"));
    });

    let texts: Vec<_> = (0..BATCH).map(|_| corpus.text(MESSAGE_BYTES)).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("batch_of_32", |bencher| {
        bencher.iter(|| pollster::block_on(embedder.embed_documents(&texts)).expect("vectors"));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(15).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    targets = embed
}
criterion_main!(benches);
