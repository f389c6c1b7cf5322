//! `erase_messages`: erases messages of a conversation for good.

use memory::{
    FindRequest, NodeRange, Scope,
    erasing::{EraseError, EraseOptions, EraseRequest},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, conversation, node},
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Author in the receipt.
const BY: &str = "a model, by erase_messages";

pub(crate) struct Erase;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    conversation_id: String,
    /// Numbers of the messages
    #[serde(default)]
    nodes: Vec<u64>,
    /// Instead of nodes: a regular expression, for every message, title, tag and named text that it matches in
    matching: Option<String>,
    /// Erases if true; otherwise only says what would be erased
    #[serde(default)]
    confirm: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    conversation: String,
    /// Messages that are erased, or would be: a call of a tool goes with its results
    nodes: Vec<u64>,
    /// Summaries that cover them
    summaries: u64,
    /// Named texts that go with all their versions
    #[serde(skip_serializing_if = "Vec::is_empty")]
    documents: Vec<String>,
    /// Other places that hold the pattern and stay, each with the command that erases it
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<String>,
    /// The number of the receipt; without one nothing was erased
    receipt: Option<String>,
    /// True if there is anything to erase: a title or tags are not listed
    #[serde(skip)]
    is_any: bool,
}

impl From<EraseError> for Failure {
    fn from(error: EraseError) -> Self {
        Self(memory::text::one_line(&error.to_string()).into_owned())
    }
}

impl Tool for Erase {
    const NAME: &'static str = "erase_messages";
    const TITLE: &'static str = "Erase messages";
    const ABOUT: &'static str = "Erase messages for good, with what came from them.";
    const MORE: &'static str = "This cannot be undone: ask the user first. Without confirm it only says what would be \
                                erased.";
    const KIND: Kind = Kind::Changes;
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let memory = tools.memory();
        let conversation = conversation(memory, &input.conversation_id).await?.id().clone();
        let nodes = input.nodes.into_iter().map(|number| node(number).map(NodeRange::single));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let request = match input.matching {
            Some(pattern) if nodes.is_empty() => {
                EraseRequest::Matching(FindRequest::new(&pattern, Scope::one(&conversation)))
            }
            None if !nodes.is_empty() => EraseRequest::Nodes { conversation: conversation.clone(), nodes },
            _ => return Err(Failure("give either nodes or matching".to_owned())),
        };
        let plan = memory.plan_erasure(request).await?;
        let target = plan.conversations.first();
        let mut output = Output {
            conversation: conversation.to_string(),
            nodes: target
                .into_iter()
                .flat_map(|one| &one.nodes)
                .flat_map(|run| run.iter())
                .map(|node| node.get())
                .collect(),
            summaries: target.map_or(0, |one| one.summaries),
            documents: target.map_or_else(Vec::new, |one| one.documents.clone()),
            held: plan.held.iter().map(ToString::to_string).collect(),
            receipt: None,
            is_any: !plan.is_empty(),
        };
        if input.confirm && !plan.is_empty() {
            let receipt = memory.erase(plan, EraseOptions::default().by(BY)).await?;
            output.receipt = Some(receipt.id.to_string());
        }
        Ok(output)
    }
}

impl Answer for Output {
    fn text(&self) -> String {
        let id = memory::text::one_line(&self.conversation);
        let documents = self.documents.iter().map(|name| format!("text {}", memory::text::one_line(name)));
        let what: Vec<_> = self.nodes.iter().map(u64::to_string).chain(documents).collect();
        let held: String = self.held.iter().map(|held| format!("\n{}", memory::text::one_line(held))).collect();
        match (&self.receipt, self.is_any) {
            (_, false) => format!("Nothing to erase in {id}: these messages are erased already.{held}"),
            (Some(receipt), _) => format!("Erased of {id}: {}. Receipt {receipt}.{held}", what.join(", ")),
            (None, _) => {
                format!("Would be erased of {id}: {}. Call again with confirm to erase them.{held}", what.join(", "))
            }
        }
    }
}
