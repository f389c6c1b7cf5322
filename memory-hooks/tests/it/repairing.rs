//! Summaries that a person rewrites or dissolves: their words or their parts are shown, and old views stay as they
//! were.

use std::sync::Arc;

use memory_core::{Level, Message, NodeId, NodeRange, Summary, SummaryId, testing::ScanRetriever};
use memory_hooks::{
    AsOf, LevelsRequest, MemoryError, Prompt, PromptOptions, RepairError, RepairedSummary, Resummarize,
    SummariesRequest,
};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, chat, covered, id, line};

/// 300 messages, compacted by first words, with summaries of all levels.
fn compacted() -> World {
    let world = World::new();
    world.say(chat(300));
    block_on(world.talk.compact()).unwrap();
    world
}

fn show(world: &World, budget: u32) -> Prompt {
    block_on(world.talk.prompt_with("nothing in particular", &PromptOptions::new(budget))).unwrap()
}

fn shown_again(world: &World, prompt: &Prompt) -> String {
    block_on(world.talk.as_of(AsOf::View(prompt.view.unwrap()))).unwrap().text().to_owned()
}

/// The numbers of the summaries that a prompt shows.
fn shown(prompt: &Prompt) -> Vec<SummaryId> {
    prompt.pieces.iter().filter_map(|piece| piece.summary).collect()
}

fn rewrite(world: &World, summary: SummaryId, text: &str) -> Result<RepairedSummary, RepairError> {
    block_on(world.talk.rewrite_summary(summary, text, "Ana")).map_err(repair_error)
}

fn dissolve(world: &World, summary: SummaryId) -> Result<RepairedSummary, RepairError> {
    block_on(world.talk.dissolve_summary(summary, "")).map_err(repair_error)
}

fn repair_error(error: MemoryError) -> RepairError {
    match error {
        MemoryError::Repair(error) => error,
        other => panic!("{other}"),
    }
}

fn of_level(world: &World, level: Level) -> Summary {
    world.summaries().into_iter().find(|summary| summary.body.level == level).unwrap()
}

/// The same store in the hands of a memory that knows nothing yet.
fn reopened(world: &World) -> World {
    World::over(Arc::clone(&world.store), |builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))))
}

/// The first summary that a prompt of this budget shows.
fn first_shown(world: &World, budget: u32) -> (u32, Prompt, Summary) {
    let prompt = show(world, budget);
    let first = shown(&prompt)[0];
    let summary = world.summaries().into_iter().find(|summary| summary.id == first).unwrap();
    assert_ne!(summary.body.level, Level::Summary, "{summary:?}");
    (budget, prompt, summary)
}

#[test]
fn a_persons_words_are_shown_and_an_old_view_shows_the_old_ones() {
    [2_000, 260].into_iter().for_each(a_persons_words_are_shown_in);
}

/// The same for a summary of the tree, and for one that was written for the view.
fn a_persons_words_are_shown_in(budget: u32) {
    let world = compacted();
    let (budget, before, old) = first_shown(&world, budget);
    assert_eq!(old.body.for_view, budget == 260);
    // The new text has as many tokens as the old one, so that the same pieces are shown.
    let text = vec!["mine"; old.body.tokens as usize].join(" ");
    let repaired = rewrite(&world, old.id, &format!("  {text}\u{202e}\r\n")).unwrap();
    assert_eq!((repaired.text.as_str(), repaired.replaced), (text.as_str(), old.id));
    assert_eq!((repaired.tokens, repaired.is_redacted), (old.body.tokens, false));
    let new = world.summaries().pop().unwrap();
    assert_eq!((new.id, new.body.written_by.to_string().as_str()), (repaired.summary, "person Ana"));
    assert_eq!(
        (new.body.level, new.body.span, &new.body.children),
        (old.body.level, old.body.span, &old.body.children)
    );
    for world in [&world, &reopened(&world)] {
        let after = show(world, budget);
        assert!(after.text().contains(&text), "{}", after.text());
        assert_eq!(covered(&after), (1..=300).collect::<Vec<_>>());
        assert_eq!(shown_again(world, &before), before.text());
    }
    // The same once more records nothing, by any number of the place.
    let again = rewrite(&world, old.id, &text).unwrap();
    assert_eq!((again.summary, again.replaced), (new.id, new.id));
    assert_eq!(world.summaries().len() as u64, new.id.get());
}

