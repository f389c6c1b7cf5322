//! An agent's memory, ready to use: one dependency, one call to open a store, the same answers as the `memory` binary.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! In the order in which a user meets it:
//!
//! 1. [`open`] opens a store, and creates it if it is missing. [`Builder`] opens it with a [`Config`] and with parts of
//!    your own: a summarizer, an embedding model, hooks, a manager of conversations.
//! 2. [`Memory::conversation`] returns a [`Conversation`]. [`append`](Conversation::append) stores a message on disk.
//!    [`add_message`](Conversation::add_message) also runs the hooks and returns the copy that they made for the model.
//! 3. [`prompt`](Conversation::prompt) returns the [`Prompt`] for a question: every message represented once, and next
//!    to it the exact words that bear on the question. [`PromptOptions`] set the budget.
//! 4. [`search`](Conversation::search), [`find`](Conversation::find) and [`expand`](Conversation::expand) find and
//!    return single messages; a [`Memory`] has both for several conversations. [`text::excerpt`] returns
//!    the part of a message to show for a question.
//! 5. [`list`](memory_hooks::Memory::list) and [`resume`](memory_hooks::Memory::resume) find a conversation again.
//!    [`Conversation::state`] derives its goal by rules and without a model, and [`Conversation::reminder`] sums its
//!    state up within a budget of tokens.
//! 6. [`Conversation::levels`] pages through summaries and messages. [`Memory::documents`] keeps small texts under
//!    names, such as notes of a model, in the log. [`text::fenced`] and [`text::quoted`] mark quoted text as data.
//!
//! 7. [`Memory::plan_erasure`] shows what an erasure would remove, [`Memory::erase`] removes it for good and returns a
//!    receipt. [`Conversation::disable`] only keeps messages out of views and searches, until [`Conversation::enable`].
//!
//! 8. [`Conversation::ledger`] lists what is known: rules, decisions, preferences, facts and open questions, each with its
//!    source and what replaced it. [`Conversation::add_entry`] and [`correct_entry`](Conversation::correct_entry) record
//!    more.
//!
//! 9. [`Memory::ephemeral`] returns a memory that lives in this process alone: nothing of it reaches a file.
//!
//! # Modules
//!
//! The root has the types that most programs name. Events and functions that see them are in [`hooks`], traits to
//! implement in [`port`], managers and limits in [`plan`], quoting and JSON in [`text`], details of answers in
//! [`answer`], erasure and its receipts in [`erasing`], policies of how long what is kept in [`retention`].
//!
//! # Threads
//!
//! The futures work under any executor, or none: [`blocking`] has the same calls without async. The work is done on
//! threads of the memory's own, all of them called `memory`, so that no disk or model stops the caller's executor. A
//! call whose future is dropped runs to its end: an append is neither lost nor doubled.
//!
//! # In the background
//!
//! While a memory is open, summaries are written and messages are embedded without a request, beginning with work that
//! an earlier process left undone. Only one process at a time does so for a store. Vectors are on disk a few seconds
//! later. [`Memory::failures`] and the log of `tracing` report failures. [`Builder::background`] turns it off;
//! [`Memory::catch_up`] does the same work at once. With [`Config::backup_directory`] the store is also backed up
//! there, once a day by default. Dropping the last handle stops it.
//!
//! # Running for long
//!
//! A process holds a bounded part of words and vectors ([`Config::held_bytes`], [`Memory::held`]).
//! [`limit_heap_arenas`] keeps glibc from holding several times as much for its threads.
//!
//! # Models
//!
//! A store records the embedding model of its vectors. A new one takes the best that is on this machine (`memory model
//! fetch` gets one). Without a model recall is by words, which the first answer states in its notices. [`models`] names
//! models and loads them.
//!
//! A chat model is called only after [`Builder::model_summaries`] or [`Builder::judge`]; by default summaries are
//! written by rules, offline. With [`Builder::judge`] the model judges, for a prompt that asks for it, which summaries
//! are worth opening. [`port::ChatModel`] is the port to implement for the model of your agent.
//!
//! # Features
//!
//! No feature is on by default.
//!
//! - `bedrock`: embedding models of Amazon Bedrock.
//! - `openai`: embedding models at OpenAI-style endpoints.
//! - `hub`: models of a hub, by their ids.
//! - `hnsw-rs`: vector search by the crate hnsw_rs.
//! - `serde`: `Serialize` of the types that programs pass to each other, from messages to prompts and answers, and
//!   `Deserialize` of most.
//!
//! # Non-goals
//!
//! Logic of its own: the facade has only wiring, threads and background work. The crates that do the work, from
//! `memory_core` on, can be used one by one; [`Memory::parts`] returns them as wired here.

mod background;
pub mod blocking;
mod builder;
mod chat;
mod chat_models;
mod config;
mod derived;
mod embedding;
pub mod encryption;
pub mod erasing;
mod heap;
mod memory;
mod model_names;
pub mod parts;
mod pool;
mod remote_model;
mod reranking;
pub mod retention;
mod spending;
mod usage;
mod zone;

