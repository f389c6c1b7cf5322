//! Port: the manager that keeps a conversation small enough for a model.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{BoxError, BoxFuture, HookRegistry, Losses, Notice, Progress, StoreError};
use crate::{
    ConversationId, Json, Message, Node, NodeRange, SourceClass, Summary, Timestamp, WrittenBy, plan::PlanError,
};

/// Keeps conversations small enough for a model: decides which part of a history the model is shown, and writes the
/// summaries for it.
///
/// Contract, which `testing::manager_conformance` checks:
/// - [`view`](Self::view) represents every message exactly once, in order, with whole turns together, and changes the
///   conversation only through the store.
/// - [`manage`](Self::manage) does only due work: an immediate second call does nothing.
/// - [`reduce`](Self::reduce) with a cause makes the smallest view smaller or fails; a failure does not change any
///   view. Without a cause, the reduction is best effort.
/// - [`state`](Self::state) holds the manager's data in addition to the log. A state of another manager is refused.
/// - The memory that calls [`manage`](Self::manage) or [`reduce`](Self::reduce) announces their errors to hooks; the
///   manager announces only failures that it does not return.
pub trait ConversationManager: fmt::Debug + Send + Sync {
    /// Name and version. The name identifies the manager of a state.
    fn identity(&self) -> WrittenBy;

    /// Performs the work that is due for a conversation, in the background: may run in parallel with views.
    ///
    /// # Errors
    /// If the store or a strategy fails. Finished work stays.
    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>>;

    /// A view of the history for a model, within a budget.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] with the tokens needed; other errors if the store or a strategy fails.
    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>>;

    /// Makes the smallest view of a conversation cost at most `tokens`, or as little as possible.
    ///
    /// # Errors
    /// With a cause: [`ManagerError::NoProgress`] if the smallest view does not become smaller. Other errors if the
    /// store or a strategy fails.
    fn reduce<'a>(
        &'a self,
        conversation: &'a ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>>;

    /// State of the manager for a conversation in addition to the log, to be stored with a session.
    ///
    /// # Errors
    /// When the store fails.
    fn state<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<ManagerState, ManagerError>>;

    /// Restores a state of [`state`](Self::state). Returns messages to put before those of the session, such as an
    /// earlier summary that the log does not hold.
    ///
    /// # Errors
    /// [`ManagerError::OtherManager`] and [`ManagerError::InvalidState`]; nothing changes then.
    fn restore<'a>(
        &'a self,
        conversation: &'a ConversationId,
        state: &'a ManagerState,
    ) -> BoxFuture<'a, Result<Vec<Message>, ManagerError>>;

    /// Registers the hooks that the manager needs; none by default. A manager that extends another one first registers
    /// that one's.
    fn register(self: Arc<Self>, _hooks: &mut HookRegistry) {}
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionReport {
    /// Summaries written.
    pub summaries: u64,
    /// Tokens of the coarsest view before.
    pub tokens_before: u32,
    /// Tokens of the coarsest view after.
    pub tokens_after: u32,
    /// True if due work was left undone, because another process holds the store's lease for background work, or
    /// another task of this memory compacts the conversation.
    pub is_left_to_another: bool,
}

impl CompactionReport {
    crate::setters! {
        const summaries: u64,
        const tokens_before: u32,
        const tokens_after: u32,
        const is_left_to_another: bool,
    }
}

/// Reason for making a conversation smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceCause {
    /// A prompt exceeded the window of a model.
    Overflow,
}

/// A request for a view.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ViewRequest<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Maximum tokens of the whole prompt.
    pub budget: u32,
    /// The question, for a manager whose history depends on it.
    pub question: &'a str,
    /// Tokens that the history should take at most if it does not fit verbatim. A history whose smallest view needs
    /// more takes more; a strategy that puts more into the history takes its own share.
    pub most: u32,
    /// Tokens that the messages after the last user's message may take before they are shortened, if the history does
    /// not fit verbatim.
    pub reply: u32,
    /// Maximum tokens that the question adds.
    pub question_tokens: u32,
    /// Tokens to reserve for standing lines if the history does not fit verbatim.
    pub standing_tokens: u32,
    /// Tokens to reserve for recall from other conversations, even if the history fits verbatim. A history that does
    /// not fit next to them is limited to its share.
    pub elsewhere_tokens: u32,
    /// Maximum tokens of a text of the last turn; a longer one is shown by head and tail.
    pub longest_result: Option<u32>,
    /// True if due work is done first; false if a background worker does it.
    pub manages: bool,
    /// Counts the tokens of the prompt that shows this history, with texts of the last turn of at most so many tokens,
    /// and the question.
    pub tokens_of: &'a TokensOf<'a>,
}

/// Counts the tokens of a prompt with a history and a limit on the texts of its last turn.
pub type TokensOf<'a> = dyn Fn(&[ViewPiece], Option<u32>) -> u32 + Send + Sync + 'a;

impl<'a> ViewRequest<'a> {
    /// A request for a history only, for which due work is done first.
    #[must_use]
    pub fn new(conversation: &'a ConversationId, budget: u32, tokens_of: &'a TokensOf<'a>) -> Self {
        Self {
            conversation,
            budget,
            question: "",
            most: budget,
            reply: budget,
            question_tokens: 0,
            standing_tokens: 0,
            elsewhere_tokens: 0,
            longest_result: None,
            manages: true,
            tokens_of,
        }
    }

