//! Splits a text into words, as the vocabularies do, which are then merged one by one.
//!
//! Words match tiktoken's regular expressions, alternative by alternative. Compiling the expressions would take longer
//! than counting a process's texts.

use super::classes::{Classes, Text};

/// Characters at the start of an `o200k_base` word, other than lower case.
const LEADING: Classes = Classes::UPPER.or(Classes::CASELESS).or(Classes::MARK);

/// Characters at the end of such a word, other than upper case.
const TRAILING: Classes = Classes::LOWER.or(Classes::CASELESS).or(Classes::MARK);

/// Consecutive words of a text, which together are the text.
#[derive(Debug)]
pub(super) struct Words<'a> {
    text: Text<'a>,
    at: usize,
    /// End of the word that begins at an offset; `None` at the end of the text.
    end: fn(Text<'_>, usize) -> Option<usize>,
}

impl<'a> Words<'a> {
    pub(super) fn cl100k(text: &'a str) -> Self {
        Self { text: Text(text), at: 0, end: cl100k }
    }

    pub(super) fn o200k(text: &'a str) -> Self {
        Self { text: Text(text), at: 0, end: o200k }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = (self.end)(self.text, self.at)?;
        let word = self.text.0.get(self.at..end);
        self.at = end;
        word
    }
}

/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
fn cl100k(text: Text<'_>, at: usize) -> Option<usize> {
    let (classes, after) = text.at(at)?;
    if let Some(end) = contraction(text, at) {
        return Some(end);
    }
    let letters = if leads(classes) { after } else { at };
    let end = text.run(letters, Classes::LETTER);
    if end > letters {
        return Some(end);
    }
    if classes.meets(Classes::NUMBER) {
        return Some(number(text, after));
    }
    if let Some(end) = symbols(text, at) {
        return Some(text.run(end, Classes::LINE_END));
    }
    let blanks = Blanks::at(text, at);
    Some(if blanks.end == text.0.len() { blanks.end } else { blanks.line_end.unwrap_or(blanks.before_last) })
}

/// The first and second of these alternatives, in which `U` is [`LEADING`] and `L` is [`TRAILING`], then as above:
/// `[^\r\n\p{L}\p{N}]?U*L+(?i:'s|…)?|[^\r\n\p{L}\p{N}]?U+L*(?i:'s|…)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
fn o200k(text: Text<'_>, at: usize) -> Option<usize> {
    let (classes, after) = text.at(at)?;
    // A mark may precede a word or belong to it.
    let letters = if leads(classes) { after } else { at };
    let cased = lowered(text, letters).or_else(|| lowered(text, at)).or_else(|| {
        // No `L` follows, because otherwise the match above would have succeeded.
        Some(text.run(letters, LEADING)).filter(|end| *end > letters)
    });
    if let Some(end) = cased {
        return Some(contraction(text, end).unwrap_or(end));
    }
    if classes.meets(Classes::NUMBER) {
        return Some(number(text, after));
    }
    if let Some(end) = symbols(text, at) {
        return Some(text.run(end, Classes::LINE_END.or(Classes::SLASH)));
    }
    let blanks = Blanks::at(text, at);
    Some(blanks.line_end.unwrap_or(if blanks.end == text.0.len() { blanks.end } else { blanks.before_last }))
}

/// `[^\r\n\p{L}\p{N}]`
fn leads(classes: Classes) -> bool {
    classes.meets(Classes::SPACE.or(Classes::SYMBOL)) && !classes.meets(Classes::LINE_END)
}

/// `'(?i:s|d|m|t|ll|ve|re)`, in which an `s` is a `ſ` as well.
fn contraction(text: Text<'_>, at: usize) -> Option<usize> {
    let length = match text.0.as_bytes().get(at..)? {
        [b'\'', b's' | b'S' | b'd' | b'D' | b'm' | b'M' | b't' | b'T', ..] => 2,
        [b'\'', b'l' | b'L', b'l' | b'L', ..] | [b'\'', b'v' | b'V' | b'r' | b'R', b'e' | b'E', ..] => 3,
        [b'\'', first, second, ..] if "ſ".as_bytes() == [*first, *second] => 3,
        _ => return None,
    };
    Some(at + length)
}

/// `U*L+`: if no `L` follows the run of `U`, the run ends at its last character that is also in `L`.
fn lowered(text: Text<'_>, at: usize) -> Option<usize> {
    let (mut end, mut shorter) = (at, None);
    while let Some((classes, next)) = text.at(end).filter(|(classes, _)| classes.meets(LEADING)) {
        end = next;
        shorter = if classes.meets(TRAILING) { Some(end) } else { shorter };
    }
    let whole = text.run(end, TRAILING);
    if whole > end { Some(whole) } else { shorter }
}

/// `\p{N}{1,3}`; the first character ends at `at`.
fn number(text: Text<'_>, at: usize) -> usize {
    let digit = |at| text.at(at).filter(|(classes, _)| classes.meets(Classes::NUMBER)).map(|(_, end)| end);
    digit(at).map_or(at, |second| digit(second).unwrap_or(second))
}

/// ` ?[^\s\p{L}\p{N}]+`
fn symbols(text: Text<'_>, at: usize) -> Option<usize> {
    let begin = if text.0.as_bytes().get(at) == Some(&b' ') { at + 1 } else { at };
    Some(text.run(begin, Classes::SYMBOL)).filter(|end| *end > begin)
}

/// A run of blanks.
struct Blanks {
    end: usize,
    /// `\s*[\r\n]`
    line_end: Option<usize>,
    /// `\s+(?!\S)|\s` if something follows: all blanks but the last, or the only one.
    before_last: usize,
}

impl Blanks {
    fn at(text: Text<'_>, begin: usize) -> Self {
        let (mut end, mut line_end, mut last) = (begin, None, begin);
        while let Some((classes, next)) = text.at(end).filter(|(classes, _)| classes.meets(Classes::SPACE)) {
            (last, end) = (end, next);
            line_end = if classes.meets(Classes::LINE_END) { Some(end) } else { line_end };
        }
        Self { end, line_end, before_last: if last > begin { last } else { end } }
    }
}
