//! Detects hits that repeat a better hit.

use std::collections::HashSet;

use memory_core::{
    Node, NodeId, RelationKind,
    port::{Hit, Signal},
};

use crate::lexical::{Asked, asked_words};

/// Maximum bytes of a text that is judged by a single sentence; a longer one has further content.
const LONGEST: usize = 1_200;
/// Minimum distinct words of the question in a sentence that is compared.
const FEWEST_ASKED: usize = 2;
/// Minimum words of such a sentence, because "Yes, the train." is said for many reasons.
const FEWEST_WORDS: usize = 5;

/// Statements about the question in the hits so far.
///
/// A text is a repeat of an equal text. Otherwise its sentence with the most distinct words of the question decides:
/// the text is a repeat if an earlier text has that sentence
/// - verbatim, as with pasted lines and notices; or
/// - with words of the question replaced by others: the same statement about another subject, as in logs and templates.
///
/// The sentence after a question belongs to it, since it may be the answer. Case and punctuation are ignored.
#[derive(Debug)]
pub(crate) struct EarlierStatements {
    asked: Asked,
    texts: HashSet<String>,
    told: Vec<KeySentence>,
}

/// Sentence of a text with the most words of the question.
#[derive(Debug, PartialEq, Eq)]
struct KeySentence {
    /// Indices of these words in the question; sorted, distinct.
    asked: Vec<usize>,
    /// Words in lower case, in order.
    words: Vec<String>,
}

impl EarlierStatements {
    /// An empty record for a question.
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked, texts: HashSet::new(), told: Vec::new() }
    }

    /// True if an earlier text said the same; records this text.
    pub(crate) fn is_repeat(&mut self, text: &str) -> bool {
        if !self.texts.insert(text.to_owned()) {
            return true;
        }
        let Some(matter) = self.matter(text) else { return false };
        let is_repeat = self.told.iter().any(|told| matter.repeats(told));
        if !is_repeat {
            self.told.push(matter);
        }
        is_repeat
    }

    /// Sentence of a text with the most words of the question, if it has enough of them; the first of equals.
    fn matter(&self, text: &str) -> Option<KeySentence> {
        if self.asked.len() < FEWEST_ASKED || text.len() > LONGEST {
            return None;
        }
        let mut words = asked_words(text, &self.asked).into_iter().peekable();
        let (mut from, mut best, mut is_open) = (0, (Vec::new(), 0..0), false);
        for to in ends(text) {
            let mut asked = Vec::new();
            while let Some((_, term)) = words.next_if(|(word, _)| word.start < to) {
                asked.push(term);
            }
            asked.sort_unstable();
            asked.dedup();
            let is_question = text.get(from..to).is_some_and(|sentence| sentence.trim_end().ends_with(['?', '？']));
            if asked.len() > best.0.len() {
                (best, is_open) = ((asked, from..to), is_question);
            } else if text.get(from..to).is_some_and(|sentence| !sentence.trim().is_empty()) && is_open {
                (best.1.end, is_open) = (to, false);
            }
            from = to;
        }
        let (asked, sentence) = best;
        let sentence = text.get(sentence)?;
        let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(str::to_lowercase).collect();
        (asked.len() >= FEWEST_ASKED && words.len() >= FEWEST_WORDS).then_some(KeySentence { asked, words })
    }
}

impl KeySentence {
    fn repeats(&self, told: &Self) -> bool {
        let lacks = told.asked.iter().filter(|term| !self.asked.contains(term)).count();
        let is_of_less = lacks > 0 && self.asked.iter().all(|term| told.asked.contains(term));
        // Each missing word of the question is replaced by another word, and all other words are equal.
        let is_alike = || self.beyond(told) <= lacks && told.beyond(self) <= lacks;
        self.words == told.words || is_of_less && is_alike()
    }

    /// Number of words of this sentence that `other` lacks.
    fn beyond(&self, other: &Self) -> usize {
        self.words.iter().filter(|word| !other.words.contains(word)).count()
    }
}

/// The earlier node that a node corrects, if any.
pub(crate) fn corrects(node: &Node) -> Option<NodeId> {
    node.relates_to.filter(|relation| relation.kind == RelationKind::Correction).map(|relation| relation.to)
}

