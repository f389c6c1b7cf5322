//! Questions in messages, answers that leave them open, and references to earlier messages and conversations.

use std::{ops::Range, sync::LazyLock};

use crate::{
    gist::Gist,
    phrases::{Phrases, phrase_lists},
    sentences::sentences,
    spoken::{asks, offset, spoken, spoken_lines},
    standing::{asks_for_rule, corrects_value, is_labelled_change, is_labelled_open},
    words::{Word, keys, words},
};

phrase_lists! {
    /// Phrases of people who cannot answer yet.
    UNANSWERED_PHRASES = "i don't know yet | i do not know yet | i'm not sure yet | i am not sure yet | not sure yet | \
        i'll get back to you | i will get back to you | i'll let you know | i will let you know | i can't say yet | \
        i cannot say yet | i can't tell yet | i cannot tell yet | ask me later | remains to be seen | \
        not decided yet | let me think about it | let me think about that | let me sleep on it | let me sleep on that | \
        i'll sleep on it | i'll think about it | i'll think about that | i'll have to think about it | \
        i need to think about it | let's not decide that today | let's not decide that yet | let's not decide that now | \
        can't decide that today | can't decide that yet | can't decide that now | let's decide that later | \
        let's leave that open | let's park that | let's park it | i'll have to ask | i have to ask | i need to ask | \
        i let that simmer | need to let that simmer | ich weiß es noch nicht | das weiß ich noch nicht | \
        ich muss darüber schlafen";
    /// Phrases of people who leave their own question open.
    UNDECIDED_PHRASES = "don't know yet | do not know yet | not sure yet | ask me later | ask me again | ask me next | \
        remains to be seen | not decided yet | haven't decided | have not decided | to be decided | i'll tell you later | \
        weiß ich noch nicht | weiß es noch nicht | wissen wir noch nicht | noch nicht entschieden | noch nicht sicher";
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
    // "Could you always give both units?" is a rule, which no answer ends.
    let is_question = |sentence: &&str| asks(sentence) && !asks_for_rule(sentence);
    spoken(text).filter(is_question).filter(has_matter).map(range).collect()
}

/// True if an answer with this text leaves the question open: "I don't know yet."
#[must_use]
pub fn leaves_open(text: &str) -> bool {
    spoken(text).any(|sentence| UNANSWERED_PHRASES.are_in(&keys(sentence)))
}

/// True if a message with this text leaves its own question open: "Do we charge a fee? I don't know yet."
#[must_use]
pub fn is_undecided(text: &str) -> bool {
    let is_said = |sentence: &str| !asks(sentence) && UNDECIDED_PHRASES.are_in(&keys(sentence));
    spoken(text).any(|sentence| is_said(sentence) || is_labelled_open(sentence))
}

/// True if a question of an assistant is an offer or courtesy, which needs no answer: "Would you like a sketch?"
#[must_use]
pub fn is_offer(question: &str) -> bool {
    OFFERS.are_in(&keys(question))
}

/// Phrases at the beginning of a sentence that corrects the other side.
const CORRECTS: &str = "that's wrong | that is wrong | that's not right | that is not right | that's not correct | \
                        that is not correct | that's incorrect | that is incorrect | that's not what i said | \
                        that is not what i said | you're wrong | you are wrong | you got that wrong | no i said | \
                        das stimmt nicht | das ist falsch";
/// Phrases at the beginning of a sentence that corrects its own speaker.
const CORRECTS_OWN: &str = "then we change it | we change it | change of plan | change of plans | new decision | on second thought | \
                            correction | correcting | scratch that | scratch this | scratch it | scratch the | actually scratch | \
                            scrap that | scrap this | scrap it | scrap the | actually scrap | my mistake | i was wrong | i was mistaken | \
                            i made a mistake | i made an error | i apologize for the error | \
                            i apologize for the mistake | i apologize for the confusion | i apologise for the error | \
                            change it to | change that to | korrektur | ich habe mich geirrt";
/// Phrases at the beginning of a sentence that corrects what its speaker just said.
const SLIPPED: &str = "sorry i meant | sorry i mean | no i meant | oops i meant | i meant to say | i meant to write | \
                       i misspoke | i mistyped | actually make it | actually make that";
/// Phrases at the beginning of a message that name an earlier one.
const FOLLOWS: &str = "going back to | coming back to | to come back to | returning to | following up on | to follow up on | \
                       as a follow up to | as you said | like you said | you said | as you mentioned | you mentioned | \
                       earlier you said | earlier you mentioned | you told me | you asked about | about your question | \
                       about what you said | regarding what you said | to answer your question | zurück zu | wie du sagtest | \
                       du hast gesagt";

