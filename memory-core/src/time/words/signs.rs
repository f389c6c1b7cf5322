//! Signs of a time in a text, found without parsing it: most texts name none.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::LazyLock,
};

use super::{
    lexicon::{Entry, LEXICONS, Lexicon, Sense, Trait},
    text::{fold, is_letter, is_mark, push_folded},
};

/// Languages, one bit each in the order of [`LEXICONS`].
pub(super) type Languages = u16;

/// Least digits of a text that may be a year.
const YEAR_DIGITS: usize = 4;
/// Most letters of a word in ASCII, and most bytes in which words are joined; longer ones are no words.
const LONGEST: usize = 32;
/// The first letter of the scripts that are read letter by letter; digits of full width follow it, too.
const FIRST_GLUED: char = '\u{2e80}';

/// Meanings of a word, by language.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Languages by whose frequent words or words of time the text is known.
    pub(super) known: Languages,
    /// Languages in which it is a part of a phrase.
    pub(super) part: Languages,
    /// Languages in which it ends words without which nothing is a time.
    pub(super) anchor: Languages,
}

/// Meanings of the words of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    /// True for a word that is a whole time.
    has_named: bool,
    /// True for a month, a day of the week or a number that may be a year.
    has_date: bool,
    /// True for a word that is a month if it has a capital.
    has_capital_date: bool,
    /// Languages of units and the like.
    nouns: Languages,
    weekdays: Languages,
    /// Languages of "last", "ago" and the like.
    modifiers: Languages,
    /// Languages of "ago" where it only counts behind a unit, without a space between them.
    agos: Languages,
}

impl Signs {
    /// The signs in a text, perhaps with some that are none.
    pub(super) fn of(text: &str) -> Self {
        let table = &*TABLE;
        let (mut signs, mut buffer) = (Self::default(), String::new());
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let (word, behind) = rest.split_at(length);
            let next = behind.chars().next().filter(|c| !c.is_ascii());
            if next.is_some_and(|c| !is_of_no_language(c) && is_letter(c)) {
                rest = table.read_written(rest, &mut buffer, &mut signs);
                continue;
            }
            if length > 0 {
                table.read_ascii(word.as_bytes(), first.is_ascii_uppercase(), &mut signs);
            }
            // Most words are followed by one space.
            let skipped = behind.chars().next().map_or(0, char::len_utf8);
            rest = behind.get(skipped..).unwrap_or_default();
        }
        signs
    }

    /// False if no time is named.
    pub(super) const fn may_name(self) -> bool {
        self.has_named || self.has_date || self.nouns & self.modifiers != 0
    }

    /// False if no word gets a date in a summary.
    pub(super) const fn may_be_dated(self) -> bool {
        self.has_named || (self.nouns | self.weekdays) & self.modifiers != 0
    }

    /// Adds the signs of a word.
    fn add(&mut self, other: Self, is_capital: bool) {
        self.has_named |= other.has_named;
        self.has_date |= other.has_date || (is_capital && other.has_capital_date);
        self.nouns |= other.nouns;
        self.weekdays |= other.weekdays;
        self.modifiers |= other.modifiers;
    }

    /// Adds another meaning of the same word.
    fn merge(&mut self, other: Self) {
        self.add(other, false);
        self.has_capital_date |= other.has_capital_date;
        self.agos |= other.agos;
    }

    /// The sign of a word of a language.
    fn of_entry(entry: &Entry, language: Languages) -> Option<Self> {
        let none = Self::default();
        Some(match entry.sense {
            Sense::Named(_) => Self { has_named: true, ..none },
            Sense::Month(_) if entry.needs_capital => Self { has_capital_date: true, ..none },
            Sense::Month(_) | Sense::MonthWord => Self { has_date: true, ..none },
            Sense::Weekday(_) => Self { has_date: true, weekdays: language, ..none },
            Sense::Unit { .. } | Sense::Units { .. } | Sense::Weekend => Self { nouns: language, ..none },
            Sense::Last(_)
            | Sense::LastBehind(_)
            | Sense::This
            | Sense::Next
            | Sense::NextBehind
            | Sense::Past
            | Sense::PastCount
            | Sense::PastWithin
            | Sense::AgoFirst
            | Sense::Ago => Self { modifiers: language, ..none },
            _ => return None,
        })
    }
}

