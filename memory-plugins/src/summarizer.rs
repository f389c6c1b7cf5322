//! Adapts a plugin's summarizer to core's port.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicUsize, Ordering},
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RResult, RStr},
};
use memory_core::{
    WrittenBy,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, WrittenSummary},
};
use memory_plugin_abi::v1;

use crate::{
    call::Call,
    convert::{OwnedSummaryJob, failure, log, lossy, written},
    error::CallError,
    plugin::Plugin,
};

/// Requests summaries from a plugin, and validates them.
pub(crate) type PluginSummarizer = Plugin<v1::SummarizerBox>;

impl PluginSummarizer {
    async fn ask(&self, job: &SummaryJob<'_>) -> Result<WrittenSummary, CallError> {
        let owned = OwnedSummaryJob { level: job.level, sources: job.sources.to_vec(), max_tokens: job.max_tokens };
        let answer = self.call(Some(job.counter), move |object, call, plugin| {
            let host = Host { call, plugin, counted: AtomicUsize::new(0) };
            match owned.lend(|job| object.summarize(job, v1::SummaryHost_TO::from_ptr(&host, TD_Opaque))) {
                RResult::ROk(answer) => written(answer),
                RResult::RErr(reason) => Err(failure(&reason)),
            }
        });
        let summary = answer.await?;
        let tokens = job.counter.count(&summary.text);
        if tokens > job.max_tokens {
            return Err(CallError::TooLong { tokens, max_tokens: job.max_tokens });
        }
        if summary.text.trim().is_empty() && !job.may_be_blank() {
            return Err(CallError::Breach("a blank summary of sources that are not blank".to_owned()));
        }
        Ok(summary)
    }
}

impl Summarizer for PluginSummarizer {
    fn identity(&self) -> WrittenBy {
        self.identity.clone()
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            let outcome = self.guarded(self.ask(&job), || told_apart(&job)).await;
            outcome.map_err(|error| SummarizeError::new(self.identity.clone(), error))
        })
    }
}

/// Hash of a job.
fn told_apart(job: &SummaryJob<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (job.level, job.max_tokens).hash(&mut hasher);
    job.sources.iter().for_each(|source| (source.nodes, &source.text).hash(&mut hasher));
    hasher.finish()
}

/// Maximum bytes that are counted at once. A longer text exceeds the limit of any summary.
const LONGEST_COUNTED: usize = 1 << 20;

/// Maximum bytes that are counted for a job.
const MOST_COUNTED: usize = 64 << 20;

/// Services of the host during one call.
struct Host<'a> {
    call: &'a Call<WrittenSummary>,
    plugin: &'a str,
    /// Bytes that were counted during this call.
    counted: AtomicUsize,
}

impl v1::SummaryHost for Host<'_> {
    fn count_tokens(&self, text: RStr<'_>) -> u32 {
        // The caller counts without a deadline, so a single request must be short.
        let bytes = text.len();
        if bytes > LONGEST_COUNTED || self.counted.fetch_add(bytes, Ordering::Relaxed) > MOST_COUNTED - bytes {
            return u32::MAX;
        }
        self.call.count(&lossy(text))
    }

    fn is_cancelled(&self) -> bool {
        self.call.is_over()
    }

    fn log(&self, level: v1::LogLevel, message: RStr<'_>) {
        log(self.plugin, level, message);
    }
}

#[cfg(test)]
mod tests;
