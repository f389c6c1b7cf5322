//! Changes of the ledger: entries that are added, corrected, disabled and enabled.

use memory_core::{
    Node, NodeId, NodeRange, Timestamp,
    port::{ConversationState, NoteChange, StoreError},
};
use memory_strategies::Gist;

use super::{
    EntryAuthor, EntryId, EntryKind, EntryStatus, LedgerEntry, LedgerError, LedgerRequest, Recorded, Which,
    recorded::{RecordedEntry, disabling},
};
use crate::{Conversation, MemoryError, prompt::learning, snapshot_cache::Snapshot};

/// Most bytes of an entry.
const LONGEST: usize = 2_000;
/// Most messages of sources.
const MOST_SOURCES: u64 = 64;

/// An entry to record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewEntry {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Words of the entry, at most 2,000 bytes.
    pub text: String,
    /// Author of the entry.
    pub by: EntryAuthor,
    /// Messages that it came from, at most 64. An entry of a model needs some, and they must hold its words.
    pub sources: Vec<NodeRange>,
    /// Time from which it holds; `None` for now.
    pub since: Option<Timestamp>,
    /// Time until which it holds; `None` without an end.
    pub until: Option<Timestamp>,
}

impl NewEntry {
    /// An entry that holds from now on, without sources.
    #[must_use]
    pub fn new(kind: EntryKind, text: &str, by: EntryAuthor) -> Self {
        Self { kind, text: text.to_owned(), by, sources: Vec::new(), since: None, until: None }
    }

    memory_core::setters! {
        sources: Vec<NodeRange>,
        into since: Option<Timestamp>,
        into until: Option<Timestamp>,
    }
}

impl Conversation {
    /// Records an entry, which is erased with any of its sources. Current entries on the same subject that its words
    /// change are superseded.
    ///
    /// # Errors
    /// [`LedgerError`] if the text is blank or too long, a source does not exist or does not hold the words of a model,
    /// or the conversation has no message; [`MemoryError::Refused`] by the memory's redaction; otherwise if the store
    /// fails.
    pub async fn add_entry(&self, entry: NewEntry) -> Result<LedgerEntry, MemoryError> {
        self.call(move |this| async move {
            let state = this.spoken().await?;
            this.check_words(&entry.by, &entry.text, &entry.sources).await?;
            let replaces = this.superseded_by(&state, &entry).await?;
            this.record_entry(&state, entry, replaces).await
        })
        .await
    }

    /// Records an entry in the place of a current one, whose sources it has in addition to `sources`. The old one stays
    /// as superseded.
    ///
    /// # Errors
    /// [`LedgerError::NoEntry`], [`LedgerError::Replaced`], and as for [`Self::add_entry`].
    pub async fn correct_entry(
        &self,
        id: EntryId,
        text: &str,
        by: EntryAuthor,
        sources: Vec<NodeRange>,
    ) -> Result<LedgerEntry, MemoryError> {
        let text = text.to_owned();
        self.call(move |this| async move {
            let state = this.spoken().await?;
            let before = this.entry(id).await?;
            if before.status == EntryStatus::Superseded {
                let by = before.replaced_by.and_then(|by| by.entry);
                return Err(LedgerError::Replaced { id, by }.into());
            }
            // A statement in the place of a question answers it.
            let is_answer = before.kind == EntryKind::Question && !text.trim_end().ends_with(['?', '？', '؟']);
            let kind = if is_answer { EntryKind::Fact } else { before.kind };
            let mut entry = NewEntry::new(kind, &text, by);
            this.check_words(&entry.by, &entry.text, &sources).await?;
            entry.sources = NodeRange::merge([sources, before.sources].concat());
            this.record_entry(&state, entry, vec![id]).await
        })
        .await
    }

    /// Disables an entry: no state, rule or list of current entries shows it. What it replaced stays superseded if it
    /// is a statement of a message; a disabled correction corrects nothing.
    ///
    /// # Errors
    /// [`LedgerError::NoEntry`]; otherwise if the store fails.
    pub async fn disable_entry(&self, id: EntryId) -> Result<LedgerEntry, MemoryError> {
        self.call(move |this| async move { this.set_disabled(id, true).await }).await
    }

    /// Enables a disabled entry again.
    ///
    /// # Errors
    /// As for [`Self::disable_entry`].
    pub async fn enable_entry(&self, id: EntryId) -> Result<LedgerEntry, MemoryError> {
        self.call(move |this| async move { this.set_disabled(id, false).await }).await
    }

    /// The entry with an id, whatever its status.
    ///
    /// # Errors
    /// [`LedgerError::NoEntry`]; otherwise if the store fails.
    pub async fn entry(&self, id: EntryId) -> Result<LedgerEntry, MemoryError> {
        let ledger = self.ledger(&LedgerRequest::default().which(Which::All)).await?;
        let found = ledger.entries.into_iter().find(|entry| entry.id == id);
        found.ok_or_else(|| LedgerError::NoEntry { conversation: self.id.clone(), id }.into())
    }

