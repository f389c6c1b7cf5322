//! Bytes that a store takes: its log, and everything derived from it.

use std::{fmt, fs, io, sync::Arc};

use memory_core::{
    ConversationId,
    port::{Derived, DerivedKind, DerivedSize, Holdings, Source as _, StoreError},
    text::grouped,
};
use memory_store::LogStore;

/// Bytes that a store takes on disk and in memory. `Display` sums them up in one paragraph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Usage {
    /// Messages of all conversations.
    pub messages: u64,
    /// Bytes of the log; 0 of one in memory.
    pub log_bytes: u64,
    /// The most bytes of words that a process holds in memory, and as many of vectors and of token vectors.
    pub held_bytes: u64,
    /// Sizes of derived data, by kind and conversation.
    pub derived: Vec<(DerivedKind, Holdings)>,
}

impl Usage {
    /// Usage of a store, with the data `derived` from it; a process that searches holds at most `held_bytes`.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn of(store: &LogStore, derived: &[Arc<dyn Derived>], held_bytes: usize) -> Result<Self, StoreError> {
        let messages = store.conversations().await?.iter().map(|conversation| conversation.nodes).sum();
        let mut all = Vec::with_capacity(derived.len());
        for data in derived {
            // Data that cannot be listed must not hide the rest.
            let holdings = data.holdings().await.unwrap_or_else(|error| {
                tracing::warn!(kind = data.kind().name(), %error, "its bytes are not known");
                Holdings::default()
            });
            all.push((data.kind(), holdings));
        }
        Ok(Self { messages, log_bytes: log_bytes(store)?, held_bytes: held_bytes as u64, derived: all })
    }

    /// Bytes on disk of these kinds of derived data.
    #[must_use]
    pub fn of_kinds(&self, kinds: &[DerivedKind]) -> u64 {
        let of_kinds = self.derived.iter().filter(|(kind, _)| kinds.contains(kind));
        of_kinds.map(|(_, holdings)| holdings.total().disk).sum()
    }

    /// Bytes of vectors, of token vectors and of cached embeddings.
    #[must_use]
    pub fn embeddings_bytes(&self) -> u64 {
        self.of_kinds(&[DerivedKind::Vectors, DerivedKind::Tokens, DerivedKind::Embeddings])
    }

    /// Bytes of words and of graphs.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        self.of_kinds(&[DerivedKind::Words, DerivedKind::Graph])
    }

    /// All bytes on disk. Recorded questions are in the log already.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.log_bytes + self.embeddings_bytes() + self.index_bytes()
    }

    /// Sizes of the data derived from one conversation, by kind.
    pub fn of_conversation(&self, id: &ConversationId) -> impl Iterator<Item = (DerivedKind, DerivedSize)> {
        let size = |holdings: &Holdings| holdings.of(id).map(|holding| holding.size).unwrap_or_default();
        self.derived.iter().map(move |(kind, holdings)| (*kind, size(holdings)))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.log_bytes, self.embeddings_bytes(), self.index_bytes(), self.total_bytes()];
        let [log, embeddings, index, total] = bytes.map(grouped);
        let (messages, noun) = (grouped(self.messages), if self.messages == 1 { "message" } else { "messages" });
        write!(
            f,
            "The store holds {messages} {noun}. Their log takes {log} bytes, embeddings {embeddings} and the index \
             {index}: {total} bytes in all. Embeddings and index are made again if they are deleted. A process that \
             searches holds at most {held} bytes of words in memory, and as many of vectors and of token vectors.",
            held = grouped(self.held_bytes)
        )
    }
}

fn log_bytes(store: &LogStore) -> Result<u64, StoreError> {
    if store.is_in_memory() {
        return Ok(0);
    }
    let log = store.path().join("log");
    let entries = fs::read_dir(&log).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|source| StoreError::Io { action: "list", place: log.into(), source })?;
    Ok(entries.iter().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum())
}
