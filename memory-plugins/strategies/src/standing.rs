//! Detects standing statements in messages: instructions, preferences, decisions, open points, promises.

mod announcing;
mod cut;
mod label;
mod lines;

use crate::{
    sentences::sentences,
    spoken::{asks, offset, spoken_lines},
    terms::is_common,
    words::{Form, Word, words},
};

pub use lines::{StandingLine, StandingLines};

/// The kind of a standing statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StandingKind {
    /// A rule for the future: "Always give the time zone when I ask for a time."
    Instruction,
    /// A speaker's wish, taste or restriction: "I prefer bullet points."
    Preference,
    /// A decision: "We decided to rent the hall."
    Decision,
    /// A matter that is still to be done or decided: "We still need to decide on the caterer."
    Open,
    /// A speaker's promise: "I'll send the draft on Friday."
    Promise,
    /// Takes back an earlier statement and states nothing itself: "Scrap the hall." Never shown.
    Revocation,
}

impl StandingKind {
    /// `instruction`, `preference`, `decision`, `open`, `promise` or `revocation`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Open => "open",
            Self::Promise => "promise",
            Self::Revocation => "revocation",
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
    /// Its length in bytes, at most 360.
    pub bytes: u16,
    /// True if the statement applies only in some contexts: "When I ask about invoices, name the accountant."
    pub is_conditional: bool,
    /// Keys of the words of its subject, in order, without the announcing phrase.
    terms: Box<[u64]>,
    /// Keys of the subject words of its whole sentence: "Scrap MongoDB, we go with Postgres" also revokes MongoDB.
    around: Box<[u64]>,
    /// True if the statement revokes or changes an earlier one: "no longer", "instead".
    changes: bool,
    /// True if the statement takes back whatever was said shortly before: "scratch that".
    takes_back: bool,
    /// True if the statement is negative.
    negates: bool,
}

/// Speaker of a message, who determines which statements count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Speaker {
    /// A user: all statements count.
    User,
    /// A person in the model's place: all but instructions, which are advice.
    Person,
    /// A model: only decisions that are labelled as such ("Decision: amounts are integers"). All others are its
    /// wording.
    Model,
}

/// Maximum bytes of a standing part, equal to the maximum of [`sentences`].
const LONGEST: usize = 360;
/// Minimum words of a standing sentence; "Always!" is meaningless later.
const FEWEST_WORDS: usize = 3;
/// Minimum words after a label, or of an item under one.
const FEWEST_LABELLED: usize = 2;
/// Maximum words before the announcing phrase that are part of the statement: "For emails I prefer".
const LEAD_WORDS: usize = 4;
/// Maximum standing parts of a message: a message with more is a list, a log or a book.
const MOST: usize = 16;

