//! Lists of conversations by title, tags and marks, the most recent first.

use memory_core::{Filter, Mark, port::ConversationState};

use crate::{
    Memory, MemoryError,
    title::{Title, by_last_update, title},
};

/// A conversation with its title.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedConversation {
    /// State of the conversation.
    pub state: ConversationState,
    /// Title of the conversation; `None` if none was set and its first messages have no words.
    pub title: Option<Title>,
}

impl ListedConversation {
    /// A listed conversation in this state, with this title.
    #[must_use]
    pub const fn new(state: ConversationState, title: Option<Title>) -> Self {
        Self { state, title }
    }
}

/// Selection of conversations to list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Tags that a listed conversation must all have.
    pub tags: Vec<String>,
    /// True to list only conversations that are marked as important.
    pub important: bool,
    /// True to list archived conversations, too.
    pub archived: bool,
    /// True for the documents that were added instead of the conversations.
    pub documents: bool,
    /// Number of conversations to skip before the first one, for the next page.
    pub skip: usize,
    /// Most conversations to list.
    pub limit: usize,
}

impl Default for ListOptions {
    /// Fifty conversations of any tags that are neither archived nor documents.
    fn default() -> Self {
        Self { tags: Vec::new(), important: false, archived: false, documents: false, skip: 0, limit: 50 }
    }
}

impl ListOptions {
    memory_core::setters! {
        tags: Vec<String>,
        const important: bool,
        const archived: bool,
        const documents: bool,
        const skip: usize,
        const limit: usize,
    }

    fn admit(&self, state: &ConversationState) -> bool {
        self.documents == state.is_marked(Mark::Document)
            && Filter::default().tags(self.tags.clone()).admits_tags(&state.tags)
            && (self.archived || !state.is_marked(Mark::Archived))
            && !state.is_of_notes()
            && (!self.important || state.is_marked(Mark::Important))
    }
}

/// A page of listed conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Listing {
    /// Conversations, the most recent first; those of one time by name.
    pub conversations: Vec<ListedConversation>,
    /// Number of further conversations beyond the limit.
    pub more: u64,
    /// Number of conversations left out only because they are archived.
    pub archived: u64,
}

impl Memory {
    /// The conversations, the most recent first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(&self, options: ListOptions) -> Result<Listing, MemoryError> {
        self.call(move |this| async move {
            let all = by_last_update(this.store().conversations().await?);
            let archived = ListOptions { archived: true, ..options.clone() };
            let asked = all.iter().filter(|state| archived.admit(state)).count();
            let mut states: Vec<_> = all.into_iter().filter(|state| options.admit(state)).collect();
            let archived = (asked - states.len()) as u64;
            states.drain(..options.skip.min(states.len()));
            let more = states.len().saturating_sub(options.limit) as u64;
            states.truncate(options.limit);
            let mut conversations = Vec::with_capacity(states.len());
            for state in states {
                let title = title(&this.parts, &state).await?;
                conversations.push(ListedConversation { state, title });
            }
            Ok(Listing { conversations, more, archived })
        })
        .await
    }
}
