//! A plan for a list, and its application.

use std::collections::BTreeSet;

use super::{
    error::ListError,
    item::{ListItem, Listed},
    pins,
};
use crate::ReduceCause;

/// Changes to a list of messages. Indices are those of the list that the plan was made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPlan {
    /// How many messages the list has.
    pub messages: usize,
    /// The first messages that get pinned for good.
    pub pin_first: usize,
    /// The messages whose tool results are shortened, ascending.
    pub shorten: Vec<usize>,
    /// The messages to remove, ascending; with [`summary_at`](Self::summary_at), those to summarize.
    pub remove: Vec<usize>,
    /// The message before which the summary of the removed ones goes; `None` without one.
    pub summary_at: Option<usize>,
    /// The first message after everything that was considered. All messages from it on stay as they are.
    pub cut: usize,
    /// Reason for doing nothing, where a smaller list was asked for without need.
    pub stopped: Option<ListError>,
}

/// A place in a list after a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSlot {
    /// The message that had this index before.
    Message(usize),
    /// The summary.
    Summary,
}

impl ListPlan {
    /// A plan that does nothing to a list of this many messages.
    #[must_use]
    pub fn nothing(messages: usize) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Plan of `plan` for a list whose first messages get pinned. Without a cause, a failed plan becomes one that does
    /// nothing, for that reason.
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

    /// How many messages of the user or the model it takes out of the list; none that the manager wrote.
    #[must_use]
    pub fn removed(&self, items: &[ListItem]) -> u64 {
        let is_theirs = |index: &&usize| items.get(**index).is_some_and(|item| !item.is_own);
        self.remove.iter().filter(is_theirs).count() as u64
    }

    /// Slots of the list afterwards, in order.
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

    /// The list afterwards. A plan with a summary needs one.
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