pub use background::{BackgroundFailure, BackgroundWork, BackupError};
pub use builder::Builder;
pub use chat::ModelSummaries;
pub use config::{Access, ChatSettings, Config, Recall};
pub use heap::limit_heap_arenas;
pub use memory::{Memory, open};
#[doc(hidden)]
pub use memory_core::setters;
pub use memory_core::{
    Attachment, AttachmentKind, ContentBlock, ConversationId, Disabling, Filter, InvalidConversationId, Json, Level,
    Mark, Media, Message, MessageKey, Node, NodeId, NodeKind, NodeRange, NoteId, OwnerId, Role, SummaryId, Timestamp,
    port::{Appended, ConversationState, Conversations, Hit, NoteChange, Notice, Query, Retrieved, Scope},
    time::{Edge, Period, TimeRange, TimeWords},
};
pub use memory_hooks::{
    Added, AsOf, Conversation, ConversationStats, DerivedState, Document, Documents, DocumentsNow, InvalidSource,
    Invocation, LevelPage, LevelsRequest, ListOptions, ListedConversation, Listing, MemoryError as Error, Piece,
    PieceKind, Prompt, PromptOptions, PromptPart, Quarantine, QuarantineSource, QuarantinedMessages, Reminder,
    Resummarize, SummariesRequest, Title,
};
pub use memory_search::{ArchiveLimits, FindRequest, Found, Match};
pub use memory_store::{Method, TokenBits};
pub use parts::OpenError;
pub use spending::DaySpending;
pub use usage::Usage;
pub use zone::UnknownZone;

/// Parts of answers, down to single statements.
pub mod answer {
    pub use memory_core::{
        AiComponents, MemoryUsed, Relation, RelationKind, ToolAnswer, ToolCall,
        port::{AnsweredBy, Score, SearchStep, Signal},
    };
    pub use memory_hooks::{
        Candidate, DetailedNodes, LevelEntry, Link, ListedSummary, MadeOf, NodeDetails, OverTime, PeriodStats,
        Reduction, RepairError, RepairedSummary, ResummarizeReport, SourceClass, Statement, SummaryPage, Topic,
        ViewError,
    };
    pub use memory_search::{Archived, FindError, LeftOut, StoppedAt};
}

/// The ledger: what is known in conversations, as entries with sources, authors, validity and status.
pub mod ledger {
    pub use memory_hooks::{
        EntryAuthor, EntryId, EntryKind, EntryStatus, InvalidEntryId, Ledger, LedgerEntry, LedgerError, LedgerRequest,
        NewEntry, Replacement, Which,
    };
}

/// Hooks: events of a memory, and functions of a program that see or change them.
pub mod hooks {
    pub use memory_hooks::{
        AfterInvocation, AfterModelCall, AfterToolCall, AgentInitialized, BeforeInvocation, BeforeModelCall,
        BeforeToolCall, Compacted, CompactionFailed, CompactionStarted, ContextJudged, FellBack, Hook, HookError,
        HookEvent, HookFailed, HookProvider, HookRegistry, MessageAdded, RecallBudget, RecallHook, RecallHookOptions,
        RecallUsed, Recalled, SessionRestored,
    };
}

/// Managers by name, their settings, and limits of requests to a model.
pub mod plan {
    pub use memory_core::plan::{
        MANAGERS, ManagerNameError, PlanError, Thresholds,
        list::{PerTurn, ProactiveCompression},
        strategy_named,
    };
    pub use memory_hooks::{BuildError, Exhausted, SpendLimits};
}

/// Ports, which a program may implement, with the types of their calls.
pub mod port {
    pub use memory_core::{
        ModelId, OWN_TOOLS, SummaryMetadata, ViewId, WrittenBy,
        port::{
            BoxError, BoxFuture, Breakpoint, CachedInMemory, ChatError, ChatEvent, ChatEvents, ChatModel, ChatReply,
            ChatRequest, ChatUsage, Clock, CompactionReport, ContextStrategy, ConversationManager, Derived, EmbedError,
            Embedder, Excluded, ExtendedManager, ImportanceScorer, Lease, Losses, ManagedView, ManagerError,
            ManagerState, Progress, ReduceCause, Reranker, RetrieveError, ScoreError, ScoreJob, ScoreScale, Source,
            Spawner, StopReason, Store, StoreError, SummarizeError, Summarizer, SummaryJob, SummarySource,
            TokenCounter, ToolSpec, ViewBody, ViewPiece, ViewRequest, WrittenSummary,
        },
    };
    pub use memory_hooks::{ModelSummarizer, ModelSummaryError, SystemClock};
}

/// Text for people and models: quoting, cutting, JSON.
pub mod text {
    pub use memory_core::{
        json::{InvalidJson, InvalidMessage, message_from_json, message_to_json},
        text::{grouped, is_hidden, lines, mend_surrogates, one_line, visible_json},
    };
    pub use memory_hooks::{fenced, quoted};
    pub use memory_search::{Excerpted, excerpt};
}

/// Redaction of keys and personal data.
pub mod redaction {
    pub use memory_core::port::{Detector, Finding, Sensitive};
    pub use memory_hooks::{Redaction, Treatment, UnknownRedaction};
    pub use memory_redact::Rules;
}

/// Models: embedding models by their names, the one that a store records, and chat models.
pub mod models {
    #[cfg(feature = "chat")]
    pub use crate::chat_models::missing_key;
    pub use crate::{
        chat_models::{ChatModelError, chat_model, names_chat_model, spending},
        embedding::{ModelRecord, PREFERRED, RecordError, better_for_languages, load, of_store},
        model_names::{DEFAULT_RERANKER, SHORT_NAMES, from_anywhere, full_name, source_of, without_precision},
        remote_model::{RemoteModelError, is_remote},
    };
}
