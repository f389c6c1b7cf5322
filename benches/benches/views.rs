//! Planning: what is shown of a compacted conversation, and what is compacted next.

#![expect(clippy::expect_used, reason = "a bench that cannot go on stops")]

use std::{sync::Arc, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memory_benches::Corpus;
use memory_core::{
    ConversationId, NodeOutline, Summary, SummaryOutline,
    plan::{Thresholds, Tree, ViewPolicy, plan_compaction, plan_view},
    port::{Source, Store},
    testing::{MemoryStore, WordCounter},
};
use memory_hooks::Memory;

const SIZES: [usize; 2] = [1_000, 10_000];
/// Messages since the last compaction: with the ten that it leaves, enough for the next one to be due.
const SINCE: usize = 15;
const BUDGET: u32 = 8_000;

/// A conversation that was compacted, and carried on until compaction is due again.
struct Compacted {
    nodes: Vec<NodeOutline>,
    summaries: Vec<Summary>,
}

impl Compacted {
    fn of(messages: usize) -> Self {
        let store = Arc::new(MemoryStore::default());
        let memory = Memory::builder().store(store.clone()).token_counter(Arc::new(WordCounter)).build();
        let id = ConversationId::new("bench").expect("a plain name");
        let conversation = memory.expect("all parts are there").conversation(id.clone());
        let mut corpus = Corpus::new(1);
        pollster::block_on(async {
            store.append(&id, corpus.drafts(messages, &WordCounter)).await.expect("memory does not fail");
            conversation.compact().await.expect("first words do not fail");
            store.append(&id, corpus.drafts(SINCE, &WordCounter)).await.expect("memory does not fail");
            let nodes = store.outline(&id).await.expect("it exists");
            let summaries = store.summaries(&id).await.expect("it exists");
            Self { nodes, summaries }
        })
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new(ViewPolicy::default());
        self.nodes.iter().for_each(|node| tree.append(*node));
        self.summaries.iter().for_each(|summary| tree.add(SummaryOutline::of(summary.id, &summary.body)));
        tree
    }
}

fn plan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("views");
    for messages in SIZES {
        let compacted = Compacted::of(messages);
        let thresholds = Thresholds::default();
        let tree = compacted.tree();
        plan_view(&tree, BUDGET).expect("the coarsest view fits");
        assert!(!plan_compaction(&tree, &thresholds).is_empty(), "nothing to plan");
        group.throughput(Throughput::Elements(messages as u64));
        group.bench_function(BenchmarkId::new("tree", messages), |bencher| bencher.iter(|| compacted.tree()));
        group.bench_function(BenchmarkId::new("plan_view", messages), |bencher| {
            bencher.iter(|| plan_view(&tree, BUDGET));
        });
        group.bench_function(BenchmarkId::new("plan_compaction", messages), |bencher| {
            bencher.iter(|| plan_compaction(&tree, &thresholds));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = plan
}
criterion_main!(benches);
