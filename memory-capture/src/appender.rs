//! Appends messages of transcripts, each once, however often it is read.

mod shared;
mod unspoken;

use std::{collections::HashMap, mem, time::Instant};

use memory::{
    ConversationId, Error as MemoryError, Message, MessageKey, NodeId, NodeRange, Timestamp,
    parts::{Conversation, Parts},
    port::{Progress, Store, StoreError},
};
use memory_transcripts::{ForkPoint, Item, Said, branch_name, rest_key};

use crate::{
    Afterwards, Error, ImportNotice, ImportedConversation, Stage, Stages,
    erased::ErasedElsewhere,
    notice::RefusedMessages,
    settling::{Appending, BATCH, BATCH_BYTES, Times, settle},
    summaries::SummaryTakeover,
};
use shared::Shared;

/// Appender of a source's items to their conversations, in batches.
pub(crate) struct Appender<'a> {
    parts: &'a Parts,
    /// The conversations of the source.
    targets: HashMap<ConversationId, Target>,
    /// Conversations in the order in which they began.
    order: Vec<ConversationId>,
    /// Conversations with messages that are not appended yet.
    filled: Vec<ConversationId>,
    /// Number and bytes of the messages that are not appended yet.
    waiting: usize,
    bytes: usize,
    read: u64,
    total: u64,
    appended: u64,
    started: Instant,
    erased_elsewhere: ErasedElsewhere,
    /// Conversations that were there before, and those that began in this import by the keys of their first messages.
    stored: Option<Vec<ConversationId>>,
    begun: HashMap<MessageKey, Vec<ConversationId>>,
    stages: &'a dyn Stages,
    /// Progress; `None` once everything was appended.
    progress: Option<Box<dyn Progress + 'a>>,
}

/// A conversation that messages of the source go to.
struct Target {
    conversation: Conversation,
    batch: Vec<(Message, Timestamp)>,
    times: Times,
    title: Option<String>,
    /// Earlier titles by the source.
    replaced: Vec<String>,
    /// True once a person has spoken in the file.
    has_person: bool,
    is_subagent: bool,
    /// Messages that repeat the beginning of other conversations; `None` once one does not.
    shared: Option<Shared>,
    /// True if the conversation had messages before, so that each message must be looked up.
    was_there: bool,
    /// Number of messages that it had.
    stored: u64,
    /// Last of these messages that was met in the file.
    met: u64,
    read: usize,
    new: usize,
    differing: usize,
    erased: usize,
    refused: RefusedMessages,
    summaries: SummaryTakeover,
    notices: Vec<ImportNotice>,
}

/// Counts of appended messages.
#[derive(Debug, Default)]
pub(crate) struct AppendedCounts {
    /// Conversations with new messages, and their numbers, in the order in which they began.
    pub(crate) grown: Vec<(ConversationId, usize)>,
    /// Branches that messages went to, because the store has others in their place, and messages that differ.
    pub(crate) notices: Vec<ImportNotice>,
    /// True if messages went to a branch.
    pub(crate) diverged: bool,
    /// Number of messages that differ from the store's under the same key, which stay.
    pub(crate) differing: usize,
}

/// The notice of messages that were erased, if there are any.
pub(crate) fn of_erased(conversation: &ConversationId, messages: usize) -> Option<ImportNotice> {
    (messages > 0).then(|| ImportNotice::Erased { conversation: conversation.clone(), messages })
}

