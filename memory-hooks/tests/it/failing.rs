//! Strategies that fail or break their contract: fallbacks, records and notices.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use memory_core::{
    Level, NodeId, WrittenBy,
    port::{
        BoxFuture, ImportanceScorer, Notice, ScoreError, ScoreJob, Source, Store, SummarizeError, Summarizer,
        SummaryJob, WrittenSummary,
    },
    testing::MemoryStore,
    text::FirstWords,
};
use memory_hooks::{CompactionReport, MemoryError, PromptOptions};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, chat, covered, id, line};

fn compact(world: &World) -> Result<CompactionReport, MemoryError> {
    block_on(world.talk.compact())
}

/// A memory with this summarizer, and a scripted fallback.
fn world_of(summarizer: &Arc<Scripted>, fallback: Manner) -> World {
    let (summarizer, fallback) = (Arc::clone(summarizer), Scripted::new(fallback));
    World::with(|builder, _| builder.summarizer(summarizer).fallback_summarizer(fallback))
}

/// A memory with a scripted summarizer and the default fallback.
fn world(manner: Manner) -> World {
    let summarizer = Scripted::new(manner);
    World::with(|builder, _| builder.summarizer(summarizer))
}

fn writers(world: &World) -> Vec<String> {
    world.summaries().iter().map(|summary| summary.body.written_by.to_string()).collect()
}

#[test]
fn the_fallback_answers_the_very_job_at_which_a_summarizer_fails() {
    let world = world(Manner::FailsAt(3));
    world.say(chat(40));
    let report = compact(&world).unwrap();
    let mut expected = vec!["scripted 7"; 30];
    expected[3] = "first-words 1";
    assert_eq!((report.summaries, writers(&world)), (30, expected.into_iter().map(str::to_owned).collect()));
    assert!(world.failed.lock().unwrap().is_empty(), "the compaction did not fail");
    let told = world.fell_back.lock().unwrap();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(told.conversation, id());
    assert_eq!(told.strategy.to_string(), "scripted 7");
    assert_eq!(told.answered_by.as_ref().unwrap().to_string(), "first-words 1");
    assert_eq!(told.cause, "summarizer scripted 7 failed: no model");
}

#[test]
fn answers_that_break_the_contract_are_the_fallbacks_to_give() {
    for (manner, breach) in [(Manner::TooLong, "at most"), (Manner::Blank, "blank")] {
        let world = world(manner);
        world.say((1..=40).map(|number| line(number, 60)));
        compact(&world).unwrap();
        assert!(writers(&world).iter().all(|writer| writer == "first-words 1"), "{:?}", writers(&world));
        let told = world.fell_back.lock().unwrap();
        assert_eq!(told.len(), 1, "one cause, whatever the numbers in it: {told:?}");
        assert!(told[0].cause.contains(breach), "{told:?}");
    }
}

/// A model that is gone would be waited for once for each message.
#[test]
fn a_summarizer_that_fails_three_times_in_a_row_is_asked_no_more_in_that_compaction() {
    let summarizer = Scripted::new(Manner::FailsFrom(0));
    let world = world_of(&summarizer, Manner::Good);
    world.say(chat(60));
    compact(&world).unwrap();
    assert_eq!((summarizer.calls(), world.levels()), (3, [10, 50, 0, 0]));
    world.say((61..=90).map(|number| line(number, 20)));
    compact(&world).unwrap();
    assert_eq!(summarizer.calls(), 6, "the next compaction asks it again");
    assert_eq!(world.fell_back.lock().unwrap().len(), 1, "its cause is told once");
}

#[test]
fn what_was_written_before_a_failure_is_recorded() {
    let summarizer = Scripted::new(Manner::FailsFrom(5));
    let world = world_of(&summarizer, Manner::FailsFrom(0));
    world.say(chat(40));
    let error = compact(&world).unwrap_err();
    assert!(matches!(error, MemoryError::Summarize(_)), "{error}");
    assert_eq!((writers(&world), world.levels()), (vec!["scripted 7".to_owned(); 5], [35, 5, 0, 0]));
    assert_eq!(world.compacted.lock().unwrap()[0].summaries, 5);
    let failed = world.failed.lock().unwrap().clone();
    assert_eq!((failed.len(), failed[0].conversation.clone()), (1, id()));
    assert!(failed[0].error.contains("scripted 7"), "{}", failed[0].error);
    let prompt = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&prompt), (1..=40).collect::<Vec<_>>());
}

