//! Summaries written anew: new words in old places, and old views as they were.

use std::sync::Arc;

use memory_core::{
    ConversationId, Level, Message, NodeId, NodeRange, Summary, SummaryId,
    port::{StoreError, Summarizer},
    testing::ScanRetriever,
};
use memory_hooks::{AsOf, Conversation, MemoryError, Prompt, PromptOptions, Resummarize, ResummarizeReport};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, chat, covered, id, line};

fn all() -> Resummarize {
    Resummarize::default()
}

fn nodes(first: u64, last: u64) -> NodeRange {
    NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
}

/// 300 messages, compacted by first words, with summaries of all levels.
fn compacted() -> World {
    let world = World::new();
    world.say(chat(300));
    block_on(world.talk.compact()).unwrap();
    assert!(world.levels()[3] > 0, "{:?}", world.levels());
    world
}

/// The same store in the hands of a memory with another summarizer.
fn with(world: &World, summarizer: Arc<dyn Summarizer>) -> World {
    World::over(Arc::clone(&world.store), |builder, store| {
        builder.summarizer(summarizer).retriever(Arc::new(ScanRetriever::new(store)))
    })
}

fn echoing(world: &World) -> World {
    with(world, Scripted::new(Manner::Echo))
}

fn resummarize(world: &World, what: Resummarize) -> ResummarizeReport {
    block_on(world.talk.resummarize(what)).unwrap()
}

fn show(of: &Conversation, budget: u32) -> Prompt {
    block_on(of.prompt_with("nothing in particular", &PromptOptions::new(budget))).unwrap()
}

fn shown_again(of: &Conversation, prompt: &Prompt) -> String {
    block_on(of.as_of(AsOf::View(prompt.view.unwrap()))).unwrap().text().to_owned()
}

/// The summaries that a prompt shows, by number.
fn shown(prompt: &Prompt) -> Vec<SummaryId> {
    prompt.pieces.iter().filter_map(|piece| piece.summary).collect()
}

#[test]
fn a_new_context_shows_the_new_words_and_an_old_view_the_old() {
    let world = compacted();
    let first = world.summaries();
    let views: Vec<_> = [500, 900, 2_000].map(|budget| (budget, show(&world.talk, budget))).into();
    let known = world.summaries().len();
    let echo = echoing(&world);
    let report = resummarize(&echo, all());
    let all = world.summaries();
    assert_eq!((report.rewritten, report.unchanged, report.by_fallback), (known as u64, 0, 0));
    assert!(report.tokens_after > report.tokens_before, "more words than the first ones: {report:?}");
    assert_eq!(all[..first.len()], first, "what was written stays in the log");
    let (old, new) = all.split_at(known);
    assert_eq!(new.len(), old.len());
    let of_tree: Vec<_> = new.iter().filter(|summary| !summary.body.for_view).collect();
    assert!(of_tree.iter().is_sorted_by_key(|summary| summary.body.level), "bottom up");
    // The memory that knew the old ones follows.
    for (budget, before) in &views {
        for world in [&world, &echo] {
            let after = show(&world.talk, *budget);
            assert!(after.tokens <= *budget);
            assert_eq!(covered(&after), (1..=300).collect::<Vec<_>>());
            assert_ne!(after.text(), before.text());
            let ids = shown(&after);
            assert!(!ids.is_empty() && ids.iter().all(|id| id.index() >= known), "{ids:?}");
            for summary in new.iter().filter(|summary| ids.contains(&summary.id)) {
                assert!(after.text().contains(&summary.body.text), "{summary:?}");
            }
            assert_eq!(shown_again(&world.talk, &after), after.text());
            assert_eq!(shown_again(&world.talk, before), before.text());
        }
    }
    let stats = block_on(world.talk.stats()).unwrap();
    assert_eq!((stats.summaries, stats.superseded), (world.summaries().len() as u64, known as u64));
}

#[test]
fn the_same_words_are_not_recorded_twice_and_words_may_come_back() {
    let world = compacted();
    let before = show(&world.talk, 700);
    let there = world.summaries().len() as u64;
    let same = resummarize(&world, all());
    assert_eq!((same.rewritten, same.unchanged, same.tokens_after), (0, there, same.tokens_before));
    assert_eq!(world.summaries().len() as u64, there, "they are what this summarizer writes");
    let echo = echoing(&world);
    let first = resummarize(&echo, all());
    let again = resummarize(&echo, all());
    assert_eq!((first.rewritten, again.rewritten, again.unchanged), (there, 0, there));
    assert_eq!((again.tokens_before, again.tokens_after), (first.tokens_after, first.tokens_after));
    assert_eq!(world.summaries().len() as u64, 2 * there);
    for round in 3..6 {
        let back = resummarize(if round % 2 == 1 { &world } else { &echo }, all());
        assert_eq!((back.rewritten, world.summaries().len() as u64), (there, round * there));
    }
    assert_eq!(show(&world.talk, 700).text(), before.text(), "the first words stand again");
}

