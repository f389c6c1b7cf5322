//! Reads messages in their order for the state of a conversation.

use memory_core::{Message, Node, Role};
use memory_strategies::{Gist, Subjects, matter};

use super::{Statement, open::OpenQuestions};
use crate::title::words;

/// Names of models, which speak in the model's place.
const MODELS: [&str; 10] =
    ["assistant", "ai", "claude", "chatgpt", "gpt", "gemini", "copilot", "agent", "bot", "supervisor"];
/// Messages from which a goal must also be the matter of the later half.
const LONG: u64 = 40;

/// First messages of the user among which a wish is the goal; later ones are steps on the way.
const FIRST: u64 = 2;

/// Facts known after some messages.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(super) subjects: Subjects,
    pub(crate) open: OpenQuestions,
    /// Last explicitly stated goal.
    stated: Option<Candidate>,
    /// Last goal that is stated for all who speak.
    shared: Option<Candidate>,
    /// First wish at the beginning.
    wished: Option<Candidate>,
    /// Number of messages.
    said: u64,
    /// True if a model speaks.
    has_model: bool,
    /// The first speaker's name.
    speaker: Option<String>,
    /// True if several people speak.
    has_people: bool,
    /// Number of messages of the user.
    asked: u64,
}

impl Reader {
    /// Adds the next message. No word of a message that is excluded from summaries is used, and none of calls and
    /// results.
    pub(super) fn add(&mut self, node: &Node, total: u64) {
        let message = &node.message;
        if message.keep_out_of_summaries || matches!(message.said_as(), Role::Tool | Role::System) {
            return;
        }
        let text = words(message);
        message.speaker.iter().for_each(|name| self.subjects.leave_out(name));
        self.subjects.add(node.id, &text, &node.topics);
        self.open.add(node, &text);
        self.said += 1;
        self.has_model |= is_model(message);
        if self.said == 1 {
            self.speaker.clone_from(&message.speaker);
        }
        self.has_people |= message.speaker != self.speaker;
        let is_later = 2 * node.id.get() > total;
        for candidate in [&mut self.stated, &mut self.shared, &mut self.wished].into_iter().flatten() {
            if is_later && candidate.statement.node != node.id {
                candidate.later = std::mem::take(&mut candidate.later).with(&candidate.matter.common(&Gist::of(&text)));
            }
        }
        if message.role == Role::User {
            self.add_goal(node, &text);
        }
    }

    fn add_goal(&mut self, node: &Node, text: &str) {
        self.asked += 1;
        let Some(goal) = memory_strategies::goal(text) else { return };
        let Some(part) = text.get(goal.at..goal.at + goal.bytes) else { return };
        let candidate =
            || Candidate { statement: Statement::of(node, part), matter: matter(part), later: Gist::default() };
        if goal.is_shared {
            self.shared = Some(candidate());
        }
        if goal.is_stated {
            self.stated = Some(candidate());
        } else if self.asked <= FIRST && self.wished.is_none() {
            self.wished = Some(candidate());
        }
    }

    /// The goal: the last one that is called so, or else the first wish. None of a talk between people, unless it is
    /// stated for all, and no wish that the later half of a long conversation is not about.
    pub(super) fn goal(&self) -> Option<Statement> {
        let is_current = |candidate: &&Candidate| self.said < LONG || candidate.is_taken_up();
        let is_talk = self.has_people && !self.has_model;
        let stated = self.stated.as_ref().filter(is_current).or(self.shared.as_ref());
        let wished = self.wished.as_ref().filter(is_current);
        let goal = if is_talk { self.shared.as_ref() } else { stated.or(wished) };
        goal.map(|candidate| candidate.statement.clone())
    }
}

/// A possible goal.
#[derive(Debug)]
struct Candidate {
    statement: Statement,
    /// Its words that may be subjects.
    matter: Gist,
    /// Its words that messages of the later half of the conversation have.
    later: Gist,
}

impl Candidate {
    /// True if the later half names most of its subjects; a single one is named anywhere.
    fn is_taken_up(&self) -> bool {
        self.matter.len() > 1 && 3 * self.later.len() >= 2 * self.matter.len()
    }
}

/// True if a model speaks, under whatever usual name. Without a name the role decides.
pub(crate) fn is_model(message: &Message) -> bool {
    let name = message.speaker.as_deref().map(str::trim).unwrap_or_default().to_lowercase();
    let first = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    message.role == Role::Assistant && (name.is_empty() || MODELS.contains(&first))
}
