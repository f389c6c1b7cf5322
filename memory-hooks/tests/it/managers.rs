//! Conversation managers behind their port: the default one conforms, and another takes its place.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory_core::{
    BoxFuture, CompactionReport, ConversationId, ConversationManager, HookRegistry, ManagedView, ManagerError,
    ManagerState, Message, Progress, ReduceCause, ViewRequest, WrittenBy,
    testing::{EverythingManager, WordCounter, manager_conformance},
};
use memory_hooks::{Memory, MemoryError, MessageAdded, PromptOptions};
use pollster::block_on;

use crate::support::{World, chat, covered};

#[test]
fn the_hierarchical_manager_conforms() {
    block_on(manager_conformance(|store| {
        let memory = Memory::builder().store(store).token_counter(Arc::new(WordCounter)).build().unwrap();
        Arc::clone(memory.manager())
    }));
}

/// A manager that passes every call on, and counts the messages that its hook sees.
#[derive(Debug)]
struct Counting {
    base: EverythingManager,
    seen: Arc<AtomicUsize>,
}

impl ConversationManager for Counting {
    fn identity(&self) -> WrittenBy {
        self.base.identity()
    }

    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        self.base.manage(conversation, progress)
    }

    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        self.base.view(request)
    }

    fn reduce<'a>(
        &'a self,
        conversation: &'a ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        self.base.reduce(conversation, tokens, cause)
    }

    fn state<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<ManagerState, ManagerError>> {
        self.base.state(conversation)
    }

    fn restore<'a>(
        &'a self,
        conversation: &'a ConversationId,
        state: &'a ManagerState,
    ) -> BoxFuture<'a, Result<Vec<Message>, ManagerError>> {
        self.base.restore(conversation, state)
    }

    fn register(self: Arc<Self>, hooks: &mut HookRegistry) {
        let seen = Arc::clone(&self.seen);
        hooks.listen("counting", move |_: &MessageAdded| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
    }
}

#[test]
fn another_manager_decides_what_is_shown_and_registers_its_hooks() {
    let seen = Arc::new(AtomicUsize::new(0));
    let world = World::with(|builder, store| {
        let base = EverythingManager::new(store);
        builder.manager(Arc::new(Counting { base, seen: Arc::clone(&seen) }))
    });
    world.say(chat(50));
    block_on(world.talk.add_message(Message::user("How far are we?"))).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    let shown = block_on(world.talk.prompt("How far?", &PromptOptions::new(4_000))).unwrap();
    assert_eq!(covered(&shown), (1..=51).collect::<Vec<_>>());
    assert!(world.summaries().is_empty(), "what the hierarchical manager would have written");
    let refused = block_on(world.talk.prompt("How far?", &PromptOptions::new(100))).unwrap_err();
    assert!(matches!(refused, MemoryError::Plan(_)), "{refused}");
}

#[test]
fn a_state_counts_the_messages_that_are_summarized_and_goes_to_its_own_manager_alone() {
    let world = World::new();
    world.say(chat(50));
    block_on(world.talk.compact(&())).unwrap();
    let state = block_on(world.talk.manager_state()).unwrap();
    let [full, ..] = world.levels();
    assert_eq!((state.manager.as_str(), state.removed_message_count), ("hierarchical", 50 - full));
    assert_eq!(block_on(world.talk.restore_manager(&state)).unwrap(), []);
    let other = ManagerState::new(WrittenBy::new("sliding-window", "1"), 9);
    let refused = block_on(world.talk.restore_manager(&other)).unwrap_err();
    assert!(refused.to_string().contains("`sliding-window`, not of `hierarchical`"), "{refused}");
}
