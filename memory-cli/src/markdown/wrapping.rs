//! Lines of at most so many columns, broken between words.

use textwrap::{Options, WordSeparator, WordSplitter, core::display_width};

/// The lines of a text of one line. Only a word that is longer than a line is broken, and no character is.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1))
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).iter().flat_map(|line| pieces(line, width.max(1))).collect()
}

/// The same, with these beginnings of the first line and of the others.
pub(crate) fn wrap_after(first: &str, others: &str, text: &str, width: usize) -> Vec<String> {
    let begins = display_width(first).max(display_width(others));
    let lines = wrap(text, width.saturating_sub(begins)).into_iter().enumerate();
    lines.map(|(at, line)| format!("{}{line}", if at == 0 { first } else { others })).collect()
}

/// A line in pieces of at most so many columns, each of at least one character with everything that is joined to it.
pub(super) fn pieces(line: &str, width: usize) -> Vec<String> {
    if display_width(line) <= width {
        return vec![line.to_owned()];
    }
    let (mut pieces, mut piece, mut taken) = (Vec::new(), String::new(), 0);
    for cluster in clusters(line) {
        let columns = display_width(cluster);
        if taken > 0 && taken + columns > width {
            pieces.push(std::mem::take(&mut piece));
            taken = 0;
        }
        piece.push_str(cluster);
        taken += columns;
    }
    pieces.push(piece);
    pieces
}

/// Sign that joins two pictures to one.
const JOINER: char = '\u{200d}';

/// The characters of a text, each with the signs that belong to it.
fn clusters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut before = rest.chars().next()?;
        let mut end = before.len_utf8();
        for c in rest.chars().skip(1) {
            let is_tone = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
            let is_sign = is_tone || display_width(c.encode_utf8(&mut [0; 4])) == 0;
            if !is_sign && before != JOINER {
                break;
            }
            end += c.len_utf8();
            before = c;
        }
        let (cluster, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(cluster)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_whole_and_so_does_a_joined_emoji() {
        assert_eq!(wrap("the key memory/chat-model stays", 14), ["the key", "memory/chat-mo", "del", "stays"]);
        assert_eq!(wrap_after("▸ ", "  ", "one two-three four", 12), ["▸ one", "  two-three", "  four"]);
        let family = "👩\u{200d}👩\u{200d}👧";
        for width in 1..20 {
            let lines = wrap(&family.repeat(5), width);
            assert!(lines.iter().all(|line| line.replace(family, "").is_empty()), "{width}: {lines:?}");
        }
    }
}
