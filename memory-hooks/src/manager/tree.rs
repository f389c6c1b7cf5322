//! The manager of the summary tree: a strategy decides, and the manager does the work.

use std::sync::Arc;

use memory_core::{
    ConversationId, Message, WrittenBy,
    port::{
        BoxFuture, CompactionReport, ConversationManager, ManagedView, ManagerError, ManagerState, Notice, Progress,
        ReduceCause, ShrinkScope, ViewRequest,
    },
};

use super::{
    compacting::{self, Outcome},
    history,
};
use crate::{MemoryError, ports::Ports, snapshot_cache::Snapshot};

/// The manager whose decisions are those of the memory's [`ContextStrategy`](memory_core::port::ContextStrategy).
///
/// Summaries are events of the log, so the manager's state follows from the log: it is a name and a count, and
/// restoring it puts no message before those of the log.
#[derive(Debug)]
pub(crate) struct TreeManager {
    ports: Arc<Ports>,
}

impl TreeManager {
    pub(crate) fn new(ports: Arc<Ports>) -> Self {
        Self { ports }
    }

    async fn view_of(&self, request: &ViewRequest<'_>) -> Result<ManagedView, MemoryError> {
        let ports = &self.ports;
        if !request.manages || !ports.prompts_wait {
            let snapshot = Snapshot::read(ports, request.conversation).await?;
            return Ok(self.announced(request, history::view(ports, request, snapshot, Vec::new()).await?));
        }
        // Compaction by the thresholds is best effort: without it the prompt is coarser or a later step fails.
        let (snapshot, elsewhere, error) = match compacting::compact(ports, request.conversation, &()).await {
            Ok(Outcome { report, snapshot, refused }) => {
                (snapshot, report.is_left_to_another, refused.map(MemoryError::from))
            }
            Err(error) => (Snapshot::read(ports, request.conversation).await?, false, Some(error)),
        };
        let mut notices = Vec::from_iter(elsewhere.then_some(Notice::CompactionElsewhere));
        if let Some(error) = error {
            ports.report_failure(request.conversation, &error).await;
            notices.push(history::failed(&error));
        }
        Ok(self.announced(request, history::view(ports, request, snapshot, notices).await?))
    }

    /// The view with a notice for each strategy that another one replaced since the last view.
    fn announced(&self, request: &ViewRequest<'_>, mut view: ManagedView) -> ManagedView {
        view.notices.extend(self.ports.said.take(request.conversation));
        view
    }

    fn error(&self, error: MemoryError) -> ManagerError {
        error.of_manager(self.identity())
    }
}

impl ConversationManager for TreeManager {
    fn identity(&self) -> WrittenBy {
        self.ports.strategy.identity()
    }

    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        Box::pin(async move {
            let compacted = compacting::compact(&self.ports, conversation, progress).await;
            let Outcome { report, refused, .. } = compacted.map_err(|error| self.error(error))?;
            refused.map_or(Ok(report), |error| Err(error.into()))
        })
    }

    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        Box::pin(async move { self.view_of(request).await.map_err(|error| self.error(error)) })
    }

    fn reduce<'a>(
        &'a self,
        conversation: &'a ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        Box::pin(async move {
            let shrunk = compacting::shrink(&self.ports, conversation, tokens, ShrinkScope::All).await;
            let (report, failed) = match shrunk {
                Ok(Outcome { report, refused, .. }) => (report, refused.map(MemoryError::from)),
                Err(error) if cause.is_none() => (CompactionReport::default(), Some(error)),
                Err(error) => return Err(self.error(error)),
            };
            if let Some(error) = failed {
                self.ports.report_failure(conversation, &error).await;
            }
            let CompactionReport { tokens_before: before, tokens_after: after, .. } = report;
            if cause.is_some() && after >= before && after > tokens {
                return Err(ManagerError::NoProgress { before, after });
            }
            Ok(report)
        })
    }

    fn state<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<ManagerState, ManagerError>> {
        Box::pin(async move {
            let tree = Snapshot::read(&self.ports, conversation).await?.tree;
            Ok(ManagerState::new(self.identity(), self.ports.strategy.removed(&tree)))
        })
    }

    fn restore<'a>(
        &'a self,
        conversation: &'a ConversationId,
        state: &'a ManagerState,
    ) -> BoxFuture<'a, Result<Vec<Message>, ManagerError>> {
        Box::pin(async move {
            state.check(&self.identity())?;
            self.ports.store.conversation(conversation).await?;
            Ok(Vec::new())
        })
    }
}
