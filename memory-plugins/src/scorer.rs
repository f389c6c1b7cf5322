//! Adapts a plugin's importance scorer to core's port.

use std::{
    fmt,
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
    health::Health,
    held::Held,
    workers::Workers,
};

/// Requests scores from a plugin, and validates them.
pub(crate) struct PluginScorer {
    identity: WrittenBy,
    object: Arc<Held<v1::ScorerBox>>,
    workers: Arc<Workers>,
    health: Arc<Health>,
    embedder: Option<Arc<dyn Embedder>>,
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
    pub(crate) fn new(
        identity: WrittenBy,
        object: v1::ScorerBox,
        workers: Arc<Workers>,
        health: Arc<Health>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self { identity, object: Arc::new(Held::new(object)), workers, health, embedder }
    }

    /// Blocks the caller's thread, because the port is synchronous.
    fn ask(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, CallError> {
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
        let object = Arc::clone(&self.object);
        let plugin = self.identity.strategy.clone();
        let embedder = self.embedder.clone();
        let answer = self.workers.call(None, move |call| {
            let Some(object) = object.get() else { return Err(CallError::Failed("it is gone".to_owned())) };
            let host = Host { call, plugin: &plugin, embedder: embedder.as_deref() };
            let lent: Vec<_> = owned.iter().map(OwnedScoreJob::lend).collect();
            match object.score(RSlice::from_slice(&lent), v1::ScoreHost_TO::from_ptr(&host, TD_Opaque)) {
                RResult::ROk(scores) => Ok(scores.into_vec()),
                RResult::RErr(reason) => Err(failure(&reason)),
            }
        });
        let scores = pollster::block_on(answer)?;
        if scores.len() != jobs.len() {
            return Err(CallError::Breach(format!("{} scores for {} messages", scores.len(), jobs.len())));
        }
        match scores.iter().find(|score| !(0.0..=1.0).contains(*score)) {
            Some(score) => Err(CallError::Breach(format!("a score of {score}, outside 0..=1"))),
            None => Ok(scores),
        }
    }
}

impl fmt::Debug for PluginScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, health, .. } = self;
        f.debug_struct("PluginScorer").field("identity", identity).field("health", health).finish_non_exhaustive()
    }
}

impl ImportanceScorer for PluginScorer {
    fn identity(&self) -> WrittenBy {
        self.identity.clone()
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        let outcome = match self.health.check() {
            Ok(()) => {
                let outcome = self.ask(jobs);
                self.health.record(&outcome, || told_apart(jobs));
                outcome
            }
            Err(quarantined) => Err(quarantined),
        };
        outcome.map_err(|error| ScoreError::new(self.identity.clone(), error))
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
