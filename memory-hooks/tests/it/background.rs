//! Compaction next to the replies: due summaries follow from the log, and no reply waits for one.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use memory_core::{
    Level, WrittenBy,
    plan::ViewPolicy,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, WrittenSummary},
    testing::{MemoryStore, WordCounter},
    text::FirstWords,
};
use memory_hooks::{Memory, PieceKind, PromptOptions};
use pollster::block_on;

use crate::support::{World, chat, covered, id, line, nodes_of};

/// First words, as many as it is let through; then it waits.
#[derive(Debug)]
struct Gate {
    left: AtomicUsize,
}

impl Gate {
    fn open_for(summaries: usize) -> Arc<Self> {
        Arc::new(Self { left: summaries.into() })
    }

    fn let_through(&self, summaries: usize) {
        self.left.fetch_add(summaries, Ordering::Relaxed);
    }
}

impl Summarizer for Gate {
    fn identity(&self) -> WrittenBy {
        FirstWords.identity()
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            poll_fn(|_| {
                let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                if taken.is_ok() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            Ok(FirstWords::write(&job))
        })
    }
}

/// A policy that summarizes even the short messages of a test.
fn policy() -> ViewPolicy {
    ViewPolicy::default().short(0)
}

fn memory(store: &Arc<MemoryStore>, gate: &Arc<Gate>) -> Memory {
    let store = Arc::<MemoryStore>::clone(store);
    let gate = Arc::<Gate>::clone(gate);
    Memory::builder()
        .store(store)
        .token_counter(Arc::new(WordCounter))
        .summarizer(gate)
        .view_policy(policy())
        .build()
        .unwrap()
}

/// Drives it as far as it gets by itself.
fn drive(work: &mut Pin<Box<dyn Future<Output = ()> + Send>>) -> Poll<()> {
    work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn shown(memory: &Memory, nodes: u64) {
    let context = block_on(memory.conversation(id()).prompt_with("topic7", &PromptOptions::new(8_000))).unwrap();
    assert_eq!(covered(&context), (1..=nodes).collect::<Vec<_>>());
    assert!(context.notices.is_empty(), "{:?}", context.notices);
}

#[test]
fn no_reply_waits_for_a_summary_and_what_was_written_is_shown_at_the_next_turn() {
    let world = World::new();
    let gate = Gate::open_for(0);
    let memory = memory(&world.store, &gate);
    let mut work = memory.background();
    assert!(drive(&mut work).is_pending(), "nothing is there yet");
    world.say(chat(59));
    let talk = memory.conversation(id());
    block_on(talk.append(line(60, 20))).unwrap();
    assert!(drive(&mut work).is_pending());
    shown(&memory, 60);
    assert!(world.summaries().is_empty(), "the summarizer has not answered yet");
    gate.let_through(1_000);
    assert!(drive(&mut work).is_pending());
    assert_eq!(block_on(talk.stats()).unwrap().nodes_per_level, [10, 50, 0, 0]);
    // Too few tokens for all messages word for word, and nothing is left to be summarized.
    let context = block_on(talk.prompt_with("topic7", &PromptOptions::new(1_300))).unwrap();
    assert_eq!(covered(&context), (1..=60).collect::<Vec<_>>());
    assert!(!nodes_of(&context, PieceKind::Summary(Level::Summary)).is_empty(), "{}", context.text());
    let due = world.summaries().into_iter().filter(|summary| !summary.body.for_view);
    assert_eq!(due.count(), 50, "what was written before is shown");
}

#[test]
fn what_was_left_undone_is_done_after_a_restart() {
    let world = World::new();
    world.say(chat(100));
    assert!(world.summaries().is_empty());
    let restarted = memory(&world.store, &Gate::open_for(1_000));
    assert!(drive(&mut restarted.background()).is_pending());
    assert_eq!(block_on(restarted.conversation(id()).stats()).unwrap().nodes_per_level[0], 10);
}

/// A crash leaves the tree before or after a step, and the next compaction completes the same tree.
#[test]
fn work_that_is_cut_off_leaves_the_tree_as_it_was_or_as_it_was_to_become() {
    let whole = World::new();
    whole.say(chat(120));
    block_on(whole.talk.compact()).unwrap();
    let goal = whole.summaries();
    let mut seen = Vec::new();
    for written in 0..=goal.len() {
        let world = World::new();
        world.say(chat(120));
        let cut_off = memory(&world.store, &Gate::open_for(written));
        let mut work = cut_off.background();
        assert!(drive(&mut work).is_pending());
        drop(work);
        let left = world.summaries();
        assert_eq!(left, goal[..left.len()], "cut off after {written} summaries");
        seen.push(left.len());
        let restarted = memory(&world.store, &Gate::open_for(1_000));
        assert!(drive(&mut restarted.background()).is_pending());
        assert_eq!(world.summaries().len(), goal.len());
    }
    seen.dedup();
    assert_eq!((seen[0], seen.last()), (0, Some(&goal.len())));
    assert!(seen.len() < 8, "whole plans are recorded, not single summaries: {seen:?}");
}

#[test]
fn two_compactions_of_a_conversation_do_not_both_pay() {
    let world = World::new();
    world.say(chat(60));
    let gate = Gate::open_for(1);
    let memory = memory(&world.store, &gate);
    let mut work = memory.background();
    assert!(drive(&mut work).is_pending());
    // The second would ask for the first summary anew, and wait.
    let report = block_on(memory.conversation(id()).compact()).unwrap();
    assert!(report.is_left_to_another && report.summaries == 0, "{report:?}");
    gate.let_through(1_000);
    assert!(drive(&mut work).is_pending());
    let report = block_on(memory.conversation(id()).compact()).unwrap();
    assert!(!report.is_left_to_another && report.summaries == 0, "{report:?}");
    assert_eq!(block_on(memory.conversation(id()).stats()).unwrap().nodes_per_level, [10, 50, 0, 0]);
}

#[test]
fn without_anybody_to_work_it_off_a_context_sees_to_it() {
    let world = World::new();
    let memory = memory(&world.store, &Gate::open_for(1_000));
    let mut work = memory.background();
    assert!(drive(&mut work).is_pending());
    world.say(chat(60));
    drop(work);
    shown(&memory, 60);
    assert!(!world.summaries().is_empty());
}

#[test]
fn it_ends_with_the_memory() {
    let memory = memory(&Arc::default(), &Gate::open_for(0));
    let mut work = memory.background();
    assert!(drive(&mut work).is_pending());
    drop(memory);
    assert!(drive(&mut work).is_ready());
}
