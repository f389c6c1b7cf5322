//! Conversations as people look for them: by title, tags and marks, the last one spoken in first.

use std::cmp::Reverse;

use memory_core::{ConversationId, ConversationState, Filter, Mark, Node, NodeId, NodeRange, Role, Store};

use crate::{Memory, MemoryError};

/// Messages at the beginning of a conversation that its title is derived from.
const BEGINNING: u64 = 8;

/// The title of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Title {
    /// Its words.
    pub text: String,
    /// Whether it follows from the first message, by [`memory_strategies::title`], since nobody set one.
    pub is_derived: bool,
}

/// A conversation with its title.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ListedConversation {
    /// Its state.
    pub state: ConversationState,
    /// Its title; `None` where none was set and its first messages have no words.
    pub title: Option<Title>,
}

/// Which conversations to list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Tags that a conversation must have, all of them.
    pub tags: Vec<String>,
    /// Whether only those that are marked as important are listed.
    pub important: bool,
    /// Whether archived ones are listed, too.
    pub archived: bool,
    /// The most conversations.
    pub limit: usize,
}

impl Default for ListOptions {
    /// Fifty conversations of any tags that are not archived.
    fn default() -> Self {
        Self { tags: Vec::new(), important: false, archived: false, limit: 50 }
    }
}

impl ListOptions {
    memory_core::setters! {
        tags: Vec<String>,
        const important: bool,
        const archived: bool,
        const limit: usize,
    }

    fn admit(&self, state: &ConversationState) -> bool {
        Filter::default().tags(self.tags.clone()).admits_tags(&state.tags)
            && (self.archived || !state.is_marked(Mark::Archived))
            && (!self.important || state.is_marked(Mark::Important))
    }
}

/// The conversations that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Listing {
    /// The last one spoken in first; those of one time by name.
    pub conversations: Vec<ListedConversation>,
    /// How many more there are beyond the limit.
    pub more: u64,
    /// How many are left out only because they are archived.
    pub archived: u64,
}

impl Memory {
    /// The conversations, the last one spoken in first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, options: &ListOptions) -> Result<Listing, MemoryError> {
        let all = by_last_update(self.store().conversations().await?);
        let archived = ListOptions { archived: true, ..options.clone() };
        let asked = all.iter().filter(|state| archived.admit(state)).count();
        let mut states: Vec<_> = all.into_iter().filter(|state| options.admit(state)).collect();
        let archived = (asked - states.len()) as u64;
        let more = states.len().saturating_sub(options.limit) as u64;
        states.truncate(options.limit);
        let mut conversations = Vec::with_capacity(states.len());
        for state in states {
            let title = title(&**self.store(), &state).await?;
            conversations.push(ListedConversation { state, title });
        }
        Ok(Listing { conversations, more, archived })
    }
}

/// States with the last one spoken in first.
pub(crate) fn by_last_update(mut states: Vec<ConversationState>) -> Vec<ConversationState> {
    // Those of one time keep the order of their names.
    states.sort_by_key(|state| Reverse(state.last_at));
    states
}

/// The title of a conversation: what somebody set, or else one of its first messages.
pub(crate) async fn title(store: &dyn Store, state: &ConversationState) -> Result<Option<Title>, MemoryError> {
    if let Some(title) = state.own_title() {
        return Ok(Some(Title { text: title.to_owned(), is_derived: false }));
    }
    derived_title(store, &state.id, state.nodes).await
}

async fn derived_title(store: &dyn Store, id: &ConversationId, nodes: u64) -> Result<Option<Title>, MemoryError> {
    let Some(run) = NodeId::new(nodes.min(BEGINNING)).and_then(|last| NodeRange::new(NodeId::FIRST, last)) else {
        return Ok(None);
    };
    let read = store.readable_nodes(id, run).await?;
    Ok(of_beginning(&read.nodes).map(|text| Title { text, is_derived: true }))
}

/// A title by the first user's message that has words, or else by the model's. Messages that are excluded from summaries
/// are passed over, and so are instructions and tools.
fn of_beginning(nodes: &[Node]) -> Option<String> {
    let is_said = |node: &&Node| !node.message.keep_out_of_summaries && node.message.tool_results().next().is_none();
    let by = |role: Role| nodes.iter().filter(is_said).filter(move |node| node.message.role == role);
    by(Role::User).chain(by(Role::Assistant)).find_map(|node| memory_strategies::title(&node.message.text()))
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, Timestamp};

    use super::*;

    fn nodes(messages: Vec<Message>) -> Vec<Node> {
        let node = |(index, message)| Node::new(NodeId::from_index(index), message, Timestamp::default());
        messages.into_iter().enumerate().map(node).collect()
    }

    #[test]
    fn a_title_is_of_the_first_users_message_with_words() {
        let messages = vec![
            Message::text_of(Role::System, "You are a guide."),
            Message::assistant("How can I help you today?"),
            Message::user("!"),
            Message::user("Hi! Which train goes to Oslo?"),
        ];
        assert_eq!(of_beginning(&nodes(messages)).as_deref(), Some("Which train goes to Oslo?"));
    }

    #[test]
    fn what_is_kept_out_of_summaries_is_in_no_title() {
        let messages =
            vec![Message::user("My PIN is 4471.").keep_out_of_summaries(true), Message::assistant("Noted: a secret.")];
        assert_eq!(of_beginning(&nodes(messages)).as_deref(), Some("Noted: a secret"));
    }
}
