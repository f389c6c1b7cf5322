//! Port: many words become few.

use std::fmt;

use super::{BoxError, BoxFuture, TokenCounter};
use crate::{Level, NodeRange, Role, SummaryMetadata, WrittenBy};

/// Something to be summarized: a message, or a summary of a lower level.
///
/// A SUMMARY is written from one message and an ARCHIVE from summaries. A META is written from its messages, too, each of
/// 8 KiB at most; the SUMMARY of one that is longer, or that cannot be read any more, stands among them.
#[derive(Clone, Debug, PartialEq)]
pub struct SummarySource {
    /// The nodes it stands for.
    pub nodes: NodeRange,
    /// Who speaks; `None` where it is a summary.
    pub role: Option<Role>,
    /// The speaker's name or role; empty where it is a summary.
    pub speaker: String,
    /// The words. Content that must stay out of summaries is already gone: where it was all, they are blank.
    pub text: String,
    /// What is known beside the words; of a message under a META, what its SUMMARY knows.
    pub metadata: SummaryMetadata,
}

/// A summary of fewer tokens may be blank: a character may cost several.
const FEW_TOKENS: u32 = 8;

/// What to summarize, and how long the summary may be.
#[derive(Clone, Copy, Debug)]
pub struct SummaryJob<'a> {
    /// The level of the summary to write.
    pub level: Level,
    /// What it is written from, in order; never empty.
    pub sources: &'a [SummarySource],
    /// The summary of what came right before, for strategies that carry on.
    pub previous: Option<&'a str>,
    /// The most tokens that the text may cost, by [`Self::counter`]; at least 1.
    pub max_tokens: u32,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
}

impl SummaryJob<'_> {
    /// All nodes that the sources stand for; `None` when there is no source.
    #[must_use]
    pub fn span(&self) -> Option<NodeRange> {
        self.sources.iter().map(|source| source.nodes).reduce(NodeRange::hull)
    }

    /// Whether the summary may say nothing: where the sources do not, or where not even one character may fit.
    #[must_use]
    pub fn may_be_blank(&self) -> bool {
        self.max_tokens < FEW_TOKENS || self.sources.iter().all(|source| source.text.trim().is_empty())
    }
}

/// What a summarizer wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenSummary {
    /// The words.
    pub text: String,
    /// What it found beside them; `line_count` is set by the manager.
    pub metadata: SummaryMetadata,
}

/// Writes summaries.
///
/// Contract: the text costs at most `max_tokens`, is not blank unless it [may be](SummaryJob::may_be_blank), and depends on the
/// job alone, so that a rebuild gives the same tree (a model-written summary is recorded and never asked
/// for twice). The whole of every source is read, not its beginning.
pub trait Summarizer: fmt::Debug + Send + Sync {
    /// Name and version, recorded with every summary.
    fn identity(&self) -> WrittenBy;

    /// Writes the summary.
    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>>;
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[error("summarizer {strategy} failed")]
pub struct SummarizeError {
    /// The strategy.
    pub strategy: WrittenBy,
    /// Why.
    #[source]
    pub source: BoxError,
}
