//! Conversations as people look for them: by title, tags and marks, the last one spoken in first.

use memory_core::{ConversationState, Filter, Mark};

use crate::{
    Memory, MemoryError,
    title::{Title, by_last_update, title},
};

/// A conversation with its title.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedConversation {
    /// Its state.
    pub state: ConversationState,
    /// Its title; `None` where none was set and its first messages have no words.
    pub title: Option<Title>,
}

impl ListedConversation {
    /// A conversation in this state, with this title.
    #[must_use]
    pub const fn new(state: ConversationState, title: Option<Title>) -> Self {
        Self { state, title }
    }
}

/// Conversations to list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Tags that a conversation must have, all of them.
    pub tags: Vec<String>,
    /// True if only conversations that are marked as important are listed.
    pub important: bool,
    /// True if archived conversations are listed, too.
    pub archived: bool,
    /// How many conversations to leave out before the first one, for the next page.
    pub skip: usize,
    /// The most conversations.
    pub limit: usize,
}

impl Default for ListOptions {
    /// Fifty conversations of any tags that are not archived.
    fn default() -> Self {
        Self { tags: Vec::new(), important: false, archived: false, skip: 0, limit: 50 }
    }
}

impl ListOptions {
    memory_core::setters! {
        tags: Vec<String>,
        const important: bool,
        const archived: bool,
        const skip: usize,
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
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
                let title = title(&**this.store(), &state).await?;
                conversations.push(ListedConversation { state, title });
            }
            Ok(Listing { conversations, more, archived })
        })
        .await
    }
}
