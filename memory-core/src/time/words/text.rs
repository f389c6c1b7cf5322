//! Folded letters of a text, with their places in it.

use unicode_normalization::char::compose;

use super::{
    parse::numeric_date,
    signs::{Languages, loose, marks},
};

/// Signs that make a number next to them a quantity.
const OF_QUANTITY: &str = "€£¥$§%#°";

/// A text in lower case without vowel marks, its words separated by single spaces, in which an apostrophe ends a word.
#[derive(Debug, Default)]
pub(super) struct Text {
    folded: String,
    /// Places in the original of each byte of `folded`.
    places: Vec<(usize, usize)>,
    words: Vec<Word>,
    scripts: u8,
    /// Number of its words that each language has.
    known: [usize; Languages::BITS as usize],
}

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Place of its first byte in the folded text.
    at: usize,
    is_capital: bool,
    /// True if other letters or a sign of quantity precede it without a space.
    is_joined: bool,
    /// True if other letters or a sign of quantity follow it without a space.
    joins: bool,
    /// True if a mark that ends a part of a sentence follows it.
    stops: bool,
    /// Languages in which it may begin a time.
    begins: Languages,
}

/// A script, or several that one language uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Han,
    Kana,
    Hangul,
}

impl Script {
    fn of(c: char) -> Option<Self> {
        Some(match c {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => Self::Latin,
            '\u{400}'..='\u{4ff}' => Self::Cyrillic,
            '\u{600}'..='\u{6ff}' => Self::Arabic,
            '\u{900}'..='\u{97f}' => Self::Devanagari,
            '\u{3040}'..='\u{30ff}' => Self::Kana,
            '\u{3400}'..='\u{9fff}' => Self::Han,
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}' => Self::Hangul,
            _ => return None,
        })
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Text {
    pub(super) fn of(text: &str) -> Self {
        let mut folded = Self::default();
        let mut at = 0;
        for written in text.split_inclusive(char::is_whitespace) {
            folded.push_written(written.trim_end(), at);
            at += written.len();
        }
        folded.mark();
        folded
    }

    /// Finds out which words each language has, and from which ones a row of its words leads to one of time.
    fn mark(&mut self) {
        let (always, mut behind, mut last) = (loose(), 0, None);
        for word in self.words.iter_mut().rev() {
            let rest = self.folded.get(word.at..).unwrap_or_default();
            let marks = marks(rest.split(' ').next().unwrap_or_default());
            behind = marks.part & (marks.anchor | behind);
            word.begins = behind | always;
            // A word of dropped letters has the place of the next.
            if marks.known == 0 || last.replace(word.at) == Some(word.at) {
                continue;
            }
            for (language, known) in self.known.iter_mut().enumerate() {
                *known += usize::from(marks.known >> language & 1);
            }
        }
    }

    /// Appends the words between two spaces. Dates in numbers stay whole.
    fn push_written(&mut self, written: &str, begin: usize) {
        let is_date = numeric_date(written.trim_matches(|c: char| !is_letter(c))).is_some();
        let mut is_open = false;
        for (at, c) in written.char_indices() {
            let end = at + c.len_utf8();
            let place = (begin + at, begin + end);
            let goes_on = || written.get(end..).is_some_and(|rest| rest.starts_with(is_letter));
            if is_letter(c) {
                if !is_open {
                    self.open(c, written.get(..at).unwrap_or_default(), place);
                }
                is_open = true;
                self.push(c, place);
            } else if is_open && is_date && goes_on() {
                self.push(c, place);
            } else if is_open && is_apostrophe(c) && goes_on() {
                self.push('\'', place);
                is_open = false;
            } else {
                if is_open && let Some(word) = self.words.last_mut() {
                    word.stops = ".,;:!?)…。，、；：！？؟،।".contains(c);
                    word.joins =
                        OF_QUANTITY.contains(c) || written.get(at..).is_some_and(|rest| rest.contains(is_letter));
                }
                is_open = false;
            }
        }
    }

    fn open(&mut self, first: char, before: &str, place: (usize, usize)) {
        if !self.folded.is_empty() {
            self.folded.push(' ');
            self.places.push((place.0, place.0));
        }
        let is_joined = before.ends_with(|c| OF_QUANTITY.contains(c))
            || (before.contains(is_letter) && !before.ends_with(is_apostrophe));
        self.words.push(Word { at: self.folded.len(), is_capital: first.is_uppercase(), is_joined, ..Word::default() });
    }

    fn push(&mut self, c: char, place: (usize, usize)) {
        self.scripts |= Script::of(c).map_or(0, Script::bit);
        let first = push_folded(c, &mut self.folded);
        // A mark is a part of the letter before it.
        let begin = self.places.get(first).map_or(place.0, |(begin, _)| *begin);
        self.places.truncate(first);
        if first == self.folded.len()
            && let Some((_, end)) = self.places.last_mut()
        {
            *end = place.1;
        }
        self.places.resize(self.folded.len(), (begin, place.1));
    }

    pub(super) fn len(&self) -> usize {
        self.folded.len()
    }

    pub(super) fn has(&self, script: Script) -> bool {
        self.scripts & script.bit() != 0
    }

    /// The text from a place on; empty if none begins there.
    pub(super) fn rest(&self, at: usize) -> &str {
        self.folded.get(at..).unwrap_or_default()
    }

    /// The text before a place.
    pub(super) fn before(&self, at: usize) -> &str {
        self.folded.get(..at).unwrap_or_default()
    }

    /// Number of its words that a language has.
    pub(super) fn known_in(&self, language: usize) -> usize {
        self.known.get(language).copied().unwrap_or_default()
    }

    fn word(&self, at: usize) -> Option<&Word> {
        let place = self.words.binary_search_by_key(&at, |word| word.at).ok()?;
        self.words.get(place)
    }

    /// Languages in which a time may begin with the word at a place.
    pub(super) fn begins(&self, at: usize) -> Languages {
        self.word(at).map_or(0, |word| word.begins)
    }

    /// The place of the first word behind a place; the end if there is none.
    pub(super) fn word_behind(&self, at: usize) -> usize {
        let place = self.words.partition_point(|word| word.at <= at);
        self.words.get(place).map_or(self.len(), |word| word.at)
    }

    pub(super) fn begins_word(&self, at: usize) -> bool {
        self.word(at).is_some()
    }

    pub(super) fn is_capital(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.is_capital)
    }

