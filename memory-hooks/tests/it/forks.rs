//! Conversations that go on from one compacted past.

use std::{collections::BTreeSet, sync::Arc};

use memory_core::{
    ConversationId, Level, Message, NodeId, Summary, SummaryId,
    plan::PlanError,
    port::{Source, StoreError},
};
use memory_hooks::{AsOf, Conversation, MemoryError, PieceKind, Prompt, PromptOptions};
use pollster::block_on;
use proptest::prelude::*;

use crate::support::{Manner, Scripted, World, chat, conversations, covered, line, nodes_of};

fn node(position: u64) -> NodeId {
    NodeId::new(position).unwrap()
}

fn child_id() -> ConversationId {
    ConversationId::new("child").unwrap()
}

fn summaries(world: &World, of: &Conversation) -> Vec<Summary> {
    block_on(world.store.summaries(of.id())).unwrap()
}

fn show(of: &Conversation, question: &str, budget: u32) -> Prompt {
    block_on(of.prompt_with(question, &PromptOptions::new(budget))).unwrap()
}

fn say(to: &Conversation, messages: impl IntoIterator<Item = Message>) {
    for message in messages {
        block_on(to.append(message)).unwrap();
    }
}

/// The summaries of the parent that a fork at `at` has.
fn shared(parent: Vec<Summary>, at: u64) -> Vec<Summary> {
    parent.into_iter().filter(|summary| summary.body.span.last() <= node(at)).collect()
}

/// Text of a prompt without the question.
fn said(prompt: &Prompt) -> String {
    prompt.pieces.iter().filter(|piece| piece.kind != PieceKind::Question).map(|piece| piece.text.as_str()).collect()
}

#[test]
fn a_fork_is_shown_the_summaries_of_its_past_and_nothing_that_was_said_elsewhere() {
    let world = World::new();
    world.say(chat(200));
    block_on(world.talk.compact()).unwrap();
    let of_parent = summaries(&world, &world.talk);
    assert!(
        of_parent.iter().any(|s| s.body.level > Level::Summary && s.body.span.contains(node(150))),
        "{of_parent:?}"
    );
    let child = block_on(world.talk.fork(node(150), child_id())).unwrap();
    let of_child = shared(of_parent, 150);
    assert_eq!(summaries(&world, &child), of_child);
    say(&world.talk, [Message::user("The zeppelin leaves from Bergen at noon")]);
    say(&child, [Message::user("The submarine leaves from Oslo at dawn")]);

    let in_child = show(&child, "what leaves?", 3_000);
    assert_eq!(covered(&in_child), (1..=151).collect::<Vec<_>>());
    let shown: BTreeSet<SummaryId> = in_child.pieces.iter().filter_map(|piece| piece.summary).collect();
    let of_parent: BTreeSet<SummaryId> = of_child.iter().map(|summary| summary.id).collect();
    assert!(!shown.is_disjoint(&of_parent), "{shown:?}");
    for summary in of_child.iter().filter(|summary| shown.contains(&summary.id)) {
        assert!(in_child.text().contains(&summary.body.text), "{summary:?}");
    }
    let in_parent = show(&world.talk, "what leaves?", 3_000);
    assert_eq!(covered(&in_parent), (1..=201).collect::<Vec<_>>());
    for (prompt, own, others) in [(&in_child, "submarine", "zeppelin"), (&in_parent, "zeppelin", "submarine")] {
        assert!(said(prompt).contains(own) && !said(prompt).contains(others), "{}", prompt.text());
    }
    // Messages 151 to 200 were the parent's before the fork was made.
    let later = (151..=200).map(|number| format!("topic{number}"));
    for topic in later {
        assert!(!said(&show(&child, &topic, 3_000)).contains(&topic), "{topic}");
    }
    assert!(said(&show(&world.talk, "topic190", 3_000)).contains("topic190"));
    let nodes = |of: &Conversation| block_on(world.store.conversation(of.id())).unwrap().nodes;
    assert_eq!([nodes(&world.talk), nodes(&child)], [201, 151]);
}

#[test]
fn a_fork_recalls_the_exact_words_of_the_shared_past() {
    let world = World::new();
    world.say(chat(200));
    block_on(world.talk.compact()).unwrap();
    let child = block_on(world.talk.fork(node(150), child_id())).unwrap();
    say(&child, [line(151, 20)]);
    for asked in [93, 77, 149] {
        let question = format!("What was message {asked} about, topic{asked}?");
        let prompt = show(&child, &question, 900);
        let exact = block_on(child.expand(node(asked))).unwrap();
        assert_eq!(exact.message, block_on(world.talk.expand(node(asked))).unwrap().message);
        let verbatim = [PieceKind::Recalled, PieceKind::Message].map(|kind| nodes_of(&prompt, kind)).concat();
        assert!(verbatim.contains(&asked), "{asked}: {}", prompt.text());
        assert!(prompt.text().contains(&exact.message.text()), "{asked}: {}", prompt.text());
        let found = block_on(child.search(&question, 5)).unwrap();
        assert!(found.hits.iter().all(|hit| hit.conversation == child_id()), "{found:?}");
        assert!(found.hits.iter().any(|hit| hit.node.id == node(asked)), "{found:?}");
    }
}

