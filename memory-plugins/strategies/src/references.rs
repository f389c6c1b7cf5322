//! Questions in messages, answers that leave them open, and references to earlier messages and conversations.

use std::{ops::Range, sync::LazyLock};

use crate::{
    gist::Gist,
    phrases::{Phrases, phrase_lists},
    spoken::{asks, offset, spoken},
    standing::is_labelled_change,
    words::{keys, words},
};

phrase_lists! {
    /// Phrases of people who cannot answer yet.
    UNANSWERED_PHRASES = "i don't know yet | i do not know yet | i'm not sure yet | i am not sure yet | not sure yet | \
        i'll get back to you | i will get back to you | i'll let you know | i will let you know | i can't say yet | \
        i cannot say yet | i can't tell yet | i cannot tell yet | ask me later | remains to be seen | \
        not decided yet | ich weiß es noch nicht | das weiß ich noch nicht";
    /// Phrases of people who leave their own question open.
    UNDECIDED_PHRASES = "don't know yet | do not know yet | not sure yet | ask me later | ask me again | ask me next | \
        remains to be seen | not decided yet | haven't decided | have not decided | to be decided | i'll tell you later | \
        weiß ich noch nicht | weiß es noch nicht | noch nicht entschieden";
    /// Questions of an assistant that are offers or phrases of courtesy.
    OFFERS = "would you like | do you want me | shall i | should i | can i | may i | want me to | let me know | \
        how can i | how does that | does that | does this | do these | is there anything | anything else | \
        what do you think | are you ready | ready to | sound good | make sense | soll ich | möchtest du | kann ich";
}

/// Minimum words of a question; "Why?" asks about what was just said.
const FEWEST_WORDS: usize = 3;

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

/// True if an answer with this text leaves the question open: "I don't know yet."
#[must_use]
pub fn leaves_open(text: &str) -> bool {
    spoken(text).any(|sentence| UNANSWERED_PHRASES.are_in(&keys(sentence)))
}

/// True if a message with this text leaves its own question open: "Do we charge a fee? I don't know yet."
#[must_use]
pub fn is_undecided(text: &str) -> bool {
    spoken(text).any(|sentence| !asks(sentence) && UNDECIDED_PHRASES.are_in(&keys(sentence)))
}

/// True if a question of an assistant is an offer or courtesy, which nobody has to answer: "Would you like a sketch?"
#[must_use]
pub fn is_offer(question: &str) -> bool {
    OFFERS.are_in(&keys(question))
}

/// Phrases at the beginning of a message that corrects the other side.
const CORRECTS: &str = "that's wrong | that is wrong | that's not right | that is not right | that's not correct | \
                        that's incorrect | that is incorrect | that's not what | that is not what | not quite | you're wrong | \
                        you are wrong | wrong | no it's | no it is | no it isn't | no that's | no that is | no the | no not | \
                        no i said | no i don't | no i didn't | no we | wait no | das stimmt nicht | das ist falsch | nein das";
/// Phrases at the beginning of a message that corrects its own speaker.
const CORRECTS_OWN: &str = "then we change it | we change it | change of plan | \
                            change of plans | new decision | i meant | i mean | no i meant | no i mean | sorry i meant | sorry i mean | sorry it's | sorry the | \
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

static REFERENCES: LazyLock<Phrases<Backward>> = LazyLock::new(|| {
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
    if is_labelled_change(first) {
        return Some(Backward::CorrectsOwn);
    }
    // The phrase may span two sentences: "No. It's on Friday."
    let is_short = words(first).count() < 3;
    let keys: Vec<u64> =
        words(first).chain(said.next().filter(|_| is_short).into_iter().flat_map(words)).map(|word| word.key).collect();
    REFERENCES.at(&keys).max_by_key(|(length, _)| *length).map(|(_, meaning)| *meaning)
}

phrase_lists! {
    /// Phrases that refer to an earlier conversation.
    EARLIER = "as we discussed | we discussed | as discussed | we talked about | we talked | we spoke | \
        we were talking | we chatted | you told me | i told you | you said | last time | previous conversation | \
        earlier conversation | last conversation | other conversation | our conversation | conversation about | \
        chat about | discussion about | session about | our chat | last chat | previous chat | earlier chat | \
        previous session | last session | earlier session | remember when | do you remember | as i said | \
        as i mentioned | i mentioned | as mentioned | you mentioned | we agreed | we decided | you suggested | \
        you recommended | you proposed | we planned | we settled | like last time | the other day | we looked at | \
        we worked on | we went through | wie besprochen | wir haben besprochen | letztes mal | comme discuté | \
        como hablamos";
}

/// True if a text refers to an earlier conversation: "as we discussed in the Rome trip".
#[must_use]
pub fn speaks_of_earlier(text: &str) -> bool {
    spoken(text).any(|sentence| EARLIER.are_in(&keys(sentence)))
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
        assert!(!leaves_open("Let me check with the station."), "a model checks and answers");
        assert!(!leaves_open("From platform 9."));
    }

    #[test]
    fn somebody_may_leave_their_own_question_open() {
        assert!(is_undecided("Do we charge a fee for no-shows? I don't know yet, ask me next week."));
        assert!(!is_undecided("Do you not know yet whether we charge a fee?"));
        assert!(is_offer("Would you like me to sketch the schema?") && !is_offer("Which database do you use?"));
    }

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
        check("Moved: go-live is 24 November.", Some(Backward::CorrectsOwn));
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

    #[test]
    fn talk_of_earlier_talk_is_noticed() {
        for text in [
            "As we discussed in the Rome trip, which hotel was it?",
            "Last week we talked about the budget.",
            "Do you remember the name of the plumber?",
        ] {
            assert!(speaks_of_earlier(text), "{text}");
        }
        for text in ["Which hotel in Rome is quiet?", "> as we discussed", "Last week it rained."] {
            assert!(!speaks_of_earlier(text), "{text}");
        }
    }
}
