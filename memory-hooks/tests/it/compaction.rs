//! Compaction: times of writing, records of summaries, and strategies that misbehave.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory_core::{
    Hash, Level, Message, NodeDraft, NodeId, NodeRange, Role, Summary, SummaryDraft, Timestamp, WrittenBy,
    plan::{Thresholds, ViewPolicy},
    port::{
        BoxFuture, Event, ImportanceScorer, Notice, ScoreError, ScoreJob, Store, StoreError, SummarizeError,
        Summarizer, SummaryJob, TokenCounter, WrittenSummary,
    },
    testing::{MemoryStore, WordCounter},
};
use memory_hooks::{CompactionReport, Conversation, MemoryError, PromptOptions};
use memory_strategies::Rules;
use pollster::block_on;
use proptest::prelude::*;

use crate::support::{Manner, Scripted, World, chat, conversations, covered, id, line};

fn world_of(summarizer: &Arc<Scripted>) -> World {
    let summarizer = Arc::clone(summarizer);
    World::with(|builder, _| builder.summarizer(summarizer))
}

fn compact(world: &World) -> Result<CompactionReport, MemoryError> {
    block_on(world.talk.compact())
}

#[test]
fn compaction_starts_above_20_messages_and_stops_at_10() {
    let world = World::new();
    world.say(chat(20));
    assert_eq!(compact(&world).unwrap().summaries, 0);
    world.say([line(21, 20)]);
    assert_eq!(compact(&world).unwrap().summaries, 11);
    assert_eq!(world.levels(), [10, 11, 0, 0]);
    world.say((22..=31).map(|number| line(number, 20)));
    assert_eq!(compact(&world).unwrap().summaries, 0, "hysteresis: 20 stand again");
    let compacted = world.compacted.lock().unwrap();
    assert_eq!(compacted.len(), 1);
    assert!(compacted[0].tokens_after < compacted[0].tokens_before);
}

#[test]
fn metas_and_archives_follow_at_their_thresholds() {
    let world = World::new();
    world.say(chat(600));
    compact(&world).unwrap();
    let [full, summary, meta, archive] = world.levels();
    let thresholds = Thresholds::default();
    assert_eq!(full, thresholds.recent_node_limit);
    assert!(summary <= thresholds.meta_summary_threshold && meta <= thresholds.archive_threshold && archive > 0);
    assert_eq!(full + summary + meta + archive, 600);
    let metas = world.summaries().into_iter().filter(|summary| summary.body.level == Level::Meta);
    assert!(metas.map(|meta| meta.body.span.count()).all(|count| (20..=40).contains(&count)));
}

#[test]
fn a_message_that_the_rules_find_important_is_marked_where_it_is_summarized() {
    let world = World::with(|builder, _| builder.scorer(Arc::new(Rules)).view_policy(ViewPolicy::default().short(0)));
    world.say([Message::user(
        "Important: we decided to rent the hall for 1,850 euros from 4 May to 9 May, and I will call them tomorrow.",
    )]);
    world.say(chat(29));
    compact(&world).unwrap();
    let weight = |summary: &Summary| summary.body.metadata.importance;
    let leaves: Vec<_> = world.summaries().into_iter().filter(|summary| summary.body.level == Level::Summary).collect();
    assert!(weight(&leaves[0]) >= 0.8 && leaves[1..].iter().all(|leaf| weight(leaf) < 0.8), "{leaves:?}");
}

#[test]
fn compacting_twice_writes_nothing_the_second_time() {
    let summarizer = Scripted::new(Manner::Good);
    let world = world_of(&summarizer);
    world.say(chat(300));
    assert!(compact(&world).unwrap().summaries > 0);
    let (calls, summaries) = (summarizer.calls(), world.summaries());
    let again = compact(&world).unwrap();
    assert_eq!((again.summaries, again.tokens_before), (0, again.tokens_after));
    assert_eq!((summarizer.calls(), world.summaries()), (calls, summaries));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The invariant **Progress**.
    #[test]
    fn progress_a_compaction_lowers_the_token_count_or_changes_nothing(messages in conversations(1..150)) {
        let world = World::new();
        for message in messages {
            world.say([message]);
            let before = world.summaries().len();
            let report = compact(&world).unwrap();
            let written = world.summaries().len() - before;
            prop_assert_eq!(report.summaries, written as u64);
            prop_assert_eq!(written > 0, report.tokens_after < report.tokens_before);
            prop_assert!(report.tokens_after <= report.tokens_before);
        }
    }

    /// The invariant **Recorded**: the same messages give the same tree, text by text and hash by hash.
    #[test]
    fn recorded_a_rebuild_gives_the_same_tree(messages in conversations(30..120)) {
        let [one, other] = [World::new(), World::new()];
        one.say(messages.clone());
        compact(&one).unwrap();
        other.say(messages);
        compact(&other).unwrap();
        prop_assert_eq!(one.summaries(), other.summaries());
    }
}

