//! Searching a conversation by words.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::{sync::Arc, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memory_benches::Corpus;
use memory_core::{
    ConversationId,
    port::{Query, Retriever, Scope, Store},
    testing::{MemoryStore, WordCounter},
};
use memory_search::HybridRetriever;

const SIZES: [usize; 2] = [1_000, 10_000];
const LIMIT: usize = 10;

fn words(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("retrieval/words");
    for messages in SIZES {
        let store = Arc::new(MemoryStore::default());
        let id = ConversationId::new("bench").expect("a plain name");
        let mut corpus = Corpus::new(1);
        let retriever = HybridRetriever::new(store.clone(), None, None);
        pollster::block_on(async {
            store.append(&id, corpus.drafts(messages, &WordCounter)).await.expect("memory does not fail");
            retriever.catch_up(&id, &()).await.expect("memory does not fail");
        });
        group.throughput(Throughput::Elements(messages as u64));
        group.bench_function(BenchmarkId::new("messages", messages), |bencher| {
            bencher.iter_batched(
                || Query::new(&corpus.question(), Scope::one(&id)).limit(LIMIT),
                |query| {
                    let found = pollster::block_on(retriever.search(&query)).expect("memory does not fail");
                    assert_eq!(found.hits.len(), LIMIT, "every question shares words with many messages");
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = words
}
criterion_main!(benches);
