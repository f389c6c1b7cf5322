//! The bytes that a store takes: its log, and everything derived from it, by conversation.

use std::{fs, io, sync::Arc};

use anyhow::Context;
use memory_core::{
    ConversationId, Derived, DerivedKind, DerivedSize, Holdings, NodeId, NodeRange, Source, Store, canonical_bytes,
};
use memory_store::LogStore;
use serde_json::{Map, Value, json};

use crate::output::{Output, grouped};

/// Messages that are read at a time.
const RUN: usize = 512;

/// The bytes of a store.
#[derive(Debug)]
pub(super) struct Bytes {
    messages: u64,
    log: u64,
    /// The most of each kind that a process holds in memory.
    held: u64,
    derived: Vec<(DerivedKind, Holdings)>,
}

impl Bytes {
    pub(super) async fn of(store: &LogStore, derived: &[Arc<dyn Derived>], held: usize) -> anyhow::Result<Self> {
        let messages = store.conversations().await?.iter().map(|conversation| conversation.nodes).sum();
        let mut all = Vec::with_capacity(derived.len());
        for data in derived {
            // What cannot be listed keeps nothing else from being shown.
            let holdings = data.holdings().await.unwrap_or_else(|error| {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(kind = data.kind().name(), %error, "its bytes are not known");
                Holdings::default()
            });
            all.push((data.kind(), holdings));
        }
        Ok(Self { messages, log: log_bytes(store)?, held: held as u64, derived: all })
    }

    fn of_kinds(&self, kinds: &[DerivedKind]) -> u64 {
        let of_kinds = self.derived.iter().filter(|(kind, _)| kinds.contains(kind));
        of_kinds.map(|(_, holdings)| holdings.total().disk).sum()
    }

    fn embeddings(&self) -> u64 {
        self.of_kinds(&[DerivedKind::Vectors, DerivedKind::Tokens, DerivedKind::Embeddings])
    }

    fn index(&self) -> u64 {
        self.of_kinds(&[DerivedKind::Words, DerivedKind::Graph])
    }

    /// Questions are in the log already.
    fn total(&self) -> u64 {
        self.log + self.embeddings() + self.index()
    }

    /// What is derived from one conversation.
    fn of_conversation(&self, id: &ConversationId) -> impl Iterator<Item = (DerivedKind, DerivedSize)> {
        let size = |holdings: &Holdings| holdings.of(id).map(|holding| holding.size).unwrap_or_default();
        self.derived.iter().map(move |(kind, holdings)| (*kind, size(holdings)))
    }

    pub(super) fn conversation_json(&self, id: &ConversationId, messages: u64) -> Value {
        let derived = self.of_conversation(id).map(|(kind, size)| (kind.name().to_owned(), size.disk.into()));
        let messages = [("messages".to_owned(), messages.into())];
        Value::Object(messages.into_iter().chain(derived).collect())
    }

    pub(super) fn store_json(&self) -> Value {
        let derived = self.derived.iter().map(|(kind, holdings)| {
            let total = holdings.total();
            (kind.name().to_owned(), json!({"count": total.count, "bytes": total.disk}))
        });
        json!({
            "messages": self.messages,
            "log_bytes": self.log,
            "embeddings_bytes": self.embeddings(),
            "index_bytes": self.index(),
            "total_bytes": self.total(),
            "held_bytes": self.held,
            "derived": derived.collect::<Map<_, _>>(),
        })
    }

    /// Prints a table of conversations with the bytes of their messages, and what the store takes for who sees all of it.
    pub(super) fn print(
        &self,
        output: Output,
        conversations: &[(&ConversationId, u64)],
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
        let of_one = |(id, messages): &(&ConversationId, u64)| {
            let size = |sought: DerivedKind| -> u64 {
                self.of_conversation(id).filter(|(kind, _)| *kind == sought).map(|(_, size)| size.disk).sum()
            };
            row(id.to_string(), grouped(*messages), &size)
        };
        let whole = sees_all
            .then(|| row("the store".to_owned(), format!("log {}", grouped(self.log)), &|kind| self.of_kinds(&[kind])));
        output.table(header, conversations.iter().map(of_one).chain(whole))?;
        if sees_all { output.line(&self.paragraph()) } else { Ok(()) }
    }

    fn paragraph(&self) -> String {
        let [log, embeddings, index, total] = [self.log, self.embeddings(), self.index(), self.total()].map(grouped);
        let (messages, noun) = (grouped(self.messages), if self.messages == 1 { "message" } else { "messages" });
        format!(
            "The store holds {messages} {noun}. Their log takes {log} bytes, embeddings {embeddings} and the index \
             {index}: {total} bytes in all. Embeddings and index are made again if they are deleted. A process that \
             searches holds at most {held} bytes of words in memory, and as many of vectors and of token vectors.",
            held = grouped(self.held)
        )
    }
}

/// Bytes of the messages of a conversation that can be read, as they are hashed: without what the log adds.
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

fn log_bytes(store: &LogStore) -> anyhow::Result<u64> {
    let log = store.path().join("log");
    let entries = fs::read_dir(&log).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot list {}", log.display()))?;
    Ok(entries.iter().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum())
}
