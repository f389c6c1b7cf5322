//! The shared state of a memory: its ports and its manager.

use std::{ops::Deref, sync::Arc};

use memory_core::{ConversationManager, Notice, Query, Retrieved};

use crate::{MemoryError, compaction_queue::CompactionQueue, ports::Ports, windows::Windows};

/// The shared state of a memory.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) ports: Arc<Ports>,
    pub(crate) manager: Arc<dyn ConversationManager>,
    pub(crate) queue: Arc<CompactionQueue>,
    /// What running agents were shown last.
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
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.queue.close();
    }
}
