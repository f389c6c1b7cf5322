//! Small texts under names, kept in the log.

use std::sync::Arc;

use memory_core::ConversationId;
use memory_hooks::{DocumentChange, Documents as Inner, DocumentsNow};

use crate::{Error, Memory};

/// Texts under names, which a model or a program writes, reads and changes; each change is a message in the log. See
/// [`memory_hooks::Documents`]. Its calls run on the threads of the [`Memory`].
#[derive(Clone, Debug)]
pub struct Documents {
    memory: Memory,
    inner: Arc<Inner>,
}

impl Documents {
    pub(crate) fn new(memory: Memory, inner: Inner) -> Self {
        Self { memory, inner: Arc::new(inner) }
    }

    /// The conversation with their changes.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        self.inner.conversation().id()
    }

    /// What `look` gives of the documents as they are now.
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

    /// Makes the change that `decide` decides on the documents as they are now. It is called again where another process
    /// changed something first. What it refuses changes nothing.
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
        let (inner, appends) = (Arc::clone(&self.inner), self.memory.on_append());
        self.memory
            .run(async move {
                let changed = inner.change(decide).await?;
                appends(inner.conversation().id().clone());
                Ok(changed)
            })
            .await
    }
}
