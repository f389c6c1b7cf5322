//! The shared state of a memory: its ports and its manager.

use std::{ops::Deref, sync::Arc};

use memory_core::{
    CompactionReport, ConversationId, ConversationManager, ManagerError, Notice, Progress, Query, ReduceCause,
    Retrieved,
};

use crate::{MemoryError, compaction_queue::CompactionQueue, ports::Ports, windows::Windows};

/// The shared state of a memory.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) ports: Arc<Ports>,
    pub(crate) manager: Arc<dyn ConversationManager>,
    pub(crate) queue: Arc<CompactionQueue>,
    /// Windows that running agents were shown last.
    pub(crate) windows: Windows,
}

impl Deref for Parts {
    type Target = Ports;

    fn deref(&self) -> &Ports {
        &self.ports
    }
}

impl Parts {
    /// Searches, and counts each hit as a use of its message.
    pub(crate) async fn search(&self, query: &Query) -> Result<Retrieved, MemoryError> {
        let Some(retriever) = &self.retriever else {
            return Ok(Retrieved::default().notices(vec![Notice::NoRetriever]));
        };
        let found = retriever.search(query).await?;
        found.hits.iter().for_each(|hit| self.uses.add(&hit.conversation, [hit.node.id]));
        Ok(found)
    }

    /// Has the manager do what is due. A failure is announced to the hooks, unless the conversation has not begun.
    pub(crate) async fn manage(
        &self,
        conversation: &ConversationId,
        progress: &dyn Progress,
    ) -> Result<CompactionReport, MemoryError> {
        self.announced(conversation, self.manager.manage(conversation, progress).await).await
    }

    /// Has the manager make the smallest view smaller. A failure is announced to the hooks; that nothing gets smaller
    /// is an answer and no failure.
    pub(crate) async fn reduce(
        &self,
        conversation: &ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> Result<CompactionReport, MemoryError> {
        match self.manager.reduce(conversation, tokens, cause).await {
            Err(error @ ManagerError::NoProgress { .. }) => Err(error.into()),
            reduced => self.announced(conversation, reduced).await,
        }
    }

    /// Result of a manager, announced here, and by no manager, so that hooks hear of any manager's failure, and of each
    /// once.
    async fn announced<T>(
        &self,
        conversation: &ConversationId,
        done: Result<T, ManagerError>,
    ) -> Result<T, MemoryError> {
        let done = done.map_err(MemoryError::from);
        if let Err(error) = &done
            && !error.is_not_found()
        {
            self.report_failure(conversation, error).await;
        }
        done
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.queue.close();
    }
}
