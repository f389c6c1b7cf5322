//! Questions that have no answer yet.

use memory_core::{Node, NodeKind};
use memory_strategies::{Gist, leaves_open, questions};

use super::Statement;

/// Questions that are followed: the newest.
const MOST: usize = 64;

/// The questions of a conversation that have no answer yet, by rules.
///
/// The next message of the other side answers a question, unless it says that it cannot yet. Then the question stays
/// open until a later message has half of its informative words.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    asked: Vec<Asked>,
}

#[derive(Debug)]
struct Asked {
    statement: Statement,
    by: NodeKind,
    gist: Gist,
    /// True if the other side has said that it cannot answer yet.
    is_left_open: bool,
}

impl OpenQuestions {
    /// Adds the next message with words.
    pub(super) fn add(&mut self, node: &Node, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let (by, leaves_open, said) = (node.kind(), leaves_open(text), Gist::of(text));
        self.asked.retain_mut(|question| {
            if question.is_left_open {
                return leaves_open || 2 * question.gist.shared(&said) < question.gist.len().max(1);
            }
            question.is_left_open = question.by != by && leaves_open;
            question.by == by || question.is_left_open
        });
        for range in questions(text) {
            let part = text.get(range).unwrap_or_default();
            let (statement, gist) = (Statement::of(node, part), Gist::of(part));
            self.asked.push(Asked { statement, by, gist, is_left_open: false });
        }
        let from = self.asked.len().saturating_sub(MOST);
        self.asked.drain(..from);
    }

    pub(super) fn statements(&self) -> Vec<Statement> {
        self.asked.iter().map(|question| question.statement.clone()).collect()
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
    fn a_question_of_the_model_is_the_users_to_answer() {
        let asked = Message::assistant("Do you prefer the night train or the plane?");
        assert_eq!(open(std::slice::from_ref(&asked)).len(), 1);
        assert_eq!(open(&[asked, Message::user("The train.")]), [""; 0]);
    }
}
