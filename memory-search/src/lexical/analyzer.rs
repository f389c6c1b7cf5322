//! The analyzer, which splits text into terms.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use memory_core::{Message, text::floor_char_boundary};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    asked::Asked,
    folding::{bare_emoji, fold, is_emoji, is_unspaced, plain},
    language::{Language, Languages, is_stop_word},
    script,
};

/// Maximum bytes of a term. A longer word is truncated, not split, and not stemmed, because a stemmer takes quadratic
/// time and no word with a stem is that long.
const MAX_TERM_BYTES: usize = 128;

/// Splits text into terms: words (Unicode Standard Annex 29) in lower case, without accents and endings.
///
/// - Endings are those of the given languages for words in Latin letters, and those of its script for another word. A
///   word with several forms is several terms of one place.
/// - A compound with digits or signs in it (`QX-4471-93B`, `4,200`, `src/lib.rs`, `a_b`) is a term, and so are its
///   parts. Thousands separators are dropped, so that `4,200` and `4200` are one term.
/// - `camelCase` is a term, and so are its parts.
/// - A pictograph is a term.
/// - In scripts without spaces, each character and each bigram is a term.
struct Splitter {
    languages: Languages,
    /// Languages whose stop words are stop words here.
    stopping: Languages,
    purpose: Purpose,
}

struct Term<'a> {
    text: Cow<'a, str>,
    is_stop_word: bool,
    /// True for a further form of the word before.
    is_form: bool,
}

impl<'a> Term<'a> {
    fn of(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: text.into(), is_stop_word: false, is_form: false }
    }
}

/// Terms of one node, to be added to [`Postings`](super::Postings).
#[derive(Debug, Default)]
pub(crate) struct NodeTerms {
    /// Distinct terms with their numbers of occurrences; sorted.
    pub(crate) counts: Vec<(Box<str>, u32)>,
    /// Number of terms, including repeats but not stop words.
    pub(crate) length: u32,
}

/// Indexing and querying differ in scripts without spaces: a text is indexed by characters and bigrams; a question is
/// looked up by bigrams, and by a character only if it has no neighbour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Index,
    Ask,
}

/// Text of a message for indexing and embedding, beginning with the speaker.
pub(crate) fn indexed_text(message: &Message) -> String {
    format!("{}: {}", message.speaker_or_role(), message.text())
}

/// Words of a text in lower case without accents, each with true for a stop word of English or of a script that is a
/// language; in scripts without spaces, each character.
pub(crate) fn words_of(text: &str) -> Vec<(String, bool)> {
    let folded = fold(text);
    let of_run = |(_, run, unspaced): (usize, &str, bool)| -> Vec<String> {
        if unspaced {
            run.chars().map(String::from).collect()
        } else {
            run.unicode_words().map(str::to_lowercase).collect()
        }
    };
    let words = runs(&folded).flat_map(of_run);
    words.map(|word| (is_stop_word(&word, Languages::ENGLISH), word)).map(|(is, word)| (word, is)).collect()
}

/// Terms of a text to index, including stop words, so that a question of only stop words finds them. Stop words do not
/// count in the length, and a word counts once.
pub(crate) fn terms_of(text: &str, language: Language) -> NodeTerms {
    let mut all: Vec<Box<str>> = Vec::new();
    let mut length = 0;
    let languages = Languages::only(language);
    Splitter { languages, stopping: languages, purpose: Purpose::Index }.each_term(text, &mut |term| {
        length += u32::from(!term.is_stop_word && !term.is_form);
        all.push(term.text.into());
    });
    all.extend(language.marker().map(Box::from));
    all.sort_unstable();
    let mut counts: Vec<(Box<str>, u32)> = Vec::new();
    for text in all {
        match counts.last_mut() {
            Some((last, count)) if *last == text => *count += 1,
            _ => counts.push((text, 1)),
        }
    }
    NodeTerms { counts, length }
}

