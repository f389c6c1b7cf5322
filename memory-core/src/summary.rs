//! Levels of compression, and summaries.

use std::fmt;

use crate::{Hash, NodeRange, SummaryId};

/// How strongly a node is compressed in a view. The numbers are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// The message itself.
    Full = 0,
    /// One or two sentences for one node.
    Summary = 1,
    /// A group of 20 to 40 nodes with its themes.
    Meta = 2,
    /// Several METAs or ARCHIVEs.
    Archive = 3,
}

impl Level {
    /// All levels, finest first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Summary, Self::Meta, Self::Archive];

    /// The level's fixed number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The level with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.number() == number)
    }

    /// The level's name in capitals.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Summary => "SUMMARY",
            Self::Meta => "META",
            Self::Archive => "ARCHIVE",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A recorded summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its number.
    pub id: SummaryId,
    /// Its content and coverage.
    pub body: SummaryDraft,
}

/// The part of a summary that planning needs: everything but its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryOutline {
    /// Its number.
    pub id: SummaryId,
    /// SUMMARY, META or ARCHIVE.
    pub level: Level,
    /// The nodes it covers.
    pub span: NodeRange,
    /// The summaries it was made from; empty at level SUMMARY.
    pub children: Box<[SummaryId]>,
    /// Tokens of the words.
    pub tokens: u32,
}

impl SummaryOutline {
    /// The outline of a summary with this number.
    #[must_use]
    pub fn of(id: SummaryId, draft: &SummaryDraft) -> Self {
        Self {
            id,
            level: draft.level,
            span: draft.span,
            children: draft.children.as_slice().into(),
            tokens: draft.tokens,
        }
    }
}

/// A summary about to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryDraft {
    /// SUMMARY, META or ARCHIVE.
    pub level: Level,
    /// The nodes it covers.
    pub span: NodeRange,
    /// The summaries it was made from; empty at level SUMMARY. Their spans tile [`Self::span`].
    pub children: Vec<SummaryId>,
    /// The words.
    pub text: String,
    /// Tokens of the words.
    pub tokens: u32,
    /// Metadata of the nodes it covers.
    pub metadata: SummaryMetadata,
    /// Who wrote it.
    pub written_by: WrittenBy,
    /// Hash over the leaves and texts that it was written from.
    pub input_hash: Hash,
}

/// Metadata of the nodes that a summary covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryMetadata {
    /// Importance in 0..=1.
    pub importance: f32,
    /// What it is about.
    pub topics: Vec<String>,
    /// Whether a decision was taken.
    pub has_decision: bool,
    /// Whether code was shown.
    pub has_code: bool,
    /// Lines of the messages that it covers.
    pub line_count: u64,
}

/// The strategy that wrote something, by name and version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WrittenBy {
    /// The strategy's name, as in `extractive`.
    pub strategy: String,
    /// Its version. Another version may write other words from the same input.
    pub version: String,
}

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.strategy, self.version)
    }
}
