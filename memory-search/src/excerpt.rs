//! Selects the part of a text to show for a question.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    ops::Range,
};

use crate::lexical::{Language, Languages, asked, asked_words};

/// Selection of [`excerpt`] from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excerpted {
    /// The part to show, as a byte range with character boundaries.
    pub range: Range<usize>,
    /// Words of the question within the part, as byte ranges of the text: in order, none empty, no two overlap or
    /// touch.
    pub highlights: Vec<Range<usize>>,
}

/// Selects the part of a text, at most `max_chars` characters (`char`), that best shows its relation to a question.
///
/// Prefers the part with the most distinct words of the question, then the one with the most such words, then the
/// first. A text without such words gives its beginning, and a short text is selected whole. Ends are moved inwards to
/// nearby spaces.
///
/// Words are compared as in search by words: by stems, ignoring case and accents. Stop words count only if the question
/// has no other words. The time is proportional to the text.
///
/// ```
/// let text = "We arrived late. The train was full. In the end we found that the booking is QX-4471-93B.";
/// let shown = memory_search::excerpt(text, "Which bookings are there?", 40);
/// assert_eq!(&text[shown.range], "found that the booking is QX-4471-93B.");
/// assert_eq!(&text[shown.highlights[0].clone()], "booking");
/// ```
#[must_use]
pub fn excerpt(text: &str, question: &str, max_chars: usize) -> Excerpted {
    let languages = Languages::of([question, text].into_iter().filter_map(Language::of));
    let words = asked_words(text, &asked(question, languages));
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

/// Range from the first to the last word of the best group of words that fits; empty at the start of a text without
/// words.
fn best(text: &str, words: &[(Range<usize>, usize)], max_chars: usize) -> Range<usize> {
    let chars_in = |part: Range<usize>| text.get(part).map_or(0, |part| part.chars().count());
    // Start of each word in bytes and in characters, with its term, and the number of occurrences of each term.
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

/// At most `max_chars` characters, with `best` in the middle if the text is long enough on both sides.
fn window(text: &str, best: &Range<usize>, max_chars: usize) -> Range<usize> {
    let (before, rest) = text.split_at(best.start);
    let (inside, after) = rest.split_at(best.len());
    let spare = max_chars.saturating_sub(inside.chars().count());
    let lead = (spare / 2).max(spare - after.chars().take(spare).count());
    let start = before.char_indices().rev().take(lead).last().map_or(best.start, |(at, _)| at);
    let from_start = text.get(start..).unwrap_or_default();
    let end = from_start.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| start + at);
    // Only a space in the outer half of the surrounding text is near enough to cut at.
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

/// True if a cut at this character boundary would split a word.
fn is_in_word(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let has_word = |beside: Option<char>| beside.is_some_and(|c| !c.is_whitespace());
    has_word(before.chars().next_back()) && has_word(after.chars().next())
}

#[cfg(test)]
mod tests;
