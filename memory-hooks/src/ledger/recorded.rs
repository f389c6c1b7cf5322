//! Entries that were recorded, and what was disabled: notes of the conversation whose names begin with `ledger/`.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use lru::LruCache;
use memory_core::{
    ConversationId, NodeId, NodeRange, NoteId, Timestamp,
    port::{ConversationState, Note, NoteChange, Store, StoreError},
};
use memory_strategies::{StandingLine, StandingLines};
use serde_json::{Map, Value, json};

use super::{
    EntryAuthor, EntryId, EntryKind, LedgerEntry,
    derived::{Place, of_recorded},
    entry::NOTES,
};
use crate::{documents::CHUNK, kept_out::Redactor, snapshot_cache::Snapshot};

/// Most conversations whose notes about entries are known.
const MOST: NonZeroUsize = NonZeroUsize::new(1 << 10).unwrap();

/// The entry that a note is about.
fn entry_of(change: &NoteChange) -> Option<EntryId> {
    match change {
        NoteChange::Write { name, .. } | NoteChange::Remove { name } => name.strip_prefix(NOTES)?.parse().ok(),
        NoteChange::Append { .. } | NoteChange::Rename { .. } => None,
    }
}

/// A recorded entry.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEntry {
    pub(crate) id: EntryId,
    /// The last note that holds the entry.
    pub(super) note: NoteId,
    pub(super) kind: EntryKind,
    pub(super) text: String,
    pub(super) by: EntryAuthor,
    pub(super) since: Timestamp,
    pub(super) until: Option<Timestamp>,
    pub(super) replaces: Vec<EntryId>,
    pub(super) is_disabled: bool,
    /// The last message when it was recorded.
    pub(super) after: NodeId,
    pub(super) sources: Vec<NodeRange>,
}

impl RecordedEntry {
    /// Text of the entry's note.
    pub(super) fn to_json(&self) -> String {
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        add("kind", json!(self.kind.as_str()));
        add("text", json!(self.text));
        add("by", json!(self.by.to_string()));
        add("since", json!(self.since.as_millis()));
        if let Some(until) = self.until {
            add("until", json!(until.as_millis()));
        }
        if !self.replaces.is_empty() {
            add("replaces", self.replaces.iter().map(ToString::to_string).collect());
        }
        add("after", json!(self.after.get()));
        if self.is_disabled {
            add("disabled", json!(true));
        }
        Value::Object(members).to_string()
    }

    /// The entry that a note holds.
    pub(crate) fn of_note(note: &Note) -> Option<Self> {
        let (Some(id @ EntryId::Recorded(_)), NoteChange::Write { text, .. }) = (entry_of(&note.change), &note.change)
        else {
            return None;
        };
        Self::of(id, note.id, &serde_json::from_str(text).ok()?, note.sources.clone())
    }

    /// The entry and its note, as a prompt shows it: without excluded content.
    pub(crate) fn shown(&self, conversation: &ConversationId, redactor: &Redactor) -> (LedgerEntry, NoteId) {
        let mut entry = of_recorded(self, conversation.clone());
        entry.text = redactor.redact(&entry.text);
        (entry, self.note)
    }

    /// The first later statement that replaces the entry.
    pub(super) fn replaced_by(&self, lines: &StandingLines) -> Option<Place> {
        let line = self.line()?;
        lines.from(self.after.next()).find(|later| later.is_over(&line)).map(StandingLine::place)
    }

    fn of(id: EntryId, note: NoteId, value: &Value, sources: Vec<NodeRange>) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let time = |name: &str| value.get(name).and_then(Value::as_i64).map(Timestamp::from_millis);
        let replaces = value.get("replaces").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            id,
            note,
            kind: EntryKind::named(text("kind")?)?,
            text: text("text")?.to_owned(),
            by: EntryAuthor::parse(text("by")?)?,
            since: time("since")?,
            until: time("until"),
            replaces: replaces.filter_map(|id| id.as_str()?.parse().ok()).collect(),
            is_disabled: is_disabled(value),
            after: value.get("after").and_then(Value::as_u64).and_then(NodeId::new)?,
            sources,
        })
    }

    /// The entry as a statement that later messages may replace.
    pub(crate) fn line(&self) -> Option<StandingLine> {
        StandingLine::recorded(self.after, &self.text, self.kind.standing())
    }
}

/// The text of a note that disables or enables a statement of a message.
pub(super) fn disabling(is_disabled: bool) -> String {
    json!({"disabled": is_disabled}).to_string()
}

