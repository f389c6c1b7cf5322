//! Marks of a conversation, which are kept among its tags.

use std::{fmt, str::FromStr};

use crate::port::ConversationState;

/// Mark on a whole conversation, set by a person.
///
/// A mark is stored as a reserved tag, so that it is in the log, in exports and in forks of older versions, as every
/// tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// A conversation that matters more than others.
    Important,
    /// A conversation that is done with: lists and `last` leave it out. Searches still find it, because an answer that
    /// silently misses what was said is worse than a hit too many.
    Archived,
    /// A conversation whose messages are notes, as versions without [notes](crate::port::Note) kept them. Nothing sets
    /// it any more.
    Companion,
    /// A document that a person added, in chunks: lists, `last` and the ledger leave it out; searches find it.
    Document,
}

impl Mark {
    /// The marks that a person sets.
    pub const ALL: [Self; 2] = [Self::Important, Self::Archived];

    /// The beginning of reserved tags, which no tag of a person has.
    pub const PREFIX: &'static str = "memory:";

    /// The reserved tag, as in `memory:archived`.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Important => "memory:important",
            Self::Archived => "memory:archived",
            Self::Companion => "memory:companion",
            Self::Document => "memory:document",
        }
    }

    /// True if a tag is reserved.
    #[must_use]
    pub fn reserves(tag: &str) -> bool {
        tag.trim_start().starts_with(Self::PREFIX)
    }
}

impl fmt::Display for Mark {
    /// `important` or `archived`, or `companion` in an old store.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag().trim_start_matches(Self::PREFIX))
    }
}

/// A text that is no mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mark: expected `important` or `archived`")]
pub struct UnknownMark(pub String);

impl FromStr for Mark {
    type Err = UnknownMark;

    fn from_str(text: &str) -> Result<Self, UnknownMark> {
        Self::ALL.into_iter().find(|mark| mark.to_string() == text).ok_or_else(|| UnknownMark(text.to_owned()))
    }
}

impl ConversationState {
    /// True if the conversation has this mark.
    #[must_use]
    pub fn is_marked(&self, mark: Mark) -> bool {
        self.tags.iter().any(|tag| tag == mark.tag())
    }

    /// True if somebody speaks in it: it is neither of notes nor a document.
    #[must_use]
    pub fn is_talk(&self) -> bool {
        !self.is_of_notes() && !self.is_marked(Mark::Document)
    }

    /// Its tags without the reserved ones, sorted.
    #[must_use]
    pub fn own_tags(&self) -> Vec<String> {
        self.tags.iter().filter(|tag| !Mark::reserves(tag)).cloned().collect()
    }

    /// All its tags, sorted, with the mark added if `is_set` and removed otherwise.
    #[must_use]
    pub fn tags_with(&self, mark: Mark, is_set: bool) -> Vec<String> {
        let mut tags: Vec<_> = self.tags.iter().filter(|tag| *tag != mark.tag()).cloned().collect();
        if is_set {
            tags.push(mark.tag().to_owned());
        }
        tags.sort();
        tags
    }

    /// All its tags, sorted, with its own ones replaced by `own`; the reserved ones stay.
    #[must_use]
    pub fn tags_with_own(&self, own: &[String]) -> Vec<String> {
        let reserved = self.tags.iter().filter(|tag| Mark::reserves(tag));
        let mut tags: Vec<_> = own.iter().filter(|tag| !Mark::reserves(tag)).chain(reserved).cloned().collect();
        tags.sort();
        tags.dedup();
        tags
    }

    /// The title that a person gave it; an empty one is none.
    #[must_use]
    pub fn own_title(&self) -> Option<&str> {
        self.title.as_deref().map(str::trim).filter(|title| !title.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConversationId;

    fn state(tags: &[&str]) -> ConversationState {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        ConversationState::new(ConversationId::new("trip").unwrap()).tags(tags)
    }

    #[test]
    fn marks_are_reserved_tags_and_hide_among_no_others() {
        let trip = state(&["memory:archived", "travel"]);
        assert_eq!(Mark::ALL.map(|mark| trip.is_marked(mark)), [false, true]);
        assert_eq!(trip.own_tags(), ["travel"]);
        assert_eq!(trip.tags_with(Mark::Important, true), ["memory:archived", "memory:important", "travel"]);
        assert_eq!(trip.tags_with(Mark::Archived, false), ["travel"]);
        assert_eq!(trip.tags_with(Mark::Archived, true), trip.tags);
    }

    #[test]
    fn new_tags_of_a_person_leave_the_marks_and_make_none() {
        let own = ["home", "memory:important"].map(str::to_owned);
        assert_eq!(state(&["memory:archived", "travel"]).tags_with_own(&own), ["home", "memory:archived"]);
        assert!(Mark::reserves(" memory:anything") && !Mark::reserves("memory"));
    }

    #[test]
    fn a_mark_is_read_as_it_is_shown() {
        for mark in Mark::ALL {
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
        assert!("memory:important".parse::<Mark>().is_err());
    }

    #[test]
    fn an_empty_title_is_none() {
        let titled = |title: &str| state(&[]).title(title.to_owned()).own_title().map(str::to_owned);
        assert_eq!([titled("Rome"), titled(" ")], [Some("Rome".to_owned()), None]);
    }
}
