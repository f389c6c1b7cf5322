//! Conversations that keep the notes of models: their names, owners and contents.

use crate::{ConversationId, InvalidConversationId, Message, OwnerId, port::StoreError};

/// The conversation with the notes of a store without owners. With a dot and a name behind it, that of an owner.
const NOTES: &str = "memory-notes";

/// The member of a message's metadata that says which document the message changes.
pub const DOCUMENT: &str = "document";

impl ConversationId {
    /// The conversation that keeps the notes of `owner`.
    ///
    /// # Errors
    /// When the name of the owner is too long.
    pub fn of_notes(owner: Option<&OwnerId>) -> Result<Self, InvalidConversationId> {
        match owner {
            Some(owner) => Self::new(&format!("{NOTES}.{owner}")),
            None => Self::new(NOTES),
        }
    }

    /// True if the name is reserved for notes.
    #[must_use]
    pub fn is_of_notes(&self) -> bool {
        self.as_str().strip_prefix(NOTES).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Checks that this conversation, if its name is reserved for notes, is that of the one whose notes it keeps. Else
    /// one owner could read or lock the notes of another.
    ///
    /// # Errors
    /// [`StoreError::Reserved`].
    pub fn check_notes_of(&self, owner: Option<&OwnerId>) -> Result<(), StoreError> {
        let named = self.as_str().strip_prefix(NOTES).map(|rest| rest.strip_prefix('.'));
        if self.is_of_notes() && named != Some(owner.map(OwnerId::as_str)) {
            return Err(self.reserved("it is not of the owner whose notes its name is for"));
        }
        Ok(())
    }

    /// Checks that messages may be appended to this conversation: to one whose name is reserved for notes, changes of
    /// documents alone.
    ///
    /// # Errors
    /// [`StoreError::Reserved`].
    pub fn check_noted<'a>(&self, mut messages: impl Iterator<Item = &'a Message>) -> Result<(), StoreError> {
        if self.is_of_notes() && messages.any(|message| !message.metadata.contains_key(DOCUMENT)) {
            return Err(self.reserved("messages go to a conversation of another name"));
        }
        Ok(())
    }

    /// Checks that a fork may have this name.
    ///
    /// # Errors
    /// [`StoreError::Reserved`] for a name that is reserved for notes.
    pub fn check_no_notes(&self) -> Result<(), StoreError> {
        if self.is_of_notes() { Err(self.reserved("no fork has that name")) } else { Ok(()) }
    }

    fn reserved(&self, why: &'static str) -> StoreError {
        StoreError::Reserved { id: self.clone(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_notes_are_told_from_others() {
        let id = |name: &str| ConversationId::new(name).unwrap();
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
            ("trip", None, true),
        ] {
            assert_eq!(id(name).check_notes_of(owner).is_ok(), is_theirs, "{name} {owner:?}");
        }
        assert!(id("memory-notes.").is_of_notes() && !id("memory-notess").is_of_notes());
    }
}
