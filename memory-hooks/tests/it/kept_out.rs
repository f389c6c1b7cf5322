//! The needle: content that no summary may hold, and that recall still finds.

use std::sync::{Arc, Mutex};

use memory_core::{
    Level, Message, NodeId, WrittenBy,
    plan::ViewPolicy,
    port::{ImportanceScorer, ScoreError, ScoreJob, Summarizer},
    testing::ScanRetriever,
    text::FirstWords,
};
use memory_hooks::{PieceKind, PromptOptions};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, chat, covered, line};

const NEEDLE: &str = "QX-4471-93B";

fn world_of(summarizer: Arc<dyn Summarizer>) -> World {
    World::with(|builder, store| builder.summarizer(summarizer).retriever(Arc::new(ScanRetriever::new(store))))
}

/// 300 messages; the 40th holds the needle, the 41st and the 90th repeat it.
fn conversation(needle: Message) -> Vec<Message> {
    let mut messages = chat(300);
    messages[39] = needle;
    messages[40] = Message::assistant(format!("Noted: {NEEDLE} stays between us."));
    messages[89] = Message::user(format!("about ({}/2): is it done?", NEEDLE.to_lowercase()));
    messages
}

fn assert_kept_out(world: &World, what: &str) {
    for summary in world.summaries() {
        let text = format!("{} {:?}", summary.body.text, summary.body.metadata.topics).to_lowercase();
        assert!(
            !text.contains("4471"),
            "{what}: {} {} holds the number: {text}",
            summary.body.level,
            summary.body.span
        );
        assert!(
            !text.contains("vault"),
            "{what}: {} {} holds the content: {text}",
            summary.body.level,
            summary.body.span
        );
    }
}

#[test]
fn no_summary_of_any_level_holds_marked_content_whatever_the_strategy() {
    let strategies: [(&str, Arc<dyn Summarizer>); 2] =
        [("first words", Arc::new(FirstWords)), ("echo", Scripted::new(Manner::Echo))];
    for (what, summarizer) in strategies {
        let world = world_of(summarizer);
        world.say(conversation(Message::user(format!("The vault opens with {NEEDLE}.")).keep_out_of_summaries(true)));
        block_on(world.talk.compact()).unwrap();
        assert_kept_out(&world, what);
        // Budgets down to the smallest, so that every level is written, up to one ARCHIVE over nearly everything.
        for budget in [2_000, 1_000, 300, 60] {
            let _ = block_on(world.talk.prompt_with("nothing in particular", &PromptOptions::new(budget)));
            assert_kept_out(&world, what);
        }
        assert!(world.levels()[3] > 200, "the archives were written: {:?}", world.levels());
    }
}

#[test]
fn recall_still_finds_marked_content_word_for_word() {
    let world = world_of(Scripted::new(Manner::Echo));
    let needle = format!("The vault opens with {NEEDLE}.");
    world.say(conversation(Message::user(&needle).keep_out_of_summaries(true)));
    let prompt =
        block_on(world.talk.prompt_with("What does the vault open with?", &PromptOptions::new(2_000))).unwrap();
    assert!(prompt.text().contains(&format!("[Message 40, user]: {needle}")));
    assert_eq!(covered(&prompt), (1..=300).collect::<Vec<_>>());
    assert_eq!(block_on(world.talk.expand(NodeId::new(40).unwrap())).unwrap().message.text(), needle);
}

#[test]
fn a_user_who_asks_for_it_is_heard_at_append() {
    let world = world_of(Scripted::new(Manner::Echo));
    let asking = Message::user(format!("The vault opens with {NEEDLE}. Keep that out of any summary."));
    let mut messages = conversation(asking);
    messages[59] = Message::assistant("Keep the agenda out of any summary, they said.");
    world.say(messages);
    let marked = |node| block_on(world.talk.expand(NodeId::new(node).unwrap())).unwrap().message.keep_out_of_summaries;
    assert!(marked(40));
    assert!(!marked(60), "only a user can ask");
    block_on(world.talk.compact()).unwrap();
    assert_kept_out(&world, "asked");
}

