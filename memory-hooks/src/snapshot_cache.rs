//! A cache of planned conversations, so that each turn reads only messages added since the last.

mod reading;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{kept_out::Redactor, learned::Learned, run_facts::RunFactsCache};
use memory_core::{ConversationId, Summary, plan::Tree, port::Revision, view::View};

/// Most nodes of the cached conversations, unless a single one has more. The least recently used conversations leave
/// the cache and are read again at their next use.
const MOST_NODES: u64 = 1 << 16;

/// A snapshot of a conversation for planning. A copy shares its common part with later snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) tree: Arc<Tree>,
    /// Times and sources of the messages under its summaries.
    pub(crate) run_facts: Arc<RunFactsCache>,
    /// Removes the content of messages that are excluded from summaries.
    pub(crate) redactor: Arc<Redactor>,
    /// Summaries in the tree that the store did not accept, since it is read-only or damaged.
    pub(crate) unrecorded: Vec<Summary>,
    /// Facts from its first messages that later prompts need.
    pub(crate) learned: Learned,
}

impl Snapshot {
    /// The tree, as this snapshot's own.
    pub(crate) fn tree_mut(&mut self) -> &mut Tree {
        Arc::make_mut(&mut self.tree)
    }
}

/// Conversations by name, with their trees.
#[derive(Debug, Default)]
pub(crate) struct SnapshotCache(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    conversations: HashMap<ConversationId, Entry>,
    nodes: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    snapshot: Snapshot,
    revision: Revision,
    /// The last recorded view.
    recorded: Option<Arc<View>>,
    used: u64,
}

impl SnapshotCache {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, conversation: &ConversationId) -> Option<(Snapshot, Revision)> {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let entry = inner.conversations.get_mut(conversation)?;
        entry.used = now;
        Some((entry.snapshot.clone(), entry.revision))
    }

    fn keep(&self, conversation: &ConversationId, snapshot: &Snapshot, revision: Revision) {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let before = inner.conversations.remove(conversation);
        inner.nodes -= before.as_ref().map_or(0, |entry| entry.snapshot.tree.total());
        inner.nodes += snapshot.tree.total();
        let recorded = before.and_then(|entry| entry.recorded);
        let entry = Entry { snapshot: snapshot.clone(), revision, recorded, used: now };
        inner.conversations.insert(conversation.clone(), entry);
        while inner.nodes > MOST_NODES && inner.conversations.len() > 1 {
            let oldest = inner.conversations.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
            let Some(gone) = oldest.and_then(|oldest| inner.conversations.remove(&oldest)) else { return };
            inner.nodes -= gone.snapshot.tree.total();
        }
    }

    /// The last view that this memory recorded of a conversation.
    pub(crate) fn recorded(&self, conversation: &ConversationId) -> Option<Arc<View>> {
        self.lock().conversations.get(conversation)?.recorded.clone()
    }

    /// Stores the last recorded view.
    pub(crate) fn note_recorded(&self, conversation: &ConversationId, view: Arc<View>) {
        if let Some(entry) = self.lock().conversations.get_mut(conversation) {
            entry.recorded = Some(view);
        }
    }

    /// Stores the facts from the first messages of a conversation.
    pub(crate) fn keep_learned(&self, conversation: &ConversationId, learned: Learned) {
        if let Some(entry) = self.lock().conversations.get_mut(conversation)
            && (entry.snapshot.learned.seen..=entry.snapshot.tree.total()).contains(&learned.seen)
        {
            entry.snapshot.learned = learned;
        }
    }
}