/// Moves each hit that corrects a better hit to that one's place, with its score and relevance if they are higher.
pub(crate) fn put_corrections_first(hits: &mut [Hit]) {
    for at in 0..hits.len() {
        let Some(correction) = hits.get(at) else { continue };
        let Some(stale) = corrects(&correction.node) else { continue };
        let is_stale = |hit: &Hit| hit.node.id == stale && hit.conversation == correction.conversation;
        let Some(place) = hits.iter().take(at).position(is_stale) else { continue };
        let (Some((score, relevance)), Some(run)) =
            (hits.get(place).map(|stale| (stale.score, stale.relevance)), hits.get_mut(place..=at))
        else {
            continue;
        };
        run.rotate_right(1);
        let Some(correction) = run.first_mut().filter(|correction| correction.score.scale == score.scale) else {
            continue;
        };
        let share = (score.value - correction.score.value).max(0.0);
        correction.score.value += share;
        correction.relevance = correction.relevance.into_iter().chain(relevance).reduce(f32::max);
        let signals = &mut correction.signals;
        let next = signals.partition_point(|other| other.share.total_cmp(&share).is_ge());
        signals.insert(next, Signal::new("corrects", 1.0, share));
    }
}

/// Offsets of the ends of sentences, each before a space, and so not within `1.50` or `config.toml`.
pub(crate) fn ends(text: &str) -> impl Iterator<Item = usize> {
    let ends = text.char_indices().filter(|(at, c)| match c {
        '\n' | '。' | '！' | '？' => true,
        '.' | '!' | '?' => text.get(at + 1..).is_some_and(|rest| rest.starts_with(char::is_whitespace)),
        _ => false,
    });
    ends.map(|(at, c)| at + c.len_utf8()).chain([text.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::{Languages, asked};

    fn repeats(question: &str, texts: &[&str]) -> Vec<bool> {
        let mut told = EarlierStatements::new(asked(question, Languages::ENGLISH));
        texts.iter().map(|text| told.is_repeat(text)).collect()
    }

    #[test]
    fn a_sentence_that_was_told_is_a_repeat_whatever_stands_around_it() {
        let texts = [
            "Hello. Customs has called about the violin shipment. I am off.",
            "Rain again.\ncustoms has called about the VIOLIN shipment",
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
        let values =
            ["The late violin went to staging on Monday at noon.", "The violin went to staging on Tuesday at noon."];
        assert_eq!(repeats("When did the late violin go to staging?", &values), [false, false], "another value");
        let prices = ["The late violin shipment costs us 4.50 euros.", "The late violin shipment costs us 4.75 euros."];
        assert_eq!(repeats("What does the late violin shipment cost?", &prices), [false, false]);
        let texts = [texts[1], texts[0]];
        assert_eq!(
            repeats("When did the late violin go to staging?", &texts),
            [false, false],
            "the better one stands last"
        );
    }

    #[test]
    fn a_message_that_quotes_a_question_and_answers_it_is_no_repeat() {
        let asked = "Has customs called about the violin shipment yet?";
        let answer = format!("> {asked}\nYes: it is 4391-XK.");
        let question = "Under which number is the violin shipment registered at customs?";
        assert_eq!(repeats(question, &[asked, &answer]), [false, false]);
    }

    #[test]
    fn short_answers_and_other_words_are_no_repeats() {
        let yes = ["Yes, the late train. I am off.", "Hm. Yes, the late train."];
        assert_eq!(repeats("Is it the late train?", &yes), [false, false]);
        let said = [
            "We went to the harbour with all the children. Nice.",
            "We went to the harbour with all the children. Rain.",
        ];
        assert_eq!(repeats("Which train is late?", &said), [false, false]);
        assert_eq!(repeats("The harbour?", &said), [false, false], "one word says little");
    }

    #[test]
    fn the_same_text_is_a_repeat_however_short_it_is() {
        let line = "Checking links ... 0 broken";
        let texts = [line, line, "Checking links ... 1 broken: /oslo/ returns 404", line];
        assert_eq!(repeats("Which link is broken?", &texts), [false, true, false, true]);
    }

    #[test]
    fn a_long_text_says_more_than_one_sentence() {
        let said = "We went to the harbour with all the children.";
        let (long, other) = (format!("{said} {}", "And so on. ".repeat(200)), format!("Yes. {said}"));
        assert_eq!(repeats("Children at the harbour?", &[said, &long, &other]), [false, false, true]);
    }
}
