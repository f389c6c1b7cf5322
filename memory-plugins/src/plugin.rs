//! A plugin's object with what its calls share. The object is destroyed on a separate thread, because its destructor
//! may never return.

use std::{
    fmt,
    mem::ManuallyDrop,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use memory_core::{WrittenBy, port::TokenCounter};

use crate::{call::Call, error::CallError, health::Health, workers::Workers};

/// A strategy of a plugin.
pub(crate) struct Plugin<T: Send + 'static> {
    pub(crate) identity: WrittenBy,
    object: Arc<Held<T>>,
    workers: Arc<Workers>,
    health: Arc<Health>,
}

impl<T: Send + Sync + 'static> Plugin<T> {
    pub(crate) fn new(identity: WrittenBy, object: T, workers: Arc<Workers>, health: Arc<Health>) -> Self {
        Self { identity, object: Arc::new(Held(Some(object))), workers, health }
    }

    /// Runs `work` with the object and the plugin's name on a worker.
    pub(crate) async fn call<A: Send + 'static>(
        &self,
        counter: Option<&dyn TokenCounter>,
        work: impl FnOnce(&T, &Call<A>, &str) -> Result<A, CallError> + Send + 'static,
    ) -> Result<A, CallError> {
        let (object, name) = (Arc::clone(&self.object), self.identity.strategy.clone());
        let answer = self.workers.call(counter, move |call| match &object.0 {
            Some(object) => work(object, call, &name),
            None => Err(CallError::Failed("it is gone".to_owned())),
        });
        answer.await
    }

    /// Outcome of `ask`, which is recorded for the job that `job` identifies by a hash; an error if the plugin is
    /// quarantined.
    pub(crate) async fn guarded<A>(
        &self,
        ask: impl Future<Output = Result<A, CallError>>,
        job: impl FnOnce() -> u64,
    ) -> Result<A, CallError> {
        self.health.check()?;
        let outcome = ask.await;
        self.health.record(&outcome, job);
        outcome
    }
}

impl<T: Send + 'static> fmt::Debug for Plugin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, health, .. } = self;
        f.debug_struct("Plugin").field("identity", identity).field("health", health).finish_non_exhaustive()
    }
}

/// Maximum wait for the object's destructor.
const PATIENCE: Duration = Duration::from_secs(1);

/// Holds an object, which is there until it is dropped. Dropping waits at most [`PATIENCE`] for the object's
/// destructor, then abandons it.
struct Held<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Drop for Held<T> {
    fn drop(&mut self) {
        let Some(object) = self.0.take() else { return };
        // If no thread can be started, the object is leaked, so that dropping never waits for ever.
        let object = ManuallyDrop::new(object);
        let (done, is_done) = mpsc::channel();
        let spawned = thread::Builder::new().name("memory-plugin-end".to_owned()).spawn(move || {
            drop(ManuallyDrop::into_inner(object));
            drop(done);
        });
        match spawned {
            Ok(_) => {
                if is_done.recv_timeout(PATIENCE) == Err::<(), _>(mpsc::RecvTimeoutError::Timeout) {
                    tracing::warn!("a plugin's destructor does not return and is abandoned");
                }
            }
            Err(error) => tracing::warn!(%error, "no thread to destroy a plugin's object"),
        }
    }
}
