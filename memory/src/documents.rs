//! Small texts under names, kept in the log.

mod present;

use std::sync::{Arc, Mutex, PoisonError};

use memory_core::{ConversationId, InvalidConversationId, Query, Retrieved};
use memory_hooks::{DocumentChange, Documents as Inner, DocumentsNow};

use self::present::Present;
use crate::{Error, Memory};

/// Texts under names, which a model or a program writes, reads and changes; each change is a message in the log. See
/// [`memory_hooks::Documents`]. Its calls run on the threads of the [`Memory`].
#[derive(Clone, Debug)]
pub struct Documents {
    memory: Memory,
    inner: Arc<Inner>,
    searched_as: ConversationId,
    /// The texts as they were when they were searched last.
    searched: Arc<Mutex<Option<Arc<Present>>>>,
}

impl Documents {
    pub(crate) fn new(memory: Memory, inner: Inner) -> Result<Self, InvalidConversationId> {
        let searched_as = ConversationId::new("documents")?;
        Ok(Self { memory, inner: Arc::new(inner), searched_as, searched: Arc::default() })
    }

    /// The conversation with their changes.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        self.inner.conversation().id()
    }

    /// Result of `look` at the documents as they are now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(DocumentsNow<'_>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let inner = Arc::clone(&self.inner);
        self.memory.run(async move { Ok(inner.look(look).await?) }).await
    }

    /// Makes the change that `decide` decides on the documents as they are now, and calls it again where another
    /// process changed something first. A refusal changes nothing.
    ///
    /// # Errors
    /// When the store fails, or others always changed something first.
    pub async fn change<T, E>(
        &self,
        decide: impl FnMut(DocumentsNow<'_>) -> Result<(DocumentChange, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, Error>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        self.memory.run(async move { Ok(inner.change(decide).await?) }).await
    }

    /// The present texts that answer a question best, by words, under the filter and limit of `query`. No index holds
    /// documents: most of their texts are of the past. A hit has the whole text, under the number of its last change.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(&self, query: Query) -> Result<Retrieved, Error> {
        let (inner, searched) = (Arc::clone(&self.inner), Arc::clone(&self.searched));
        let (store, name) = (Arc::clone(&self.memory.parts().store), self.searched_as.clone());
        self.memory
            .run(async move {
                let id = inner.conversation().id();
                let state = match store.conversation(id).await {
                    Ok(state) => state,
                    Err(error) if error.is_not_found() => return Ok(Retrieved::default()),
                    Err(error) => return Err(error.into()),
                };
                let known = searched.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let present = match known.filter(|known| known.is_of(&state)) {
                    Some(known) => known,
                    None => Arc::new(inner.look(|now| Present::new(state, name, now)).await?),
                };
                *searched.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&present));
                Ok(present.search(query).await?)
            })
            .await
    }
}