/// The standing parts of a message's text, in order, at most 16.
///
/// Searches announcing phrases ("from now on", "I prefer") and labels ("Decision:") in sentences of running text and
/// lists, not in code, tables or quotations. Each item of a list under a label ("My preferences:") is a part. The time
/// is linear in the text.
#[must_use]
pub fn standing(text: &str, speaker: Speaker) -> Vec<Standing> {
    let mut found = Vec::new();
    // Kind of the items of the current list.
    let mut listed = None;
    for line in spoken_lines(text) {
        for sentence in sentences(line.text) {
            let label = label::labelled(sentence).filter(|label| label.kind == StandingKind::Open || !asks(sentence));
            if let Some(label) = label {
                listed = label.is_of_list.then_some(label.kind).filter(|_| speaker == Speaker::User);
                let is_said = !label.is_of_list && label.may_be_of(speaker);
                let said = is_said.then(|| whole(text, sentence, label.end, label.kind)).flatten();
                // "New decision: MySQL." is too short to be a statement, but still ends the previous decision.
                let ends = || if label.is_of_list { None } else { of_sentence(text, sentence, speaker) };
                found.extend(said.or_else(ends));
            } else if let Some(kind) = listed.filter(|_| line.is_item) {
                found.extend(whole(text, sentence, 0, kind));
            } else {
                listed = None;
                found.extend(of_sentence(text, sentence, speaker));
            }
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

/// A statement of a whole sentence, whose content begins at byte `matter`, after a label.
fn whole(text: &str, sentence: &str, matter: usize, kind: StandingKind) -> Option<Standing> {
    // "**Decision: the pilot is on Thursday.** Good.": only the emphasized part is the decision.
    let emphasized = sentence.strip_prefix("**").and_then(|behind| behind.split_once("**")).map(|(inner, _)| inner);
    let has_matter =
        |part: &&str| sentence.get(matter..2 + part.len()).is_some_and(|part| words(part).nth(1).is_some());
    // Emphasis may continue in the next sentence.
    let begun = sentence.strip_prefix("**").filter(|behind| !behind.contains("**"));
    let part = emphasized.filter(has_matter).or(begun).unwrap_or(sentence);
    let start = offset(sentence, part);
    let end = cut::bounded(sentence, start, start + part.len())?;
    let all: Vec<Word<'_>> = words(sentence.get(..end)?).filter(|word| word.at >= matter).collect();
    if all.len() < FEWEST_LABELLED || is_placeholder(sentence.get(matter..end)?) {
        return None;
    }
    let terms = subject(&all);
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    // The label itself may state a change: "Moved: …".
    let labelled = crate::words::keys(sentence);
    made(kind, offset(text, sentence) + start, end - start, [terms.clone(), terms], [&keys, &labelled])
}

/// True if a text is a placeholder: "[Describe the decision]".
fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(['*', '_', '"', ' ', '\t', '.']);
    let is_within = |(open, close): &(char, char)| {
        text.starts_with(*open) && text.find(*close).map(|at| at + 1) == Some(text.len())
    };
    [('[', ']'), ('<', '>'), ('{', '}')].iter().any(is_within)
}

/// The standing part of a sentence.
fn of_sentence(text: &str, sentence: &str, speaker: Speaker) -> Option<Standing> {
    if speaker == Speaker::Model {
        return None;
    }
    let all: Vec<Word<'_>> = words(sentence).collect();
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    if all.len() < FEWEST_WORDS {
        // "Undo that."
        return announcing::takes_back(&keys).then(|| change(text, sentence, &all, &keys)).flatten();
    }
    let Some(announcing::Announced { kind, at, length }) = announcing::announced(sentence, &all, &keys) else {
        return doubt(text, sentence, &all, &keys);
    };
    if kind == StandingKind::Revocation {
        let (before, behind) = all.split_at(at);
        let others: Vec<Word<'_>> = before.iter().chain(behind.iter().skip(length)).copied().collect();
        return change(text, sentence, &others, &keys);
    }
    if kind == StandingKind::Instruction && speaker != Speaker::User {
        return None;
    }
    // A rule is kept whole, because a part that is cut off might limit it.
    let part = match kind {
        StandingKind::Instruction if !asks(sentence) => 0..cut::bounded(sentence, 0, sentence.len())?,
        _ => cut::part(sentence, &all, at)?,
    };
    let within = |word: &&Word<'_>| word.at >= part.start && word.at < part.end;
    let after = all.iter().skip(at + length).filter(within).count();
    // "No more jokes" is complete, "I prefer" is not.
    let fewest = if kind == StandingKind::Instruction { FEWEST_WORDS - length.min(2) } else { FEWEST_WORDS - 1 };
    if after < fewest {
        return doubt(text, sentence, &all, &keys);
    }
    let mut terms: Vec<u64> = Vec::new();
    for (index, word) in all.iter().enumerate().filter(|(_, word)| within(word)) {
        // In "Answer in German" the phrase itself is part of the subject; in "I prefer" it is not.
        let announces = (at..at + length).contains(&index)
            && !(kind == StandingKind::Instruction && announcing::is_of_weight(word));
        if !announces && is_of_subject(word) && !terms.contains(&word.key) {
            terms.push(word.key);
        }
    }
    let inside: Vec<u64> = all.iter().filter(within).map(|word| word.key).collect();
    made(kind, offset(text, sentence) + part.start, part.len(), [terms, subject(&all)], [&inside, &keys])
}

/// A revocation, if a sentence without a statement changes an earlier one or casts doubt on it.
fn doubt(text: &str, sentence: &str, all: &[Word<'_>], keys: &[u64]) -> Option<Standing> {
    let changes = announcing::corrects(sentence, all, keys) || announcing::takes_back(keys);
    let is_meant = changes || announcing::doubts(keys);
    Some(Standing { changes, ..is_meant.then(|| change(text, sentence, all, keys)).flatten()? })
}

/// A revocation by a whole sentence that states nothing itself.
fn change(text: &str, sentence: &str, all: &[Word<'_>], keys: &[u64]) -> Option<Standing> {
    let terms = subject(all);
    let end = cut::bounded(sentence, 0, sentence.len())?;
    made(StandingKind::Revocation, offset(text, sentence), end, [terms.clone(), terms], [keys, keys])
}

/// Keys of the words that denote the subject, in order.
fn subject(words: &[Word<'_>]) -> Vec<u64> {
    let mut terms = Vec::new();
    for word in words.iter().filter(|word| is_of_subject(word)) {
        if !terms.contains(&word.key) {
            terms.push(word.key);
        }
    }
    terms
}

/// True if a word denotes a subject.
fn is_of_subject(word: &Word<'_>) -> bool {
    word.form != Form::Plain || !is_common(word)
}

/// Builds a statement from its byte range, the subject words of the part and of its sentence, and all words of both.
/// `None` without a subject.
fn made(
    kind: StandingKind,
    at: usize,
    bytes: usize,
    [terms, around]: [Vec<u64>; 2],
    [inside, all]: [&[u64]; 2],
) -> Option<Standing> {
    if terms.is_empty() && kind != StandingKind::Revocation {
        return None;
    }
    Some(Standing {
        kind,
        is_conditional: kind == StandingKind::Instruction && announcing::is_conditional(all),
        at: u32::try_from(at).ok()?,
        bytes: u16::try_from(bytes).ok()?,
        terms: terms.into(),
        around: around.into(),
        changes: kind == StandingKind::Revocation || announcing::changes(all),
        takes_back: announcing::takes_back(all),
        negates: announcing::negates(inside),
    })
}

#[cfg(test)]
mod tests;
