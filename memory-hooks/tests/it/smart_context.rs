//! Smart context: a model judges which summaries matter for a question.

use std::sync::{Arc, Mutex};

use memory_core::{
    Message, NodeId, NodeRange,
    port::{ChatError, ChatRequest, Notice, Store},
    testing::{ScanRetriever, ScriptedModel},
};
use memory_hooks::{AsOf, ContextJudged, HookRegistry, PieceKind, Prompt, PromptOptions, SpendLimits};
use pollster::block_on;

use crate::support::{World, chat, covered, id, line, nodes_of};

fn options() -> PromptOptions {
    PromptOptions::new(1_200).smart_context(true)
}

/// 120 compacted messages, and a model that judges.
fn judged_by(model: &Arc<ScriptedModel>) -> (World, Arc<Mutex<Vec<ContextJudged>>>) {
    let (events, mut hooks) = (Arc::<Mutex<Vec<_>>>::default(), HookRegistry::new());
    let seen = Arc::clone(&events);
    hooks.listen("seen", move |event: &ContextJudged| seen.lock().unwrap().push(event.clone()));
    let model = Arc::clone(model);
    let world = World::with(|builder, store| {
        let builder = builder.hooks(hooks).retriever(Arc::new(ScanRetriever::new(store)));
        builder.judge(model, SpendLimits::default())
    });
    world.say(chat(120));
    block_on(world.talk.compact()).unwrap();
    (world, events)
}

/// Answer of a model that chooses the summaries with `topic` in them.
fn looks_for(topic: &str, request: &ChatRequest) -> Message {
    let text = request.messages[0].text();
    let found = text.lines().filter(|line| line.starts_with("[Summary ") && line.contains(topic));
    let number = |line: &str| line.split([' ', ',']).nth(1).unwrap().to_owned();
    let numbers: Vec<_> = found.map(number).collect();
    Message::assistant(if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") })
}

fn ask(world: &World, options: &PromptOptions) -> Prompt {
    block_on(world.talk.prompt_with("And what was it?", options)).unwrap()
}

/// Reasons for which nothing was judged.
fn not_judged(prompt: &Prompt) -> Vec<&str> {
    let notices = prompt.notices.iter();
    notices
        .filter_map(|notice| if let Notice::NotJudged { why } = notice { Some(why.as_str()) } else { None })
        .collect()
}

#[test]
fn what_a_model_judges_to_matter_is_shown_word_for_word() {
    // A META is chosen, and under it the SUMMARY of one message.
    let model = Arc::new(ScriptedModel::new(|number, request| {
        Ok(if number == 0 { Message::assistant("1") } else { looks_for("topic7 ", request) })
    }));
    let (world, events) = judged_by(&model);
    let plain = ask(&world, &options().smart_context(false));
    assert!(nodes_of(&plain, PieceKind::Recalled).is_empty() && model.requests().is_empty());
    let prompt = ask(&world, &options());
    let text = model.requests()[0].messages[0].text();
    assert!(text.contains("\n[The next message]: And what was it?\n---End Previous Context---"), "{text}");
    let shown = nodes_of(&prompt, PieceKind::Recalled);
    assert!(!shown.is_empty() && prompt.tokens <= 1_200, "{:?}", model.requests());
    assert_eq!(covered(&prompt), (1..=120).collect::<Vec<_>>());
    let events = events.lock().unwrap();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((event.conversation.clone(), event.model.as_str()), (id(), "scripted"));
    let is_chosen = |node: u64| event.chosen.iter().any(|span| span.contains(NodeId::new(node).unwrap()));
    assert!(shown.iter().all(|node| is_chosen(*node)), "{shown:?} of {:?}", event.chosen);
}

#[test]
fn a_judged_view_says_who_judged_and_is_shown_again_without_asking() {
    let model = Arc::new(ScriptedModel::says("1"));
    let (world, _) = judged_by(&model);
    let prompt = ask(&world, &options());
    let (view, asked) = (prompt.view.unwrap(), model.requests().len());
    assert!(asked > 0);
    let recorded = block_on(world.store.views(&id(), view, view)).unwrap().remove(0);
    assert_eq!(recorded.body.chosen_by.strategy, "hierarchical, judged by scripted");
    assert_eq!(recorded.body.question, "And what was it?");
    let again = block_on(world.talk.as_of(AsOf::View(view))).unwrap();
    assert_eq!((again.text(), model.requests().len()), (prompt.text(), asked));
}

#[test]
fn a_judge_that_fails_or_talks_nonsense_changes_nothing_but_a_notice() {
    let check = |model: ScriptedModel, expected: &str| {
        let model = Arc::new(model);
        let (world, events) = judged_by(&model);
        let plain = ask(&world, &options().smart_context(false));
        let prompt = ask(&world, &options());
        assert_eq!(prompt.text(), plain.text());
        let why = not_judged(&prompt);
        assert!(why.len() == 1 && why[0].contains(expected), "{why:?}");
        assert!(events.lock().unwrap().is_empty());
    };
    let failing = |_: usize, _: &ChatRequest| Err(ChatError::Backend { model: "m".into(), source: "503".into() });
    check(ScriptedModel::new(failing), "no reply");
    check(ScriptedModel::says("Number 4711 seems best."), "no list of numbers");
    check(ScriptedModel::says("I cannot say."), "no list of numbers");
    check(ScriptedModel::says("1").window(100), "window of 100 tokens");
    let world = World::new();
    world.say(chat(120));
    let prompt = ask(&world, &options());
    assert_eq!(not_judged(&prompt), ["no model was set for it"]);
}

#[test]
fn a_judge_is_asked_within_its_limits() {
    let model = Arc::new(ScriptedModel::says("none"));
    let limited = Arc::clone(&model);
    let world = World::with(|builder, _| builder.judge(limited, SpendLimits::default().requests(2)));
    world.say(chat(120));
    let exhausted: Vec<_> = (0..4).map(|_| not_judged(&ask(&world, &options())).len()).collect();
    assert_eq!((exhausted, model.requests().len()), (vec![0, 0, 1, 1], 2));
}

#[test]
fn in_a_running_agent_what_is_judged_comes_with_its_turn_and_the_prefix_stays() {
    let model = Arc::new(ScriptedModel::says("1"));
    let (world, _) = judged_by(&model);
    let options = PromptOptions::new(1_600).smart_context(true).turn_share(0.25);
    let turn = |text: &str| {
        world.say([Message::user(text)]);
        block_on(world.talk.turn(&options)).unwrap()
    };
    let first = turn("And what was it?");
    let asked = model.requests().len();
    assert!(asked > 0, "once for the message of the user");
    let again = block_on(world.talk.turn(&options)).unwrap();
    assert_eq!((again.text(), model.requests().len()), (first.text(), asked));
    world.say([line(2, 10)]);
    let second = turn("And then?");
    assert!(second.text().starts_with(first.text().trim_end()), "{}\n\n{}", first.text(), second.text());
    assert!(model.requests().len() > asked);
    let shown = nodes_of(&first, PieceKind::Recalled);
    assert!(!shown.is_empty(), "{}", first.text());
    let span = NodeRange::first_n(120).unwrap();
    assert!(shown.iter().all(|node| span.contains(NodeId::new(*node).unwrap())));
}
