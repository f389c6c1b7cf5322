//! The leaves of the log, by which a cache checks that it was derived from this very log.

use std::sync::Arc;

use memory_core::{ConversationId, Hash, NodeId, NodeRange};

use super::{format::frame::StoreId, read::reader::Reader, write::shared::Shared};

/// Reads leaves from the log in its current state.
#[derive(Clone, Debug)]
pub(crate) struct Leaves(Arc<Shared>);

impl Leaves {
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// The name of the store.
    pub(crate) fn store(&self) -> StoreId {
        self.0.directory.id
    }

    /// How many nodes the log has of a conversation, readable or not; 0 while that is unknown.
    pub(crate) fn count(&self, conversation: &ConversationId) -> u64 {
        let state = self.0.current().ok();
        state.and_then(|state| Some(state.find(conversation)?.nodes())).unwrap_or(0)
    }

    /// The leaf of a node; `None` when the log has no such node or cannot read it. Leaves are salted, so no other
    /// message has the same leaf, not even one of the same words.
    pub(crate) fn get(&self, conversation: &ConversationId, node: NodeId) -> Option<Hash> {
        let (segments, wanted) = {
            let state = self.0.current().ok()?;
            (Arc::clone(&state.segments), state.find(conversation)?.wanted(NodeRange::single(node)))
        };
        let location = wanted.first()?.location;
        Some(Reader::new(&segments).proof(location).ok()?.leaf)
    }
}
