//! The traits that authors implement, and the guard that catches their panics.
#![expect(unsafe_code, reason = "a destructor can be guarded only by calling it by hand")]

use std::{
    any::Any,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
};

use abi_stable::{
    prefix_type::PrefixTypeTrait,
    sabi_trait::TD_Opaque,
    std_types::{RErr, RResult, RSlice, RStr, RVec},
};

use super::{
    Failure, FailureCode, Identity, ImportanceScorer, Kind, PluginModule, PluginModule_Ref, ScoreHost, ScoreHostRef,
    ScoreJob, ScorerBox, Summarizer, SummarizerBox, SummaryHost, SummaryHostRef, SummaryJob, Written,
};

/// A summarizer, as its author writes it.
///
/// Contract: the text costs at most `job.max_tokens` by [`SummaryHost::count_tokens`], is blank only if all sources are
/// or fewer than 8 tokens are allowed, and depends only on the job. Called from several threads at once.
pub trait SummarizerPlugin: Sized + Send + Sync + 'static {
    /// Creates the summarizer from its configuration: JSON text, or empty.
    ///
    /// # Errors
    /// If the configuration is invalid; the host then refuses the plugin.
    fn new(configuration: &str) -> Result<Self, Failure>;

    /// Writes the summary.
    ///
    /// # Errors
    /// If it fails; the host counts failures and quarantines a plugin that keeps failing.
    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure>;
}

/// An importance scorer, as its author writes it.
///
/// Contract: one finite score in 0..=1 for each job, in input order; equal batches score equally. Called from several
/// threads at once.
pub trait ScorerPlugin: Sized + Send + Sync + 'static {
    /// Creates the scorer from its configuration: JSON text, or empty.
    ///
    /// # Errors
    /// If the configuration is invalid; the host then refuses the plugin.
    fn new(configuration: &str) -> Result<Self, Failure>;

    /// Scores consecutive messages of one conversation.
    ///
    /// # Errors
    /// If it fails; the host then uses none of the scores.
    fn score(&self, jobs: &[ScoreJob<'_>], host: &dyn ScoreHost) -> Result<Vec<f32>, Failure>;
}

/// Runs an entry of a plugin, and converts its panic to a failure.
fn guard<T>(entry: impl FnOnce() -> Result<T, Failure>) -> RResult<T, Failure> {
    // A plugin may be called again after a panic, and must handle the state that the panic left.
    match catch_unwind(AssertUnwindSafe(entry)) {
        Ok(answer) => answer.into(),
        Err(payload) => RErr(Failure { code: FailureCode::PANICKED, message: panic_message(payload).into() }),
    }
}

fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    // Dropping a payload may panic.
    std::mem::forget(payload);
    message
}

/// A plugin whose panics are caught, including those of its destructor.
#[derive(Debug)]
struct Guarded<P>(ManuallyDrop<P>);

impl<P> Drop for Guarded<P> {
    fn drop(&mut self) {
        let destroy = AssertUnwindSafe(|| {
            // SAFETY: only this code drops it, it runs once, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        });
        if let Err(payload) = catch_unwind(destroy) {
            std::mem::forget(payload);
        }
    }
}

impl<P: SummarizerPlugin> Summarizer for Guarded<P> {
    fn summarize(&self, job: SummaryJob<'_>, host: SummaryHostRef<'_>) -> RResult<Written, Failure> {
        guard(|| self.0.summarize(&job, &host))
    }
}

impl<P: ScorerPlugin> ImportanceScorer for Guarded<P> {
    fn score(&self, jobs: RSlice<'_, ScoreJob<'_>>, host: ScoreHostRef<'_>) -> RResult<RVec<f32>, Failure> {
        guard(|| self.0.score(jobs.as_slice(), &host).map(RVec::from))
    }
}

extern "C" fn new_summarizer<P: SummarizerPlugin>(configuration: RStr<'_>) -> RResult<SummarizerBox, Failure> {
    guard(|| Ok(SummarizerBox::from_value(Guarded(ManuallyDrop::new(P::new(configuration.as_str())?)), TD_Opaque)))
}

extern "C" fn new_scorer<P: ScorerPlugin>(configuration: RStr<'_>) -> RResult<ScorerBox, Failure> {
    guard(|| Ok(ScorerBox::from_value(Guarded(ManuallyDrop::new(P::new(configuration.as_str())?)), TD_Opaque)))
}

extern "C" fn no_summarizer(_configuration: RStr<'_>) -> RResult<SummarizerBox, Failure> {
    RErr(Failure { code: FailureCode::WRONG_KIND, message: "this plugin is an importance scorer".into() })
}

extern "C" fn no_scorer(_configuration: RStr<'_>) -> RResult<ScorerBox, Failure> {
    RErr(Failure { code: FailureCode::WRONG_KIND, message: "this plugin is a summarizer".into() })
}

/// The module of a plugin that provides the summarizer `P`; called by [`export_summarizer!`](crate::export_summarizer).
#[must_use]
pub fn summarizer_module<P: SummarizerPlugin>(identity: Identity) -> PluginModule_Ref {
    let new_summarizer = new_summarizer::<P>;
    PluginModule { kind: Kind::SUMMARIZER, identity, new_summarizer, new_scorer: no_scorer }.leak_into_prefix()
}

/// The module of a plugin that provides the scorer `P`; called by [`export_scorer!`](crate::export_scorer).
#[must_use]
pub fn scorer_module<P: ScorerPlugin>(identity: Identity) -> PluginModule_Ref {
    let new_scorer = new_scorer::<P>;
    PluginModule { kind: Kind::SCORER, identity, new_summarizer: no_summarizer, new_scorer }.leak_into_prefix()
}

#[cfg(test)]
mod tests;