#[test]
fn a_compaction_that_failed_goes_on_from_what_it_recorded() {
    let summarizer = Scripted::new(Manner::FailsAt(5));
    let world = world_of(&summarizer, Manner::FailsAt(0));
    world.say(chat(300));
    assert!(compact(&world).is_err(), "both failed once");
    let recorded = world.summaries();
    assert_eq!(recorded.len(), 5);
    compact(&world).unwrap();
    assert_eq!(world.summaries()[..5], recorded);
    assert_eq!((world.levels()[0], world.levels().iter().sum::<u64>()), (10, 300));
}

#[test]
fn a_failed_compaction_that_was_not_needed_does_not_stop_the_context() {
    let world = world_of(&Scripted::new(Manner::FailsFrom(0)), Manner::FailsFrom(0));
    world.say(chat(40));
    let prompt = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&prompt), (1..=40).collect::<Vec<_>>());
    assert!(
        prompt.notices.iter().any(|notice| matches!(notice, Notice::CompactionFailed { .. })),
        "{:?}",
        prompt.notices
    );
}

#[test]
fn a_failed_compaction_that_was_needed_is_the_error() {
    let world = world_of(&Scripted::new(Manner::FailsFrom(0)), Manner::FailsFrom(0));
    world.say(chat(40));
    let error = block_on(world.talk.prompt_with("topic7", &PromptOptions::new(400))).unwrap_err();
    assert!(matches!(error, MemoryError::Summarize(_)), "{error}");
}

/// Gives all messages one score, or none.
#[derive(Debug)]
struct Weigh(&'static str, Option<f32>);

impl ImportanceScorer for Weigh {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new(self.0, "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let failed = || ScoreError::new(self.identity(), "no scale");
        Ok(vec![self.1.ok_or_else(failed)?; jobs.len()])
    }
}

#[test]
fn the_fallback_scorer_answers_where_a_scorer_fails_or_leaves_its_range() {
    for score in [None, Some(1.5), Some(-0.1), Some(f32::NAN)] {
        let world = World::with(|builder, _| {
            builder.scorer(Arc::new(Weigh("bad", score))).fallback_scorer(Arc::new(Weigh("good", Some(0.75))))
        });
        world.say(chat(30));
        assert_eq!(compact(&world).unwrap().summaries, 20);
        let first = block_on(world.talk.expand(NodeId::FIRST)).unwrap();
        assert_eq!(first.importance.to_bits(), 0.75f32.to_bits());
        let told = world.fell_back.lock().unwrap();
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(
            (told.strategy.to_string(), told.answered_by.as_ref().unwrap().to_string()),
            ("bad 1".into(), "good 1".into())
        );
    }
}

#[test]
fn without_a_fallback_scorer_messages_keep_their_weight_and_are_summarized() {
    let world = World::with(|builder, _| builder.scorer(Arc::new(Weigh("bad", None))));
    world.say(chat(30));
    assert_eq!(compact(&world).unwrap().summaries, 20);
    assert_eq!(block_on(world.store.node(&id(), NodeId::FIRST)).unwrap().importance.to_bits(), 0.5f32.to_bits());
    let told = world.fell_back.lock().unwrap();
    assert_eq!((told.len(), told[0].answered_by.is_none()), (1, true));
}

/// A model over a network that says each time anew why it is not there.
#[derive(Debug)]
struct Garrulous;

impl Summarizer for Garrulous {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("model", "1")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        let cause = format!("timed out after {} ms, request {:?}", job.max_tokens, job.span());
        Box::pin(async move { Err(SummarizeError::new(self.identity(), cause)) })
    }
}

#[test]
fn a_model_that_times_out_is_answered_for_and_told_of_in_one_line() {
    let world = World::with(|builder, _| builder.summarizer(Arc::new(Garrulous)));
    for round in 0..20 {
        world.say((1..=30).map(|number| line(round * 30 + number, 20)));
        compact(&world).unwrap();
    }
    assert_eq!(world.levels()[0], 10);
    assert_eq!(world.fell_back.lock().unwrap().len(), 1);
}

