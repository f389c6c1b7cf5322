//! The open connections, of which the oldest without an admitted request gives way to a new one.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Open connections, bounded in number.
#[derive(Debug)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    /// Connections without an admitted request at the last check, oldest first.
    not_admitted: Mutex<VecDeque<Weak<Connection>>>,
}

/// A connection, which counts as open until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    is_admitted: AtomicBool,
    closing: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(most)), not_admitted: Mutex::default() }
    }

    /// Waits until one more connection may be open. If there are too many, closes the oldest one without an admitted
    /// request, so that clients without the token cannot lock out those with it.
    pub(super) async fn open(&self) -> Option<Arc<Connection>> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.close_one();
                Arc::clone(&self.permits).acquire_owned().await.ok()?
            }
        };
        let (is_admitted, closing) = (AtomicBool::new(false), CancellationToken::new());
        let connection = Arc::new(Connection { is_admitted, closing, _permit: permit });
        let mut not_admitted = self.not_admitted();
        // Keeps the queue no longer than the number of connections.
        not_admitted.retain(|one| one.upgrade().is_some_and(|connection| !connection.is_admitted()));
        not_admitted.push_back(Arc::downgrade(&connection));
        Some(connection)
    }

    fn close_one(&self) {
        let mut not_admitted = self.not_admitted();
        while let Some(oldest) = not_admitted.pop_front() {
            if let Some(connection) = oldest.upgrade().filter(|connection| !connection.is_admitted()) {
                connection.closing.cancel();
                return;
            }
        }
    }

    fn not_admitted(&self) -> MutexGuard<'_, VecDeque<Weak<Connection>>> {
        self.not_admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Notes that a request of the connection was admitted.
    pub(super) fn admit(&self) {
        self.is_admitted.store(true, Ordering::Relaxed);
    }

    fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Relaxed)
    }

    /// Ends when the connection must be closed.
    pub(super) async fn closing(&self) {
        self.closing.cancelled().await;
    }
}
