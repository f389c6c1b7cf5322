//! A conversation manager that extends another one.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    BoxFuture, CompactionReport, ConversationManager, HookRegistry, ManagedView, ManagerError, ManagerState, Progress,
    ReduceCause, ViewRequest,
};
use crate::{ConversationId, Json, Message, WrittenBy};

/// A [`ConversationManager`] that extends another one and delegates to it.
///
/// Every call goes to the [base](Self::base) by default, so a type implements only its changes. The hooks of the base
/// are registered before its [own](Self::register_own). A [state](ConversationManager::state) contains the base's state
/// and its [own](Self::own_state), under its own name.
pub trait ExtendedManager: fmt::Debug + Send + Sync + 'static {
    /// Like [`ConversationManager::identity`]. The name must differ from the base's, since a manager accepts only
    /// states under its own name.
    fn identity(&self) -> WrittenBy;

    /// The extended manager.
    fn base(&self) -> &Arc<dyn ConversationManager>;

    /// As [`ConversationManager::manage`].
    ///
    /// # Errors
    /// As [`ConversationManager::manage`].
    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        self.base().manage(conversation, progress)
    }

    /// As [`ConversationManager::view`].
    ///
    /// # Errors
    /// As [`ConversationManager::view`].
    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        self.base().view(request)
    }

    /// As [`ConversationManager::reduce`].
    ///
    /// # Errors
    /// As [`ConversationManager::reduce`].
    fn reduce<'a>(
        &'a self,
        conversation: &'a ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        self.base().reduce(conversation, tokens, cause)
    }

    /// Own state for a conversation, in addition to the base's; none by default.
    fn own_state(&self, _conversation: &ConversationId) -> Option<Json> {
        None
    }

    /// Restores [`own_state`](Self::own_state), after the base has restored its state.
    ///
    /// # Errors
    /// [`ManagerError::InvalidState`] if it cannot be read; nothing changes then.
    fn restore_own(&self, _conversation: &ConversationId, _own: &Json) -> Result<(), ManagerError> {
        Ok(())
    }

    /// Registers its own hooks, after those of the base; none by default.
    fn register_own(self: Arc<Self>, _hooks: &mut HookRegistry) {}
}

/// State of a manager with that of its base.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StackedState {
    base: ManagerState,
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    own: serde_json::Value,
}

impl<M: ExtendedManager> ConversationManager for M {
    fn identity(&self) -> WrittenBy {
        ExtendedManager::identity(self)
    }

    fn manage<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        ExtendedManager::manage(self, conversation, progress)
    }

    fn view<'a>(&'a self, request: &'a ViewRequest<'a>) -> BoxFuture<'a, Result<ManagedView, ManagerError>> {
        ExtendedManager::view(self, request)
    }

    fn reduce<'a>(
        &'a self,
        conversation: &'a ConversationId,
        tokens: u32,
        cause: Option<ReduceCause>,
    ) -> BoxFuture<'a, Result<CompactionReport, ManagerError>> {
        ExtendedManager::reduce(self, conversation, tokens, cause)
    }

    fn state<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<ManagerState, ManagerError>> {
        Box::pin(async move {
            let base = self.base().state(conversation).await?;
            let own = self.own_state(conversation).map_or(serde_json::Value::Null, |own| own.to_value());
            let state = ManagerState::new(ExtendedManager::identity(self), base.removed_message_count);
            if own.is_null() && base.data.is_null() {
                return Ok(state);
            }
            let held = serde_json::to_value(StackedState { base, own });
            let held = held.map_err(|error| ManagerError::InvalidState { why: error.to_string() })?;
            Ok(state.data(held))
        })
    }

    fn restore<'a>(
        &'a self,
        conversation: &'a ConversationId,
        state: &'a ManagerState,
    ) -> BoxFuture<'a, Result<Vec<Message>, ManagerError>> {
        Box::pin(async move {
            state.check(&ExtendedManager::identity(self))?;
            let held = if state.data.is_null() {
                // A state without the base's stands for a base that keeps nothing.
                let base = ManagerState::new(self.base().identity(), state.removed_message_count);
                StackedState { base, own: serde_json::Value::Null }
            } else {
                serde_json::from_value(state.data.clone())
                    .map_err(|error| ManagerError::InvalidState { why: error.to_string() })?
            };
            let before = self.base().restore(conversation, &held.base).await?;
            if !held.own.is_null() {
                self.restore_own(conversation, &Json::from_value(&held.own))?;
            }
            Ok(before)
        })
    }

    fn register(self: Arc<Self>, hooks: &mut HookRegistry) {
        Arc::clone(self.base()).register(hooks);
        self.register_own(hooks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EverythingManager, manager_conformance};

    #[derive(Debug)]
    struct Same(Arc<dyn ConversationManager>);

    impl ExtendedManager for Same {
        fn identity(&self) -> WrittenBy {
            WrittenBy::new("same", "1")
        }

        fn base(&self) -> &Arc<dyn ConversationManager> {
            &self.0
        }
    }

    #[test]
    fn a_manager_that_changes_nothing_of_its_base_conforms() {
        pollster::block_on(manager_conformance(|store| Arc::new(Same(Arc::new(EverythingManager::new(store))))));
    }
}
