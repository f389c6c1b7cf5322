//! The open connections, of which those that were never admitted give way to new ones.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The places for connections.
#[derive(Debug)]
pub(super) struct Crowd {
    places: Arc<Semaphore>,
    /// Connections without an admitted request at the last check, oldest first.
    strangers: Mutex<VecDeque<Weak<Visit>>>,
}

/// A connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Visit {
    is_admitted: AtomicBool,
    /// Ends the connection.
    leaves: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Crowd {
    pub(super) fn new(most: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), strangers: Mutex::default() }
    }

    /// Waits for a free place for a new connection. If all are taken, closes the oldest connection without an admitted
    /// request, so that clients without the token cannot lock out those with it.
    pub(super) async fn enter(&self) -> Option<Arc<Visit>> {
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                self.dismiss_one();
                Arc::clone(&self.places).acquire_owned().await.ok()?
            }
        };
        let visit = Visit { is_admitted: AtomicBool::new(false), leaves: CancellationToken::new(), _place: place };
        let visit = Arc::new(visit);
        let mut strangers = self.strangers();
        // Keeps the queue no longer than the number of connections.
        strangers.retain(|one| one.upgrade().is_some_and(|visit| !visit.is_admitted()));
        strangers.push_back(Arc::downgrade(&visit));
        Some(visit)
    }

    fn dismiss_one(&self) {
        let mut strangers = self.strangers();
        while let Some(oldest) = strangers.pop_front() {
            if let Some(visit) = oldest.upgrade().filter(|visit| !visit.is_admitted()) {
                visit.leaves.cancel();
                return;
            }
        }
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<Weak<Visit>>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visit {
    /// Notes that a request of the connection was admitted.
    pub(super) fn admit(&self) {
        self.is_admitted.store(true, Ordering::Relaxed);
    }

    fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Relaxed)
    }

    /// Ends when the connection must end.
    pub(super) async fn left(&self) {
        self.leaves.cancelled().await;
    }
}
