//! Levels of compression, and summaries.

use std::fmt;

use crate::{DISABLED, DISABLED_TOKENS, Hash, NodeRange, SummaryId, text::is_hidden};

/// Compression of a node in a view. The numbers are fixed.
///
/// Exhaustive: a new level is a new format.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Summary {
    /// Its number.
    pub id: SummaryId,
    /// Its content and coverage.
    pub body: SummaryDraft,
    /// True if the summary is disabled. Then its text is [`DISABLED`], unless the whole summary was asked for.
    #[cfg_attr(feature = "serde", serde(rename = "disabled", default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_disabled: bool,
}

impl Summary {
    /// The summary recorded under this number.
    #[must_use]
    pub fn new(id: SummaryId, body: SummaryDraft) -> Self {
        Self { id, body, is_disabled: false }
    }

    /// The summary as it is read while it is disabled.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.body.text = DISABLED.to_owned();
        self.body.tokens = DISABLED_TOKENS;
        self.body.metadata.topics.clear();
        Self { is_disabled: true, ..self }
    }
}

/// The part of a summary that planning needs: everything but its words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// True for a summary that was written for a view of a small budget and is in no tree.
    pub for_view: bool,
    /// True if the summary is disabled.
    pub is_disabled: bool,
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
            for_view: draft.for_view,
            is_disabled: false,
        }
    }

    /// The outline of a summary without children and tokens.
    #[must_use]
    pub fn new(id: SummaryId, level: Level, span: NodeRange) -> Self {
        Self { id, level, span, children: Box::default(), tokens: 0, for_view: false, is_disabled: false }
    }

    crate::setters! {
        children: Box<[SummaryId]>,
        const tokens: u32,
        const for_view: bool,
    }

    /// The outline of the same summary, which is disabled.
    #[must_use]
    pub fn disabled(self) -> Self {
        Self { tokens: DISABLED_TOKENS, is_disabled: true, ..self }
    }
}

/// A summary about to be recorded.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
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
    /// True if it was written for a view of a small budget, before it was due. The record lets the view be shown again,
    /// and larger views ignore it.
    pub for_view: bool,
    /// Number of erased messages among those that it covers, as far as its writer knew. It is not recorded: a store
    /// refuses a summary of which a message was erased while it was written.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub erased: u64,
}

impl SummaryDraft {
    /// A summary without children and metadata.
    #[must_use]
    pub fn new(
        level: Level,
        span: NodeRange,
        text: impl Into<String>,
        tokens: u32,
        written_by: WrittenBy,
        input_hash: Hash,
    ) -> Self {
        Self {
            level,
            span,
            children: Vec::new(),
            text: text.into(),
            tokens,
            metadata: SummaryMetadata::default(),
            written_by,
            input_hash,
            for_view: false,
            erased: 0,
        }
    }

    crate::setters! {
        children: Vec<SummaryId>,
        metadata: SummaryMetadata,
        const for_view: bool,
        const erased: u64,
    }
}

/// Metadata of the nodes that a summary covers.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct SummaryMetadata {
    /// Importance in 0..=1.
    pub importance: f32,
    /// Topics of the messages.
    pub topics: Vec<String>,
    /// True if a decision was taken.
    pub has_decision: bool,
    /// True if code was shown.
    pub has_code: bool,
    /// Lines of the messages that it covers.
    pub line_count: u64,
}

impl SummaryMetadata {
    crate::setters! {
        const importance: f32,
        topics: Vec<String>,
        const has_decision: bool,
        const has_code: bool,
        const line_count: u64,
    }
}

/// Who wrote something: a strategy by name and version, or a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct WrittenBy {
    /// The strategy's name, as in `spans`; `person` for a person.
    pub strategy: String,
    /// Its version, or the person's name, which may be empty. Another version may write other words from the same
    /// input.
    pub version: String,
}

impl WrittenBy {
    /// The strategy of this name and version.
    #[must_use]
    pub fn new(strategy: impl Into<String>, version: impl Into<String>) -> Self {
        Self { strategy: strategy.into(), version: version.into() }
    }

    /// A person, whose name may be empty. Only the first 64 visible characters of the name count.
    #[must_use]
    pub fn person(name: &str) -> Self {
        let name: String = name.trim().chars().filter(|c| !is_hidden(*c)).take(LONGEST_NAME).collect();
        Self::new(PERSON, name)
    }

    /// True if a person wrote it.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.strategy == PERSON
    }
}

/// Strategy name that stands for a person.
const PERSON: &str = "person";
/// The most characters of a person's name.
const LONGEST_NAME: usize = 64;

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.strategy)?;
        if self.version.is_empty() { Ok(()) } else { write!(f, " {}", self.version) }
    }
}
