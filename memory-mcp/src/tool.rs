//! A tool: what it is called, takes, does and gives.

use std::future::Future;

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{context::Context, failure::Failure};

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

    fn run(context: &Context, input: Self::Input) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// What a tool gives, as JSON and as text.
pub(crate) trait Answer: Serialize + JsonSchema + Send {
    fn text(&self) -> String;
}

/// What a call of a tool does to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Reads,
    /// It adds to what is there; twice the same call adds twice.
    Adds,
    /// It replaces what is there; what was there stays in the log.
    Replaces,
    /// It changes or removes what is there; twice the same call may be an error.
    Changes,
}

impl Kind {
    pub(crate) fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self == Self::Reads)
            .destructive(matches!(self, Self::Replaces | Self::Changes))
            .idempotent(matches!(self, Self::Reads | Self::Replaces))
            .open_world(false)
    }
}
