//! Port: writing summaries of messages and of summaries.

use std::{fmt, sync::Arc};

use super::{BoxError, BoxFuture, TokenCounter};
use crate::{Level, NodeRange, Role, SummaryMetadata, WrittenBy};

/// A source of a summary: a message, or a summary of a lower level.
///
/// A SUMMARY is written from one message and an ARCHIVE from summaries. A META is also written from its messages, each
/// of at most 8 KiB; a longer or unreadable message is replaced by its SUMMARY.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummarySource {
    /// Nodes that the source represents.
    pub nodes: NodeRange,
    /// The speaker's role; `None` for a summary.
    pub role: Option<Role>,
    /// The speaker's name or role; empty for a summary.
    pub speaker: String,
    /// The text, without content that is excluded from summaries, so that it may be blank.
    pub text: String,
    /// Metadata of the source; for a message of a META, those of its SUMMARY.
    pub metadata: SummaryMetadata,
}

impl SummarySource {
    /// A summary of `nodes` as a source; a message once [`role`](Self::role) is set.
    #[must_use]
    pub fn new(nodes: NodeRange, text: impl Into<String>) -> Self {
        Self { nodes, role: None, speaker: String::new(), text: text.into(), metadata: SummaryMetadata::default() }
    }

    crate::setters! {
        into role: Option<Role>,
        into speaker: String,
        metadata: SummaryMetadata,
    }
}

/// Token limit below which a summary may be blank, because one character may cost several tokens.
const FEW_TOKENS: u32 = 8;

/// Sources to summarize, with a token limit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummaryJob<'a> {
    /// The level of the summary to write.
    pub level: Level,
    /// The sources, in order; never empty.
    pub sources: &'a [SummarySource],
    /// The summary directly before this one, for strategies that continue it.
    pub previous: Option<&'a str>,
    /// Maximum tokens of the text by [`Self::counter`]; at least 1.
    pub max_tokens: u32,
    /// Counter of the limit.
    pub counter: &'a dyn TokenCounter,
    /// Recognizes excluded content, for a summarizer that may know it from elsewhere; the sources do not contain it.
    pub excluded: Option<&'a dyn Excluded>,
}

/// Recognizes content that is excluded from summaries.
pub trait Excluded: fmt::Debug + Send + Sync {
    /// True if a text repeats excluded content.
    fn is_repeated_in(&self, text: &str) -> bool;
}

impl<'a> SummaryJob<'a> {
    /// A job without a previous summary.
    #[must_use]
    pub const fn new(
        level: Level,
        sources: &'a [SummarySource],
        max_tokens: u32,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        Self { level, sources, previous: None, max_tokens, counter, excluded: None }
    }

    crate::setters! {
        into previous: Option<&'a str>,
        into excluded: Option<&'a dyn Excluded>,
    }

    /// All nodes of the sources; `None` when there is no source.
    #[must_use]
    pub fn span(&self) -> Option<NodeRange> {
        self.sources.iter().map(|source| source.nodes).reduce(NodeRange::hull)
    }

    /// True if the summary may be blank: the sources are blank, or not even one character may fit.
    #[must_use]
    pub fn may_be_blank(&self) -> bool {
        self.max_tokens < FEW_TOKENS || self.sources.iter().all(|source| source.text.trim().is_empty())
    }
}

/// The output of a summarizer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WrittenSummary {
    /// The text.
    pub text: String,
    /// Metadata of the summary. The manager sets `line_count`.
    pub metadata: SummaryMetadata,
    /// The actual writer, if the summarizer delegates to several others; `None` for the summarizer itself.
    pub written_by: Option<WrittenBy>,
}

impl WrittenSummary {
    /// A summary of these words, without metadata.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), metadata: SummaryMetadata::default(), written_by: None }
    }

    crate::setters! { metadata: SummaryMetadata, some written_by: WrittenBy }
}

/// Writes summaries.
///
/// Contract: the text costs at most `max_tokens`, is not blank unless it [may be](SummaryJob::may_be_blank), and
/// depends only on the job, so that a rebuild gives the same tree. (A model's summary is recorded and never requested
/// twice.) Every source is read completely, not only its beginning.
pub trait Summarizer: fmt::Debug + Send + Sync {
    /// Name and version, recorded with every summary. A summarizer that delegates states [the
    /// writer](WrittenSummary::written_by) with each answer.
    fn identity(&self) -> WrittenBy;

    /// A summarizer for one compaction, which counts its costs there; `None`, the default, if it counts none. Has the
    /// same identity.
    fn for_compaction(&self) -> Option<Arc<dyn Summarizer>> {
        None
    }

    /// Writes the summary.
    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>>;

    /// Most jobs that are worth passing to [`summarize_many`](Self::summarize_many) at once; 1, the default, if jobs do
    /// not share costs.
    fn most_at_once(&self) -> usize {
        1
    }

    /// Writes summaries of level SUMMARY, in the order of their jobs, each under the contract of
    /// [`summarize`](Self::summarize). By default one after the other.
    fn summarize_many<'a>(
        &'a self,
        jobs: &'a [SummaryJob<'a>],
    ) -> BoxFuture<'a, Vec<Result<WrittenSummary, SummarizeError>>> {
        Box::pin(async move {
            let mut written = Vec::with_capacity(jobs.len());
            for job in jobs {
                written.push(self.summarize(*job).await);
            }
            written
        })
    }
}

/// Reason for a missing summary.
#[derive(Debug, thiserror::Error)]
#[error("summarizer {strategy} failed")]
#[non_exhaustive]
pub struct SummarizeError {
    /// The strategy.
    pub strategy: WrittenBy,
    /// The cause.
    #[source]
    pub source: BoxError,
}

impl SummarizeError {
    /// The error of `strategy`.
    #[must_use]
    pub fn new(strategy: WrittenBy, source: impl Into<BoxError>) -> Self {
        Self { strategy, source: source.into() }
    }
}
