//! The compaction queue.

pub(crate) mod worker;

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use memory_core::ConversationId;

/// Volatile queue, rebuilt from the log: a conversation is due for compaction if its tree shows so.
#[derive(Debug, Default)]
pub(crate) struct CompactionQueue(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Queued conversations, each at most once, the longest waiting first.
    queue: VecDeque<ConversationId>,
    /// Number of workers that process the queue.
    workers: usize,
    waiting: Vec<Waker>,
    is_closed: bool,
}

impl CompactionQueue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues a conversation that may be due; `false` if no worker is running.
    pub(crate) fn enqueue(&self, conversation: &ConversationId) -> bool {
        let mut inner = self.lock();
        if inner.workers == 0 {
            return false;
        }
        if !inner.queue.contains(conversation) {
            inner.queue.push_back(conversation.clone());
            inner.waiting.drain(..).for_each(Waker::wake);
        }
        true
    }

    /// Closes the queue.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        inner.waiting.drain(..).for_each(Waker::wake);
    }

    /// The next conversation; `None` once the queue is closed.
    async fn next(&self) -> Option<ConversationId> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<ConversationId>> {
        let mut inner = self.lock();
        match inner.queue.pop_front() {
            Some(next) => Poll::Ready(Some(next)),
            None if inner.is_closed => Poll::Ready(None),
            None => {
                if !inner.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    inner.waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}
