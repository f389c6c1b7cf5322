//! State of a conversation's manager, kept as a note of the conversation for the next process.

use memory_core::{
    ConversationId, Json, Message,
    port::{ManagerError, ManagerState, NoteChange},
};

use crate::{
    Conversation, MemoryError,
    documents::{CHUNK, notes_of, state_of},
};

/// Name of the text.
const MANAGER_STATE: &str = "manager_state";

impl Conversation {
    /// Keeps the manager's state in the conversation, if it changed since it was last kept, for
    /// [`initialize`](Self::initialize) to restore. [`Invocation::end`](crate::Invocation::end) calls this. A manager
    /// whose state follows from the log, such as every manager by name, has nothing to keep. Returns true if the state
    /// was written.
    ///
    /// # Errors
    /// [`ManagerError::OtherManager`] if the state of another manager is kept; otherwise if the store fails.
    pub async fn keep_manager_state(&self) -> Result<bool, MemoryError> {
        self.call(|this| async move {
            let state = this.manager_state().await?;
            let kept = this.kept_manager_state().await?;
            if let Some(kept) = &kept {
                kept.check(&this.parts.manager.identity())?;
            }
            if kept.as_ref() == Some(&state) || kept.is_none() && state.data.is_null() {
                return Ok(false);
            }
            let text = state.to_json().as_str().to_owned();
            let change = NoteChange::Write { name: MANAGER_STATE.to_owned(), text };
            this.note(Vec::new(), move |_| change.clone()).await?;
            Ok(true)
        })
        .await
    }

    /// The kept state of the conversation's manager, if any.
    ///
    /// # Errors
    /// [`ManagerError::InvalidState`] if the state cannot be read; otherwise if the store fails.
    pub async fn kept_manager_state(&self) -> Result<Option<ManagerState>, MemoryError> {
        self.call(|this| async move {
            // In a store of a version without notes, it is in a conversation of its own.
            let earlier = ConversationId::new(&format!("manager-state:{}", this.id)).ok();
            for id in [Some(this.id.clone()), earlier].into_iter().flatten() {
                let Some(change) = this.last_state(&id).await? else { continue };
                let NoteChange::Write { text, .. } = change else { return Ok(None) };
                let invalid = |why: String| MemoryError::Manager(ManagerError::InvalidState { why });
                let json = Json::new(text.as_str()).map_err(|error| invalid(format!("in `{id}`: {error}")))?;
                return if json.to_value().is_null() { Ok(None) } else { Ok(Some(ManagerState::from_json(&json)?)) };
            }
            Ok(None)
        })
        .await
    }

    /// Forgets the kept state, so that another manager may keep its own. The log still has it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn forget_manager_state(&self) -> Result<(), MemoryError> {
        self.call(|this| async move {
            if this.kept_manager_state().await?.is_none() {
                return Ok(());
            }
            let change = NoteChange::Remove { name: MANAGER_STATE.to_owned() };
            this.note(Vec::new(), move |_| change.clone()).await.map(drop)
        })
        .await
    }

    /// Restores the manager's kept state, if any.
    pub(crate) async fn restore_kept_state(&self) -> Result<Vec<Message>, MemoryError> {
        match self.kept_manager_state().await? {
            Some(state) => Ok(self.parts.manager.restore(&self.id, &state).await?),
            None => Ok(Vec::new()),
        }
    }

    /// The last change of the state in a conversation.
    async fn last_state(&self, id: &ConversationId) -> Result<Option<NoteChange>, MemoryError> {
        let store = &*self.parts.store;
        let Some(state) = state_of(store, id).await? else { return Ok(None) };
        let mut last = state.last_note();
        while last > 0 {
            let first = last.saturating_sub(CHUNK - 1).max(1);
            let is_of_it = |change: &NoteChange| match change {
                NoteChange::Write { name, .. } | NoteChange::Remove { name } => name == MANAGER_STATE,
                NoteChange::Append { .. } | NoteChange::Rename { .. } => false,
            };
            let notes = notes_of(store, &state, first, last).await?;
            let found = notes.into_iter().rev().map(|note| note.change).find(is_of_it);
            if found.is_some() {
                return Ok(found);
            }
            last = first - 1;
        }
        Ok(None)
    }
}
