//! State that a manager of lists keeps between two decisions.

use serde::{Deserialize, Serialize};

use super::item::{ListItem, Listed};

/// State of a manager next to its list. Every number counts finished work: none rises before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(bound(serialize = "M: Serialize", deserialize = "M: Deserialize<'de>"))]
#[non_exhaustive]
pub struct ListState<M> {
    /// Messages of the user or the model that are not in the list any more, without those that the manager itself
    /// wrote. A [`ManagerState`](crate::ManagerState) holds this number next to the rest.
    #[serde(skip)]
    pub removed_message_count: u64,
    /// Calls to the model so far.
    pub model_call_count: u64,
    /// True if the first messages got pinned.
    pub pin_first_applied: bool,
    /// The messages that stayed where those around them were removed, in order: pinned ones, and the other halves of
    /// their tool calls.
    pub lifted: Vec<M>,
    /// The other pinned messages.
    pub pinned: Vec<M>,
    /// The summary that stands in the list.
    pub summary: Option<M>,
    /// Extent whose last summary was paid for in vain.
    pub spent: Option<Extent>,
    /// The list for which it was last reported that it cannot be reduced.
    pub reported: Option<Extent>,
}

impl<M> Default for ListState<M> {
    fn default() -> Self {
        Self {
            removed_message_count: 0,
            model_call_count: 0,
            pin_first_applied: false,
            lifted: Vec::new(),
            pinned: Vec::new(),
            summary: None,
            spent: None,
            reported: None,
        }
    }
}

impl<M: Listed> ListState<M> {
    /// How many messages of a whole session stand before those that the list continues with: the removed ones, and
    /// those that stayed next to them. A restored session continues from there.
    #[must_use]
    pub fn session_offset(&self) -> u64 {
        self.removed_message_count + self.lifted.len() as u64
    }

    /// The messages that stand before those of the session: what stayed, and the summary.
    #[must_use]
    pub fn prepended(&self) -> Vec<M> {
        self.lifted.iter().chain(&self.summary).cloned().collect()
    }

    /// Outlines of the messages, the summary known as the manager's own.
    pub(super) fn items(&self, messages: &[M]) -> Vec<ListItem> {
        let is_own = |message: &M| self.summary.as_ref().is_some_and(|summary| summary.is_same(message));
        messages.iter().map(|message| message.item().is_own(is_own(message))).collect()
    }
}

/// How much a run of messages is: enough to know whether it is still the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Extent {
    /// Messages.
    pub messages: usize,
    /// Characters of their texts.
    pub length: usize,
}

impl Extent {
    pub(super) fn of<'a>(items: impl IntoIterator<Item = &'a ListItem>) -> Self {
        let none = Self { messages: 0, length: 0 };
        let add = |sum: Self, item: &ListItem| Self { messages: sum.messages + 1, length: sum.length + item.length };
        items.into_iter().fold(none, add)
    }

    /// The extent of the messages with these indices.
    pub(super) fn at(items: &[ListItem], indices: &[usize]) -> Self {
        Self::of(indices.iter().filter_map(|index| items.get(*index)))
    }
}
