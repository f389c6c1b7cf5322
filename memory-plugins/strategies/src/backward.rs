//! References of a message to an earlier one: follow-ups and corrections.

use std::sync::LazyLock;

use crate::{phrases::Phrases, spoken::spoken, words::words};

/// Phrases at the beginning of a message that corrects the other side.
const CORRECTS: &str = "that's wrong | that is wrong | that's not right | that is not right | that's not correct | \
                        that's incorrect | that is incorrect | that's not what | that is not what | not quite | you're wrong | \
                        you are wrong | wrong | no it's | no it is | no it isn't | no that's | no that is | no the | no not | \
                        no i said | no i don't | no i didn't | no we | wait no | das stimmt nicht | das ist falsch | nein das";
/// Phrases at the beginning of a message that corrects its own speaker.
const CORRECTS_OWN: &str = "i meant | i mean | no i meant | no i mean | sorry i meant | sorry i mean | sorry it's | sorry the | \
                            correction | scratch that | my mistake | i was wrong | i made a mistake | i made an error | \
                            i misspoke | i mistyped | i apologize for | i apologise for | you're right i | you are right i | \
                            actually make it | actually no | actually it's | actually it is | actually the | actually i | \
                            actually we | actually let's | make that | instead of that | ich meinte";
/// Phrases at the beginning of a message that continues an earlier one.
const FOLLOWS: &str = "and | also | what about | how about | as for | regarding | about the | about that | back to | \
                       going back to | coming back to | returning to | following up | to follow up | as a follow up | \
                       one more thing | another question | one more question | what if | why not | how so | in that case | \
                       like you said | as you said | you said | you mentioned | earlier you | you told me | if so | \
                       then what | so then | und | was ist mit | et";

/// Kind of a reference to an earlier message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Backward {
    /// Continues an earlier message.
    FollowsUp,
    /// Corrects an earlier message of the other side.
    Corrects,
    /// Corrects an earlier message of its own speaker.
    CorrectsOwn,
}

static LEXICON: LazyLock<Phrases<Backward>> = LazyLock::new(|| {
    Phrases::listed(&[
        (Backward::FollowsUp, FOLLOWS),
        (Backward::Corrects, CORRECTS),
        (Backward::CorrectsOwn, CORRECTS_OWN),
    ])
});

/// The reference in the first words of a message; of several matching phrases, the longest decides.
#[must_use]
pub fn backward(text: &str) -> Option<Backward> {
    let mut said = spoken(text);
    let first = said.next()?;
    // The phrase may span two sentences: "No. It's on Friday."
    let is_short = words(first).count() < 3;
    let keys: Vec<u64> =
        words(first).chain(said.next().filter(|_| is_short).into_iter().flat_map(words)).map(|word| word.key).collect();
    LEXICON.at(&keys).max_by_key(|(length, _)| *length).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Backward>) {
        assert_eq!(backward(text), expected, "{text}");
    }

    #[test]
    fn a_correction_says_whose_words_it_corrects() {
        check("That's wrong, the train leaves at 8.", Some(Backward::Corrects));
        check("No, it’s on Friday.", Some(Backward::Corrects));
        check("No. It's on Friday.", Some(Backward::Corrects));
        check("Sorry, I meant Thursday.", Some(Backward::CorrectsOwn));
        check("Actually, make it four people.", Some(Backward::CorrectsOwn));
    }

    #[test]
    fn a_follow_up_goes_on_with_something() {
        check("And what does the second one cost?", Some(Backward::FollowsUp));
        check("What about the hotel?", Some(Backward::FollowsUp));
        check("Going back to the invoices: who pays?", Some(Backward::FollowsUp));
    }

    #[test]
    fn other_beginnings_refer_to_nothing() {
        check("The train leaves at 8.", None);
        check("No.", None);
        check("Book a table, and what about wine?", None);
        check("```\nand or\n```", None);
    }
}
