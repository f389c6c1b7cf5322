//! Notes: small named texts that models and programs keep in a conversation, change by change.

use serde_json::Value;

use crate::{
    ConversationId, InvalidConversationId, Json, Mark, Message, NodeRange, NoteId, OwnerId, Timestamp,
    port::{ConversationState, StoreError},
};

/// The conversation of the notes of models in a store without owners. With a dot and a name after it, that of an owner.
const NOTES: &str = "memory-notes";

/// The conversation of the receipts of erasures in a store without owners. With a dot and a name after it, that of an owner.
const RECEIPTS: &str = "memory-receipts";

/// Member of the metadata of a message that is a note, in stores of versions without notes.
const DOCUMENT: &str = "document";

/// A change of a named text, recorded in a conversation.
///
/// Notes are numbered apart from messages. They are hashed into no tree, summarized into no summary, and found by no
/// search of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// Number of the note. A store records it only if it is the one after the last, so that a writer who decided on
    /// older texts decides again. The first note may have any number up to the one after the last message's, so that
    /// messages of old stores that are notes keep theirs.
    pub id: NoteId,
    /// Time of the change.
    pub at: Timestamp,
    /// The change.
    pub change: NoteChange,
    /// Messages of the same conversation that the change came from.
    pub sources: Vec<NodeRange>,
}

/// A change of named texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteChange {
    /// Sets a text, and creates it if it is new.
    Write {
        /// Name of the text.
        name: String,
        /// The whole text.
        text: String,
    },
    /// Appends to a text, and creates it if it is new. The log holds only the addition.
    Append {
        /// Name of the text.
        name: String,
        /// The addition.
        text: String,
    },
    /// Removes a text, and every text whose name continues with `/`.
    Remove {
        /// Name of the text.
        name: String,
    },
    /// Renames a text, and every text whose name continues with `/`.
    Rename {
        /// Present name of the text.
        from: String,
        /// New name of the text.
        to: String,
    },
}

impl Note {
    /// A note without sources.
    #[must_use]
    pub fn new(id: NoteId, at: Timestamp, change: NoteChange) -> Self {
        Self { id, at, change, sources: Vec::new() }
    }

    crate::setters! { sources: Vec<NodeRange> }

    /// Checks that the note may follow the one numbered `last`, which is 0 if there is none, in a conversation of this
    /// many messages.
    ///
    /// # Errors
    /// [`StoreError::NoteConflict`] if it has another number.
    pub fn check_follows(&self, conversation: &ConversationId, last: u64, nodes: u64) -> Result<(), StoreError> {
        let next = NoteId::after(last);
        if self.id == next || last == 0 && self.id.get() <= nodes + 1 {
            return Ok(());
        }
        Err(StoreError::NoteConflict { conversation: conversation.clone(), note: self.id, next })
    }

    /// The note in a message of a version without notes; `None` if the message is none.
    #[must_use]
    pub fn of_message(id: NoteId, message: &Message, at: Timestamp) -> Option<Self> {
        let change = message.metadata.get(DOCUMENT).map(Json::to_value)?;
        let member = |name: &str| change.get(name).and_then(Value::as_str).map(str::to_owned);
        let is_empty = change.get("empty").and_then(Value::as_bool).unwrap_or_default();
        let text = if is_empty { String::new() } else { message.text() };
        // The state of a manager is named by the value itself.
        let change = if let Some(name) = change.as_str().map(str::to_owned).or_else(|| member("write")) {
            NoteChange::Write { name, text }
        } else if let Some(name) = member("append") {
            NoteChange::Append { name, text }
        } else if let Some(name) = member("remove") {
            NoteChange::Remove { name }
        } else {
            let (from, to) = member("from").zip(member("to"))?;
            NoteChange::Rename { from, to }
        };
        Some(Self::new(id, at, change))
    }
}

impl NoteChange {
    /// Bytes of its texts and names.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Write { name, text } | Self::Append { name, text } => name.len() + text.len(),
            Self::Remove { name } => name.len(),
            Self::Rename { from, to } => from.len() + to.len(),
        }
    }
}

impl ConversationId {
    /// The conversation that keeps the notes of the models of `owner`.
    ///
    /// # Errors
    /// When the name of the owner is too long.
    pub fn of_notes(owner: Option<&OwnerId>) -> Result<Self, InvalidConversationId> {
        match owner {
            Some(owner) => Self::new(&format!("{NOTES}.{owner}")),
            None => Self::new(NOTES),
        }
    }

    /// The conversation that keeps the receipts of what was erased for `owner`.
    ///
    /// # Errors
    /// When the name of the owner is too long.
    pub fn of_receipts(owner: Option<&OwnerId>) -> Result<Self, InvalidConversationId> {
        match owner {
            Some(owner) => Self::new(&format!("{RECEIPTS}.{owner}")),
            None => Self::new(RECEIPTS),
        }
    }

    /// Checks that a conversation of this name may begin for `owner`. One whose name is [kept for
    /// notes](Self::of_notes) begins with a note of the owner in its name, or else one owner could lock out another or
    /// feed them notes.
    ///
    /// # Errors
    /// [`StoreError::UnfitName`] as for [`Self::check_new`], or [`StoreError::Reserved`].
    pub fn check_beginning(&self, owner: Option<&OwnerId>, with_note: bool) -> Result<(), StoreError> {
        self.check_new()?;
        match self.owner_of_notes() {
            Some(_) if !with_note => {
                Err(StoreError::Reserved { id: self.clone(), why: "messages go to a conversation of another name" })
            }
            _ => self.check_notes_of(owner),
        }
    }

