//! Questions in messages, and answers that leave them open.

use std::{ops::Range, sync::LazyLock};

use crate::{
    gist::Gist,
    phrases::Phrases,
    spoken::{asks, offset, spoken},
    words::words,
};

/// Phrases of people who cannot answer yet.
const UNANSWERED: &str = "i don't know | i do not know | i'm not sure | i am not sure | not sure yet | let me check | \
                          let me find out | let me ask | i'll check | i will check | i'll find out | i will find out | \
                          i'll ask | i will ask | i'll get back | i will get back | i'll let you know | \
                          i will let you know | i have to check | i need to check | i'd have to check | \
                          i can't say | i cannot say | i can't tell | i cannot tell | no idea | we'll see | we will see | \
                          ask me later | i have no information | i don't have that information | \
                          i don't have information | remains to be seen | not decided yet | ich weiß nicht | keine ahnung";

/// Minimum words of a question; "Why?" asks about what was just said.
const FEWEST_WORDS: usize = 3;

static LEXICON: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), UNANSWERED)]));

/// The questions of a message that have a subject of their own, as byte ranges of its text, in order.
#[must_use]
pub fn questions(text: &str) -> Vec<Range<usize>> {
    let has_matter = |sentence: &&str| words(sentence).count() >= FEWEST_WORDS && !Gist::of(sentence).is_empty();
    let range = |sentence: &str| {
        let at = offset(text, sentence);
        at..at + sentence.len()
    };
    spoken(text).filter(|sentence| asks(sentence)).filter(has_matter).map(range).collect()
}

/// True if an answer with this text leaves the question open: "I don't know yet, let me check."
#[must_use]
pub fn leaves_open(text: &str) -> bool {
    spoken(text).any(|sentence| LEXICON.are_in(&words(sentence).map(|word| word.key).collect::<Vec<u64>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_a_matter_of_its_own() {
        let text = "Fine. Which platform does it leave from? Really? What about that?\n> Who pays the rent?";
        let asked: Vec<_> = questions(text).into_iter().map(|range| text.get(range).unwrap()).collect();
        assert_eq!(asked, ["Which platform does it leave from?"]);
    }

    #[test]
    fn an_answer_may_leave_a_question_open() {
        assert!(leaves_open("Good question. I don’t know yet."));
        assert!(leaves_open("Let me check with the station."));
        assert!(!leaves_open("From platform 9."));
    }
}
