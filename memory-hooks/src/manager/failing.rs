//! Failing strategies: the limit of their attempts, and the reports of their failures.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use memory_core::{ConversationId, WrittenBy, port::Notice};

use crate::{FellBack, HookRegistry};

/// Failures in a row after which a strategy is not called again in a compaction. A strategy that waits for an absent
/// model would wait once for each message.
const PATIENCE: u32 = 3;

/// Most causes that are remembered. Further causes are not reported: a strategy may produce new texts forever.
const MOST_CAUSES: usize = 64;

/// The failures of a strategy in one compaction.
#[derive(Debug, Default)]
pub(super) struct FailureCount(AtomicU32);

impl FailureCount {
    /// True if the strategy may still be called.
    pub(super) fn is_left(&self) -> bool {
        self.0.load(Ordering::Relaxed) < PATIENCE
    }

    pub(super) fn answered(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The reported failures of strategies: each cause once.
#[derive(Debug, Default)]
pub(crate) struct ReportedFailures {
    causes: Mutex<HashSet<(WrittenBy, String)>>,
    /// Notices for the next view of each conversation.
    notices: Mutex<HashMap<ConversationId, Vec<Notice>>>,
}

impl ReportedFailures {
    /// True if the cause is new. Causes that differ only in numbers are equal.
    fn is_new(&self, strategy: &WrittenBy, cause: &str) -> bool {
        let mut kind = String::with_capacity(cause.len());
        for c in cause.chars().map(|c| if c.is_numeric() { '#' } else { c }) {
            if c != '#' || !kind.ends_with('#') {
                kind.push(c);
            }
        }
        let mut said = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        said.len() < MOST_CAUSES && said.insert((strategy.clone(), kind))
    }

    fn notices(&self) -> MutexGuard<'_, HashMap<ConversationId, Vec<Notice>>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The notices about a conversation since the last call.
    pub(super) fn take(&self, conversation: &ConversationId) -> Vec<Notice> {
        self.notices().remove(conversation).unwrap_or_default()
    }

    /// Reports to the log and the hooks that `strategy` failed, and which strategy answers.
    pub(super) async fn tell(
        &self,
        hooks: &HookRegistry,
        conversation: &ConversationId,
        strategy: WrittenBy,
        answered_by: Option<WrittenBy>,
        cause: String,
    ) {
        if !self.is_new(&strategy, &cause) {
            tracing::debug!(%conversation, %strategy, cause, "a strategy failed again");
            return;
        }
        match &answered_by {
            Some(answered_by) => {
                tracing::warn!(%conversation, %strategy, %answered_by, cause, "a strategy failed and its fallback answered");
            }
            None => {
                tracing::warn!(%conversation, %strategy, cause, "a strategy failed and no fallback answered")
            }
        }
        let notice =
            Notice::FellBack { strategy: strategy.clone(), answered_by: answered_by.clone(), why: cause.clone() };
        self.notices().entry(conversation.clone()).or_default().push(notice);
        let mut event = FellBack { conversation: conversation.clone(), strategy, answered_by, cause };
        if let Err(hook) = hooks.dispatch(&mut event).await {
            tracing::warn!(%hook, "a hook failed on a reported failure");
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn in_a_line(error: &(dyn Error + 'static)) -> String {
    let mut line = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        line.push(cause.to_string());
        next = cause.source();
    }
    // A transparent error repeats its source.
    line.dedup();
    line.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_news_once_whatever_the_numbers_in_it() {
        let said = ReportedFailures::default();
        let [one, other] = ["one", "other"].map(|name| WrittenBy::new(name, "1"));
        assert!(said.is_new(&one, "49 tokens where 48 were allowed"));
        assert!(!said.is_new(&one, "1000 tokens where 7 were allowed"));
        assert!(said.is_new(&other, "49 tokens where 48 were allowed") && said.is_new(&one, "no model"));
        let causes = (0..1_000_usize).map(|number| "x".repeat(number));
        assert!(causes.filter(|cause| said.is_new(&one, cause)).count() < MOST_CAUSES);
    }
}
