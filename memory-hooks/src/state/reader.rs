//! Reads messages in their order for the state of a conversation.

use memory_core::{Node, NodeId, Role};
use memory_strategies::{Gist, Subjects};

use super::{Statement, open::OpenQuestions};

/// Wishes that are kept: the newest.
const MOST_WISHES: usize = 64;
/// Messages after which a stated goal gives way to a later wish.
const HOLDS: u64 = 200;
/// Messages after which the recency of a wish counts half as much.
const HALF_LIFE: f64 = 100.0;

/// Facts known after some messages.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) subjects: Subjects,
    pub(super) open: OpenQuestions,
    /// Last explicitly stated goal.
    stated: Option<Statement>,
    wishes: Vec<Statement>,
}

impl Reader {
    /// Adds the next message. No word of a message that is excluded from summaries is used.
    pub(super) fn add(&mut self, node: &Node) {
        let message = &node.message;
        let text = message.text();
        let is_tool = message.role == Role::Tool || message.tool_results().next().is_some();
        if message.keep_out_of_summaries || is_tool || message.role == Role::System {
            return;
        }
        self.subjects.add(node.id, &text, &node.topics);
        self.open.add(node, &text);
        if message.role == Role::User {
            self.add_goal(node, &text);
        }
    }

    fn add_goal(&mut self, node: &Node, text: &str) {
        let Some(goal) = memory_strategies::goal(text) else { return };
        let Some(part) = text.get(goal.at..goal.at + goal.bytes) else { return };
        let statement = Statement::of(node, part);
        if goal.is_stated {
            self.stated = Some(statement);
            return;
        }
        if self.wishes.len() == MOST_WISHES {
            self.wishes.remove(0);
        }
        self.wishes.push(statement);
    }

    /// The current goal, in a conversation that is about `frequent`.
    pub(super) fn goal(&self, frequent: &str) -> Option<Statement> {
        let about = Gist::of(frequent);
        let last = self.wishes.last().map(|wish| wish.node);
        let holds = |stated: &&Statement| last.is_none_or(|last| stated.node.get() + HOLDS >= last.get());
        let wish = || self.wishes.iter().max_by(|a, b| worth(a, &about, last).total_cmp(&worth(b, &about, last)));
        self.stated.as_ref().filter(holds).or_else(wish).or(self.stated.as_ref()).cloned()
    }
}

/// Score of a goal candidate: topical overlap plus recency.
fn worth(wish: &Statement, about: &Gist, last: Option<NodeId>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an age in messages is far below 2^52")]
    let age = last.map_or(0, |last| last.get().saturating_sub(wish.node.get())) as f64;
    let shared = u32::try_from(Gist::of(&wish.text).shared(about)).unwrap_or(u32::MAX);
    f64::from(shared) + 1.5 * (-age / HALF_LIFE).exp2()
}
