//! The checks of an importance scorer.

use std::sync::Arc;

use memory_core::{
    NodeId, Role, Timestamp,
    port::{BoxError, ImportanceScorer, ScoreJob},
};

use super::{Check, Registry, Subject, TALK, UNICODE, huge, many};
use crate::error::ChooseError;

impl Subject for Arc<dyn ImportanceScorer> {
    /// Texts of messages.
    type Job = Vec<String>;
    type Answer = Vec<f32>;

    const JOB: &str = "messages";

    fn create(registry: &Registry, name: &str) -> Result<Self, ChooseError> {
        registry.scorer(name)
    }

    fn jobs(check: Check) -> Vec<Vec<String>> {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        match check {
            Check::Contract => TALK.chunks(1).chain([TALK]).map(owned).collect(),
            Check::Unicode => vec![owned(UNICODE)],
            Check::Empty => vec![Vec::new(), owned(&["", " \n "])],
            Check::Huge => vec![huge(), owned(&many())],
            Check::Deadline => vec![huge()],
            Check::Determinism | Check::Concurrency => vec![owned(TALK)],
            Check::Configuration | Check::Panics => Vec::new(),
        }
    }

    fn ask(&self, texts: &Vec<String>) -> Result<Vec<f32>, BoxError> {
        let job = |(index, text): (usize, _)| {
            let minutes = i64::try_from(index).ok();
            ScoreJob::new(if index % 2 == 0 { Role::User } else { Role::Assistant }, text)
                .node(NodeId::from_index(index))
                .said_at(minutes.map(|minutes| Timestamp::from_millis(1_700_000_000_000 + minutes * 60_000)))
        };
        let jobs: Vec<_> = texts.iter().map(String::as_str).enumerate().map(job).collect();
        self.score(&jobs).map_err(|error| error.source)
    }

    fn describe(texts: &Vec<String>) -> String {
        format!("{} messages", texts.len())
    }
}
