//! Port: the store of conversations.

use std::fmt;

use super::{BoxFuture, Changes, Revision, Source, StoreError};
use crate::{
    ConversationId, Disabling, Erasure, Hash, MessageKey, Node, NodeDraft, NodeId, NodeRange, NoteId, OwnerId, Summary,
    SummaryDraft, SummaryId, Timestamp, ViewId, WrittenBy,
    port::Note,
    proof::Salt,
    view::{View, ViewDraft},
};

/// Result of appending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Appended {
    /// Position of the message.
    pub node: NodeId,
    /// False if the key already names the same message, so that nothing was written.
    #[cfg_attr(feature = "serde", serde(rename = "new"))]
    pub is_new: bool,
    /// True if the key names a message that was erased, so that nothing was written and the message stays erased.
    #[cfg_attr(feature = "serde", serde(rename = "erased", default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_erased: bool,
}

impl Appended {
    /// A message that was written at `node`.
    #[must_use]
    pub const fn new(node: NodeId) -> Self {
        Self { node, is_new: true, is_erased: false }
    }

    /// A message that `node` already holds with the same key.
    #[must_use]
    pub const fn existing(node: NodeId) -> Self {
        Self { node, is_new: false, is_erased: false }
    }

    /// A message whose key was that of the message at `node`, which was erased.
    #[must_use]
    pub const fn erased(node: NodeId) -> Self {
        Self { node, is_new: false, is_erased: true }
    }
}

/// A record of a conversation other than a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A strategy wrote a summary. A later summary of the same level, span and children, written from another input,
    /// supersedes it: both are kept, and the later text is shown.
    Summary(SummaryDraft),
    /// A strategy or a person rated a node.
    Importance {
        /// The node.
        node: NodeId,
        /// Importance in 0..=1.
        importance: f32,
        /// The rater.
        scored_by: WrittenBy,
    },
    /// A node must stay verbatim, or no longer.
    Pin {
        /// The node.
        node: NodeId,
        /// True if the node is pinned.
        pinned: bool,
    },
    /// The conversation received a title.
    Title(String),
    /// The complete tags of the conversation.
    Tags(Vec<String>),
    /// A model was shown this view.
    View(Box<ViewDraft>),
    /// A model or a program changed a named text. It may begin the conversation.
    Note(Box<Note>),
    /// Messages of the conversation, and what came from them, were erased.
    Erased(Box<Erasure>),
    /// Messages or summaries were disabled, or enabled again.
    Disabled(Box<Disabling>),
}

/// Result of recording an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// Number of the summary. Recording the same level, span and input hash again returns the existing number.
    Summary(SummaryId),
    /// Number of the view.
    View(ViewId),
    /// Number of the note.
    Note(NoteId),
    /// Any other event.
    Done,
}

/// The point at which a conversation was forked from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ForkedFrom {
    /// The parent.
    pub conversation: ConversationId,
    /// Last node of the shared prefix.
    pub node: NodeId,
}

/// The state of a conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationState {
    /// Its name.
    pub id: ConversationId,
    /// Number of messages, which is the last node's position.
    pub nodes: u64,
    /// Number of summaries.
    pub summaries: u64,
    /// Number of the last recorded view; 0 if there is none.
    pub views: u64,
    /// Number of the last note; 0 if there is none.
    pub notes: u64,
    /// Time of the first message; `None` while the conversation is empty.
    pub first_at: Option<Timestamp>,
    /// Last known time of a message.
    pub last_at: Option<Timestamp>,
    /// Sum of the messages' tokens.
    pub tokens: u64,
    /// Its title.
    pub title: Option<String>,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// Number of erased messages.
    pub erased: u64,
    /// Number of disabled messages.
    pub disabled: u64,
    /// Fork point, if the conversation is a fork and the point is still known.
    pub forked_from: Option<ForkedFrom>,
    /// Owner, if any.
    pub owner: Option<OwnerId>,
}

impl ConversationState {
    /// The state of an empty conversation.
    #[must_use]
    pub fn new(id: ConversationId) -> Self {
        Self {
            id,
            nodes: 0,
            summaries: 0,
            views: 0,
            notes: 0,
            first_at: None,
            last_at: None,
            tokens: 0,
            title: None,
            tags: Vec::new(),
            erased: 0,
            disabled: 0,
            forked_from: None,
            owner: None,
        }
    }

    /// True if the conversation has messages, and all of them were erased.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.nodes > 0 && self.erased == self.nodes
    }

    crate::setters! {
        const nodes: u64,
        const summaries: u64,
        const views: u64,
        const notes: u64,
        into first_at: Option<Timestamp>,
        into last_at: Option<Timestamp>,
        const tokens: u64,
        into title: Option<String>,
        tags: Vec<String>,
        const erased: u64,
        const disabled: u64,
        into forked_from: Option<ForkedFrom>,
        into owner: Option<OwnerId>,
    }
}

