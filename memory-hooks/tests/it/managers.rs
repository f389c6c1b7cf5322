//! Conversation managers behind their port: the default one conforms, and another takes its place.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory_core::{
    ConversationId, Json, Level, Mark, Message, NodeDraft, Role, Timestamp, WrittenBy,
    plan::{MANAGERS, Thresholds, strategy_named},
    port::{
        ConversationManager, Event, ExtendedManager, HookRegistry, ManagerError, ManagerState, ReduceCause, Source,
        Store,
    },
    testing::{EverythingManager, MemoryStore, ScanRetriever, WordCounter, manager_conformance},
};
use memory_hooks::{AsOf, BuildError, ListOptions, Memory, MemoryError, MessageAdded, PieceKind, PromptOptions};
use pollster::block_on;

use crate::support::{Manner, Scripted, World, chat, covered, id, line, nodes_of};

/// A memory under the manager of this name.
fn managed(name: &str, settings: &str) -> World {
    let strategy = strategy_named(name, settings).unwrap();
    World::with(|builder, store| builder.retriever(Arc::new(ScanRetriever::new(store))).strategy(strategy))
}

#[test]
fn every_manager_by_name_conforms() {
    for name in MANAGERS {
        block_on(manager_conformance(|store| {
            let strategy = strategy_named(name, "").unwrap();
            let builder = Memory::builder().store(store).token_counter(Arc::new(WordCounter)).strategy(strategy);
            Arc::clone(builder.build().unwrap().manager())
        }));
    }
}

#[test]
fn every_manager_covers_the_conversation_turn_by_turn_and_states_itself() {
    for name in MANAGERS.into_iter().filter(|name| *name != "none") {
        let world = managed(name, "");
        for part in chat(120).chunks(12) {
            world.say(part.to_vec());
            let options = PromptOptions::new(900);
            let shown = block_on(world.talk.prompt_with("What about topic3?", &options)).unwrap();
            assert!(shown.tokens <= 900, "{name}");
            let nodes = block_on(world.store.conversation(&id())).unwrap().nodes;
            assert_eq!(covered(&shown), (1..=nodes).collect::<Vec<_>>(), "{name}");
            let again = block_on(world.talk.as_of(AsOf::View(shown.view.unwrap()))).unwrap();
            assert_eq!(again.text(), shown.text(), "{name}: what was shown is shown again");
        }
        let state = block_on(world.talk.manager_state()).unwrap();
        assert_eq!(state.manager, name);
        assert!(state.removed_message_count > 0, "{name}: {state:?}");
    }
}

