//! Conversations to read and search: their owner, and which of them.

use std::collections::HashSet;

use super::{ConversationState, Source, StoreError};
use crate::{ConversationId, OwnerId};

/// Conversations to read and search.
///
/// With an owner, no conversation of anybody else is found, whether it exists or not, and none without an owner.
/// Without an owner everything is found, as for the only user of a store, and for its administrator.
///
/// Exhaustive: a reader must honour all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Scope {
    /// Owner of the conversations; `None` for all, those with an owner and those without.
    pub owner: Option<OwnerId>,
    /// Conversations to search among these.
    pub conversations: Conversations,
}

/// Conversations to search.
///
/// Exhaustive: a retriever must search all of them.
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

    /// States of the scope's conversations, each once, by name. Conversations that are [kept next to
    /// others](crate::Mark::Companion) are among them only where they are named.
    ///
    /// # Errors
    /// [`StoreError::UnknownConversation`] for one that does not exist or is another owner's, with no names but the
    /// owner's; or when the source fails.
    pub async fn states(&self, source: &dyn Source) -> Result<Vec<ConversationState>, StoreError> {
        let owner = self.owner.as_ref();
        let Conversations::Only(ids) = &self.conversations else {
            let mut all = conversations_of(source, owner).await?;
            all.retain(|state| !state.is_companion());
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

/// The state of a conversation, if it is the owner's; of any without an owner. See [`Scope::states`] for the errors.
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

/// The states of an owner's conversations, by name; of all without an owner.
pub(super) async fn conversations_of(
    source: &dyn Source,
    owner: Option<&OwnerId>,
) -> Result<Vec<ConversationState>, StoreError> {
    let mut states = source.conversations().await?;
    let Some(owner) = owner else { return Ok(states) };
    states.retain(|state| state.owner.as_ref() == Some(owner));
    // A salvaged store may have lost the parent's owner: the parent's name is then not the owner's to see.
    let ids: HashSet<ConversationId> = states.iter().map(|state| state.id.clone()).collect();
    for state in &mut states {
        state.forked_from = state.forked_from.take().filter(|fork| ids.contains(&fork.conversation));
    }
    Ok(states)
}
