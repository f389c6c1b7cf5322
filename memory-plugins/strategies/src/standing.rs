//! Finds what holds beyond its moment: instructions, preferences, decisions, what is open, promises.

mod announcing;
mod cut;
mod lines;

use memory_core::NodeId;

use crate::{
    markup::{Line, classify},
    sentences::sentences,
    terms::is_common,
    words::{Form, Word, words},
};

pub use lines::{StandingLine, StandingLines};

/// What a standing sentence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StandingKind {
    /// Says how things are to be done from now on: "Always give the time zone when I ask for a time."
    Instruction,
    /// Says what somebody wants, likes or cannot have: "I prefer bullet points."
    Preference,
    /// Says what was decided: "We decided to rent the hall."
    Decision,
    /// Says what is left to be done or decided: "We still need to decide on the caterer."
    Open,
    /// Says what somebody will do: "I'll send the draft on Friday."
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

/// A part of a message that holds beyond its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What it does.
    pub kind: StandingKind,
    /// Its first byte in the text of the message.
    pub at: u32,
    /// Its length in bytes, at most 240.
    pub bytes: u16,
    /// What it is about: keys of its words, in order, without those that announce what it does.
    terms: Box<[u64]>,
    /// It takes back or changes what was said before: "no longer", "instead".
    changes: bool,
    /// It says that something is not to be.
    negates: bool,
}

/// Longest standing part, in bytes.
const LONGEST: usize = 240;
/// Fewest words of a standing sentence: "Always!" tells nothing later.
const FEWEST_WORDS: usize = 3;
/// Words that may stand before the announcing phrase and still belong to it: "For emails I prefer".
const LEAD_WORDS: usize = 4;
/// Most standing parts of a message: a message with more is a list, a log or a book.
const MOST: usize = 4;

/// What stands in a message's text, in order, at most 4 parts; `is_person`, whether a person said it: a model's "always" is
/// advice.
///
/// Phrases that announce it are looked for in sentences of running text and lists, not in code, tables or quotations. The
/// work is linear in the text.
#[must_use]
pub fn standing(text: &str, is_person: bool) -> Vec<Standing> {
    let mut found = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        match classify(line) {
            Line::Fence(mark, count) => {
                fence = match fence {
                    None => Some((mark, count)),
                    Some((open, least)) if open == mark && count >= least => None,
                    still => still,
                };
            }
            Line::Item(said) | Line::Text(said) if fence.is_none() && !line.trim_start().starts_with('>') => {
                for sentence in sentences(said) {
                    found.extend(of_sentence(text, sentence, is_person));
                    if found.len() >= MOST {
                        return found;
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// What a sentence of a text says that holds on.
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
    let behind = all.iter().skip(at + length).filter(within).count();
    if behind + 1 < FEWEST_WORDS {
        return None;
    }
    let mut terms: Vec<u64> = Vec::new();
    for (index, word) in all.iter().enumerate().filter(|(_, word)| within(word)) {
        // "Answer in German" is about the answer; "I prefer" is about nothing yet.
        let announces = (at..at + length).contains(&index)
            && !(kind == StandingKind::Instruction && announcing::is_of_weight(word));
        if !announces && (word.form != Form::Plain || !is_common(word)) && !terms.contains(&word.key) {
            terms.push(word.key);
        }
    }
    if terms.is_empty() {
        return None;
    }
    let start = sentence.as_ptr().addr() - text.as_ptr().addr() + part.start;
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

/// Who said a standing line, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// The message.
    pub node: NodeId,
    /// Who speaks; what one wants does not contradict what another does.
    pub speaker: &'a str,
}

#[cfg(test)]
mod tests;
