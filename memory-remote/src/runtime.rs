//! A runtime for network calls, on its own thread.

use std::{future::Future, io};

use tokio::{runtime, task::JoinSet};

/// Runs futures on its own thread, so that a client works under any async runtime or none.
#[derive(Debug)]
pub struct Runtime(Option<runtime::Runtime>);

impl Runtime {
    /// A runtime with one thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start() -> io::Result<Self> {
        runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("memory-remote")
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
    }

    /// Runs `work` on the thread; dropping the future cancels it. `None` if it panicked or the runtime is gone.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work, self.0.as_ref()?.handle());
        tasks.join_next().await?.ok()
    }
}

impl Drop for Runtime {
    /// Does not wait for running calls, whose callers are gone.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
