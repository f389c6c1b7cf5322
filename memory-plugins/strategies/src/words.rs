//! Splits text into words with a normalized key.

mod ascii;

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasherDefault,
};

/// A word with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its byte offset.
    pub at: usize,
    /// Its normalized key, the same for "Decision", "decisions" and "decision's".
    pub key: u64,
    /// Its form.
    pub form: Form,
}

/// The written form of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Any other word.
    Plain,
    /// A character bigram of a script without spaces, or a single character.
    Unspaced,
    /// A path, a `snake_case` or `camelCase` name.
    Identifier,
    /// A capitalized word.
    Capital,
    /// A word with a digit: a figure, a date, a version, a ticket.
    Figure,
}

/// The words of `text`, in order.
///
/// Scripts without spaces yield character bigrams, which work nearly as well as words and need no dictionary.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0, paired: false }
}

#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    text: &'a str,
    at: usize,
    /// True if the character at `at` was the second of the previous bigram.
    paired: bool,
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            let rest = self.text.get(self.at..)?;
            let gap = ascii::gap(rest.as_bytes());
            self.at += gap;
            let rest = rest.get(gap..)?;
            if let Some(ascii::Found { length, key, form }) = ascii::word(rest.as_bytes()) {
                let at = self.at;
                self.at += length;
                return Some(Word { text: rest.get(..length)?, at, key, form });
            }
            let mut chars = rest.chars();
            let first = chars.next()?;
            if is_unspaced(first) {
                let at = self.at;
                self.at += first.len_utf8();
                let second = chars.next().filter(|&c| is_unspaced(c));
                let covered = std::mem::replace(&mut self.paired, second.is_some());
                if second.is_none() && covered {
                    continue;
                }
                let end = self.at + second.map_or(0, char::len_utf8);
                let text = self.text.get(at..end)?;
                return Some(Word { text, at, key: raw_key(text), form: Form::Unspaced });
            }
            if !is_word_char(first) {
                self.at += first.len_utf8();
                continue;
            }
            let (length, shape) = measure(rest);
            let at = self.at;
            self.at += length.max(first.len_utf8());
            let text = self.text.get(at..self.at)?;
            return Some(Word { text, at, key: key(text), form: shape.form(first) });
        }
    }
}

/// Characteristics of a scanned word.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    digit: bool,
    inner_capital: bool,
    lower: bool,
    joint: bool,
}

impl Shape {
    fn form(self, first: char) -> Form {
        if self.digit {
            Form::Figure
        } else if self.joint || (self.inner_capital && self.lower) {
            Form::Identifier
        } else if first.is_uppercase() {
            Form::Capital
        } else {
            Form::Plain
        }
    }
}

/// The length in bytes and the shape of the word at the beginning of `rest`.
fn measure(rest: &str) -> (usize, Shape) {
    let mut shape = Shape::default();
    let mut end = 0;
    let mut chars = rest.char_indices().peekable();
    let mut before = '\0';
    while let Some((at, c)) = chars.next() {
        let within = if is_unspaced(c) {
            false
        } else if is_word_char(c) {
            true
        } else {
            // Marks that are part of a word only between two of its characters.
            let after = chars.peek().map_or('\0', |&(_, c)| c);
            match c {
                '\'' | '’' | '-' => is_word_char(after),
                '.' | '/' | '@' | '\\' => {
                    let inside = is_word_char(after) && is_word_char(before);
                    shape.joint |= inside && !(after.is_numeric() && before.is_numeric());
                    inside
                }
                ',' | ':' => before.is_numeric() && after.is_numeric(),
                '%' => before.is_numeric(),
                _ => false,
            }
        };
        if !within {
            break;
        }
        shape.digit |= c.is_numeric();
        shape.lower |= c.is_lowercase();
        shape.inner_capital |= at > 0 && c.is_uppercase();
        shape.joint |= c == '_';
        before = c;
        end = at + c.len_utf8();
    }
    (end, shape)
}

/// Keys of the words of a text, in order.
pub(crate) fn keys(text: &str) -> Vec<u64> {
    words(text).map(|word| word.key).collect()
}

/// Letters, digits, `_`, and combining or joining marks.
pub(crate) fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let joins = matches!(c,
        '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}'
        | '\u{200c}' | '\u{200d}');
    joins || c.is_alphanumeric()
}

/// True if `c` belongs to a script without spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3ffff}')
}

