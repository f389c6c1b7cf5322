//! Port: how much a message matters.

use std::fmt;

use super::BoxError;
use crate::{NodeId, Role, Timestamp, WrittenBy};

/// A message to be scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreJob<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: &'a str,
    /// Its unit-length embedding, where there is one.
    pub embedding: Option<&'a [f32]>,
    /// Its place in the conversation, where it has one already.
    pub node: Option<NodeId>,
    /// When it was said, where that is known.
    pub said_at: Option<Timestamp>,
    /// How often it was asked for before it was scored, as far as that is counted; `memory-hooks` counts searches that
    /// find it and expansions since its process began.
    pub uses: u32,
}

impl<'a> ScoreJob<'a> {
    /// A message of which nothing else is known.
    #[must_use]
    pub const fn new(role: Role, text: &'a str) -> Self {
        Self { role, text, embedding: None, node: None, said_at: None, uses: 0 }
    }
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
