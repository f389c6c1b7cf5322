//! Faults of the reference implementations, one regression test each.

use memory_core::{Message, NodeId};
use memory_hooks::{PieceKind, Prompt, PromptOptions};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, calls, chat, covered, line, nodes_of, results};

fn prompt(world: &World, budget: u32) -> Prompt {
    block_on(world.talk.prompt_with("what about topic7?", &PromptOptions::new(budget))).unwrap()
}

/// Trap (a): a conversation that cannot get smaller pays for a model call at every turn.
#[test]
fn trap_a_no_livelock_the_same_summary_is_never_paid_for_twice() {
    let summarizer = Scripted::new(Manner::Good);
    let paid = std::sync::Arc::clone(&summarizer);
    let world = World::with(|builder, _| builder.summarizer(paid));
    for number in 1..=200 {
        world.say([line(number, 60)]);
        prompt(&world, 700);
        let calls = summarizer.calls();
        prompt(&world, 700);
        assert_eq!(summarizer.calls(), calls, "nothing was said, yet the summarizer was called");
    }
    let recorded = world.summaries().len();
    // A summary that was written for a view is recorded again where it is due, without a call.
    assert!(summarizer.calls() <= recorded, "{} calls, {recorded} summaries", summarizer.calls());
    // One SUMMARY a message, and at most two merges however tight the budget is.
    assert!(summarizer.calls() <= 3 * 200, "{} calls for 200 messages", summarizer.calls());
}

/// Trap (a): messages that cost no more than their summaries get smaller all the same, together.
#[test]
fn trap_a_no_livelock_on_messages_too_short_to_summarize() {
    let summarizer = Scripted::new(Manner::Good);
    let paid = std::sync::Arc::clone(&summarizer);
    let world = World::with(|builder, _| builder.summarizer(paid));
    world.say((0..600).map(|n| if n % 2 == 0 { Message::user("OK.") } else { Message::assistant("OK.") }));
    let prompt = prompt(&world, 500);
    assert_eq!(covered(&prompt), (1..=600).collect::<Vec<_>>());
    assert_eq!(summarizer.calls(), world.summaries().len(), "nothing was written in vain");
}

/// Trap (c): sparing a tool pair moves the boundary to the older side, never into the preserved tail.
#[test]
fn trap_c_the_tail_is_not_eaten_to_spare_a_tool_pair() {
    let world = World::new();
    world.say(chat(10));
    // Nodes 11 to 13: the tenth message from the end is the first result.
    world.say([calls(&["a", "b"]), results(&["a"], "one"), results(&["b"], "two")]);
    world.say((14..=21).map(|number| line(number, 20)));
    block_on(world.talk.compact()).unwrap();
    assert_eq!(world.levels(), [11, 10, 0, 0], "the call stays with its results: 11 stand, not 8");
}

/// Trap (d).
#[test]
fn trap_d_one_oversized_message_is_reduced() {
    let world = World::new();
    world.say([line(1, 50_000)]);
    let shown = prompt(&world, 500);
    assert_eq!(covered(&shown), [1]);
    assert!(shown.tokens <= 500);
    world.say([line(2, 50_000), Message::user("and now?")]);
    let shown = prompt(&world, 500);
    assert_eq!(covered(&shown), [1, 2, 3]);
    assert_eq!(block_on(world.talk.expand(NodeId::FIRST)).unwrap().message, line(1, 50_000), "the log has it all");
}

/// An error on any step leaves every message where it was, and is shown by the next prompt as if nothing had failed.
#[test]
fn trap_no_error_wipes_the_memory() {
    let world = World::with(|builder, _| builder.summarizer(Scripted::new(Manner::FailsFrom(0))));
    world.say((1..=60).map(|number| line(number, 40)));
    let mut invocation = block_on(world.talk.invoke()).unwrap();
    block_on(invocation.before_model_call(Some(10), None)).unwrap();
    block_on(invocation.after_model_call(Err("the provider is down".to_owned()))).unwrap();
    let ended = block_on(invocation.end());
    let impossible = block_on(world.talk.prompt_with("what about topic7?", &PromptOptions::new(5)));
    assert!(impossible.is_err(), "nothing fits in five tokens");
    assert_eq!(covered(&prompt(&world, 700)), (1..=60).collect::<Vec<_>>(), "{ended:?}");
    for number in 1..=60 {
        let node = block_on(world.talk.expand(NodeId::from_index(number - 1))).unwrap();
        assert_eq!(node.message, line(number, 40));
    }
}

