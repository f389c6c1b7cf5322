//! Port: how important a message is.

use std::fmt;

use super::BoxError;
use crate::{NodeId, Role, Timestamp, WrittenBy};

/// A message to be scored.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoreJob<'a> {
    /// The speaker's role.
    pub role: Role,
    /// The message's text.
    pub text: &'a str,
    /// Its position in the conversation, if it has one already.
    pub node: Option<NodeId>,
    /// When it was said, where that is known.
    pub said_at: Option<Timestamp>,
    /// How often it was requested before it was scored, as far as that is counted. `memory-hooks` counts searches that
    /// find it and expansions since its process began.
    pub uses: u32,
}

impl<'a> ScoreJob<'a> {
    /// A message with nothing else known.
    #[must_use]
    pub const fn new(role: Role, text: &'a str) -> Self {
        Self { role, text, node: None, said_at: None, uses: 0 }
    }

    crate::setters! {
        into node: Option<NodeId>,
        into said_at: Option<Timestamp>,
        const uses: u32,
    }
}

/// Scores messages.
///
/// Contract: one finite score in 0..=1 for each job, in input order. Equal jobs among equal other jobs score the same.
/// No IO.
pub trait ImportanceScorer: fmt::Debug + Send + Sync {
    /// Name and version, recorded with every score.
    fn identity(&self) -> WrittenBy;

    /// Scores `jobs`, consecutive messages of one conversation.
    ///
    /// # Errors
    /// When the strategy fails; then no score is valid.
    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError>;
}

/// Why messages have no score.
#[derive(Debug, thiserror::Error)]
#[error("scorer {scorer} failed")]
#[non_exhaustive]
pub struct ScoreError {
    /// The scorer.
    pub scorer: WrittenBy,
    /// Why.
    #[source]
    pub source: BoxError,
}

impl ScoreError {
    /// The error of `scorer`.
    #[must_use]
    pub fn new(scorer: WrittenBy, source: impl Into<BoxError>) -> Self {
        Self { scorer, source: source.into() }
    }
}
