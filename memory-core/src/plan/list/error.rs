//! Why a list cannot be reduced, and what is wrong with a configuration.

/// Why a list of messages cannot be made smaller. Nothing was changed.
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
    /// Wherever the list began, it would begin in the middle of a turn.
    #[error("no message of the list may begin a shorter one: a tool call would be parted from its result")]
    NoTrimPoint,
    /// The list could only be split within the preserved tail.
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
    /// All messages that could be removed are pinned.
    #[error("all messages in the range are pinned: unpin one")]
    AllPinned,
    /// A summary of what is left would be no shorter than what it stands for.
    #[error("exhausted: the list holds nothing before the preserved tail that a summary would make shorter")]
    Exhausted,
    /// A summary is not shorter than the message that it stands for.
    #[error("the summary has {after} characters, and what it stands for {before}: nothing was changed")]
    NoProgress {
        /// Characters of what would be replaced.
        before: usize,
        /// Characters of the summary.
        after: usize,
    },
    /// A plan was made for another list.
    #[error("the plan is for a list of {planned} messages, this one has {messages}")]
    OtherList {
        /// Messages of the planned list.
        planned: usize,
        /// Messages of this one.
        messages: usize,
    },
}

impl ListError {
    /// A name for programs, in lower case with underscores.
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

/// A configuration that no manager of lists accepts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} must be {expected}, got {found}")]
pub struct InvalidListConfig {
    /// The field.
    pub field: &'static str,
    /// The values that it may have.
    pub expected: &'static str,
    /// The value given.
    pub found: String,
}

impl InvalidListConfig {
    pub(super) fn new(field: &'static str, expected: &'static str, found: impl ToString) -> Self {
        Self { field, expected, found: found.to_string() }
    }
}
