//! Reports of an agent's loop: the hooks that see them, and their effects on the memory.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::sync::{Arc, Mutex};

use memory_core::{
    ContentBlock, Json, Message,
    plan::{
        list::{PerTurn, ProactiveCompression},
        strategy_named,
    },
    port::{BoxError, BoxFuture, Hook, HookEvent, HookRegistry},
};
use memory_hooks::{
    AfterInvocation, AfterModelCall, AfterToolCall, AgentInitialized, BeforeInvocation, BeforeModelCall,
    BeforeToolCall, Compacted, CompactionStarted, HookFailed, MessageAdded, SessionRestored,
};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, calls, chat, results};

type Log = Arc<Mutex<Vec<String>>>;

/// Hooks that note the name of each event.
fn noting(log: &Log) -> HookRegistry {
    let mut hooks = HookRegistry::new();
    macro_rules! note {
        ($($event:ident)*) => {
            $({
                let log = Arc::clone(log);
                hooks.listen("note", move |_: &$event| log.lock().unwrap().push(stringify!($event).to_owned()));
            })*
        };
    }
    note!(AgentInitialized SessionRestored BeforeInvocation MessageAdded BeforeModelCall AfterModelCall BeforeToolCall
        AfterToolCall AfterInvocation CompactionStarted Compacted HookFailed);
    hooks
}

fn taken(log: &Log) -> String {
    std::mem::take(&mut *log.lock().unwrap()).join(" ")
}

#[test]
fn the_steps_of_an_agent_are_events_in_their_order() {
    let log = Log::default();
    let world = World::with(|builder, _| builder.hooks(noting(&log)));
    block_on(async {
        world.talk.initialize().await.unwrap();
        assert_eq!(taken(&log), "AgentInitialized");
        let mut run = world.talk.invoke().await.unwrap();
        world.talk.add_message(Message::user("Read src/lib.rs.")).await.unwrap();
        run.before_model_call(Some(100), Some(8_000)).await.unwrap();
        let reply = calls(&["a"]);
        run.after_model_call(Ok(&reply)).await.unwrap();
        world.talk.add_message(reply).await.unwrap();
        let input = run.before_tool_call("a", "read_file", Json::string("src/lib.rs")).await.unwrap();
        assert_eq!(input, Json::string("src/lib.rs"));
        let block = run.after_tool_call("a", vec![ContentBlock::Text("41 rows".to_owned())], false).await.unwrap();
        assert_eq!(block, results(&["a"], "41 rows").content[0]);
        run.after_model_call(Err("throttled".to_owned())).await.unwrap();
        run.end().await.unwrap();
    });
    assert_eq!(
        taken(&log),
        "BeforeInvocation MessageAdded BeforeModelCall AfterModelCall MessageAdded BeforeToolCall AfterToolCall \
         AfterModelCall AfterInvocation"
    );
    world.say(chat(60));
    block_on(world.talk.compact()).unwrap();
    assert_eq!(taken(&log), "CompactionStarted Compacted");
    block_on(world.talk.initialize()).unwrap();
    assert_eq!(taken(&log), "AgentInitialized SessionRestored", "it goes on");
}

/// Fails at every event, and changes the arguments of tools first.
struct Failing;

impl<E: HookEvent> Hook<E> for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn call<'a>(&'a self, _event: &'a mut E) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Err("no".into()) })
    }
}

#[test]
fn a_hook_that_fails_after_a_step_is_reported_and_the_others_are_called() {
    let log = Log::default();
    let world = World::with(|builder, _| {
        let mut hooks = HookRegistry::new();
        hooks.add::<AfterModelCall>(Arc::new(Failing));
        hooks.add::<Compacted>(Arc::new(Failing));
        let seen = Arc::clone(&log);
        hooks.listen("seen", move |event: &HookFailed| {
            seen.lock().unwrap().push(format!("{}: {}", event.hook, event.error))
        });
        let seen = Arc::clone(&log);
        hooks.listen("seen", move |_: &AfterModelCall| seen.lock().unwrap().push("seen".to_owned()));
        builder.hooks(hooks)
    });
    world.say(chat(60));
    let run = block_on(world.talk.invoke()).unwrap();
    block_on(run.after_model_call(Ok(&Message::assistant("Yes.")))).unwrap();
    assert_eq!(taken(&log), "seen failing: no");
    let report = block_on(run.end()).unwrap();
    assert!(report.summaries > 0, "the compaction stands");
    assert_eq!(taken(&log), "failing: no");
}