    pub(super) fn is_joined(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.is_joined)
    }

    pub(super) fn stops(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.stops)
    }

    pub(super) fn joins(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.joins)
    }

    /// The folded place of the letter that begins at `begin` in the original.
    pub(super) fn place_of(&self, begin: usize) -> Option<usize> {
        let place = self.places.partition_point(|(first, end)| *first < begin || (*first == begin && end == first));
        self.places.get(place).filter(|(first, _)| *first == begin).map(|_| place)
    }

    /// The end in the original of the letter before a folded place.
    pub(super) fn end_of(&self, at: usize) -> Option<usize> {
        self.places.get(at.checked_sub(1)?).map(|(_, end)| *end)
    }
}

/// The folded letters of words of a table, in which `-` stands for a space.
pub(super) fn folded(words: &str) -> String {
    let mut text = String::new();
    for c in words.chars() {
        push_folded(if c == '-' { ' ' } else { c }, &mut text);
        if is_apostrophe(c) {
            text.push(' ');
        }
    }
    text.trim_end().to_owned()
}

/// Appends the folded form of a letter, or joins a mark to the letter before it. Gives the place of what is new.
pub(super) fn push_folded(c: char, folded: &mut String) -> usize {
    let end = folded.len();
    match c {
        // Without the tables of Unicode.
        'a'..='z' | '0'..='9' | 'à'..='ö' | 'а'..='я' => folded.push(c),
        'A'..='Z' => folded.push(c.to_ascii_lowercase()),
        '\u{621}'..='\u{63a}' | '\u{641}'..='\u{64a}' | '\u{904}'..='\u{939}' | '\u{3041}'..='\u{9fff}' => {
            folded.push(fold(c));
        }
        '\u{ac00}'..='\u{d7a3}' => folded.push(c),
        _ => {
            let joined = || folded.chars().next_back().and_then(|last| compose(last, c));
            if is_joining(c)
                && let Some(both) = joined()
            {
                folded.pop();
                let first = folded.len();
                folded.push(fold(both));
                return first;
            }
            if !is_dropped(c) {
                folded.extend(c.to_lowercase().filter(|lower| !is_dropped(*lower)).map(fold));
            }
        }
    }
    end
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// True for a letter, a digit and their marks.
pub(super) fn is_letter(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => c.is_ascii_alphanumeric(),
        // Without the tables of Unicode.
        'à'..='ö' | 'а'..='я' | '\u{621}'..='\u{64a}' | '\u{904}'..='\u{94d}' => true,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{2010}'..='\u{2027}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}' => false,
        _ => c.is_alphanumeric() || is_joining(c) || is_dropped(c),
    }
}