/// Proof of a node: the leaf is `leaf_hash(salt, canonical bytes)`. The salt of an erased node is zeros, since it was
/// erased with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The salt hashed with the message.
    pub salt: Salt,
    /// The leaf.
    pub leaf: Hash,
}

/// Result of rereading everything.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verification {
    /// Each conversation that was read, sorted by name.
    pub conversations: Vec<VerifiedConversation>,
    /// Nodes that should exist.
    pub nodes: u64,
    /// Nodes that were read, decoded and hashed again.
    pub verified: u64,
    /// Nodes whose message was erased, and whose leaf is there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub erased: u64,
    /// Merkle root of the conversation; for several conversations, the hash over their names and roots.
    pub root: Hash,
    /// Descriptions of the damage with path and offset; empty without damage.
    pub damage: Vec<String>,
}

/// A conversation that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct VerifiedConversation {
    /// Its name.
    #[cfg_attr(feature = "serde", serde(rename = "conversation"))]
    pub id: ConversationId,
    /// Nodes that should exist.
    pub nodes: u64,
    /// Nodes that were read and hashed again.
    pub verified: u64,
    /// Nodes whose message was erased, and whose leaf is there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub erased: u64,
    /// Merkle root over the leaves.
    pub root: Hash,
}

impl VerifiedConversation {
    /// A conversation without nodes, with this root.
    #[must_use]
    pub fn new(id: ConversationId, root: Hash) -> Self {
        Self { id, nodes: 0, verified: 0, erased: 0, root }
    }

    crate::setters! {
        const nodes: u64,
        const verified: u64,
        const erased: u64,
    }
}

impl Verification {
    /// The result for some conversations. For a single one the root is its own; for several it is the hash over their
    /// names and roots.
    #[must_use]
    pub fn of(mut conversations: Vec<VerifiedConversation>, damage: Vec<String>) -> Self {
        conversations.sort_by(|a, b| a.id.cmp(&b.id));
        let root = match conversations.as_slice() {
            [only] => only.root,
            all => Hash::of_parts(all.iter().flat_map(|c| [c.id.as_str().as_bytes(), c.root.as_bytes().as_slice()])),
        };
        Self {
            nodes: conversations.iter().map(|c| c.nodes).sum(),
            verified: conversations.iter().map(|c| c.verified).sum(),
            erased: conversations.iter().map(|c| c.erased).sum(),
            conversations,
            root,
            damage,
        }
    }

    /// True if every node that was not erased was read, and nothing is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.verified + self.erased == self.nodes && self.damage.is_empty()
    }
}

/// Permission for background work on a store (compacting, building indexes, rewriting files), or for a turn of a
/// conversation. Dropping the value returns the permission.
pub struct Lease {
    /// Dropping this ends the lease in the store.
    _held: Option<Box<dyn Send + Sync>>,
}

impl Lease {
    /// A lease for a store that needs no exclusion.
    #[must_use]
    pub fn unshared() -> Self {
        Self { _held: None }
    }

    /// A lease that ends when `held` is dropped.
    #[must_use]
    pub fn holding(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

/// Keeps conversations, each as an append-only sequence of messages with its events. [`Source`] is the part that a
/// searcher reads.
///
/// Contract, which `testing::store_conformance` checks:
/// - `append` and `record` return once their data would survive a crash. A batch is written completely or not at all,
///   in order, and not interleaved with others; dropping the future neither loses nor repeats it.
/// - Nodes are numbered densely from 1 in the order of appending. A conversation begins with its first append, or with
///   a note.
/// - A message whose key is in the conversation already is not written again. A *different* message under the same key
///   is [`StoreError::KeyConflict`], and its batch writes nothing.
/// - Reads see everything that was acknowledged before they began, and return exactly what was appended.
/// - Nothing is changed in place: a node's importance and pin are those of the latest event.
/// - From the moment that an [`Erasure`] is recorded, its messages read as [`Node::erased`], here and in every fork that
///   shares them, also when it was recorded in a fork. Leaves and roots stay. Summaries of which an erased message is a
///   part, and notes that name one as a source, are not read any more. A view that was recorded before, and showed one
///   or was asked just before it, has no question, and zeros for salt, hash and checks. A message whose key an erased
///   one had is not written.
/// - From the moment that a [`Disabling`] is recorded, its messages read as [`Node::disabled`] and its summaries have the
///   text [`DISABLED`](crate::DISABLED), in this conversation and in forks that are made later. A summary is read only
///   if the same messages and summaries below it were disabled when it was recorded. [`Source::whole_nodes`] and
///   [`Self::whole_summaries_of`] read all of it. Leaves, roots and keys stay.
/// - A note is recorded only under the number after the last one's. The first may have any number up to the one after
///   the last node's.
/// - A fork has the nodes of its parent up to the fork point, under the same numbers and with the same proofs. Messages
///   and events that are added to one of them later are not in the other.
/// - Names are unique across all owners. The store itself records owners but shows all conversations;
///   [`OwnedStore`](super::OwnedStore) and a [`Scope`](super::Scope) with an owner show only that owner's.
/// - One process at a time holds the lease for background work, and shares it internally.
pub trait Store: Source {
    /// Appends messages to a conversation, and begins it for `owner` if needed. An empty batch writes nothing.
    ///
    /// The owner of a conversation is recorded together with its first messages and never changes. Without `owner` a
    /// new conversation has no owner, and messages may be appended to any conversation.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] if the conversation exists and is not the owner's; [`StoreError::Reserved`] if it does
    /// not exist and its name is kept for notes.
    fn append_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>>;

    /// [`Self::append_for`] without an owner.
    fn append<'a>(
        &'a self,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        self.append_for(None, conversation, batch)
    }

    /// Records events of a conversation. If the first one is a note, the conversation is begun for `owner` if needed.
    ///
    /// A summary must have a level above FULL, span existing nodes, and name children whose spans tile its own; a view
    /// must cover its messages, as [`check_view`](crate::view::check_view) specifies; a note must have the number after
    /// the last one's, and existing nodes as sources.
    ///
    /// # Errors
    /// [`StoreError::NoteConflict`] if another note has the number, and nothing is recorded; otherwise as for
    /// [`Self::append_for`], and if the conversation does not exist and the first event is no note.
    fn record_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>>;

    /// [`Self::record_for`] without an owner.
    fn record<'a>(
        &'a self,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>> {
        self.record_for(None, conversation, events)
    }