/// The key of a word, without case, possessive and plural s.
pub(crate) fn key(word: &str) -> u64 {
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    let stem = if ascii::ends_in_plural(word.as_bytes()) { word.get(..word.len() - 1) } else { None };
    raw_key(stem.unwrap_or(word))
}

/// FNV-1a over the lower-case form: collisions within a text are very unlikely with 64 bits, and nothing is allocated.
fn raw_key(word: &str) -> u64 {
    if word.is_ascii() {
        return word.bytes().fold(NO_KEY, |key, byte| extended(key, u32::from(byte.to_ascii_lowercase())));
    }
    word.chars().flat_map(char::to_lowercase).fold(NO_KEY, |key, c| extended(key, c as u32))
}

/// The key of an empty word.
const NO_KEY: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends a key by one lower-case character.
const fn extended(key: u64, c: u32) -> u64 {
    (key ^ c as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Combines the keys of two words into that of a phrase.
pub(crate) fn phrase_key(first: u64, second: u64) -> u64 {
    first.rotate_left(21) ^ second.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hasher for keys, which are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl std::hash::Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

pub(crate) type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;

pub(crate) type KeySet = HashSet<u64, BuildHasherDefault<KeyHasher>>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text).map(|word| word.text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn figures_dates_versions_paths_and_addresses_stay_whole() {
        check("It costs 4,200.50 euros, 15% off.", &["It", "costs", "4,200.50", "euros", "15%", "off"]);
        check("at 10:30 on 2024-05-06, v1.2.3", &["at", "10:30", "on", "2024-05-06", "v1.2.3"]);
        check("see src/main.rs or a@b.org: ok", &["see", "src/main.rs", "or", "a@b.org", "ok"]);
        check("don't well-known- 'quoted'", &["don't", "well-known", "quoted"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        check("東京都へ go 本", &["東京", "京都", "都へ", "go", "本"]);
        check("กา", &["กา"]);
    }

    #[test]
    fn marks_do_not_break_words() {
        check("हिन्दी में", &["हिन्दी", "में"]);
    }

    #[test]
    fn forms_of_a_word_share_a_key() {
        assert_eq!(key("Decisions"), key("decision"));
        assert_eq!(key("Maya's"), key("maya"));
        assert_eq!(key("DOIs"), key("DOI"));
        assert_eq!(key("ÉCLAIR"), key("éclair"));
        assert_ne!(key("class"), key("clas"));
        assert_ne!(key("this"), key("thi"));
    }

    #[test]
    fn forms_are_told_apart() {
        let form = |text: &str| words(text).next().map(|word| word.form);
        assert_eq!(form("plain"), Some(Form::Plain));
        assert_eq!(form("Berlin"), Some(Form::Capital));
        assert_eq!(form("NASA"), Some(Form::Capital));
        assert_eq!(form("ABC-123"), Some(Form::Figure));
        assert_eq!(form("max_tokens"), Some(Form::Identifier));
        assert_eq!(form("initRoot"), Some(Form::Identifier));
        assert_eq!(form("漢"), Some(Form::Unspaced));
    }

    /// Reference implementation: the words by the rules for every script, one character at a time.
    fn by_characters(text: &str) -> Vec<(usize, &str, u64, Form)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let (length, shape) = if is_word_char(first) { measure(&text[at..]) } else { (0, Shape::default()) };
            if length > 0 {
                let word = &text[at..at + length];
                found.push((at, word, key(word), shape.form(first)));
            }
            at += length.max(first.len_utf8());
        }
        found
    }

    proptest! {
        #[test]
        fn words_of_ascii_are_those_found_by_characters(
            text in prop_oneof!["[ -~\n]{0,60}", "([a-cS.s'0-9%,:/_@ -]|é|’){0,40}", "([A-Za-z0-9]{1,4}[s'., %-]{0,2}){0,12}"],
        ) {
            let fast: Vec<_> = words(&text).map(|word| (word.at, word.text, word.key, word.form)).collect();
            prop_assert_eq!(fast, by_characters(&text));
        }

        #[test]
        fn words_are_slices_in_order_without_blanks(text in "\\PC{0,60}") {
            let mut last = 0;
            for word in words(&text) {
                prop_assert_eq!(text.get(word.at..word.at + word.text.len()), Some(word.text));
                prop_assert!(word.at >= last);
                prop_assert!(!word.text.is_empty() && !word.text.contains(char::is_whitespace));
                last = word.at;
            }
        }
    }
}
