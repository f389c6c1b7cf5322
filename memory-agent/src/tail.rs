//! State at the end of a conversation: the step at which a turn continues.

use std::collections::BTreeSet;

use memory::{ContentBlock, Conversation, Error, Json, Message, NodeId, NodeRange, Role};

use crate::Ended;

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
    /// Reason why the last message of a conversation is an answer that is not whole; `None` if it is none.
    pub(crate) async fn ended(conversation: &Conversation) -> Result<Option<Ended>, Error> {
        let Some(last) = last(conversation).await? else { return Ok(None) };
        let message = message(conversation, last).await?;
        Ok(message.filter(|message| message.role == Role::Assistant).and_then(|message| Ended::of(&message)))
    }

    /// Reads messages from the last one back to the one that decides.
    pub(crate) async fn of(conversation: &Conversation) -> Result<Self, Error> {
        let mut answered = BTreeSet::new();
        let mut at = last(conversation).await?;
        while let Some(node) = at {
            at = node.previous();
            // An erased message asks nothing.
            let Some(message) = message(conversation, node).await? else { return Ok(Self::Answered) };
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

/// The last message of a conversation; `None` in an empty one.
async fn last(conversation: &Conversation) -> Result<Option<NodeId>, Error> {
    match conversation.overview().await {
        Ok(state) => Ok(NodeId::new(state.nodes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A message; `None` if it was erased.
async fn message(conversation: &Conversation, node: NodeId) -> Result<Option<Message>, Error> {
    match conversation.messages(NodeRange::single(node)).await {
        Ok(nodes) => Ok(nodes.into_iter().next().map(|node| node.message)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
