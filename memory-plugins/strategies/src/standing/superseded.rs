//! Finds sentences that a later sentence of the same conversation changes.

use std::collections::{HashSet, VecDeque};

use memory_core::NodeId;

use super::{
    Speaker, StandingKind, StandingLines, announcing, decisions, is_labelled_change, sentence::Sentence, standing,
    things,
};
use crate::{
    sentences::whole_sentences,
    spoken::{asks, spoken_lines},
    terms::is_common,
    words::{Form, KeySet, Word, keys},
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

/// Separator of the parts of a summary.
const PARTS: &str = " | ";

/// A sentence that may be changed later.
struct Stated {
    index: usize,
    message: usize,
    things: Vec<u64>,
    figures: Vec<u64>,
}

impl Stated {
    fn of(index: usize, message: usize, sentence: &Sentence<'_>) -> Self {
        let figures = sentence.words.iter().filter(|word| is_value(word)).map(|word| word.key).collect();
        Self { index, message, things: things(&sentence.words), figures }
    }
}

/// For each sentence, true if a later one of a person changes it: "We use Redis", "Scratch Redis, we use RabbitMQ".
///
/// A reply directly after such a sentence that repeats its values is changed too: "Noted: Redis." A doubt counts as a
/// change, because a sentence that is left out does not mislead.
pub(crate) fn superseded(said: &[Said<'_>]) -> Vec<bool> {
    let mut decided = StandingLines::default();
    // The number of a sentence stands for its offset.
    let mut places: Vec<(NodeId, u32)> = Vec::with_capacity(said.len());
    for one in said {
        let node = NodeId::from_index(one.message);
        let at = places.last().filter(|(last, _)| *last == node).map_or(0, |(_, at)| at + 1);
        places.push((node, at));
    }
    for (one, (node, at)) in said.iter().zip(&places).filter(|(one, _)| !one.is_of_model) {
        let mut found = standing(one.text, Speaker::User);
        found.retain(|found| match found.kind {
            StandingKind::Decision => true,
            StandingKind::Revocation => !decided.is_empty(),
            _ => false,
        });
        if !found.is_empty() {
            found.iter_mut().for_each(|found| found.at = *at);
            decided.add(*node, "", found);
        }
    }
    let mut over = vec![false; said.len()];
    let ended: HashSet<_> = decided.ended().collect();
    over.iter_mut().zip(&places).for_each(|(over, place)| *over = ended.contains(place));
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
        before.push_back(Stated::of(index, one.message, &sentence));
        if before.len() > COMPARED {
            before.pop_front();
        }
    }
    over
}

/// The sentences of messages that later ones changed, which a summary written before may still have.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    sentences: HashSet<Vec<u64>>,
    speakers: HashSet<String>,
}

impl Ended {
    /// Changed sentences of a conversation with these speakers, by name or role.
    #[must_use]
    pub fn among<'a>(speakers: impl IntoIterator<Item = &'a str>) -> Self {
        Self { sentences: HashSet::new(), speakers: speakers.into_iter().map(str::to_owned).collect() }
    }

    /// Adds a changed sentence.
    pub fn add(&mut self, sentence: &str) {
        self.sentences.insert(keys(sentence));
    }

    /// Adds the sentences of a summary that later ones of persons, as [`changing`] finds them, change.
    pub fn add_changed_of<'a>(&mut self, summary: &str, by: impl IntoIterator<Item = &'a str>) {
        let mut before: VecDeque<Stated> = VecDeque::new();
        let mut texts = Vec::new();
        for (message, part) in summary.split(PARTS).enumerate() {
            for text in whole_sentences(self.without_name(part).1) {
                before.push_back(Stated::of(texts.len(), message, &Sentence::of(text)));
                texts.push(text);
            }
        }
        for sentence in by {
            for index in changed(&Sentence::of(sentence), usize::MAX, &before) {
                self.sentences.extend(texts.get(index).map(|text| keys(text)));
            }
        }
    }

    /// A part of a summary, and the name of its speaker before it.
    fn without_name<'a>(&self, part: &'a str) -> (Option<&'a str>, &'a str) {
        let named = part.split_once(": ").filter(|(name, _)| self.speakers.contains(*name));
        named.map_or((None, part), |(name, said)| (Some(name), said))
    }

    /// The text of a summary over the messages without these sentences. Its parts are separated by ` | `, and begin
    /// with the name of their speaker where that changes.
    #[must_use]
    pub fn left_out_of(&self, summary: &str) -> String {
        if self.sentences.is_empty() {
            return summary.to_owned();
        }
        let mut kept: Vec<String> = Vec::new();
        // Name of a part that is left out, for the next one of its speaker.
        let mut name = None;
        for part in summary.split(PARTS) {
            let (own, said) = self.without_name(part);
            name = own.or(name);
            let sentences: Vec<_> = whole_sentences(said).collect();
            let standing: Vec<_> =
                sentences.iter().filter(|sentence| !self.sentences.contains(&keys(sentence))).copied().collect();
            if standing.is_empty() && !sentences.is_empty() {
                continue;
            }
            let said = if standing.len() == sentences.len() { said.to_owned() } else { standing.join(" ") };
            kept.push(name.take().map_or_else(|| said.clone(), |name| format!("{name}: {said}")));
        }
        kept.join(PARTS)
    }
}

/// Sentences of a person's message that change what was said before.
#[must_use]
pub fn changing(text: &str) -> Vec<&str> {
    let sentences = spoken_lines(text).flat_map(|line| whole_sentences(line.text));
    sentences.filter(|text| !asks(text) && is_change(&Sentence::of(text))).collect()
}

/// True if a sentence changes what was said before.
fn is_change(sentence: &Sentence<'_>) -> bool {
    let keys = &sentence.keys;
    is_labelled_change(sentence.text)
        || announcing::changes(keys) && decisions::decided(sentence).is_some()
        || decisions::moves(sentence)
        || announcing::goes_back(keys)
        || decisions::corrects_value(sentence)
        || announcing::takes_back(keys)
}

/// Indices of the earlier sentences that a sentence changes.
fn changed(sentence: &Sentence<'_>, message: usize, before: &VecDeque<Stated>) -> Vec<usize> {
    let keys = &sentence.keys;
    let mut found: Vec<usize> = Vec::new();
    if announcing::takes_back(keys) {
        // "Let's try GraphQL for a day. Hmm, I take that back": the sentence before.
        found.extend(before.back().filter(|last| last.message == message).map(|last| last.index));
    }
    if !is_change(sentence) {
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
    fn a_summary_of_summaries_loses_what_was_ended() {
        let summary = "user: Launch date: I promised the board 12 May. | Decision: Postgres at Hetzner, gateway with a \
                       queue. | Login links are fine. | assistant: Ok. | user: Let's use SQLite, on an SSD.";
        let kept = "user: Login links are fine. | assistant: Ok. | user: Let's use SQLite, on an SSD.";
        let mut ended = Ended::among(["user", "assistant"]);
        ended.add("Decision: Postgres at Hetzner, gateway with a queue.");
        let later = changing("Fine. We have to move the launch to 2 June. Is that all?");
        assert_eq!(later, ["We have to move the launch to 2 June."]);
        ended.add_changed_of(summary, later);
        assert_eq!(ended.left_out_of(summary), kept);
    }

    #[test]
    fn a_model_changes_nothing() {
        let said = [(0, false, "We use Redis for the queue."), (1, true, "Changed: Redis has a password.")];
        assert_eq!(standing(&said), [said[0].2, said[1].2]);
    }
}