/// True for what is no letter by itself.
pub(super) fn is_mark(c: char) -> bool {
    is_joining(c) || is_dropped(c)
}

/// True for a mark that makes one letter with the letter before it.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1161}'..='\u{11c2}')
}

/// True for vowel marks of Arabic, the nukta, and what only shapes letters.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{93c}' | '\u{200c}'..='\u{200d}')
}

/// One form for letters that are written in several, and the digits of `0` to `9`.
pub(super) fn fold(c: char) -> char {
    let digit = |zero: char| char::from_digit(u32::from(c).wrapping_sub(u32::from(zero)), 10).unwrap_or(c);
    match c {
        '\u{2019}' => '\'',
        '\u{660}'..='\u{669}' => digit('\u{660}'),
        '\u{6f0}'..='\u{6f9}' => digit('\u{6f0}'),
        '\u{966}'..='\u{96f}' => digit('\u{966}'),
        '\u{ff10}'..='\u{ff19}' => digit('\u{ff10}'),
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' => 'ي',
        'ة' => 'ه',
        '\u{958}' => 'क',
        '\u{959}' => 'ख',
        '\u{95a}' => 'ग',
        '\u{95b}' => 'ज',
        '\u{95c}' => 'ड',
        '\u{95d}' => 'ढ',
        '\u{95e}' => 'फ',
        '\u{95f}' => 'य',
        'ё' => 'е',
        '週' => '周',
        '個' => '个',
        '這' => '这',
        '禮' => '礼',
        '號' => '号',
        '兩' => '两',
        '間' => '间',
        '過' => '过',
        '後' => '后',
        '來' => '来',
        '從' => '从',
        '幾' => '几',
        '數' => '数',
        '鐘' | '鍾' => '钟',
        '時' => '时',
        '開' => '开',
        '馬' => '马',
        '圍' => '围',
        '邊' => '边',
        '輕' => '轻',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_unicode_and_their_marks() {
        for c in '\0'..=char::MAX {
            let expected = c.is_alphanumeric() || is_joining(c) || is_dropped(c) || c == '\u{94d}';
            assert_eq!(is_letter(c), expected, "{c:?}");
        }
    }

    #[test]
    fn forms_of_a_letter_are_one_and_keep_their_places() {
        let check = |text: &str, expected: &str| assert_eq!(Text::of(text).folded, expected, "{text}");
        check(" Yesterday’s  call, 'now'", "yesterday' s call now");
        check("l'anne\u{301}e (2023-05-07).", "l' année 2023-05-07");
        check("İki gün ٣ ३ ３", "iki gün 3 3 3");
        check("أَمْس फ़रवरी \u{95e}रवरी", "امس फरवरी फरवरी");
        check("2023年5月 週末", "2023年5月 周末");
        let text = Text::of("le jour, e\u{301}te\u{301} fini");
        let place = text.place_of(9).unwrap();
        assert!(text.rest(place).starts_with("été"));
        assert_eq!(text.end_of(place + "été".len()), Some(9 + 7));
        assert_eq!(folded("avant-hier"), "avant hier");
        assert_eq!(folded("aujourd'hui"), "aujourd' hui");
        assert_eq!(folded("l'"), "l'");
    }
}
