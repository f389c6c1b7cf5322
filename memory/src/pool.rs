//! The threads of a memory, which run calls and background work under any executor of the caller, or none.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use tokio::runtime::{self, Handle, Runtime};

/// Name of each thread, for debuggers and lists of processes.
const THREAD_NAME: &str = "memory";
/// The most calls that run at once; others wait.
const MOST_THREADS: usize = 64;

thread_local! {
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// True if this is a thread of a pool.
pub(crate) fn is_ours() -> bool {
    IS_OURS.get()
}

/// A pool of threads, one for each running call, since the futures of stores and indexes block on the disk.
#[derive(Debug)]
pub(crate) struct Pool {
    /// The runtime; `None` while this is being dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    running: Arc<Running>,
}

/// Number of running tasks.
#[derive(Debug, Default)]
struct Running {
    count: Mutex<usize>,
    is_less: Condvar,
}

/// Registration of a running task, which ends on drop.
struct Task(Arc<Running>);

impl Pool {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(MOST_THREADS)
            .thread_name(THREAD_NAME)
            .on_thread_start(|| IS_OURS.set(true))
            .enable_all()
            .build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime), running: Arc::default() })
    }

    /// Runs `work` on a separate thread.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (handle, task) = (self.handle.clone(), Task::begin(&self.running));
        drop(self.handle.spawn_blocking(move || {
            // Dropped last, after the values that `work` holds.
            let _task = task;
            handle.block_on(work);
        }));
    }

    /// Waits until no task is running, but no longer than until `deadline`. Returns true if none is.
    pub(crate) fn wait(&self, deadline: Instant) -> bool {
        let mut count = self.running.lock();
        while *count > 0 {
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| *left > Duration::ZERO)
            else {
                return false;
            };
            let waited = self.running.is_less.wait_timeout(count, left);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Pool {
    /// Drops the runtime without waiting: a runtime that waits for its threads panics in async code.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn begin(running: &Arc<Running>) -> Self {
        *running.lock() += 1;
        Self(Arc::clone(running))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.is_less.notify_all();
    }
}

/// Runs `work` until it ends or `stop` is dropped, whichever comes first.
pub(crate) async fn until_stopped(mut stop: oneshot::Receiver<()>, work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    poll_fn(|context| match Pin::new(&mut stop).poll(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => work.as_mut().poll(context),
    })
    .await;
}
