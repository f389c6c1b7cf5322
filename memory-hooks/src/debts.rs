//! Conversations whose compaction may be due, and whoever works that off beside the replies.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use memory_core::{BoxFuture, ConversationId};

use crate::{manager::hierarchical, memory::Parts};

/// A queue without anything in it that the log does not tell: a conversation is owed a compaction if its tree says so.
#[derive(Debug, Default)]
pub(crate) struct Debts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Each at most once, the latest last.
    queue: VecDeque<ConversationId>,
    /// How many work them off.
    workers: usize,
    waiting: Vec<Waker>,
    is_closed: bool,
}

impl Debts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a conversation may be due; `false` when nobody is there to see to it.
    pub(crate) fn owe(&self, conversation: &ConversationId) -> bool {
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

    /// Says that nothing more will be owed.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        inner.waiting.drain(..).for_each(Waker::wake);
    }

    /// The next conversation; `None` once there will be none.
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

/// Somebody who works debts off, for as long as this lives.
struct Worker(Arc<Debts>);

impl Worker {
    fn of(debts: &Arc<Debts>) -> Self {
        debts.lock().workers += 1;
        Self(Arc::clone(debts))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.workers -= 1;
        if inner.workers == 0 {
            // Whoever asks for a context from now on sees to it that what is due is done.
            inner.queue.clear();
        }
    }
}

/// Compacts what is due, first what was left undone before, until there is nothing left of the memory.
pub(crate) fn work_off(parts: &Arc<Parts>) -> BoxFuture<'static, ()> {
    let (debts, parts) = (Arc::clone(&parts.debts), Arc::downgrade(parts));
    Box::pin(async move {
        let worker = Worker::of(&debts);
        if let Some(parts) = parts.upgrade() {
            match parts.store.conversations().await {
                Ok(all) => all.iter().for_each(|state| {
                    debts.owe(&state.id);
                }),
                Err(error) => tracing::warn!(%error, "what was left undone is not known"),
            }
        }
        while let Some(conversation) = worker.0.next().await {
            let Some(parts) = parts.upgrade() else { return };
            // A failure is announced to the hooks, and changes nothing: the next message makes it due again.
            if let Err(error) = hierarchical::compact(&parts, &conversation, &()).await {
                tracing::debug!(%conversation, %error, "left for later");
            }
        }
    })
}
