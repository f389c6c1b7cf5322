//! Extracts the standing part of a sentence: of a question, the clause of the announcing phrase with its condition.

use std::ops::Range;

use memory_core::text::floor_char_boundary;

use super::{LEAD_WORDS, LONGEST, sentence::Sentence};
use crate::{language::Language, phrases::word_lists, spoken::asks, words::Word};

word_lists! {
    /// Words that begin a separate clause after a comma.
    CLAUSES = "can could would will do does did is are what how why which where who but because since though \
        although considering i i'm i've i'd i'll you we we're he she they it please thanks thank maybe any \
        what's how's let";
    /// Words that begin a separate clause only if a subject or a question follows.
    JOINS = "and so then";
    /// Words at the beginning of a question.
    ASKS = "can could would will do does did is are should what how why which where when who what's how's any";
    /// Words at the beginning of a condition, without which the rest would be too general.
    CONDITIONS = "if when whenever unless for until once while in after before during wenn falls si quand";
}

/// Byte range of the part that states something, around the phrase that begins at word `at`: the whole sentence, or of
/// an English question its clause; `None` if all of it asks.
pub(super) fn part(sentence: &Sentence<'_>, at: usize) -> Option<Range<usize>> {
    let (text, words) = (sentence.text, &sentence.words);
    if !asks(text) {
        let start = text.len() - text.trim_start_matches(['.', '…', ' ']).len();
        return Some(start..bounded(text, start, text.len())?);
    }
    if !Language::of(text).may_be_cut(Language::ENGLISH) {
        return None;
    }
    let first = begin(sentence, at);
    let start = words.get(first)?.at;
    let end = end(text, words, at);
    let is_whole = end == text.len();
    if is_whole || words.get(first).is_some_and(|word| ASKS.contains(&word.key)) {
        return None;
    }
    bounded(text, start, end).filter(|end| *end > start).map(|end| start..end)
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
/// the phrase's.
fn begin(sentence: &Sentence<'_>, at: usize) -> usize {
    let is_condition = sentence.keys.first().is_some_and(|key| CONDITIONS.contains(key));
    let is_separated = sentence.words.iter().skip(1).take(at).any(|word| sentence.is_after_comma(word));
    if at <= LEAD_WORDS && !is_separated || is_condition { 0 } else { at }
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
