//! The blend of scorers as a plugin, under the name `official-blend`: the built-in one keeps the plain name.

mod bridge;
mod embeddings;

use memory_plugin_abi::v1::{Capabilities, Failure, ScoreHost, ScoreJob, ScorerPlugin};
use memory_strategies::Blend;

struct Plugin(Blend);

impl ScorerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        Blend::from_configuration(configuration).map(Self).map_err(|error| Failure::configuration(&error.to_string()))
    }

    fn score(&self, jobs: &[ScoreJob<'_>], host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        bridge::score(&self.0, jobs, &embeddings::of(jobs, host)?)
    }
}

memory_plugin_abi::export_scorer! {
    plugin: Plugin,
    name: "official-blend",
    description: "Several scorers, each with a weight.",
    configuration_schema: Blend::SCHEMA,
    capabilities: Capabilities::EMBEDDINGS,
}
