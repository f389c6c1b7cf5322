//! Extracts the standing part of a sentence: the clause of the announcing phrase with its condition.

use std::ops::Range;

use memory_core::text::floor_char_boundary;

use super::{LEAD_WORDS, LONGEST};
use crate::{language::Language, phrases::word_lists, words::Word};

/// Maximum words of a subject with the word that joins it: `Samantha and`, `my wife and`.
const PAIRED: usize = 4;

word_lists! {
    /// Words that begin a separate clause after a comma.
    CLAUSES = "can could would will do does did is are what how why which where who but because since though \
        although considering i i'm i've i'd i'll you we we're he she they it please thanks thank maybe any \
        what's how's let";
    /// Words that begin a separate clause only if a subject or a question follows.
    JOINS = "and so then";
    /// Words that join two subjects of one clause.
    PAIRS = "and or nor plus und oder et ou y o";
    /// Words at the beginning of a question.
    ASKS = "can could would will do does did is are should what how why which where when who what's how's any";
    /// Words at the beginning of a condition, without which the rest would be too general.
    CONDITIONS = "if when whenever unless for until once while in after before during wenn falls si quand";
}

/// Byte range of the part around the phrase that begins at word `at`; `None` in a question. Only English sentences are
/// cut.
pub(super) fn part(sentence: &str, words: &[Word<'_>], at: usize) -> Option<Range<usize>> {
    if !Language::of(sentence).may_be_cut(Language::ENGLISH) {
        return (!crate::spoken::asks(sentence) && sentence.len() <= LONGEST).then_some(0..sentence.len());
    }
    let first = begin(sentence, words, at);
    let start = words.get(first)?.at;
    let end = end(sentence, words, at);
    let is_whole = end == sentence.len();
    let asks = crate::spoken::asks(sentence);
    if asks && (is_whole || words.get(first).is_some_and(|word| ASKS.contains(&word.key))) {
        return None;
    }
    bounded(sentence, start, end).filter(|end| *end > start).map(|end| start..end)
}

/// End of a part of at most [`LONGEST`] bytes, after a word; `None` if the last word takes more than half of them.
pub(super) fn bounded(sentence: &str, start: usize, end: usize) -> Option<usize> {
    if end.saturating_sub(start) <= LONGEST {
        return Some(end);
    }
    let most = floor_char_boundary(sentence, start + LONGEST);
    let kept = sentence.get(start..most)?;
    Some(start + kept.rfind([',', ';', ' ']).filter(|at| *at > LONGEST / 2)?)
}

/// Index of the part's first word: the sentence's first word if few words or a condition precede the phrase, otherwise
/// the phrase's, or that of a subject joined to it.
fn begin(sentence: &str, words: &[Word<'_>], at: usize) -> usize {
    let is_condition = words.first().is_some_and(|word| CONDITIONS.contains(&word.key));
    let separated =
        |word: &Word<'_>| sentence.get(word.at + word.text.len()..).is_some_and(|rest| rest.starts_with([',', ';']));
    let is_separated = words.iter().take(at).any(separated);
    if at <= LEAD_WORDS && !is_separated || is_condition {
        return 0;
    }
    let is_paired =
        at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|word| PAIRS.contains(&word.key));
    if !is_paired {
        return at;
    }
    let first = words.iter().take(at).rposition(separated).map_or(0, |last| last + 1);
    if (2..=PAIRED).contains(&(at - first)) { first } else { at }
}

/// End offset of the part: the end of the clause, or of the sentence with its mark.
fn end(sentence: &str, words: &[Word<'_>], at: usize) -> usize {
    for (index, pair) in words.windows(2).enumerate().skip(at + 1) {
        let [before, next] = pair else { continue };
        let ends = before.at + before.text.len();
        let between = sentence.get(ends..next.at).unwrap_or_default();
        let is_dash = between.contains([';', '—', '–', '(']) || between.contains(" - ");
        let is_comma = between.contains(',');
        let joined = words.get(index + 2).is_some_and(|word| CLAUSES.contains(&word.key));
        let is_filler = next.text == "you" && words.get(index + 2).is_some_and(|word| word.text == "know");
        let begins = CLAUSES.contains(&next.key) || JOINS.contains(&next.key) && joined;
        if is_dash || is_comma && begins && !is_filler {
            return ends;
        }
    }
    sentence.len()
}
