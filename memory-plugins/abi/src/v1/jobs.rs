//! What goes in and what comes out.

use abi_stable::{
    StableAbi,
    std_types::{RSlice, RStr, RString, RVec},
};

/// How strongly a summary compresses; an open set.
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

/// Who speaks; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role(pub u8);

impl Role {
    /// Nobody: the text is a summary.
    pub const NONE: Self = Self(0);
    /// A person, or a tool answering on their side.
    pub const USER: Self = Self(1);
    /// The model.
    pub const ASSISTANT: Self = Self(2);
    /// Instructions of the application.
    pub const SYSTEM: Self = Self(3);
    /// A tool's answer.
    pub const TOOL: Self = Self(4);
}

/// Facts about a text, one a bit; unknown bits are ignored.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// A decision was taken.
    pub const HAS_DECISION: Self = Self(1);
    /// Code was shown.
    pub const HAS_CODE: Self = Self(1 << 1);

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Something to be summarized: a message, or a summary of a lower level.
///
/// A SUMMARY is written from one message, a META from messages of 8 KiB at most (the SUMMARY of one that is longer or lost
/// stands among them), an ARCHIVE from summaries.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The first node it stands for, from 1.
    pub first_node: u64,
    /// The last node it stands for.
    pub last_node: u64,
    /// Lines of the messages it stands for.
    pub line_count: u64,
    /// The words; blank where all of them are kept out of summaries.
    pub text: RStr<'a>,
    /// The speaker's name or role; empty where it is a summary.
    pub speaker: RStr<'a>,
    /// What it is about, as far as known.
    pub topics: RSlice<'a, RStr<'a>>,
    /// Weight in 0..=1.
    pub importance: f32,
    /// What is known about it.
    pub flags: Flags,
    /// Who speaks.
    pub role: Role,
}

/// What to summarize, and how long the summary may be.
///
/// There is no summary of what came before: a summary depends on what it covers alone, so that it can be written anew
/// after damage without rewriting all that follows it.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct SummaryJob<'a> {
    /// What it is written from, in order; never empty.
    pub sources: RSlice<'a, Source<'a>>,
    /// The most tokens that the text may cost, counted by the host; at least 1.
    pub max_tokens: u32,
    /// The level of the summary to write.
    pub level: Level,
}

/// A written summary. The host refuses a text above the bound, and a blank one unless all sources are or
/// fewer than 8 tokens were allowed.
#[repr(C)]
#[derive(StableAbi, Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The words.
    pub text: RString,
    /// What it is about.
    pub topics: RVec<RString>,
    /// Weight in 0..=1; what lies outside is an error.
    pub importance: f32,
    /// What was found beside the words.
    pub flags: Flags,
}

/// A message to be scored.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, Debug)]
pub struct ScoreJob<'a> {
    /// The message's node, from 1; 0 where the host does not tell.
    pub node: u64,
    /// When it was said, in milliseconds since 1970-01-01T00:00:00Z; [`ScoreJob::UNTOLD`] where the host does not tell.
    pub said_at: i64,
    /// What is said.
    pub text: RStr<'a>,
    /// How often it was recalled, as far as the host counts.
    pub uses: u32,
    /// Who speaks.
    pub role: Role,
}

impl ScoreJob<'_> {
    /// [`said_at`](Self::said_at) of a message whose time the host does not tell.
    pub const UNTOLD: i64 = i64::MIN;
}

/// Why a plugin gives no answer.
#[repr(C)]
#[derive(StableAbi, Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What sort of failure.
    pub code: FailureCode,
    /// What happened and what to do, in a sentence.
    pub message: RString,
}

impl Failure {
    /// The strategy cannot do this job.
    #[must_use]
    pub fn new(message: &str) -> Self {
        Self { code: FailureCode::FAILED, message: message.into() }
    }

    /// The configuration makes no sense.
    #[must_use]
    pub fn configuration(message: &str) -> Self {
        Self { code: FailureCode::CONFIGURATION, message: message.into() }
    }

    /// The call was given up before it was done.
    #[must_use]
    pub fn cancelled() -> Self {
        Self { code: FailureCode::CANCELLED, message: "given up".into() }
    }

    /// The host does not have what is asked for.
    #[must_use]
    pub fn unavailable(message: &str) -> Self {
        Self { code: FailureCode::UNAVAILABLE, message: message.into() }
    }
}

/// Sorts of failures; an open set.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailureCode(pub u32);

impl FailureCode {
    /// The strategy cannot do this job.
    pub const FAILED: Self = Self(1);
    /// The configuration makes no sense.
    pub const CONFIGURATION: Self = Self(2);
    /// The plugin panicked.
    pub const PANICKED: Self = Self(3);
    /// The plugin is of another kind.
    pub const WRONG_KIND: Self = Self(4);
    /// The call was given up before it was done.
    pub const CANCELLED: Self = Self(5);
    /// The host does not have what is asked for.
    pub const UNAVAILABLE: Self = Self(6);
}

/// How loud a line of the log is; an open set, higher is louder.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogLevel(pub u8);

impl LogLevel {
    /// For the plugin's author.
    pub const DEBUG: Self = Self(1);
    /// For whoever runs the host.
    pub const INFO: Self = Self(2);
    /// Something is not as it should be.
    pub const WARN: Self = Self(3);
    /// Something failed.
    pub const ERROR: Self = Self(4);
}