    /// Checks that notes in this conversation, which is `owner`'s, are those of the owner in its name, if its name is
    /// kept for notes. Stores of early versions may hold others.
    ///
    /// # Errors
    /// [`StoreError::Reserved`].
    pub fn check_notes_of(&self, owner: Option<&OwnerId>) -> Result<(), StoreError> {
        match self.owner_of_notes() {
            Some(named) if named != owner.map(OwnerId::as_str) => Err(StoreError::Reserved {
                id: self.clone(),
                why: "it is not of the owner whose notes its name is for",
            }),
            _ => Ok(()),
        }
    }

    /// The owner in a name that is kept for notes.
    #[expect(clippy::option_option, reason = "a name that is not kept for notes, and one of no owner")]
    fn owner_of_notes(&self) -> Option<Option<&str>> {
        let rest = [NOTES, RECEIPTS].iter().find_map(|kept| self.as_str().strip_prefix(kept))?;
        if rest.is_empty() { Some(None) } else { rest.strip_prefix('.').map(Some) }
    }
}

impl ConversationState {
    /// True if the conversation holds notes and nobody spoke in it. Lists, searches and indexes leave it out.
    #[must_use]
    pub fn is_of_notes(&self) -> bool {
        self.nodes == 0 && self.notes > 0 || self.has_notes_as_messages()
    }

    /// True if its messages are notes, as versions without notes kept them.
    #[must_use]
    pub fn has_notes_as_messages(&self) -> bool {
        self.nodes > 0 && (self.is_marked(Mark::Companion) || self.id.owner_of_notes().is_some())
    }

    /// Number of the last note, with messages that are notes counted as such; 0 if there is none.
    #[must_use]
    pub fn last_note(&self) -> u64 {
        if self.has_notes_as_messages() { self.notes.max(self.nodes) } else { self.notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::new(name).unwrap()
    }

    #[test]
    fn names_of_notes_are_told_from_others() {
        let ana = OwnerId::new("ana").unwrap();
        assert_eq!(ConversationId::of_notes(Some(&ana)).unwrap(), id("memory-notes.ana"));
        assert_eq!(ConversationId::of_notes(None).unwrap(), id("memory-notes"));
        for (name, owner, is_theirs) in [
            ("memory-notes", None, true),
            ("memory-notes", Some(&ana), false),
            ("memory-notes.ana", Some(&ana), true),
            ("memory-notes.ana", None, false),
            ("memory-notes.ben", Some(&ana), false),
            ("memory-notes.", None, false),
            ("memory-notes-of-mine", Some(&ana), true),
            ("memory-notess", None, true),
            ("trip", None, true),
        ] {
            assert_eq!(id(name).check_beginning(owner, true).is_ok(), is_theirs, "{name} {owner:?}");
            let is_free = !matches!(name, "memory-notes" | "memory-notes.") && !name.starts_with("memory-notes.");
            assert_eq!(id(name).check_beginning(owner, false).is_ok(), is_free, "{name} {owner:?}");
        }
    }

    #[test]
    fn a_conversation_of_notes_is_one_in_which_nobody_spoke() {
        let state = |name: &str, nodes, notes| ConversationState::new(id(name)).nodes(nodes).notes(notes);
        let marked = |nodes, notes| state("x", nodes, notes).tags(vec![Mark::Companion.tag().to_owned()]);
        for (state, is_of_notes, last) in [
            (state("x", 0, 0), false, 0),
            (state("x", 0, 3), true, 3),
            (state("x", 2, 3), false, 3),
            (state("memory-notes", 2, 0), true, 2),
            (state("memory-notes.ana", 2, 4), true, 4),
            (marked(2, 0), true, 2),
            (marked(0, 3), true, 3),
        ] {
            assert_eq!((state.is_of_notes(), state.last_note()), (is_of_notes, last), "{state:?}");
        }
    }

    #[test]
    fn messages_of_old_stores_are_read_as_the_notes_they_are() {
        let read = |json: &str, text: &str| {
            let metadata = [(DOCUMENT.to_owned(), Json::new(json).unwrap())].into();
            let message = Message::assistant(text).metadata(metadata);
            Note::of_message(NoteId::FIRST, &message, Timestamp::default()).map(|note| note.change)
        };
        let (name, text) = (|| "a".to_owned(), |text: &str| text.to_owned());
        assert_eq!(read(r#"{"write":"a"}"#, "x"), Some(NoteChange::Write { name: name(), text: text("x") }));
        let emptied = read(r#"{"write":"a","empty":true}"#, "(empty)");
        assert_eq!(emptied, Some(NoteChange::Write { name: name(), text: text("") }));
        assert_eq!(read(r#"{"append":"a"}"#, "x"), Some(NoteChange::Append { name: name(), text: text("x") }));
        assert_eq!(read(r#"{"remove":"a"}"#, "Removed a"), Some(NoteChange::Remove { name: name() }));
        let renamed = read(r#"{"from":"a","to":"b"}"#, "Renamed a to b");
        assert_eq!(renamed, Some(NoteChange::Rename { from: name(), to: text("b") }));
        assert_eq!(read(r#""a""#, "{}"), Some(NoteChange::Write { name: name(), text: text("{}") }));
        assert_eq!(read("{}", "x"), None);
        assert_eq!(Note::of_message(NoteId::FIRST, &Message::user("x"), Timestamp::default()), None);
    }
}
