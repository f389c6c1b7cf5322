//! Tests of the scorer's adapter, over plugins of this process.

use memory_core::testing::HashEmbedder;
use memory_plugin_abi::v1::{Capabilities, Failure, FailureCode, Identity, ScoreHost, ScorerPlugin, scorer_module};

use super::*;
use crate::{health::Health, options::PluginOptions, workers::Workers};

/// Gives the scores that its configuration lists for any messages, or misbehaves as the configuration names.
struct Fixed(String);

impl ScorerPlugin for Fixed {
    fn new(configuration: &str) -> Result<Self, Failure> {
        Ok(Self(configuration.to_owned()))
    }

    fn score(&self, jobs: &[v1::ScoreJob<'_>], host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        match self.0.as_str() {
            "embed" => {
                let texts: Vec<_> = jobs.iter().map(|job| job.text).collect();
                let vectors = host.embed(RSlice::from_slice(&texts)).into_result()?;
                let length = |vector: &RVec<f32>| vector.iter().map(|component| component * component).sum::<f32>();
                Ok(vectors.iter().map(|vector| length(vector).sqrt().round()).collect())
            }
            "told" => {
                Ok(jobs.iter().map(|job| (job.node as f32 + job.said_at as f32 + job.uses as f32) / 100.0).collect())
            }
            scores => Ok(scores.split_whitespace().map(|score| score.parse().unwrap()).collect()),
        }
    }
}

fn scorer(configuration: &str, embedder: Option<Arc<dyn Embedder>>) -> PluginScorer {
    let text = RStr::from_str("x");
    let capabilities = Capabilities::UNWINDS;
    let identity = Identity { name: text, version: text, description: text, configuration_schema: text, capabilities };
    let object = scorer_module::<Fixed>(identity).new_scorer()(configuration.into()).unwrap();
    let options = PluginOptions::default();
    let workers = Arc::new(Workers::new(&options));
    let health = Arc::new(Health::new("fixed", &options));
    let named = WrittenBy::new("fixed", "1");
    PluginScorer { plugin: Plugin::new(named, object, workers, health), embedder }
}

fn score(scorer: &PluginScorer, texts: &[&str]) -> Result<Vec<f32>, String> {
    let jobs: Vec<_> = texts.iter().map(|&text| ScoreJob::new(Role::User, text)).collect();
    scorer.score(&jobs).map_err(|error| error.source.to_string())
}

#[test]
fn good_scores_pass_and_bad_ones_are_refused() {
    assert_eq!(score(&scorer("0.25 1", None), &["a", "b"]), Ok(vec![0.25, 1.0]));
    assert_eq!(score(&scorer("", None), &[]), Ok(vec![]));
    for (scores, said) in [("0.5", "1 scores for 2 messages"), ("0.5 1.5", "1.5"), ("NaN 0", "NaN"), ("0 -inf", "-inf")]
    {
        let error = score(&scorer(scores, None), &["a", "b"]).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_known_of_a_message_reaches_the_plugin() {
    let told = ScoreJob::new(Role::User, "a").node(NodeId::new(7)).said_at(Timestamp::from_millis(20)).uses(3);
    assert_eq!(scorer("told", None).score(&[told]).unwrap(), [0.3]);
}

#[test]
fn a_scorer_is_given_vectors_of_unit_length_where_there_is_a_model() {
    let embedder: Arc<dyn Embedder> = Arc::new(HashEmbedder::new(16));
    assert_eq!(score(&scorer("embed", Some(embedder)), &["the sea", "the sand"]), Ok(vec![1.0, 1.0]));
    let error = score(&scorer("embed", None), &["the sea"]).unwrap_err();
    assert_eq!(error, "the plugin failed: this host has no embedding model");
    assert_eq!(FailureCode::UNAVAILABLE, Failure::unavailable("").code);
}
