//! The plain data types of the interface: jobs, answers, failures.

use abi_stable::{
    StableAbi,
    std_types::{RSlice, RStr, RString, RVec},
};

/// Degree of compression of a summary; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level(pub u8);

impl Level {
    /// One or two sentences for one message.
    pub const SUMMARY: Self = Self(1);
    /// A group of 20 to 40 messages with its themes.
    pub const META: Self = Self(2);
    /// Several METAs or ARCHIVEs.
    pub const ARCHIVE: Self = Self(3);
}

/// Speaker of a text; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role(pub u8);

impl Role {
    /// No speaker, because the text is a summary.
    pub const NONE: Self = Self(0);
    /// A person, or a tool that answers for the person.
    pub const USER: Self = Self(1);
    /// The model.
    pub const ASSISTANT: Self = Self(2);
    /// Instructions of the application.
    pub const SYSTEM: Self = Self(3);
    /// A tool's result.
    pub const TOOL: Self = Self(4);
}

/// Flags of a text, one per bit; unknown bits are ignored.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// A decision was taken.
    pub const HAS_DECISION: Self = Self(1);
    /// The text contains code.
    pub const HAS_CODE: Self = Self(1 << 1);

    /// The union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A source of a summary: a message, or a summary of a lower level.
///
/// A SUMMARY is written from one message, a META from messages of at most 8 KiB (a longer or lost message is replaced
/// by its SUMMARY), an ARCHIVE from summaries.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct Source<'a> {
    /// First covered node, from 1.
    pub first_node: u64,
    /// Last covered node.
    pub last_node: u64,
    /// Number of lines of the covered messages.
    pub line_count: u64,
    /// Text; blank if all of it is excluded from summaries.
    pub text: RStr<'a>,
    /// Name or role of the speaker; empty for a summary.
    pub speaker: RStr<'a>,
    /// Topics, as far as known.
    pub topics: RSlice<'a, RStr<'a>>,
    /// Importance in 0..=1.
    pub importance: f32,
    /// Flags of the text.
    pub flags: Flags,
    /// The role of the speaker.
    pub role: Role,
}

/// Sources and limits of a summary.
///
/// A job has no preceding summary: a summary depends only on its sources, so that it can be rewritten after damage
/// without rewriting later ones.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct SummaryJob<'a> {
    /// The sources, in order; never empty.
    pub sources: RSlice<'a, Source<'a>>,
    /// Maximum tokens of the text, by the host's counter; at least 1.
    pub max_tokens: u32,
    /// Level of the summary to write.
    pub level: Level,
}

/// A written summary. The host refuses a text above the limit, and a blank one unless all sources are blank or fewer
/// than 8 tokens were allowed.
#[repr(C)]
#[derive(StableAbi, Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The text.
    pub text: RString,
    /// Topics of the text.
    pub topics: RVec<RString>,
    /// Importance in 0..=1; any other value is an error.
    pub importance: f32,
    /// Flags of the sources.
    pub flags: Flags,
}

/// A message to be scored.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct ScoreJob<'a> {
    /// Node of the message, from 1; 0 if the host does not state it.
    pub node: u64,
    /// Time of the message in milliseconds since 1970-01-01T00:00:00Z; [`ScoreJob::UNTOLD`] if the host does not state
    /// it.
    pub said_at: i64,
    /// The text of the message.
    pub text: RStr<'a>,
    /// Number of recalls of the message, as far as the host counts.
    pub uses: u32,
    /// Role of the speaker.
    pub role: Role,
}

impl ScoreJob<'_> {
    /// [`said_at`](Self::said_at) of a message whose time the host does not state.
    pub const UNTOLD: i64 = i64::MIN;
}

/// A failed call of a plugin.
#[repr(C)]
#[derive(StableAbi, Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub code: FailureCode,
    /// Cause and remedy in one sentence.
    pub message: RString,
}

impl Failure {
    /// The strategy cannot do this job.
    #[must_use]
    pub fn new(message: &str) -> Self {
        Self { code: FailureCode::FAILED, message: message.into() }
    }

    /// The configuration is invalid.
    #[must_use]
    pub fn configuration(message: &str) -> Self {
        Self { code: FailureCode::CONFIGURATION, message: message.into() }
    }

    /// The call was cancelled before it was done.
    #[must_use]
    pub fn cancelled() -> Self {
        Self { code: FailureCode::CANCELLED, message: "given up".into() }
    }

    /// The host lacks the requested service.
    #[must_use]
    pub fn unavailable(message: &str) -> Self {
        Self { code: FailureCode::UNAVAILABLE, message: message.into() }
    }
}

/// Kinds of failures; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailureCode(pub u32);

impl FailureCode {
    /// The strategy cannot do this job.
    pub const FAILED: Self = Self(1);
    /// The configuration is invalid.
    pub const CONFIGURATION: Self = Self(2);
    /// The plugin panicked.
    pub const PANICKED: Self = Self(3);
    /// The plugin is of another kind.
    pub const WRONG_KIND: Self = Self(4);
    /// The call was cancelled before it was done.
    pub const CANCELLED: Self = Self(5);
    /// The host lacks the requested service.
    pub const UNAVAILABLE: Self = Self(6);
}

/// The severity of a log line; an open set, higher is more severe.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogLevel(pub u8);

impl LogLevel {
    /// For the plugin's author.
    pub const DEBUG: Self = Self(1);
    /// For the operator of the host.
    pub const INFO: Self = Self(2);
    /// Something is unexpected.
    pub const WARN: Self = Self(3);
    /// Something failed.
    pub const ERROR: Self = Self(4);
}