/// Distinct words of a question with their forms in `languages`; stop words only if there are no other words.
pub(crate) fn asked(text: &str, languages: Languages) -> Asked {
    let mut words: Vec<(bool, Vec<Box<str>>)> = Vec::new();
    let stopping = Language::of(text).map_or(Languages::ENGLISH, Languages::only);
    Splitter { languages, stopping, purpose: Purpose::Ask }.each_term(text, &mut |term| {
        let form: Box<str> = term.text.into();
        match words.last_mut() {
            Some((_, forms)) if term.is_form => forms.push(form),
            _ => words.push((term.is_stop_word, vec![form])),
        }
    });
    let kept = words.iter().any(|(is_stop_word, _)| !is_stop_word);
    let kept = words.into_iter().filter(|(is_stop_word, _)| !(kept && *is_stop_word));
    let distinct: BTreeMap<Box<str>, Vec<Box<str>>> =
        kept.filter_map(|(_, forms)| Some((forms.first()?.clone(), forms))).collect();
    Asked::new(distinct.into_values(), languages)
}

/// Words of a text that are words of a question, in order: byte range, and the word's index in the question. In scripts
/// without spaces, characters and bigrams, which may overlap.
pub(crate) fn asked_words(text: &str, asked: &Asked) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    let languages = asked.languages();
    let splitter = Splitter { languages, stopping: languages, purpose: Purpose::Index };
    for (start, run, unspaced) in runs(text) {
        if unspaced {
            for range in characters(run, Purpose::Index) {
                let place = run.get(range.clone()).and_then(|part| asked.word_of(&plain(part)));
                found.extend(place.map(|place| (start + range.start..start + range.end, place)));
            }
            continue;
        }
        for (at, word) in words(run) {
            let mut longest: Option<(usize, usize)> = None;
            splitter.each_term(word, &mut |term| {
                longest = longest.max(asked.word_in(&term.text).map(|place| (term.text.len(), place)));
            });
            let begin = start + at;
            found.extend(longest.map(|(_, place)| (begin..begin + word.len(), place)));
        }
    }
    found
}

