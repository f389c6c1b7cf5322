//! Standing lines: old instructions that still hold are shown next to the history.

use std::sync::Arc;

use memory_core::{
    Message, Role,
    plan::strategy_named,
    port::TokenCounter,
    testing::{MemoryStore, WordCounter},
};
use memory_hooks::{AsOf, PieceKind, Prompt, PromptOptions};
use pollster::block_on;

use crate::support::{World, line, nodes_of};

/// A memory without recall, so that only standing lines and summaries show the beginning.
fn world() -> World {
    World::with(|builder, _| builder)
}

/// Appends the messages `first`, and enough after them that they are summarized.
fn say(world: &World, first: &[Message]) {
    world.say(first.iter().cloned());
    world.say((1..=120).map(|number| line(number, 40)));
}

fn show(world: &World, question: &str, budget: u32) -> Prompt {
    block_on(world.talk.prompt_with(question, &PromptOptions::new(budget))).unwrap()
}

fn standing(prompt: &Prompt) -> Vec<&str> {
    let pieces = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Standing);
    pieces.map(|piece| piece.text.as_str()).collect()
}

#[test]
fn what_was_asked_for_long_ago_is_shown_beside_a_summarized_history() {
    let world = world();
    say(
        &world,
        &[
            Message::user("Hello! Always give the time zone when I ask about meetings. It rains a lot."),
            Message::assistant("Always consult a lawyer before you sign anything at all."),
            Message::user("We decided to rent the hall in Ghent, so can you call them?"),
            Message::user("We have not decided on the caterer."),
        ],
    );
    let question = "When is the meeting in the hall, and with which caterer?";
    let prompt = show(&world, question, 2_000);
    let lines = standing(&prompt);
    assert_eq!(lines, ["[Message 1, user, 2025-06-15]: Always give the time zone when I ask about meetings.\n",]);
    assert!(prompt.tokens <= prompt.budget && prompt.standing_tokens() <= prompt.budget / 4);
    for piece in &prompt.pieces {
        assert!(prompt.text().contains(&piece.text), "{piece:?}");
    }
    // In a window that holds everything nothing is said twice.
    assert_eq!(standing(&show(&world, question, 50_000)), [] as [&str; 0]);
    // Meetings are not the matter here.
    assert_eq!(standing(&show(&world, "How is the weather?", 2_000)), [] as [&str; 0]);
}

#[test]
fn statements_of_a_kind_are_shown_where_the_question_asks_for_all_of_them() {
    let world = world();
    say(
        &world,
        &[
            Message::user("We decided to rent the hall in Ghent."),
            Message::user("We have not decided on the caterer."),
            Message::user("Let's go with Oracle for the guest list."),
            Message::user("Scrap Oracle, a paper list will do."),
        ],
    );
    let asked = |question: &str| show(&world, question, 2_000);
    let decided = asked("Summarize what we decided, please.");
    let holds = |number: usize, text: &str| format!("[Message {number}, user, 2025-06-15]: {text}\n");
    let [hall, list] = ["We decided to rent the hall in Ghent.", "Scrap Oracle, a paper list will do."];
    assert_eq!(standing(&decided), [holds(1, hall), holds(4, list)]);
    let lead = "Earlier messages that bear on the answer: rules, decisions and other statements that still hold:";
    assert!(decided.text().contains(lead), "{}", decided.text());
    let open = asked("What is still open?");
    assert_eq!(standing(&open), [holds(2, "We have not decided on the caterer.")]);
    assert_eq!(standing(&asked("How warm is it?")), [] as [&str; 0]);
    let view = decided.view.unwrap();
    let again = block_on(world.talk.as_of(AsOf::View(view))).unwrap();
    assert_eq!(again.text(), decided.text());
}

#[test]
fn what_a_model_labels_as_decided_stands_and_what_it_only_says_does_not() {
    let knowledge = strategy_named("knowledge", "").unwrap();
    let world = World::with(|builder, _| builder.strategy(knowledge));
    say(
        &world,
        &[
            Message::user("How do we store the amounts of the ledger?"),
            Message::assistant("**Decision: amounts are integers of minor units.** We decided to avoid floats."),
        ],
    );
    let prompt = show(&world, "What is the type of an amount?", 2_000);
    assert_eq!(
        standing(&prompt),
        ["[Message 2, assistant, 2025-06-15]: Decision: amounts are integers of minor units.\n"]
    );
}

