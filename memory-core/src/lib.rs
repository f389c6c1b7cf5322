//! Types, ports and pure planning of an agent's memory.
//!
//! Every message of a conversation is a [`Node`] and is kept exactly. [`Summary`]s cover runs of nodes, and a
//! view of a conversation is a [cut](plan::Cut) through the tree they make: each node is represented exactly
//! once. This crate decides; it does no IO, knows no clock and no randomness, and names no async runtime.
//! Engines implement the ports ([`Store`], [`Retriever`], [`Embedder`], …) in crates of their own.
//!
//! Non-goals: serialization for disk or wire, file access, threads.
//!
//! ```
//! use memory_core::{Message, NodeRange, NodeId};
//!
//! let message = Message::user("The budget is 4,200 euros.").by("Maya");
//! assert_eq!(message.speaker_or_role(), "Maya");
//! assert_eq!(NodeRange::first_n(12).unwrap().widen(2, 12).to_string(), "1-12");
//! # assert_eq!(NodeId::FIRST.get(), 1);
//! ```

mod canonical;
mod filter;
mod first_words;
mod hash;
mod id;
mod json;
mod leaf;
mod merkle;
mod message;
mod message_json;
mod nearest;
mod node;
mod node_set;
pub mod plan;
mod port;
mod proof;
mod range;
mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod time_range;
mod time_words;
mod view;
mod visible;

pub use canonical::{InvalidCanonical, canonical_bytes, message_from_canonical};
pub use filter::Filter;
pub use first_words::FirstWords;
pub use hash::{Hash, InvalidHash};
pub use id::{ConversationId, InvalidConversationId, ModelId, NodeId, SummaryId, UnfitName, ViewId};
pub use json::{InvalidJson, Json};
pub use leaf::LeafHasher;
pub use merkle::{ConsistencyProof, InclusionProof, MerkleFrontier, ProofError, Salt, leaf_hash, size_with_root};
pub use message::{ContentBlock, InvalidMessageKey, Media, Message, MessageKey, Role};
pub use message_json::{InvalidMessage, message_from_json, message_to_json};
pub use nearest::nearest;
pub use node::{Node, NodeDraft, NodeKind, NodeOutline, Relation, RelationKind};
pub use node_set::NodeSet;
pub use port::{
    AnsweredBy, Appended, Block, BlockCache, BlockCacheError, BlockKey, BoxError, BoxFuture, Changes, ChatError,
    ChatModel, ChatReply, ChatRequest, Clock, ContextStrategy, ConversationState, EmbedError, Embedder, Event, Excerpt,
    ForkedFrom, HeldBack, Hit, ImportanceScorer, IndexReport, Lease, Losses, NodeProof, Progress, Query, ReadNodes,
    Recall, RecallRequest, Recorded, RerankError, Reranker, RetrieveError, Retrieved, Retriever, Revision, Scope,
    Score, ScoreError, ScoreJob, ScoreScale, SearchStep, Signal, Slot, Store, StoreError, SummarizeError, Summarizer,
    SummaryJob, SummarySource, TokenAnswer, TokenCounter, TokenEmbedder, TokenEmbedding, TokenIndex, TokenIndexStats,
    TokenPart, TokenVectors, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats, VectorPart,
    VectorQuery, Verification, VerifiedConversation, WrittenSummary,
};
pub use proof::{HistoryProof, InvalidProof, MessageProof, Proof, TreeHead};
pub use range::NodeRange;
pub use summary::{Level, Summary, SummaryDraft, SummaryMetadata, SummaryOutline, WrittenBy};
pub use time::{Civil, InvalidTimestamp, Timestamp, utc_offset};
pub use time_range::{EmptyTimeRange, TimeRange};
pub use time_words::{NoTimeWords, TimeWords};
pub use view::{Shown, ShownRun, View, ViewDraft, check_view, run_check, text_hash};
pub use visible::{is_hidden, lines, one_line};
