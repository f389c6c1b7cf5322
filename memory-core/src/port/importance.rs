//! Port: how much a message matters.

use std::fmt;

use super::BoxError;
use crate::{Role, WrittenBy};

/// A message to be scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreJob<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: &'a str,
    /// Its unit-length embedding, where there is one.
    pub embedding: Option<&'a [f32]>,
}

/// Scores messages.
///
/// Contract: one finite score in 0..=1 for each job, in input order; equal jobs in equal company score
/// the same; no IO.
pub trait ImportanceScorer: fmt::Debug + Send + Sync {
    /// Name and version, recorded with every score.
    fn identity(&self) -> WrittenBy;

    /// Scores `jobs`, consecutive messages of one conversation.
    ///
    /// # Errors
    /// When the strategy fails; no score counts then.
    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError>;
}

/// Why messages have no score.
#[derive(Debug, thiserror::Error)]
#[error("scorer {scorer} failed")]
pub struct ScoreError {
    /// The scorer.
    pub scorer: WrittenBy,
    /// Why.
    #[source]
    pub source: BoxError,
}