fn is_disabled(value: &Value) -> bool {
    value.get("disabled").and_then(Value::as_bool).unwrap_or_default()
}

/// Recorded entries of a conversation, and recorded changes of derived ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(super) entries: Vec<RecordedEntry>,
    /// Statements of messages that are disabled.
    pub(super) disabled: BTreeSet<EntryId>,
}

impl Recorded {
    /// Reads the notes about entries of a conversation.
    pub(crate) async fn read(
        store: &dyn Store,
        known: &LedgerNotes,
        state: &ConversationState,
    ) -> Result<Self, StoreError> {
        let mut last: BTreeMap<EntryId, Note> = BTreeMap::new();
        for [first, until] in known.of(store, state).await? {
            for note in store.notes(&state.id, first, until).await? {
                let Some(id) = entry_of(&note.change) else { continue };
                last.insert(id, note);
            }
        }
        let mut recorded = Self::default();
        for (id, note) in last {
            let NoteChange::Write { text, .. } = &note.change else { continue };
            match id {
                EntryId::Said { .. } => {
                    if serde_json::from_str(text).is_ok_and(|value| is_disabled(&value)) {
                        recorded.disabled.insert(id);
                    }
                }
                EntryId::Recorded(_) => match RecordedEntry::of_note(&note) {
                    Some(entry) => recorded.entries.push(entry),
                    None => {
                        tracing::warn!(conversation = %state.id, note = %note.id, "a note about an entry is unreadable")
                    }
                },
            }
        }
        Ok(recorded)
    }

    /// Recorded entries that hold at `now`, whatever their kind.
    pub(crate) fn holding<'r>(
        &'r self,
        lines: &'r StandingLines,
        snapshot: &'r Snapshot,
        now: Timestamp,
    ) -> impl Iterator<Item = &'r RecordedEntry> {
        self.entries.iter().filter(move |entry| {
            let is_over = entry.is_disabled || entry.until.is_some_and(|until| until <= now);
            let is_hidden = is_over || is_of_disabled(&entry.sources, snapshot) || self.hides(entry.id);
            !is_hidden && entry.replaced_by(lines).is_none()
        })
    }

    /// True if entries were recorded.
    pub(crate) fn has_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// True if nothing was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.disabled.is_empty()
    }

    /// True if an entry is disabled.
    pub(super) fn is_disabled(&self, id: EntryId) -> bool {
        self.disabled.contains(&id) || self.entries.iter().any(|entry| entry.id == id && entry.is_disabled)
    }

    /// True if a statement of a message is disabled or corrected.
    pub(crate) fn hides(&self, id: EntryId) -> bool {
        let corrects = |entry: &RecordedEntry| !entry.is_disabled && entry.replaces.contains(&id);
        self.disabled.contains(&id) || self.entries.iter().any(corrects)
    }
}

/// True if a message of `sources` is disabled.
pub(super) fn is_of_disabled(sources: &[NodeRange], snapshot: &Snapshot) -> bool {
    let is_hidden = |node| snapshot.tree.node(node).is_none_or(|of| of.is_disabled);
    sources.iter().any(|run| run.iter().any(is_hidden))
}

/// Numbers of the notes about entries, by conversation, so that others are read once. Their texts are not kept, since
/// another process may erase them.
#[derive(Debug)]
pub(crate) struct LedgerNotes(Mutex<LruCache<ConversationId, Numbers>>);

#[derive(Clone, Debug, Default)]
struct Numbers {
    /// The last note that was looked at.
    seen: u64,
    /// Runs of notes about entries, in order.
    runs: Vec<[NoteId; 2]>,
}

impl Default for LedgerNotes {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl LedgerNotes {
    /// Runs of the notes about entries of a conversation.
    async fn of(&self, store: &dyn Store, state: &ConversationState) -> Result<Vec<[NoteId; 2]>, StoreError> {
        if state.notes == 0 {
            return Ok(Vec::new());
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut numbers = lock().get(&state.id).cloned().unwrap_or_default();
        while numbers.seen < state.notes {
            let until = state.notes.min(numbers.seen + CHUNK);
            let read = store.notes(&state.id, NoteId::after(numbers.seen), NoteId::after(until - 1)).await?;
            for note in read.into_iter().filter(|note| entry_of(&note.change).is_some()) {
                match numbers.runs.last_mut() {
                    Some([_, last]) if NoteId::after(last.get()) == note.id => *last = note.id,
                    _ => numbers.runs.push([note.id; 2]),
                }
            }
            numbers.seen = until;
        }
        lock().put(state.id.clone(), numbers.clone());
        Ok(numbers.runs)
    }
}
