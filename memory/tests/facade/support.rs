//! Stores in temporary directories, and parts that tests can hold up.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use memory::{
    Access, Builder, Config, Memory, Message,
    port::{BoxFuture, EmbedError, Embedder, ModelId, TokenCounter},
};
use memory_core::testing::HashEmbedder;
use tempfile::TempDir;

/// No test waits for longer: then it fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A directory for a store, which goes away with the value.
pub(crate) struct Dir(TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    /// A place beside the store.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A builder of a memory without a model.
    pub(crate) fn words(&self) -> Builder {
        Builder::of(Config::new(self.store(), Access::Write).without_model())
    }

    /// A builder of a memory with vectors of words.
    pub(crate) fn meaning(&self) -> Builder {
        with_vectors(&self.store(), Access::Write)
    }

    /// Up to which message the vectors on disk reach.
    pub(crate) fn embedded_on_disk(&self, conversation: &str) -> u64 {
        embedded(&with_vectors(&self.store(), Access::Read).open().unwrap(), conversation)
    }
}

fn with_vectors(store: &Path, access: Access) -> Builder {
    Builder::of(Config::new(store, access).lock_timeout(Duration::from_secs(2)))
        .embedder(Arc::new(HashEmbedder::new(32)))
}

/// Up to which message a conversation has vectors.
pub(crate) fn embedded(memory: &Memory, conversation: &str) -> u64 {
    let id = memory::ConversationId::new(conversation).unwrap();
    memory.parts().vectors.as_ref().unwrap().stats(&id).through
}

/// Waits until `is_so`.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A message that is long enough to be summarized.
pub(crate) fn remark(number: usize) -> Message {
    Message::user(format!(
        "Remark number {number} about the weather, the hotel and the museum we could see on day {number}. It is a long \
         walk there along the river from the station, past the market and the old town hall, and nobody is in a hurry."
    ))
}

/// A door that is closed at first.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    /// Blocks this thread until the door is open.
    pub(crate) fn pass(&self) {
        let is_open = self.is_open.lock().unwrap();
        let (_is_open, waited) = self.changed.wait_timeout_while(is_open, PATIENCE, |is_open| !*is_open).unwrap();
        assert!(!waited.timed_out(), "nobody opened the gate");
    }
}

/// Counts words, and does something first.
pub(crate) struct Counting<F>(pub(crate) F);

impl<F> fmt::Debug for Counting<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

impl<F: Fn() + Send + Sync> TokenCounter for Counting<F> {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        (self.0)();
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
}

/// Embeds words, and does something before it embeds documents: an error there is its own.
pub(crate) struct Embedding<F> {
    inner: HashEmbedder,
    before: F,
}

impl<F> Embedding<F> {
    pub(crate) fn after(before: F) -> Self {
        Self { inner: HashEmbedder::new(32), before }
    }
}

impl<F> fmt::Debug for Embedding<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Embedding")
    }
}

impl<F: Fn() -> Result<(), EmbedError> + Send + Sync> Embedder for Embedding<F> {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move {
            (self.before)()?;
            self.inner.embed_documents(texts).await
        })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        self.inner.embed_query(text)
    }
}
