//! The prompts of an agent that runs turn by turn.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory_core::{
    ContentBlock, Message, Role,
    port::{Store, TokenCounter},
    testing::{ScanRetriever, WordCounter},
};
use memory_hooks::{AsOf, LedgerRequest, PieceKind, Prompt, PromptOptions, RecallUsed};
use pollster::block_on;

use crate::support::{World, calls, chat, covered, id, line, nodes_of, results};

const OPTIONS: PromptOptionsOf = PromptOptionsOf { budget: 2_000 };

struct PromptOptionsOf {
    budget: u32,
}

impl PromptOptionsOf {
    fn get(&self) -> PromptOptions {
        PromptOptions::new(self.budget)
    }
}

fn turn(world: &World) -> Prompt {
    block_on(world.talk.turn(&OPTIONS.get())).unwrap()
}

/// A user asks about an earlier topic at every fifth turn.
fn question(number: usize) -> Message {
    if number % 10 == 1 && number > 20 {
        return Message::user(format!("Message {number}: what was topic{} about again?", number / 2));
    }
    line(number, 20)
}

/// An agent of so many turns; its prompts.
fn run(world: &World, turns: usize) -> Vec<Prompt> {
    let mut prompts = Vec::new();
    for number in (1..).step_by(2).take(turns) {
        world.say([question(number)]);
        prompts.push(turn(world));
        world.say([line(number + 1, 20)]);
    }
    prompts
}

/// The invariant **Stable prefix**, recall included.
#[test]
fn stable_prefix_a_prompt_begins_with_all_of_the_one_before_until_the_window_moves() {
    let world = World::new();
    let prompts = run(&world, 120);
    let moves = prompts.windows(2).filter(|pair| !pair[1].text().starts_with(pair[0].text())).count();
    assert!(prompts.iter().all(|prompt| prompt.tokens <= 2_000));
    assert!((1..=12).contains(&moves), "{moves} moves in 120 turns: the window moves in batches");
    let recalled = prompts.iter().filter(|prompt| prompt.recalled_tokens() > 0).count();
    assert!(recalled > 20, "what was recalled stays: it is in {recalled} prompts");
    for (turn, prompt) in prompts.iter().enumerate() {
        assert_eq!(covered(prompt), (1..=2 * turn as u64 + 1).collect::<Vec<_>>(), "every message once");
    }
}

#[test]
fn what_is_recalled_stands_before_its_message_and_never_repeats_what_is_visible() {
    let world = World::new();
    for prompt in run(&world, 60) {
        let shown: Vec<_> =
            prompt.pieces.iter().map(|piece| (piece.kind, piece.nodes.unwrap().first().get())).collect();
        let mut words: Vec<_> = prompt.verbatim().iter().flat_map(|run| run.iter()).collect();
        let pieces =
            prompt.pieces.iter().filter(|piece| matches!(piece.kind, PieceKind::Message | PieceKind::Recalled));
        assert_eq!(words.len(), pieces.count(), "a message is shown word for word once: {shown:?}");
        words.dedup();
        for pair in shown.windows(2) {
            if pair[0].0 == PieceKind::Recalled && pair[1].0 == PieceKind::Message {
                assert!(pair[1].1 % 2 == 1, "it stands before a message of the user: {shown:?}");
            }
        }
    }
}

#[test]
fn results_of_tools_are_not_recalled_for() {
    let world = World::new();
    world.say(chat(30));
    world.say([Message::user("Read the file about topic3, please.")]);
    let asked = turn(&world);
    world.say([calls(&["a"]), results(&["a"], "topic5 topic7 topic9 are in the file")]);
    let answered = turn(&world);
    assert!(answered.text().starts_with(asked.text()));
    assert_eq!(nodes_of(&answered, PieceKind::Recalled), nodes_of(&asked, PieceKind::Recalled));
}

