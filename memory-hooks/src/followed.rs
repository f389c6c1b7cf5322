//! Conversations that were planned lately, so that each turn reads only what came since the last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memory_core::{
    ConversationId, NodeRange, Revision, StoreError, Summary, View,
    plan::{Cut, Tree},
};
use memory_strategies::StandingLines;

use crate::{kept_out::Redactor, memory::Parts};

/// Most nodes of the conversations that are kept, more or less.
const MOST_NODES: u64 = 4_000_000;
/// Most budgets for which a conversation keeps what was shown.
const MOST_SHOWN: usize = 4;

/// What is known of a conversation for planning, as it was when it was read. A copy shares what it has in common with
/// the conversation as it is later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) tree: Tree,
    /// What strikes out the content of messages that no summary may hold.
    pub(crate) redactor: Arc<Redactor>,
    /// Summaries in the tree that the store would not take: it is read only, or damaged.
    pub(crate) unrecorded: Vec<Summary>,
    /// Standing lines of the first messages, and how many these are.
    pub(crate) standing: (Arc<StandingLines>, u64),
}

/// Conversations by name, the trees they have grown into.
#[derive(Debug, Default)]
pub(crate) struct Followed(Mutex<Inner>);

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
    /// What was shown last under a budget, the latest last.
    shown: Vec<(u32, Arc<Cut>)>,
    /// The view that was recorded last.
    recorded: Option<Arc<View>>,
    used: u64,
}

impl Followed {
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
        let (shown, recorded) = before.map(|entry| (entry.shown, entry.recorded)).unwrap_or_default();
        let entry = Entry { snapshot: snapshot.clone(), revision, shown, recorded, used: now };
        inner.conversations.insert(conversation.clone(), entry);
        while inner.nodes > MOST_NODES && inner.conversations.len() > 1 {
            let oldest = inner.conversations.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
            let Some(gone) = oldest.and_then(|oldest| inner.conversations.remove(&oldest)) else { return };
            inner.nodes -= gone.snapshot.tree.total();
        }
    }

    /// What was shown last of a conversation under this budget.
    pub(crate) fn shown(&self, conversation: &ConversationId, budget: u32) -> Option<Arc<Cut>> {
        let inner = self.lock();
        let shown = &inner.conversations.get(conversation)?.shown;
        shown.iter().find(|(of, _)| *of == budget).map(|(_, cut)| Arc::clone(cut))
    }

    /// The view of a conversation that this memory has recorded last.
    pub(crate) fn recorded(&self, conversation: &ConversationId) -> Option<Arc<View>> {
        self.lock().conversations.get(conversation)?.recorded.clone()
    }

    /// Notes which view was recorded last.
    pub(crate) fn note_recorded(&self, conversation: &ConversationId, view: Arc<View>) {
        if let Some(entry) = self.lock().conversations.get_mut(conversation) {
            entry.recorded = Some(view);
        }
    }

    /// Keeps the standing lines of the first `seen` messages of a conversation.
    pub(crate) fn keep_standing(&self, conversation: &ConversationId, lines: Arc<StandingLines>, seen: u64) {
        if let Some(entry) = self.lock().conversations.get_mut(conversation)
            && (entry.snapshot.standing.1..=entry.snapshot.tree.total()).contains(&seen)
        {
            entry.snapshot.standing = (lines, seen);
        }
    }

    /// Notes what is shown of a conversation under this budget.
    pub(crate) fn show(&self, conversation: &ConversationId, budget: u32, cut: Cut) {
        let mut inner = self.lock();
        let Some(entry) = inner.conversations.get_mut(conversation) else { return };
        entry.shown.retain(|(of, _)| *of != budget);
        if entry.shown.len() == MOST_SHOWN {
            entry.shown.remove(0);
        }
        entry.shown.push((budget, Arc::new(cut)));
    }
}

impl Snapshot {
    /// The conversation as it is now.
    pub(crate) async fn read(parts: &Parts, conversation: &ConversationId) -> Result<Self, StoreError> {
        let (mut snapshot, mut revision) = parts.followed.known(conversation).unwrap_or_default();
        let is_new = revision == Revision::default();
        let changes = parts.store.changes(conversation, revision).await?;
        if is_new || changes.is_whole {
            snapshot = Self { tree: Tree::new(parts.policy), ..Self::default() };
        } else if changes.revision == revision {
            return Ok(snapshot);
        }
        let kept_out = snapshot.tree.kept_out_count();
        revision = changes.revision;
        changes.revised.into_iter().for_each(|(node, outline)| snapshot.tree.revise(node, outline));
        changes.nodes.into_iter().for_each(|node| snapshot.tree.append(node));
        changes.summaries.into_iter().for_each(|summary| snapshot.tree.add(summary));
        if snapshot.tree.kept_out_count() != kept_out {
            snapshot.redactor = Arc::new(redactor(parts, conversation, snapshot.tree.kept_out()).await?);
        }
        parts.followed.keep(conversation, &snapshot, revision);
        Ok(snapshot)
    }

    /// What struck out the content of kept-out messages while the conversation had only so many.
    pub(crate) async fn redactor_of(
        &self,
        parts: &Parts,
        conversation: &ConversationId,
        nodes: u64,
    ) -> Result<Arc<Redactor>, StoreError> {
        let all = self.tree.kept_out();
        let Some(then) = NodeRange::first_n(nodes) else { return Ok(Arc::default()) };
        if all.last().is_none_or(|last| then.covers(*last)) {
            return Ok(Arc::clone(&self.redactor));
        }
        let part = |run: NodeRange| NodeRange::new(run.first(), run.last().min(then.last()));
        Ok(Arc::new(redactor(parts, conversation, all.into_iter().map_while(part).collect()).await?))
    }
}

/// What strikes out the content of kept-out messages.
async fn redactor(
    parts: &Parts,
    conversation: &ConversationId,
    kept_out: Vec<NodeRange>,
) -> Result<Redactor, StoreError> {
    let mut messages = Vec::new();
    for run in kept_out {
        // What a lost message would have had struck out is not known any more; summaries written before are clean.
        let read = parts.store.readable_nodes(conversation, run).await?;
        messages.extend(read.nodes.into_iter().map(|node| node.message));
    }
    Ok(Redactor::new(&messages))
}
