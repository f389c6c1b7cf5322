//! Baselines: the first words, the first sentences, TextRank.

use memory_core::TokenCounter;
use unicode_segmentation::UnicodeSegmentation;

use super::text_rank;

/// What is to be summarized, and the most tokens of the summary.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) texts: &'a [String],
    pub(super) max_tokens: u32,
    pub(super) counter: &'a dyn TokenCounter,
}

impl Task<'_> {
    fn fits(&self, text: &str) -> bool {
        self.counter.count(text) <= self.max_tokens
    }
}

/// The first words of each text, as many of each as fit.
pub(super) fn first_words(task: Task<'_>) -> String {
    let words: Vec<Vec<&str>> = task.texts.iter().map(|text| text.split_whitespace().collect()).collect();
    let with = |count: usize| {
        let heads = words.iter().map(|words| words.get(..count.min(words.len())).unwrap_or_default().join(" "));
        heads.filter(|head| !head.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let (mut least, mut most) = (0, words.iter().map(Vec::len).max().unwrap_or(0));
    while least < most {
        let middle = (least + most).div_ceil(2);
        if task.fits(&with(middle)) { least = middle } else { most = middle - 1 }
    }
    // If even one word of each text is too much, the words of the first texts; then whatever still fits.
    let (text, rest) = (with(least), words.iter().filter_map(|words| words.get(least)));
    extended(task, text, rest.copied())
}

/// The first sentences; of a group those of each text by turns: all first ones, then all second ones.
pub(super) fn lead(task: Task<'_>) -> String {
    let sentences: Vec<Vec<&str>> = task.texts.iter().map(|text| sentences(text).collect()).collect();
    let longest = sentences.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..longest).flat_map(|turn| sentences.iter().filter_map(move |of| of.get(turn).copied()));
    let mut text = String::new();
    for sentence in in_turn {
        let longer = joined(&text, sentence);
        if !task.fits(&longer) {
            return extended(task, text, sentence.split_whitespace());
        }
        text = longer;
    }
    text
}

/// The sentences that TextRank ranks highest, in their order; of the first that does not fit, as many words as do.
pub(super) fn text_rank(task: Task<'_>) -> String {
    let sentences: Vec<&str> = task.texts.iter().flat_map(|text| sentences(text)).collect();
    let mut kept: Vec<(usize, &str)> = Vec::new();
    let text = |kept: &[(usize, &str)]| {
        let mut ordered = kept.to_vec();
        ordered.sort_unstable();
        ordered.into_iter().map(|(_, sentence)| sentence).collect::<Vec<_>>().join(" ")
    };
    let mut left_over = None;
    for place in text_rank::ranked(&sentences) {
        let Some(&sentence) = sentences.get(place) else { continue };
        kept.push((place, sentence));
        if !task.fits(&text(&kept)) {
            kept.pop();
            left_over = left_over.or(Some(sentence));
        }
    }
    extended(task, text(&kept), left_over.into_iter().flat_map(str::split_whitespace))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.unicode_sentences().map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// `text` and as many of `words` as fit after it.
fn extended<'a>(task: Task<'_>, mut text: String, words: impl Iterator<Item = &'a str>) -> String {
    for word in words {
        let longer = joined(&text, word);
        if !task.fits(&longer) {
            break;
        }
        text = longer;
    }
    text
}

fn joined(text: &str, more: &str) -> String {
    if text.is_empty() { more.to_owned() } else { format!("{text} {more}") }
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;

    use super::*;

    fn task<'a>(texts: &'a [String], max_tokens: u32) -> Task<'a> {
        Task { texts, max_tokens, counter: &WordCounter }
    }

    #[test]
    fn each_baseline_spends_what_it_may() {
        let texts = ["One two. Three four five.", "Six seven. Eight."].map(str::to_owned);
        assert_eq!(first_words(task(&texts, 5)), "One two. Six seven.");
        assert_eq!(first_words(task(&texts, 7)), "One two. Six seven. Three");
        assert_eq!(lead(task(&texts, 8)), "One two. Six seven. Three four");
        assert_eq!(lead(task(&texts, 100)), "One two. Six seven. Three four five. Eight.");
        assert_eq!(text_rank(task(&texts, 8)), "One two. Three four five. Six");
    }
}
