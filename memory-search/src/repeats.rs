//! Hits that say what a better hit says already.

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hasher, RandomState},
    ops::Range,
};

use crate::lexical::Analyzer;

/// The longest text that one sentence stands for, in bytes: more says other things, too.
const LONGEST: usize = 1_200;
/// Fewest different words of the question in a sentence that is compared.
const FEWEST_ASKED: usize = 2;
/// Fewest words of such a sentence: "Yes, the train." is said for many reasons.
const FEWEST_WORDS: usize = 5;

/// What the hits so far say to a question.
///
/// A text is a repeat where the sentence with the most different words of the question stands word for word in a text before
/// it. Case and punctuation are ignored. Pasted lines, templates and notices are repeated like this, and ten of them tell a
/// reader no more than one.
#[derive(Debug)]
pub(crate) struct Told {
    analyzer: Analyzer,
    asked: Vec<Box<str>>,
    told: HashSet<u64>,
    keys: RandomState,
}

impl Told {
    /// Nothing told yet.
    pub(crate) fn new(question: &str) -> Self {
        let analyzer = Analyzer::default();
        let asked = analyzer.question(question);
        Self { analyzer, asked, told: HashSet::new(), keys: RandomState::new() }
    }

    /// Whether an earlier text told the same. Remembers what this one tells.
    pub(crate) fn is_repeat(&mut self, text: &str) -> bool {
        self.matter(text).is_some_and(|matter| !self.told.insert(matter))
    }

    /// The key of the sentence with the most words of the question; the first of equals.
    fn matter(&self, text: &str) -> Option<u64> {
        if self.asked.len() < FEWEST_ASKED || text.len() > LONGEST {
            return None;
        }
        let mut words = self.analyzer.asked_words(text, &self.asked).into_iter().peekable();
        let (mut at, mut best): (usize, (usize, Range<usize>)) = (0, (0, 0..0));
        for sentence in text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']) {
            let end = at + sentence.len();
            let mut asked = Vec::new();
            while let Some((_, term)) = words.next_if(|(word, _)| word.start < end) {
                if !asked.contains(&term) {
                    asked.push(term);
                }
            }
            if asked.len() > best.0 {
                best = (asked.len(), at..end);
            }
            at = end;
        }
        let (asked, sentence) = best;
        let mut key = self.keys.build_hasher();
        let mut count = 0;
        for word in text.get(sentence)?.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            count += 1;
            key.write(word.to_lowercase().as_bytes());
            key.write_u8(0xff);
        }
        (asked >= FEWEST_ASKED && count >= FEWEST_WORDS).then(|| key.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(question: &str, texts: &[&str]) -> Vec<bool> {
        let mut told = Told::new(question);
        texts.iter().map(|text| told.is_repeat(text)).collect()
    }

    #[test]
    fn a_sentence_that_answers_no_better_is_a_repeat_whatever_stands_around_it() {
        let texts = [
            "Hello. Has customs called about the violin shipment yet? I am off.",
            "Rain again.\nhas customs called about the VIOLIN shipment yet",
            "Has customs called about the lantern shipment yet?",
            "The customs reference of the violin shipment is 4391-XK.",
        ];
        let question = "Under which number is the violin shipment registered at customs?";
        assert_eq!(repeats(question, &texts), [false, true, false, false]);
    }

    #[test]
    fn short_answers_and_other_words_are_no_repeats() {
        let yes = "Yes, the late train.";
        assert_eq!(repeats("Is it the late train?", &[yes, yes]), [false, false]);
        let said = "We went to the harbour with all the children.";
        assert_eq!(repeats("Which train is late?", &[said, said]), [false, false]);
        assert_eq!(repeats("The harbour?", &[said, said]), [false, false], "one word says little");
    }

    #[test]
    fn a_long_text_says_more_than_one_sentence() {
        let said = "We went to the harbour with all the children.";
        let long = format!("{said} {}", "And so on. ".repeat(200));
        assert_eq!(repeats("Children at the harbour?", &[said, &long, said]), [false, false, true]);
    }
}
