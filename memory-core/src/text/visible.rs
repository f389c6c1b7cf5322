//! Text for display to a person: characters that would steer a terminal, or are invisible, are escaped.

use std::{borrow::Cow, fmt::Write as _, iter};

/// `text` for a place where a line break ends the field: line breaks and tabs are escaped as well.
///
/// ```
/// assert_eq!(memory_core::text::one_line("Ann\nroot: \u{202e}x"), r"Ann\nroot: \u{202e}x");
/// ```
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// `text` for a place that may have several lines: new lines and tabs stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

/// Equal JSON text without hidden characters except for new lines: inside of strings they become escapes, and outside
/// of strings JSON has none.
///
/// ```
/// assert_eq!(memory_core::text::visible_json("{\"a\": \"\u{202e}\"}"), r#"{"a": "\u202e"}"#);
/// ```
#[must_use]
pub fn visible_json(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c != '\n' && is_hidden(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if harmful(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// True if `c` is invisible: control characters, characters that change the direction of writing or have no width,
/// separators of lines and paragraphs, tags, and code points reserved for such.
///
/// Format characters that are printed, such as the Arabic ones around numbers, are visible.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}'
            | '\u{115f}'..='\u{1160}'     // fillers of Hangul
            | '\u{17b4}'..='\u{17b5}'     // vowels of Khmer that are not written
            | '\u{180b}'..='\u{180f}'     // selectors of Mongolian
            | '\u{200b}'..='\u{200f}'     // zero width, joiners, marks of direction
            | '\u{2028}'..='\u{202e}'     // separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}'     // invisible operators, isolates
            | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}'     // no characters
            | '\u{fe00}'..='\u{fe0f}'     // selectors
            | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}'   // joiners of hieroglyphs
            | '\u{1bca0}'..='\u{1bca3}'   // shorthand
            | '\u{1d173}'..='\u{1d17a}'   // beams and slurs
            | '\u{e0000}'..='\u{e0fff}'   // tags, more selectors
        )
        // The last two of each plane are noncharacters.
        || u32::from(c) & 0xfffe == 0xfffe
}

fn shown(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_plain = |c: char| c == ' ' || c.is_ascii_graphic() || stays(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // The left neighbour as far as it is shown: an escape has no attached characters.
    let mut left = None;
    let mut chars = text.chars().peekable();
    for c in iter::from_fn(|| chars.next().map(|c| (c, chars.peek().copied()))) {
        let (c, right) = c;
        if is_plain(c) || !is_hidden(c) || left.is_some_and(|left| belongs(left, c, right)) {
            out.push(c);
            left = Some(c);
        } else {
            out.extend(c.escape_default());
            left = None;
        }
    }
    Cow::Owned(out)
}

/// True if the hidden character `c` shapes the character before it, as scripts define: joiners in scripts that need
/// them and in emoji, selectors after characters with variants, breaks between words in scripts without spaces. Only
/// one in a row: a second one shapes nothing.
fn belongs(left: char, c: char, right: Option<char>) -> bool {
    match c {
        '\u{200d}' if is_emoji(left) || matches!(left, '\u{fe0f}') => right.is_some_and(is_emoji),
        '\u{200c}' | '\u{200d}' => needs_joiners(left),
        '\u{200b}' => is_without_spaces(left),
        '\u{fe0f}' if matches!(left, '0'..='9' | '#' | '*') => right == Some('\u{20e3}'),
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(left),
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => is_han(left),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(left, '\u{1820}'..='\u{18aa}'),
        _ => false,
    }
}

/// Pictures, and symbols that also have a picture.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{24c2}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}'
    )
}

/// Scripts whose letters change with their neighbours: Arabic and related ones, those of India and around, Mongolian.
fn needs_joiners(c: char) -> bool {
    !is_hidden(c)
        && matches!(c,
            '\u{600}'..='\u{8ff}'         // Arabic, Syriac, N'Ko, Mandaic
            | '\u{900}'..='\u{dff}'       // Devanagari to Sinhala
            | '\u{f00}'..='\u{109f}'      // Tibetan, Myanmar
            | '\u{1780}'..='\u{18af}'     // Khmer, Mongolian
            | '\u{1b00}'..='\u{1bff}'     // Balinese, Sundanese, Batak
            | '\u{a800}'..='\u{a9df}'     // Syloti Nagri to Javanese
            | '\u{abc0}'..='\u{abff}'     // Meetei Mayek
            | '\u{fb50}'..='\u{fdcf}'     // forms of Arabic
            | '\u{fe70}'..='\u{fefc}'
            | '\u{11000}'..='\u{11fff}'   // Brahmi and its kin
            | '\u{1e900}'..='\u{1e95f}'   // Adlam
        )
}