    crate::setters! {
        const question: &'a str,
        const most: u32,
        const reply: u32,
        const question_tokens: u32,
        const standing_tokens: u32,
        const elsewhere_tokens: u32,
        const longest_result: Option<u32>,
        const manages: bool,
    }
}

impl fmt::Debug for ViewRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewRequest")
            .field("conversation", &self.conversation)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// A view of a history.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ManagedView {
    /// Number of messages in the conversation.
    pub nodes: u64,
    /// Pieces that represent each message exactly once, in order.
    pub pieces: Vec<ViewPiece>,
    /// Runs of messages that are shown verbatim, including lost messages between them.
    pub verbatim: Vec<NodeRange>,
    /// Limit in tokens to which the prompt shortens texts of the last turn; `None` if every text stays whole.
    pub longest_result: Option<u32>,
    /// Unreadable messages of the conversation.
    pub losses: Losses,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

impl ManagedView {
    /// A view of `nodes` messages.
    #[must_use]
    pub fn new(nodes: u64, pieces: Vec<ViewPiece>) -> Self {
        let is_message = |piece: &&ViewPiece| matches!(piece.body, ViewBody::Message(_));
        let verbatim = NodeRange::merge(pieces.iter().filter(is_message).map(ViewPiece::nodes).collect());
        Self { nodes, pieces, verbatim, ..Self::default() }
    }

    crate::setters! {
        verbatim: Vec<NodeRange>,
        const longest_result: Option<u32>,
        losses: Losses,
        notices: Vec<Notice>,
    }
}

/// A piece of a view.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ViewPiece {
    /// Content of the piece.
    pub body: ViewBody,
    /// Reason for choosing the piece.
    pub reason: String,
}

/// Content of a piece of a view.
///
/// Exhaustive, because a prompt must show every kind.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewBody {
    /// A message, verbatim.
    Message(Box<Node>),
    /// A summary, with the times of its first and last message (the epoch if unknown) and the least trusted source of
    /// its messages.
    Summary {
        /// The summary, without excluded content.
        summary: Box<Summary>,
        /// Time of its first message.
        from: Timestamp,
        /// Time of its last message.
        to: Timestamp,
        /// The least trusted source of its messages.
        source: Option<SourceClass>,
    },
    /// A line for messages that cannot be read.
    Lost(NodeRange),
    /// A line for messages that the manager omits. The log holds them, and recall finds them.
    Omitted(NodeRange),
    /// A line for messages that are disabled.
    Disabled(NodeRange),
}

impl ViewPiece {
    /// A piece with the reason for choosing it.
    #[must_use]
    pub fn new(body: ViewBody, reason: impl Into<String>) -> Self {
        Self { body, reason: reason.into() }
    }

    /// The messages that the piece represents.
    #[must_use]
    pub fn nodes(&self) -> NodeRange {
        match &self.body {
            ViewBody::Message(node) => NodeRange::single(node.id),
            ViewBody::Summary { summary, .. } => summary.body.span,
            ViewBody::Lost(nodes) | ViewBody::Omitted(nodes) | ViewBody::Disabled(nodes) => *nodes,
        }
    }
}

/// State of a manager for a conversation, in addition to the log. JSON: `{"manager", "version",
/// "removed_message_count", "data"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ManagerState {
    /// The manager's name.
    pub manager: String,
    /// The manager's version.
    pub version: String,
    /// Number of user and model messages that no view shows verbatim any more, without those that the manager wrote.
    pub removed_message_count: u64,
    /// Other data of the manager.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub data: serde_json::Value,
}

impl ManagerState {
    /// The state of a manager without other data.
    #[must_use]
    pub fn new(manager: WrittenBy, removed_message_count: u64) -> Self {
        Self {
            manager: manager.strategy,
            version: manager.version,
            removed_message_count,
            data: serde_json::Value::Null,
        }
    }

    crate::setters! { data: serde_json::Value }

    /// The state as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::from_value(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Parses the result of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// [`ManagerError::InvalidState`].
    pub fn from_json(json: &Json) -> Result<Self, ManagerError> {
        serde_json::from_str(json.as_str()).map_err(|error| ManagerError::InvalidState { why: error.to_string() })
    }

    /// Checks that the state is of this manager, in any version.
    ///
    /// # Errors
    /// [`ManagerError::OtherManager`].
    pub fn check(&self, manager: &WrittenBy) -> Result<(), ManagerError> {
        if self.manager == manager.strategy {
            return Ok(());
        }
        Err(ManagerError::OtherManager { found: self.manager.clone(), expected: manager.strategy.clone() })
    }
}

/// Reason why a manager failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No view fits the budget.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The conversation did not become smaller; nothing changed.
    #[error("compaction would leave {after} tokens of {before}: nothing was changed")]
    NoProgress {
        /// Tokens of the coarsest view before.
        before: u32,
        /// Tokens of the coarsest view after.
        after: u32,
    },
    /// The state is of another manager.
    #[error("the state is that of the manager `{found}`, not of `{expected}`: restore it with `{found}`")]
    OtherManager {
        /// The manager of the state.
        found: String,
        /// The manager that restores it.
        expected: String,
    },
    /// The state cannot be read.
    #[error("not the state of a manager: {why}")]
    InvalidState {
        /// The fault.
        why: String,
    },
    /// The manager failed for a reason of its own.
    #[error("the manager {manager} failed")]
    Failed {
        /// The manager.
        manager: WrittenBy,
        /// The cause.
        #[source]
        source: BoxError,
    },
}
