//! The analyzer, which splits text into terms.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    ops::Range,
    sync::LazyLock,
};

use memory_core::{Message, text::floor_char_boundary};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum bytes of a term. A longer word is truncated, not split, and not stemmed, because the stemmer takes quadratic
/// time and no word with a stem is that long.
const MAX_TERM_BYTES: usize = 128;

/// Splits text into terms: words (Unicode Standard Annex 29) in lower case, without accents, stemmed as English.
///
/// - A compound with digits or signs in it (`QX-4471-93B`, `4,200`, `src/lib.rs`, `a_b`) is a term, and so are its
///   parts. Thousands separators are dropped, so that `4,200` and `4200` are one term.
/// - `camelCase` is a term, and so are its parts.
/// - In scripts without spaces, each character and each bigram is a term.
pub(crate) struct Analyzer {
    stemmer: Stemmer,
    /// Bytes of the longest word passed to the stemmer.
    #[cfg(test)]
    longest_stemmed: std::sync::atomic::AtomicUsize,
}

struct Term<'a> {
    text: Cow<'a, str>,
    is_stop_word: bool,
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

impl Default for Analyzer {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            #[cfg(test)]
            longest_stemmed: std::sync::atomic::AtomicUsize::default(),
        }
    }
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyzer").finish_non_exhaustive()
    }
}

/// Text of a message for indexing and embedding, beginning with the speaker.
pub(crate) fn indexed_text(message: &Message) -> String {
    format!("{}: {}", message.speaker_or_role(), message.text())
}

/// Words of a text in lower case without accents, each with true for a stop word; in scripts without spaces, each
/// character.
pub(crate) fn words_of(text: &str) -> Vec<(String, bool)> {
    let folded = fold(text);
    let of_run = |(_, run, unspaced): (usize, &str, bool)| -> Vec<String> {
        if unspaced {
            run.chars().map(String::from).collect()
        } else {
            run.unicode_words().map(str::to_lowercase).collect()
        }
    };
    runs(&folded).flat_map(of_run).map(|word| (is_stop_word(&word), word)).map(|(is, word)| (word, is)).collect()
}

impl Analyzer {
    /// Terms of a text to index, including stop words, so that a question of only stop words finds them. Stop words do
    /// not count in the length.
    pub(crate) fn document(&self, text: &str) -> NodeTerms {
        let mut all: Vec<Box<str>> = Vec::new();
        let mut length = 0;
        self.each_term(text, Purpose::Index, &mut |term| {
            length += u32::from(!term.is_stop_word);
            all.push(term.text.into());
        });
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

    /// Distinct terms of a question, sorted; stop words only if there are no other terms.
    pub(crate) fn question(&self, text: &str) -> Vec<Box<str>> {
        let mut words: BTreeSet<Box<str>> = BTreeSet::new();
        let mut stop_words: BTreeSet<Box<str>> = BTreeSet::new();
        self.each_term(text, Purpose::Ask, &mut |term| {
            let kept = if term.is_stop_word { &mut stop_words } else { &mut words };
            kept.insert(term.text.into());
        });
        let terms = if words.is_empty() { stop_words } else { words };
        terms.into_iter().collect()
    }

    /// Words of a text that match `terms`, which come from [`Self::question`], in order: byte range, and index in
    /// `terms` of the longest matching term. In scripts without spaces, characters and bigrams, which may overlap.
    pub(crate) fn asked_words(&self, text: &str, terms: &[Box<str>]) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        let place_of = |term: &str| terms.binary_search_by(|asked| (**asked).cmp(term)).ok();
        for (start, run, unspaced) in runs(text) {
            if unspaced {
                for range in characters(run, Purpose::Index) {
                    let place = run.get(range.clone()).and_then(|part| place_of(&fold(part)));
                    found.extend(place.map(|place| (start + range.start..start + range.end, place)));
                }
                continue;
            }
            for (at, word) in run.unicode_word_indices() {
                let mut longest: Option<(usize, usize)> = None;
                self.each_term(word, Purpose::Index, &mut |term| {
                    longest = longest.max(place_of(&term.text).map(|place| (term.text.len(), place)));
                });
                let begin = start + at;
                found.extend(longest.map(|(_, place)| (begin..begin + word.len(), place)));
            }
        }
        found
    }

