//! What prompts add up to, worked out from the log and measured turn by turn.

use std::sync::Arc;

use memory_core::{
    Message, TokenCounter,
    plan::PlanError,
    testing::{ScanRetriever, WordCounter},
};
use memory_hooks::{Conversation, MemoryError, PromptOptions, PromptTokens, Spending};
use pollster::block_on;

use crate::support::{World, chat, line};

fn spending(talk: &Conversation, budget: u32) -> Spending {
    block_on(talk.spending(&PromptOptions::new(budget))).unwrap()
}

/// The history's part of the prompts that are really sent before each of the model's messages.
fn measured(world: &World, messages: &[Message], budget: u32) -> PromptTokens {
    let mut history = PromptTokens::default();
    let mut before = None;
    for turn in messages.chunks(2) {
        world.say(turn.first().cloned());
        let prompt = block_on(world.talk.prompt("", &PromptOptions::new(budget))).unwrap();
        let same = before.as_ref().map_or(0, |before| prompt.shared_history(before));
        history.add(prompt.history_tokens().into(), same.into());
        world.say(turn.get(1).cloned());
        before = Some(prompt);
    }
    history
}

fn close(projected: f64, measured: f64, within: f64) {
    assert!((projected - measured).abs() <= within * measured, "{projected} instead of {measured}");
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of a test")]
fn tokens(prompts: PromptTokens) -> f64 {
    prompts.tokens as f64
}

#[test]
fn what_is_worked_out_is_what_is_sent() {
    let messages: Vec<_> = (1..=400).map(|number| line(number, [20, 45, 70][number % 3])).collect();
    let without = World::with(|builder, _| builder);
    for (world, recalls, budget, least) in
        [(without, false, 4_000, 0.9), (World::new(), true, 4_000, 0.6), (World::new(), true, 16_000, 0.9)]
    {
        let sent = measured(&world, &messages, budget);
        let spending = spending(&world.talk, budget);
        assert_eq!(spending.prompts, 200);
        close(tokens(spending.history), tokens(sent), 0.1);
        close(spending.history.cached_share(), sent.cached_share(), 0.1);
        assert!(sent.cached_share() >= least, "{:.3} of the history at {budget} tokens", sent.cached_share());
        assert_eq!(spending.whole != spending.history, recalls, "recall takes what is left");
        let most = 200 * u64::from(budget);
        assert!(spending.whole.tokens <= most);
    }
}

#[test]
fn a_log_that_was_compacted_at_once_costs_what_it_costs_turn_by_turn() {
    let messages = chat(400);
    let turn_by_turn = World::new();
    for turn in messages.chunks(2) {
        turn_by_turn.say(turn.iter().cloned());
        block_on(turn_by_turn.talk.compact(&())).unwrap();
    }
    let at_once = World::new();
    at_once.say(messages);
    let bare = spending(&at_once.talk, 2_000);
    block_on(at_once.talk.compact(&())).unwrap();
    let [one, other] = [&turn_by_turn, &at_once].map(|world| spending(&world.talk, 2_000));
    close(tokens(other.history), tokens(one.history), 0.05);
    close(tokens(bare.history), tokens(one.history), 0.25);
}

#[test]
fn a_short_conversation_is_sent_whole() {
    let world = World::new();
    world.say(chat(6));
    let spending = spending(&world.talk, 4_000);
    // Before each of three replies: 1, 3 and 5 messages of 20 tokens and 5 beside them.
    let grown = PromptTokens::new(25 * 9, 25 * 4);
    assert_eq!(spending.whole, spending.history);
    let lead = u64::from(WordCounter.count(
        "Conversation so far, oldest first, word for word. A message without a number follows the one before it.\n",
    ));
    assert_eq!(spending.history, PromptTokens::new(grown.tokens + 3 * lead, grown.cached + 2 * lead));
}

#[test]
fn a_conversation_without_replies_costs_nothing_and_an_impossible_budget_is_an_error() {
    let world = World::with(|builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))));
    world.say([Message::user("one"), Message::user("two")]);
    let mut nothing = Spending::default();
    nothing.budget = 1_000;
    assert_eq!(spending(&world.talk, 1_000), nothing);
    world.say([Message::assistant("three")]);
    let error = block_on(world.talk.spending(&PromptOptions::new(1))).unwrap_err();
    assert!(matches!(error, MemoryError::Plan(PlanError::BudgetTooSmall { .. })), "{error}");
}
