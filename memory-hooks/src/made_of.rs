//! Documents that were made of messages of a conversation, which they follow where those are erased or quarantined.

use std::{collections::BTreeMap, fmt};

use memory_core::{
    ConversationId, Mark, Message, NodeId, NodeRange,
    port::{ConversationState, Source, StoreError},
};

/// Messages that a document was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MadeOf {
    /// Their conversation.
    pub conversation: ConversationId,
    /// The messages.
    pub nodes: NodeRange,
}

impl fmt::Display for MadeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.conversation, self.nodes)
    }
}

impl MadeOf {
    /// Member of the metadata of a document's messages that names what the document was made of.
    pub const MEMBER: &'static str = "made_of";

    /// The messages of this run.
    #[must_use]
    pub const fn new(conversation: ConversationId, nodes: NodeRange) -> Self {
        Self { conversation, nodes }
    }

    /// Origin of a message of a document; `None` if it has none.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        let named = message.metadata.get(Self::MEMBER)?.to_value();
        let (conversation, nodes) = named.as_str()?.rsplit_once(' ')?;
        let (first, last) = nodes.split_once('-').unwrap_or((nodes, nodes));
        let node = |text: &str| text.parse().ok().and_then(NodeId::new);
        Some(Self::new(ConversationId::new(conversation).ok()?, NodeRange::new(node(first)?, node(last)?)?))
    }

    /// Documents that were made of some of these messages, by conversation. The first message of each document is read.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn documents(
        store: &dyn Source,
        states: &[ConversationState],
        messages: &BTreeMap<ConversationId, Vec<NodeRange>>,
    ) -> Result<Vec<ConversationState>, StoreError> {
        let mut made = Vec::new();
        for state in states.iter().filter(|state| state.is_marked(Mark::Document) && state.nodes > 0) {
            let first = store.whole_nodes(&state.id, NodeRange::single(NodeId::FIRST)).await?;
            let of = first.nodes.first().and_then(|node| Self::of(&node.message));
            let is_made = |of: Self| {
                messages.get(&of.conversation).is_some_and(|runs| runs.iter().any(|run| run.common(of.nodes).is_some()))
            };
            if of.is_some_and(is_made) {
                made.push(state.clone());
            }
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::Json;

    use super::*;

    #[test]
    fn an_origin_is_read_as_it_is_printed() {
        let node = |number| NodeId::new(number).unwrap();
        for nodes in [NodeRange::single(node(7)), NodeRange::new(node(7), node(12)).unwrap()] {
            let of = MadeOf::new(ConversationId::new("trip").unwrap(), nodes);
            let mut message = Message::user("x");
            message.metadata.insert(MadeOf::MEMBER.to_owned(), Json::string(&of.to_string()));
            assert_eq!(MadeOf::of(&message), Some(of));
        }
        assert_eq!(MadeOf::of(&Message::user("x")), None);
    }
}
