//! The memory for programs without async: each call blocks its thread until it is done.
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
//! In async code these calls block their thread, like any blocking call, and do not panic.

use std::path::PathBuf;

use memory_core::{
    ConversationId, Disabling, InvalidConversationId, Mark, Message, MessageKey, Node, NodeId, NodeRange, SummaryId,
    Timestamp,
    port::{
        Appended, CachedInMemory, CompactionReport, ConversationState, IndexReport, ManagerState, Query, Retrieved,
        Scope,
    },
    time::Period,
};
use memory_hooks::{
    Added, AsOf, ConversationStats, DerivedState, DetailedNodes, EntryAuthor, EntryId, Ledger, LedgerEntry,
    LedgerRequest, LevelPage, LevelsRequest, ListOptions, Listing, NewEntry, OverTime, Prompt, PromptOptions, Reminder,
    RepairedSummary, Resummarize, ResummarizeReport, SummariesRequest, SummaryPage, Title,
};
use memory_search::{FindRequest, Found};
use pollster::block_on;

use crate::{
    BackgroundFailure, Error, OpenError, Usage,
    erasing::{EraseError, EraseOptions, EraseRequest, ErasurePlan, Receipt},
};

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

/// Calls of a handle that block on the async ones.
macro_rules! waiting {
    ($handle:ident, $of:literal: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl $handle {
            $(
                #[doc = concat!("Waits for [`", stringify!($name), "`](", $of, "::", stringify!($name), ").")]
                ///
                /// # Errors
                /// Errors of the async call.
                pub fn $name(&self $(, $argument: $type)*) -> Result<$result, Error> {
                    block_on(self.0.$name($($argument),*)).map(Into::into)
                }
            )*
        }
    };
}

waiting! { Memory, "memory_hooks::Memory":
    conversations() -> Vec<ConversationState>;
    list(options: ListOptions) -> Listing;
    resume(name: &str) -> Conversation;
    search(query: Query) -> Retrieved;
    find(request: FindRequest) -> Found;
    ledger(scope: &Scope, request: &LedgerRequest) -> Ledger;
}

waiting! { Memory, "crate::Memory":
    catch_up() -> ();
    flush() -> ();
    usage() -> Option<Usage>;
}

waiting! { Conversation, "memory_hooks::Conversation":
    append(message: Message) -> Appended;
    append_batch(batch: Vec<(Message, Timestamp)>) -> Vec<Appended>;
    add_message(message: Message) -> Added;
    add_message_with_visible(message: Message, visible: Vec<NodeRange>) -> Added;
    prompt(question: &str) -> Prompt;
    prompt_with(question: &str, options: &PromptOptions) -> Prompt;
    turn(options: &PromptOptions) -> Prompt;
    aside(question: &str, options: &PromptOptions) -> Prompt;
    reduce(overflowed: &Prompt, options: &PromptOptions) -> Prompt;
    as_of(as_of: AsOf) -> Prompt;
    search(question: &str, limit: usize) -> Retrieved;
    find(pattern: &str, limit: usize) -> Found;
    find_key(key: &MessageKey) -> Option<NodeId>;
    expand(node: NodeId) -> Node;
    messages(range: NodeRange) -> Vec<Node>;
    overview() -> ConversationState;
    pin(node: NodeId, pinned: bool) -> ();
    disable(nodes: Vec<NodeRange>, by: &str) -> Disabling;
    enable(nodes: Vec<NodeRange>, by: &str) -> Disabling;
    disable_summaries(summaries: Vec<SummaryId>, by: &str) -> Disabling;
    enable_summaries(summaries: Vec<SummaryId>, by: &str) -> Disabling;
    disablings() -> Vec<Disabling>;
    whole_messages(range: NodeRange) -> Vec<Node>;
    title() -> Option<Title>;
    set_title(title: &str) -> ();
    tags() -> Vec<String>;
    set_tags(tags: &[String]) -> ();
    is_marked(mark: Mark) -> bool;
    mark(mark: Mark, is_set: bool) -> ();
    state() -> DerivedState;
    ledger(request: &LedgerRequest) -> Ledger;
    entry(id: EntryId) -> LedgerEntry;
    add_entry(entry: NewEntry) -> LedgerEntry;
    correct_entry(id: EntryId, text: &str, by: EntryAuthor, sources: Vec<NodeRange>) -> LedgerEntry;
    disable_entry(id: EntryId) -> LedgerEntry;
    enable_entry(id: EntryId) -> LedgerEntry;
    reminder(budget: u32) -> Reminder;
    details(range: NodeRange) -> DetailedNodes;
    levels(request: LevelsRequest) -> LevelPage;
    levels_below(summary: SummaryId, limit: usize) -> LevelPage;
    over_time(period: Option<Period>) -> OverTime;
    stats() -> ConversationStats;
    fork(node: NodeId, child: ConversationId) -> Conversation;
    initialize() -> Vec<Message>;
    manager_state() -> ManagerState;
    restore_manager(state: &ManagerState) -> Vec<Message>;
    keep_manager_state() -> bool;
    kept_manager_state() -> Option<ManagerState>;
    forget_manager_state() -> ();
    compact() -> CompactionReport;
    index() -> IndexReport;
    summaries(request: SummariesRequest) -> SummaryPage;
    resummarize(what: Resummarize) -> ResummarizeReport;
    rewrite_summary(summary: SummaryId, text: &str, by: &str) -> RepairedSummary;
    dissolve_summary(summary: SummaryId, by: &str) -> RepairedSummary;
}

impl Memory {
    /// See [`Memory::conversation`](crate::Memory::conversation).
    ///
    /// # Errors
    /// If no conversation can have that name.
    pub fn conversation(&self, name: &str) -> Result<Conversation, InvalidConversationId> {
        self.0.conversation(name).map(Conversation)
    }

    /// See [`Memory::new_conversation`](memory_hooks::Memory::new_conversation).
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        self.0.new_conversation().map(Conversation)
    }

    /// Waits for [`plan_erasure`](crate::Memory::plan_erasure).
    ///
    /// # Errors
    /// Errors of the async call.
    pub fn plan_erasure(&self, request: EraseRequest) -> Result<ErasurePlan, EraseError> {
        block_on(self.0.plan_erasure(request))
    }

    /// Waits for [`erase`](crate::Memory::erase).
    ///
    /// # Errors
    /// Errors of the async call.
    pub fn erase(&self, plan: ErasurePlan, options: EraseOptions) -> Result<Receipt, EraseError> {
        block_on(self.0.erase(plan, options))
    }

    /// See [`Memory::ephemeral`](crate::Memory::ephemeral).
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn ephemeral(&self) -> Result<Self, OpenError> {
        self.0.ephemeral().map(Self)
    }

    /// See [`Memory::held`](crate::Memory::held).
    #[must_use]
    pub fn held(&self) -> Vec<CachedInMemory> {
        self.0.held()
    }

    /// See [`Memory::failures`](crate::Memory::failures).
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
    /// Id of the conversation.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        self.0.id()
    }

    /// The same conversation, for async code.
    #[must_use]
    pub fn as_async(&self) -> &crate::Conversation {
        &self.0
    }
}
