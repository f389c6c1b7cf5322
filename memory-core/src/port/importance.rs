//! Port: importance of messages.

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
    /// Position in the conversation, if the message has one already.
    pub node: Option<NodeId>,
    /// Time of the message, if known.
    pub said_at: Option<Timestamp>,
    /// Number of requests for the message before it was scored, if counted. `memory-hooks` counts hits in searches and
    /// expansions since the process began.
    pub uses: u32,
}

impl<'a> ScoreJob<'a> {
    /// A message whose node, time and uses are unknown.
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
/// Contract: one finite score in 0..=1 for each job, in input order. Equal batches of jobs score equally. No IO.
pub trait ImportanceScorer: fmt::Debug + Send + Sync {
    /// Name and version, recorded with every score.
    fn identity(&self) -> WrittenBy;

    /// Scores `jobs`, which are consecutive messages of one conversation.
    ///
    /// # Errors
    /// If the strategy fails; no score is valid then.
    fn score(&self, jobs: &[ScoreJob<'_>]) -> Result<Vec<f32>, ScoreError>;
}

/// Reason why messages have no score.
#[derive(Debug, thiserror::Error)]
#[error("scorer {scorer} failed")]
#[non_exhaustive]
pub struct ScoreError {
    /// The scorer.
    pub scorer: WrittenBy,
    /// The cause.
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
