//! The manager of lists: a strategy with the state between two decisions.

use serde::{Serialize, de::DeserializeOwned};

use super::{
    error::ListError,
    item::Listed,
    proactive::ProactiveCompression,
    sliding::SlidingWindow,
    slots::{ListPlan, ListSlot},
    state::{Extent, ListState},
    summarizing::Summarizing,
};
use crate::{
    WrittenBy,
    port::{ManagerError, ManagerState, ReduceCause},
};

/// Strategy for a list that is too long.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ListStrategy {
    /// Removes the oldest messages.
    SlidingWindow(SlidingWindow),
    /// Replaces the oldest messages with a summary.
    Summarizing(Summarizing),
}

/// Keeps lists of messages small: plans a reduction, and commits it once it is performed.
///
/// A reduction has three steps: [`plan_reduce`](Self::plan_reduce), which changes nothing; the summary, which the
/// caller writes if the plan has one; and [`commit`](Self::commit), which changes list and state together. If the
/// summary fails, drop the plan: nothing is lost.
#[derive(Clone, Debug, PartialEq)]
pub struct ListManager<M> {
    strategy: ListStrategy,
    state: ListState<M>,
    /// True if the pins of a restored state were not applied to the list yet.
    finds_pins: bool,
}

impl<M: Listed> ListManager<M> {
    /// A manager without state.
    #[must_use]
    pub fn new(strategy: ListStrategy) -> Self {
        Self { strategy, state: ListState::default(), finds_pins: false }
    }

    /// Name and version, which identify the manager's states.
    #[must_use]
    pub fn identity(&self) -> WrittenBy {
        let name = match self.strategy {
            ListStrategy::SlidingWindow(_) => "sliding-window",
            ListStrategy::Summarizing(_) => "summarizing",
        };
        WrittenBy::new(name, "1")
    }

    /// State of the manager.
    #[must_use]
    pub const fn kept(&self) -> &ListState<M> {
        &self.state
    }

    /// Threshold of proactive compression.
    #[must_use]
    pub const fn compression(&self) -> ProactiveCompression {
        match &self.strategy {
            ListStrategy::SlidingWindow(window) => window.proactive_compression,
            ListStrategy::Summarizing(summarizing) => summarizing.compression(),
        }
    }

    /// Sets the number of model calls so far.
    pub const fn set_model_call_count(&mut self, calls: u64) {
        self.state.model_call_count = calls;
    }

    /// Counts a model call; returns true if the manager must be applied before it.
    pub fn before_model_call(&mut self) -> bool {
        let ListStrategy::SlidingWindow(SlidingWindow { per_turn, .. }) = &self.strategy else { return false };
        self.state.model_call_count += 1;
        per_turn.is_due(self.state.model_call_count)
    }

    /// Records which messages are pinned. The first call after a restore pins the messages that were pinned before.
    pub fn observe(&mut self, messages: &mut [M]) {
        if std::mem::take(&mut self.finds_pins) {
            for message in messages.iter_mut().filter(|message| !message.item().pinned) {
                if self.state.pinned.iter().any(|pinned| pinned.is_same(message)) {
                    message.pin();
                }
            }
        }
        let stayed = |message: &M| self.state.lifted.iter().any(|lifted| lifted.is_same(message));
        let pinned = messages.iter().filter(|message| message.item().pinned && !stayed(message));
        self.state.pinned = pinned.cloned().collect();
    }

    /// Plans a list between two calls.
    ///
    /// # Errors
    /// None at present.
    pub fn plan_apply(&self, messages: &[M]) -> Result<ListPlan, ListError> {
        match &self.strategy {
            ListStrategy::SlidingWindow(window) => {
                window.plan_apply(&self.state.items(messages), !self.state.pin_first_applied)
            }
            ListStrategy::Summarizing(_) => Ok(ListPlan::nothing(messages.len())),
        }
    }

    /// Plans a smaller list.
    ///
    /// # Errors
    /// With a cause, if nothing can be done. Without a cause the plan states the reason.
    pub fn plan_reduce(&self, messages: &[M], cause: Option<ReduceCause>) -> Result<ListPlan, ListError> {
        let (items, first) = (self.state.items(messages), !self.state.pin_first_applied);
        match &self.strategy {
            ListStrategy::SlidingWindow(window) => window.plan_reduce(&items, first, cause),
            ListStrategy::Summarizing(summarizing) => {
                summarizing.plan_unless_spent(&items, first, cause, self.state.spent)
            }
        }
    }

    /// Performs a plan on its list. Returns why the plan does nothing, unless the reason was returned for this list
    /// before.
    ///
    /// # Errors
    /// [`ListError::OtherList`], and [`ListError::NoProgress`] for a summary that shortens nothing. The list is then
    /// unchanged, and the same messages are not planned for a summary again.
    pub fn commit(
        &mut self,
        plan: &ListPlan,
        messages: &mut Vec<M>,
        summary: Option<M>,
    ) -> Result<Option<ListError>, ListError> {
        let items = self.state.items(messages);
        if let (&[_], Some(summary)) = (plan.remove.as_slice(), &summary) {
            let (extent, after) = (Extent::at(&items, &plan.remove), summary.item().length);
            if after >= extent.length {
                self.state.spent = Some(extent);
                return Err(ListError::NoProgress { before: extent.length, after });
            }
        }
        let after = plan.apply(messages, summary.as_ref())?;
        if !plan.remove.is_empty() {
            let is_theirs = |slot: &ListSlot| match slot {
                ListSlot::Message(index) => *index < plan.cut && items.get(*index).is_some_and(|item| !item.is_own),
                ListSlot::Summary => false,
            };
            let slots = plan.slots();
            let lifted = slots.iter().zip(&after).filter(|(slot, _)| is_theirs(slot));
            self.state.lifted = lifted.map(|(_, message)| message.clone()).collect();
            self.state.removed_message_count += plan.removed(&items);
        }
        self.state.pin_first_applied |= plan.pin_first > 0;
        if plan.summary_at.is_some() {
            self.state.summary = summary;
        }
        *messages = after;
        self.observe(messages);
        Ok(plan.stopped.clone().filter(|_| self.is_news(Extent::of(&items))))
    }

    /// True if nothing was reported for this list before.
    fn is_news(&mut self, list: Extent) -> bool {
        self.state.reported.replace(list) != Some(list)
    }
}

impl<M: Listed + Serialize + DeserializeOwned> ListManager<M> {
    /// State to store with a session.
    #[must_use]
    pub fn state(&self) -> ManagerState {
        let data = serde_json::to_value(&self.state).unwrap_or_default();
        ManagerState::new(self.identity(), self.state.removed_message_count).data(data)
    }

    /// Resumes from a stored state. Returns the messages to put before the session's messages from
    /// [`session_offset`](ListState::session_offset) on: messages that stayed, and the summary, which is not written
    /// again.
    ///
    /// # Errors
    /// [`ManagerError::OtherManager`] and [`ManagerError::InvalidState`]; then nothing changed.
    pub fn restore(&mut self, state: &ManagerState) -> Result<Vec<M>, ManagerError> {
        state.check(&self.identity())?;
        let restored: ListState<M> = match &state.data {
            serde_json::Value::Null => ListState::default(),
            data => serde_json::from_value(data.clone())
                .map_err(|error| ManagerError::InvalidState { why: error.to_string() })?,
        };
        self.state = ListState { removed_message_count: state.removed_message_count, ..restored };
        self.finds_pins = !self.state.pinned.is_empty();
        Ok(self.state.prepended())
    }
}

#[cfg(test)]
mod tests;