#[test]
fn a_range_and_a_level_say_what_is_meant() {
    let check = |what: Resummarize, is_meant: &dyn Fn(&Summary) -> bool| {
        let world = compacted();
        let meant: Vec<_> = world.summaries().into_iter().filter(|summary| is_meant(summary)).collect();
        let there = world.summaries().len();
        let report = resummarize(&echoing(&world), what);
        let of = |summary: &Summary| (summary.body.level, summary.body.span, summary.body.children.clone());
        let mut rewritten: Vec<_> = world.summaries()[there..].iter().map(of).collect();
        let mut meant: Vec<_> = meant.iter().map(of).collect();
        rewritten.sort();
        meant.sort();
        assert!(!meant.is_empty());
        assert_eq!((rewritten, report.rewritten), (meant.clone(), meant.len() as u64));
    };
    let touches = |summary: &Summary| summary.body.span.iter().any(|node| nodes(30, 75).contains(node));
    check(Resummarize::default().nodes(nodes(30, 75)), &touches);
    for level in [Level::Summary, Level::Meta, Level::Archive] {
        let is_of_it = |summary: &Summary| summary.body.level == level;
        check(Resummarize::default().level(level), &is_of_it);
        let both = |summary: &Summary| is_of_it(summary) && touches(summary);
        check(Resummarize::default().nodes(nodes(30, 75)).level(level), &both);
    }
}

#[test]
fn what_was_to_be_kept_out_later_is_in_no_new_summary() {
    const NEEDLE: &str = "QX-4471-93B";
    let world = World::with(|builder, _| builder.summarizer(Scripted::new(Manner::Echo)));
    world.say([Message::user(format!("{NEEDLE} is what I was given {}", "on the telephone ".repeat(40)))]);
    world.say((2..=200).map(|number| line(number, 40)));
    block_on(world.talk.compact()).unwrap();
    let there = world.summaries();
    assert!(there.iter().any(|summary| summary.body.text.contains(NEEDLE)), "nobody had asked yet");
    world.say([Message::user(format!("Never put {NEEDLE} into a summary."))]);
    resummarize(&world, all());
    let all = world.summaries();
    let new = &all[there.len()..];
    assert!(new.iter().any(|summary| summary.body.span.contains(NodeId::FIRST)), "{new:?}");
    assert!(new.iter().all(|summary| !summary.body.text.contains("4471")), "{new:?}");
    let marked = NodeId::new(201).unwrap();
    world.say(chat(60));
    block_on(world.talk.compact()).unwrap();
    let before = world.summaries().len();
    let only = Resummarize::default().nodes(NodeRange::single(marked)).level(Level::Summary);
    assert_eq!(resummarize(&world, only).rewritten, 0);
    let other = with(&world, Arc::new(memory_core::text::FirstWords));
    assert_eq!(resummarize(&other, only).rewritten, 0, "nobody wrote it, so nobody else writes it anew");
    assert_eq!(world.summaries().len(), before);
}

#[test]
fn of_a_lost_message_the_old_summary_stays() {
    let world = compacted();
    let there = world.summaries();
    world.store.lose_node(&id(), NodeId::new(7).unwrap());
    let what = Resummarize::default().nodes(nodes(6, 8)).level(Level::Summary);
    let report = resummarize(&echoing(&world), what);
    assert_eq!((report.rewritten, report.unchanged), (2, 1));
    assert!(world.summaries()[there.len()..].iter().all(|summary| !summary.body.text.contains("lost")));
}

#[test]
fn a_lost_summary_that_superseded_gives_the_place_back() {
    let world = compacted();
    let before = show(&world.talk, 700);
    let there = world.summaries().len();
    resummarize(&echoing(&world), all());
    for index in there..world.summaries().len().max(2 * there) {
        world.store.lose_summary(&id(), SummaryId::from_index(index));
    }
    let reopened =
        World::over(Arc::clone(&world.store), |builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))));
    assert_eq!(show(&reopened.talk, 700).text(), before.text());
}

