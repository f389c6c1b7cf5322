//! The scorer by recency and use as a plugin, under the name `official-recency-and-use`: the built-in one keeps the
//! plain name.

#[path = "../../scorer_bridge.rs"]
mod scorer_bridge;

use memory_plugin_abi::v1::{Failure, ScoreHost, ScoreJob, ScorerPlugin};
use memory_strategies::RecencyAndUse;

struct Plugin(RecencyAndUse);

impl ScorerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        RecencyAndUse::from_configuration(configuration)
            .map(Self)
            .map_err(|error| Failure::configuration(&error.to_string()))
    }

    fn score(&self, jobs: &[ScoreJob<'_>], _host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        scorer_bridge::score(&self.0, jobs, &[])
    }
}

memory_plugin_abi::export_scorer! {
    plugin: Plugin,
    name: "official-recency-and-use",
    description: "Age, which halves again and again, and how often a message was recalled.",
    configuration_schema: RecencyAndUse::SCHEMA,
}
