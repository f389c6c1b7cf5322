//! One path through the tree of a session, with the unfinished answer at its end.

use memory_core::{ConversationId, Json, Message, MessageKey, Timestamp};
use serde_json::value::RawValue;

use super::{line::Line, queued::Prompts, titles::Titles};
use crate::{blocks::Blocks, item::ForkPoint, out::ItemQueue};

/// A branch, which becomes one conversation.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) conversation: ConversationId,
    /// Conversation of the session, whose name the names of forks begin with.
    pub(super) base: ConversationId,
    pub(super) session: String,
    /// Agent of a sidechain; empty if it has no name, `None` outside of sidechains.
    pub(super) agent: Option<String>,
    /// Last record, of any type.
    pub(super) record: Option<String>,
    /// Last record up to which everything was emitted.
    given_record: Option<String>,
    /// Fork point, if the branch shares messages with another.
    fork: Option<ForkPoint>,
    /// Keys of the messages. Message 1 is the first; number 0 stands for the fork point, or for the start.
    keys: Vec<MessageKey>,
    /// First message of the last turn. A record of this turn may continue any of its messages.
    turn: usize,
    /// Last answer of the model with the tool results to it, whose lines may be interleaved.
    open: Vec<Pending>,
    /// Last stated working directory.
    cwd: Option<String>,
    /// True if one of its records names a parent.
    pub(super) is_linked: bool,
    pub(super) titles: Titles,
    /// Prompts that were typed while the model worked.
    pub(super) prompts: Prompts,
}

/// An unfinished message, assembled from several lines.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) key: MessageKey,
    /// The model's id of the answer.
    pub(super) id: Option<String>,
    pub(super) message: Message,
    pub(super) blocks: Blocks,
    pub(super) usage: Option<Json>,
    pub(super) at: Option<Timestamp>,
    /// Offset of its first line, in bytes.
    pub(super) start: u64,
    /// True if the message belongs to the model's turn: tool results, and prompts that were typed meanwhile.
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

    /// A branch whose earlier messages another reader has emitted.
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

    pub(super) fn last(&self) -> usize {
        self.keys.len()
    }

    /// True if message `message` is the last one, so that a record that continues it extends this branch.
    pub(super) fn ends_at(&self, message: usize) -> bool {
        message == self.last()
    }

    /// True if message `message` is in the last turn. Several calls of one answer have results that each continue the
    /// line of their own call.
    pub(super) fn may_answer(&self, message: usize) -> bool {
        message >= self.turn
    }

    pub(super) fn key(&self, message: usize) -> Option<MessageKey> {
        match message.checked_sub(1) {
            None => self.fork.as_ref().map(|fork| fork.after.clone()),
            Some(index) => self.keys.get(index).cloned(),
        }
    }

    /// Key of the last emitted message.
    pub(super) fn given_key(&self) -> Option<MessageKey> {
        self.key(self.keys.len() - self.open.len().min(self.keys.len()))
    }

    /// The last record up to which nothing is held back; may be a note of the program after the last message.
    pub(super) fn settled_record(&self) -> Option<&str> {
        if self.open.is_empty() { self.record.as_deref() } else { self.given_record.as_deref() }
    }

    /// True if the unfinished answer has this id.
    pub(super) fn goes_on(&self, id: Option<&str>) -> bool {
        id.is_some() && self.open.first().is_some_and(|open| open.id.as_deref() == id)
    }

    /// Adds blocks to the unfinished answer; returns its number.
    pub(super) fn add(&mut self, blocks: Blocks, usage: Option<&RawValue>) -> usize {
        let first = self.keys.len() + 1 - self.open.len();
        if let Some(open) = self.open.first_mut() {
            open.take(blocks, usage);
        }
        first
    }

    /// Adds a message; returns its number. Emits the unfinished messages unless this one belongs to the same turn.
    pub(super) fn push(
        &mut self,
        record: &str,
        mut pending: Pending,
        blocks: Blocks,
        usage: Option<&RawValue>,
        out: &mut ItemQueue,
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

    /// Emits the unfinished messages.
    pub(super) fn flush(&mut self, out: &mut ItemQueue) {
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

    /// Offset of the first line that is held back, in bytes.
    pub(super) fn held_from(&self) -> Option<u64> {
        self.open.iter().map(|open| open.start).min()
    }

    /// Records a changed working directory, and the session of a sidechain, in the message's metadata.
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
