//! Normal forms of text and of terms.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Normalizes a text before it is split: compatibility forms (full-width letters, ligatures) become plain, soft hyphens
/// and joiners are removed, typographic apostrophes and hyphens become ASCII, digits of any script become ASCII. Keeps
/// accents, which stemmers need, and letter case, which separates the parts of an identifier.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_dropped = |c: char| matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{0640}');
    let simple = text.nfkc().filter(|c| !is_dropped(*c)).map(|c| match c {
        '\u{2018}' | '\u{2019}' | '\u{02BC}' | '\u{05F3}' | '\u{00B4}' | '\u{FF07}' => '\'',
        '\u{2010}' | '\u{2011}' | '\u{05BE}' => '-',
        other => digit(other),
    });
    Cow::Owned(simple.collect())
}

/// Normalizes a word to its term: without accents and vowel marks, letters of one sound as one letter.
pub(crate) fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut folded = String::with_capacity(word.len());
    for c in word.nfkd().filter(|c| !is_mark(*c)) {
        match c {
            'ß' | 'ẞ' => folded.push_str("ss"),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            'þ' | 'Þ' => folded.push_str("th"),
            '\u{2018}' | '\u{2019}' | '\u{02BC}' => folded.push('\''),
            '\u{2010}' | '\u{2011}' => folded.push('-'),
            other => folded.push(letter(other)),
        }
    }
    Cow::Owned(folded.nfc().collect())
}

/// Marks that are no letters: accents, vowel points of Hebrew and Arabic, nukta, soft hyphen.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}'
        | '\u{00AD}'
        | '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}'..='\u{05C2}' | '\u{05C4}'..='\u{05C7}'
        | '\u{0640}' | '\u{064B}'..='\u{065F}' | '\u{0670}'
        | '\u{093C}' | '\u{09BC}'
    )
}

fn letter(c: char) -> char {
    match c {
        'ø' => 'o',
        'Ø' => 'O',
        'ł' => 'l',
        'Ł' => 'L',
        'đ' | 'ð' => 'd',
        'Đ' | 'Ð' => 'D',
        'ı' => 'i',
        // Forms of alef, ya, kaf and ta marbuta that are written for one another.
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ی' | 'ئ' => 'ي',
        'ؤ' => 'و',
        'ک' => 'ك',
        'ة' => 'ه',
        // Final forms.
        'ך' => 'כ',
        'ם' => 'מ',
        'ן' => 'נ',
        'ף' => 'פ',
        'ץ' => 'צ',
        // Candrabindu and anusvara.
        '\u{0901}' => '\u{0902}',
        'ς' => 'σ',
        other => digit(other),
    }
}

/// The ASCII digit of a decimal digit of Arabic or an Indic or Thai script; other characters as they are.
fn digit(c: char) -> char {
    const ZEROS: [u32; 15] = [
        0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0x0ED0, 0x0F20,
        0x1040,
    ];
    let code = u32::from(c);
    let of = |zero: &u32| code.checked_sub(*zero).filter(|value| *value < 10).and_then(|v| char::from_digit(v, 10));
    if code < 0x0660 { c } else { ZEROS.iter().find_map(of).unwrap_or(c) }
}

/// True if `c` belongs to a script without spaces between words, or one that attaches particles to words, such as
/// Hangul.
pub(super) fn is_unspaced(c: char) -> bool {
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

/// True if `c` begins a pictograph.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}' | '\u{1F300}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2B50}' | '\u{2B55}')
}

/// A pictograph without its variant and skin tone.
pub(super) fn bare_emoji(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}')).collect()
}
