//! Contexts over a store that lost summaries to damage.

use std::sync::Arc;

use memory_core::{
    SummaryId,
    testing::{MemoryStore, ScanRetriever},
};
use memory_hooks::{ContextOptions, PieceKind};
use pollster::block_on;
use proptest::prelude::*;

use crate::support::{World, id, line};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn coverage_holds_when_summaries_were_lost(
        count in 30usize..300,
        lost in prop::collection::vec(1u64..320, 1..6),
        budget in 600u32..4_000,
    ) {
        let store = Arc::new(MemoryStore::default());
        let world = World::over(store, |builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))));
        world.say((1..=count).map(|number| line(number, 20)));
        block_on(world.talk.compact(&())).unwrap();
        for number in lost {
            world.store.lose_summary(&id(), SummaryId::new(number).unwrap());
        }
        world.say((count + 1..=count + 25).map(|number| line(number, 20)));
        let context = block_on(world.talk.context("What was line 7?", &ContextOptions::tokens(budget))).unwrap();
        let history = context.pieces.iter().filter(|p| matches!(p.kind, PieceKind::Message | PieceKind::Summary(_)));
        let covered: Vec<_> = history.flat_map(|piece| piece.nodes.unwrap().iter().map(|node| node.get())).collect();
        prop_assert_eq!(covered, (1..=count as u64 + 25).collect::<Vec<_>>());
    }
}
