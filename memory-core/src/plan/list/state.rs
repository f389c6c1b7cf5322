//! State of a list manager between two decisions.

use serde::{Deserialize, Serialize};

use super::item::{ListItem, Listed};

/// State of a list manager in addition to the list. Counters count only finished work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(bound(serialize = "M: Serialize", deserialize = "M: Deserialize<'de>"))]
#[non_exhaustive]
pub struct ListState<M> {
    /// User and model messages that were removed from the list, without those that the manager wrote. A
    /// [`ManagerState`](crate::port::ManagerState) holds this number in a field of its own.
    #[serde(skip)]
    pub removed_message_count: u64,
    /// Model calls so far.
    pub model_call_count: u64,
    /// True if the first messages were pinned.
    pub pin_first_applied: bool,
    /// Messages that stayed while their neighbours were removed, in order: pinned ones, and the other halves of their
    /// tool calls.
    pub lifted: Vec<M>,
    /// Pinned messages outside of [`lifted`](Self::lifted).
    pub pinned: Vec<M>,
    /// Summary in the list.
    pub summary: Option<M>,
    /// Extent of the messages that were last summarized without shortening the list; they are not summarized again.
    pub spent: Option<Extent>,
    /// Extent of the last list that could not be reduced; the failure is reported once for a list.
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
    /// Number of messages of the whole session before those that the list still holds: removed ones, and those that
    /// stayed among them. A restored session continues from there.
    #[must_use]
    pub fn session_offset(&self) -> u64 {
        self.removed_message_count + self.lifted.len() as u64
    }

    /// Messages to put before those of the session: messages that stayed, and the summary.
    #[must_use]
    pub fn prepended(&self) -> Vec<M> {
        self.lifted.iter().chain(&self.summary).cloned().collect()
    }

    /// Outlines of the messages, with the manager's summary marked as its own.
    pub(super) fn items(&self, messages: &[M]) -> Vec<ListItem> {
        let is_own = |message: &M| self.summary.as_ref().is_some_and(|summary| summary.is_same(message));
        messages.iter().map(|message| message.item().is_own(is_own(message))).collect()
    }
}

/// Size of a run of messages, by which a changed run is recognized.
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
