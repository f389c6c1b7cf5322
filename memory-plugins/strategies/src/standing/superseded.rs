//! Finds sentences that a later sentence of the same conversation changes.

use std::collections::VecDeque;

use memory_core::NodeId;

use super::{
    Speaker, StandingKind, StandingLines, announcing, decisions, is_labelled_change, sentence::Sentence, standing,
    things,
};
use crate::{
    spoken::asks,
    terms::is_common,
    words::{Form, KeySet, Word},
};

/// A sentence of somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) text: &'a str,
    /// Number of its message.
    pub(crate) message: usize,
    /// True if a model or a tool said it.
    pub(crate) is_of_model: bool,
}

/// Maximum earlier sentences that a change is compared with.
const COMPARED: usize = 512;

/// A sentence that may be changed later.
struct Stated {
    index: usize,
    message: usize,
    things: Vec<u64>,
    figures: Vec<u64>,
}

/// For each sentence, true if a later one of a person changes it: "We use Redis", "Scratch Redis, we use RabbitMQ".
///
/// Also true for a reply directly after such a sentence that repeats its values: "Noted: Redis." In doubt true, because
/// a sentence that is left out misleads nobody.
pub(crate) fn superseded(said: &[Said<'_>]) -> Vec<bool> {
    let mut decided = StandingLines::default();
    for (sentence, one) in said.iter().enumerate().filter(|(_, one)| !one.is_of_model) {
        let mut found = standing(one.text, Speaker::User);
        found.retain(|found| match found.kind {
            StandingKind::Decision => true,
            StandingKind::Revocation => !decided.is_empty(),
            _ => false,
        });
        decided.add(NodeId::from_index(sentence), "", found);
    }
    let mut over = vec![false; said.len()];
    for (sentence, over) in over.iter_mut().enumerate() {
        *over = decided.is_ended(NodeId::from_index(sentence));
    }
    let mut before: VecDeque<Stated> = VecDeque::new();
    for (index, one) in said.iter().enumerate() {
        let sentence = Sentence::of(one.text);
        if !one.is_of_model && !asks(one.text) {
            for found in changed(&sentence, one.message, &before) {
                if let Some(over) = over.get_mut(found) {
                    *over = true;
                }
            }
        }
        let figures = sentence.words.iter().filter(|word| is_value(word)).map(|word| word.key).collect();
        before.push_back(Stated { index, message: one.message, things: things(&sentence.words), figures });
        if before.len() > COMPARED {
            before.pop_front();
        }
    }
    over
}

/// Indices of the earlier sentences that a sentence changes.
fn changed(sentence: &Sentence<'_>, message: usize, before: &VecDeque<Stated>) -> Vec<usize> {
    let keys = &sentence.keys;
    let mut found: Vec<usize> = Vec::new();
    if announcing::takes_back(keys) {
        // "Let's try GraphQL for a day. Hmm, I take that back": the sentence before.
        found.extend(before.back().filter(|last| last.message == message).map(|last| last.index));
    }
    let is_change = is_labelled_change(sentence.text)
        || announcing::changes(keys) && decisions::decided(sentence).is_some()
        || decisions::moves(sentence)
        || announcing::goes_back(keys)
        || decisions::corrects_value(sentence)
        || announcing::takes_back(keys);
    if !is_change {
        return found;
    }
    let subject: KeySet = things(&sentence.words).into_iter().collect();
    let shared = |things: &[u64]| things.iter().filter(|thing| subject.contains(thing)).count();
    // "We have to move the launch to 2 June" changes whatever date the launch had.
    let moved = decisions::moved(sentence);
    let has_moved = |stated: &Stated| {
        !moved.is_empty() && !stated.figures.is_empty() && moved.iter().all(|thing| stated.things.contains(thing))
    };
    let is_meant = |stated: &&Stated| {
        let shared = shared(&stated.things);
        has_moved(stated) || shared > 0 && 3 * shared >= stated.things.len()
    };
    let meant: Vec<&Stated> = before.iter().filter(is_meant).collect();
    // A reply to what is over repeats its values.
    let repeats = |reply: &&Stated| {
        meant.iter().any(|meant| {
            meant.message + 1 == reply.message && meant.figures.iter().any(|figure| reply.figures.contains(figure))
        })
    };
    found.extend(before.iter().filter(repeats).map(|reply| reply.index));
    found.extend(meant.iter().map(|stated| stated.index));
    found
}

/// True if a word is a value that a reply may repeat: a figure or a name.
fn is_value(word: &Word<'_>) -> bool {
    matches!(word.form, Form::Figure | Form::Capital | Form::Identifier) && !is_common(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentences that stand, of (message, speaker is a model, text).
    fn standing<'a>(said: &[(usize, bool, &'a str)]) -> Vec<&'a str> {
        let sentences: Vec<_> =
            said.iter().map(|&(message, is_of_model, text)| Said { text, message, is_of_model }).collect();
        let over = superseded(&sentences);
        said.iter().zip(over).filter(|(_, over)| !over).map(|((_, _, text), _)| *text).collect()
    }

    #[test]
    fn what_is_changed_later_stands_no_more() {
        for (before, change) in [
            ("We use Redis for the queue.", "Actually, scratch Redis, we use RabbitMQ."),
            ("Decision: Postgres 16, not SQLite.", "Then we change it: Postgres 17 everywhere instead of 16."),
            ("Go-live is 10 November.", "Moved: go-live is 24 November."),
            ("Reminders go out 24 hours before.", "Changed: reminders 36 hours before, people forget."),
            ("Appointments take 30 minutes, dental ones too.", "Dental appointments are 45, not 30."),
            ("Launch date: I promised the board 12 May.", "We have to move the launch to 2 June."),
            ("ok Stripe it is", "hmm, Stripe is too expensive."),
        ] {
            assert_eq!(standing(&[(0, false, before), (5, false, change)]), [change]);
            let other = "The clinic has four rooms.";
            assert_eq!(standing(&[(0, false, other), (5, false, change)]), [other, change]);
            assert!(standing(&[(0, false, change), (5, false, before)]).contains(&before));
        }
    }

    #[test]
    fn a_reply_that_repeats_it_goes_too() {
        let said = [
            (0, false, "Go-live is 10 November."),
            (1, true, "REST, 10 November, 24 hours."),
            (2, false, "Moved: go-live is 24 November."),
            (3, true, "24 November, then."),
        ];
        assert_eq!(standing(&said), [said[2].2, said[3].2]);
    }

    #[test]
    fn what_is_taken_back_in_the_same_breath() {
        let said = [
            (0, false, "We chose REST."),
            (1, false, "Let's try GraphQL for a day."),
            (1, false, "Hmm, I take that back, we stay with REST."),
        ];
        assert_eq!(standing(&said), [said[2].2]);
    }

    #[test]
    fn a_model_changes_nothing() {
        let said = [(0, false, "We use Redis for the queue."), (1, true, "Changed: Redis has a password.")];
        assert_eq!(standing(&said), [said[0].2, said[1].2]);
    }
}
