//! Entries of the ledger, and their ids.

use std::{fmt, str::FromStr};

use memory_core::{ConversationId, NodeId, NodeRange, NoteId, Timestamp, text::one_line};
use memory_strategies::StandingKind;

/// Beginning of the names of notes about entries.
pub(super) const NOTES: &str = "ledger/";
/// Most characters of an author's name.
const NAME: usize = 64;

/// The id of an entry in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryId {
    /// A statement of a message: `120.1`.
    Said {
        /// The message.
        node: NodeId,
        /// Number of the sentence in the message, from 1.
        sentence: u32,
    },
    /// A recorded entry, by the number of its note: `e7`.
    Recorded(NoteId),
}

/// A text that is no id of an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no entry: ids are like 120.1, a sentence of a message, or e7, a recorded entry", one_line(.0))]
pub struct InvalidEntryId(pub String);

impl EntryId {
    /// Name of the note about the entry, by which it is erased: `ledger/e7`.
    #[must_use]
    pub fn note_name(self) -> String {
        format!("{NOTES}{self}")
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said { node, sentence } => write!(f, "{node}.{sentence}"),
            Self::Recorded(note) => write!(f, "e{}", note.get()),
        }
    }
}

impl FromStr for EntryId {
    type Err = InvalidEntryId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| digits.starts_with(|c: char| c != '+'));
        let recorded = || text.strip_prefix('e').and_then(number).and_then(NoteId::new).map(Self::Recorded);
        let said = || {
            let (node, sentence) = text.split_once('.')?;
            let sentence = u32::try_from(number(sentence)?).ok().filter(|sentence| *sentence > 0)?;
            Some(Self::Said { node: NodeId::new(number(node)?)?, sentence })
        };
        recorded().or_else(said).ok_or_else(|| InvalidEntryId(text.to_owned()))
    }
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A standing instruction.
    Rule,
    /// A decision.
    Decision,
    /// A wish, taste or restriction of somebody.
    Preference,
    /// A fact.
    Fact,
    /// A question or a point that is open.
    Question,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Rule, Self::Decision, Self::Preference, Self::Fact, Self::Question];

    /// `rule`, `decision`, `preference`, `fact` or `question`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Preference => "preference",
            Self::Fact => "fact",
            Self::Question => "question",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of a statement; `None` for promises and revocations, which are no entries.
    pub(crate) fn of(kind: StandingKind) -> Option<Self> {
        match kind {
            StandingKind::Instruction => Some(Self::Rule),
            StandingKind::Preference => Some(Self::Preference),
            StandingKind::Decision => Some(Self::Decision),
            StandingKind::Fact => Some(Self::Fact),
            StandingKind::Open => Some(Self::Question),
            _ => None,
        }
    }

    /// The kind of statement that later ones replace as they do this entry.
    pub(super) const fn standing(self) -> StandingKind {
        match self {
            Self::Rule => StandingKind::Instruction,
            Self::Preference => StandingKind::Preference,
            Self::Decision | Self::Fact => StandingKind::Decision,
            Self::Question => StandingKind::Open,
        }
    }
}

/// The author of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAuthor {
    /// The rules that find statements in messages.
    Rules,
    /// A person; the name may be empty.
    Person(String),
    /// A model.
    Model(String),
    /// A program.
    Program(String),
}

impl EntryAuthor {
    /// The author with this text: `rules`, `person NAME`, `model NAME` or `program NAME`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
        let name = name.to_owned();
        match kind {
            "person" => Some(Self::Person(name)),
            "model" => Some(Self::Model(name)),
            "program" => Some(Self::Program(name)),
            _ => None,
        }
    }
}

impl fmt::Display for EntryAuthor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            Self::Rules => ("rules", ""),
            Self::Person(name) => ("person", name.as_str()),
            Self::Model(name) => ("model", name.as_str()),
            Self::Program(name) => ("program", name.as_str()),
        };
        f.write_str(kind)?;
        let name: String = name.trim().chars().take(NAME).collect();
        if name.is_empty() { Ok(()) } else { write!(f, " {}", one_line(&name)) }
    }
}

