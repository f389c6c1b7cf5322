//! A tool: what it is called, takes, does and gives.

use std::future::Future;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{failure::Failure, tools::Tools};

/// A tool.
pub(crate) trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does, in one sentence.
    const ABOUT: &'static str;
    /// What else a model may want to know; left out of the compact profile.
    const MORE: &'static str = "";
    const KIND: Kind = Kind::Reads;
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    type Output: Answer;

    fn run(tools: &Tools, input: Self::Input) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// What a tool gives, as JSON and as text.
pub(crate) trait Answer: Serialize + JsonSchema + Send {
    fn text(&self) -> String;
}

/// Effect of a call on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing changes.
    Reads,
    /// It adds to what is there; twice the same call adds twice.
    Adds,
    /// It replaces what is there; what was there stays in the log.
    Replaces,
    /// It changes or removes what is there; twice the same call may be an error.
    Changes,
}
