//! Scope of reading and searching: an owner, and conversations.

use std::collections::HashSet;

use super::{ConversationState, Source, StoreError};
use crate::{ConversationId, OwnerId};

/// Conversations to read and search.
///
/// With an owner, only that owner's conversations are found: neither those of others, which cannot be told from missing
/// ones, nor those without an owner. Without an owner all are found, for the only user of a store and for its
/// administrator.
///
/// Exhaustive, because a reader must honour every field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Scope {
    /// Owner of the conversations; `None` for all conversations, with or without an owner.
    pub owner: Option<OwnerId>,
    /// Conversations among these.
    pub conversations: Conversations,
}

/// Conversations to search.
///
/// Exhaustive, because a retriever must search all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Conversations {
    /// Every one.
    All,
    /// These.
    Only(Vec<ConversationId>),
}

impl Scope {
    /// Every conversation.
    #[must_use]
    pub const fn all() -> Self {
        Self { owner: None, conversations: Conversations::All }
    }

    /// Only these conversations.
    #[must_use]
    pub const fn only(conversations: Vec<ConversationId>) -> Self {
        Self { owner: None, conversations: Conversations::Only(conversations) }
    }

    /// Only one conversation.
    #[must_use]
    pub fn one(conversation: &ConversationId) -> Self {
        Self::only(vec![conversation.clone()])
    }

    crate::setters! { into owner: Option<OwnerId> }

    /// States of the scope's conversations, each once, sorted by name. [Conversations of
    /// notes](ConversationState::is_of_notes) are included only if the scope names them.
    ///
    /// # Errors
    /// [`StoreError::UnknownConversation`] for a conversation that does not exist or is another owner's, which suggests
    /// only names of the owner; other errors if the source fails.
    pub async fn states(&self, source: &dyn Source) -> Result<Vec<ConversationState>, StoreError> {
        let owner = self.owner.as_ref();
        let Conversations::Only(ids) = &self.conversations else {
            let mut all = conversations_of(source, owner).await?;
            all.retain(|state| !state.is_of_notes());
            return Ok(all);
        };
        let mut states = Vec::with_capacity(ids.len());
        for id in ids {
            states.push(conversation_of(source, owner, id).await?);
        }
        states.sort_by(|a, b| a.id.cmp(&b.id));
        states.dedup_by(|a, b| a.id == b.id);
        Ok(states)
    }
}

/// State of a conversation that is the owner's; of any conversation if `owner` is `None`. See [`Scope::states`] for the
/// errors.
pub(super) async fn conversation_of(
    source: &dyn Source,
    owner: Option<&OwnerId>,
    id: &ConversationId,
) -> Result<ConversationState, StoreError> {
    let found = source.conversation(id).await;
    let Some(owner) = owner else { return found };
    match found {
        Ok(mut state) if state.owner.as_ref() == Some(owner) => {
            if let Some(fork) = &state.forked_from
                && source.conversation(&fork.conversation).await?.owner.as_ref() != Some(owner)
            {
                state.forked_from = None;
            }
            Ok(state)
        }
        Ok(_) | Err(StoreError::UnknownConversation { .. }) => {
            let known = conversations_of(source, Some(owner)).await?;
            Err(StoreError::unknown_conversation(id, known.iter().map(|state| &state.id)))
        }
        Err(error) => Err(error),
    }
}

/// States of an owner's conversations, sorted by name; of all conversations if `owner` is `None`.
pub(super) async fn conversations_of(
    source: &dyn Source,
    owner: Option<&OwnerId>,
) -> Result<Vec<ConversationState>, StoreError> {
    let mut states = source.conversations().await?;
    let Some(owner) = owner else { return Ok(states) };
    states.retain(|state| state.owner.as_ref() == Some(owner));
    // A salvaged store may have lost the parent's owner; the owner may not see that name then.
    let ids: HashSet<ConversationId> = states.iter().map(|state| state.id.clone()).collect();
    for state in &mut states {
        state.forked_from = state.forked_from.take().filter(|fork| ids.contains(&fork.conversation));
    }
    Ok(states)
}
