//! Holds a plugin's object, and destroys it on a separate thread, because its destructor may never return.

use std::{mem::ManuallyDrop, sync::mpsc, thread, time::Duration};

/// Maximum wait for the object's destructor.
const PATIENCE: Duration = Duration::from_secs(1);

/// Holds an object. Dropping waits at most [`PATIENCE`] for the object's destructor, then abandons it.
pub(crate) struct Held<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Held<T> {
    pub(crate) fn new(object: T) -> Self {
        Self(Some(object))
    }

    /// `None` only while dropping.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

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
