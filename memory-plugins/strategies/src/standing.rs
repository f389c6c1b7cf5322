//! Detects standing statements in messages: instructions, preferences, decisions, open points, promises.

mod announcing;
mod cut;
mod lines;

use memory_core::NodeId;

use crate::{
    spoken::{offset, spoken},
    terms::is_common,
    words::{Form, Word, words},
};

pub use lines::{StandingLine, StandingLines};

/// The kind of a standing statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StandingKind {
    /// How things are to be done from now on: "Always give the time zone when I ask for a time."
    Instruction,
    /// What a speaker wants, likes or cannot have: "I prefer bullet points."
    Preference,
    /// A decision: "We decided to rent the hall."
    Decision,
    /// Something left to be done or decided: "We still need to decide on the caterer."
    Open,
    /// What a speaker will do: "I'll send the draft on Friday."
    Promise,
}

impl StandingKind {
    /// `instruction`, `preference`, `decision`, `open` or `promise`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Open => "open",
            Self::Promise => "promise",
        }
    }
}

/// A part of a message that stays valid after its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its kind.
    pub kind: StandingKind,
    /// Its byte offset in the text of the message.
    pub at: u32,
    /// Its length in bytes, at most 240.
    pub bytes: u16,
    /// Its subject: keys of its words, in order, without the announcing phrase.
    terms: Box<[u64]>,
    /// Whether it revokes or changes an earlier statement: "no longer", "instead".
    changes: bool,
    /// Whether it is negative.
    negates: bool,
}

/// Maximum bytes of a standing part.
const LONGEST: usize = 240;
/// Minimum words of a standing sentence: "Always!" has no content later.
const FEWEST_WORDS: usize = 3;
/// Maximum words before the announcing phrase that belong to it: "For emails I prefer".
const LEAD_WORDS: usize = 4;
/// Maximum standing parts of a message: a message with more is a list, a log or a book.
const MOST: usize = 4;

/// The standing parts of a message's text, in order, at most 4. `is_person` states whether the speaker is a person: a
/// model's "always" is advice.
///
/// Announcing phrases are searched in sentences of running text and lists, not in code, tables or quotations. The work
/// is linear in the text.
#[must_use]
pub fn standing(text: &str, is_person: bool) -> Vec<Standing> {
    let mut found = Vec::new();
    for sentence in spoken(text) {
        found.extend(of_sentence(text, sentence, is_person));
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// The standing part of a sentence.
fn of_sentence(text: &str, sentence: &str, is_person: bool) -> Option<Standing> {
    let all: Vec<Word<'_>> = words(sentence).collect();
    if all.len() < FEWEST_WORDS {
        return None;
    }
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    let announcing::Announced { kind, at, length } = announcing::announced(&all, &keys)?;
    if kind == StandingKind::Instruction && !is_person {
        return None;
    }
    let part = cut::part(sentence, &all, at)?;
    let within = |word: &&Word<'_>| word.at >= part.start && word.at < part.end;
    let after = all.iter().skip(at + length).filter(within).count();
    if after + 1 < FEWEST_WORDS {
        return None;
    }
    let mut terms: Vec<u64> = Vec::new();
    for (index, word) in all.iter().enumerate().filter(|(_, word)| within(word)) {
        // "Answer in German" has a subject, the answer; "I prefer" alone has none.
        let announces = (at..at + length).contains(&index)
            && !(kind == StandingKind::Instruction && announcing::is_of_weight(word));
        if !announces && (word.form != Form::Plain || !is_common(word)) && !terms.contains(&word.key) {
            terms.push(word.key);
        }
    }
    if terms.is_empty() {
        return None;
    }
    let start = offset(text, sentence) + part.start;
    let inside: Vec<u64> = all.iter().filter(within).map(|word| word.key).collect();
    Some(Standing {
        kind,
        at: u32::try_from(start).ok()?,
        bytes: u16::try_from(part.len()).ok()?,
        terms: terms.into(),
        changes: announcing::changes(&inside),
        negates: announcing::negates(&inside),
    })
}

/// The message and speaker of a standing line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// The message.
    pub node: NodeId,
    /// The speaker; only statements of the same speaker contradict each other.
    pub speaker: &'a str,
}

#[cfg(test)]
mod tests;