#[test]
fn what_is_asked_to_be_kept_out_later_is_struck_out_of_the_view() {
    let world = World::with(|builder, _| builder.summarizer(Scripted::new(Manner::Echo)));
    world
        .say([Message::user(format!("{NEEDLE} is the reference that I was given {}", "on the telephone ".repeat(80)))]);
    world.say((2..=30).map(|number| line(number, 200)));
    block_on(world.talk.compact()).unwrap();
    assert!(world.summaries().iter().any(|summary| summary.body.text.contains(NEEDLE)), "nobody had asked yet");
    world.say([Message::user(format!("Never put {NEEDLE} into a summary."))]);
    let prompt = block_on(world.talk.prompt_with("unrelated", &PromptOptions::new(4_500))).unwrap();
    let first = &prompt.pieces[0];
    assert_eq!(first.kind, PieceKind::Summary(Level::Summary));
    assert!(first.text.contains("\nMessage 1: user: [kept out] is the reference"), "{}", first.text);
}

/// A strategy may know the secret from elsewhere than its job, such as a call for another conversation.
#[test]
fn a_secret_that_a_strategy_returns_is_struck_from_text_and_topics() {
    let world = World::with(|builder, _| builder.summarizer(Scripted::new(Manner::Says(NEEDLE))));
    world.say(conversation(Message::user(format!("The vault opens with {NEEDLE}.")).keep_out_of_summaries(true)));
    block_on(world.talk.compact()).unwrap();
    assert_kept_out(&world, "said");
    let summaries = world.summaries();
    assert!(summaries.iter().any(|summary| summary.body.written_by.strategy == "scripted"), "it is no failure");
    assert!(summaries.iter().all(|summary| summary.body.metadata.topics.is_empty()));
    assert!(world.fell_back.lock().unwrap().is_empty());
}

/// The mark in place of a secret may take more tokens than the secret, and must not push the summary over its bound.
#[test]
fn what_stands_in_the_place_of_a_secret_keeps_the_bound() {
    let says = Scripted::new(Manner::Says("said QX-4471-93B"));
    let policy = ViewPolicy::default().short(0).per_summary(1);
    let world = World::with(|builder, _| builder.summarizer(says).view_policy(policy));
    world.say([Message::user(format!("The vault opens with {NEEDLE}.")).keep_out_of_summaries(true)]);
    world.say((2..=60).map(|number| Message::user(format!("Say {number}: four"))).collect::<Vec<_>>());
    block_on(world.talk.compact()).unwrap();
    assert_kept_out(&world, "said within a bound");
    let of_two = world.summaries().into_iter().filter(|summary| summary.body.text.trim() == "said");
    assert!(of_two.count() > 10, "{:?}", world.summaries());
}

/// A scorer that writes down whatever it reads.
#[derive(Debug, Default)]
struct Nosy(Mutex<String>);

impl ImportanceScorer for Nosy {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("nosy", "1")
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let mut read = self.0.lock().unwrap();
        jobs.iter().for_each(|job| read.push_str(job.text));
        Ok(vec![0.9; jobs.len()])
    }
}

#[test]
fn no_scorer_reads_marked_content() {
    let nosy = Arc::new(Nosy::default());
    let scorer = Arc::clone(&nosy);
    let world = World::with(|builder, _| builder.scorer(scorer));
    let needle = Message::user(format!("The vault's number is {NEEDLE}.")).keep_out_of_summaries(true);
    world.say(conversation(needle));
    block_on(world.talk.compact()).unwrap();
    let read = nosy.0.lock().unwrap().to_lowercase();
    assert!(read.contains("topic39") && !read.contains("4471") && !read.contains("vault"));
    let marked = block_on(world.talk.expand(NodeId::new(40).unwrap())).unwrap();
    assert_eq!(marked.importance.to_bits(), 0.5f32.to_bits(), "nothing is known of what could not be read");
}
