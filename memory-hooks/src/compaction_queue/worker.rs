//! The background worker of the compaction queue.

use std::sync::Arc;

use memory_core::port::BoxFuture;

use super::CompactionQueue;
use crate::parts::Parts;

/// Registration of a running worker, which ends on drop.
struct Worker(Arc<CompactionQueue>);

impl Worker {
    fn of(queue: &Arc<CompactionQueue>) -> Self {
        queue.lock().workers += 1;
        Self(Arc::clone(queue))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.workers -= 1;
        if inner.workers == 0 {
            // Without a worker, each request for a prompt performs due compaction.
            inner.queue.clear();
        }
    }
}

/// Compacts due conversations until the memory is dropped, beginning with those that earlier processes left undone.
pub(crate) fn work_off(parts: &Arc<Parts>) -> BoxFuture<'static, ()> {
    let (queue, parts) = (Arc::clone(&parts.queue), Arc::downgrade(parts));
    Box::pin(async move {
        let worker = Worker::of(&queue);
        if let Some(parts) = parts.upgrade() {
            match parts.store.conversations().await {
                Ok(all) => all.iter().filter(|state| !state.is_of_notes()).for_each(|state| {
                    queue.enqueue(&state.id);
                }),
                Err(error) => tracing::warn!(%error, "could not read which compactions are due"),
            }
        }
        while let Some(conversation) = worker.0.next().await {
            let Some(parts) = parts.upgrade() else { return };
            // A failure is reported to the hooks and changes nothing: the next message makes it due again.
            if let Err(error) = parts.manage(&conversation, &()).await {
                tracing::debug!(%conversation, %error, "left for later");
            }
        }
    })
}
