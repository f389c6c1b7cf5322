//! Calls of a memory on separate threads, so that neither a disk nor a model blocks the caller's executor.
//!
//! The caller's handle hands a public call to a thread once. The handle inside the call has no threads: nested calls
//! run in place, and a running call does not keep the threads alive.

use std::{future::Future, sync::Arc};

use futures_channel::oneshot;
use memory_core::port::Spawner;

use crate::{Conversation, Documents, Memory, MemoryError};

/// Work of a call.
pub(crate) trait Work<T>: Future<Output = Result<T, MemoryError>> + Send + 'static {}

impl<T, F: Future<Output = Result<T, MemoryError>> + Send + 'static> Work<T> for F {}

/// Threads for the calls of a handle; `None` runs calls where they are polled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads(Option<Arc<dyn Spawner>>);

impl Threads {
    async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, MemoryError> {
        let Some(threads) = self.0.as_ref().filter(|threads| !threads.is_current()) else { return work.await };
        let (answer, answered) = oneshot::channel();
        threads.spawn(Box::pin(async move {
            // The caller may have dropped its future.
            drop(answer.send(work.await));
        }));
        answered.await.map_err(|_| MemoryError::Interrupted)?
    }
}

impl Memory {
    /// The same memory, with calls that run on `threads`: under any executor of the caller, or none, and to their end,
    /// even if the returned future is dropped after it was polled. Conversations, documents and invocations have the
    /// threads of the memory that they come from, and keep them alive.
    #[must_use]
    pub fn on_threads(self, threads: Arc<dyn Spawner>) -> Self {
        Self { threads: Threads(Some(threads)), ..self }
    }

    /// Runs `work` to its end on a thread of this memory, if it has threads, and returns its result.
    ///
    /// # Errors
    /// Errors of `work`, and [`MemoryError::Interrupted`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, MemoryError>> + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.threads.run(work).await
    }

    pub(crate) async fn call<T: Send + 'static, W: Work<T>>(
        &self,
        call: impl FnOnce(Self) -> W,
    ) -> Result<T, MemoryError> {
        self.threads.run(call(Self { threads: Threads::default(), ..self.clone() })).await
    }
}

impl Conversation {
    pub(crate) async fn call<T: Send + 'static, W: Work<T>>(
        &self,
        call: impl FnOnce(Self) -> W,
    ) -> Result<T, MemoryError> {
        self.threads.run(call(Self { threads: Threads::default(), ..self.clone() })).await
    }
}

impl Documents {
    pub(crate) async fn call<T: Send + 'static, W: Work<T>>(
        &self,
        call: impl FnOnce(Self) -> W,
    ) -> Result<T, MemoryError> {
        let mut this = self.clone();
        this.conversation.threads = Threads::default();
        self.conversation.threads.run(call(this)).await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        pin::pin,
        sync::{
            Barrier,
            atomic::{AtomicBool, Ordering},
        },
        task::{Context, Waker},
        thread,
    };

    use memory_core::{
        ConversationId, Message,
        port::BoxFuture,
        testing::{MemoryStore, WordCounter},
    };
    use pollster::block_on;

    use super::*;

    thread_local! {
        static IS_OURS: Cell<bool> = const { Cell::new(false) };
    }

    /// A thread for each work.
    #[derive(Debug)]
    struct Each;

    impl Spawner for Each {
        fn spawn(&self, work: BoxFuture<'static, ()>) {
            thread::spawn(move || {
                IS_OURS.set(true);
                block_on(work);
            });
        }

        fn is_current(&self) -> bool {
            IS_OURS.get()
        }
    }

    fn memory() -> Memory {
        let builder = Memory::builder().store(Arc::new(MemoryStore::default())).token_counter(Arc::new(WordCounter));
        builder.build().unwrap().on_threads(Arc::new(Each))
    }

    #[test]
    fn calls_run_on_the_threads_and_calls_of_calls_in_place() {
        let memory = memory();
        let is_ours = || async { Ok(IS_OURS.get()) };
        assert!(!IS_OURS.get() && block_on(memory.run(is_ours())).unwrap());
        let talk = memory.conversation(ConversationId::new("talk").unwrap());
        block_on(talk.append(Message::user("The train leaves at 7:42."))).unwrap();
        let nested = memory.clone();
        let asks = async move {
            let here = thread::current().id();
            nested.run(async move { Ok(thread::current().id() == here) }).await
        };
        assert!(block_on(memory.run(asks)).unwrap());
    }

    #[test]
    fn work_whose_future_is_dropped_runs_to_its_end_and_a_panic_is_an_error() {
        let (memory, done) = (memory(), Arc::new(AtomicBool::new(false)));
        let [begun, ended] = [(); 2].map(|()| Arc::new(Barrier::new(2)));
        let work = {
            let (begun, ended, done) = (Arc::clone(&begun), Arc::clone(&ended), Arc::clone(&done));
            async move {
                begun.wait();
                done.store(true, Ordering::Relaxed);
                ended.wait();
                Ok(())
            }
        };
        assert!(pin!(memory.run(work)).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        begun.wait();
        ended.wait();
        assert!(done.load(Ordering::Relaxed));
        let panics = async { Err(MemoryError::Contended { tries: [1, 2][usize::from(IS_OURS.get()) + 1] }) };
        assert!(matches!(block_on(memory.run::<()>(panics)), Err(MemoryError::Interrupted)));
    }
}
