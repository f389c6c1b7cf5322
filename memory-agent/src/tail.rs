//! State at the end of a conversation: the step at which a turn continues.

use std::collections::BTreeSet;

use memory::{ContentBlock, Conversation, Error, Json, Message, NodeId, NodeRange, Role};

/// State at the end of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The model has answered, or nothing was said yet: no turn is open.
    Answered,
    /// The model owes a reply.
    Asked,
    /// Calls of this message have no result.
    Open(NodeId, Vec<OpenCall>),
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// Position among the calls of its message.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Json,
}

/// The calls of a message.
pub(crate) fn calls(message: &Message) -> Vec<OpenCall> {
    let calls = message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, name, input } => Some((id.clone(), name.clone(), input.clone())),
        _ => None,
    });
    calls.enumerate().map(|(index, (id, name, input))| OpenCall { index, id, name, input }).collect()
}

impl Tail {
    /// Reads messages from the last one back to the one that decides.
    pub(crate) async fn of(conversation: &Conversation) -> Result<Self, Error> {
        let last = match conversation.overview().await {
            Ok(state) => NodeId::new(state.nodes),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let mut answered = BTreeSet::new();
        let mut at = last;
        while let Some(node) = at {
            at = node.previous();
            let message = match conversation.messages(NodeRange::single(node)).await {
                Ok(nodes) => nodes.into_iter().next().map(|node| node.message),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(error),
            };
            // An erased message asks nothing.
            let Some(message) = message else { return Ok(Self::Answered) };
            if message.tool_results().next().is_some() {
                answered.extend(message.tool_results().map(str::to_owned));
                continue;
            }
            let mut open = calls(&message);
            if message.role != Role::Assistant {
                return Ok(if message.role == Role::User || !answered.is_empty() {
                    Self::Asked
                } else {
                    Self::Answered
                });
            }
            if open.is_empty() && answered.is_empty() {
                return Ok(Self::Answered);
            }
            open.retain(|call| !answered.contains(&call.id));
            return Ok(if open.is_empty() { Self::Asked } else { Self::Open(node, open) });
        }
        Ok(Self::Answered)
    }
}
