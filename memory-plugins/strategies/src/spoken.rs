//! Sentences that the writer of a message says, without code, tables and quotations.

use crate::{
    markup::{Line, classify},
    sentences::sentences,
};

/// A line of running text or of a list.
pub(crate) struct SpokenLine<'a> {
    pub(crate) text: &'a str,
    /// True for an item of a list.
    pub(crate) is_item: bool,
}

/// Sentences of running text and lists, without headings, as slices of `text`, in order.
pub(crate) fn spoken(text: &str) -> impl Iterator<Item = &str> {
    spoken_lines(text).flat_map(|line| sentences(line.text))
}

/// The lines of running text and lists, in order.
pub(crate) fn spoken_lines<'a>(text: &'a str) -> impl Iterator<Item = SpokenLine<'a>> {
    let mut fence = None;
    let said = move |line: &'a str| {
        match classify(line) {
            Line::Fence(mark, count) => {
                fence = match fence {
                    None => Some((mark, count)),
                    Some((open, least)) if open == mark && count >= least => None,
                    still => still,
                };
            }
            kind @ (Line::Item(text) | Line::Text(text)) if fence.is_none() && !line.trim_start().starts_with('>') => {
                return Some(SpokenLine { text, is_item: matches!(kind, Line::Item(_)) });
            }
            _ => {}
        }
        None
    };
    text.lines().filter_map(said)
}

/// Byte offset in `text` of its slice `part`.
pub(crate) fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// True if a sentence is a question.
pub(crate) fn asks(sentence: &str) -> bool {
    sentence.trim_end_matches(crate::sentences::closes).ends_with(['?', '？', '؟'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_tables_and_quotations_are_not_said() {
        let text = "Look at this.\n```\nlet x = 1;\n```\n> You said so.\n| a | b |\n- First. Second!\n# Title\nWhy?";
        let said: Vec<_> = spoken(text).collect();
        assert_eq!(said, ["Look at this.", "First.", "Second!", "Why?"]);
        assert!(said.iter().all(|sentence| text.get(offset(text, sentence)..).unwrap().starts_with(sentence)));
        assert!(asks("Why (and how?)") && !asks("I asked \"why\"."));
    }
}
