//! Test that a conversation is about something.

use memory_core::{Node, NodeId, NodeRange, Role};

use crate::{
    Conversation, MemoryError,
    title::{BEGINNING, words},
};

impl Conversation {
    /// True if the beginning has a substantial question or statement, or a tool call. A conversation of greetings, or
    /// of texts that a program writes by itself, has no matter.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn has_matter(&self) -> Result<bool, MemoryError> {
        self.call(|this| async move {
            let nodes = this.parts.store.conversation(&this.id).await?.nodes;
            let Some(run) = NodeId::new(nodes.min(BEGINNING)).and_then(|last| NodeRange::new(NodeId::FIRST, last))
            else {
                return Ok(false);
            };
            let matters = |node: &Node| {
                let is_users = node.message.role == Role::User;
                node.message.tool_calls().next().is_some()
                    || is_users && memory_strategies::has_matter(&words(&node.message))
            };
            // A conversation that continues beyond its beginning is about something.
            Ok(nodes > 2 * BEGINNING || this.parts.store.readable_nodes(&this.id, run).await?.nodes.iter().any(matters))
        })
        .await
    }
}