#[test]
fn recorded_summaries_name_their_strategy_and_the_input_they_were_written_from() {
    let world = world_of(&Scripted::new(Manner::Good));
    world.say(chat(100));
    compact(&world).unwrap();
    let summaries = world.summaries();
    let written_by = WrittenBy::new("scripted", "7");
    assert!(summaries.iter().all(|summary| summary.body.written_by == written_by));
    let mut inputs: Vec<_> = summaries.iter().map(|summary| summary.body.input_hash).collect();
    inputs.sort();
    inputs.dedup();
    assert_eq!(inputs.len(), summaries.len(), "no two summaries are of the same input");
    let lines: u64 =
        summaries.iter().filter(|s| s.body.level == Level::Summary).map(|s| s.body.metadata.line_count).sum();
    assert_eq!(lines, 90);
    // The input hash of the first summary covers its level, its most tokens, and the leaf of the message in the log.
    let first = NodeId::FIRST;
    let tokens = block_on(world.store.node(&id(), first)).unwrap().tokens;
    let proofs = block_on(world.store.proofs(&id(), NodeRange::single(first))).unwrap();
    let shape = [&[1][..], &(tokens / 2).to_le_bytes()].concat();
    assert_eq!(summaries[0].body.span, NodeRange::single(first));
    assert_eq!(summaries[0].body.input_hash, Hash::of_parts([&shape[..], proofs[0].leaf.as_bytes()]));
}

#[test]
fn another_word_in_a_message_is_another_input() {
    let hash = |text: &str| {
        let world = World::new();
        world.say([Message::user(text)].into_iter().chain(chat(20)));
        compact(&world).unwrap();
        world.summaries()[0].body.input_hash
    };
    assert_ne!(hash("The meeting is on Tuesday at nine"), hash("The meeting is on Tuesday at ten"));
}

/// One SUMMARY for each of many tiny messages saves nothing: it is recorded with the META over it, or not.
#[test]
fn progress_what_saves_nothing_by_itself_is_recorded_with_what_does_or_not_at_all() {
    let tiny = || (0..100).map(|n| if n % 2 == 0 { Message::user("OK.") } else { Message::assistant("OK.") });
    let world = World::with(|builder, _| {
        let fallback = Scripted::new(Manner::FailsFrom(0));
        builder.summarizer(Scripted::new(Manner::FailsFrom(90))).fallback_summarizer(fallback)
    });
    world.say(tiny());
    assert!(compact(&world).is_err(), "90 SUMMARYs were written, the META failed");
    assert!(world.summaries().is_empty());
    let world = world_of(&Scripted::new(Manner::Good));
    world.say(tiny());
    let report = compact(&world).unwrap();
    assert!(report.summaries > 90 && report.tokens_after < report.tokens_before, "{report:?}");
}

#[test]
fn compaction_is_left_to_the_process_that_has_the_lease() {
    let summarizer = Scripted::new(Manner::Good);
    let world = world_of(&summarizer);
    world.say(chat(20));
    world.store.lease_away(true);
    assert!(!compact(&world).unwrap().is_left_to_another, "nothing was due");
    world.say(chat(40));
    let report = compact(&world).unwrap();
    assert_eq!((report.summaries, report.tokens_before), (0, report.tokens_after));
    assert!(report.is_left_to_another);
    let prompt = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&prompt), (1..=60).collect::<Vec<_>>());
    assert!(prompt.notices.contains(&Notice::CompactionElsewhere), "{:?}", prompt.notices);
    assert_eq!(summarizer.calls(), 0, "nothing is paid for twice");
    assert!(world.failed.lock().unwrap().is_empty(), "no failure");

    world.store.lease_away(false);
    let report = compact(&world).unwrap();
    assert!(report.summaries > 0 && !report.is_left_to_another, "{report:?}");
}

/// Has another process compact the conversation right when the first summaries are estimated.
#[derive(Debug)]
struct Interloper {
    other: Conversation,
    is_done: AtomicBool,
}

impl TokenCounter for Interloper {
    fn name(&self) -> &'static str {
        "interloper"
    }

    fn count(&self, text: &str) -> u32 {
        if text == "(kept out of summaries)" && !self.is_done.swap(true, Ordering::Relaxed) {
            assert!(block_on(self.other.compact()).unwrap().summaries > 0);
        }
        WordCounter.count(text)
    }
}