    /// Begins the conversation `child` as a continuation of `parent` after `node`, and returns its state.
    ///
    /// The child has the parent's nodes 1 to `node`, with their keys and current importance and pins; the parent's
    /// summaries of only these nodes; and the views that were recorded before the next node was appended. All keep
    /// their numbers, and new records of the child are numbered after them. The child has no title, no tags and no
    /// notes, and belongs to its parent's owner. Forks may be forked.
    ///
    /// # Errors
    /// [`StoreError::UnknownConversation`] and [`StoreError::UnknownNode`] for the parent; [`StoreError::NameTaken`]
    /// and [`StoreError::UnfitName`] for the child.
    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>>;

    /// One node.
    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>>;

    /// The existing nodes of a run, in order; an error if one of them cannot be read.
    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>>;

    /// The readable summaries with these numbers, in order of their numbers.
    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let mut summaries = self.summaries(conversation).await?;
            summaries.retain(|summary| ids.contains(&summary.id));
            Ok(summaries)
        })
    }

    /// The summaries with these numbers with their texts as they were recorded, in order of their numbers, also those
    /// that are disabled or were made when other messages were disabled: for views that were shown before. The default
    /// is for a store in which nothing can be disabled.
    fn whole_summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        self.summaries_of(conversation, ids)
    }

    /// The changes of what is disabled, in the order in which they were recorded. The default is for a store in which
    /// nothing can be disabled.
    fn disablings<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Disabling>, StoreError>> {
        Box::pin(async move { self.conversation(conversation).await.map(|_| Vec::new()) })
    }

    /// The readable views with numbers from `first` to `last`, in order. The numbers of lost views are missing.
    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>>;

    /// The readable notes with numbers from `first` to `last`, in order. The numbers of lost notes are missing.
    fn notes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: NoteId,
        last: NoteId,
    ) -> BoxFuture<'a, Result<Vec<Note>, StoreError>>;

    /// Changes since `since`, so that a caller that shows a long conversation at every turn need not read all of it.
    /// The default reports everything as new.
    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move {
            let _ = since;
            Changes::everything(self, conversation).await
        })
    }

    /// The node with this key, if any.
    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>>;

    /// Salt and leaf of the existing nodes of a run, in order.
    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>>;

    /// The existing nodes of a run with salt and leaf, in order; an error if one of them cannot be read. The default
    /// reads each message twice; a store that keeps both together should override it.
    fn nodes_with_proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        Box::pin(async move {
            let nodes = self.nodes(conversation, range).await?;
            let proofs = self.proofs(conversation, range).await?;
            Ok(nodes.into_iter().zip(proofs).collect())
        })
    }

    /// Rereads and rehashes everything, and reports the result. Damage is a result, not an error. `None` verifies all
    /// conversations.
    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>>;

    /// The lease for background work, which keeps two processes from doing the same work. No urgent work waits for it,
    /// and no data depends on it. Always granted by a store that only one process can open, and by a read-only one,
    /// which keeps no results.
    ///
    /// # Errors
    /// [`StoreError::Locked`], at once, while another process holds the lease.
    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async { Ok(Lease::unshared()) })
    }

    /// The right to answer in a conversation, which keeps two agents from answering one message. The conversation need
    /// not exist. Ends with its process. Always granted by a store that only one process can open, and by a read-only one.
    ///
    /// # Errors
    /// [`StoreError::Locked`], at once, while another one holds the right.
    fn turn_lease<'a>(&'a self, _conversation: &'a ConversationId) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async { Ok(Lease::unshared()) })
    }
}
