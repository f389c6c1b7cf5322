//! The part of a text to show for a question.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    ops::Range,
};

use crate::lexical::Analyzer;

/// Selection of [`excerpt`] from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excerpted {
    /// The part to show, in bytes of the text. Both ends are boundaries of characters.
    pub range: Range<usize>,
    /// The words in it that the question asks for, in bytes of the text: in order, none empty, no two overlap or touch.
    pub highlights: Vec<Range<usize>>,
}

/// Selects the part of a text, of at most `max_chars` characters (`char`), that shows best what it has to do with a
/// question.
///
/// The part has the most different words of the question. Among equal parts the one with the most words of the question
/// wins, and then the first. A text without such words gives its beginning, and a text that is short enough is selected
/// whole. The ends are moved inwards to spaces that are near.
///
/// Words are compared as search by words compares them: by stems, without case and accents. Stop words count only if
/// the question has no other words. The time is proportional to the text.
///
/// ```
/// let text = "We arrived late. The train was full. In the end we found that the booking is QX-4471-93B.";
/// let shown = memory_search::excerpt(text, "Which bookings are there?", 40);
/// assert_eq!(&text[shown.range], "found that the booking is QX-4471-93B.");
/// assert_eq!(&text[shown.highlights[0].clone()], "booking");
/// ```
#[must_use]
pub fn excerpt(text: &str, question: &str, max_chars: usize) -> Excerpted {
    let analyzer = Analyzer::default();
    let words = analyzer.asked_words(text, &analyzer.question(question));
    let range = match text.char_indices().nth(max_chars) {
        None => 0..text.len(),
        Some(_) => window(text, &best(text, &words, max_chars), max_chars),
    };
    let mut highlights: Vec<Range<usize>> = Vec::new();
    for (word, _) in words {
        let shown = word.start.max(range.start)..word.end.min(range.end);
        match highlights.last_mut() {
            _ if shown.is_empty() => {}
            Some(last) if shown.start <= last.end => last.end = last.end.max(shown.end),
            _ => highlights.push(shown),
        }
    }
    Excerpted { range, highlights }
}

/// Range from the first to the last word of the best group of words that fits; the empty beginning of a text without
/// words.
fn best(text: &str, words: &[(Range<usize>, usize)], max_chars: usize) -> Range<usize> {
    let chars_in = |part: Range<usize>| text.get(part).map_or(0, |part| part.chars().count());
    // Start of each word, in bytes and in characters, with its term; and how often each term is in the group.
    let mut group: VecDeque<(usize, usize, usize)> = VecDeque::new();
    let mut terms: HashMap<usize, usize> = HashMap::new();
    let (mut most, mut best) = ((0, 0), 0..0);
    let (mut at, mut chars) = (0, 0);
    for (word, term) in words {
        chars += chars_in(at..word.start);
        at = word.start;
        let end = chars + chars_in(word.clone());
        while let Some(&(_, begin, first)) = group.front()
            && end - begin > max_chars
        {
            group.pop_front();
            if let Entry::Occupied(mut count) = terms.entry(first) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        group.push_back((word.start, chars, *term));
        *terms.entry(*term).or_default() += 1;
        let score = (terms.len(), group.len());
        if let Some(&(begin, ..)) = group.front()
            && score > most
        {
            (most, best) = (score, begin..word.end);
        }
    }
    best
}

/// At most `max_chars` characters with `best` in the middle, where the text is long enough on both sides.
fn window(text: &str, best: &Range<usize>, max_chars: usize) -> Range<usize> {
    let (before, rest) = text.split_at(best.start);
    let (inside, after) = rest.split_at(best.len());
    let spare = max_chars.saturating_sub(inside.chars().count());
    let lead = (spare / 2).max(spare - after.chars().take(spare).count());
    let start = before.char_indices().rev().take(lead).last().map_or(best.start, |(at, _)| at);
    let from_start = text.get(start..).unwrap_or_default();
    let end = from_start.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| start + at);
    // Spaces in the outer halves of what surrounds the words are near.
    let lead = before.get(start..).unwrap_or_default();
    let start = match lead.find(char::is_whitespace) {
        Some(space) if is_in_word(text, start) && space <= lead.len() / 2 => start + space,
        _ => start,
    };
    let tail = text.get(best.end..end).unwrap_or_default();
    let end = match tail.rfind(char::is_whitespace) {
        Some(space) if is_in_word(text, end) && space >= tail.len() / 2 => best.end + space,
        _ => end,
    };
    let shown = text.get(start..end).unwrap_or_default();
    let start = if start > 0 { end - shown.trim_start().len() } else { start };
    let end = if end < text.len() { start + text.get(start..end).unwrap_or_default().trim_end().len() } else { end };
    start..end
}

/// True if a cut at a boundary of characters would leave parts of a word on both sides.
fn is_in_word(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let has_word = |beside: Option<char>| beside.is_some_and(|c| !c.is_whitespace());
    has_word(before.chars().next_back()) && has_word(after.chars().next())
}

#[cfg(test)]
mod tests;
