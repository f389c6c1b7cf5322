//! The objects of the interface: strategies of the plugin, services of the host.
#![expect(unsafe_code, reason = "abi_stable's attribute expands to the unsafe calls through its vtables")]
#![expect(non_local_definitions, reason = "abi_stable's attribute places its impls in a constant")]

use abi_stable::{
    sabi_trait,
    sabi_types::RRef,
    std_types::{RBox, RResult, RSlice, RStr, RVec},
};

use super::{Failure, LogLevel, ScoreJob, SummaryJob, Written};

/// Writes summaries. Called from several threads at once.
///
/// Authors implement [`SummarizerPlugin`](crate::v1::SummarizerPlugin) instead, because an implementation of this trait
/// must not let a panic escape.
#[sabi_trait]
pub trait Summarizer: Send + Sync {
    /// Writes the summary.
    #[sabi(last_prefix_field)]
    fn summarize(&self, job: SummaryJob<'_>, host: SummaryHostRef<'_>) -> RResult<Written, Failure>;
}

/// Scores messages. Called from several threads at once.
///
/// Authors implement [`ScorerPlugin`](crate::v1::ScorerPlugin) instead, because an implementation of this trait must
/// not let a panic escape.
#[sabi_trait]
pub trait ImportanceScorer: Send + Sync {
    /// One finite score in 0..=1 for each job, in input order. The jobs are consecutive messages.
    #[sabi(last_prefix_field)]
    fn score(&self, jobs: RSlice<'_, ScoreJob<'_>>, host: ScoreHostRef<'_>) -> RResult<RVec<f32>, Failure>;
}

/// Services of the host to a summarizer during a call.
#[sabi_trait]
pub trait SummaryHost: Send + Sync {
    /// Number of tokens of `text`, by the counter that enforces the limit; `u32::MAX` after the call was cancelled.
    fn count_tokens(&self, text: RStr<'_>) -> u32;

    /// True if the call was cancelled. A plugin with long loops checks this regularly and returns.
    fn is_cancelled(&self) -> bool;

    /// Writes a line to the host's log.
    #[sabi(last_prefix_field)]
    fn log(&self, level: LogLevel, message: RStr<'_>);
}

/// Services of the host to a scorer during a call.
#[sabi_trait]
pub trait ScoreHost: Send + Sync {
    /// One unit-length vector for each text, in input order, all of one model. The time of embedding counts in the
    /// deadline of the call.
    ///
    /// Fails with [`FailureCode::UNAVAILABLE`](crate::v1::FailureCode::UNAVAILABLE) if the host has no model.
    fn embed(&self, texts: RSlice<'_, RStr<'_>>) -> RResult<RVec<RVec<f32>>, Failure>;

    /// True if the call was cancelled.
    fn is_cancelled(&self) -> bool;

    /// Writes a line to the host's log.
    #[sabi(last_prefix_field)]
    fn log(&self, level: LogLevel, message: RStr<'_>);
}

/// A summarizer made by a plugin.
pub type SummarizerBox = Summarizer_TO<'static, RBox<()>>;

/// A scorer made by a plugin.
pub type ScorerBox = ImportanceScorer_TO<'static, RBox<()>>;

/// The host's services, borrowed for one call.
pub type SummaryHostRef<'a> = SummaryHost_TO<'a, RRef<'a, ()>>;

/// The host's services, borrowed for one call.
pub type ScoreHostRef<'a> = ScoreHost_TO<'a, RRef<'a, ()>>;