#[test]
fn a_hook_that_fails_before_a_step_stops_it() {
    let world = World::with(|builder, _| {
        let mut hooks = HookRegistry::new();
        hooks.add::<BeforeToolCall>(Arc::new(Failing));
        builder.hooks(hooks)
    });
    let run = block_on(world.talk.invoke()).unwrap();
    let refused = block_on(run.before_tool_call("a", "rm", Json::string("/"))).unwrap_err();
    assert!(refused.to_string().contains("`failing`"), "{refused}");
}

#[test]
fn proactive_compression_reduces_from_its_threshold_on_and_not_below() {
    let world = World::with(|builder, _| {
        let summarizing = strategy_named("summarizing", "").unwrap();
        builder.strategy(summarizing).proactive_compression(ProactiveCompression::at(0.8).unwrap())
    });
    world.say(chat(40));
    let mut run = block_on(world.talk.invoke()).unwrap();
    for (tokens, window) in [(Some(650), Some(1_000)), (None, Some(1_000)), (Some(100_000), None)] {
        let report = block_on(run.before_model_call(tokens, window)).unwrap();
        assert_eq!(report.summaries, 0, "{tokens:?} of {window:?}");
    }
    let report = block_on(run.before_model_call(Some(800), Some(1_000))).unwrap();
    assert!(report.summaries > 0 && report.tokens_after <= 800, "{report:?}");
    assert!(world.levels()[0] >= 10, "the preserved tail stands");
}

#[test]
fn a_proactive_reduction_that_fails_is_an_event_and_the_call_goes_on() {
    let world = World::with(|builder, _| {
        let summarizing = strategy_named("summarizing", "").unwrap();
        let failing = Scripted::new(Manner::FailsFrom(0));
        builder
            .strategy(summarizing)
            .summarizer(failing.clone())
            .fallback_summarizer(failing)
            .proactive_compression(ProactiveCompression::ON)
    });
    world.say(chat(40));
    let mut run = block_on(world.talk.invoke()).unwrap();
    let report = block_on(run.before_model_call(Some(900), Some(1_000))).unwrap();
    assert_eq!(report.summaries, 0);
    assert_eq!(world.failed.lock().unwrap().len(), 1);
    assert!(world.summaries().is_empty(), "nothing changed");
}

#[test]
fn a_call_has_one_number_before_and_after_it_across_invocations() {
    let log = Log::default();
    let world = World::with(|builder, _| {
        let mut hooks = HookRegistry::new();
        let seen = Arc::clone(&log);
        hooks.listen("seen", move |event: &BeforeModelCall| seen.lock().unwrap().push(format!("to {}", event.call)));
        let seen = Arc::clone(&log);
        hooks.listen("seen", move |event: &AfterModelCall| seen.lock().unwrap().push(format!("from {}", event.call)));
        builder.hooks(hooks)
    });
    for calls in [2, 1] {
        let mut run = block_on(world.talk.invoke()).unwrap();
        for _ in 0..calls {
            block_on(run.before_model_call(None, None)).unwrap();
            block_on(run.after_model_call(Ok(&Message::assistant("Yes.")))).unwrap();
        }
        block_on(run.end()).unwrap();
    }
    assert_eq!(taken(&log), "to 1 from 1 to 2 from 2 to 3 from 3");
}

#[test]
fn a_failure_of_the_manager_is_announced_once_wherever_it_is_managed() {
    let world = World::with(|builder, _| {
        let failing = Scripted::new(Manner::FailsFrom(0));
        builder.summarizer(failing.clone()).fallback_summarizer(failing).per_turn(PerTurn::Every)
    });
    world.say(chat(40));
    let announced = || std::mem::take(&mut *world.failed.lock().unwrap()).len();
    let mut run = block_on(world.talk.invoke()).unwrap();
    block_on(run.before_model_call(None, None)).unwrap();
    assert_eq!(announced(), 1, "before a call");
    block_on(run.end()).unwrap_err();
    assert_eq!(announced(), 1, "at the end");
    block_on(world.talk.compact()).unwrap_err();
    assert_eq!(announced(), 1, "where it is asked for");
    block_on(world.talk.prompt_with("topic7", &memory_hooks::PromptOptions::new(4_000))).unwrap();
    assert_eq!(announced(), 1, "for a prompt that does without it");
}

#[test]
fn what_is_due_is_done_before_every_nth_call() {
    let log = Log::default();
    let world = World::with(|builder, _| builder.hooks(noting(&log)).per_turn(PerTurn::nth(3).unwrap()));
    let mut run = block_on(world.talk.invoke()).unwrap();
    let mut compacted = Vec::new();
    for call in 1..=6 {
        world.say(chat(30));
        block_on(run.before_model_call(None, None)).unwrap();
        if taken(&log).contains("Compacted") {
            compacted.push(call);
        }
    }
    assert_eq!(compacted, [3, 6]);
}