    fn each_term(&self, text: &str, purpose: Purpose, emit: &mut dyn FnMut(Term<'_>)) {
        for (_, run, unspaced) in runs(&fold(text)) {
            if unspaced {
                let parts = characters(run, purpose).filter_map(|range| run.get(range));
                parts.for_each(|part| emit(Term { text: Cow::Borrowed(part), is_stop_word: false }));
            } else {
                self.spaced(run, emit);
            }
        }
    }

    /// Emits words, and compounds of words joined by single signs.
    fn spaced(&self, text: &str, emit: &mut dyn FnMut(Term<'_>)) {
        let mut words = text.unicode_word_indices().peekable();
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
        if is_grouped_number(word) {
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

    fn emit_word(&self, word: &str, emit: &mut dyn FnMut(Term<'_>)) {
        let lower = word.to_lowercase();
        let is_stop_word = is_stop_word(&lower);
        let stemmed = if is_stop_word || lower.len() > MAX_TERM_BYTES || lower.contains(char::is_numeric) {
            Cow::Borrowed(lower.as_str())
        } else {
            self.stem(&lower)
        };
        let text = cut(&stemmed);
        if !text.is_empty() {
            emit(Term { text: Cow::Borrowed(text), is_stop_word });
        }
    }

    fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        #[cfg(test)]
        self.longest_stemmed.fetch_max(word.len(), std::sync::atomic::Ordering::Relaxed);
        self.stemmer.stem(word)
    }
}

fn emit_whole(text: &str, emit: &mut dyn FnMut(Term<'_>)) {
    let lower = text.to_lowercase();
    emit(Term { text: Cow::Borrowed(cut(&lower)), is_stop_word: false });
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

/// Normalizes `text` for the index: compatibility forms (full-width letters, ligatures) become plain, accents and soft
/// hyphens are removed, typographic apostrophes and hyphens become ASCII. Keeps letter case, which separates the parts
/// of an identifier.
fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = text.nfkd().filter(|&c| !is_dropped(c)).map(|c| match c {
        '\u{2018}' | '\u{2019}' | '\u{02BC}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        other => other,
    });
    Cow::Owned(plain.nfc().collect())
}

/// Combining diacritical marks and the soft hyphen. Marks of other scripts are letters in their own right.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{00AD}')
}

/// True if `c` belongs to a script without spaces between words, or one that attaches particles to words, such as
/// Hangul.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}'       // Thai, Lao
        | '\u{1000}'..='\u{109F}'     // Myanmar
        | '\u{1780}'..='\u{17FF}'     // Khmer
        | '\u{3005}'..='\u{3007}'     // iteration mark, zero
        | '\u{3041}'..='\u{30FA}'     // Hiragana, Katakana
        | '\u{30FC}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'     // Han
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}'
        | '\u{AC00}'..='\u{D7AF}'     // Hangul syllables
    )
}

/// English stop words of the Snowball project (<https://snowballstem.org/algorithms/english/stop.txt>, BSD), which are
/// only function words: longer lists in circulation also contain words such as `computer` or `april`.
const ENGLISH: &str = "
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves what which who whom this that these those
am is are was were be been being have has had having do does did doing would should could ought
i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
won't wouldn't shan't shouldn't can't cannot couldn't mustn't let's that's who's what's here's there's when's
where's why's how's
a an the and but if or because as until while of at by for with about against between into through during
before after above below to from up down in out on off over under again further then once here there when
where why how all any both each few more most other some such no nor not only own same so than too very
";

/// True if `word`, in lower case, is a stop word.
fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| ENGLISH.split_whitespace().collect());
    WORDS.contains(word)
}

#[cfg(test)]
mod tests;
