//! Bytes of a store: its log, and all derived data, by conversation.

use std::{collections::BTreeMap, io};

use memory::Usage;
use memory_core::{
    ConversationId, NodeId, NodeRange,
    port::{DerivedKind, Store},
    proof::canonical_bytes,
};
use memory_store::LogStore;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Output, grouped};

/// Messages that are read at once.
const RUN: usize = 512;

/// The bytes of a store.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OfStore {
    /// Number of messages.
    messages: u64,
    /// Bytes of the log.
    log_bytes: u64,
    /// Bytes of embeddings.
    embeddings_bytes: u64,
    /// Bytes of indexes.
    index_bytes: u64,
    /// Bytes of all data.
    total_bytes: u64,
    /// True if the store is encrypted, or being encrypted or decrypted.
    encrypted: bool,
    /// True while it is being encrypted, decrypted or given new keys, or that was interrupted.
    encryption_changing: bool,
    /// The most bytes of words that a process holds in memory, and as many of vectors and of token vectors.
    held_bytes: u64,
    /// Derived data, by kind.
    derived: BTreeMap<&'static str, KindBytes>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct KindBytes {
    /// Number of items.
    count: u64,
    /// Bytes on disk.
    bytes: u64,
}

/// The bytes of a store, for printing.
#[derive(Debug)]
pub(super) struct Bytes(pub(super) Usage);

impl Bytes {
    /// Bytes of the messages of a conversation, and of the data derived from them, by kind.
    pub(super) fn of_conversation(&self, id: &ConversationId, messages: u64) -> BTreeMap<&'static str, u64> {
        let derived = self.0.of_conversation(id).map(|(kind, size)| (kind.name(), size.disk));
        std::iter::once(("messages", messages)).chain(derived).collect()
    }

    pub(super) fn of_store(&self, log: &LogStore) -> OfStore {
        let derived = self.0.derived.iter().map(|(kind, holdings)| {
            let total = holdings.total();
            (kind.name(), KindBytes { count: total.count, bytes: total.disk })
        });
        OfStore {
            messages: self.0.messages,
            log_bytes: self.0.log_bytes,
            embeddings_bytes: self.0.embeddings_bytes(),
            index_bytes: self.0.index_bytes(),
            total_bytes: self.0.total_bytes(),
            encrypted: log.is_encrypted(),
            encryption_changing: log.is_encryption_changing(),
            held_bytes: self.0.held_bytes,
            derived: derived.collect(),
        }
    }

    /// Prints a table of conversations, by their names for people, with the bytes of their messages. A reader who sees
    /// all of the store also gets its bytes.
    pub(super) fn print(
        &self,
        output: Output,
        conversations: &[(&ConversationId, String, u64)],
        sees_all: bool,
    ) -> io::Result<()> {
        let header = ["bytes of", "messages", "words", "vectors", "graph", "tokens", "embeddings", "questions"];
        let kinds = [
            DerivedKind::Words,
            DerivedKind::Vectors,
            DerivedKind::Graph,
            DerivedKind::Tokens,
            DerivedKind::Embeddings,
            DerivedKind::Questions,
        ];
        let row = |name: String, messages: String, of_kind: &dyn Fn(DerivedKind) -> u64| {
            let [words, vectors, graph, tokens, embeddings, questions] = kinds.map(|kind| grouped(of_kind(kind)));
            [name, messages, words, vectors, graph, tokens, embeddings, questions]
        };
        let of_one = |(id, name, messages): &(&ConversationId, String, u64)| {
            let size = |sought: DerivedKind| -> u64 {
                self.0.of_conversation(id).filter(|(kind, _)| *kind == sought).map(|(_, size)| size.disk).sum()
            };
            row(name.clone(), grouped(*messages), &size)
        };
        let whole = sees_all.then(|| {
            row("the store".to_owned(), format!("log {}", grouped(self.0.log_bytes)), &|kind| self.0.of_kinds(&[kind]))
        });
        output.table_without(
            header,
            conversations.iter().map(of_one).chain(whole),
            &["questions", "graph", "tokens", "embeddings"],
        )?;
        if sees_all { output.line(&self.0.to_string()) } else { Ok(()) }
    }
}

/// Bytes of the readable messages of a conversation, as hashed: without the overhead of the log.
pub(super) async fn of_messages(store: &dyn Store, id: &ConversationId) -> anyhow::Result<u64> {
    let nodes = store.conversation(id).await?.nodes;
    let mut bytes = 0;
    for before in (0..nodes).step_by(RUN) {
        let last = nodes.min(before + RUN as u64);
        let run = NodeId::new(before + 1).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(run) = run else { break };
        let read = store.readable_nodes(id, run).await?;
        bytes += read.nodes.iter().map(|node| canonical_bytes(&node.message, node.at).len() as u64).sum::<u64>();
    }
    Ok(bytes)
}
