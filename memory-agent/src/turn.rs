//! The outcome of a turn.

use std::sync::Arc;

use memory::{
    Message, NodeId, NodeRange, Prompt,
    port::{ChatError, ChatUsage},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Prices, Usage};

/// The outcome of a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Turn {
    /// The model's last message, which answers the user unless the turn was stopped; `None` if there is none.
    pub answer: Option<Message>,
    /// Number of that message.
    pub node: Option<NodeId>,
    /// Messages that the turn appended.
    pub nodes: Option<NodeRange>,
    /// Reason why the turn ended.
    pub ended: Ended,
    /// Tokens and costs.
    pub usage: Usage,
    /// Usage of the last request.
    pub last: Usage,
    /// True if the provider did not report the tokens of the last request, so that they are counted by the memory.
    pub is_estimated: bool,
    /// The failure that cut the answer off.
    pub failure: Option<Arc<ChatError>>,
    /// Calls of tools, in the order of their results.
    pub calls: Vec<CallDone>,
    /// How often a request exceeded the window and was made smaller.
    pub overflows: u32,
    /// The prompt that the model was sent last.
    pub prompt: Option<Prompt>,
}

impl Turn {
    /// Text of the answer; empty without one.
    #[must_use]
    pub fn text(&self) -> String {
        self.answer.as_ref().map(Message::text).unwrap_or_default()
    }

    /// Adds a request. `counted` are counts of our own of prompt and reply, for those that the provider does not report.
    pub(crate) fn asked(&mut self, usage: ChatUsage, counted: (u32, u32), prices: Option<Prices>) {
        self.is_estimated = usage.prompt_tokens.is_none() || usage.reply_tokens.is_none();
        self.last = Usage::of(usage, counted, prices);
        self.usage.merge(&self.last);
    }

    pub(crate) fn appended(&mut self, node: NodeId) {
        let first = self.nodes.map_or(node, |nodes| nodes.first());
        self.nodes = NodeRange::new(first, node).or(self.nodes);
    }
}

/// Reason why a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ended {
    /// The model answered.
    #[default]
    Answered,
    /// The answer has its maximum of tokens.
    Length,
    /// The turn was cancelled. What came of the answer is kept.
    Interrupted,
    /// The connection broke in the middle of the answer. What came of it is kept, and is not asked for again.
    Cut,
    /// The turn has its maximum of requests; the next turn continues from the last results.
    Requests,
}

/// A call of a tool with its recorded result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct CallDone {
    /// Id of the call, by the model.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as JSON text.
    pub input: String,
    /// Message with the result.
    pub node: NodeId,
    /// True if the tool failed, was interrupted, or does not exist.
    pub is_error: bool,
    /// Lines of the result.
    pub lines: u32,
}
