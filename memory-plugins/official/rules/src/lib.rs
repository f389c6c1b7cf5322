//! The scorer by rules as a plugin, under the name `official-rules`: the built-in one keeps the plain name.

#[path = "../../no_configuration.rs"]
mod no_configuration;
#[path = "../../scorer_bridge.rs"]
mod scorer_bridge;

use memory_plugin_abi::v1::{Failure, ScoreHost, ScoreJob, ScorerPlugin};
use memory_strategies::Rules;

struct Plugin;

impl ScorerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        no_configuration::check(configuration).map(|()| Self)
    }

    fn score(&self, jobs: &[ScoreJob<'_>], _host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        scorer_bridge::score(&Rules, jobs, &[])
    }
}

memory_plugin_abi::export_scorer! {
    plugin: Plugin,
    name: "official-rules",
    description: "Words that announce decisions, promises, preferences, errors; figures; code.",
}