#[test]
fn what_another_process_compacted_meanwhile_is_not_paid_for_again() {
    let other = World::new();
    other.say([Message::user("PIN 4471").keep_out_of_summaries(true)]);
    other.say(chat(60));
    let summarizer = Scripted::new(Manner::Good);
    let (paid, counter) = (Arc::clone(&summarizer), Interloper { other: other.talk.clone(), is_done: false.into() });
    let world =
        World::over(Arc::clone(&other.store), |builder, _| builder.summarizer(paid).token_counter(Arc::new(counter)));
    let report = compact(&world).unwrap();
    assert_eq!((report.summaries, summarizer.calls()), (0, 0));
    assert_eq!(world.compacted.lock().unwrap().len() + other.compacted.lock().unwrap().len(), 1);
}

#[test]
fn a_view_is_made_to_fit_whichever_process_has_the_lease() {
    let world = World::new();
    world.store.lease_away(true);
    world.say(chat(60));
    let prompt = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(400))).unwrap();
    assert_eq!(covered(&prompt), (1..=60).collect::<Vec<_>>());
    assert!(prompt.tokens <= 400 && !world.summaries().is_empty());
}

#[test]
fn a_compaction_that_cannot_help_is_not_paid_for() {
    let summarizer = Scripted::new(Manner::Good);
    let paid = Arc::clone(&summarizer);
    // A summary costs more than any message here.
    let policy = ViewPolicy::default().per_summary(1_000);
    let world = World::with(|builder, _| builder.summarizer(paid).view_policy(policy));
    world.say(chat(40));
    for _ in 0..3 {
        let report = compact(&world).unwrap();
        assert_eq!((report.summaries, report.tokens_before), (0, report.tokens_after));
    }
    assert_eq!(summarizer.calls(), 0);
    assert_eq!(world.levels(), [40, 0, 0, 0]);
}

/// Scores by role.
#[derive(Debug)]
struct Weigh;

impl ImportanceScorer for Weigh {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("weigh", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let score = |job: &ScoreJob<'_>| if job.role == Role::User { 0.75 } else { 0.25 };
        Ok(jobs.iter().map(score).collect())
    }
}

#[test]
fn scores_are_recorded_with_the_summaries() {
    let world = World::with(|builder, _| builder.scorer(Arc::new(Weigh)));
    world.say(chat(30));
    compact(&world).unwrap();
    let node = |n| block_on(world.talk.expand(NodeId::new(n).unwrap())).unwrap();
    assert_eq!((node(1).importance, node(2).importance, node(30).importance), (0.75, 0.25, 0.5));
    assert!(world.summaries().iter().all(|s| (s.body.metadata.importance - 0.5).abs() > 0.2), "summaries know them");
}

#[test]
fn a_weight_that_somebody_gave_is_not_overwritten() {
    let world = World::with(|builder, _| builder.scorer(Arc::new(Weigh)));
    let heavy = NodeDraft::new(line(1, 20), Timestamp::default(), 20).importance(1.0);
    block_on(world.store.append(&id(), vec![heavy])).unwrap();
    world.say((2..=30).map(|number| line(number, 20)));
    compact(&world).unwrap();
    let node = |n| block_on(world.talk.expand(NodeId::new(n).unwrap())).unwrap();
    assert_eq!((node(1).importance, node(3).importance), (1.0, 0.75));
}

/// Another process: records a summary of node 1 while this one waits for its first.
#[derive(Debug)]
struct Rival {
    store: Arc<MemoryStore>,
    inner: Arc<Scripted>,
}

impl Rival {
    async fn interfere(&self) -> Result<(), StoreError> {
        let body = SummaryDraft::new(
            Level::Summary,
            NodeRange::single(NodeId::FIRST),
            "by the rival",
            4,
            WrittenBy::new("rival", "1"),
            Hash::of_parts([b"rival".as_slice()]),
        );
        self.store.record(&id(), vec![Event::Summary(body)]).await.map(drop)
    }
}

impl Summarizer for Rival {
    fn identity(&self) -> WrittenBy {
        self.inner.identity()
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            if self.inner.calls() == 0 {
                self.interfere().await.map_err(|error| SummarizeError::new(self.identity(), error))?;
            }
            self.inner.summarize(job).await
        })
    }
}

#[test]
fn summaries_that_another_process_recorded_meanwhile_are_taken_over() {
    let world =
        World::with(|builder, store| builder.summarizer(Arc::new(Rival { store, inner: Scripted::new(Manner::Good) })));
    world.say(chat(300));
    compact(&world).unwrap();
    assert_eq!(world.summaries()[0].body.text, "by the rival");
    assert_eq!(world.levels().iter().sum::<u64>(), 300);
    let prompt = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&prompt), (1..=300).collect::<Vec<_>>());
}
