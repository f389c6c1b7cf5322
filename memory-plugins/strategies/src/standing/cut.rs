//! Cuts the part out of a sentence that holds on: the clause of the announcing phrase, with what it depends on.

use std::{ops::Range, sync::LazyLock};

use super::{LEAD_WORDS, LONGEST};
use crate::{
    phrases::word_keys,
    words::{KeySet, Word},
};

/// Words that begin a clause of its own behind a comma.
const CLAUSES: &str = "can could would will do does did is are what how why which where who but because since though \
                       although considering i i'm i've i'd i'll you we we're he she they it please thanks thank maybe \
                       any what's how's let";
/// Words that join one: only where a subject or a question follows.
const JOINS: &str = "and so then";
/// What a question begins with.
const ASKS: &str = "can could would will do does did is are should what how why which where when who what's how's any";
/// What a condition begins with, without which the rest would say more than was meant.
const CONDITIONS: &str = "if when whenever unless for until once while in after before during wenn falls si quand";

struct Lexicon {
    clauses: KeySet,
    joins: KeySet,
    asks: KeySet,
    conditions: KeySet,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let [clauses, joins, asks, conditions] = [CLAUSES, JOINS, ASKS, CONDITIONS].map(word_keys);
    Lexicon { clauses, joins, asks, conditions }
});

/// The bytes of the part around the phrase that begins with the word `at`; `None` where it is part of a question.
pub(super) fn part(sentence: &str, words: &[Word<'_>], at: usize) -> Option<Range<usize>> {
    let lexicon = &*LEXICON;
    let first = begin(sentence, words, at);
    let start = words.get(first)?.at;
    let mut end = end(sentence, words, at);
    let is_whole = end == sentence.len();
    let asks = sentence.trim_end_matches(crate::sentences::closes).ends_with(['?', '？', '؟']);
    if asks && (is_whole || words.get(first).is_some_and(|word| lexicon.asks.contains(&word.key))) {
        return None;
    }
    if end - start > LONGEST {
        let most = sentence.floor_char_boundary(start + LONGEST);
        let kept = sentence.get(start..most)?;
        end = start + kept.rfind([',', ';', ' ']).filter(|at| *at > LONGEST / 2)?;
    }
    (end > start).then_some(start..end)
}

/// The word that the part begins with: the sentence's first where little or a condition stands before the phrase, else the
/// phrase's.
fn begin(sentence: &str, words: &[Word<'_>], at: usize) -> usize {
    let is_condition = words.first().is_some_and(|word| LEXICON.conditions.contains(&word.key));
    let parted =
        |word: &Word<'_>| sentence.get(word.at + word.text.len()..).is_some_and(|rest| rest.starts_with([',', ';']));
    let is_parted = words.iter().take(at).any(parted);
    if at <= LEAD_WORDS && !is_parted || is_condition { 0 } else { at }
}

/// The byte that the part ends before: the end of the clause, or of the sentence with its mark.
fn end(sentence: &str, words: &[Word<'_>], at: usize) -> usize {
    let lexicon = &*LEXICON;
    for (index, pair) in words.windows(2).enumerate().skip(at + 1) {
        let [before, next] = pair else { continue };
        let ends = before.at + before.text.len();
        let between = sentence.get(ends..next.at).unwrap_or_default();
        let is_dash = between.contains([';', '—', '–', '(']) || between.contains(" - ");
        let is_comma = between.contains(',');
        let joined = words.get(index + 2).is_some_and(|word| lexicon.clauses.contains(&word.key));
        let is_filler = next.text == "you" && words.get(index + 2).is_some_and(|word| word.text == "know");
        let begins = lexicon.clauses.contains(&next.key) || lexicon.joins.contains(&next.key) && joined;
        if is_dash || is_comma && begins && !is_filler {
            return ends;
        }
    }
    sentence.len()
}
