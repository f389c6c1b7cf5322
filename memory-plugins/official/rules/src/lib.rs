//! The rule-based scorer as a plugin with the name `official-rules`; the built-in one has the plain name.

use memory_core::{
    NodeId, Role, Timestamp,
    port::{ImportanceScorer, ScoreJob},
};
use memory_plugin_abi::v1::{self, Failure, ScoreHost, ScorerPlugin};
use memory_strategies::Rules;

struct Plugin;

impl ScorerPlugin for Plugin {
    fn new(configuration: &str) -> Result<Self, Failure> {
        match configuration.trim() {
            "" | "{}" => Ok(Self),
            _ => Err(Failure::configuration("this strategy takes no configuration; remove it")),
        }
    }

    fn score(&self, jobs: &[v1::ScoreJob<'_>], _host: &dyn ScoreHost) -> Result<Vec<f32>, Failure> {
        let jobs: Vec<_> = jobs.iter().map(job).collect();
        Rules.score(&jobs).map_err(|error| Failure::new(&error.source.to_string()))
    }
}

/// Converts a job of the ABI to core's.
fn job<'a>(job: &v1::ScoreJob<'a>) -> ScoreJob<'a> {
    let role = match job.role {
        v1::Role::ASSISTANT => Role::Assistant,
        v1::Role::SYSTEM => Role::System,
        v1::Role::TOOL => Role::Tool,
        // An unknown role counts as a user.
        _ => Role::User,
    };
    ScoreJob::new(role, job.text.as_str())
        .node(NodeId::new(job.node))
        .said_at((job.said_at != v1::ScoreJob::UNTOLD).then(|| Timestamp::from_millis(job.said_at)))
        .uses(job.uses)
}

memory_plugin_abi::export_scorer! {
    plugin: Plugin,
    name: "official-rules",
    description: "Words that announce decisions, promises, preferences, errors; figures; code.",
}
