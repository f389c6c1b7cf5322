//! Adapts a plugin's importance scorer to core's port.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RResult, RSlice, RStr, RVec},
};
use memory_core::{
    NodeId, Role, Timestamp, WrittenBy,
    port::{Embedder, ImportanceScorer, ScoreError, ScoreJob},
};
use memory_plugin_abi::v1;

use crate::{
    call::Call,
    convert::{failure, log, lossy, role},
    error::CallError,
    plugin::Plugin,
};

/// Requests scores from a plugin, and validates them.
#[derive(Debug)]
pub(crate) struct PluginScorer {
    pub(crate) plugin: Plugin<v1::ScorerBox>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
}

/// A message with owned text, because the call may outlive the caller's wait.
struct OwnedScoreJob {
    node: u64,
    said_at: i64,
    text: String,
    uses: u32,
    role: Role,
}

impl OwnedScoreJob {
    fn lend(&self) -> v1::ScoreJob<'_> {
        v1::ScoreJob {
            node: self.node,
            said_at: self.said_at,
            text: RStr::from_str(&self.text),
            uses: self.uses,
            role: role(self.role),
        }
    }
}

impl PluginScorer {
    async fn ask(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, CallError> {
        let owned: Vec<_> = jobs
            .iter()
            .map(|job| OwnedScoreJob {
                node: job.node.map_or(0, NodeId::get),
                said_at: job.said_at.map_or(v1::ScoreJob::UNTOLD, Timestamp::as_millis),
                text: job.text.to_owned(),
                uses: job.uses,
                role: job.role,
            })
            .collect();
        let embedder = self.embedder.clone();
        let answer = self.plugin.call(None, move |object, call, plugin| {
            let host = Host { call, plugin, embedder: embedder.as_deref() };
            let lent: Vec<_> = owned.iter().map(OwnedScoreJob::lend).collect();
            match object.score(RSlice::from_slice(&lent), v1::ScoreHost_TO::from_ptr(&host, TD_Opaque)) {
                RResult::ROk(scores) => Ok(scores.into_vec()),
                RResult::RErr(reason) => Err(failure(&reason)),
            }
        });
        let scores = answer.await?;
        if scores.len() != jobs.len() {
            return Err(CallError::Breach(format!("{} scores for {} messages", scores.len(), jobs.len())));
        }
        match scores.iter().find(|score| !(0.0..=1.0).contains(*score)) {
            Some(score) => Err(CallError::Breach(format!("a score of {score}, outside 0..=1"))),
            None => Ok(scores),
        }
    }
}

impl ImportanceScorer for PluginScorer {
    fn identity(&self) -> WrittenBy {
        self.plugin.identity.clone()
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        // Blocks the caller's thread, because the port is synchronous.
        let outcome = pollster::block_on(self.plugin.guarded(self.ask(jobs), || told_apart(jobs)));
        outcome.map_err(|error| ScoreError::new(self.plugin.identity.clone(), error))
    }
}

/// Hash of a batch of jobs.
fn told_apart(jobs: &[ScoreJob<'_>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    jobs.iter().for_each(|job| (job.node, job.role, job.text).hash(&mut hasher));
    hasher.finish()
}

/// Services of the host during one call.
struct Host<'a> {
    call: &'a Call<Vec<f32>>,
    plugin: &'a str,
    embedder: Option<&'a dyn Embedder>,
}

impl v1::ScoreHost for Host<'_> {
    fn embed(&self, texts: RSlice<'_, RStr<'_>>) -> RResult<RVec<RVec<f32>>, v1::Failure> {
        let Some(embedder) = self.embedder else {
            return RResult::RErr(v1::Failure::unavailable("this host has no embedding model"));
        };
        if self.call.is_over() {
            return RResult::RErr(v1::Failure::cancelled());
        }
        let texts: Vec<_> = texts.iter().map(|text| lossy(*text)).collect();
        let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
        // A panic must not unwind into the plugin.
        let embedded = catch_unwind(AssertUnwindSafe(|| pollster::block_on(embedder.embed_documents(&texts))));
        match embedded {
            Ok(Ok(vectors)) => RResult::ROk(vectors.iter().map(|chunks| direction(chunks).into()).collect()),
            Ok(Err(error)) => RResult::RErr(v1::Failure::unavailable(&error.to_string())),
            Err(payload) => {
                std::mem::forget(payload);
                RResult::RErr(v1::Failure::unavailable("the embedding model panicked"))
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.call.is_over()
    }

    fn log(&self, level: v1::LogLevel, message: RStr<'_>) {
        log(self.plugin, level, message);
    }
}

/// Unit vector in the mean direction of a text's chunks.
fn direction(chunks: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = chunks.first().cloned().unwrap_or_default();
    for chunk in chunks.iter().skip(1) {
        sum.iter_mut().zip(chunk).for_each(|(sum, component)| *sum += component);
    }
    let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|component| *component /= length);
    }
    sum
}

#[cfg(test)]
mod tests;
