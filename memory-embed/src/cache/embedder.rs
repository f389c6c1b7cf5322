//! An embedder that runs its model only for texts that are not cached.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder, TokenEmbedder},
};

use super::{EmbeddingCache, TextHash, Vectors};

/// Embeds documents through a cache, so that a text is embedded once per model.
///
/// Queries are not cached. Token vectors are not cached either, because they take far more space:
/// [`with_tokens`](Embedder::with_tokens) is the model's own.
///
/// ```
/// use std::sync::Arc;
///
/// use memory_core::{port::Embedder, testing::HashEmbedder};
/// use memory_embed::{CacheKey, CachedEmbedder, EmbeddingCache};
///
/// # let directory = tempfile::tempdir()?;
/// let cache = EmbeddingCache::new(directory.path(), &CacheKey::new([7; 32]));
/// let embedder = CachedEmbedder::new(Arc::new(HashEmbedder::new(16)), Arc::new(cache));
/// # pollster::block_on(async {
/// let first = embedder.embed_documents(&["The ferry leaves at nine."]).await?;
/// assert_eq!(embedder.embed_documents(&["The ferry leaves at nine."]).await?, first);
/// # Ok::<(), memory_core::port::EmbedError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Arc<EmbeddingCache>,
}

impl CachedEmbedder {
    /// Puts `cache` in front of `inner`. Embedders of several models may share a cache.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, cache: Arc<EmbeddingCache>) -> Self {
        Self { inner, cache }
    }

    async fn documents(&self, texts: &[&str]) -> Result<Vec<Vectors>, EmbedError> {
        let model = self.inner.model();
        let hashes: Vec<TextHash> = texts.iter().map(|text| self.cache.hash(model, text)).collect();
        let found = self.cache.get(&hashes, self.inner.dimensions());
        // Each missing text is embedded once.
        let mut places = HashMap::new();
        let (mut missing, mut missing_hashes) = (Vec::new(), Vec::new());
        for ((text, hash), _) in texts.iter().zip(&hashes).zip(&found).filter(|(_, found)| found.is_none()) {
            if let Entry::Vacant(place) = places.entry(*hash) {
                place.insert(missing.len());
                missing.push(*text);
                missing_hashes.push(*hash);
            }
        }
        if !missing.is_empty() {
            tracing::debug!(texts = texts.len(), missing = missing.len(), "embedding texts that are not in the cache");
        }
        let made = if missing.is_empty() { Vec::new() } else { self.inner.embed_documents(&missing).await? };
        if made.len() != missing.len() {
            let what = format!("vectors of {} texts for {}", made.len(), missing.len());
            return Err(EmbedError::BadOutput { model: model.clone(), what });
        }
        let made: Vec<(TextHash, Vectors)> = missing_hashes.into_iter().zip(made).collect();
        self.cache.put(&made);
        let vectors = |(hash, found): (&TextHash, Option<Vectors>)| {
            found.or_else(|| made.get(*places.get(hash)?).map(|(_, vectors)| vectors.clone())).unwrap_or_default()
        };
        Ok(hashes.iter().zip(found).map(vectors).collect())
    }
}

impl Embedder for CachedEmbedder {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vectors>, EmbedError>> {
        Box::pin(self.documents(texts))
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        self.inner.embed_query(text)
    }

    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        self.inner.with_tokens()
    }
}
