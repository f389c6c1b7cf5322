//! Errors of reducing a list, and of configurations.

/// Reason why a list of messages cannot be made smaller. The list is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// All messages belong to the preserved tail.
    #[error(
        "insufficient messages for summarization: there are {messages}, and the last {preserved} are preserved; preserve \
         fewer, or shorten a message"
    )]
    Insufficient {
        /// Messages in the list.
        messages: usize,
        /// Messages that are preserved.
        preserved: usize,
    },
    /// A list that begins at any later message would begin within a turn.
    #[error("no message of the list may begin a shorter one: a tool call would be parted from its result")]
    NoTrimPoint,
    /// Every possible split is within the preserved tail.
    #[error(
        "every place before the last {preserved} messages parts a tool call from its result, and these are preserved: \
         preserve fewer"
    )]
    TailPreserved {
        /// Messages that are preserved.
        preserved: usize,
    },
    /// A split beyond the end of the list.
    #[error("split point {split} exceeds the message array length {messages}")]
    SplitBeyondEnd {
        /// The split.
        split: usize,
        /// Messages in the list.
        messages: usize,
    },
    /// All removable messages are pinned.
    #[error("all messages in the range are pinned: unpin one")]
    AllPinned,
    /// A summary of the remaining messages would not shorten the list.
    #[error("exhausted: the list holds nothing before the preserved tail that a summary would make shorter")]
    Exhausted,
    /// A summary is not shorter than the messages that it replaces.
    #[error("the summary has {after} characters, and what it stands for {before}: nothing was changed")]
    NoProgress {
        /// Characters of the messages that it would replace.
        before: usize,
        /// Characters of the summary.
        after: usize,
    },
    /// The plan was made for another list.
    #[error("the plan is for a list of {planned} messages, this one has {messages}")]
    OtherList {
        /// Messages of the planned list.
        planned: usize,
        /// Messages of this one.
        messages: usize,
    },
}

impl ListError {
    /// Code for programs: lower case with underscores; never changes.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Insufficient { .. } => "insufficient_messages",
            Self::NoTrimPoint => "no_trim_point",
            Self::TailPreserved { .. } => "tail_preserved",
            Self::SplitBeyondEnd { .. } => "split_beyond_end",
            Self::AllPinned => "all_pinned",
            Self::Exhausted => "exhausted",
            Self::NoProgress { .. } => "no_progress",
            Self::OtherList { .. } => "other_list",
        }
    }
}

/// An invalid value in the configuration of a list manager.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} must be {expected}, got {found}")]
pub struct InvalidListConfig {
    /// The field.
    pub field: &'static str,
    /// The valid values.
    pub expected: &'static str,
    /// The invalid value.
    pub found: String,
}

impl InvalidListConfig {
    pub(super) fn new(field: &'static str, expected: &'static str, found: impl ToString) -> Self {
        Self { field, expected, found: found.to_string() }
    }
}
