//! A plugin's object, which is destroyed on a thread of its own: a destructor may never return.

use std::{mem::ManuallyDrop, sync::mpsc, thread, time::Duration};

/// How long whoever drops an object waits for its destructor.
const PATIENCE: Duration = Duration::from_secs(1);

/// Holds an object. Dropped, it waits a little for the object's destructor and then leaves it behind.
pub(crate) struct Held<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Held<T> {
    pub(crate) fn new(object: T) -> Self {
        Self(Some(object))
    }

    /// `None` in a destructor alone.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<T: Send + 'static> Drop for Held<T> {
    fn drop(&mut self) {
        let Some(object) = self.0.take() else { return };
        // Without a thread the object is lost, which is better than to wait for ever.
        let object = ManuallyDrop::new(object);
        let (done, is_done) = mpsc::channel();
        let spawned = thread::Builder::new().name("memory-plugin-end".to_owned()).spawn(move || {
            drop(ManuallyDrop::into_inner(object));
            drop(done);
        });
        match spawned {
            Ok(_) => {
                if is_done.recv_timeout(PATIENCE) == Err::<(), _>(mpsc::RecvTimeoutError::Timeout) {
                    tracing::warn!("a plugin's destructor does not return and is left behind");
                }
            }
            Err(error) => tracing::warn!(%error, "no thread to destroy a plugin's object"),
        }
    }
}