crate::phrases::word_lists! {
    /// Words before the phrase of a reference.
    LEADS = "oh ok okay well hmm wait actually so and but yeah yes hey oops first also then now sorry no";
    /// Words before the day of what is meant: "Correction to the decision of 2 March".
    MEANT = "decision decided said told wrote message plan answer rule figure entry number entscheidung";
}

/// Maximum sentences of a message among which a correction is looked for.
const TRIED: usize = 6;
/// Maximum bytes of a title in which the day of what is corrected is named.
const TITLE: usize = 120;

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

/// A reference to an earlier message, by an explicit phrase.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reference {
    /// Its kind.
    pub kind: Backward,
    /// Informative words of what it says, without the phrase.
    pub gist: Gist,
    /// These words without bare figures: the subject, which the earlier message must share.
    pub things: Gist,
    /// The words that name the day of the earlier message: "the decision of 2 March".
    pub day: Option<String>,
    /// True if the last message that may be meant is, where none shares the subject: "Sorry, I meant the barn."
    pub is_of_last: bool,
}

/// Kinds of references, and whether they are of the last message that may be meant.
static REFERENCES: LazyLock<Phrases<(Backward, bool)>> = LazyLock::new(|| {
    Phrases::listed(&[
        ((Backward::FollowsUp, false), FOLLOWS),
        ((Backward::Corrects, true), CORRECTS),
        ((Backward::CorrectsOwn, false), CORRECTS_OWN),
        ((Backward::CorrectsOwn, true), SLIPPED),
    ])
});

/// The reference of a message: the first correction in its first sentences, otherwise what its first words continue.
///
/// Only explicit phrases count; "I mean", "actually" and "and" begin anything. A question corrects nothing.
#[must_use]
pub fn backward(text: &str) -> Option<Reference> {
    // "Scratch or Tynker" in a list is a program.
    let lines = spoken_lines(text).filter(|line| !line.is_item);
    let said: Vec<&str> = lines.flat_map(|line| sentences(line.text)).take(TRIED + 1).collect();
    let references = said.iter().enumerate().take(TRIED).filter_map(|(index, sentence)| {
        let (kind, is_of_last, begin) =
            refers(sentence).filter(|(kind, ..)| *kind != Backward::FollowsUp || index == 0)?;
        // "I was wrong. The train leaves at 8."
        let own = sentence.get(begin..).unwrap_or_default();
        let next = said.get(index + 1).copied().filter(|_| Gist::of(own).is_empty()).unwrap_or_default();
        let matter = format!("{own} {next}");
        let (gist, things) = (Gist::of(&matter), Gist::things_of(&matter));
        (!things.is_empty()).then(|| Reference { kind, gist, things, day: day(sentence, begin), is_of_last })
    });
    references.max_by_key(|reference| reference.kind != Backward::FollowsUp)
}

/// Phrases at the beginning of a message that goes on with the last one.
const GOES_ON: &str = "and | also | what about | how about | as for | regarding | about the | about that | back to | going back to | \
                       coming back to | returning to | following up | to follow up | as a follow up | one more thing | \
                       another question | one more question | what if | why not | how so | in that case | like you said | \
                       as you said | you said | you mentioned | earlier you | you told me | if so | then what | so then | \
                       und | was ist mit | et";
static GOES_ON_PHRASES: LazyLock<Phrases<()>> = LazyLock::new(|| Phrases::listed(&[((), GOES_ON)]));

/// True if the first words of a message go on with the last one: "And what about breakfast?"
#[must_use]
pub fn goes_on(text: &str) -> bool {
    spoken(text).next().is_some_and(|first| GOES_ON_PHRASES.at(&keys(first)).next().is_some())
}

