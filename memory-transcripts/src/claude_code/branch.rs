//! A path through the tree of a session, and the answer of the model that is being put together at its end.

use memory_core::{ConversationId, Json, Message, MessageKey, Timestamp};
use serde_json::value::RawValue;

use super::{line::Line, queued::Prompts, titles::Titles};
use crate::{blocks::Blocks, item::ForkPoint, out::Out};

/// One conversation.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) conversation: ConversationId,
    /// The conversation of the session, from which forks get their names.
    pub(super) base: ConversationId,
    pub(super) session: String,
    /// The agent of a sidechain; empty for one without a name.
    pub(super) agent: Option<String>,
    /// The last record, of any type.
    pub(super) record: Option<String>,
    /// The last record of which everything was given.
    given_record: Option<String>,
    /// Where it leaves another branch.
    fork: Option<ForkPoint>,
    /// The keys of its messages. Message 0 is what it began with: the fork point, or nothing.
    keys: Vec<MessageKey>,
    /// The last message of the model, and all that answers it, may be continued by any of them.
    turn: usize,
    /// The last answer of the model and the results of its calls, which may come between its lines.
    open: Vec<Pending>,
    /// The working directory that was stated last.
    cwd: Option<String>,
    /// Whether a record of it names the one that it continues.
    pub(super) is_linked: bool,
    pub(super) titles: Titles,
    /// What was typed while the model worked.
    pub(super) prompts: Prompts,
}

/// A message that is being put together.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) key: MessageKey,
    /// The id of the model's answer.
    pub(super) id: Option<String>,
    pub(super) message: Message,
    pub(super) blocks: Blocks,
    pub(super) usage: Option<Json>,
    pub(super) at: Option<Timestamp>,
    /// The first byte of its first line.
    pub(super) start: u64,
    /// Whether it holds results of tools.
    pub(super) answers: bool,
}

impl Branch {
    pub(super) fn new(id: ConversationId, session: String, agent: Option<String>, fork: Option<ForkPoint>) -> Self {
        Self {
            base: id.clone(),
            conversation: id,
            session,
            agent,
            record: None,
            given_record: None,
            fork,
            keys: Vec::new(),
            turn: 0,
            open: Vec::new(),
            cwd: None,
            is_linked: false,
            titles: Titles::default(),
            prompts: Prompts::default(),
        }
    }

    /// A branch whose messages so far were given by another reader.
    pub(super) fn resumed(
        id: ConversationId,
        session: String,
        agent: Option<String>,
        record: Option<String>,
        key: Option<MessageKey>,
    ) -> Self {
        let fork = key.map(|key| ForkPoint::new(id.clone(), key));
        Self { record: record.clone(), given_record: record, ..Self::new(id, session, agent, fork) }
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.agent.is_some()
    }

    /// The number of the last message.
    pub(super) fn last(&self) -> usize {
        self.keys.len()
    }

    /// Whether what continues message `message` stands at the end.
    pub(super) fn ends_at(&self, message: usize) -> bool {
        message == self.last()
    }

    /// Whether what continues message `message` belongs to the last turn: several calls of one answer have results that
    /// each continue the line of their call.
    pub(super) fn may_answer(&self, message: usize) -> bool {
        message >= self.turn
    }

    pub(super) fn key(&self, message: usize) -> Option<MessageKey> {
        match message.checked_sub(1) {
            None => self.fork.as_ref().map(|fork| fork.after.clone()),
            Some(index) => self.keys.get(index).cloned(),
        }
    }

    /// The last message that was given.
    pub(super) fn given_key(&self) -> Option<MessageKey> {
        self.key(self.keys.len() - self.open.len().min(self.keys.len()))
    }

    /// The last record up to which nothing is held back; a note of the program after the last message is one, too.
    pub(super) fn settled_record(&self) -> Option<&str> {
        if self.open.is_empty() { self.record.as_deref() } else { self.given_record.as_deref() }
    }

    /// Whether an answer of the model with this id goes on.
    pub(super) fn goes_on(&self, id: Option<&str>) -> bool {
        id.is_some() && self.open.first().is_some_and(|open| open.id.as_deref() == id)
    }

    /// Adds to the answer that goes on; gives its number.
    pub(super) fn add(&mut self, blocks: Blocks, usage: Option<&RawValue>) -> usize {
        let first = self.keys.len() + 1 - self.open.len();
        if let Some(open) = self.open.first_mut() {
            open.take(blocks, usage);
        }
        first
    }

    /// Adds a message; gives its number. What was open is given unless the message belongs to it.
    pub(super) fn push(
        &mut self,
        record: &str,
        mut pending: Pending,
        blocks: Blocks,
        usage: Option<&RawValue>,
        out: &mut Out,
    ) -> usize {
        let belongs = pending.answers && self.open.first().is_some_and(|open| open.id.is_some());
        if !belongs {
            self.flush(out);
        }
        self.record = Some(record.to_owned());
        pending.take(blocks, usage);
        self.keys.push(pending.key.clone());
        if !pending.answers {
            self.turn = self.keys.len();
        }
        self.open.push(pending);
        if !belongs && self.open.first().is_some_and(|open| open.id.is_none()) {
            self.flush(out);
        }
        self.keys.len()
    }

    /// Gives all messages.
    pub(super) fn flush(&mut self, out: &mut Out) {
        for pending in self.open.drain(..) {
            let Pending { key, mut message, blocks, usage, at, .. } = pending;
            message.metadata.extend(blocks.extra());
            message.metadata.extend(usage.map(|usage| ("usage".to_owned(), usage)));
            message.content = blocks.blocks;
            out.say(&self.conversation, key, message, at);
        }
        if self.record.is_some() {
            self.given_record.clone_from(&self.record);
        }
    }

    /// The first byte of what is not given yet.
    pub(super) fn held_from(&self) -> Option<u64> {
        self.open.iter().map(|open| open.start).min()
    }

    /// States the working directory where it has changed, and the session of a sidechain.
    pub(super) fn set_out(&mut self, message: &mut Message, line: &Line<'_>) {
        if self.is_sidechain() && self.keys.is_empty() {
            message.metadata.insert("subagent_of".to_owned(), Json::string(&self.session));
        }
        let Some(cwd) = line.cwd.as_deref() else { return };
        if self.cwd.as_deref() != Some(cwd) {
            self.cwd = Some(cwd.to_owned());
            message.metadata.insert("cwd".to_owned(), Json::string(cwd));
        }
    }
}

impl Pending {
    fn take(&mut self, blocks: Blocks, usage: Option<&RawValue>) {
        self.blocks.append(blocks);
        if let Some(usage) = usage.and_then(|usage| Json::new(usage.get()).ok()) {
            self.usage = Some(usage);
        }
    }
}