/// The status of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryStatus {
    /// The entry holds.
    Current,
    /// A later statement or entry replaced it, or its validity has ended.
    Superseded,
    /// Somebody disabled it, or a message that it came from.
    Disabled,
}

impl EntryStatus {
    /// `current`, `superseded` or `disabled`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Superseded => "superseded",
            Self::Disabled => "disabled",
        }
    }
}

/// The replacement of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Replacement {
    /// The entry that replaced it; `None` if a message only took it back.
    pub entry: Option<EntryId>,
    /// The message that replaced it; `None` for a recorded entry.
    pub node: Option<NodeId>,
    /// Time of the replacement.
    pub at: Option<Timestamp>,
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The conversation.
    pub conversation: ConversationId,
    /// Id in the conversation: `120.1` for a sentence of message 120, or `e7` for a recorded entry.
    pub id: EntryId,
    /// Kind: `rule`, `decision`, `preference`, `fact` or `question`.
    pub kind: EntryKind,
    /// Words of the entry, on one line, without content that is excluded from summaries.
    pub text: String,
    /// Status: `current`, `superseded` or `disabled`.
    pub status: EntryStatus,
    /// Author: `rules`, or `person`, `model` or `program` with a name.
    pub by: EntryAuthor,
    /// Name or role of who said it, for a statement of a message.
    pub speaker: Option<String>,
    /// Messages that it came from.
    pub sources: Vec<NodeRange>,
    /// Time from which it holds, if known.
    pub since: Option<Timestamp>,
    /// Time until which it holds or held, if there is an end.
    pub until: Option<Timestamp>,
    /// The replacement, if there is one.
    pub replaced_by: Option<Replacement>,
    /// Entries that it replaces.
    pub replaces: Vec<EntryId>,
}

impl LedgerEntry {
    /// Ends the entry by a replacement, unless an earlier one did.
    pub(super) fn end(&mut self, by: Replacement) {
        if self.replaced_by.as_ref().is_none_or(|before| by.at < before.at) {
            self.replaced_by = Some(by);
        }
    }

    /// Sets the status as of a time, which is now by default. `disabled` is true if somebody disabled the entry.
    pub(super) fn settle(&mut self, is_disabled: bool, as_of: Option<Timestamp>, now: Timestamp) {
        let is_later = |by: &Replacement| as_of.is_some_and(|as_of| by.at.is_some_and(|at| at > as_of));
        self.replaced_by = self.replaced_by.take().filter(|by| !is_later(by));
        let ends = [self.until, self.replaced_by.as_ref().and_then(|by| by.at)];
        self.until = ends.into_iter().flatten().min();
        let has_ended = self.until.is_some_and(|until| until <= as_of.unwrap_or(now));
        self.status = match is_disabled {
            true => EntryStatus::Disabled,
            // A point that a later answer settled is over, without a message that says so.
            false if self.status == EntryStatus::Superseded => EntryStatus::Superseded,
            false if self.replaced_by.is_some() || has_ended => EntryStatus::Superseded,
            false => EntryStatus::Current,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_authors_are_read_as_they_are_written() {
        for text in ["120.1", "1.16", "e7"] {
            assert_eq!(text.parse::<EntryId>().unwrap().to_string(), text);
        }
        for wrong in ["", "e", "e0", "120", "0.1", "1.0", "1.x", "+1.1", "e+1", "120.1.1", "n7", "ledger/e7"] {
            assert!(wrong.parse::<EntryId>().is_err(), "{wrong}");
        }
        for text in ["person", "person Ana B.", "model gpt", "program sync"] {
            assert_eq!(EntryAuthor::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(EntryAuthor::Person("A\nB".to_owned()).to_string(), r"person A\nB");
        assert_eq!(EntryAuthor::parse("rules"), None, "no entry is recorded in the name of the rules");
    }
}