/// Letters behind the first two of a word, and what it is.
type Glued = (Box<str>, Signs);

/// Words of all languages by their letters.
#[derive(Debug, Default)]
struct Table {
    marks: HashMap<Box<str>, Marks, BuildHasherDefault<Fnv>>,
    signs: HashMap<Box<[u8]>, Signs, BuildHasherDefault<Fnv>>,
    /// Beginnings of words that may have endings, by [`start`].
    starts: Vec<Vec<(Box<[u8]>, Signs)>>,
    /// Words that follow each other without spaces, by the first two letters, those of units by the last two. A word of
    /// one letter has `\0` before it. With the letters that follow.
    glued: HashMap<(char, char), Vec<Glued>, BuildHasherDefault<Fnv>>,
    /// One bit for each key of `glued`, by [`glued_bit`].
    glued_bits: Vec<u64>,
    loose: Languages,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        starts: std::iter::repeat_with(Vec::new).take(STARTS).collect(),
        glued_bits: vec![0; GLUED_BITS / 64],
        ..Table::default()
    };
    for (number, lexicon) in LEXICONS.iter().enumerate() {
        table.add(lexicon, 1 << number);
    }
    let mut written: HashMap<char, Vec<char>> = HashMap::new();
    for c in table.glued.keys().flat_map(|(one, two)| [*one, *two]) {
        written.entry(c).or_insert_with(|| vec![c]);
    }
    for c in FIRST_GLUED..='\u{9fff}' {
        if fold(c) != c
            && let Some(forms) = written.get_mut(&fold(c))
        {
            forms.push(c);
        }
    }
    let forms = |c: &char| written.get(c).cloned().unwrap_or_default();
    for (one, two) in table.glued.keys() {
        for one in forms(one) {
            for two in forms(two) {
                let (place, bit) = glued_bit(one, two);
                if let Some(bits) = table.glued_bits.get_mut(place) {
                    *bits |= bit;
                }
            }
        }
    }
    table
});

/// Meanings of a folded word, with or without its apostrophe.
pub(super) fn marks(word: &str) -> Marks {
    let marks = TABLE.marks.get(word).copied().unwrap_or_default();
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        let anchor = if word.len() >= YEAR_DIGITS { Languages::MAX } else { marks.anchor };
        return Marks { part: Languages::MAX, anchor, ..marks };
    }
    match word.strip_suffix('\'').and_then(|bare| TABLE.marks.get(bare)) {
        Some(bare) => Marks { part: marks.part | bare.part, anchor: marks.anchor | bare.anchor, ..marks },
        None => marks,
    }
}

/// Languages whose words may have endings or follow each other without spaces, which [`marks`] does not know then.
pub(super) fn loose() -> Languages {
    TABLE.loose
}

impl Table {
    fn add(&mut self, lexicon: &Lexicon, language: Languages) {
        for word in lexicon.known() {
            self.mark(word).known |= language;
        }
        for word in lexicon.endings.iter().flat_map(|ending| ending.split(' ')) {
            self.mark(word).part |= language;
        }
        let (is_glued, is_ended) =
            (lexicon.has(Trait::Glued), lexicon.endings.iter().any(|end| !end.starts_with('\'')));
        self.loose |= if is_glued || is_ended { language } else { 0 };
        for entry in lexicon.all() {
            for word in entry.phrase.split(' ') {
                self.mark(word).part |= language;
            }
            let sign = Signs::of_entry(entry, language);
            let is_anchor = entry.sense == Sense::Decoy || sign.is_some_and(|sign| sign.modifiers == 0);
            let last = entry.phrase.rsplit(' ').next().unwrap_or_default();
            if is_anchor {
                self.mark(last).anchor |= language;
            }
            if is_ended {
                // Another word may be joined to it like an ending.
                self.add_start(last.trim_end_matches('\''), Signs::default());
            }
            let longest = entry.phrase.split([' ', '\'']).max_by_key(|word| word.len());
            let (Some(sign), Some(word)) = (sign, longest) else { continue };
            if is_glued {
                let agos = if entry.sense == Sense::Ago { sign.modifiers } else { 0 };
                let mut letters = word.chars();
                let (mut one, mut two) = (letters.next().unwrap_or_default(), letters.next().unwrap_or_default());
                if sign.nouns != 0 {
                    let mut last = entry.phrase.chars().rev();
                    (two, one) = (last.next().unwrap_or_default(), last.next().unwrap_or_default());
                }
                let key = if two == '\0' { (two, one) } else { (one, two) };
                let sign = Signs { modifiers: sign.modifiers & !agos, agos, ..sign };
                let behind = if sign.nouns == 0 { letters.as_str() } else { "" };
                self.glued.entry(key).or_default().push((behind.into(), sign));
            } else if is_ended {
                self.add_start(word, sign);
            } else {
                self.signs.entry(word.as_bytes().into()).or_default().merge(sign);
            }
        }
    }

