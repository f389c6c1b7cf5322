//! An agent's memory as a whole: append messages, keep them compacted, show them to a model, recall from them.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! In the order in which a user meets them:
//!
//! 1. [`Memory::builder`] takes the ports of `memory-core` as `Arc<dyn …>`: use the log of `memory-store` or another
//!    store, the retriever of `memory-search` or another one.
//! 2. [`Memory::conversation`] returns a [`Conversation`]. [`append`](Conversation::append) stores a message on disk.
//!    [`add_message`](Conversation::add_message) also runs the hooks.
//! 3. [`prompt`](Conversation::prompt) assembles a [`Prompt`], the text that a model is shown for a question: every
//!    message represented exactly once, and next to it the exact words that bear on the question. [`PromptOptions`] set
//!    the budget.
//! 4. [`compact`](Conversation::compact) writes the summaries that are due. [`prompt`](Conversation::prompt) does so
//!    itself unless [`Memory::background`] runs.
//! 5. [`reduce`](Conversation::reduce) makes a prompt smaller after the window of a model overflowed.
//! 6. [`as_of`](Conversation::as_of) shows a recorded view again byte for byte, and fails with a [`ViewError`] if
//!    anything differs.
//! 7. [`search`](Conversation::search), [`find`](Conversation::find) and [`expand`](Conversation::expand) find and
//!    return single messages. [`stats`](Conversation::stats) reports figures.
//! 8. [`Memory::list`] and [`Memory::resolve`] find a conversation again: by time, tags, title.
//!    [`state`](Conversation::state) derives its purpose by rules and without a model, and
//!    [`reminder`](Conversation::reminder) sums it up for a reader who continues with it.
//!    [`details`](Conversation::details) and [`over_time`](Conversation::over_time) show messages with their parts, and
//!    figures by periods.
//! 9. [`MemoryBuilder::manager`] sets a [`ConversationManager`](memory_core::port::ConversationManager) of your own,
//!    which keeps conversations small; [`MemoryBuilder::derived`] builds one on top of the present one
//!    ([`ExtendedManager`](memory_core::port::ExtendedManager)).
//!
//! # Threads
//!
//! Stores and models block where their futures are polled. [`Memory::on_threads`] runs the calls of all handles
//! elsewhere, to their end; without it they run in place. A call that borrows its progress always runs in place.
//!
//! # Hooks
//!
//! A [`HookRegistry`] holds one list of [`Hook`]s for each type of event: [`MessageAdded`], [`RecallUsed`],
//! [`Compacted`], [`CompactionFailed`] and [`FellBack`]. [`RecallHook`] adds recalled words to a user's outgoing
//! message; the log keeps the message as it was said.
//!
//! # Failures
//!
//! When a strategy fails or breaks its contract, its fallback does the job and [`FellBack`] reports it. Without a
//! retriever a prompt is only the history. A failed compaction keeps the summaries recorded before and changes nothing
//! else.
//!
//! # Features and non-goals
//!
//! The feature `serde` implements `Serialize` for [`Prompt`]s, their pieces, reports and figures. The crate does not
//! store, embed or rank: those are ports. The crate does not call a model provider.

mod as_of;
mod calls;
mod candidate;
mod clock;
mod compaction_queue;
mod conversation;
mod counts;
mod details;
mod disabling;
mod documents;
mod error;
mod events;
mod invocation;
mod judge;
mod kept_out;
mod kept_state;
mod learned;
mod ledger;
mod levels;
mod links;
mod list_summary;
mod listing;
mod made_of;
mod manager;
mod marking;
mod matter;
mod memory;
mod model_written;
mod over_time;
mod parts;
mod ports;
mod prompt;
mod quarantine;
mod recall_hook;
mod redaction;
mod reminder;
mod render;
mod replay;
mod resolve;
mod run_facts;
mod shorten;
mod snapshot_cache;
mod spend;

mod state;
mod stats;
mod summaries;
mod text_search;
mod threads;
mod title;
mod uses;
mod view_error;
mod windows;
#[cfg(feature = "serde")]
mod wire;
mod zone;

pub use as_of::AsOf;
pub use candidate::Candidate;
pub use clock::SystemClock;
pub use conversation::{Added, Conversation};
pub use details::{DetailedNodes, NodeDetails};
pub use documents::{Document, Documents, DocumentsNow};
pub use error::{BuildError, MemoryError};
pub use events::{
    AfterInvocation, AfterModelCall, AfterToolCall, AgentInitialized, BeforeInvocation, BeforeModelCall,
    BeforeToolCall, Compacted, CompactionFailed, CompactionStarted, ContextJudged, FellBack, HookFailed, MessageAdded,
    RecallUsed, SessionRestored,
};
pub use invocation::Invocation;
pub use ledger::{
    EntryAuthor, EntryId, EntryKind, EntryStatus, InvalidEntryId, Ledger, LedgerEntry, LedgerError, LedgerRequest,
    NewEntry, Replacement, Which,
};
pub use levels::{LevelEntry, LevelPage, LevelsRequest};
pub use links::Link;
pub use list_summary::summarize_list;
pub use listing::{ListOptions, ListedConversation, Listing};
pub use made_of::MadeOf;
pub use manager::{
    adopting::{Adopted, ForeignSummary, Misfit},
    repairing::{RepairError, RepairedSummary},
    rewriting::{Resummarize, ResummarizeReport},
};
pub use memory::{Memory, MemoryBuilder};
pub use memory_core::{
    SourceClass,
    port::{CompactionReport, Hook, HookError, HookEvent, HookProvider, HookRegistry},
};
pub use model_written::{ModelSummarizer, ModelSummaryError};
pub use over_time::{OverTime, PeriodStats};
pub use prompt::{Piece, PieceKind, Prompt, PromptOptions, PromptPart, Reduction};
pub use quarantine::{InvalidSource, Quarantine, QuarantineSource, QuarantinedMessages};
pub use recall_hook::{RecallBudget, RecallHook, RecallHookOptions, Recalled};
pub use redaction::{Redaction, Treatment, UnknownRedaction};
pub use reminder::Reminder;
pub use render::{fenced, quoted};
pub use spend::{Exhausted, SpendLimits};
pub use state::{DerivedState, Statement, Topic};
pub use stats::ConversationStats;
pub use summaries::{ListedSummary, SummariesRequest, SummaryPage};
pub use title::Title;
pub use view_error::{Difference, ViewError};
