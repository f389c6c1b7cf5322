//! `quarantine_source`: takes a source out of views and searches, with all that was derived from it.

use memory::{Quarantine, QuarantineSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    shown,
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Author of the change.
const BY: &str = "a model, by quarantine_source";

pub(crate) struct QuarantineTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// tool:NAME, session:NAME, import:CONVERSATION or conversation:CONVERSATION
    source: String,
    /// Brings it back if true
    #[serde(default)]
    undo: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    quarantine: Quarantine,
    /// True if the messages are under quarantine now
    held: bool,
}

impl Tool for QuarantineTool {
    const NAME: &'static str = "quarantine_source";
    const TITLE: &'static str = "Quarantine a source";
    const ABOUT: &'static str = "Hide a source and all derived from it, or bring it back.";
    const MORE: &'static str = "Nothing is lost. Ask the user first.";
    const KIND: Kind = Kind::Changes;
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let source: QuarantineSource =
            input.source.parse().map_err(|error: memory::InvalidSource| Failure(error.to_string()))?;
        let quarantine = match input.undo {
            true => tools.memory().lift_quarantine(source, BY).await?,
            false => tools.memory().quarantine(source, BY).await?,
        };
        Ok(Output { quarantine, held: !input.undo })
    }
}

impl Answer for Output {
    fn text(&self) -> String {
        let Self { quarantine: Quarantine { source, conversations, .. }, held } = self;
        let source = memory::text::one_line(source);
        let count: u64 = conversations.iter().flat_map(|one| &one.nodes).map(|run| run.count()).sum();
        let what = if *held { "under quarantine now" } else { "brought back" };
        let places = shown::count(conversations.len() as u64, "conversation");
        format!("{count} of the messages of {source} {what}, in {places}.")
    }
}
