//! A manager of the program's own, and the states of managers.
#![expect(clippy::unwrap_used, reason = "a helper of tests, which the lints do not know as a test")]

use std::sync::Arc;

use memory::{
    Access, Builder, Config, Error, Message, OpenError, PromptOptions,
    blocking::{Conversation, Memory},
    plan::{BuildError, Thresholds},
    port::{
        BoxFuture, ConversationManager, ExtendedManager, ManagerError, ManagerState, ModelId, Reranker, ScoreScale,
        WrittenBy,
    },
};
use memory_core::{
    port::RerankError,
    testing::{EverythingManager, HashEmbedder},
};

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
    assert!(matches!(refused, Error::Plan(_)), "it shows all of it or nothing: {refused}");
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
    assert!(matches!(refused, Error::Manager(ManagerError::OtherManager { .. })), "{refused}");
}

#[test]
fn thresholds_count_for_the_manager_of_the_configuration() {
    let thresholds = Thresholds::default().recent_node_limit(3).summary_threshold(5);
    let managed = |dir: &Dir, name: &str| {
        let config = Config::new(dir.store(), Access::Write).without_model().manager(name);
        Builder::of(config).thresholds(thresholds)
    };
    let dir = Dir::new();
    // By default 20 stand. How many do here depends on when the background came by.
    let standing = talk(managed(&dir, "knowledge")).stats().unwrap().nodes_per_level[0];
    assert!((3..=5).contains(&standing), "{standing}");
    let dir = Dir::new();
    let refused = managed(&dir, "sliding-window").open().unwrap_err();
    let named = |manager: &str| manager == "sliding-window";
    assert!(matches!(&refused, OpenError::Build(BuildError::NoThresholds { manager }) if named(manager)), "{refused}");
}

/// Passes everything on.
#[derive(Debug)]
struct Same(Arc<dyn ConversationManager>);

impl ExtendedManager for Same {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("same", "1")
    }

    fn base(&self) -> &Arc<dyn ConversationManager> {
        &self.0
    }
}

#[test]
fn a_manager_derived_from_the_semantic_one_keeps_its_recall_hook() {
    let dir = Dir::new();
    let config = Config::new(dir.store(), Access::Write).without_model().manager("semantic-summarizing");
    let memory = Memory::from(Builder::of(config).derived(|base| Arc::new(Same(base))).open().unwrap());
    let talk = memory.conversation("talk").unwrap();
    talk.append(Message::user("My bag is in locker 4471.")).unwrap();
    let sent = talk.add_message(Message::user("Which locker has my bag?")).unwrap().outgoing.text();
    assert!(sent.contains("---Previous Context---\n") && sent.contains("locker 4471"), "{sent}");
    assert_eq!(talk.manager_state().unwrap().manager, "same");
}

/// Gives each text that speaks of lockers 5, of a bag alone -1, and of neither -3.
#[derive(Debug)]
struct Lockers(ModelId);

impl Reranker for Lockers {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    fn rerank<'a>(&'a self, _: &'a str, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<f32>, RerankError>> {
        let score = |text: &&str| match (text.contains("locker"), text.contains("bag")) {
            (true, _) => 5.0,
            (false, true) => -1.0,
            (false, false) => -3.0,
        };
        Box::pin(async move { Ok(texts.iter().map(score).collect()) })
    }
}

/// Nodes found for a question under a manager with a cross-encoder, without a least score in the configuration.
fn found_under(manager: &str) -> Vec<u64> {
    let dir = Dir::new();
    let config = Config::new(dir.store(), Access::Write).manager(manager);
    assert_eq!(config.min_score, None);
    let builder = Builder::of(config).embedder(Arc::new(HashEmbedder::new(32)));
    let memory = builder.reranker(Arc::new(Lockers(ModelId::new("lockers")))).open().unwrap();
    let talk = Memory::from(memory).conversation("talk").unwrap();
    for text in ["My bag is red.", "It has been at the station.", "It is in locker 4471.", "Where was my station?"] {
        talk.append(Message::user(text)).unwrap();
    }
    let found = talk.search("Where at the station is my bag, in which locker?", 10).unwrap();
    let mut nodes: Vec<_> = found.hits.iter().map(|hit| hit.node.id.get()).collect();
    nodes.sort_unstable();
    nodes
}

#[test]
fn the_semantic_manager_drops_what_scores_below_minus_two_by_default() {
    assert_eq!(found_under("hierarchical"), [1, 2, 3, 4]);
    assert_eq!(found_under("semantic-summarizing"), [1, 3]);
}