#[test]
fn of_a_dissolved_summary_the_parts_are_shown_within_the_budget() {
    let world = compacted();
    let (budget, before, old) = first_shown(&world, 2_000);
    let repaired = dissolve(&world, old.id).unwrap();
    assert_eq!((repaired.tokens, repaired.text.as_str()), (0, ""));
    assert_eq!(dissolve(&world, old.id).unwrap_err(), RepairError::AlreadyDissolved { summary: old.id });
    for world in [&world, &reopened(&world)] {
        for budget in [budget, 900, 2_000] {
            let after = show(world, budget);
            assert!(after.tokens <= budget);
            assert_eq!(covered(&after), (1..=300).collect::<Vec<_>>(), "everything is covered");
            let shown = shown(&after);
            assert!(!shown.contains(&old.id) && !shown.contains(&repaired.summary), "{shown:?}");
            assert_eq!(shown_again(world, &after), after.text());
        }
        assert_eq!(shown_again(world, &before), before.text());
        let top = block_on(world.talk.levels(LevelsRequest::default().limit(1_000))).unwrap();
        assert!(top.entries.iter().all(|entry| entry.nodes != old.body.span), "{top:?}");
        let level = LevelsRequest::default().level(old.body.level).limit(1_000);
        let at_level = block_on(world.talk.levels(level)).unwrap();
        assert!(at_level.entries.iter().any(|entry| entry.is_dissolved && entry.nodes == old.body.span));
    }
    // Its words come back where they were.
    rewrite(&world, old.id, &old.body.text).unwrap();
    let level = LevelsRequest::default().level(old.body.level).limit(1_000);
    let entries = block_on(world.talk.levels(level)).unwrap().entries;
    let back = entries.iter().find(|entry| entry.nodes == old.body.span).unwrap();
    assert_eq!((back.text.as_str(), back.is_dissolved), (old.body.text.as_str(), false));
}

#[test]
fn everything_dissolved_is_shown_by_its_messages_summaries_or_a_typed_error() {
    let world = compacted();
    let merged: Vec<_> =
        world.summaries().into_iter().filter(|summary| summary.body.level != Level::Summary).map(|s| s.id).collect();
    for summary in merged {
        dissolve(&world, summary).unwrap();
    }
    let wide = show(&world, 20_000);
    assert_eq!(covered(&wide), (1..=300).collect::<Vec<_>>());
    // A context that is too small for the parts shows summaries that compaction writes over them.
    let narrow = show(&world, 700);
    assert!(narrow.tokens <= 700);
    assert_eq!(covered(&narrow), (1..=300).collect::<Vec<_>>());
    assert_eq!(shown_again(&world, &narrow), narrow.text());
}

#[test]
fn what_is_written_over_a_dissolved_summary_is_made_from_its_parts() {
    let world = World::with(|builder, _| builder.summarizer(Scripted::new(Manner::Echo)));
    world.say(chat(300));
    block_on(world.talk.compact()).unwrap();
    let archive = of_level(&world, Level::Archive);
    let child = archive.body.children[0];
    let part = world.summaries().into_iter().find(|summary| summary.id == child).unwrap().body.children[0];
    rewrite(&world, part, "Zebra.").unwrap();
    dissolve(&world, child).unwrap();
    let what = Resummarize::default().level(Level::Archive);
    let report = block_on(world.talk.resummarize(what)).unwrap();
    assert!(report.rewritten > 0, "{report:?}");
    let new = world.summaries().pop().unwrap();
    assert_eq!(new.body.span, archive.body.span);
    assert!(new.body.text.contains("Zebra."), "{new:?}");
}

#[test]
fn what_a_person_wrote_is_not_written_anew_unless_asked() {
    let world = compacted();
    let meta = of_level(&world, Level::Meta);
    let leaf = of_level(&world, Level::Summary);
    rewrite(&world, leaf.id, "Mine.").unwrap();
    dissolve(&world, meta.id).unwrap();
    let echo = World::over(Arc::clone(&world.store), |builder, _| builder.summarizer(Scripted::new(Manner::Echo)));
    let all = Resummarize::default();
    let report = block_on(echo.talk.resummarize(all)).unwrap();
    assert_eq!(report.by_person, 2, "{report:?}");
    let entry = |level, nodes: NodeRange| {
        let request = LevelsRequest::default().level(level).from(nodes.first()).to(nodes.last());
        block_on(world.talk.levels(request)).unwrap().entries.into_iter().find(|entry| entry.nodes == nodes).unwrap()
    };
    assert_eq!(entry(Level::Summary, leaf.body.span).text, "Mine.");
    assert!(entry(Level::Meta, meta.body.span).is_dissolved);
    let report = block_on(echo.talk.resummarize(all.also_by_person(true))).unwrap();
    assert!(report.rewritten >= 2 && report.by_person == 0, "{report:?}");
    assert!(!entry(Level::Meta, meta.body.span).is_dissolved);
    assert_ne!(entry(Level::Summary, leaf.body.span).text, "Mine.");
}

