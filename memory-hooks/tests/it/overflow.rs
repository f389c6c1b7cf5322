//! A window that overflows: every reduction is smaller, nothing is lost, and it ends.

use memory_core::{Message, NodeId, NodeRange, plan::PlanError, port::TokenCounter, testing::WordCounter};
use memory_hooks::{MemoryError, PieceKind, Prompt, PromptOptions, Reduction};
use pollster::block_on;
use proptest::prelude::*;

use crate::support::{Manner, Scripted, World, calls, chat, conversations, covered, line, nodes_of, results};

const QUESTION: &str = "what about topic7?";

fn reduce(world: &World, overflowed: &Prompt, budget: u32) -> Result<Prompt, MemoryError> {
    block_on(world.talk.reduce(overflowed, &PromptOptions::new(budget)))
}

fn prompt(world: &World, budget: u32) -> Prompt {
    block_on(world.talk.prompt_with(QUESTION, &PromptOptions::new(budget))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Models have any window, and state it or not.
    #[test]
    fn every_overflow_ends_below_the_window_or_in_a_typed_error_within_six_steps(
        messages in conversations(1..60),
        window in 10u32..4_000,
        is_told in any::<bool>(),
    ) {
        let world = World::new();
        let all: Vec<_> = (1..=messages.len() as u64).collect();
        world.say(messages);
        let mut shown = prompt(&world, 200_000);
        let budget = if is_told { window } else { 200_000 };
        let mut steps = 0;
        while shown.tokens > window {
            steps += 1;
            prop_assert!(steps <= 6, "{:?}", shown.reductions);
            match reduce(&world, &shown, budget) {
                Ok(smaller) => {
                    prop_assert!(smaller.tokens < shown.tokens, "{} after {}", smaller.tokens, shown.tokens);
                    prop_assert!(!is_told || smaller.tokens <= window);
                    prop_assert_eq!(smaller.tokens, WordCounter.count(smaller.text()));
                    prop_assert_eq!(covered(&smaller), all.clone());
                    let verbatim = nodes_of(&smaller, PieceKind::Message);
                    for turn in world.turns() {
                        let whole = turn.iter().filter(|node| verbatim.contains(&node.get())).count() as u64;
                        prop_assert!(whole == 0 || whole == turn.count(), "{whole} messages of turn {turn}");
                    }
                    shown = smaller;
                }
                Err(MemoryError::Plan(PlanError::BudgetTooSmall { needed, budget })) => {
                    prop_assert!(needed > budget);
                    break;
                }
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
    }
}

#[test]
fn an_oversized_tool_result_is_shortened_first_and_the_log_keeps_it_whole() {
    let world = World::new();
    world.say((1..=4).map(|number| line(number, 40)));
    let rows = format!("first row {}last row", "row ".repeat(3_000));
    world.say([calls(&["a"]), results(&["a"], &rows), Message::assistant("There are 3,002.")]);
    let whole = prompt(&world, 8_000);
    let shown = reduce(&world, &whole, 8_000).unwrap();
    assert_eq!(shown.reductions, [Reduction::ResultsShortened]);
    assert_eq!(nodes_of(&shown, PieceKind::Message), (1..=7).collect::<Vec<_>>());
    assert!(shown.budget < whole.tokens, "what was kept is what is told");
    assert!(shown.tokens < whole.tokens / 4, "{} of {}", shown.tokens, whole.tokens);
    let result =
        shown.pieces.iter().find(|piece| piece.nodes == Some(NodeRange::single(NodeId::new(6).unwrap()))).unwrap();
    assert!(result.text.contains("first row") && result.text.ends_with("last row\n"), "{}", result.text);
    assert!(result.text.contains(" tokens left out …]"), "{}", result.text);
    let node = block_on(world.talk.expand(NodeId::new(6).unwrap())).unwrap();
    assert_eq!(node.message, results(&["a"], &rows));
    let next = reduce(&world, &shown, 8_000).unwrap();
    assert_eq!(next.reductions, [Reduction::ResultsShortened, Reduction::Halved]);
}

#[test]
fn a_pinned_message_stays_for_as_long_as_it_fits() {
    let world = World::new();
    world.say(chat(200));
    block_on(world.talk.pin(NodeId::new(5).unwrap(), true)).unwrap();
    let mut shown = prompt(&world, 3_000);
    for _ in 0..3 {
        shown = reduce(&world, &shown, 3_000).unwrap();
        assert_eq!(shown.text().matches(line(5, 20).text().as_str()).count(), 1, "at {} tokens", shown.tokens);
    }
}

#[test]
fn what_cannot_get_smaller_is_an_error_that_says_what_is_needed() {
    let world = World::new();
    world.say([Message::user("OK.")]);
    let shown = prompt(&world, 1_000);
    match reduce(&world, &shown, 1_000).unwrap_err() {
        MemoryError::Plan(PlanError::BudgetTooSmall { needed, budget }) => {
            assert_eq!((needed, budget), (shown.tokens, shown.tokens - 1));
        }
        other => panic!("another error: {other}"),
    }
}

#[test]
fn a_summarizer_that_fails_is_named_when_nothing_else_helps() {
    let fails = || Scripted::new(Manner::FailsFrom(0));
    let world = World::with(|builder, _| builder.summarizer(fails()).fallback_summarizer(fails()));
    world.say(chat(15));
    let shown = prompt(&world, 4_000);
    assert!(matches!(reduce(&world, &shown, 4_000), Err(MemoryError::Summarize(_))));
}

#[test]
fn a_pinned_call_is_not_shown_without_its_result() {
    let world = World::new();
    world.say(chat(40));
    world.say([calls(&["a"]), results(&["a"], &"row ".repeat(3_000)), Message::assistant("3,000 rows.")]);
    world.say(chat(40));
    block_on(world.talk.pin(NodeId::new(41).unwrap(), true)).unwrap();
    for budget in [2_000, 8_000] {
        let shown = prompt(&world, budget);
        let words = [PieceKind::Message, PieceKind::Recalled].map(|kind| nodes_of(&shown, kind)).concat();
        let halves = words.iter().filter(|node| [41, 42].contains(*node)).count();
        assert_eq!(halves, 2, "in {budget} tokens: {words:?}");
        assert_eq!(shown.text().contains("tokens left out"), budget == 2_000, "{}", shown.text());
    }
}
