//! Number of recalls of a message, which scorers are given.

use std::sync::{Arc, Mutex};

use memory_core::{
    ConversationId, Message, NodeId, WrittenBy,
    port::{ImportanceScorer, Query, Scope, ScoreError, ScoreJob},
    testing::ScanRetriever,
};
use pollster::block_on;

use crate::support::{World, chat};

/// A scorer that records the node and the uses of each job.
#[derive(Debug, Default)]
struct UsesRecorder(Mutex<Vec<(Option<NodeId>, u32)>>);

impl ImportanceScorer for UsesRecorder {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("told", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        self.0.lock().unwrap().extend(jobs.iter().map(|job| (job.node, job.uses)));
        Ok(vec![0.4; jobs.len()])
    }
}

#[test]
fn a_search_of_several_conversations_counts_the_uses_of_each() {
    let recorder = Arc::new(UsesRecorder::default());
    let scorer = Arc::clone(&recorder);
    let world = World::with(|builder, store| builder.scorer(scorer).retriever(Arc::new(ScanRetriever::new(store))));
    let mut messages = chat(45);
    messages[6] = Message::user("The ferry to Skye leaves at 7:42.");
    world.say(messages);
    let other = world.memory.conversation(ConversationId::new("other").unwrap());
    block_on(other.append(Message::user("Is there a ferry to Skye?"))).unwrap();
    let found = block_on(world.memory.search(Query::new("ferry to Skye", Scope::all()))).unwrap();
    assert_eq!(found.hits.len(), 2);
    block_on(world.talk.compact()).unwrap();
    let scored = recorder.0.lock().unwrap();
    let uses = |node| scored.iter().find(|(scored, _)| *scored == NodeId::new(node)).unwrap().1;
    assert_eq!((uses(7), uses(6)), (1, 0));
}

#[test]
fn a_scorer_is_told_how_often_a_message_was_used_before() {
    let recorder = Arc::new(UsesRecorder::default());
    let scorer = Arc::clone(&recorder);
    let world = World::with(|builder, store| builder.scorer(scorer).retriever(Arc::new(ScanRetriever::new(store))));
    let mut messages = chat(15);
    messages[6] = Message::user("The ferry to Skye leaves at 7:42.");
    world.say(messages);
    let ferry = NodeId::new(7).unwrap();
    block_on(world.talk.expand(ferry)).unwrap();
    let found = block_on(world.talk.search("ferry to Skye", 1)).unwrap();
    assert_eq!(found.hits[0].node.id, ferry);
    assert!(recorder.0.lock().unwrap().is_empty(), "nothing is summarized yet");
    world.say(chat(30));
    block_on(world.talk.compact()).unwrap();
    let scored = recorder.0.lock().unwrap();
    let uses = |node| scored.iter().find(|(scored, _)| *scored == NodeId::new(node)).unwrap().1;
    assert_eq!((uses(7), uses(6)), (2, 0));
}
