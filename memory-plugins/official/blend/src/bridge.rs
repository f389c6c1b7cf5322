//! Adapts a scorer of `memory-strategies` to the plugin ABI.

use memory_core::{ImportanceScorer, NodeId, Role, ScoreJob, Timestamp};
use memory_plugin_abi::v1;

/// Scores `jobs` by `scorer`; `vectors` are their embeddings, or empty.
pub(crate) fn score(
    scorer: &dyn ImportanceScorer,
    jobs: &[v1::ScoreJob<'_>],
    vectors: &[Vec<f32>],
) -> Result<Vec<f32>, v1::Failure> {
    let jobs: Vec<_> =
        jobs.iter().enumerate().map(|(index, of)| job(of, vectors.get(index).map(Vec::as_slice))).collect();
    scorer.score(&jobs).map_err(|error| v1::Failure::new(&error.source.to_string()))
}

fn job<'a>(job: &v1::ScoreJob<'a>, embedding: Option<&'a [f32]>) -> ScoreJob<'a> {
    let role = match job.role {
        v1::Role::ASSISTANT => Role::Assistant,
        v1::Role::SYSTEM => Role::System,
        v1::Role::TOOL => Role::Tool,
        // An unknown role counts as a user.
        _ => Role::User,
    };
    ScoreJob::new(role, job.text.as_str())
        .embedding(embedding)
        .node(NodeId::new(job.node))
        .said_at((job.said_at != v1::ScoreJob::UNTOLD).then(|| Timestamp::from_millis(job.said_at)))
        .uses(job.uses)
}
