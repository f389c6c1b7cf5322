//! A manager of the program's own, and the states of managers.
#![expect(clippy::unwrap_used, reason = "a helper of tests, which the lints do not know as a test")]

use std::sync::Arc;

use memory::{
    Access, BuildError, Builder, Config, Error, ManagerError, ManagerState, MemoryError, OpenError, PromptOptions,
    Thresholds, WrittenBy, blocking::Conversation, blocking::Memory,
};
use memory_core::testing::EverythingManager;

use crate::support::{Dir, remark};

/// A conversation that is long enough for summaries, after all background work.
fn talk(builder: Builder) -> Conversation {
    let memory = Memory::from(builder.open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    for number in 1..=60 {
        talk.append(remark(number)).unwrap();
    }
    memory.catch_up().unwrap();
    talk
}

#[test]
fn a_manager_of_the_programs_own_decides_what_is_shown() {
    let dir = Dir::new();
    let talk = talk(dir.words().manager(|store| Arc::new(EverythingManager::new(store))));
    assert_eq!(talk.stats().unwrap().summaries, 0, "the default manager would have written some");
    assert_eq!(talk.manager_state().unwrap().manager, "everything");
    let refused = talk.prompt_with("Where did we walk?", &PromptOptions::new(1_000)).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::Plan(_))), "it shows all of it or nothing: {refused}");
}

#[test]
fn a_session_keeps_the_state_of_a_manager_and_gives_it_to_no_other() {
    let dir = Dir::new();
    let talk = talk(dir.words());
    let state = talk.manager_state().unwrap();
    assert_eq!(state.manager, "hierarchical");
    assert!(state.removed_message_count > 0, "{state:?}");
    let kept = ManagerState::from_json(&state.to_json()).unwrap();
    assert_eq!(talk.restore_manager(&kept).unwrap(), []);
    let other = ManagerState::new(WrittenBy::new("sliding-window", "1"), 9);
    let refused = talk.restore_manager(&other).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::Manager(ManagerError::OtherManager { .. }))), "{refused}");
}

#[test]
fn thresholds_count_for_the_manager_of_the_configuration() {
    let thresholds = Thresholds::default().recent_node_limit(3).summary_threshold(5);
    let managed = |dir: &Dir, name: &str| {
        let config = Config::new(dir.store(), Access::Write).without_model().manager(name);
        Builder::of(config).thresholds(thresholds)
    };
    let dir = Dir::new();
    assert_eq!(talk(managed(&dir, "knowledge")).stats().unwrap().nodes_per_level[0], 3);
    let dir = Dir::new();
    let refused = managed(&dir, "sliding-window").open().unwrap_err();
    let named = |manager: &str| manager == "sliding-window";
    assert!(matches!(&refused, OpenError::Build(BuildError::NoThresholds { manager }) if named(manager)), "{refused}");
}
