//! Hits that say what a better hit says already.

use crate::lexical::Analyzer;

/// The longest text that one sentence stands for, in bytes: more says other things, too.
const LONGEST: usize = 1_200;
/// Fewest different words of the question in a sentence that is compared.
const FEWEST_ASKED: usize = 2;
/// Fewest words of such a sentence: "Yes, the train." is said for many reasons.
const FEWEST_WORDS: usize = 5;

/// The share of their words that two such sentences have in common where one says the same of something else.
const ALIKE: f64 = 0.8;

/// What the hits so far say to a question.
///
/// Of a text counts the sentence with the most different words of the question. A text is a repeat where a text before it has
/// that sentence
/// - word for word: pasted lines and notices; ten of them tell a reader no more than one; or
/// - with nearly the same words and more of the question's: it says of something else what was said of what is asked for, as
///   lines of a log and templates do.
///
/// Case and punctuation are ignored.
#[derive(Debug)]
pub(crate) struct Told {
    analyzer: Analyzer,
    asked: Vec<Box<str>>,
    told: Vec<Matter>,
}

/// The sentence of a text with the most words of the question.
#[derive(Debug, PartialEq, Eq)]
struct Matter {
    /// The places of these words in the question's; sorted, distinct.
    asked: Vec<usize>,
    /// Its words in lower case, in order.
    words: Vec<String>,
}

impl Told {
    /// Nothing told yet.
    pub(crate) fn new(question: &str) -> Self {
        let analyzer = Analyzer::default();
        let asked = analyzer.question(question);
        Self { analyzer, asked, told: Vec::new() }
    }

    /// Whether an earlier text told the same. Remembers what this one tells.
    pub(crate) fn is_repeat(&mut self, text: &str) -> bool {
        let Some(matter) = self.matter(text) else { return false };
        let is_repeat = self.told.iter().any(|told| matter.repeats(told));
        if !is_repeat {
            self.told.push(matter);
        }
        is_repeat
    }

    /// What a text says to the question; the first of equals.
    fn matter(&self, text: &str) -> Option<Matter> {
        if self.asked.len() < FEWEST_ASKED || text.len() > LONGEST {
            return None;
        }
        let mut words = self.analyzer.asked_words(text, &self.asked).into_iter().peekable();
        let (mut at, mut best) = (0, (Vec::new(), ""));
        for sentence in text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']) {
            at += sentence.len();
            let mut asked = Vec::new();
            while let Some((_, term)) = words.next_if(|(word, _)| word.start < at) {
                asked.push(term);
            }
            asked.sort_unstable();
            asked.dedup();
            if asked.len() > best.0.len() {
                best = (asked, sentence);
            }
        }
        let (asked, sentence) = best;
        let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(str::to_lowercase).collect();
        (asked.len() >= FEWEST_ASKED && words.len() >= FEWEST_WORDS).then_some(Matter { asked, words })
    }
}

impl Matter {
    fn repeats(&self, told: &Self) -> bool {
        let is_of_less = self.asked.len() < told.asked.len() && self.asked.iter().all(|term| told.asked.contains(term));
        self.words == told.words || is_of_less && self.is_like(told)
    }

    #[expect(clippy::cast_precision_loss, reason = "words of a sentence")]
    fn is_like(&self, other: &Self) -> bool {
        let longest = self.words.len().max(other.words.len()) as f64;
        let shared = self.words.iter().filter(|word| other.words.contains(word)).count() as f64;
        shared >= ALIKE * longest
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
    fn a_sentence_that_was_told_is_a_repeat_whatever_stands_around_it() {
        let texts = [
            "Hello. Has customs called about the violin shipment yet? I am off.",
            "Rain again.\nhas customs called about the VIOLIN shipment yet",
            "The customs reference of the violin shipment is 4391-XK.",
        ];
        let question = "Under which number is the violin shipment registered at customs?";
        assert_eq!(repeats(question, &texts), [false, true, false]);
    }

    #[test]
    fn the_same_of_something_else_than_what_is_asked_for_is_a_repeat_and_another_value_is_none() {
        let of = |version: &str, minutes: u32| {
            format!("The deployment of version {version} to staging took {minutes} minutes.")
        };
        let texts = [of("1.2.3", 4), of("1.2.4", 4), of("1.2.3", 9)];
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let question = "How long did the deployment of the violin to staging take?";
        assert_eq!(repeats(question, &texts), [false, false, false], "all of them are asked for");
        let texts = [
            "The late violin went to staging on Monday at noon.",
            "The late lantern went to staging on Monday at noon.",
        ];
        assert_eq!(repeats("When did the late violin go to staging?", &texts), [false, true]);
        let texts = [texts[1], texts[0]];
        assert_eq!(
            repeats("When did the late violin go to staging?", &texts),
            [false, false],
            "the better one stands last"
        );
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
