//! A tool: its name, arguments, effect and answer.

use std::future::Future;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{failure::Failure, tools::Tools};

/// A tool.
pub(crate) trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Purpose of the tool, in one sentence.
    const ABOUT: &'static str;
    /// Further advice for a model; left out of the compact profile.
    const MORE: &'static str = "";
    const KIND: Kind = Kind::Reads;
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    type Output: Answer;

    fn run(tools: &Tools, input: Self::Input) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// The answer of a tool, as JSON and as text.
pub(crate) trait Answer: Serialize + JsonSchema + Send {
    fn text(&self) -> String;
}

/// Effect of a call on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing changes.
    Reads,
    /// The call adds data; the same call twice adds twice.
    Adds,
    /// The call replaces data; the old data stay in the log.
    Replaces,
    /// The call changes or removes data; the same call twice may be an error.
    Changes,
}