#[test]
fn a_repair_that_does_not_fit_is_a_typed_error_and_records_nothing() {
    let world = compacted();
    let (leaf, meta) = (of_level(&world, Level::Summary), of_level(&world, Level::Meta));
    let count = world.summaries().len();
    let long = "word ".repeat(500);
    let RepairError::TooLong { level, nodes, tokens, most } = rewrite(&world, meta.id, &long).unwrap_err() else {
        panic!("a long text was taken")
    };
    assert_eq!((level, nodes), (Level::Meta, meta.body.span));
    assert!(tokens > most && most <= 128, "{tokens} {most}");
    assert_eq!(rewrite(&world, meta.id, " \u{200b}\n").unwrap_err(), RepairError::Blank);
    let nowhere = SummaryId::from_index(count + 7);
    assert!(matches!(rewrite(&world, nowhere, "x").unwrap_err(), RepairError::NoSummary { .. }));
    assert!(matches!(dissolve(&world, leaf.id).unwrap_err(), RepairError::NoParts { .. }));
    let missing = block_on(
        world.memory.conversation(memory_core::ConversationId::new("other").unwrap()).dissolve_summary(meta.id, ""),
    );
    assert!(missing.unwrap_err().is_not_found());
    assert_eq!(world.summaries().len(), count);
}

#[test]
fn what_is_kept_out_of_summaries_is_in_no_words_of_a_person() {
    const NEEDLE: &str = "QX-4471-93B";
    let world = World::new();
    world.say([Message::user(format!("Never put {NEEDLE} into a summary."))]);
    world.say((2..=200).map(|number| line(number, 40)));
    block_on(world.talk.compact()).unwrap();
    let kept_out = world.summaries().into_iter().find(|s| s.body.span == NodeRange::single(NodeId::FIRST)).unwrap();
    let refused = rewrite(&world, kept_out.id, "It is about a number.").unwrap_err();
    assert_eq!(refused, RepairError::KeptOut { node: NodeId::FIRST });
    let meta = of_level(&world, Level::Meta);
    let repaired = rewrite(&world, meta.id, &format!("The number is {NEEDLE}.")).unwrap();
    assert!(repaired.is_redacted && !repaired.text.contains("4471"), "{repaired:?}");
}

#[test]
fn the_list_has_every_summary_once_by_pages_and_the_replaced_ones_on_request() {
    let world = compacted();
    let meta = of_level(&world, Level::Meta);
    let new = rewrite(&world, meta.id, "Mine.").unwrap();
    let all = world.summaries();
    let list = |replaced| {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let request = SummariesRequest::default().limit(7).replaced(replaced).after(after);
            let page = block_on(world.talk.summaries(request)).unwrap();
            assert!(page.summaries.len() <= 7);
            listed.extend(page.summaries);
            after = page.next;
            if after.is_none() {
                assert_eq!(page.total, listed.len() as u64);
                return listed;
            }
        }
    };
    let current = list(false);
    assert_eq!(current.len(), all.len() - 1);
    assert!(current.iter().all(|one| one.is_current && one.summary != meta.id));
    assert!(current.is_sorted_by_key(|one| one.nodes.first()));
    let every = list(true);
    let mut numbers: Vec<_> = every.iter().map(|one| one.summary).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, all.iter().map(|summary| summary.id).collect::<Vec<_>>());
    let of_place: Vec<_> =
        every.iter().filter(|one| one.place == meta.id).map(|one| (one.summary, one.is_current)).collect();
    assert_eq!(of_place, [(meta.id, false), (new.summary, true)]);
    let id_of = id();
    assert_eq!(block_on(world.memory.conversation(id_of).summary(meta.id)).unwrap(), meta);
}
