//! The bounded queue to the writer thread, which can be awaited under any runtime.

use std::{
    collections::VecDeque,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Items from many tasks for one thread, which takes all that wait at once.
///
/// The bound is on their bytes, so that slow disks slow the callers down instead of filling memory. One item
/// of any size is always accepted.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    filled: Condvar,
    most_bytes: usize,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    bytes: usize,
    /// Tasks that found the queue full; all are woken when it is emptied.
    waiting: Vec<Waker>,
    closed: bool,
}

/// The error that the writer thread has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl<T> Queue<T> {
    pub(crate) fn new(most_bytes: usize) -> Self {
        let inner = Inner { items: VecDeque::new(), bytes: 0, waiting: Vec::new(), closed: false };
        Self { inner: Mutex::new(inner), filled: Condvar::new(), most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `item`, of `bytes`, out of its option once there is room for it.
    pub(crate) fn poll_push(
        &self,
        context: &mut Context<'_>,
        item: &mut Option<T>,
        bytes: usize,
    ) -> Poll<Result<(), Closed>> {
        let mut inner = self.lock();
        if inner.closed {
            return Poll::Ready(Err(Closed));
        }
        if !inner.items.is_empty() && inner.bytes.saturating_add(bytes) > self.most_bytes {
            if !inner.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                inner.waiting.push(context.waker().clone());
            }
            return Poll::Pending;
        }
        if let Some(item) = item.take() {
            inner.items.push_back(item);
            inner.bytes = inner.bytes.saturating_add(bytes);
        }
        drop(inner);
        self.filled.notify_one();
        Poll::Ready(Ok(()))
    }

    /// Blocks until there are items, and takes all of them; `None` once the queue is closed and empty.
    pub(crate) fn take_all(&self) -> Option<VecDeque<T>> {
        let mut inner = self.lock();
        while inner.items.is_empty() && !inner.closed {
            inner = self.filled.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        let items = mem::take(&mut inner.items);
        inner.bytes = 0;
        let waiting = mem::take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
        (!items.is_empty()).then_some(items)
    }

    /// Accepts nothing more. Queued items can still be taken.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        let waiting = mem::take(&mut inner.waiting);
        drop(inner);
        self.filled.notify_all();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Accepts nothing more and drops the queued items.
    pub(crate) fn abandon(&self) {
        self.close();
        drop(mem::take(&mut self.lock().items));
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::Arc, thread};

    use super::*;

    fn push(queue: &Queue<u32>, value: u32, bytes: usize) -> Result<(), Closed> {
        let mut item = Some(value);
        pollster::block_on(poll_fn(|context| queue.poll_push(context, &mut item, bytes)))
    }

    #[test]
    fn a_full_queue_lets_nothing_in_until_it_is_taken() {
        let queue = Queue::new(10);
        push(&queue, 1, 50).unwrap();
        let (mut item, mut context) = (Some(2), Context::from_waker(Waker::noop()));
        assert_eq!(queue.poll_push(&mut context, &mut item, 1), Poll::Pending);
        assert_eq!(item, Some(2), "what was not let in stays with the caller");
        assert_eq!(queue.take_all().unwrap(), [1]);
        assert_eq!(queue.poll_push(&mut context, &mut item, 1), Poll::Ready(Ok(())));
        assert_eq!(queue.take_all().unwrap(), [2]);
    }

    #[test]
    fn many_tasks_get_everything_through_a_small_queue() {
        let queue = Arc::new(Queue::new(3));
        let senders: Vec<_> = (0..8)
            .map(|sender| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || (0..200).for_each(|i| push(&queue, sender * 200 + i, 1).unwrap()))
            })
            .collect();
        let taker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut all = Vec::new();
                while let Some(items) = queue.take_all() {
                    assert!(items.len() <= 3);
                    all.extend(items);
                }
                all
            })
        };
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        queue.close();
        let mut all = taker.join().unwrap();
        all.sort_unstable();
        assert_eq!(all, (0..1_600).collect::<Vec<_>>());
        assert_eq!(push(&queue, 0, 1), Err(Closed));
    }
}
