//! Boundaries between words, at which a unit may end.

use super::super::lexis::Class;
use crate::{segments::Kind, words::Word};

/// A boundary after a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Nothing,
    Phrase,
    /// A colon.
    Colon,
    Clause,
    /// An omission.
    Gap,
}

/// The boundary between two words.
pub(super) fn end_of(gap: &str, class: Class, next: Class, word: &Word<'_>, kind: Kind) -> End {
    if gap == " " {
        return open_end(class, next, word);
    }
    let free = gap.ends_with([' ', '(', '"', '“', '‘', '\'', '[', '$', '€', '£', '#']) || gap.contains(' ');
    let unspaced = gap.contains(['、', '，', '；', '：', '。', '！', '？']);
    if !free && !unspaced {
        return End::Nothing;
    }
    if gap.contains(['…', '|']) {
        return End::Gap;
    }
    if gap.contains(": ") {
        return End::Colon;
    }
    let clause =
        unspaced || gap.contains([';', '—', '–', '(', ')', '!', '?']) || gap.contains(" - ") || gap.contains(" . ");
    if clause {
        return End::Clause;
    }
    if gap.contains(',') {
        // A single cell of a row is not informative.
        let joins = next.is(Class::CONNECTIVE) || next.is(Class::SUBJECT);
        return if joins && kind == Kind::Sentence { End::Clause } else { End::Phrase };
    }
    open_end(class, next, word)
}

/// The boundary between two words with only a blank between them.
pub(super) fn open_end(class: Class, next: Class, _word: &Word<'_>) -> End {
    if next.is(Class::OPENER) {
        End::Clause
    } else if next.is(Class::PHRASE.or(Class::TO)) && !class.is(Class::PHRASE) {
        End::Phrase
    } else {
        End::Nothing
    }
}

/// Byte offset within the gap at which the next unit begins.
pub(super) fn cut_of(gap: &str) -> usize {
    gap.rfind(char::is_whitespace)
        .map_or(gap.len(), |at| at + gap.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8))
}