#[test]
fn a_window_is_shown_again_and_goes_on_in_another_process() {
    let world = World::new();
    let prompts = run(&world, 55);
    for prompt in &prompts {
        let again = block_on(world.talk.as_of(AsOf::View(prompt.view.unwrap()))).unwrap();
        assert_eq!(again.text(), prompt.text());
        assert_eq!(again.pieces.len(), prompt.pieces.len());
    }
    world.say([question(111)]);
    let other =
        World::over(Arc::clone(&world.store), |builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))));
    let here = turn(&world);
    let there = turn(&other);
    assert_eq!(here.text(), there.text(), "the window was recorded");
}

#[test]
fn a_question_asked_aside_changes_no_later_prompt() {
    let [world, other] = [World::new(), World::new()];
    run(&world, 40);
    run(&other, 40);
    let aside = block_on(world.talk.aside("What about topic5?", &OPTIONS.get())).unwrap();
    assert!(
        aside.tokens <= 2_000 && aside.text().ends_with("Current question: What about topic5?"),
        "{}",
        aside.text()
    );
    let shown = [PieceKind::Message, PieceKind::Recalled].map(|kind| nodes_of(&aside, kind)).concat();
    assert!(shown.contains(&5), "{}", aside.text());
    let again = block_on(world.talk.as_of(AsOf::View(aside.view.unwrap()))).unwrap();
    assert_eq!(again.text(), aside.text());
    world.say([question(81)]);
    other.say([question(81)]);
    assert_eq!(turn(&world).text(), turn(&other).text());
}

#[test]
fn the_messages_of_a_turn_begin_with_those_of_the_turn_before() {
    let world = World::new();
    let prompts = run(&world, 60);
    let mut with_recall = 0;
    for pair in prompts.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|prompt| prompt.messages());
        if !pair[1].text().starts_with(pair[0].text()) {
            continue;
        }
        let said = before.messages.len();
        assert_eq!(before.messages[..said - 1], after.messages[..said - 1]);
        let [last, same] = [&before.messages[said - 1], &after.messages[said - 1]];
        assert_eq!(last.role, Role::User);
        assert!(same.content.starts_with(&last.content), "{last:?} {same:?}");
        assert_eq!(before.breakpoints.last().map(|end| end.message), Some(said - 1), "the end is cached");
        with_recall += usize::from(last.text().contains("---Previous Context---"));
    }
    assert!(with_recall > 0, "what was recalled is in the message of the user that asked");
}

#[test]
fn a_window_that_overflows_shrinks_and_stays_small() {
    let world = World::new();
    world.say(chat(60));
    world.say([Message::user("Read all of it."), calls(&["a"]), results(&["a"], &"row ".repeat(1_500))]);
    let options = OPTIONS.get();
    let whole = turn(&world);
    let smaller = block_on(world.talk.reduce(&whole, &options)).unwrap();
    assert!(smaller.tokens < whole.tokens, "{} of {}", smaller.tokens, whole.tokens);
    let next = turn(&world);
    assert_eq!(next.text(), smaller.text(), "the next turn shows what did fit");
    let smallest = block_on(world.talk.reduce(&smaller, &options)).unwrap();
    assert!(smallest.tokens < smaller.tokens);
    let result = block_on(world.store.node(&id(), memory_core::NodeId::new(63).unwrap())).unwrap();
    let ContentBlock::ToolResult { content, .. } = &result.message.content[0] else { panic!("a result") };
    assert_eq!(content[0].text().split_whitespace().count(), 1_500, "the log keeps it whole");
}

