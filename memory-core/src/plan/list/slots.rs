//! Plans for a list, and their application.

use std::collections::BTreeSet;

use super::{
    error::ListError,
    item::{ListItem, Listed},
    pins,
};
use crate::port::ReduceCause;

/// Changes to a list of messages. Indices refer to the list before the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPlan {
    /// Length of the list.
    pub messages: usize,
    /// Number of messages at the start that are pinned for good.
    pub pin_first: usize,
    /// Messages whose tool results are shortened, ascending.
    pub shorten: Vec<usize>,
    /// Messages to remove, ascending; with [`summary_at`](Self::summary_at), also those to summarize.
    pub remove: Vec<usize>,
    /// Index of the message before which the summary of the removed ones goes; `None` without a summary.
    pub summary_at: Option<usize>,
    /// Index of the first message after all considered ones. Messages from here on do not change.
    pub cut: usize,
    /// Reason for doing nothing, if the reduction was optional.
    pub stopped: Option<ListError>,
}

/// A place in the list after a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSlot {
    /// The message with this index in the list before.
    Message(usize),
    /// The summary.
    Summary,
}

impl ListPlan {
    /// A plan that changes nothing.
    #[must_use]
    pub fn nothing(messages: usize) -> Self {
        Self { messages, ..Self::default() }
    }

    /// The plan that `plan` makes for a list whose first messages get pinned. Without a cause, a failure becomes a plan
    /// that changes nothing and states the reason.
    pub(super) fn reducing(
        items: &[ListItem],
        pin_first: Option<usize>,
        cause: Option<ReduceCause>,
        plan: impl FnOnce(&[ListItem]) -> Result<Self, ListError>,
    ) -> Result<Self, ListError> {
        let pin_first = pin_first.unwrap_or(0);
        let plan = match plan(&pins::with_first_pinned(items, pin_first)) {
            Ok(plan) => plan,
            Err(error) if cause.is_some() => return Err(error),
            Err(error) => Self { stopped: Some(error), ..Self::nothing(items.len()) },
        };
        Ok(Self { pin_first, ..plan })
    }

    /// True if messages are removed or shortened.
    #[must_use]
    pub fn reduces(&self) -> bool {
        !self.shorten.is_empty() || !self.remove.is_empty()
    }

    /// Number of user and model messages that the plan removes, without those that the manager wrote.
    #[must_use]
    pub fn removed(&self, items: &[ListItem]) -> u64 {
        let is_theirs = |index: &&usize| items.get(**index).is_some_and(|item| !item.is_own);
        self.remove.iter().filter(is_theirs).count() as u64
    }

    /// The list after the plan, as slots.
    #[must_use]
    pub fn slots(&self) -> Vec<ListSlot> {
        let removed: BTreeSet<_> = self.remove.iter().collect();
        let mut slots = Vec::with_capacity(self.messages + 1);
        for index in 0..=self.messages {
            if self.summary_at == Some(index) {
                slots.push(ListSlot::Summary);
            }
            if index < self.messages && !removed.contains(&index) {
                slots.push(ListSlot::Message(index));
            }
        }
        slots
    }

    /// The list after the plan. A plan with a summary requires `summary`.
    ///
    /// # Errors
    /// [`ListError::OtherList`] for a list of another length.
    pub fn apply<M: Listed>(&self, messages: &[M], summary: Option<&M>) -> Result<Vec<M>, ListError> {
        if messages.len() != self.messages {
            return Err(ListError::OtherList { planned: self.messages, messages: messages.len() });
        }
        let message = |index: usize| {
            let mut message = messages.get(index)?.clone();
            if index < self.pin_first {
                message.pin();
            }
            if self.shorten.contains(&index) {
                message.shorten_results();
            }
            Some(message)
        };
        let slot = |slot: ListSlot| match slot {
            ListSlot::Message(index) => message(index),
            ListSlot::Summary => summary.cloned(),
        };
        Ok(self.slots().into_iter().filter_map(slot).collect())
    }
}
