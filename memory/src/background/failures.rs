//! Failures of background work, kept until the work succeeds.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::ConversationId;
use memory_hooks::{Compacted, CompactionFailed, HookRegistry};

/// A kind of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BackgroundWork {
    /// Writing summaries.
    Compaction,
    /// Indexing the words and the meaning of messages.
    Indexing,
    /// Copying the store to the directory of backups.
    Backup,
    /// Erasing what is older than a policy keeps it.
    Retention,
}

impl fmt::Display for BackgroundWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compaction => "compaction",
            Self::Indexing => "indexing",
            Self::Backup => "backup",
            Self::Retention => "retention",
        })
    }
}

/// Background work that failed and has not succeeded since. A retry needs no call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundFailure {
    /// The kind of work.
    pub work: BackgroundWork,
    /// The conversation, if the work is about one.
    pub conversation: Option<ConversationId>,
    /// The error, as text.
    pub error: String,
}

impl fmt::Display for BackgroundFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.conversation {
            Some(conversation) => write!(f, "{} of `{conversation}`: {}", self.work, self.error),
            None => write!(f, "{}: {}", self.work, self.error),
        }
    }
}

/// The latest failure of each kind of work on each conversation.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<BTreeMap<(BackgroundWork, Option<ConversationId>), String>>);

impl Failures {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(BackgroundWork, Option<ConversationId>), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a failure, and logs it unless it is known already.
    pub(crate) fn add(&self, work: BackgroundWork, conversation: Option<&ConversationId>, error: String) {
        let known = self.lock().insert((work, conversation.cloned()), error.clone());
        if known.as_ref() != Some(&error) {
            let conversation = conversation.map(ConversationId::as_str);
            tracing::warn!(%work, conversation, error, "background work failed and is tried again later");
        }
    }

    pub(crate) fn clear(&self, work: BackgroundWork, conversation: Option<&ConversationId>) {
        self.lock().remove(&(work, conversation.cloned()));
    }

    pub(crate) fn all(&self) -> Vec<BackgroundFailure> {
        let failure = |((work, conversation), error): (&(BackgroundWork, Option<ConversationId>), &String)| {
            BackgroundFailure { work: *work, conversation: conversation.clone(), error: error.clone() }
        };
        self.lock().iter().map(failure).collect()
    }

    /// Registers a hook for failed and finished compactions.
    pub(crate) fn listen(self: &Arc<Self>, hooks: &mut HookRegistry) {
        let failures = Arc::clone(self);
        hooks.listen::<CompactionFailed>("background-failures", move |event| {
            failures.add(BackgroundWork::Compaction, Some(&event.conversation), event.error.clone());
        });
        let failures = Arc::clone(self);
        hooks.listen::<Compacted>("background-failures", move |event| {
            failures.clear(BackgroundWork::Compaction, Some(&event.conversation));
        });
    }
}
