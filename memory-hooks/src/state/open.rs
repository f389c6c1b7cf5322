//! Questions that have no answer yet.

use memory_core::{Node, Role};
use memory_strategies::{Gist, is_offer, is_undecided, leaves_open, questions};

use super::Statement;

/// Questions that are followed: the newest.
const MOST: usize = 64;
/// Messages after which a conversation without a model is a meeting.
const MEETING: u64 = 40;
/// Most words of an answer that leaves a question open; a longer one answers something.
const SHORT: usize = 40;

/// The questions of a conversation that have no answer yet, by rules.
///
/// The next message of another speaker answers a question, unless it says that it cannot yet, or the asker said that it
/// is undecided. Then the question stays open until a later message has half of its informative words, or the other
/// side goes on. Of a model, only a question at the end of its message counts, unless it is an offer.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    asked: Vec<Asked>,
    /// Speaker of the last message.
    last: String,
    /// Number of messages.
    said: u64,
    /// True if a model, or somebody in its place, speaks.
    has_model: bool,
}

#[derive(Debug)]
struct Asked {
    statement: Statement,
    gist: Gist,
    /// True if its asker said that it is undecided.
    is_undecided: bool,
    /// True if the other side has said that it cannot answer yet.
    is_left_open: bool,
}

impl OpenQuestions {
    /// Adds the next message with words.
    pub(super) fn add(&mut self, node: &Node, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let by = node.message.voice();
        let leaves_open = text.split_whitespace().nth(SHORT).is_none() && leaves_open(text);
        let said = Gist::of(text);
        // "I don't know yet." "Found it: 40 euros."
        let goes_on = self.last == by;
        self.asked.retain_mut(|question| {
            let is_own = question.statement.speaker == by;
            if question.is_left_open || question.is_undecided {
                let is_taken_up = 2 * question.gist.shared(&said) >= question.gist.len().max(1);
                return leaves_open || !is_taken_up && (question.is_undecided || is_own || !goes_on);
            }
            question.is_left_open = !is_own && leaves_open;
            is_own || question.is_left_open
        });
        let is_model = by.eq_ignore_ascii_case(Role::Assistant.as_str());
        let found = questions(text);
        for range in &found {
            let part = text.get(range.clone()).unwrap_or_default();
            // Within its answer a model asks for the sake of the answer.
            if is_model && (found.len() > 1 || text.trim_end().len() > range.end || is_offer(part)) {
                continue;
            }
            // Doubts before a question leave another one open.
            let is_undecided = text.get(range.start..).is_some_and(is_undecided);
            let (statement, gist) = (Statement::of(node, part), Gist::of(part));
            self.asked.push(Asked { statement, gist, is_undecided, is_left_open: false });
        }
        let from = self.asked.len().saturating_sub(MOST);
        self.asked.drain(..from);
        by.clone_into(&mut self.last);
        self.said += 1;
        self.has_model |= node.message.role == Role::Assistant;
    }

    pub(crate) fn statements(&self) -> Vec<Statement> {
        // "Is everybody content?" ends a meeting.
        let is_meeting = !self.has_model && self.said > MEETING;
        let is_open = |asked: &&Asked| !is_meeting || asked.is_left_open || asked.is_undecided;
        self.asked.iter().filter(is_open).map(|question| question.statement.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, NodeId, Timestamp};

    use super::*;

    fn open(messages: &[Message]) -> Vec<String> {
        let mut open = OpenQuestions::default();
        for (index, message) in messages.iter().enumerate() {
            let node = Node::new(NodeId::from_index(index), message.clone(), Timestamp::default());
            open.add(&node, &message.text());
        }
        open.statements().into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn a_question_is_open_until_the_other_side_answers() {
        let asked = Message::user("Which platform does the train leave from?");
        assert_eq!(open(std::slice::from_ref(&asked)), ["Which platform does the train leave from?"]);
        assert_eq!(open(&[asked.clone(), Message::user("It is urgent.")]).len(), 1, "the same side answers nothing");
        assert_eq!(open(&[asked, Message::assistant("From platform 9.")]), [""; 0]);
    }

    #[test]
    fn an_answer_that_knows_nothing_leaves_the_question_open_until_its_words_come_up_again() {
        let asked = Message::user("What does the rental car in Palermo cost?");
        let mut talk = vec![asked, Message::assistant("I don't know yet, let me ask them."), Message::user("Fine.")];
        assert_eq!(open(&talk), ["What does the rental car in Palermo cost?"]);
        talk.push(Message::assistant("The rental car in Palermo is 40 euros a day."));
        assert_eq!(open(&talk), [""; 0]);
    }

    #[test]
    fn a_question_that_its_asker_leaves_open_survives_the_reply() {
        let fee = "Do we charge a fee for no-shows?";
        let asked = Message::user(format!("{fee} I don't know yet, ask me next week."));
        let mut talk = vec![asked, Message::assistant("I'll ask you next week."), Message::user("Fine.")];
        assert_eq!(open(&talk), [fee]);
        talk.push(Message::user("We charge a fee of 20 euros for no-shows."));
        assert_eq!(open(&talk), [""; 0]);
    }

    #[test]
    fn what_is_said_before_a_question_leaves_that_one_answerable() {
        let asked = Message::user("The tiles I don't know yet. Do we need a permit for the balcony?");
        let talk = [asked, Message::assistant("No, a balcony of that size needs none.")];
        assert_eq!(open(&talk), [""; 0]);
    }

    #[test]
    fn who_defers_an_answer_leaves_the_question_open_and_who_asks_for_a_rule_asks_nothing() {
        let asked = Message::assistant("Shall the cabin be wood or brick?");
        for answer in ["Let me sleep on it.", "Hm, let's not decide that today.", "I have to ask my brother first."] {
            let talk = [asked.clone(), Message::user(answer), Message::assistant("Take your time.")];
            assert_eq!(open(&talk), ["Shall the cabin be wood or brick?"], "{answer}");
        }
        assert_eq!(open(&[asked, Message::user("Brick."), Message::assistant("Noted.")]), [""; 0]);
        assert_eq!(open(&[Message::user("Could you always give prices with tax?")]), [""; 0]);
    }

    #[test]
    fn a_model_that_goes_on_has_its_answer() {
        let asked = Message::user("Which module parses the invoices?");
        let talk = [asked, Message::assistant("I don't know yet, I search."), Message::assistant("It is the ledger.")];
        assert_eq!(open(&talk), [""; 0]);
    }

    #[test]
    fn an_offer_is_no_question() {
        assert_eq!(open(&[Message::assistant("Would you like me to sketch the schema?")]), [""; 0]);
    }

    #[test]
    fn another_person_answers_too() {
        let by = |name: &str, text: &str| Message::user(text).speaker(name);
        let talk = [by("Ana", "Which colour has the remote control?"), by("Ben", "It is yellow.")];
        assert_eq!(open(&talk), [""; 0]);
    }

    #[test]
    fn a_question_of_the_model_is_the_users_to_answer() {
        let asked = Message::assistant("Do you prefer the night train or the plane?");
        assert_eq!(open(std::slice::from_ref(&asked)).len(), 1);
        assert_eq!(open(&[asked, Message::user("The train.")]), [""; 0]);
    }
}