    fn add_start(&mut self, word: &str, sign: Signs) {
        if let Some(starts) = self.starts.get_mut(start(word.as_bytes())) {
            starts.push((word.as_bytes().into(), sign));
        }
    }

    fn mark(&mut self, word: &str) -> &mut Marks {
        self.marks.entry(word.into()).or_default()
    }

    /// Reads a word in ASCII.
    fn read_ascii(&self, word: &[u8], is_capital: bool, signs: &mut Signs) {
        let mut lower = [0; LONGEST];
        let length = word.len().min(LONGEST);
        for (to, from) in lower.iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        self.read_folded(lower.get(..length).unwrap_or_default(), is_capital, signs);
        if word.len() > LONGEST {
            signs.has_date |= has_year(word);
        }
    }

    /// Reads a folded word.
    fn read_folded(&self, word: &[u8], is_capital: bool, signs: &mut Signs) {
        if let Some(sign) = self.signs.get(word) {
            signs.add(*sign, is_capital);
        }
        self.read_starts(word, signs);
        signs.has_date |= word.len() >= YEAR_DIGITS && has_year(word);
    }

    /// Reads the words that a folded word begins with, and those joined to them.
    fn read_starts(&self, word: &[u8], signs: &mut Signs) {
        // One bit for each place at which a word may begin.
        let mut begins: u32 = 1;
        for at in 0..word.len().min(LONGEST) {
            if begins >> at & 1 == 0 {
                continue;
            }
            let rest = word.get(at..).unwrap_or_default();
            for (begin, sign) in self.starts.get(start(rest)).into_iter().flatten() {
                if rest.starts_with(begin) {
                    signs.add(*sign, true);
                    begins |=
                        1_u32.checked_shl(u32::try_from(at + begin.len()).unwrap_or(u32::MAX)).unwrap_or_default();
                }
            }
        }
    }

    /// Reads a word with letters other than ASCII at the beginning of a text, and gives the text behind it.
    fn read_written<'a>(&self, text: &'a str, buffer: &mut String, signs: &mut Signs) -> &'a str {
        buffer.clear();
        let (mut previous, mut is_glued) = ('\0', false);
        // Languages of the units that end with the letter before, and with the one before that; any at the beginning.
        let (mut behind_one, mut behind_two) = (Languages::MAX, Languages::MAX);
        let mut end = text.len();
        for (at, c) in text.char_indices() {
            if is_of_no_language(c) || !is_letter(c) {
                end = at;
                break;
            }
            if c < FIRST_GLUED {
                // Letters of Korean in parts are put together before they are compared.
                let is_part = ('\u{1100}'..='\u{11ff}').contains(&c);
                signs.has_date |= is_part;
                signs.has_named |= is_part;
                push_folded(c, buffer);
                continue;
            }
            is_glued = true;
            signs.has_date |= ('\u{ff10}'..='\u{ff19}').contains(&c);
            let mut units = 0;
            for (before, behind) in [('\0', behind_one), (previous, behind_two)] {
                let (place, bit) = glued_bit(before, c);
                if self.glued_bits.get(place).is_some_and(|bits| bits & bit != 0)
                    && let Some(words) = self.glued.get(&(fold(before), fold(c)))
                {
                    let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
                    for (_, sign) in words.iter().filter(|(letters, _)| begins(rest, letters)) {
                        signs.add(*sign, true);
                        signs.modifiers |= sign.agos & behind;
                        units |= sign.nouns;
                    }
                }
            }
            (behind_one, behind_two) = (units, behind_one);
            previous = c;
        }
        if is_glued {
            signs.has_date |= has_year(buffer.as_bytes());
        } else {
            self.read_folded(buffer.as_bytes(), text.starts_with(char::is_uppercase), signs);
        }
        text.get(end..).unwrap_or_default()
    }
}