#[test]
fn recall_of_a_turn_is_reported_once() {
    let seen: Arc<std::sync::Mutex<Vec<RecallUsed>>> = Arc::default();
    let world = World::with(|builder, store| {
        let mut hooks = memory_hooks::HookRegistry::new();
        let seen = Arc::clone(&seen);
        hooks.listen("seen", move |event: &RecallUsed| seen.lock().unwrap().push(event.clone()));
        builder.retriever(Arc::new(ScanRetriever::new(store))).hooks(hooks)
    });
    let prompts = run(&world, 60);
    // The window may move once for the last message.
    turn(&world);
    let told = seen.lock().unwrap().len();
    turn(&world);
    assert_eq!(seen.lock().unwrap().len(), told, "nothing new was recalled");
    // Each message is told of when it begins to be shown, and not again while the window stays.
    let recalled = |prompt: &Prompt| -> Vec<_> {
        let pieces = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Recalled);
        pieces.filter_map(|piece| piece.nodes).collect()
    };
    let shown: Vec<_> = prompts.iter().map(recalled).collect();
    let begun = (0..).zip(&shown).map(|(at, now): (usize, _)| {
        let before = at.checked_sub(1).filter(|before| prompts[at].text().starts_with(prompts[*before].text()));
        let before = before.and_then(|before| shown.get(before));
        now.iter().filter(|nodes| before.is_none_or(|before| !before.contains(nodes))).count()
    });
    let events = seen.lock().unwrap();
    let told = events.iter().take(told).map(|event| event.pieces.len());
    assert_eq!(told.clone().sum::<usize>(), begun.sum::<usize>(), "{:?}", told.collect::<Vec<_>>());
    assert!(shown.iter().map(Vec::len).sum::<usize>() > 2 * events.len(), "what was recalled stays");
}

/// Counts words, and how often it is given a whole prompt.
#[derive(Debug, Default)]
struct Whole(AtomicUsize);

impl TokenCounter for Whole {
    fn name(&self) -> &'static str {
        "whole"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.fetch_add(usize::from(text.starts_with("Conversation")), Ordering::Relaxed);
        WordCounter.count(text)
    }
}

#[test]
fn a_turn_that_keeps_its_window_reads_a_new_message_once_and_counts_the_window_once() {
    let counter = Arc::new(Whole::default());
    let world = World::with(|builder, _| builder.token_counter(Arc::<Whole>::clone(&counter)));
    run(&world, 20);
    world.say([line(41, 20)]);
    let counted = counter.0.swap(0, Ordering::Relaxed);
    let prompt = turn(&world);
    assert!(counted > 0 && prompt.text().starts_with("Conversation"), "{}", prompt.text());
    assert_eq!(covered(&prompt).len(), 41);
    let new = memory_core::NodeId::new(41).unwrap();
    assert_eq!(world.store.reads(&id())[&new], 1, "the standing lines are not read where the window stays");
    assert_eq!(counter.0.load(Ordering::Relaxed), 2, "once for the window and once for the prompt");
}

#[test]
fn every_window_shows_the_users_last_message_word_for_word() {
    for (budget, steps) in [(250, 0), (250, 2), (400, 0), (600, 0), (600, 30), (900, 60)] {
        let world = World::new();
        world.say(chat(300));
        let asked = "Which of the two ferries did we book for the second week, and who pays for the cabin?";
        for round in 0..4 {
            world.say([Message::user(format!("{asked} It is round {round}. {}", "Tell me soon. ".repeat(20)))]);
            for step in 0..steps {
                let call = format!("c{round}-{step}");
                world.say([calls(&[&call]), results(&[&call], "a result of nine words that says nothing of it")]);
            }
            let prompt = block_on(world.talk.turn(&PromptOptions::new(budget))).unwrap();
            let text = prompt.text();
            // A window of 250 tokens has its two ends.
            let whole = if budget < 400 { asked[..50].to_owned() } else { format!("{asked} It is round {round}.") };
            assert!(text.contains(&whole), "{budget} {steps}: {text}");
            assert!(prompt.tokens <= budget && prompt.view.is_some(), "{:?}", prompt.notices);
        }
    }
}

