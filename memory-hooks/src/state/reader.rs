//! Reads messages in their order for the state of a conversation.

use memory_core::{Node, Role};
use memory_strategies::Subjects;

use super::{Statement, open::OpenQuestions};
use crate::title::words;

/// First messages of the user among which a wish is the goal; later ones are steps on the way.
const FIRST: u64 = 2;

/// Facts known after some messages.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) subjects: Subjects,
    pub(super) open: OpenQuestions,
    /// Last explicitly stated goal.
    stated: Option<Statement>,
    /// First wish at the beginning.
    wished: Option<Statement>,
    /// Number of messages of the user.
    asked: u64,
}

impl Reader {
    /// Adds the next message. No word of a message that is excluded from summaries is used, and none of calls and
    /// results.
    pub(super) fn add(&mut self, node: &Node) {
        let message = &node.message;
        if message.keep_out_of_summaries || matches!(message.said_as(), Role::Tool | Role::System) {
            return;
        }
        let text = words(message);
        self.subjects.add(node.id, &text, &node.topics);
        self.open.add(node, &text);
        if message.role == Role::User {
            self.add_goal(node, &text);
        }
    }

    fn add_goal(&mut self, node: &Node, text: &str) {
        self.asked += 1;
        let Some(goal) = memory_strategies::goal(text) else { return };
        let Some(part) = text.get(goal.at..goal.at + goal.bytes) else { return };
        if goal.is_stated {
            self.stated = Some(Statement::of(node, part));
        } else if self.asked <= FIRST && self.wished.is_none() {
            self.wished = Some(Statement::of(node, part));
        }
    }

    /// The goal: the last one that is called so, or else the first wish.
    pub(super) fn goal(&self) -> Option<Statement> {
        self.stated.as_ref().or(self.wished.as_ref()).cloned()
    }
}
