//! Checks that a model's reply is about its text: shared words and numbers.

use std::collections::HashSet;

use super::chunks::Block;

/// Fewest words of a reply whose repetition counts.
const MANY: usize = 30;
/// Fewest words of a sentence that is not repeated by chance.
const SENTENCE: usize = 6;
/// Letters of a word that are compared, so that endings may differ.
const STEM: usize = 5;
/// Fewest long words of a reply whose share counts.
const FEW: usize = 4;
/// Divisor of the minimum share of these words that must occur in the text.
const ONE_IN: usize = 3;

/// True if a reply repeats itself: many words, few of them distinct.
pub(super) fn is_endless(reply: &str) -> bool {
    let words: Vec<_> = reply.split_whitespace().collect();
    let different: HashSet<_> = words.iter().collect();
    words.len() >= MANY && different.len() * 5 < words.len() * 2
}

/// True if a reply repeats a whole sentence of the model's request.
pub(super) fn repeats_a_sentence(reply: &str, told: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let reply = plain(reply);
    let sentences = memory_strategies::sentences(told).map(|sentence| plain(sentence.trim_start_matches("- ")));
    sentences.filter(|sentence| sentence.split(' ').count() >= SENTENCE).any(|sentence| reply.contains(&sentence))
}

/// True if a reply has a number of two digits or more that does not stand in the blocks.
pub(super) fn invents_a_number(reply: &str, blocks: &[Block]) -> bool {
    let lines: Vec<_> = blocks.iter().map(Block::line).collect();
    let known: HashSet<&str> = lines.iter().flat_map(|line| numbers(line)).collect();
    numbers(reply).any(|number| number.len() > 1 && !known.contains(number))
}

fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty())
}

/// True if hardly any of a reply's long words stands in the blocks. Only words of the letters A to Z count, since words
/// of other scripts are not always parted by spaces.
pub(super) fn is_unrelated(reply: &str, blocks: &[Block]) -> bool {
    let words = stems(reply);
    let known: HashSet<String> = blocks.iter().flat_map(|block| stems(&block.said())).collect();
    let found = words.iter().filter(|word| known.contains(*word)).count();
    words.len() >= FEW && found * ONE_IN < words.len()
}

fn stems(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter_map(|word| Some(word.get(..STEM)?.to_ascii_lowercase())).filter(|stem| stem.is_ascii()).collect()
}
