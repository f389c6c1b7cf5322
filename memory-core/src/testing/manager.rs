//! The conformance suite of conversation managers, and a manager that shows everything.
#![expect(clippy::expect_used, clippy::panic, reason = "a suite of tests: a breach panics")]

use std::sync::Arc;

use super::MemoryStore;
use crate::{
    ContentBlock, ConversationId, Json, Message, NodeDraft, NodeRange, Role, Timestamp, WrittenBy,
    plan::{PlanError, turns},
    port::{
        BoxFuture, CompactionReport, ConversationManager, ManagedView, ManagerError, ManagerState, Progress,
        ReduceCause, Source, Store, ViewBody, ViewPiece, ViewRequest,
    },
};

/// Maximum reductions before a manager must report that nothing is left.
const MOST_STEPS: usize = 64;
/// Budget above the cost of everything.
const ROOM: u32 = 1_000_000;

/// Checks a manager against the contract of [`ConversationManager`]. `make` creates a manager over a store.
///
/// # Panics
/// When the manager breaks the contract.
pub async fn manager_conformance(make: impl Fn(Arc<dyn Store>) -> Arc<dyn ConversationManager>) {
    let talk = ConversationId::new("talk").expect("a name");
    let store = Arc::new(MemoryStore::default());
    let manager = make(Arc::clone(&store) as Arc<dyn Store>);
    assert!(!manager.identity().strategy.is_empty() && !manager.identity().version.is_empty());
    let unknown = manager.manage(&talk, &()).await;
    assert!(matches!(&unknown, Err(ManagerError::Store(error)) if error.is_not_found()), "{unknown:?}");

    store.append(&talk, messages()).await.expect("appended");
    let everything = view(&*manager, &talk, ROOM).await.expect("a view of everything");
    covers(&everything, &store, &talk).await;
    it_manages_what_is_due_and_nothing_more(&*manager, &store, &talk).await;
    a_budget_is_kept_or_what_is_needed_is_said(&*manager, &store, &talk).await;
    states_come_back_and_those_of_others_are_refused(&*manager, &talk).await;
    a_reduction_makes_progress_or_fails_and_changes_nothing(&*manager, &store, &talk).await;
}

async fn it_manages_what_is_due_and_nothing_more(
    manager: &dyn ConversationManager,
    store: &MemoryStore,
    talk: &ConversationId,
) {
    manager.manage(talk, &()).await.expect("managed");
    let managed = view(manager, talk, ROOM).await.expect("a view");
    covers(&managed, store, talk).await;
    let again = manager.manage(talk, &()).await.expect("managed again");
    assert_eq!((again.summaries, again.tokens_after), (0, again.tokens_before), "nothing was due any more");
    assert_eq!(view(manager, talk, ROOM).await.expect("a view"), managed, "so the view stays");
}

async fn a_budget_is_kept_or_what_is_needed_is_said(
    manager: &dyn ConversationManager,
    store: &MemoryStore,
    talk: &ConversationId,
) {
    for budget in [40, 200, 600, 2_000] {
        match view(manager, talk, budget).await {
            Ok(shown) => {
                covers(&shown, store, talk).await;
                assert!(tokens(&shown.pieces, None) <= budget, "{} of {budget} tokens", tokens(&shown.pieces, None));
            }
            Err(ManagerError::Plan(PlanError::BudgetTooSmall { needed, .. })) => assert!(needed > budget, "{needed}"),
            Err(other) => panic!("another error: {other}"),
        }
    }
}