#[test]
fn what_is_not_there_and_who_is_at_it_is_said() {
    let world = World::new();
    let refused = |world: &World, what| block_on(world.talk.resummarize(what)).unwrap_err();
    assert!(refused(&world, all()).is_not_found(), "there is no conversation");
    world.say(chat(5));
    let nothing = refused(&world, all());
    assert!(nothing.is_not_found());
    assert_eq!(nothing.to_string(), "nothing to write anew: `talk` has no summary yet");
    world.say((6..=40).map(|number| line(number, 20)));
    block_on(world.talk.compact()).unwrap();
    let archive = Resummarize::default().nodes(nodes(3, 4)).level(Level::Archive);
    let nothing = refused(&world, archive).to_string();
    assert_eq!(nothing, "nothing to write anew: no ARCHIVE of `talk` covers any of the nodes 3-4 yet");
    assert!(refused(&world, Resummarize::default().nodes(nodes(39, 40))).is_not_found());
    let beyond = refused(&world, Resummarize::default().nodes(nodes(39, 41)));
    assert!(matches!(beyond, MemoryError::Store(StoreError::UnknownNode { nodes: 40, .. })), "{beyond}");
    world.store.lease_away(true);
    let elsewhere = refused(&world, all());
    assert!(matches!(elsewhere, MemoryError::Store(StoreError::Locked { .. })), "{elsewhere}");
    world.store.lease_away(false);
    resummarize(&world, all());
}

#[test]
fn a_fallback_writes_but_takes_nothing_away_from_the_summarizer() {
    let world = compacted();
    let there = world.summaries().len() as u64;
    let failing = |from| {
        World::over(Arc::clone(&world.store), |builder, _| {
            builder
                .summarizer(Scripted::new(Manner::FailsFrom(from)))
                .fallback_summarizer(Arc::new(memory_core::text::FirstWords))
        })
    };
    let same = resummarize(&failing(0), all());
    assert_eq!((same.rewritten, same.by_fallback), (0, 0), "the fallback writes what stands there");
    assert_eq!(resummarize(&echoing(&world), all()).rewritten, there);
    let kept = resummarize(&failing(0), all());
    assert_eq!((kept.rewritten, kept.unchanged), (0, there), "the summarizer wrote it while it was well");
    // Over words of somebody else the fallback's count.
    let words: Arc<dyn Summarizer> = Arc::new(memory_strategies::Spans);
    resummarize(&with(&world, words), all());
    let report = resummarize(&failing(2), all());
    assert!(report.by_fallback > 0 && report.by_fallback + 2 == report.rewritten, "{report:?}");
}

#[test]
fn what_was_written_before_a_failure_stays_and_a_second_run_ends_it() {
    let world = compacted();
    let there = world.summaries().len();
    let both = World::over(Arc::clone(&world.store), |builder, _| {
        let [one, other] = [160, 0].map(|from| Scripted::new(Manner::FailsFrom(from)));
        builder.summarizer(one).fallback_summarizer(other)
    });
    // Both scripted summarizers write first words under another name.
    let error = block_on(both.talk.resummarize(all())).unwrap_err();
    assert!(matches!(error, MemoryError::Summarize(_)), "{error}");
    assert_eq!(world.summaries().len(), there + 160);
    let well = with(&world, Scripted::new(Manner::Good));
    let rest = resummarize(&well, all());
    assert_eq!((rest.unchanged, rest.rewritten), (160, there as u64 - 160));
    assert_eq!(world.summaries().len(), 2 * there);
    assert_eq!(covered(&show(&world.talk, 700)), (1..=300).collect::<Vec<_>>());
}

#[test]
fn a_fork_and_its_parent_have_their_own_words() {
    let world = compacted();
    let echo = echoing(&world);
    let name = |name: &str| ConversationId::new(name).unwrap();
    let fork = |name: &ConversationId| block_on(world.talk.fork(NodeId::new(250).unwrap(), name.clone())).unwrap();
    let (early, late) = (name("early"), name("late"));
    fork(&early);
    let texts = |of: &ConversationId| {
        [400, 900].map(|budget| show(&world.memory.conversation(of.clone()), budget).text().to_owned())
    };
    let rewrite = |of: &ConversationId| {
        let report = block_on(echo.memory.conversation(of.clone()).resummarize(all())).unwrap();
        assert!(report.rewritten > 0 && report.unchanged == 0, "{report:?}");
    };
    let (parent, child) = (texts(&id()), texts(&early));
    rewrite(&early);
    assert_eq!(texts(&id()), parent, "the parent has its own words");
    assert_ne!(texts(&early), child);
    fork(&late);
    assert_eq!(texts(&late), child, "the parent's words are what a fork of it has");
    let child = texts(&early);
    rewrite(&id());
    assert_ne!(texts(&id()), parent);
    assert_eq!(texts(&early), child, "whatever the parent does later");
    let after = name("after");
    fork(&after);
    let again = block_on(echo.memory.conversation(after).resummarize(all())).unwrap();
    assert_eq!(again.rewritten, 0, "a fork made now has the newest words");
}
