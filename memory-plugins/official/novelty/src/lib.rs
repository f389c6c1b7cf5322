//! The scorer by novelty as a plugin, under the name `official-novelty`: the built-in one keeps the plain name.

#[path = "../../embeddings.rs"]
mod embeddings;
#[path = "../../no_configuration.rs"]
mod no_configuration;
#[path = "../../scorer_bridge.rs"]
mod scorer_bridge;

use memory_plugin_abi::v1::{Capabilities, Failure, ScoreHost, ScoreJob, ScorerPlugin};
use memory_strategies::Novelty;

struct Plugin;

impl ScorerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        no_configuration::check(configuration).map(|()| Self)
    }

    fn score(&self, jobs: &[ScoreJob<'_>], host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        scorer_bridge::score(&Novelty, jobs, &embeddings::of(jobs, host)?)
    }
}

memory_plugin_abi::export_scorer! {
    plugin: Plugin,
    name: "official-novelty",
    description: "What was not said before, by embeddings or by words.",
    capabilities: Capabilities::EMBEDDINGS,
}
