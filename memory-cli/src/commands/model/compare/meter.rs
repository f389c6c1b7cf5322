//! An embedder that measures another one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder, TokenCounter, TokenEmbedder, TokenEmbedding},
};
use memory_embed::TiktokenCounter;

/// Time and tokens of embedding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Number of messages that were embedded.
    pub(super) messages: u64,
    /// Time of their embedding.
    pub(super) took: Duration,
    /// Tokens of messages and questions, in `cl100k_base`; 0 if they are not counted.
    pub(super) tokens: u64,
}

/// Embeds by another embedder, and records time and tokens.
#[derive(Debug)]
pub(super) struct Meter {
    inner: Arc<dyn Embedder>,
    counter: Option<TiktokenCounter>,
    spent: Mutex<Spent>,
}

impl Meter {
    /// A meter, which also counts tokens if asked to.
    pub(super) fn new(inner: Arc<dyn Embedder>, counts_tokens: bool) -> Self {
        Self { inner, counter: counts_tokens.then(TiktokenCounter::cl100k), spent: Mutex::default() }
    }

    pub(super) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, messages: usize, took: Duration, texts: &[&str]) {
        let tokens = |counter: &TiktokenCounter| texts.iter().map(|text| u64::from(counter.count(text))).sum::<u64>();
        let tokens = self.counter.as_ref().map_or(0, tokens);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.messages += messages as u64;
        spent.took += took;
        spent.tokens += tokens;
    }

    /// The measured embedder with token vectors, for calls that are only made if it has them.
    fn tokens(&self) -> Result<&dyn TokenEmbedder, EmbedError> {
        self.inner.with_tokens().ok_or_else(|| EmbedError::BadOutput {
            model: self.model().clone(),
            what: "no vectors of tokens".to_owned(),
        })
    }
}

impl Embedder for Meter {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move {
            let started = Instant::now();
            let embedded = self.inner.embed_documents(texts).await?;
            self.add(texts.len(), started.elapsed(), texts);
            Ok(embedded)
        })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move {
            let embedded = self.inner.embed_query(text).await?;
            self.add(0, Duration::ZERO, &[text]);
            Ok(embedded)
        })
    }

    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        self.inner.with_tokens().map(|_| self as &dyn TokenEmbedder)
    }
}

impl TokenEmbedder for Meter {
    fn token_dimensions(&self) -> usize {
        self.inner.with_tokens().map_or(0, TokenEmbedder::token_dimensions)
    }

    fn embed_documents_with_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Vec<TokenEmbedding>>, EmbedError>> {
        Box::pin(async move {
            let started = Instant::now();
            let embedded = self.tokens()?.embed_documents_with_tokens(texts).await?;
            self.add(texts.len(), started.elapsed(), texts);
            Ok(embedded)
        })
    }

    fn embed_query_with_tokens<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<TokenEmbedding, EmbedError>> {
        Box::pin(async move {
            let embedded = self.tokens()?.embed_query_with_tokens(text).await?;
            self.add(0, Duration::ZERO, &[text]);
            Ok(embedded)
        })
    }
}
