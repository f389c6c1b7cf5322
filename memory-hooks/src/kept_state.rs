//! State of a conversation's manager, kept next to the conversation for the next process.
//!
//! The state is a document like those of Strands sessions: a message of a separate conversation, appended whole at each
//! change. The last one counts.

use std::collections::BTreeMap;

use memory_core::{
    ConversationId, DOCUMENT, Json, Message, NodeDraft, NodeId, Role,
    port::{ManagerError, ManagerState, StoreError},
};

use crate::{Conversation, MemoryError};

/// Name of the document.
const MANAGER_STATE: &str = "manager_state";

impl Conversation {
    /// Keeps the manager's state of the conversation next to the log, if it changed since it was last kept, for
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
            this.write_state(&state.to_json()).await?;
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
            // A conversation whose name is too long for the document has no kept state.
            let Ok(document) = this.document() else { return Ok(None) };
            let nodes = match this.parts.store.conversation(&document).await {
                Err(error) if error.is_not_found() => return Ok(None),
                state => state?.nodes,
            };
            let Some(last) = NodeId::new(nodes) else { return Ok(None) };
            let node = this.parts.store.node(&document, last).await?;
            let text = Json::new(node.message.text().as_str());
            let invalid = |why: String| MemoryError::Manager(ManagerError::InvalidState { why });
            let json = text.map_err(|error| invalid(format!("message {last} of `{document}`: {error}")))?;
            if json.to_value().is_null() { Ok(None) } else { Ok(Some(ManagerState::from_json(&json)?)) }
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
            this.write_state(&Json::from_value(&Default::default())).await
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

    async fn write_state(&self, state: &Json) -> Result<(), MemoryError> {
        let document = self.document()?;
        let metadata = BTreeMap::from([(DOCUMENT.to_owned(), Json::string(MANAGER_STATE))]);
        let text = state.as_str();
        let message = Message::text_of(Role::System, text).metadata(metadata).keep_out_of_summaries(true);
        let draft = NodeDraft::new(message, self.parts.clock.now(), self.parts.counter.count(text));
        self.parts.store.append(&document, vec![draft]).await?;
        Self { id: document, ..self.clone() }.hide().await
    }

    /// The conversation that holds the state.
    fn document(&self) -> Result<ConversationId, MemoryError> {
        let name = format!("manager-state:{}", self.id);
        let backend = |source: memory_core::InvalidConversationId| StoreError::Backend {
            backend: "the state of a manager",
            source: source.into(),
        };
        ConversationId::new(&name).map_err(|error| backend(error).into())
    }
}