/// Sets a title. An existing one stays, since a person may have set it, unless the source gave it and has changed it.
async fn entitle(
    store: &dyn Store,
    conversation: &Conversation,
    title: Option<&str>,
    replaced: &[String],
) -> Result<(), Error> {
    let Some(title) = title else { return Ok(()) };
    match store.conversation(conversation.id()).await {
        // The title is of what was erased.
        Ok(state) if state.erased > 0 && state.erased == state.nodes => Ok(()),
        Ok(state) if state.title.as_ref().is_none_or(|there| there != title && replaced.contains(there)) => {
            match conversation.set_title(title).await {
                // The messages do without it.
                Err(MemoryError::Refused { .. }) => Ok(()),
                set => Ok(set?),
            }
        }
        Ok(_) | Err(StoreError::UnknownConversation { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Part of a message that the store has.
enum StoredPart {
    Nothing,
    Same(NodeId),
    /// The first blocks of the message; this is the rest.
    Begun(NodeId, Message),
    Another(NodeId),
    /// The message was erased, and stays so.
    Erased(NodeId),
}

impl StoredPart {
    fn node(&self) -> Option<NodeId> {
        match self {
            Self::Nothing => None,
            Self::Same(node) | Self::Begun(node, _) | Self::Another(node) | Self::Erased(node) => Some(*node),
        }
    }
}

impl<'a> Appender<'a> {
    pub(crate) fn new(parts: &'a Parts, total: u64, stages: &'a dyn Stages) -> Self {
        Self {
            parts,
            targets: HashMap::new(),
            order: Vec::new(),
            filled: Vec::new(),
            waiting: 0,
            bytes: 0,
            read: 0,
            total,
            appended: 0,
            started: Instant::now(),
            erased_elsewhere: ErasedElsewhere::default(),
            stored: None,
            begun: HashMap::new(),
            stages,
            progress: Some(stages.begin(Stage::Appending)),
        }
    }

    fn store(&self) -> &'a dyn Store {
        &*self.parts.store
    }

    /// Adds the number of appended messages to an error.
    pub(crate) fn stopped(&self, error: Error) -> Error {
        Error::Stopped { appended: self.appended, total: self.total, source: Box::new(error) }
    }

    /// Takes the next item, which was read at `place`.
    pub(crate) async fn take(&mut self, item: Item, place: &str) -> Result<(), Error> {
        match item {
            Item::Conversation(conversation) => {
                self.begin(&conversation.id, conversation.fork.as_ref()).await?;
                if let Some(target) = self.targets.get_mut(&conversation.id) {
                    target.title = conversation.title.or(target.title.take());
                }
            }
            Item::Title(titled) => {
                let id = &titled.conversation;
                if !self.targets.contains_key(id) {
                    // A followed file may give only a title, or a title before the answer that it comes with.
                    self.begin(id, None).await?;
                }
                if let Some(target) = self.targets.get_mut(id) {
                    target.title = Some(titled.title);
                    target.replaced.extend(titled.replaces);
                }
            }
            Item::Said(said) => self.say(said, place).await?,
            Item::Summarized(summarized) => {
                self.flush(&summarized.conversation).await?;
                let store = self.store();
                if let Some(target) = self.targets.get_mut(&summarized.conversation) {
                    target.summaries.take(store, &target.conversation, summarized).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives a conversation of this import a title, unless its own file has one.
    pub(crate) fn entitle(&mut self, id: &ConversationId, title: &str) {
        if let Some(target) = self.targets.get_mut(id) {
            target.title.get_or_insert_with(|| title.to_owned());
        }
    }

    /// Begins or continues a conversation.
    async fn begin(&mut self, id: &ConversationId, fork: Option<&ForkPoint>) -> Result<(), Error> {
        if self.targets.contains_key(id) {
            // Another file continues the conversation, and may repeat messages of the first one.
            self.flush(id).await?;
            if let Some(target) = self.targets.get_mut(id) {
                target.was_there = true;
            }
            return Ok(());
        }
        let mut target = self.target(id.clone()).await?;
        if let Some(fork) = fork.filter(|_| target.was_there) {
            target.met = self.find(id, &fork.after).await?.map_or(0, NodeId::get);
        } else if let Some(fork) = fork {
            self.part(&fork.conversation).await?;
            self.flush(&fork.conversation).await?;
            let of = self.targets.get(&fork.conversation).map(|parent| parent.conversation.clone());
            let of = of.unwrap_or_else(|| self.parts.memory.conversation(fork.conversation.clone()));
            if let Some(node) = self.find(of.id(), &fork.after).await? {
                target.conversation = of.fork(node, id.clone()).await?;
            }
        } else if !target.was_there {
            target.shared = Some(Shared::default());
        }
        self.order.push(id.clone());
        self.targets.insert(id.clone(), target);
        Ok(())
    }

    /// A conversation in its present state in the store.
    async fn target(&self, id: ConversationId) -> Result<Target, Error> {
        let nodes = match self.store().conversation(&id).await {
            Ok(state) => state.nodes,
            Err(StoreError::UnknownConversation { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(Target {
            conversation: self.parts.memory.conversation(id),
            batch: Vec::new(),
            times: Times::default(),
            title: None,
            replaced: Vec::new(),
            has_person: false,
            is_subagent: false,
            shared: None,
            was_there: nodes > 0,
            stored: nodes,
            met: 0,
            read: 0,
            new: 0,
            differing: 0,
            erased: 0,
            refused: RefusedMessages::default(),
            summaries: SummaryTakeover::default(),
            notices: Vec::new(),
        })
    }

    /// The message of a key; none if the conversation has no message yet.
    async fn find(&self, id: &ConversationId, key: &MessageKey) -> Result<Option<NodeId>, Error> {
        match self.parts.memory.conversation(id.clone()).find_key(key).await {
            Err(error) if error.is_not_found() => Ok(None),
            found => Ok(found?),
        }
    }

    async fn say(&mut self, said: Said, place: &str) -> Result<(), Error> {
        let Said { conversation: id, mut message, at, after, .. } = said;
        if !self.targets.contains_key(&id) {
            self.begin(&id, None).await?;
        }
        self.read += 1;
        if let Some(progress) = &self.progress {
            progress.report(self.read, self.total);
        }
        let Some(target) = self.targets.get_mut(&id) else { return Ok(()) };
        target.read += 1;
        let at = target.times.next(at);
        match target.conversation.redacted(message).await {
            Ok(redacted) => message = redacted,
            Err(MemoryError::Refused { class }) => {
                target.refused.add(place.to_owned(), class);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(shared) = target.shared.take()
            && self.repeats(&id, shared, &message).await?
        {
            return Ok(());
        }
        let Some(target) = self.targets.get_mut(&id) else { return Ok(()) };
        target.hear(&message);
        if target.was_there {
            let of = target.conversation.id().clone();
            let there = self.there(&of, &message).await?;
            if let (Some(target), Some(node)) = (self.targets.get_mut(&id), there.node()) {
                target.met = target.met.max(node.get());
            }
            match there {
                StoredPart::Same(_) => return Ok(()),
                StoredPart::Another(_) => {
                    self.count_differing(&id);
                    return Ok(());
                }
                StoredPart::Erased(_) => {
                    self.count_erased(&id, 1);
                    return Ok(());
                }
                StoredPart::Begun(_, rest) => message = rest,
                StoredPart::Nothing => {
                    if self.diverge(&id, &message, after.as_ref()).await? {
                        return Ok(());
                    }
                }
            }
        }
        let Some(target) = self.targets.get_mut(&id) else { return Ok(()) };
        self.bytes += message.text_bytes();
        self.waiting += 1;
        if target.batch.is_empty() {
            self.filled.push(id);
        }
        target.batch.push((message, at));
        if self.waiting < BATCH && self.bytes < BATCH_BYTES {
            return Ok(());
        }
        self.flush_all().await
    }

    fn count_differing(&mut self, id: &ConversationId) {
        if let Some(target) = self.targets.get_mut(id) {
            target.differing += 1;
        }
    }

    fn count_erased(&mut self, id: &ConversationId, more: usize) {
        if let Some(target) = self.targets.get_mut(id) {
            target.erased += more;
        }
    }

    /// Appends all waiting messages.
    async fn flush_all(&mut self) -> Result<(), Error> {
        for id in mem::take(&mut self.filled) {
            self.flush(&id).await?;
        }
        (self.waiting, self.bytes) = (0, 0);
        Ok(())
    }

    /// The part of a message that a conversation has under the message's key.
    async fn there(&self, id: &ConversationId, message: &Message) -> Result<StoredPart, Error> {
        let Some(key) = &message.key else { return Ok(StoredPart::Nothing) };
        let mut rest = message.clone();
        let mut blocks = 0;
        let mut last = None;
        loop {
            let found = match &rest.key {
                Some(key) => self.find(id, key).await?,
                None => None,
            };
            let node = match (found, last) {
                (Some(node), _) => node,
                (None, Some(last)) => return Ok(StoredPart::Begun(last, rest)),
                (None, None) => return Ok(StoredPart::Nothing),
            };
            // A disabled message is there as it was said.
            let read = self.store().whole_nodes(id, NodeRange::single(node)).await?;
            let Some(stored) = read.nodes.into_iter().next() else { return Ok(StoredPart::Another(node)) };
            if stored.is_erased {
                return Ok(StoredPart::Erased(node));
            }
            let stored = stored.message;
            if stored.role != rest.role || !self.begins_with(&rest, &stored) {
                return Ok(StoredPart::Another(node));
            }
            if stored.content.len() == rest.content.len() {
                return Ok(StoredPart::Same(node));
            }
            if stored.content.is_empty() {
                return Ok(StoredPart::Another(node));
            }
            blocks += stored.content.len();
            rest.content.drain(..stored.content.len());
            rest.key = Some(rest_key(key, blocks));
            last = Some(node);
        }
    }

    /// True if a message has the blocks of a stored one first. Redactions of then and now may differ.
    fn begins_with(&self, message: &Message, stored: &Message) -> bool {
        let masked = |message: &Message| self.parts.memory.fully_masked(message.clone()).content;
        message.content.starts_with(&stored.content) || masked(message).starts_with(&masked(stored))
    }

    /// Sends the rest of the file to a branch if the conversation has messages that the file lacks. Returns true if the
    /// branch has the message already.
    async fn diverge(
        &mut self,
        id: &ConversationId,
        next: &Message,
        after: Option<&MessageKey>,
    ) -> Result<bool, Error> {
        let Some(target) = self.targets.get(id).filter(|target| target.met < target.stored) else { return Ok(false) };
        let Some(key) = &next.key else { return Ok(false) };
        let (of, stored) = (target.conversation.clone(), target.stored);
        let node = match after {
            Some(after) => self.find(of.id(), after).await?,
            None => None,
        };
        // A followed file is not read from its beginning, so earlier messages may not have been met.
        if let (Some(node), Some(target)) = (node.filter(|node| node.get() >= stored), self.targets.get_mut(id)) {
            target.met = node.get();
            return Ok(false);
        }
        let name = branch_name(of.id(), key);
        self.flush(id).await?;
        let mut branch = self.target(name.clone()).await?;
        let mut is_there = false;
        if branch.was_there {
            let there = self.there(&name, next).await?;
            is_there = matches!(there, StoredPart::Same(_));
            branch.met = there.node().or(node).map_or(0, NodeId::get);
        } else if let Some(node) = node {
            branch.conversation = of.fork(node, name.clone()).await?;
        }
        if let Some(target) = self.targets.get_mut(id) {
            target.notices.push(ImportNotice::Diverged { conversation: of.id().clone(), branch: name });
            target.conversation = branch.conversation;
            (target.was_there, target.stored, target.met) = (branch.was_there, branch.stored, branch.met);
        }
        Ok(is_there)
    }

    /// Appends the waiting messages of a conversation.
    async fn flush(&mut self, id: &ConversationId) -> Result<(), Error> {
        let Some(target) = self.targets.get_mut(id) else { return Ok(()) };
        let mut batch = mem::take(&mut target.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let conversation = target.conversation.clone();
        let (store, to) = (self.store(), conversation.id());
        let gone = self.erased_elsewhere.take_from(store, to, &mut batch).await?;
        self.count_erased(id, gone);
        if batch.is_empty() {
            return Ok(());
        }
        let (mut new, mut erased) = (0, 0);
        match conversation.append_batch(batch.clone()).await {
            Ok(appended) => {
                new = appended.iter().filter(|appended| appended.is_new).count();
                erased = appended.iter().filter(|appended| appended.is_erased).count();
            }
            // A key of the source names two messages: each is looked up separately. In a conversation without messages the
            // other one is not found.
            Err(MemoryError::Store(StoreError::KeyConflict { .. } | StoreError::UnknownConversation { .. })) => {
                for (message, at) in batch {
                    let message = match self.there(conversation.id(), &message).await? {
                        StoredPart::Same(_) => continue,
                        StoredPart::Another(_) => {
                            self.count_differing(id);
                            continue;
                        }
                        StoredPart::Erased(_) => {
                            erased += 1;
                            continue;
                        }
                        StoredPart::Begun(_, rest) => rest,
                        StoredPart::Nothing => message,
                    };
                    let appended = conversation.append_batch(vec![(message, at)]).await?;
                    new += appended.iter().filter(|appended| appended.is_new).count();
                }
            }
            Err(source) => return Err(Error::Append { conversation: conversation.id().clone(), source }),
        }
        self.count_erased(id, erased);
        self.appended += new as u64;
        if let Some(target) = self.targets.get_mut(id) {
            target.new += new;
        }
        Ok(())
    }

    /// Appends the rest and sets titles, but neither compacts nor indexes.
    pub(crate) async fn close(mut self) -> Result<AppendedCounts, Error> {
        self.part_all().await?;
        self.flush_all().await?;
        drop(self.progress.take());
        let mut closed = AppendedCounts::default();
        for id in &self.order {
            let Some(target) = self.targets.get(id) else { continue };
            if target.read == 0 && target.title.is_none() {
                continue;
            }
            entitle(self.store(), &target.conversation, target.title.as_deref(), &target.replaced).await?;
            target.list(self.store()).await?;
            closed.diverged |= !target.notices.is_empty();
            closed.notices.extend(target.notices.iter().cloned());
            if target.differing > 0 {
                let conversation = target.conversation.id().clone();
                closed.notices.push(ImportNotice::Differs { conversation, messages: target.differing });
            }
            closed.differing += target.differing;
            closed.notices.extend(of_erased(target.conversation.id(), target.erased));
            closed.notices.extend(target.refused.notice(target.conversation.id()));
            if target.new > 0 {
                closed.grown.push((target.conversation.id().clone(), target.new));
            }
        }
        Ok(closed)
    }

    /// Appends the rest, sets titles, compacts and indexes.
    pub(crate) async fn finish(mut self, afterwards: Afterwards) -> Result<Vec<ImportedConversation>, Error> {
        self.part_all().await.map_err(|error| self.stopped(error))?;
        self.flush_all().await.map_err(|error| self.stopped(error))?;
        drop(self.progress.take());
        let append = self.started.elapsed();
        let share = u32::try_from(self.order.len().max(1)).unwrap_or(u32::MAX);
        let mut all = Vec::with_capacity(self.order.len());
        for id in &self.order {
            let Some(target) = self.targets.remove(id) else { continue };
            let is_archived = target.list(self.store()).await?;
            let Target { conversation, title, replaced, read, new, differing, erased, refused, summaries, .. } = target;
            let mut notices = target.notices;
            if read == 0 {
                continue;
            }
            let others = new + differing + erased + refused.count;
            if others < read {
                let messages = read - others;
                notices.push(ImportNotice::ThereBefore {
                    conversation: conversation.id().clone(),
                    messages,
                    read,
                    new,
                });
            }
            notices.extend(refused.notice(conversation.id()));
            if differing > 0 {
                notices.push(ImportNotice::Differs { conversation: conversation.id().clone(), messages: differing });
            }
            notices.extend(of_erased(conversation.id(), erased));
            entitle(self.store(), &conversation, title.as_deref(), &replaced).await?;
            // Compaction continues above the adopted summaries.
            let summaries = summaries.finish(&conversation).await?;
            notices.extend(summaries.notices(conversation.id()));
            let appending = Appending { read, new, refused: refused.count, append: append / share };
            let settled = settle(&conversation, appending, notices, afterwards, self.stages).await?;
            all.push(ImportedConversation { summaries, is_archived, ..settled });
        }
        Ok(all)
    }
}
