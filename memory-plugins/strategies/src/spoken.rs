//! Sentences that the writer of a message says, without code, tables, quotations and the words of programs.

use crate::{
    markup::{Line, classify},
    said::said_parts,
    sentences::{sentences, whole_sentences},
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

/// Number of the sentence that holds a byte of the text, from 1, among those that are said.
#[must_use]
pub fn sentence_at(text: &str, at: usize) -> u32 {
    let all = spoken_lines(text).flat_map(|line| whole_sentences(line.text));
    let before = all.take_while(|sentence| offset(text, sentence) <= at).count();
    u32::try_from(before).unwrap_or(u32::MAX).max(1)
}

/// A line of at least this length was probably wrapped by an editor, and continues in the next one.
const WRAPPED: usize = 60;

/// The lines of running text and lists, in order; a wrapped line includes the next one.
pub(crate) fn spoken_lines(text: &str) -> impl Iterator<Item = SpokenLine<'_>> {
    let mut found: Vec<SpokenLine<'_>> = Vec::new();
    for part in said_parts(text) {
        let mut fence = None;
        let mut may_go_on = false;
        for line in part.lines() {
            let classified = classify(line);
            let is_quoted = line.trim_start().starts_with('>');
            let goes_on = std::mem::take(&mut may_go_on);
            match classified {
                Line::Fence(mark, count) => {
                    fence = match fence {
                        None => Some((mark, count)),
                        Some((open, least)) if open == mark && count >= least => None,
                        still => still,
                    };
                }
                Line::Item(said) | Line::Text(said) if fence.is_none() && !is_quoted => {
                    may_go_on = line.len() >= WRAPPED && !said.ends_with(['.', '!', '?', ':', '。', '！', '？']);
                    let is_item = matches!(classified, Line::Item(_));
                    let joined = found.last_mut().filter(|_| goes_on && !is_item && begins_within(said));
                    match joined {
                        Some(before) => before.text = span(text, before.text, said),
                        None => found.push(SpokenLine { text: said, is_item }),
                    }
                }
                _ => {}
            }
        }
    }
    found.into_iter()
}

/// True if a line begins like the middle of a sentence.
fn begins_within(line: &str) -> bool {
    line.starts_with(|c: char| c.is_lowercase() || c.is_numeric())
}

/// The part of `text` from its slice `first` to its slice `last`.
fn span<'a>(text: &'a str, first: &'a str, last: &str) -> &'a str {
    text.get(offset(text, first)..offset(text, last) + last.len()).unwrap_or(first)
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

    #[test]
    fn a_line_that_an_editor_wrapped_goes_on_in_the_next() {
        let text = "We decided to keep the invoices of the last ten years in the old\nledger. Then we left.\nand so on";
        let said: Vec<_> = spoken(text).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].ends_with("the old\nledger."), "{said:?}");
    }
}