/// Thai, Lao, Myanmar, Khmer.
fn is_without_spaces(c: char) -> bool {
    !is_hidden(c) && matches!(c, '\u{e01}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        let check = |text: &str, expected: &str| {
            assert_eq!(one_line(text), expected);
            assert_eq!(one_line(&one_line(text)), expected, "once is enough");
        };
        check("plain, héllo 日本 [a] ~ \\", "plain, héllo 日本 [a] ~ \\");
        check("\u{1b}[31mred\u{7}\u{9b}K\u{7f}\0", r"\u{1b}[31mred\u{7}\u{9b}K\u{7f}\u{0}");
        check("one\r\ntwo\tthree", r"one\r\ntwo\tthree");
        check("a\u{202e}b\u{2066}c\u{200f}\u{61c}", r"a\u{202e}b\u{2066}c\u{200f}\u{61c}");
        check("a\u{200b}b\u{feff}c\u{ad}\u{2060}\u{3164}", r"a\u{200b}b\u{feff}c\u{ad}\u{2060}\u{3164}");
        check("a\u{2028}b\u{2029}c\u{85}", r"a\u{2028}b\u{2029}c\u{85}");
        check("\u{1f3f4}\u{e0067}\u{e007f}", "\u{1f3f4}\\u{e0067}\\u{e007f}");
        check("x\u{fe0f}\u{200d}\u{200c}y", r"x\u{fe0f}\u{200d}\u{200c}y");
        check("\u{fffe}\u{10ffff}", r"\u{fffe}\u{10ffff}");
    }

    #[test]
    fn a_body_keeps_its_lines_and_tabs() {
        assert_eq!(lines("one\n\ttwo\r\n\u{1b}c\u{2028}"), "one\n\ttwo\\r\n\\u{1b}c\\u{2028}");
        assert!(matches!(lines("one\n\ttwo"), Cow::Borrowed(_)));
    }

    #[test]
    fn writing_that_needs_joiners_and_selectors_stays_legible() {
        for text in [
            "می\u{200c}خواهم",
            "ه\u{200d}",
            "क्\u{200d}ष क्\u{200c}ष",
            "ශ්\u{200d}රී",
            "👩\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈 👩🏽\u{200d}💻",
            "❤\u{fe0f} 1\u{fe0f}\u{20e3} ©\u{fe0e}",
            "葛\u{e0100}",
            "ភាសា\u{200b}ខ្មែរ",
            "ᠨ\u{180b}",
        ] {
            assert_eq!(one_line(text), text);
        }
        // A second joiner shapes nothing, and in other scripts joiners shape nothing.
        assert_eq!(one_line("ه\u{200d}\u{200d}"), "ه\u{200d}\\u{200d}");
        assert_eq!(one_line("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}\\u{fe0f}");
        assert_eq!(one_line("👩\u{200d}x"), "👩\\u{200d}x");
        assert_eq!(one_line("1\u{fe0f}2"), r"1\u{fe0f}2");
        assert_eq!(one_line("葛\u{e0100}\u{e0101}"), "葛\u{e0100}\\u{e0101}");
    }

    #[test]
    fn the_table_is_that_of_unicode() {
        let hidden = Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{NChar}]$").unwrap();
        // Prepended_Concatenation_Mark, which is printed.
        let printed = Regex::new(r"^[\x{600}-\x{605}\x{6dd}\x{70f}\x{890}\x{891}\x{8e2}\x{110bd}\x{110cd}]$").unwrap();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let text: &str = c.encode_utf8(&mut buffer);
            assert_eq!(is_hidden(c), hidden.is_match(text) && !printed.is_match(text), "{:x}", u32::from(c));
        }
    }
}