#[test]
fn a_window_that_states_a_rule_is_made_anew_when_the_rule_ends() {
    let states = |world: &World, rule: &str| {
        let prompt = block_on(world.talk.turn(&PromptOptions::new(900))).unwrap();
        let stated = prompt.pieces.iter().filter(|piece| piece.kind == PieceKind::Standing);
        stated.map(|piece| piece.text.clone()).collect::<String>().contains(rule)
    };
    let world = World::new();
    world.say([Message::user("Never use emojis. Always answer in metric units, please.")]);
    world.say(chat(80));
    assert!(states(&world, "Never use emojis.") && states(&world, "metric units"));
    world.say([Message::user("You can use emojis again, I changed my mind about that.")]);
    assert!(!states(&world, "Never use emojis.") && states(&world, "metric units"));
    let rules = block_on(world.talk.ledger(&LedgerRequest::default())).unwrap().entries;
    let metric = rules.iter().find(|entry| entry.text.contains("metric")).unwrap();
    block_on(world.talk.disable_entry(metric.id)).unwrap();
    assert!(!states(&world, "metric units"));
}

/// A pasted log, which no window can show whole.
#[test]
fn a_message_longer_than_the_budget_has_most_of_it() {
    for before in [0, 60] {
        let world = World::new();
        world.say(chat(before));
        let log: Vec<_> = (0..3_000).map(|n| format!("line{n} of the log.")).collect();
        world.say([Message::user(format!("What is wrong here? {}", log.join("\n")))]);
        let prompt = turn(&world);
        let (text, shown) = (prompt.text(), prompt.tokens);
        assert!(text.contains("What is wrong here?") && text.contains("line2999 of the log."), "{text}");
        assert!((1_200..=2_000).contains(&shown), "{before}: {shown} of 2,000");
        world.say([Message::assistant("Nothing."), Message::user("Thanks. And now?")]);
        assert!(turn(&world).text().contains("Thanks. And now?"));
    }
}

#[test]
fn a_window_that_moves_shows_what_is_pinned() {
    let world = World::new();
    world.say(chat(40));
    world.say([Message::user("The door code of the house is 4711-B, do not lose it.")]);
    let pinned = memory_core::NodeId::new(block_on(world.talk.stats()).unwrap().nodes).unwrap();
    block_on(world.talk.pin(pinned, true)).unwrap();
    for _ in 0..6 {
        world.say(chat(60));
        let prompt = block_on(world.talk.turn(&PromptOptions::new(900))).unwrap();
        assert!(prompt.text().contains("4711-B"), "{}", prompt.text());
        assert!(prompt.tokens <= 900);
    }
}

#[test]
fn a_window_of_a_small_budget_makes_way_for_a_larger_one() {
    let world = World::new();
    world.say(chat(80));
    let small = block_on(world.talk.turn(&PromptOptions::new(500))).unwrap();
    assert!(nodes_of(&small, PieceKind::Message).len() < 40 && small.tokens <= 500);
    let large = |world: &World| block_on(world.talk.turn(&PromptOptions::new(16_000))).unwrap();
    let other = World::over(Arc::clone(&world.store), |builder, _| builder);
    for world in [&other, &world] {
        let prompt = large(world);
        assert_eq!(covered(&prompt), (1..=80).collect::<Vec<_>>());
        assert!(prompt.pieces.iter().all(|piece| piece.kind == PieceKind::Message), "{}", prompt.text());
    }
    world.say(chat(2));
    let kept = large(&world);
    world.say(chat(2));
    assert!(large(&world).text().starts_with(kept.text()), "it stays from then on");
}

#[test]
fn a_turn_of_a_small_budget_recalls_the_best_message() {
    for budget in [600, 1_000, 2_000] {
        let world = World::new();
        let museums = (0..60).flat_map(|number| {
            let told =
                format!("Museum Nr{number} lies at street{number}, opens at nine and costs price{number} euros.");
            [Message::user(told), Message::text_of(Role::Assistant, "Understood.")]
        });
        world.say(museums);
        for asked in [7, 23, 41] {
            world.say([Message::user(format!("What does museum Nr{asked} at street{asked} cost?"))]);
            let prompt = block_on(world.talk.turn(&PromptOptions::new(budget))).unwrap();
            assert!(prompt.text().contains(&format!("price{asked} ")), "{budget} {asked}: {}", prompt.text());
            world.say([Message::text_of(Role::Assistant, "Understood.")]);
        }
    }
}