/// Kind of the reference of a sentence, whether it is of the last message, and the byte at which its content begins.
fn refers(sentence: &str) -> Option<(Backward, bool, usize)> {
    if asks(sentence) {
        return None;
    }
    let all: Vec<Word<'_>> = words(sentence).collect();
    let keys: Vec<u64> = all.iter().map(|word| word.key).collect();
    let leads = keys.iter().position(|key| !LEADS.contains(key)).unwrap_or(0);
    let found = (0..=leads).flat_map(|at| {
        let from = keys.get(at..).unwrap_or_default();
        REFERENCES.at(from).map(move |(length, kind)| (at + length, *kind))
    });
    let end_of = |after: usize| {
        let last = after.checked_sub(1).and_then(|last| all.get(last));
        last.map_or(0, |word| word.at + word.text.len())
    };
    if let Some((after, (kind, is_of_last))) = found.max_by_key(|(after, _)| *after) {
        return Some((kind, is_of_last, end_of(after)));
    }
    if is_labelled_change(sentence) {
        return Some((Backward::CorrectsOwn, false, sentence.find(':').unwrap_or(0)));
    }
    corrects_value(sentence).then_some((Backward::CorrectsOwn, false, 0))
}

/// The words that name the day of what is corrected: behind the phrase, up to a colon or the end of a short sentence.
fn day(sentence: &str, begin: usize) -> Option<String> {
    let behind = sentence.get(begin..)?;
    let title = match behind.split_once(':') {
        Some((title, _)) => title,
        None => behind,
    };
    let names = words(title).any(|word| MEANT.contains(&word.key)) && title.len() <= TITLE;
    // "Monday's decision" is one of Monday.
    let time = |word: &str| match word {
        "to" | "of" | "from" => "on".to_owned(),
        _ => word.trim_end_matches("'s").trim_end_matches("’s").to_owned(),
    };
    names.then(|| title.split_whitespace().map(time).collect::<Vec<_>>().join(" "))
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
        assert_eq!(backward(text).map(|found| found.kind), expected, "{text}");
    }

    #[test]
    fn a_correction_says_so_and_whose_words_it_corrects() {
        check("That's wrong, the train leaves at 8.", Some(Backward::Corrects));
        check("No, I said the hall in Ghent.", Some(Backward::Corrects));
        for own in [
            "Sorry, I meant the rooms in Lisbon.",
            "Actually, make it four people.",
            "Moved: go-live is 24 November.",
            "Correction to the decision of 2 March: the ceiling is a sum.",
            "**Correction to Monday's decision 2.** A hash says whether two files are the same.",
            "You are right. Correction: the cause was known after ten minutes.",
            "I was wrong. The museum closes on Monday.",
            "Then we change it: Postgres 17 everywhere instead of 16.",
            "ok. one thing I noticed. scrap the fixed window.",
            "Dental appointments are 45, not 30.",
            "Actually, scratch Redis, we use RabbitMQ.",
        ] {
            check(own, Some(Backward::CorrectsOwn));
        }
    }

    #[test]
    fn filler_words_correct_nothing() {
        for text in [
            "I mean, the remote is yellow.",
            "I meant the other one, the slides.",
            "No, not yet.",
            "No, it's the same as the buttons.",
            "Actually the market is quite small.",
            "Actually I like the banana shape.",
            "Sorry, the projector is slow.",
            "Not quite the same colour.",
            "Wrong button, the remote has two.",
            "Make that a habit in the team.",
            "Was I wrong about the remote?",
            "Correction: ",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_correction_names_its_subject_and_perhaps_its_day() {
        let found = backward("**Correction to the decision of 2 March:** the ceiling is a sum.").unwrap();
        assert!(found.day.as_deref().is_some_and(|day| day.contains("2 March")), "{:?}", found.day);
        let found = backward("**Correction to Monday's decision 2.** A hash is no identity.").unwrap();
        assert!(found.day.as_deref().is_some_and(|day| day.contains("Monday ")), "{:?}", found.day);
        assert_eq!(backward("Moved: go-live is 24 November.").unwrap().day, None);
        assert!(backward("- Scratch, Tynker and Blockly are programs\n- scrap the rest").is_none());
        let found = backward("I was wrong. The museum closes at 8.").unwrap();
        assert_eq!((found.things.len(), found.things.shared(&Gist::of("museum closes"))), (2, 2));
    }

    #[test]
    fn a_follow_up_names_what_it_goes_on_with() {
        check("Going back to the invoices: we pay.", Some(Backward::FollowsUp));
        check("You mentioned the hotel near the harbour.", Some(Backward::FollowsUp));
        check("And it's night.", None);
        check("And what does the second one cost?", None);
        check("What about the hotel?", None);
        check("Also, the invoices.", None);
    }

    #[test]
    fn a_question_may_go_on_with_the_last_message() {
        assert!(goes_on("And what does the second one cost?") && goes_on("What about the hotel?"));
        assert!(!goes_on("Which hotel is quiet?") && !goes_on("> and so on"));
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
