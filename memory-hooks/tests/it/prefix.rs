//! How much of the history's part of a prompt stays the same from turn to turn.

use memory_core::plan::ViewPolicy;
use memory_hooks::PromptOptions;
use pollster::block_on;

use crate::support::{World, line};

/// The share of the history's tokens that a provider's cache can reuse, over `turns` turns of two messages.
fn shared(policy: ViewPolicy, turns: usize, budget: u32, lengths: [usize; 3]) -> f64 {
    let world = World::with(|builder, _| builder.view_policy(policy));
    let (mut shared, mut all) = (0.0, 0.0);
    let mut before = None;
    for turn in 0..turns {
        let said = |number: usize| line(number, lengths[number % 3]);
        world.say([said(2 * turn + 1), said(2 * turn + 2)]);
        let prompt = block_on(world.talk.prompt("what now?", &PromptOptions::new(budget))).unwrap();
        if let Some(before) = &before {
            shared += f64::from(prompt.shared_history(before));
            all += f64::from(prompt.history_tokens());
        }
        before = Some(prompt);
    }
    shared / all
}

#[test]
fn nine_tenths_of_the_history_are_the_same_at_the_next_turn() {
    for (budget, lengths) in [(4_000, [20, 45, 70]), (8_000, [30, 60, 120])] {
        let share = shared(ViewPolicy::default(), 300, budget, lengths);
        assert!(share >= 0.9, "{share:.3} at {budget} tokens");
        let indifferent = shared(ViewPolicy::default().stickiness(0.0), 100, budget, lengths);
        assert!(indifferent < share - 0.05, "{indifferent:.3} without a price for change");
    }
}
