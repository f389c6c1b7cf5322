//! `disable_messages`: keeps messages out of views and searches, or brings them back.

use memory::{Disabling, NodeRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, conversation, node},
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Author of the change.
const BY: &str = "a model, by disable_messages";

pub(crate) struct Disable;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    conversation_id: String,
    nodes: Vec<u64>,
    /// Brings them back if true
    #[serde(default)]
    enable: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// Messages that changed: a call of a tool goes with its results
    nodes: Vec<u64>,
    /// True if they are disabled now
    disabled: bool,
}

impl Tool for Disable {
    const NAME: &'static str = "disable_messages";
    const TITLE: &'static str = "Disable messages";
    const ABOUT: &'static str = "Hide messages from views and searches, or bring them back.";
    const MORE: &'static str = "Nothing is lost. Ask the user first.";
    const KIND: Kind = Kind::Changes;
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let conversation = conversation(tools.memory(), &input.conversation_id).await?;
        let nodes = input.nodes.into_iter().map(|number| node(number).map(NodeRange::single));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let Disabling { nodes, is_disabled, .. } = match input.enable {
            true => conversation.enable(nodes, BY).await?,
            false => conversation.disable(nodes, BY).await?,
        };
        let nodes = nodes.iter().flat_map(|run| run.iter()).map(|node| node.get()).collect();
        Ok(Output { conversation: conversation.id().to_string(), nodes, disabled: is_disabled })
    }
}

impl Answer for Output {
    fn text(&self) -> String {
        let id = memory::text::one_line(&self.conversation);
        let nodes: Vec<_> = self.nodes.iter().map(u64::to_string).collect();
        let what = if self.disabled { "Disabled" } else { "Enabled" };
        match nodes.is_empty() {
            true => format!("Nothing changed in {id}: it is so already."),
            false => format!("{what} in {id}: {}.", nodes.join(", ")),
        }
    }
}
