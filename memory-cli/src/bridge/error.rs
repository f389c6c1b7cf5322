//! Error answers to requests.

use memory::{Error, erasing::EraseError};
use memory_core::{
    json::InvalidMessage,
    plan::{PlanError, list::ListError},
    port::{BoxError, ManagerError, SummarizeError},
};
use serde_json::{Value, json};

use crate::failure;

/// An error answer: a code for programs and a sentence for people.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BridgeError {
    #[error("not a request: {0}")]
    Malformed(String),
    #[error("the line is longer than {most} bytes: --max-line allows longer ones")]
    TooLong { most: u64 },
    #[error("unknown manager `{0}`: use none, sliding-window, summarizing, semantic or hierarchical")]
    UnknownManager(String),
    #[error("no manager is open under the id {0}: send `open` first")]
    NotOpen(String),
    #[error("{0}")]
    Config(String),
    #[error("the manager `none` makes no list smaller")]
    NotManaged,
    #[error("no summary is due: only an answer with `summarize` asks for one")]
    NoSummaryDue,
    #[error("the summary is empty, so no message was removed: send another")]
    EmptySummary,
    #[error("nothing was asked: only an answer with `ask` wants a reply")]
    NothingAsked,
    #[error("the answer with `ask` has to be replied to first: send `reply`")]
    ReplyExpected,
    #[error("message {index} needs a valid `tracking_id`, so that the log takes it only once")]
    NoTrackingId { index: usize },
    #[error("message {index} differs from the logged message with the same `tracking_id`: the log keeps its own words")]
    OtherWords { index: usize },
    #[error("message {index} cannot be read")]
    Message {
        index: usize,
        #[source]
        source: InvalidMessage,
    },
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Manager(#[from] ManagerError),
    #[error("{0}")]
    Exhausted(String),
    #[error("{0}")]
    SessionExists(String),
    #[error("agent {agent} has another message {id} already: the next has the id {next}")]
    MessageExists { agent: String, id: u64, next: u64 },
    #[error("{0}")]
    NoSession(String),
    #[error("nothing was recalled")]
    NotRecalled(#[source] BoxError),
    #[error(transparent)]
    Summarize(#[from] SummarizeError),
    #[error(transparent)]
    Memory(#[from] Error),
    #[error(transparent)]
    Erase(#[from] EraseError),
    #[error("{}", failure::exactly(.0))]
    Store(anyhow::Error),
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error.is::<failure::NotFound>() || error.downcast_ref().is_some_and(Error::is_not_found)
}

impl BridgeError {
    pub(super) fn not_open(id: &Value) -> Self {
        Self::NotOpen(id.to_string())
    }

    /// True if the error is that nothing fits a budget.
    pub(super) fn is_budget(&self) -> bool {
        matches!(self.code(), "budget_too_small" | "question_too_long")
    }

    /// Code of the error, for programs.
    fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::TooLong { .. } => "too_long",
            Self::UnknownManager(_) => "unknown_manager",
            Self::NotOpen(_) => "not_open",
            Self::Config(_) => "invalid_config",
            Self::NotManaged => "not_managed",
            Self::NoSummaryDue => "no_summary_due",
            Self::NothingAsked => "nothing_asked",
            Self::ReplyExpected => "reply_expected",
            Self::NoTrackingId { .. } => "no_tracking_id",
            Self::OtherWords { .. } => "other_words",
            Self::Message { .. } => "invalid_message",
            Self::List(error) => error.code(),
            Self::Manager(ManagerError::OtherManager { .. }) => "other_manager",
            Self::Manager(_) => "invalid_state",
            Self::Exhausted(_) => "exhausted",
            Self::SessionExists(_) => "session_exists",
            Self::MessageExists { .. } => "message_exists",
            Self::NoSession(_) => "no_session",
            Self::NotRecalled(_) => "not_recalled",
            Self::EmptySummary | Self::Summarize(_) => "summary_failed",
            Self::Memory(Error::Plan(PlanError::BudgetTooSmall { .. })) => "budget_too_small",
            Self::Memory(Error::QuestionTooLong { .. }) => "question_too_long",
            Self::Erase(EraseError::Pattern { .. }) => "invalid_pattern",
            Self::Erase(EraseError::Memory(error)) if error.is_not_found() => "not_found",
            Self::Erase(_) => "not_erased",
            Self::Memory(error) if error.is_not_found() => "not_found",
            Self::Store(error) if is_not_found(error) => "not_found",
            Self::Memory(Error::Ledger(_)) => "invalid_config",
            Self::Memory(_) | Self::Store(_) => "store",
        }
    }

    /// The answer to the request that failed.
    pub(crate) fn to_json(&self) -> Value {
        let (error, message) = (self.code(), self.with_causes());
        match self {
            Self::MessageExists { next, .. } => json!({"error": error, "message": message, "next_id": next}),
            _ => json!({"error": error, "message": message}),
        }
    }

    /// The error as a notice in the answer to a request that did not fail by it.
    pub(super) fn to_notice(&self) -> Value {
        json!({"code": self.code(), "message": self.with_causes()})
    }

    fn with_causes(&self) -> String {
        let texts: Vec<_> = failure::causes(self).into_iter().map(|(_, text)| text).collect();
        texts.join(": ")
    }
}