/// Passes its jobs on: to a plugin until that is quarantined in the middle of a call, then to a built-in strategy.
#[derive(Debug)]
struct PassesOn {
    calls: AtomicUsize,
    states_who: bool,
}

impl PassesOn {
    fn author(call: usize) -> WrittenBy {
        WrittenBy::new(if call < 3 { "plugin" } else { "built-in" }, "1")
    }
}

impl Summarizer for PassesOn {
    fn identity(&self) -> WrittenBy {
        Self::author(self.calls.load(Ordering::SeqCst))
    }

    fn summarize<'a>(&'a self, _: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            let author = Self::author(self.calls.fetch_add(1, Ordering::SeqCst) + 1);
            let written = WrittenSummary::new(&author.strategy);
            Ok(if self.states_who { written.written_by(author) } else { written })
        })
    }
}

#[test]
fn a_text_names_who_wrote_it_whatever_happened_in_between() {
    for states_who in [true, false] {
        let world =
            World::with(|builder, _| builder.summarizer(Arc::new(PassesOn { calls: AtomicUsize::new(0), states_who })));
        world.say(chat(30));
        compact(&world).unwrap();
        let written = world.summaries();
        let of = |name: &str| written.iter().filter(|there| there.body.written_by.strategy == name).count();
        assert!(of("plugin") == 2 && of("built-in") > 2, "{written:?}");
        // An answer of nobody knows whom is refused, and the fallback gives another.
        assert_eq!(of("plugin") + of("built-in") == written.len(), states_who);
        for there in written.iter().filter(|there| ["plugin", "built-in"].contains(&there.body.text.as_str())) {
            assert_eq!(there.body.text, there.body.written_by.strategy);
        }
    }
}

/// A summarizer whose answers have to be waited for. It remembers how many summaries were recorded at each call.
#[derive(Debug)]
struct Slow {
    store: Arc<MemoryStore>,
    recorded: Mutex<Vec<u64>>,
}

impl Summarizer for Slow {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("slow", "1")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            let mut is_ready = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut is_ready, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            let state = self.store.conversation(&id()).await;
            if let (Ok(state), Ok(mut recorded)) = (state, self.recorded.lock()) {
                recorded.push(state.summaries);
            }
            FirstWords.summarize(job).await
        })
    }
}

#[test]
fn what_a_slow_summarizer_writes_is_recorded_as_it_is_written() {
    let asked: Mutex<Option<Arc<Slow>>> = Mutex::default();
    let world = World::with(|builder, store| {
        let slow = Arc::new(Slow { store, recorded: Mutex::default() });
        *asked.lock().unwrap() = Some(Arc::clone(&slow));
        builder.summarizer(slow)
    });
    world.say((1..=300).map(|number| line(number, 60)));
    compact(&world).unwrap();
    let slow = asked.lock().unwrap().take().unwrap();
    let recorded = slow.recorded.lock().unwrap();
    assert!(recorded.len() > 200, "{}", recorded.len());
    // All calls but the last 16 are on disk.
    let lost = (0..).zip(recorded.iter()).map(|(calls, recorded)| calls - recorded);
    assert!(lost.clone().all(|lost| lost < 16), "{:?}", lost.max());
    // A summarizer that answers at once leaves the same SUMMARYs. Merged ones may differ, as they do turn by turn.
    let quick = World::with(|builder, _| builder.summarizer(Arc::new(FirstWords)));
    quick.say((1..=300).map(|number| line(number, 60)));
    compact(&quick).unwrap();
    let of_messages = |world: &World| {
        let all = world.summaries().into_iter().filter(|summary| summary.body.level == Level::Summary);
        all.map(|summary| (summary.body.span, summary.body.text)).collect::<BTreeMap<_, _>>()
    };
    let (slowly, quickly) = (of_messages(&world), of_messages(&quick));
    assert!(slowly.iter().all(|(span, text)| quickly.get(span) == Some(text)));
    // A rest that is not due yet stays for the next compaction.
    assert!(slowly.len() + 16 > quickly.len(), "{} of {}", slowly.len(), quickly.len());
    let metas = |world: &World| world.summaries().iter().filter(|summary| summary.body.level == Level::Meta).count();
    assert_eq!(metas(&world), metas(&quick));
}