async fn states_come_back_and_those_of_others_are_refused(manager: &dyn ConversationManager, talk: &ConversationId) {
    let state = manager.state(talk).await.expect("a state");
    state.check(&manager.identity()).expect("its own");
    assert!(state.removed_message_count <= messages().len() as u64, "{state:?}");
    let read = ManagerState::from_json(&state.to_json()).expect("its own JSON");
    assert_eq!(read, state);
    let before = view(manager, talk, ROOM).await.expect("a view");
    manager.restore(talk, &read).await.expect("restored");
    let other = ManagerState::new(WrittenBy::new("another manager", "1"), 3);
    let refused = manager.restore(talk, &other).await;
    assert!(matches!(refused, Err(ManagerError::OtherManager { .. })), "{refused:?}");
    let invalid = ManagerState::from_json(&Json::new(r#"{"manager":7}"#).expect("JSON"));
    assert!(matches!(invalid, Err(ManagerError::InvalidState { .. })), "{invalid:?}");
    assert_eq!(view(manager, talk, ROOM).await.expect("a view"), before, "restoring changed nothing");
}

async fn a_reduction_makes_progress_or_fails_and_changes_nothing(
    manager: &dyn ConversationManager,
    store: &MemoryStore,
    talk: &ConversationId,
) {
    manager.reduce(talk, ROOM, None).await.expect("best effort");
    for _ in 0..MOST_STEPS {
        let before = view(manager, talk, ROOM).await.expect("a view");
        match manager.reduce(talk, 1, Some(ReduceCause::Overflow)).await {
            Ok(report) => assert!(report.tokens_after < report.tokens_before, "{report:?}"),
            Err(ManagerError::NoProgress { before: tokens, after }) => {
                assert!(after >= tokens, "{after} of {tokens}");
                assert_eq!(view(manager, talk, ROOM).await.expect("a view"), before, "it changed nothing");
                return;
            }
            Err(other) => panic!("another error: {other}"),
        }
        covers(&view(manager, talk, ROOM).await.expect("a view"), store, talk).await;
    }
    panic!("{MOST_STEPS} reductions, and none said that nothing is left");
}

async fn view(
    manager: &dyn ConversationManager,
    talk: &ConversationId,
    budget: u32,
) -> Result<ManagedView, ManagerError> {
    manager.view(&ViewRequest::new(talk, budget, &tokens)).await
}

/// Checks that a view shows each message exactly once, in order, and turns verbatim whole or not at all.
async fn covers(view: &ManagedView, store: &MemoryStore, talk: &ConversationId) {
    let outline = store.outline(talk).await.expect("an outline");
    assert_eq!(view.nodes, outline.len() as u64);
    let shown: Vec<_> = view.pieces.iter().flat_map(|piece| piece.nodes().iter()).map(|node| node.get()).collect();
    assert_eq!(shown, (1..=view.nodes).collect::<Vec<_>>());
    for turn in turns(&outline) {
        let whole = turn.iter().filter(|node| view.verbatim.iter().any(|run| run.contains(*node))).count() as u64;
        assert!(whole == 0 || whole == turn.count(), "{whole} messages of turn {turn}");
    }
    assert!(view.pieces.iter().all(|piece| !piece.reason.is_empty()), "each piece says why it is there");
}

fn tokens(pieces: &[ViewPiece], _: Option<u32>) -> u32 {
    let words = |text: &str| u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX);
    let of = |piece: &ViewPiece| match &piece.body {
        ViewBody::Message(node) => words(&node.message.text()),
        ViewBody::Summary { summary, .. } => words(&summary.body.text),
        ViewBody::Lost(_) | ViewBody::Omitted(_) | ViewBody::Disabled(_) => 1,
    };
    pieces.iter().map(of).sum()
}

/// Sixty messages: a chat, calls of tools one by one and in parallel, and one message that is excluded from summaries.
fn messages() -> Vec<NodeDraft> {
    let call = |id: &str| ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        input: Json::string("src/lib.rs"),
    };
    let result = |id: &str| ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: vec![ContentBlock::Text("41 rows were read".to_owned())],
        is_error: false,
    };
    let said = |number: usize| match number % 10 {
        3 => Message::new(Role::Assistant, vec![call("a"), call("b")]),
        4 => Message::new(Role::User, vec![result("a")]),
        5 => Message::new(Role::User, vec![result("b")]),
        7 => Message::user(format!("The code of door {number} is 4471-{number}.")).keep_out_of_summaries(true),
        number if number.is_multiple_of(2) => Message::assistant(text(number)),
        number => Message::user(text(number)),
    };
    let draft = |number: usize| {
        let message = said(number);
        let tokens = u32::try_from(message.text().split_whitespace().count()).unwrap_or(u32::MAX);
        let at = Timestamp::from_millis(1_750_000_000_000 + i64::try_from(number).unwrap_or_default() * 60_000);
        NodeDraft::new(message, at, tokens)
    };
    (0..60).map(draft).collect()
}

fn text(number: usize) -> String {
    format!("Message {number} is about topic{number} and {}", "many words of it ".repeat(8))
}

/// A manager that shows every message verbatim and has nothing to reduce, for tests of the code around a manager.
#[derive(Debug)]
pub struct EverythingManager {
    store: Arc<dyn Store>,
}

impl EverythingManager {
    /// A manager over a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

impl ConversationManager for EverythingManager {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("everything", "1")
    }

    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        Box::pin(async move {
            self.store.conversation(conversation).await?;
            Ok(CompactionReport::default())
        })
    }

    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        Box::pin(async move {
            let nodes = self.store.conversation(request.conversation).await?.nodes;
            let mut pieces = Vec::new();
            if let Some(all) = NodeRange::first_n(nodes) {
                let read = self.store.nodes(request.conversation, all).await?;
                pieces.extend(read.into_iter().map(|node| ViewPiece::new(ViewBody::Message(Box::new(node)), "all")));
            }
            match (request.tokens_of)(&pieces, None) {
                needed if needed > request.budget => {
                    Err(PlanError::BudgetTooSmall { needed, budget: request.budget }.into())
                }
                _ => Ok(ManagedView::new(nodes, pieces)),
            }
        })
    }

    fn reduce<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        Box::pin(async move {
            match cause {
                Some(_) => Err(ManagerError::NoProgress { before: 0, after: 0 }),
                None => Ok(CompactionReport::default()),
            }
        })
    }

    fn state<'a>(&'a self, _conversation: &'a ConversationId) -> BoxFuture<'a, Result<ManagerState, ManagerError>> {
        Box::pin(async { Ok(ManagerState::new(self.identity(), 0)) })
    }

    fn restore<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        state: &'a ManagerState,
    ) -> BoxFuture<'a, Result<Vec<Message>, ManagerError>> {
        Box::pin(async move { state.check(&self.identity()).map(|()| Vec::new()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_that_shows_everything_conforms() {
        pollster::block_on(manager_conformance(|store| Arc::new(EverythingManager::new(store))));
    }
}
