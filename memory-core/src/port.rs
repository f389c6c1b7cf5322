//! The ports: traits that crates outside this one implement.
//!
//! Every port is object-safe and is held as `Arc<dyn Port>`. Ports that may wait are asynchronous without naming a
//! runtime: they return a [`BoxFuture`].

mod block_cache;
mod changes;
mod chat_model;
mod clock;
mod context_strategy;
mod derived;
mod detector;
mod extended_manager;

mod embedder;
mod hooks;
mod importance;
mod losses;
mod manager;
mod notes;
mod notice;
mod owned;
mod past;
mod place;
mod reranker;
mod retriever;
mod scope;
mod source;
mod spawner;
mod store;
mod store_error;
mod summarizer;
mod token_embedder;
mod token_index;
mod tokens;
mod vector_index;

use std::{error::Error, future::Future, pin::Pin};

pub use block_cache::{Block, BlockBytes, BlockCache, BlockCacheError, BlockId, BlockKey, BlockRun};
pub use changes::{Changes, Revision};
pub use chat_model::{
    Breakpoint, ChatError, ChatEvent, ChatEvents, ChatModel, ChatReply, ChatRequest, ChatUsage, StopReason, ToolSpec,
};
pub use clock::Clock;
pub use context_strategy::{ContextStrategy, PlanRequest, ShrinkScope};
pub use derived::{
    CachedInMemory, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten, Holding, Holdings,
};

pub use detector::{Detector, Finding, Sensitive};
pub use embedder::{EmbedError, Embedder};
pub use extended_manager::ExtendedManager;
pub use hooks::{Hook, HookError, HookEvent, HookProvider, HookRegistry};
pub use importance::{ImportanceScorer, ScoreError, ScoreJob};
pub use losses::{Losses, ReadNodes};
pub use manager::{
    CompactionReport, ConversationManager, ManagedView, ManagerError, ManagerState, ReduceCause, TokensOf, ViewBody,
    ViewPiece, ViewRequest,
};
pub use notes::{Note, NoteChange};
pub use notice::Notice;
pub use owned::OwnedStore;
pub use past::PastStore;
pub use place::Place;
pub use reranker::{RerankError, Reranker};
pub use retriever::{
    Excerpt, HeldBack, Hit, IndexReport, Progress, Query, Recall, RecallRequest, RetrieveError, Retrieved, Retriever,
    Score, ScoreScale, SearchStep, Signal,
};
pub use scope::{Conversations, Scope};
pub use source::Source;
pub use spawner::Spawner;
pub use store::{
    Appended, ConversationState, Event, ForkedFrom, Lease, NodeProof, Recorded, Store, Verification,
    VerifiedConversation,
};
pub use store_error::StoreError;
pub use summarizer::{Excluded, SummarizeError, Summarizer, SummaryJob, SummarySource, WrittenSummary};
pub use token_embedder::{TokenEmbedder, TokenEmbedding, TokenVectors};
pub use token_index::{TokenAnswer, TokenIndex, TokenIndexStats, TokenPart};
pub use tokens::TokenCounter;
pub use vector_index::{
    AnsweredBy, Slot, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats, VectorPart, VectorQuery,
};

/// A boxed future that can be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Any error, as the cause of a typed one.
pub type BoxError = Box<dyn Error + Send + Sync>;
