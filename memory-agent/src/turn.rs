//! The outcome of a turn.

use std::sync::Arc;

use memory::{
    Json, Message, NodeId, NodeRange, Prompt,
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
        self.answer.as_ref().map(Message::text).filter(|text| text != NO_ANSWER).unwrap_or_default()
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

/// Text of an answer without content, since no provider takes an empty message.
pub(crate) const NO_ANSWER: &str = "[no answer]";

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
    /// The model ended its answer without a word.
    Empty,
}

/// Answers that are not whole: the member of their metadata, and the words that end their text.
const NOT_WHOLE: [(Ended, &str, Option<&str>); 4] = [
    (Ended::Interrupted, "interrupted", Some("[interrupted]")),
    (Ended::Cut, "cut", Some("[cut off]")),
    (Ended::Length, "length", None),
    (Ended::Empty, "empty", None),
];

impl Ended {
    /// Reason why an answer is not whole, as its metadata have it; `None` for a whole one.
    #[must_use]
    pub fn of(answer: &Message) -> Option<Self> {
        let mut all = NOT_WHOLE.iter();
        all.find(|(_, member, _)| answer.metadata.contains_key(*member)).map(|(ended, ..)| *ended)
    }

    /// Words of ours at the end of the text of such an answer.
    #[must_use]
    pub fn mark(self) -> Option<&'static str> {
        NOT_WHOLE.iter().find(|(ended, ..)| *ended == self).and_then(|(.., mark)| *mark)
    }

    /// Words that have a model go on with such an answer.
    pub(crate) const fn note_to_go_on(self) -> &'static str {
        match self {
            Self::Empty => "[Note of the program: your answer was empty. Answer the message before it.]",
            _ => "[Note of the program: your answer was cut off. Go on where it ended.]",
        }
    }

    /// The answer with the member of this reason.
    pub(crate) fn note(self, answer: &mut Message) {
        for (_, member, _) in NOT_WHOLE.iter().filter(|(ended, ..)| *ended == self) {
            answer.metadata.insert((*member).to_owned(), Json::from_value(&true.into()));
        }
    }
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