#[test]
fn a_fork_pays_for_no_summary_of_the_shared_past_again() {
    let summarizer = Scripted::new(Manner::Good);
    let world = World::with(|builder, _| builder.summarizer(Arc::clone(&summarizer) as _));
    world.say(chat(600));
    block_on(world.talk.compact()).unwrap();
    let child = block_on(world.talk.fork(node(450), child_id())).unwrap();
    let before = summaries(&world, &child);
    let calls = summarizer.calls();
    say(&child, chat(100));
    block_on(child.compact()).unwrap();
    let after = summaries(&world, &child);
    assert_eq!(after[..before.len()], before);
    let again: Vec<_> = after[before.len()..]
        .iter()
        .filter(|new| before.iter().any(|old| (old.body.level, old.body.span) == (new.body.level, new.body.span)))
        .collect();
    assert!(again.is_empty(), "{again:?}");
    let of_messages = after[before.len()..].iter().filter(|new| new.body.level == Level::Summary);
    assert_eq!(of_messages.map(|new| new.body.span.count()).sum::<u64>(), 90, "those of the fork but for the last ten");
    assert_eq!(summarizer.calls() - calls, after.len() - before.len());
    let calls = summarizer.calls();
    let parent = summaries(&world, &world.talk);
    block_on(world.talk.compact()).unwrap();
    assert_eq!((summaries(&world, &world.talk), summarizer.calls()), (parent, calls), "the parent owes nothing for it");
}

#[test]
fn what_the_parent_was_shown_of_the_shared_past_the_fork_was_shown() {
    let world = World::new();
    world.say(chat(100));
    let before = show(&world.talk, "topic7?", 800);
    world.say(chat(40));
    let after = show(&world.talk, "topic8?", 800);
    let child = block_on(world.talk.fork(node(120), child_id())).unwrap();
    let view = |of: &Conversation, prompt: &Prompt| block_on(of.as_of(AsOf::View(prompt.view.unwrap())));
    assert_eq!(view(&child, &before).unwrap().text(), before.text());
    let error = view(&child, &after).unwrap_err();
    assert!(matches!(&error, MemoryError::View(_)) && error.is_not_found(), "{error}");
    say(&child, [line(121, 20)]);
    let own = show(&child, "topic9?", 800);
    assert_eq!(view(&child, &own).unwrap().text(), own.text());
    assert_eq!(view(&world.talk, &after).unwrap().text(), after.text(), "the same number, another conversation");
}

#[test]
fn a_fork_of_nothing_and_one_under_a_name_that_is_taken_are_refused() {
    let world = World::new();
    world.say(chat(3));
    let fork = |at, name: &str| block_on(world.talk.fork(node(at), ConversationId::new(name).unwrap())).unwrap_err();
    let error = fork(4, "child");
    assert!(matches!(&error, MemoryError::Store(StoreError::UnknownNode { nodes: 3, .. })), "{error}");
    let error = fork(2, world.talk.id().as_str());
    assert!(matches!(&error, MemoryError::Store(StoreError::NameTaken { .. })), "{error}");
    assert!(block_on(world.store.conversation(&child_id())).is_err(), "nothing was begun");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn coverage_a_view_of_a_fork_represents_every_message_exactly_once(
        first in conversations(30..150),
        at in any::<prop::sample::Index>(),
        more in conversations(1..60),
        budget in 300u32..3_000,
    ) {
        let world = World::new();
        let at = 1 + at.index(first.len()) as u64;
        world.say(first);
        block_on(world.talk.compact()).unwrap();
        let of_parent = summaries(&world, &world.talk);
        let child = block_on(world.talk.fork(node(at), child_id())).unwrap();
        prop_assert_eq!(summaries(&world, &child), shared(of_parent.clone(), at));
        let total = at + more.len() as u64;
        say(&child, more);
        match block_on(child.prompt_with("topic7?", &PromptOptions::new(budget))) {
            Ok(prompt) => {
                prop_assert_eq!(covered(&prompt), (1..=total).collect::<Vec<_>>());
                prop_assert!(prompt.tokens <= budget);
            }
            Err(MemoryError::Plan(PlanError::BudgetTooSmall { .. })) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
        prop_assert_eq!(summaries(&world, &world.talk), of_parent);
    }
}
