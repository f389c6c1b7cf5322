//! Number of reads of a message from the store.

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{Level, NodeId, testing::ScanRetriever};
use memory_hooks::{HookRegistry, PieceKind, RecallHook, RecallHookOptions};
use pollster::block_on;

use crate::{
    prompt::a_prompt_that_fits,
    support::{World, chat, id, nodes_of},
};

/// Number of reads of each message while `act` ran.
fn reads_of<T>(world: &World, act: impl FnOnce() -> T) -> (T, BTreeMap<u64, u64>) {
    let before = world.store.reads(&id());
    let done = act();
    let all = world.store.reads(&id()).into_iter();
    let new = all.map(|(node, reads)| (node.get(), reads - before.get(&node).copied().unwrap_or_default()));
    (done, new.filter(|(_, reads)| *reads > 0).collect())
}

/// Its leaf comes with it. Only a META needs it again, since it is written from the messages.
#[test]
fn a_summarized_message_is_read_once() {
    let world = World::new();
    world.say(chat(60));
    let (report, reads) = reads_of(&world, || block_on(world.talk.compact()).unwrap());
    assert!(report.summaries > 20, "{report:?}");
    let spans = |level: Level| {
        let summaries = world.summaries();
        let of_level: Vec<_> = summaries.iter().filter(|summary| summary.body.level == level).collect();
        of_level.into_iter().flat_map(|summary| summary.body.span.iter().map(NodeId::get)).collect::<Vec<_>>()
    };
    let (leaves, metas) = (spans(Level::Summary), spans(Level::Meta));
    let expected: BTreeMap<u64, u64> = leaves.iter().map(|node| (*node, 1 + u64::from(metas.contains(node)))).collect();
    assert_eq!(reads, expected);
}

/// The retriever of these tests reads every message equally often, those that it recalls and the others.
#[test]
fn a_recalled_message_is_not_read_again_to_show_it() {
    let world = World::new();
    world.say(chat(300));
    block_on(world.talk.compact()).unwrap();
    let (prompt, reads) = reads_of(&world, || a_prompt_that_fits(&world, "topic7 topic20", 2_000));
    let recalled = nodes_of(&prompt, PieceKind::Recalled);
    assert!(recalled.contains(&7) && recalled.contains(&20), "{recalled:?}");
    let beside = |node: &u64| !recalled.contains(node) && !nodes_of(&prompt, PieceKind::Message).contains(node);
    let other = (1..=300).find(beside).unwrap();
    assert!(recalled.iter().all(|node| reads[node] == reads[&other]), "{reads:?}");
}

#[test]
fn the_hook_reads_the_neighbours_of_hits_alone() {
    let store = Arc::new(memory_core::testing::MemoryStore::default());
    let world = World::over(store, |builder, store| {
        let retriever = Arc::new(ScanRetriever::new(store.clone()));
        let mut hooks = HookRegistry::new();
        hooks.provide(Arc::new(RecallHook::new(store, retriever, RecallHookOptions::default().radius(1))));
        builder.hooks(hooks)
    });
    world.say(chat(40));
    let question = memory_core::Message::user("topic20");
    let (_, reads) = reads_of(&world, || block_on(world.talk.add_message(question)).unwrap());
    let by_the_search = reads[&1];
    let again: Vec<_> = reads.iter().filter(|(_, reads)| **reads > by_the_search).map(|(node, _)| *node).collect();
    assert_eq!(again, [19, 21]);
}