/// True if a text begins with folded letters.
fn begins(text: &str, letters: &str) -> bool {
    let mut written = text.chars().filter(|c| !is_mark(*c)).map(fold);
    letters.chars().all(|letter| written.next() == Some(letter))
}

/// True if a word has as many digits in a row as a year.
fn has_year(word: &[u8]) -> bool {
    word.windows(YEAR_DIGITS).any(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Number of lists of beginnings.
const STARTS: usize = 1 << 10;

/// The list of the beginnings with these two first bytes.
fn start(word: &[u8]) -> usize {
    match word {
        [first, second, ..] => (usize::from(*first) * 33 + usize::from(*second)) % STARTS,
        _ => 0,
    }
}

/// Number of bits of [`Table::glued_bits`].
const GLUED_BITS: usize = 1 << 16;

/// The place of two letters in [`Table::glued_bits`].
const fn glued_bit(one: char, two: char) -> (usize, u64) {
    let hash = (one as usize).wrapping_mul(0x9e37_79b1) ^ (two as usize);
    ((hash >> 6) % (GLUED_BITS / 64), 1 << (hash % 64))
}

/// True for a letter of a script in which no words are known, so that it separates words.
const fn is_of_no_language(c: char) -> bool {
    matches!(c, '\u{530}'..='\u{5ff}' | '\u{700}'..='\u{8ff}' | '\u{980}'..='\u{10ff}' | '\u{1200}'..='\u{1dff}')
}

/// The hash of Fowler, Noll and Vo, cheap for short words.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u32(byte.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x0100_0000_01b3);
    }

    fn write_usize(&mut self, number: usize) {
        self.0 ^= number as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_time_is_a_sign() {
        for (number, lexicon) in LEXICONS.iter().enumerate() {
            for entry in lexicon.all() {
                let Some(sign) = Signs::of_entry(entry, 1 << number) else { continue };
                let written = format!("x {} y", entry.phrase.replace("' ", "'"));
                let found = Signs::of(&if entry.needs_capital { written.to_uppercase() } else { written });
                assert!(found.has_named || !sign.has_named, "{entry:?}");
                assert!(found.has_date || !(sign.has_date || sign.has_capital_date), "{entry:?}");
                assert_eq!(found.nouns & sign.nouns, sign.nouns, "{entry:?}");
                assert_eq!(found.weekdays & sign.weekdays, sign.weekdays, "{entry:?}");
                assert_eq!(found.modifiers & sign.modifiers, sign.modifiers, "{entry:?}");
            }
        }
    }

    #[test]
    fn a_text_without_words_of_time_has_no_sign() {
        let check = |text: &str, expected: [bool; 2]| {
            let signs = Signs::of(text);
            assert_eq!([signs.may_name(), signs.may_be_dated()], expected, "{text}");
        };
        check("You may call me when the 12 pots and 300 pans are in the kitchen", [false; 2]);
        check("Ich koche gern, und сегодняшний суп вкусный", [false; 2]);
        check("我喜欢做饭。料理が好きです", [false; 2]);
        check("The call in 2023", [true, false]);
        check("The call of last week", [true; 2]);
        check("on MONDAY", [true, false]);
        check("in İstanbul, DÜN", [true; 2]);
        check("geçenayında", [true; 2]);
        check(&"bugünay".repeat(1_000), [true; 2]);
        check("e\u{301}te\u{301}, aujourd\u{2019}hui", [true; 2]);
        check("٢٠٢٣", [true, false]);
        check("两個月前", [true; 2]);
        check("上週", [true; 2]);
    }
}