    /// State of the conversation, if somebody spoke in it.
    async fn spoken(&self) -> Result<ConversationState, MemoryError> {
        let state = self.parts.store.conversation(&self.id).await?;
        if state.nodes == 0 || state.is_of_notes() {
            return Err(LedgerError::NothingSaid { conversation: state.id }.into());
        }
        Ok(state)
    }

    /// Current entries that a new one replaces, because its words change their subject.
    async fn superseded_by(&self, state: &ConversationState, new: &NewEntry) -> Result<Vec<EntryId>, MemoryError> {
        let Some(after) = NodeId::new(state.nodes) else { return Ok(Vec::new()) };
        let snapshot = Snapshot::read(&self.parts, &self.id).await?;
        let learned = learning::learned(&self.parts, &self.id, &snapshot).await?;
        let Some(line) = memory_strategies::StandingLine::recorded(after, &new.text, new.kind.standing()) else {
            return Ok(Vec::new());
        };
        let request = LedgerRequest::default();
        let known = super::entries(&self.parts, state, &snapshot, &learned, &[], &request).await?;
        let current = known.into_iter().filter(|one| one.entry.status == EntryStatus::Current);
        let over = current.filter(|one| one.line.as_ref().is_some_and(|older| line.is_over(older)));
        Ok(over.map(|one| one.entry.id).collect())
    }

    async fn record_entry(
        &self,
        state: &ConversationState,
        mut new: NewEntry,
        replaces: Vec<EntryId>,
    ) -> Result<LedgerEntry, MemoryError> {
        self.check_sources(state, &new.sources).await?;
        new.text = self.parts.redacted(new.text.trim().to_owned())?;
        let since = new.since.unwrap_or_else(|| self.parts.clock.now());
        let after = NodeId::new(state.nodes).unwrap_or(NodeId::FIRST);
        let note = self
            .note(new.sources.clone(), move |note| {
                let entry = RecordedEntry {
                    id: EntryId::Recorded(note),
                    note,
                    kind: new.kind,
                    text: new.text.clone(),
                    by: new.by.clone(),
                    since,
                    until: new.until,
                    replaces: replaces.clone(),
                    is_disabled: false,
                    after,
                    sources: Vec::new(),
                };
                NoteChange::Write { name: entry.id.note_name(), text: entry.to_json() }
            })
            .await?;
        self.entry(EntryId::Recorded(note)).await
    }

    async fn set_disabled(&self, id: EntryId, is_disabled: bool) -> Result<LedgerEntry, MemoryError> {
        let entry = self.entry(id).await?;
        let state = self.parts.store.conversation(&self.id).await?;
        let recorded = Recorded::read(&*self.parts.store, &self.parts.ledger_notes, &state).await?;
        if recorded.is_disabled(id) == is_disabled {
            return Ok(entry);
        }
        let mut of_record = recorded.entries.into_iter().filter(|entry| entry.id == id);
        let text = match of_record.next() {
            Some(before) => RecordedEntry { is_disabled, ..before }.to_json(),
            None => disabling(is_disabled),
        };
        self.note(entry.sources, move |_| NoteChange::Write { name: id.note_name(), text: text.clone() }).await?;
        self.entry(id).await
    }

    /// Checks that sources exist and can be read.
    async fn check_sources(&self, state: &ConversationState, sources: &[NodeRange]) -> Result<(), MemoryError> {
        if let Some(beyond) = sources.iter().find(|run| run.last().get() > state.nodes) {
            let (conversation, node, nodes) = (self.id.clone(), beyond.last(), state.nodes);
            return Err(StoreError::UnknownNode { conversation, node, nodes }.into());
        }
        let count = sources.iter().map(|run| run.count()).sum();
        if count > MOST_SOURCES {
            return Err(LedgerError::TooManySources { count, most: MOST_SOURCES }.into());
        }
        let read = self.messages_in(sources.to_vec()).await?;
        let is_missing = |node: &NodeId| read.get(node).is_none_or(Node::is_hidden);
        match sources.iter().flat_map(|run| run.iter()).find(is_missing) {
            Some(node) => Err(LedgerError::NoSource { node }.into()),
            None => Ok(()),
        }
    }

    /// Checks that an entry has words, and that the sources of a model's hold three quarters of the informative ones.
    async fn check_words(&self, by: &EntryAuthor, text: &str, sources: &[NodeRange]) -> Result<(), MemoryError> {
        if text.trim().is_empty() {
            return Err(LedgerError::Blank.into());
        }
        if text.len() > LONGEST {
            return Err(LedgerError::TooLong { bytes: text.len(), most: LONGEST }.into());
        }
        if !matches!(by, EntryAuthor::Model(_)) {
            return Ok(());
        }
        if sources.is_empty() {
            return Err(LedgerError::SourceMissing.into());
        }
        let mut said = Gist::default();
        for run in sources.iter().filter(|run| run.count() <= MOST_SOURCES) {
            for node in self.parts.store.readable_nodes(&self.id, *run).await?.nodes {
                said = said.with(&Gist::of(&node.message.text()));
            }
        }
        let words = Gist::of(text);
        let shared = words.shared(&said);
        if words.is_empty() || 4 * shared < 3 * words.len() {
            return Err(LedgerError::NotInSources { words: words.len(), shared }.into());
        }
        Ok(())
    }
}