impl Splitter {
    fn each_term(&self, text: &str, emit: &mut dyn FnMut(Term<'_>)) {
        for (_, run, unspaced) in runs(&plain(text)) {
            if unspaced {
                let parts = characters(run, self.purpose).filter_map(|range| run.get(range));
                parts.for_each(|part| emit(Term::of(part)));
            } else {
                self.spaced(run, emit);
            }
        }
    }

    /// Emits words, and compounds of words joined by single signs.
    fn spaced(&self, text: &str, emit: &mut dyn FnMut(Term<'_>)) {
        let mut words = words(text).peekable();
        while let Some((start, first)) = words.next() {
            let mut end = start + first.len();
            let mut joined_by_sign = false;
            self.word(first, emit);
            while let Some(&(next, word)) = words.peek() {
                let Some(sign) = text.get(end..next).filter(|between| is_joint(between)) else { break };
                joined_by_sign |= sign != "-";
                end = next + word.len();
                self.word(word, emit);
                words.next();
            }
            let whole = text.get(start..end).unwrap_or(first);
            if whole.len() > first.len() && (joined_by_sign || whole.contains(|c: char| c.is_ascii_digit())) {
                emit_whole(whole, emit);
            }
        }
    }

    /// Emits one word of Annex 29: a word, a number, an identifier or a name with signs in it.
    fn word(&self, word: &str, emit: &mut dyn FnMut(Term<'_>)) {
        if word.starts_with(is_emoji) {
            emit(Term::of(bare_emoji(word)));
        } else if is_grouped_number(word) {
            emit_whole(&word.replace([',', '\''], ""), emit);
        } else if word.contains(|c: char| !c.is_alphanumeric() && c != '\'') {
            emit_whole(word, emit);
        } else {
            self.emit_word(word, emit);
        }
        if word.len() > MAX_TERM_BYTES {
            return;
        }
        let parts = word.split(|c: char| !c.is_alphanumeric() && c != '\'').flat_map(humps);
        for part in parts.filter(|part| part.len() < word.len()) {
            let is_letter = part.chars().count() == 1 && !part.starts_with(char::is_numeric);
            if !is_letter {
                self.emit_word(part, emit);
            }
        }
    }

    /// Emits the forms of a word of letters and digits.
    fn emit_word(&self, word: &str, emit: &mut dyn FnMut(Term<'_>)) {
        let lower = word.to_lowercase();
        let folded = fold(&lower);
        let is_stop_word = is_stop_word(&folded, self.stopping);
        if is_stop_word || lower.len() > MAX_TERM_BYTES || lower.contains(char::is_numeric) {
            emit(Term { is_stop_word, ..Term::of(cut(&folded)) });
            return;
        }
        let forms = script::forms(&lower).unwrap_or_else(|| {
            let mut forms = Vec::new();
            for language in self.languages.iter() {
                let mut add = |form: String| {
                    if !forms.contains(&form) {
                        forms.push(form)
                    }
                };
                add(language.term(word, &lower));
                if !lower.is_ascii() {
                    add(language.term(&folded, &folded));
                }
            }
            forms
        });
        for (place, form) in forms.iter().filter(|form| !form.is_empty()).enumerate() {
            emit(Term { is_form: place > 0, ..Term::of(cut(form)) });
        }
    }
}

fn emit_whole(text: &str, emit: &mut dyn FnMut(Term<'_>)) {
    let lower = text.to_lowercase();
    emit(Term::of(cut(&fold(&lower))));
}

/// Words of Annex 29 and pictographs, with their byte offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_word_bound_indices()
        .filter(|(_, word)| word.contains(char::is_alphanumeric) || word.starts_with(is_emoji))
}

/// Runs of a text with and without spaces between words: byte offset, run, and true for a run without.
fn runs(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = text.len() - rest.len();
        let unspaced = is_unspaced(rest.chars().next()?);
        let end = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some((start, run, unspaced))
    })
}

/// Byte ranges of the characters and bigrams that are terms of a run without spaces.
fn characters(run: &str, purpose: Purpose) -> impl Iterator<Item = Range<usize>> {
    let mut ends = run.char_indices().map(|(at, c)| (at, at + c.len_utf8())).peekable();
    let is_single = run.chars().nth(1).is_none();
    std::iter::from_fn(move || {
        let (start, end) = ends.next()?;
        let pair_end = ends.peek().map(|&(_, end)| end);
        let single = (purpose == Purpose::Index || is_single).then_some(end);
        Some([single, pair_end].into_iter().flatten().map(move |end| start..end))
    })
    .flatten()
}

/// True if `between` joins two words into a compound.
fn is_joint(between: &str) -> bool {
    matches!(between, "-" | "/" | "\\" | "." | ":" | "::" | "@" | "+" | "#" | "=" | "&" | "_" | "->")
}

/// True if `word` is a number with thousands separators, as `4,200` or `1'000'000`.
fn is_grouped_number(word: &str) -> bool {
    let mut groups = word.split([',', '\'']);
    let head = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut tail = groups.peekable();
    let has_tail = tail.peek().is_some();
    has_tail && (1..=3).contains(&head.len()) && is_digits(head) && tail.all(|g| g.len() == 3 && is_digits(g))
}

/// Parts of `camelCase`, `HTTPServer`, `iphone12`: a part ends before a capital that follows a small letter, before the
/// last of several capitals if a small letter follows, and between letters and digits.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut before = None;
        let mut chars = rest.char_indices().peekable();
        let end = std::iter::from_fn(|| chars.next().map(|(at, c)| (at, c, chars.peek().map(|&(_, next)| next))))
            .find_map(|(at, c, next)| {
                let last = before.replace(c)?;
                let begins = (last.is_lowercase() && c.is_uppercase())
                    || (last.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase))
                    || (last.is_numeric() != c.is_numeric() && last != '\'' && c != '\'');
                begins.then_some(at)
            })
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

fn cut(text: &str) -> &str {
    text.get(..floor_char_boundary(text, MAX_TERM_BYTES)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
