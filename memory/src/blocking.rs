//! The same memory for programs without async: each call waits on this thread until it is done.
//!
//! ```no_run
//! use memory::Message;
//!
//! let memory = memory::blocking::open("trip.memory")?;
//! let trip = memory.conversation("trip")?;
//! trip.append(Message::user("The train leaves at 7:42 from platform 9."))?;
//! println!("{}", trip.prompt("When does the train leave?")?.text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In async code these calls block their thread, as any blocking call does, and do not panic.

use std::path::PathBuf;

use memory_core::{
    Appended, ConversationId, ConversationState, HeldInMemory, InvalidConversationId, ManagerState, Mark, Message,
    Node, NodeId, NodeRange, Period, Query, Retrieved, SummaryId, Timestamp,
};
use memory_hooks::{
    Added, AsOf, ConversationStats, DerivedState, DetailedNodes, ListOptions, Listing, OverTime, Prompt, PromptOptions,
    Reminder, RepairedSummary, Resummarize, ResummarizeReport, SummariesRequest, SummaryPage, Title,
};
use memory_search::{FindRequest, Found};
use pollster::block_on;

use crate::{BackgroundFailure, Error, OpenError, Usage};

/// Opens the memory in the directory `store`, as [`memory::open`](crate::open) does.
///
/// # Errors
/// [`OpenError`]; nothing stays open then.
pub fn open(store: impl Into<PathBuf>) -> Result<Memory, OpenError> {
    crate::open(store).map(Memory)
}

/// All conversations of a store; see [`memory::Memory`](crate::Memory).
#[derive(Clone, Debug)]
pub struct Memory(crate::Memory);

/// A handle on a conversation; see [`memory::Conversation`](crate::Conversation).
#[derive(Clone, Debug)]
pub struct Conversation(crate::Conversation);

impl From<crate::Memory> for Memory {
    fn from(memory: crate::Memory) -> Self {
        Self(memory)
    }
}

impl From<crate::Conversation> for Conversation {
    fn from(conversation: crate::Conversation) -> Self {
        Self(conversation)
    }
}

impl Memory {
    /// As [`Memory::conversation`](crate::Memory::conversation).
    ///
    /// # Errors
    /// When no conversation can have that name.
    pub fn conversation(&self, name: &str) -> Result<Conversation, InvalidConversationId> {
        self.0.conversation(name).map(Conversation)
    }

    /// As [`Memory::new_conversation`](crate::Memory::new_conversation).
    ///
    /// # Errors
    /// When the system provides no randomness.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        self.0.new_conversation().map(Conversation)
    }

    /// As [`Memory::conversations`](crate::Memory::conversations).
    ///
    /// # Errors
    /// When the store fails.
    pub fn conversations(&self) -> Result<Vec<ConversationState>, Error> {
        block_on(self.0.conversations())
    }

    /// As [`Memory::list`](crate::Memory::list).
    ///
    /// # Errors
    /// When the store fails.
    pub fn list(&self, options: ListOptions) -> Result<Listing, Error> {
        block_on(self.0.list(options))
    }

    /// As [`Memory::resume`](crate::Memory::resume).
    ///
    /// # Errors
    /// When no conversation is meant, or several may be; or when the store fails.
    pub fn resume(&self, name: &str) -> Result<Conversation, Error> {
        block_on(self.0.resume(name)).map(Conversation)
    }

    /// As [`Memory::search`](crate::Memory::search).
    ///
    /// # Errors
    /// When the retriever fails.
    pub fn search(&self, query: Query) -> Result<Retrieved, Error> {
        block_on(self.0.search(query))
    }

    /// As [`Memory::find`](crate::Memory::find).
    ///
    /// # Errors
    /// When the pattern is not valid, a range is given for several conversations, or the store fails.
    pub fn find(&self, request: FindRequest) -> Result<Found, Error> {
        block_on(self.0.find(request))
    }

    /// As [`Memory::catch_up`](crate::Memory::catch_up).
    ///
    /// # Errors
    /// When the store, a strategy or the model fails, or another process does background work for too long.
    pub fn catch_up(&self) -> Result<(), Error> {
        block_on(self.0.catch_up())
    }

    /// As [`Memory::flush`](crate::Memory::flush).
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn flush(&self) -> Result<(), Error> {
        block_on(self.0.flush())
    }

    /// As [`Memory::usage`](crate::Memory::usage).
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn usage(&self) -> Result<Option<Usage>, Error> {
        block_on(self.0.usage())
    }

    /// As [`Memory::held`](crate::Memory::held).
    #[must_use]
    pub fn held(&self) -> Vec<HeldInMemory> {
        self.0.held()
    }

    /// As [`Memory::failures`](crate::Memory::failures).
    #[must_use]
    pub fn failures(&self) -> Vec<BackgroundFailure> {
        self.0.failures()
    }

    /// The same memory, for async code.
    #[must_use]
    pub fn as_async(&self) -> &crate::Memory {
        &self.0
    }
}

