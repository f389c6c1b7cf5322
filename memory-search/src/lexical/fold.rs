//! Unicode folding: maps spelling variants to one form.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Normalizes `text` for the index: compatibility forms (full-width letters, ligatures) become plain, accents and soft
/// hyphens are removed, typographic apostrophes and hyphens become ASCII. Keeps letter case, which separates the parts
/// of an identifier.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
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
pub(crate) fn is_unspaced(c: char) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_text_become_one() {
        let check = |text: &str, expected: &str| assert_eq!(fold(text), expected, "{text}");
        check("plain", "plain");
        check("Café", "Cafe");
        check("Cafe\u{301}", "Cafe");
        check("it\u{2019}s", "it's");
        check("ＱＸ－4471", "QX-4471");
        check("co\u{AD}operate", "cooperate");
        check("か\u{3099}くせい", "がくせい");
        check("ｶﾞ", "ガ");
        check("한국", "한국");
    }
}