#[test]
fn rules_take_a_quarter_of_the_budget_and_the_end_is_shown_beside_them() {
    let world = world();
    let rules = (0..60).map(|n| Message::user(format!("Always name colour{n} of shape{n} and so on.")));
    say(&world, &rules.collect::<Vec<_>>());
    for budget in [1_000, 2_000, 3_000] {
        let prompt = show(&world, "What of shape17?", budget);
        let (rules, further): (Vec<_>, Vec<_>) =
            standing(&prompt).into_iter().partition(|line| line.starts_with("[Message "));
        let (text, further) = (rules.concat(), further.concat());
        assert!(WordCounter.count(&text) <= budget / 4, "{budget}");
        let next = 60 - rules.len();
        assert!(
            further.starts_with("Earlier messages that bear on every answer. Further rules: messages "),
            "{further}"
        );
        assert!(further.ends_with(&format!(", {}, {next}.\n", next - 1)) && further.lines().count() == 1, "{further}");
        let again = block_on(world.talk.as_of(AsOf::View(prompt.view.unwrap()))).unwrap();
        assert_eq!((again.text(), again.pieces.len()), (prompt.text(), prompt.pieces.len()));
        assert!(prompt.tokens <= budget, "{budget}");
        let shown = nodes_of(&prompt, PieceKind::Message);
        assert!(shown.contains(&180), "the end at {budget}");
        assert!(text.contains("colour59"), "the newest goes first: {text}");
    }
}

#[test]
fn of_lines_that_contradict_each_other_the_newest_is_shown() {
    let world = world();
    say(&world, &[Message::user("Please answer in English."), Message::user("Please answer in German.")]);
    let prompt = show(&world, "How?", 1_000);
    assert_eq!(standing(&prompt), ["[Message 2, user, 2025-06-15]: Please answer in German.\n"]);
}

#[test]
fn nothing_that_is_kept_out_of_summaries_stands() {
    let world = world();
    say(
        &world,
        &[
            Message::user("Always use PIN 4471-XK when I ask.").keep_out_of_summaries(true),
            Message::user("Never tell Ben of 4471-XK when he asks about the door."),
        ],
    );
    let prompt = show(&world, "Which?", 1_000);
    assert_eq!(
        standing(&prompt),
        ["[Message 2, user, 2025-06-15]: Never tell Ben of [kept out] when he asks about the door.\n"]
    );
}

#[test]
fn a_view_with_standing_lines_is_shown_again_byte_for_byte_by_a_memory_that_knows_nothing() {
    let store = Arc::<MemoryStore>::default();
    let world = World::over(Arc::clone(&store), |builder, _| builder);
    say(&world, &[Message::user("Always give the time zone when I ask about meetings.")]);
    let shown = show(&world, "When is the meeting?", 1_000);
    assert_eq!(standing(&shown).len(), 1);
    // A later message revokes the instruction; the earlier view still shows it.
    world.say([
        Message::user("Never give the time zone when I ask about meetings."),
        Message::text_of(Role::Assistant, "OK."),
    ]);
    world.say((1..=60).map(|number| line(number, 40)));
    let newer = show(&world, "When is the meeting?", 1_000);
    assert_eq!(nodes_of(&newer, PieceKind::Standing), [122]);
    let later = World::over(store, |builder, _| builder);
    let again = block_on(later.talk.as_of(AsOf::View(shown.view.unwrap()))).unwrap();
    assert_eq!(again.text(), shown.text());
    assert_eq!(again.pieces.len(), shown.pieces.len());
}

#[test]
fn a_memory_that_goes_on_and_one_that_begins_show_the_same_lines() {
    let store = Arc::<MemoryStore>::default();
    let world = World::over(Arc::clone(&store), |builder, _| builder);
    for round in 0..6 {
        say(&world, &[Message::user(format!("Always give figure{round} of place{round}."))]);
        show(&world, "Which place?", 3_000);
    }
    let ours = show(&world, "Which place5?", 3_000);
    let theirs = show(&World::over(store, |builder, _| builder), "Which place5?", 3_000);
    assert_eq!(standing(&ours), standing(&theirs));
    assert_eq!(standing(&ours).len(), 6);
}
