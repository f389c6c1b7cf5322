//! Conversations without a word of a person, such as those of subagents: archived, so that they stay out of lists.

use memory::{ContentBlock, Mark, Message, NodeId, NodeRange, Role, parts::Conversation, port::Store};

use super::Target;
use crate::Error;

/// Messages that are read at once.
const PAGE: u64 = 256;
/// Metadata member of the first message of a subagent, whose tasks are the model's.
const SUBAGENT: &str = "subagent_of";

/// True if a person may have said a message.
pub(super) fn is_of_person(message: &Message) -> bool {
    let is_said = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => !text.trim().is_empty(),
        ContentBlock::Image(_) | ContentBlock::Document { .. } => true,
        _ => false,
    };
    message.role == Role::User && message.content.iter().any(is_said)
}

impl Target {
    /// Notes if a message for the conversation is a person's.
    pub(super) fn hear(&mut self, message: &Message) {
        self.is_subagent |= message.metadata.contains_key(SUBAGENT);
        self.has_person |= is_of_person(message) && !self.is_subagent;
    }

    /// Archives a new conversation in which no person spoke, and lists one again in which a person speaks now. True if
    /// it archived one.
    pub(super) async fn list(&self, store: &dyn Store) -> Result<bool, Error> {
        if self.new == 0 || self.stored > 0 && !self.has_person {
            return Ok(false);
        }
        let state = store.conversation(self.conversation.id()).await?;
        if self.stored == 0 {
            if !self.has_person && state.forked_from.is_none() {
                self.conversation.mark(Mark::Archived, true).await?;
                return Ok(true);
            }
        } else if state.is_marked(Mark::Archived) && !has_spoken(store, &self.conversation, self.stored).await? {
            self.conversation.mark(Mark::Archived, false).await?;
        }
        Ok(false)
    }
}

/// True if a person spoke in the first messages of a conversation.
async fn has_spoken(store: &dyn Store, conversation: &Conversation, messages: u64) -> Result<bool, Error> {
    let mut next = 1;
    while let (Some(first), Some(last)) = (NodeId::new(next), NodeId::new(messages.min(next + PAGE - 1))) {
        if next > messages {
            break;
        }
        let range = NodeRange::new(first, last).unwrap_or(NodeRange::single(first));
        let read = store.whole_nodes(conversation.id(), range).await?;
        if read.nodes.iter().any(|node| is_of_person(&node.message)) {
            return Ok(true);
        }
        next += PAGE;
    }
    Ok(false)
}
