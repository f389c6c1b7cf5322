//! A plugin's importance scorer as the core's port.

use std::{fmt, sync::Arc};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RResult, RSlice, RStr},
};
use memory_core::{ImportanceScorer, Role, ScoreError, ScoreJob, WrittenBy};
use memory_plugin_abi::v1;

use crate::{
    call::Call,
    convert::{failure, log, role},
    error::CallError,
    health::Health,
    workers::Workers,
};

/// Asks a plugin for scores, and checks them. Quarantined, it is its fallback, by name too.
pub(crate) struct PluginScorer {
    identity: WrittenBy,
    object: Arc<v1::ScorerBox>,
    workers: Arc<Workers>,
    health: Health,
    fallback: Arc<dyn ImportanceScorer>,
}

/// A message that owns its words, for the call may outlive the caller's wait.
struct OwnedScoreJob {
    role: Role,
    text: String,
    embedding: Option<Vec<f32>>,
}

impl OwnedScoreJob {
    fn lend(&self) -> v1::ScoreJob<'_> {
        v1::ScoreJob {
            text: RStr::from_str(&self.text),
            embedding: RSlice::from_slice(self.embedding.as_deref().unwrap_or_default()),
            role: role(self.role),
        }
    }
}

impl PluginScorer {
    pub(crate) fn new(
        identity: WrittenBy,
        object: v1::ScorerBox,
        workers: Arc<Workers>,
        failures: u32,
        fallback: Arc<dyn ImportanceScorer>,
    ) -> Self {
        let health = Health::new(&identity.strategy, failures);
        Self { identity, object: Arc::new(object), workers, health, fallback }
    }

    /// The port is synchronous, so the caller's thread waits here.
    fn ask(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, CallError> {
        let owned: Vec<_> = jobs
            .iter()
            .map(|job| OwnedScoreJob {
                role: job.role,
                text: job.text.to_owned(),
                embedding: job.embedding.map(<[f32]>::to_vec),
            })
            .collect();
        let object = Arc::clone(&self.object);
        let plugin = self.identity.strategy.clone();
        let answer = self.workers.call(None, move |call| {
            let host = Host { call, plugin: &plugin };
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
        if self.health.is_quarantined() { self.fallback.identity() } else { self.identity.clone() }
    }

    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError> {
        if self.health.is_quarantined() {
            return self.fallback.score(jobs);
        }
        let outcome = self.ask(jobs);
        self.health.record(&outcome);
        outcome.map_err(|error| ScoreError { scorer: self.identity.clone(), source: error.into() })
    }
}

/// The host's services to one call.
struct Host<'a> {
    call: &'a Call<Vec<f32>>,
    plugin: &'a str,
}

impl v1::ScoreHost for Host<'_> {
    fn is_cancelled(&self) -> bool {
        self.call.is_over()
    }

    fn log(&self, level: v1::LogLevel, message: RStr<'_>) {
        log(self.plugin, level, message);
    }
}

#[cfg(test)]
mod tests {
    use memory_plugin_abi::v1::{Failure, Identity, ScoreHost, ScorerPlugin, scorer_module};
    use memory_strategies::Rules;

    use super::*;
    use crate::options::PluginOptions;

    /// Gives the scores that its configuration lists, whatever the messages.
    struct Fixed(Vec<f32>);

    impl ScorerPlugin for Fixed {
        fn new(configuration: &str) -> Result<Self, Failure> {
            Ok(Self(configuration.split_whitespace().map(|score| score.parse().unwrap()).collect()))
        }

        fn score(&self, _jobs: &[v1::ScoreJob<'_>], _host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
            Ok(self.0.clone())
        }
    }

    fn score(scores: &str, texts: &[&str]) -> Result<Vec<f32>, String> {
        let text = RStr::from_str("x");
        let identity = Identity { name: text, version: text, description: text, configuration_schema: text };
        let object = scorer_module::<Fixed>(identity).new_scorer()(scores.into()).unwrap();
        let workers = Arc::new(Workers::new(&PluginOptions::default()));
        let named = WrittenBy { strategy: "fixed".into(), version: "1".into() };
        let scorer = PluginScorer::new(named, object, workers, 3, Arc::new(Rules));
        let jobs: Vec<_> = texts.iter().map(|&text| ScoreJob { role: Role::User, text, embedding: None }).collect();
        scorer.score(&jobs).map_err(|error| error.source.to_string())
    }

    #[test]
    fn good_scores_pass_and_bad_ones_are_refused() {
        assert_eq!(score("0.25 1", &["a", "b"]), Ok(vec![0.25, 1.0]));
        assert_eq!(score("", &[]), Ok(vec![]));
        for (scores, said) in
            [("0.5", "1 scores for 2 messages"), ("0.5 1.5", "1.5"), ("NaN 0", "NaN"), ("0 -inf", "-inf")]
        {
            let error = score(scores, &["a", "b"]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
