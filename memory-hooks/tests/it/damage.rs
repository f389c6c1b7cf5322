//! Contexts over a store that lost summaries or messages to damage.

use std::sync::Arc;

use memory_core::{
    Level, NodeId, Summary, SummaryId,
    port::Notice,
    testing::{MemoryStore, ScanRetriever},
};
use memory_hooks::{PieceKind, PromptOptions};
use pollster::block_on;
use proptest::prelude::*;

use crate::{
    prompt::a_prompt_that_fits,
    support::{Manner, Scripted, World, chat, conversations, covered, id, line, nodes_of},
};

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
        block_on(world.talk.compact()).unwrap();
        for number in lost {
            world.store.lose_summary(&id(), SummaryId::new(number).unwrap());
        }
        world.say((count + 1..=count + 25).map(|number| line(number, 20)));
        let prompt = block_on(world.talk.prompt_with("What was line 7?", &PromptOptions::new(budget))).unwrap();
        let history = prompt.pieces.iter().filter(|p| matches!(p.kind, PieceKind::Message | PieceKind::Summary(_)));
        let covered: Vec<_> = history.flat_map(|piece| piece.nodes.unwrap().iter().map(|node| node.get())).collect();
        prop_assert_eq!(covered, (1..=count as u64 + 25).collect::<Vec<_>>());
    }

    #[test]
    fn coverage_holds_when_messages_were_lost(
        messages in conversations(20..120),
        lost in prop::collection::vec((1u64..200, 1u64..30), 1..6),
        budget in 600u32..4_000,
    ) {
        let world = World::new();
        let count = messages.len() as u64;
        let (before, after) = messages.split_at(messages.len() / 2);
        world.say(before.to_vec());
        block_on(world.talk.compact()).unwrap();
        world.say(after.to_vec());
        lost.iter().for_each(|&(first, more)| lose(&world, first..first + more));
        let prompt = a_prompt_that_fits(&world, "What was line 7?", budget);
        prop_assert!(prompt.tokens <= prompt.budget);
        prop_assert_eq!(covered(&prompt), (1..=count).collect::<Vec<_>>());
        let is_lost = |node: &u64| lost.iter().any(|&(first, more)| (first..first + more).contains(node));
        let verbatim = [nodes_of(&prompt, PieceKind::Message), nodes_of(&prompt, PieceKind::Recalled)].concat();
        prop_assert!(!verbatim.iter().any(is_lost));
        prop_assert!(nodes_of(&prompt, PieceKind::Lost).iter().all(is_lost));
        let said = prompt.notices.iter().filter(|notice| matches!(notice, Notice::Unreadable { .. })).count();
        prop_assert_eq!(said, usize::from((1..=count).any(|node| is_lost(&node))), "{:?}", prompt.notices);
    }
}

fn lose(world: &World, nodes: impl IntoIterator<Item = u64>) {
    nodes.into_iter().filter_map(NodeId::new).for_each(|node| world.store.lose_node(&id(), node));
}

fn world_without_recall() -> (World, Arc<Scripted>) {
    let summarizer = Scripted::new(Manner::Good);
    let scripted = Arc::clone(&summarizer);
    (World::with(|builder, _| builder.summarizer(scripted)), summarizer)
}

#[test]
fn a_lost_message_is_one_line_of_the_view_and_neighbours_share_it() {
    let (world, _) = world_without_recall();
    world.say(chat(9));
    lose(&world, [2, 5, 6, 7]);
    let prompt = block_on(world.talk.prompt_with("?", &PromptOptions::new(4_000))).unwrap();
    let kinds: Vec<_> = prompt.pieces.iter().map(|piece| piece.kind.as_str()).collect();
    assert_eq!(kinds, ["message", "lost", "message", "message", "lost", "message", "message", "question"]);
    assert!(prompt.text().contains("\n[Message 2: lost]\n[Message 3, "), "{}", prompt.text());
    assert!(prompt.text().contains("\n[Messages 5-7: lost]\n[Message 8, "), "{}", prompt.text());
    assert!(prompt.verbatim().iter().all(|run| ![2, 5, 6, 7].iter().any(|n| run.contains(NodeId::new(*n).unwrap()))));
    let [notice] = prompt.notices.as_slice() else { panic!("{:?}", prompt.notices) };
    assert!(notice.to_string().starts_with("4 nodes of `talk` cannot be read, first node 2 ("), "{notice}");
}

#[test]
fn progress_compaction_goes_past_lost_messages() {
    let (world, summarizer) = world_without_recall();
    world.say(chat(200));
    lose(&world, (30..34).chain([77, 120]));
    let report = block_on(world.talk.compact()).unwrap();
    assert!(report.tokens_after < report.tokens_before, "{report:?}");
    assert_eq!(world.levels()[0], 10, "no lost message stays behind");
    let summaries = world.summaries();
    let is_lost = |summary: &&Summary| summary.body.level == Level::Summary && summary.body.text == "(lost)";
    let lost: Vec<_> = summaries.iter().filter(is_lost).map(|summary| summary.body.span.first().get()).collect();
    assert_eq!(lost, [30, 31, 32, 33, 77, 120]);
    let metas = summaries.iter().filter(|summary| summary.body.level == Level::Meta);
    assert!(metas.clone().any(|meta| meta.body.span.contains(NodeId::new(31).unwrap())));
    // No summary is written twice, and no strategy is called for lost messages.
    let written = summaries.iter().filter(|summary| !is_lost(summary)).count();
    assert_eq!(summarizer.calls(), written);
    assert_eq!(block_on(world.talk.compact()).unwrap().summaries, 0);
    assert_eq!((summarizer.calls(), world.failed.lock().unwrap().len()), (written, 0));
}

#[test]
fn a_conversation_that_is_lost_as_a_whole_is_still_shown() {
    let (world, _) = world_without_recall();
    world.say(chat(150));
    lose(&world, 1..=150);
    for budget in [150, 400, 4_000] {
        let prompt = block_on(world.talk.prompt_with("?", &PromptOptions::new(budget))).unwrap();
        assert_eq!(covered(&prompt), (1..=150).collect::<Vec<_>>());
        assert!(prompt.tokens <= budget);
    }
}

#[test]
fn a_pinned_message_that_is_lost_is_not_brought_back() {
    let (world, _) = world_without_recall();
    world.say(chat(300));
    block_on(world.talk.pin(NodeId::new(3).unwrap(), true)).unwrap();
    block_on(world.talk.compact()).unwrap();
    lose(&world, [3]);
    let prompt = block_on(world.talk.prompt_with("?", &PromptOptions::new(700))).unwrap();
    assert!(!nodes_of(&prompt, PieceKind::Recalled).contains(&3));
    assert_eq!(covered(&prompt), (1..=300).collect::<Vec<_>>());
}