impl Conversation {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        self.0.id()
    }

    /// As [`Conversation::append`](crate::Conversation::append).
    ///
    /// # Errors
    /// When the store fails.
    pub fn append(&self, message: Message) -> Result<Appended, Error> {
        block_on(self.0.append(message))
    }

    /// As [`Conversation::append_batch`](crate::Conversation::append_batch).
    ///
    /// # Errors
    /// When the store fails; then nothing is appended.
    pub fn append_batch(&self, batch: Vec<(Message, Timestamp)>) -> Result<Vec<Appended>, Error> {
        block_on(self.0.append_batch(batch))
    }

    /// As [`Conversation::add_message`](crate::Conversation::add_message).
    ///
    /// # Errors
    /// When the store or a hook fails.
    pub fn add_message(&self, message: Message) -> Result<Added, Error> {
        block_on(self.0.add_message(message))
    }

    /// As [`Conversation::add_message_beside`](crate::Conversation::add_message_beside).
    ///
    /// # Errors
    /// When the store or a hook fails.
    pub fn add_message_beside(&self, message: Message, visible: Vec<NodeRange>) -> Result<Added, Error> {
        block_on(self.0.add_message_beside(message, visible))
    }

    /// As [`Conversation::prompt`](crate::Conversation::prompt).
    ///
    /// # Errors
    /// When no view fits the budget, or a part fails.
    pub fn prompt(&self, question: &str) -> Result<Prompt, Error> {
        block_on(self.0.prompt(question))
    }

    /// As [`Conversation::prompt_with`](crate::Conversation::prompt_with).
    ///
    /// # Errors
    /// When no view fits the budget, or a part fails.
    pub fn prompt_with(&self, question: &str, options: &PromptOptions) -> Result<Prompt, Error> {
        block_on(self.0.prompt_with(question, options))
    }

    /// As [`Conversation::turn`](crate::Conversation::turn).
    ///
    /// # Errors
    /// When no view fits the budget, or a part fails.
    pub fn turn(&self, options: &PromptOptions) -> Result<Prompt, Error> {
        block_on(self.0.turn(options))
    }

    /// As [`Conversation::aside`](crate::Conversation::aside).
    ///
    /// # Errors
    /// When no view fits the budget, or a part fails.
    pub fn aside(&self, question: &str, options: &PromptOptions) -> Result<Prompt, Error> {
        block_on(self.0.aside(question, options))
    }

    /// As [`Conversation::reduce`](crate::Conversation::reduce).
    ///
    /// # Errors
    /// When nothing smaller exists, or a part fails.
    pub fn reduce(&self, overflowed: &Prompt, options: &PromptOptions) -> Result<Prompt, Error> {
        block_on(self.0.reduce(overflowed, options))
    }

    /// As [`Conversation::as_of`](crate::Conversation::as_of).
    ///
    /// # Errors
    /// When nothing was shown by then, or it cannot be shown again exactly.
    pub fn as_of(&self, as_of: AsOf) -> Result<Prompt, Error> {
        block_on(self.0.as_of(as_of))
    }

    /// As [`Conversation::search`](crate::Conversation::search).
    ///
    /// # Errors
    /// When the retriever fails.
    pub fn search(&self, question: &str, limit: usize) -> Result<Retrieved, Error> {
        block_on(self.0.search(question, limit))
    }

    /// As [`Conversation::find`](crate::Conversation::find).
    ///
    /// # Errors
    /// When the pattern is not valid, or the store fails.
    pub fn find(&self, pattern: &str, limit: usize) -> Result<Found, Error> {
        block_on(self.0.find(pattern, limit))
    }

    /// As [`Conversation::expand`](crate::Conversation::expand).
    ///
    /// # Errors
    /// When the node does not exist, or the store fails.
    pub fn expand(&self, node: NodeId) -> Result<Node, Error> {
        block_on(self.0.expand(node))
    }

    /// As [`Conversation::messages`](crate::Conversation::messages).
    ///
    /// # Errors
    /// When one of them cannot be read, or there is no such conversation.
    pub fn messages(&self, range: NodeRange) -> Result<Vec<Node>, Error> {
        block_on(self.0.messages(range))
    }

    /// As [`Conversation::pin`](crate::Conversation::pin).
    ///
    /// # Errors
    /// When the node does not exist, or the store fails.
    pub fn pin(&self, node: NodeId, pinned: bool) -> Result<(), Error> {
        block_on(self.0.pin(node, pinned))
    }

    /// As [`Conversation::title`](crate::Conversation::title).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn title(&self) -> Result<Option<Title>, Error> {
        block_on(self.0.title())
    }

    /// As [`Conversation::set_title`](crate::Conversation::set_title).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn set_title(&self, title: &str) -> Result<(), Error> {
        block_on(self.0.set_title(title))
    }

    /// As [`Conversation::tags`](crate::Conversation::tags).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn tags(&self) -> Result<Vec<String>, Error> {
        block_on(self.0.tags())
    }

    /// As [`Conversation::set_tags`](crate::Conversation::set_tags).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn set_tags(&self, tags: &[String]) -> Result<(), Error> {
        block_on(self.0.set_tags(tags))
    }

    /// As [`Conversation::is_marked`](crate::Conversation::is_marked).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn is_marked(&self, mark: Mark) -> Result<bool, Error> {
        block_on(self.0.is_marked(mark))
    }

    /// As [`Conversation::mark`](crate::Conversation::mark).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn mark(&self, mark: Mark, is_set: bool) -> Result<(), Error> {
        block_on(self.0.mark(mark, is_set))
    }

    /// As [`Conversation::state`](crate::Conversation::state).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn state(&self) -> Result<DerivedState, Error> {
        block_on(self.0.state())
    }

    /// As [`Conversation::reminder`](crate::Conversation::reminder).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn reminder(&self, budget: u32) -> Result<Reminder, Error> {
        block_on(self.0.reminder(budget))
    }

    /// As [`Conversation::details`](crate::Conversation::details).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn details(&self, range: NodeRange) -> Result<DetailedNodes, Error> {
        block_on(self.0.details(range))
    }

    /// As [`Conversation::over_time`](crate::Conversation::over_time).
    ///
    /// # Errors
    /// When the store fails, or no view fits the budget.
    pub fn over_time(&self, period: Option<Period>) -> Result<OverTime, Error> {
        block_on(self.0.over_time(period))
    }

    /// As [`Conversation::fork`](crate::Conversation::fork).
    ///
    /// # Errors
    /// When the conversation or node does not exist, when the name is taken, or when the store fails.
    pub fn fork(&self, node: NodeId, child: ConversationId) -> Result<Self, Error> {
        block_on(self.0.fork(node, child)).map(Self)
    }

    /// As [`Conversation::manager_state`](crate::Conversation::manager_state).
    ///
    /// # Errors
    /// When the store fails.
    pub fn manager_state(&self) -> Result<ManagerState, Error> {
        block_on(self.0.manager_state())
    }

    /// As [`Conversation::initialize`](crate::Conversation::initialize).
    ///
    /// # Errors
    /// Where the state of another manager is kept; otherwise when the store or a hook fails.
    pub fn initialize(&self) -> Result<Vec<Message>, Error> {
        block_on(self.0.initialize())
    }

    /// As [`Conversation::keep_manager_state`](crate::Conversation::keep_manager_state).
    ///
    /// # Errors
    /// Where the state of another manager is kept; otherwise when the store fails.
    pub fn keep_manager_state(&self) -> Result<bool, Error> {
        block_on(self.0.keep_manager_state())
    }

    /// As [`Conversation::kept_manager_state`](crate::Conversation::kept_manager_state).
    ///
    /// # Errors
    /// When it cannot be read, or the store fails.
    pub fn kept_manager_state(&self) -> Result<Option<ManagerState>, Error> {
        block_on(self.0.kept_manager_state())
    }

    /// As [`Conversation::forget_manager_state`](crate::Conversation::forget_manager_state).
    ///
    /// # Errors
    /// When the store fails.
    pub fn forget_manager_state(&self) -> Result<(), Error> {
        block_on(self.0.forget_manager_state())
    }

    /// As [`Conversation::restore_manager`](crate::Conversation::restore_manager).
    ///
    /// # Errors
    /// For the state of another manager; then nothing changed.
    pub fn restore_manager(&self, state: &ManagerState) -> Result<Vec<Message>, Error> {
        block_on(self.0.restore_manager(state))
    }

    /// As [`Conversation::resummarize`](crate::Conversation::resummarize).
    ///
    /// # Errors
    /// When other background work is under way, when a strategy and its fallback fail, or the store does.
    pub fn resummarize(&self, what: Resummarize) -> Result<ResummarizeReport, Error> {
        block_on(self.0.resummarize(what))
    }

    /// As [`Conversation::rewrite_summary`](crate::Conversation::rewrite_summary).
    ///
    /// # Errors
    /// When there is no such summary, or the text does not fit its place.
    pub fn rewrite_summary(&self, summary: SummaryId, text: &str, by: &str) -> Result<RepairedSummary, Error> {
        block_on(self.0.rewrite_summary(summary, text, by))
    }

    /// As [`Conversation::dissolve_summary`](crate::Conversation::dissolve_summary).
    ///
    /// # Errors
    /// When there is no such summary, or it has no parts, or they are shown already.
    pub fn dissolve_summary(&self, summary: SummaryId, by: &str) -> Result<RepairedSummary, Error> {
        block_on(self.0.dissolve_summary(summary, by))
    }

    /// As [`Conversation::summaries`](crate::Conversation::summaries).
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub fn summaries(&self, request: SummariesRequest) -> Result<SummaryPage, Error> {
        block_on(self.0.summaries(request))
    }

    /// As [`Conversation::stats`](crate::Conversation::stats).
    ///
    /// # Errors
    /// When the store fails.
    pub fn stats(&self) -> Result<ConversationStats, Error> {
        block_on(self.0.stats())
    }

    /// The same conversation, for async code.
    #[must_use]
    pub fn as_async(&self) -> &crate::Conversation {
        &self.0
    }
}