/// Trap (e).
#[test]
fn trap_e_parallel_calls_stay_with_all_their_results() {
    for budget in [300, 600, 1_200, 2_400] {
        let world = World::new();
        for _ in 0..20 {
            world.say([Message::user("look at both files"), calls(&["a", "b"])]);
            world.say([results(&["a"], &"row ".repeat(30)), results(&["b"], "short"), Message::assistant("Done.")]);
        }
        let verbatim = nodes_of(&prompt(&world, budget), PieceKind::Message);
        for turn in world.turns().into_iter().filter(|turn| turn.count() > 1) {
            let shown = turn.iter().filter(|node| verbatim.contains(&node.get())).count() as u64;
            assert!(shown == 0 || shown == 3, "{shown} of turn {turn} at {budget} tokens");
        }
    }
}

/// A call that was summarized before its result came: neither is lost, neither is shown twice.
#[test]
fn a_result_that_comes_after_its_call_was_compressed_is_shown_with_it() {
    let world = World::new();
    world.say(chat(60));
    world.say([calls(&["a"])]);
    // The budget is so tight that even the newest message, the call, is summarized and merged.
    block_on(world.memory.manager().reduce(world.talk.id(), 1, None)).unwrap();
    assert_eq!(world.levels()[0], 0, "everything is summarized");
    world.say([results(&["a"], "41 rows"), Message::assistant("There are 41.")]);
    let shown = prompt(&world, 1_000);
    assert_eq!(covered(&shown), (1..=63).collect::<Vec<_>>());
    let verbatim = nodes_of(&shown, PieceKind::Message);
    assert_eq!(verbatim.contains(&61), verbatim.contains(&62));
}

/// META rows eat node ids.
#[test]
fn summaries_take_no_node_numbers() {
    let world = World::new();
    for number in 1..=300 {
        let appended = block_on(world.talk.append(line(number, 20))).unwrap();
        assert_eq!(appended.node.get(), number as u64);
        block_on(world.talk.compact()).unwrap();
    }
    let [_, _, meta, archive] = world.levels();
    assert!(meta + archive > 200, "most nodes are under METAs");
    assert_eq!(block_on(world.talk.expand(NodeId::new(6).unwrap())).unwrap().message, line(6, 20));
}

/// Only the newest 10 to 16 compressed nodes reach the prompt and the rest vanish.
#[test]
fn the_oldest_message_reaches_the_context_of_a_long_conversation() {
    let world = World::new();
    world.say(chat(10_000));
    let shown = prompt(&world, 4_000);
    assert_eq!(covered(&shown), (1..=10_000).collect::<Vec<_>>());
    assert!(shown.full_tokens >= 10 * u64::from(shown.tokens), "{} of {}", shown.tokens, shown.full_tokens);
}

/// One tool-heavy turn fills the window.
#[test]
fn a_turn_of_many_tool_calls_does_not_fill_the_window() {
    let world = World::new();
    world.say([Message::user("refactor everything")]);
    for _ in 0..60 {
        world.say([calls(&["a"]), results(&["a"], &"line of code ".repeat(100))]);
    }
    let shown = prompt(&world, 2_000);
    assert_eq!(covered(&shown), (1..=121).collect::<Vec<_>>());
    assert!(shown.tokens <= 2_000 && shown.full_tokens > 18_000);
}

/// An answer that never comes must not bind everything behind its call to one turn that cannot be reduced.
#[test]
fn an_unanswered_call_among_many_is_no_obstacle() {
    let world = World::new();
    world.say([Message::user("refactor everything"), calls(&["lost", "b"]), results(&["b"], "done")]);
    for _ in 0..60 {
        world.say([calls(&["a"]), results(&["a"], &"line of code ".repeat(40))]);
    }
    let shown = prompt(&world, 2_000);
    assert_eq!(covered(&shown), (1..=123).collect::<Vec<_>>());
}
