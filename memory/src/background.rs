//! Background work: compaction, indexing, retention and backups, as long as a memory is open.

mod backups;
mod failures;
mod indexing;
mod retention;

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_channel::oneshot;
use memory_core::ConversationId;
use tokio::sync::mpsc;

pub use self::{
    backups::BackupError,
    failures::{BackgroundFailure, BackgroundWork},
};
pub(crate) use self::{backups::BackupPlan, failures::Failures};
use self::{backups::Backups, indexing::Indexer, retention::Retention};
use crate::{
    Config,
    parts::Parts,
    pool::{Pool, until_stopped},
};

/// Rest after a panic, before the work begins again.
const REST: Duration = Duration::from_secs(2);

/// Running background work, which a drop stops at its next step.
#[derive(Debug)]
pub(crate) struct Background {
    _stop: Vec<oneshot::Sender<()>>,
}

impl Background {
    /// Starts with work that earlier processes left undone, then the conversations that `grown` receives.
    pub(crate) fn start(
        pool: &Pool,
        parts: &Parts,
        grown: mpsc::UnboundedReceiver<ConversationId>,
        failures: &Arc<Failures>,
        backups: Option<BackupPlan>,
        config: &Config,
    ) -> Self {
        let (stop_compaction, compaction_stopped) = oneshot::channel();
        let (stop_indexing, indexing_stopped) = oneshot::channel();
        let memory = parts.memory.clone();
        let compaction = kept_up(BackgroundWork::Compaction, Arc::clone(failures), move || memory.background());
        pool.spawn(until_stopped(compaction_stopped, compaction));
        let indexer = Arc::new(Indexer::new(parts.clone(), grown, Arc::clone(failures)));
        let indexing = kept_up(BackgroundWork::Indexing, Arc::clone(failures), move || Arc::clone(&indexer).run());
        pool.spawn(until_stopped(indexing_stopped, indexing));
        let (stop_retention, retention_stopped) = oneshot::channel();
        let retention = Arc::new(Retention::new(parts.clone(), config.clone(), Arc::clone(failures)));
        let retention = kept_up(BackgroundWork::Retention, Arc::clone(failures), move || Arc::clone(&retention).run());
        pool.spawn(until_stopped(retention_stopped, retention));
        let mut stop = vec![stop_compaction, stop_indexing, stop_retention];
        if let Some(plan) = backups {
            let (stop_backups, backups_stopped) = oneshot::channel();
            let backups = Arc::new(Backups::new(parts.clone(), plan, Arc::clone(failures)));
            let backups = kept_up(BackgroundWork::Backup, Arc::clone(failures), move || Arc::clone(&backups).run());
            pool.spawn(until_stopped(backups_stopped, backups));
            stop.push(stop_backups);
        }
        Self { _stop: stop }
    }
}

/// Runs work until it ends, and begins it again after a panic, which may come from a strategy.
async fn kept_up<F: Future<Output = ()> + Send>(
    work: BackgroundWork,
    failures: Arc<Failures>,
    begin: impl Fn() -> F + Send,
) {
    while panics(begin()).await {
        failures.add(work, None, "it panicked and is begun again".to_owned());
        tokio::time::sleep(REST).await;
    }
}

/// True if `work` panicked before it ended.
async fn panics(work: impl Future<Output = ()> + Send) -> bool {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(polled) => polled.map(|()| false),
        Err(_) => Poll::Ready(true),
    })
    .await
}
