//! Errors of a memory.

use memory_core::{
    ConversationId, Level, NodeRange, WrittenBy,
    plan::{InvalidThresholds, PlanError},
    port::{HookError, ManagerError, RetrieveError, Sensitive, StoreError, SummarizeError},
};

use memory_search::FindError;

use crate::{
    LedgerError, RepairError, ViewError,
    candidate::{Candidate, Named},
};

/// Errors of a memory's calls.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The retriever failed.
    #[error(transparent)]
    Retrieve(#[from] RetrieveError),
    /// The summarizer failed, and so did its fallback.
    #[error(transparent)]
    Summarize(#[from] SummarizeError),
    /// A strategy broke its contract, and so did its fallback.
    #[error("strategy {strategy} broke its contract: {breach}")]
    Contract {
        /// The strategy.
        strategy: WrittenBy,
        /// The breach.
        breach: String,
    },
    /// A message holds what the memory must not take in.
    #[error(
        "the message was not appended, because it holds what is refused here ({class}): leave it out, or mask it by the \
         redaction {class}=mask"
    )]
    Refused {
        /// Class of the finding.
        class: Sensitive,
    },
    /// No view fits the budget.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The question leaves too little of the budget for the conversation.
    #[error(
        "the question takes {question} tokens, and with it a budget of {needed} is needed, not of {budget}: shorten the \
         question or raise the budget"
    )]
    QuestionTooLong {
        /// Tokens of the question.
        question: u32,
        /// Tokens of the smallest text with it.
        needed: u32,
        /// The budget.
        budget: u32,
    },
    /// A compaction would not have lowered the token count; nothing was recorded.
    #[error("compaction would leave {after} tokens of {before}: nothing was changed")]
    NoProgress {
        /// Tokens of the coarsest view before.
        before: u32,
        /// Tokens of the coarsest view after.
        after: u32,
    },
    /// Another task is already writing summaries of the conversation.
    #[error("summaries of `{conversation}` are being written by another task: try again when it is done")]
    AtWork {
        /// The conversation.
        conversation: ConversationId,
    },
    /// Other processes changed the documents before every attempt.
    #[error("others changed the documents {tries} times while this change was made: try again")]
    Contended {
        /// Number of attempts.
        tries: usize,
    },
    /// No summary matches the request.
    #[error("nothing to write anew: {}", no_summary(conversation, *nodes, *level))]
    NothingSummarized {
        /// The conversation.
        conversation: ConversationId,
        /// The requested nodes, if not all.
        nodes: Option<NodeRange>,
        /// The requested level, if not all.
        level: Option<Level>,
    },
    /// A summary cannot be repaired as requested.
    #[error(transparent)]
    Repair(#[from] RepairError),
    /// An entry of the ledger is not recorded or changed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No conversation matches a name.
    #[error("no conversation is meant by `{name}`: neither an id nor a title begins so")]
    NoConversation {
        /// The name.
        name: String,
    },
    /// Several conversations match a name.
    #[error("`{name}` may mean {} conversations: {}; give more of the id or the title", candidates.len(), Named(candidates))]
    Ambiguous {
        /// The name.
        name: String,
        /// Matching conversations.
        candidates: Vec<Candidate>,
    },
    /// A past view cannot be reproduced.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The program's own conversation manager failed.
    #[error(transparent)]
    Manager(ManagerError),
    /// A regular expression is invalid, or the store failed during the search.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The call did not finish: its thread panicked, or the threads of the memory ended meanwhile. Messages that it
    /// appended may be on disk.
    #[error("the call was interrupted: its thread panicked, or the memory was closed while it ran")]
    Interrupted,
}

impl MemoryError {
    /// True if the requested item does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::NothingSummarized { .. }
                | Self::NoConversation { .. }
                | Self::Ledger(LedgerError::NoEntry { .. })
                | Self::Repair(RepairError::NoSummary { .. })
        ) || matches!(self, Self::View(error) if error.is_not_found())
            || self.store_error().is_some_and(StoreError::is_not_found)
    }

    /// True if data on disk is damaged.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::View(error) if error.is_damage()) || self.store_error().is_some_and(StoreError::is_damage)
    }

    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::Retrieve(RetrieveError::Store(error)) | Self::Find(FindError::Store(error)) => {
                Some(error)
            }
            _ => None,
        }
    }
}

impl From<ManagerError> for MemoryError {
    fn from(error: ManagerError) -> Self {
        match error {
            ManagerError::Store(error) => Self::Store(error),
            ManagerError::Plan(error) => Self::Plan(error),
            ManagerError::NoProgress { before, after } => Self::NoProgress { before, after },
            ManagerError::Failed { manager, source } => match source.downcast::<Self>() {
                Ok(error) => *error,
                Err(source) => Self::Manager(ManagerError::Failed { manager, source }),
            },
            error => Self::Manager(error),
        }
    }
}

impl MemoryError {
    /// The error as a manager of this crate reports it.
    pub(crate) fn of_manager(self, manager: WrittenBy) -> ManagerError {
        match self {
            Self::Store(error) => ManagerError::Store(error),
            Self::Plan(error) => ManagerError::Plan(error),
            Self::NoProgress { before, after } => ManagerError::NoProgress { before, after },
            Self::Manager(error) => error,
            error => ManagerError::Failed { manager, source: error.into() },
        }
    }
}

fn no_summary(conversation: &ConversationId, nodes: Option<NodeRange>, level: Option<Level>) -> String {
    let summary = level.map_or_else(|| "summary".to_owned(), |level| level.to_string());
    match nodes {
        Some(nodes) => format!("no {summary} of `{conversation}` covers any of the nodes {nodes} yet"),
        None => format!("`{conversation}` has no {summary} yet"),
    }
}

/// Errors of building a memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A required port was not given.
    #[error("a memory needs a {0}: call MemoryBuilder::{0}")]
    Missing(&'static str),
    /// The thresholds contradict each other.
    #[error(transparent)]
    Thresholds(#[from] InvalidThresholds),
    /// Thresholds were given to a manager that does not use them.
    #[error("the manager `{manager}` takes no thresholds: leave them out, or set what it has in its own settings")]
    NoThresholds {
        /// The manager.
        manager: String,
    },
}