#[test]
fn a_window_says_what_it_leaves_out_and_writes_no_summary() {
    let world = managed("sliding-window", r#"{"window_size": 6, "pin_first": 1}"#);
    world.say(chat(30));
    block_on(world.talk.compact()).unwrap();
    let shown = block_on(world.talk.prompt_with("", &PromptOptions::new(4_000))).unwrap();
    assert!(shown.text().contains("[Messages 2-24: not shown]\n"), "{}", shown.text());
    assert_eq!(nodes_of(&shown, PieceKind::Message), [1, 25, 26, 27, 28, 29, 30]);
    assert_eq!(nodes_of(&shown, PieceKind::Omitted), (2..=24).collect::<Vec<_>>());
    assert!(world.summaries().is_empty());
    assert_eq!(block_on(world.talk.manager_state()).unwrap().removed_message_count, 23);
    let request = shown.messages();
    assert!(request.messages[0].text().contains("[Messages 2-24: not shown]"), "{request:?}");
}

#[test]
fn no_manager_shows_all_or_the_last_and_what_it_leaves_out() {
    let world = managed("none", "");
    world.say(chat(30));
    let all = block_on(world.talk.prompt_with("", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(nodes_of(&all, PieceKind::Message).len(), 30);
    let last = block_on(world.talk.prompt_with("", &PromptOptions::new(300))).unwrap();
    let (left_out, shown) = (nodes_of(&last, PieceKind::Omitted), nodes_of(&last, PieceKind::Message));
    assert!(shown.len() > 5 && shown.ends_with(&[30]), "{shown:?}");
    assert_eq!([left_out, shown].concat(), (1..=30).collect::<Vec<_>>());
    assert!(world.summaries().is_empty());
}

#[test]
fn the_summarizing_manager_writes_nothing_before_a_prompt_does_not_fit() {
    let world = managed("summarizing", "");
    world.say(chat(40));
    let done = block_on(world.talk.compact()).unwrap();
    assert_eq!((done.summaries, world.summaries().len()), (0, 0), "nothing is due after a message");
    block_on(world.talk.prompt_with("", &PromptOptions::new(4_000).history_share(1.0))).unwrap();
    assert!(world.summaries().is_empty(), "everything fits");
    block_on(world.talk.prompt_with("", &PromptOptions::new(900).history_share(1.0))).unwrap();
    let [full, ..] = world.levels();
    assert!((10..40).contains(&full), "some of the oldest are summarized, and not the last ten: {full}");
    assert!(
        world.summaries().iter().any(|summary| summary.body.level == Level::Meta),
        "one summary of what one step took"
    );
}

/// Trap (a): 40 messages go 40, 29, 22, … and stay at 11 for ever, with a model call each.
#[test]
fn trap_a_the_summarizing_manager_says_that_nothing_is_left_and_pays_no_more() {
    let summarizer = Scripted::new(Manner::Good);
    let paid = Arc::clone(&summarizer);
    let strategy = strategy_named("summarizing", "").unwrap();
    let world = World::with(|builder, _| builder.strategy(strategy).summarizer(paid));
    world.say(chat(40));
    let manager = Arc::clone(world.memory.manager());
    let reduce = || block_on(manager.reduce(&id(), 1, Some(ReduceCause::Overflow)));
    let mut steps = 0;
    while reduce().is_ok() {
        steps += 1;
        assert!(steps < 20, "it goes on for ever");
    }
    let calls = summarizer.calls();
    assert!(matches!(reduce(), Err(ManagerError::NoProgress { .. })));
    assert_eq!(summarizer.calls(), calls, "nothing is paid for again");
    assert_eq!(world.levels()[0], 10, "the preserved tail stands");
}

#[test]
fn the_query_aware_history_shows_what_the_question_finds_in_its_place() {
    let world = managed("query-aware", r#"{"tail": 0.1, "share": 0.5}"#);
    world.say(chat(160));
    block_on(world.talk.compact()).unwrap();
    let options = PromptOptions::new(3_000).history_share(0.9);
    for topic in [9, 63] {
        let shown = block_on(world.talk.prompt_with(&format!("topic{topic}"), &options)).unwrap();
        assert!(nodes_of(&shown, PieceKind::Message).contains(&topic), "{}", shown.text());
        assert!(!nodes_of(&shown, PieceKind::Recalled).contains(&topic), "it is shown once");
    }
}

/// Ten long messages that no summary covers yet once took the room of whatever a manager selects.
#[test]
fn long_messages_at_the_end_leave_the_selected_ones_their_share() {
    let mut shown = Vec::new();
    for name in ["hierarchical", "importance-window", "query-aware", "semantic-summarizing", "tiered"] {
        let world = managed(name, "");
        world.say((1..=40).map(|number| line(number, 40)));
        world.say((41..=52).map(|number| line(number, if number % 2 == 0 { 700 } else { 40 })));
        let prompt = block_on(world.talk.prompt_with("What about topic3?", &PromptOptions::new(4_000))).unwrap();
        let verbatim = nodes_of(&prompt, PieceKind::Message);
        if name == "query-aware" {
            assert!(verbatim.contains(&3), "{verbatim:?}");
        }
        shown.push((name, verbatim));
    }
    for (index, (name, verbatim)) in shown.iter().enumerate() {
        for (other, others) in &shown[index + 1..] {
            assert_ne!(verbatim, others, "{name} shows what {other} shows");
        }
    }
}

#[test]
fn the_knowledge_manager_shows_what_holds_and_others_only_rules() {
    let promised =
        |n: usize| Message::user(format!("I'll send colour{n}, size{n} and panel{n} for the kitchen on Friday."));
    let standing = |name: &str| {
        let strategy = strategy_named(name, "").unwrap();
        let world = World::with(|builder, _| builder.strategy(strategy));
        let rule = Message::user("Always answer in at most five sentences.");
        world.say(std::iter::once(rule).chain((1..=60).map(promised)).chain((1..=120).map(|number| line(number, 40))));
        let shown =
            block_on(world.talk.prompt_with("What is sent for the kitchen?", &PromptOptions::new(2_000))).unwrap();
        assert!(shown.text().contains("Always answer in at most five sentences."), "{}", shown.text());
        shown.pieces.iter().filter(|piece| piece.kind == PieceKind::Standing).count()
    };
    assert!(standing("hierarchical") <= 1);
    assert!(standing("knowledge") > 5);
}

/// A manager that passes every call on, counts the messages that its hook sees, and keeps the count.
#[derive(Debug)]
struct Counting {
    name: &'static str,
    base: Arc<dyn ConversationManager>,
    seen: Arc<AtomicUsize>,
}

impl ExtendedManager for Counting {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new(self.name, "1")
    }

    fn base(&self) -> &Arc<dyn ConversationManager> {
        &self.base
    }

    fn own_state(&self, _conversation: &ConversationId) -> Option<Json> {
        Json::new(&self.seen.load(Ordering::Relaxed).to_string()).ok()
    }

    fn restore_own(&self, _conversation: &ConversationId, own: &Json) -> Result<(), ManagerError> {
        let seen = own.as_str().parse().map_err(|_| ManagerError::InvalidState { why: own.as_str().to_owned() })?;
        self.seen.store(seen, Ordering::Relaxed);
        Ok(())
    }

    fn register_own(self: Arc<Self>, hooks: &mut HookRegistry) {
        let seen = Arc::clone(&self.seen);
        hooks.listen("counting", move |_: &MessageAdded| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
    }
}

/// A counting manager that is built on another, and its count.
#[expect(clippy::type_complexity, reason = "no other place names what makes a manager on another")]
fn counting(
    name: &'static str,
) -> (impl FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager>, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let of = Arc::clone(&seen);
    (move |base| Arc::new(Counting { name, base, seen: of }) as Arc<dyn ConversationManager>, seen)
}

#[test]
fn an_extended_manager_keeps_the_hooks_and_the_work_of_its_base() {
    let (inner, of_base) = counting("inner");
    let (outer, own) = counting("outer");
    let world = World::with(|builder, _| builder.derived(inner).derived(outer));
    world.say(chat(50));
    block_on(world.talk.add_message(Message::user("How far are we?"))).unwrap();
    assert_eq!([&of_base, &own].map(|seen| seen.load(Ordering::Relaxed)), [1, 1], "each hook fired once");
    block_on(world.talk.compact()).unwrap();
    assert!(!world.summaries().is_empty(), "the hierarchical manager at the bottom wrote them");
    assert!(!world.compacted.lock().unwrap().is_empty(), "and its events reach the hooks");
    assert_eq!(world.memory.manager().identity().strategy, "outer");
    let state = block_on(world.talk.manager_state()).unwrap();
    assert!(state.removed_message_count > 0 && state.data["base"]["data"]["own"] == 1, "{state:?}");
}

#[test]
fn an_extended_manager_conforms() {
    block_on(manager_conformance(|store| {
        let builder = Memory::builder().store(store).token_counter(Arc::new(WordCounter)).derived(counting("mine").0);
        Arc::clone(builder.build().unwrap().manager())
    }));
}

#[test]
fn a_session_keeps_what_a_manager_knows_and_gives_it_to_no_other() {
    let store = Arc::new(MemoryStore::default());
    let open = |name| {
        let (make, seen) = counting(name);
        (World::over(Arc::clone(&store), |builder, _| builder.derived(make)), seen)
    };
    let (first, _) = open("mine");
    block_on(async {
        let talk = &first.talk;
        assert_eq!(talk.initialize().await.unwrap(), []);
        let run = talk.invoke().await.unwrap();
        talk.add_message(Message::user("One.")).await.unwrap();
        talk.add_message(Message::assistant("Two.")).await.unwrap();
        run.end().await.unwrap();
        assert!(!talk.keep_manager_state().await.unwrap(), "it is kept already");
    });
    drop(first);
    let (again, seen) = open("mine");
    block_on(again.talk.initialize()).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    assert_eq!(block_on(again.talk.stats()).unwrap().nodes, 2, "no message of the conversation itself");
    let listed = block_on(again.memory.list(ListOptions::default())).unwrap();
    assert_eq!(listed.conversations.len(), 1, "and none to go on with");

    let kept_text = block_on(again.talk.kept_manager_state()).unwrap().unwrap().to_json().as_str().to_owned();

    let (other, seen) = open("another");
    let refused = block_on(other.talk.initialize()).unwrap_err();
    assert!(matches!(refused, MemoryError::Manager(ManagerError::OtherManager { .. })), "{refused}");
    let refused = block_on(other.talk.keep_manager_state()).unwrap_err();
    assert!(refused.to_string().contains("`mine`, not of `another`"), "nothing is overwritten: {refused}");
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    block_on(other.talk.forget_manager_state()).unwrap();
    block_on(other.talk.initialize()).unwrap();
    assert!(block_on(other.talk.keep_manager_state()).unwrap());

    // A version without notes kept it as a message of another conversation.
    let old = Arc::new(MemoryStore::default());
    let said = ["One.", "Two."].map(|text| NodeDraft::new(Message::user(text), Timestamp::default(), 1));
    block_on(old.append(&id(), said.to_vec())).unwrap();
    let earlier = ConversationId::new(&format!("manager-state:{}", id())).unwrap();
    let metadata = [("document".to_owned(), Json::string("manager_state"))].into();
    let message = Message::text_of(Role::System, kept_text).metadata(metadata);
    block_on(old.append(&earlier, vec![NodeDraft::new(message, Timestamp::default(), 1)])).unwrap();
    block_on(old.record(&earlier, vec![Event::Tags(vec![Mark::Companion.tag().to_owned()])])).unwrap();
    let (make, seen) = counting("mine");
    let restored = World::over(Arc::clone(&old), |builder, _| builder.derived(make));
    block_on(restored.talk.initialize()).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 2);

    // A state that follows from the log alone is not kept.
    let plain = World::new();
    plain.say(chat(30));
    assert!(!block_on(plain.talk.keep_manager_state()).unwrap());
    assert_eq!(block_on(plain.talk.kept_manager_state()).unwrap(), None);
}

#[test]
fn another_manager_decides_what_is_shown_and_registers_its_hooks() {
    let seen = Arc::new(AtomicUsize::new(0));
    let world = World::with(|builder, store| {
        let (base, seen) = (Arc::new(EverythingManager::new(store)), Arc::clone(&seen));
        builder.manager(|_| Arc::new(Counting { name: "mine", base, seen }))
    });
    world.say(chat(50));
    block_on(world.talk.add_message(Message::user("How far are we?"))).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    let shown = block_on(world.talk.prompt_with("How far?", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&shown), (1..=51).collect::<Vec<_>>());
    assert!(world.summaries().is_empty(), "what the hierarchical manager would have written");
    let refused = block_on(world.talk.prompt_with("How far?", &PromptOptions::new(100))).unwrap_err();
    assert!(matches!(refused, MemoryError::Plan(_)), "{refused}");
}

#[test]
fn thresholds_count_for_every_manager_that_goes_by_them_and_are_refused_by_the_others() {
    let thresholds = Thresholds::default().recent_node_limit(3).summary_threshold(5);
    let with_thresholds = ["hierarchical", "importance-window", "query-aware", "knowledge"];
    for name in MANAGERS {
        let builder = || {
            let store = Arc::new(MemoryStore::default());
            Memory::builder().store(store).token_counter(Arc::new(WordCounter)).thresholds(thresholds)
        };
        let built = builder().strategy(strategy_named(name, "").unwrap()).build();
        if !with_thresholds.contains(&name) {
            assert_eq!(built.unwrap_err(), BuildError::NoThresholds { manager: name.to_owned() });
            continue;
        }
        let talk = built.unwrap().conversation(id());
        for message in (1..=8).map(|number| line(number, 80)) {
            block_on(talk.append(message)).unwrap();
        }
        block_on(talk.compact()).unwrap();
        assert_eq!(block_on(talk.stats()).unwrap().nodes_per_level[0], 3, "{name}");
    }
    let store = Arc::new(MemoryStore::default());
    let own = Memory::builder().store(Arc::clone(&store) as _).token_counter(Arc::new(WordCounter));
    let own = own.thresholds(thresholds).manager(|_| Arc::new(EverythingManager::new(store)));
    assert_eq!(own.build().unwrap_err(), BuildError::NoThresholds { manager: "everything".to_owned() });
}

#[test]
fn a_state_counts_the_messages_that_are_summarized_and_goes_to_its_own_manager_alone() {
    let world = World::new();
    world.say(chat(50));
    block_on(world.talk.compact()).unwrap();
    let state = block_on(world.talk.manager_state()).unwrap();
    let [full, ..] = world.levels();
    assert_eq!((state.manager.as_str(), state.removed_message_count), ("hierarchical", 50 - full));
    assert_eq!(block_on(world.talk.restore_manager(&state)).unwrap(), []);
    let other = ManagerState::new(WrittenBy::new("sliding-window", "1"), 9);
    let refused = block_on(world.talk.restore_manager(&other)).unwrap_err();
    assert!(refused.to_string().contains("`sliding-window`, not of `hierarchical`"), "{refused}");
}
