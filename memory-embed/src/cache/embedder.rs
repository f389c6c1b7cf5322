//! An embedder that asks its model only for texts that it does not know yet.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use memory_core::{BoxFuture, EmbedError, Embedder, ModelId, TokenEmbedder};

use super::{Digest, EmbeddingCache, Vectors};

/// Embeds documents through a cache: a text that its model has embedded before is not embedded again.
///
/// Questions are embedded each time, and not kept. Token vectors, which take far more room, are not kept either:
/// [`with_tokens`](Embedder::with_tokens) gives the model itself.
///
/// ```
/// use std::sync::Arc;
///
/// use memory_core::{Embedder, testing::HashEmbedder};
/// use memory_embed::{CacheKey, CachedEmbedder, EmbeddingCache};
///
/// # let directory = tempfile::tempdir()?;
/// let cache = EmbeddingCache::new(directory.path(), &CacheKey::new([7; 32]));
/// let embedder = CachedEmbedder::new(Arc::new(HashEmbedder::new(16)), Arc::new(cache));
/// # pollster::block_on(async {
/// let first = embedder.embed_documents(&["The ferry leaves at nine."]).await?;
/// assert_eq!(embedder.embed_documents(&["The ferry leaves at nine."]).await?, first);
/// # Ok::<(), memory_core::EmbedError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Arc<EmbeddingCache>,
}

impl CachedEmbedder {
    /// Puts `cache` before `inner`. Embedders of several models may share a cache.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, cache: Arc<EmbeddingCache>) -> Self {
        Self { inner, cache }
    }

    async fn documents(&self, texts: &[&str]) -> Result<Vec<Vectors>, EmbedError> {
        let model = self.inner.model();
        let digests: Vec<Digest> = texts.iter().map(|text| self.cache.digest(model, text)).collect();
        let found = self.cache.get(&digests, self.inner.dimensions());
        // Each text that is not there, once.
        let mut places = HashMap::new();
        let (mut missing, mut missing_digests) = (Vec::new(), Vec::new());
        for ((text, digest), _) in texts.iter().zip(&digests).zip(&found).filter(|(_, found)| found.is_none()) {
            if let Entry::Vacant(place) = places.entry(*digest) {
                place.insert(missing.len());
                missing.push(*text);
                missing_digests.push(*digest);
            }
        }
        if !missing.is_empty() {
            tracing::debug!(texts = texts.len(), missing = missing.len(), "embedding what is not in the cache");
        }
        let made = if missing.is_empty() { Vec::new() } else { self.inner.embed_documents(&missing).await? };
        if made.len() != missing.len() {
            let what = format!("vectors of {} texts for {}", made.len(), missing.len());
            return Err(EmbedError::BadOutput { model: model.clone(), what });
        }
        let made: Vec<(Digest, Vectors)> = missing_digests.into_iter().zip(made).collect();
        self.cache.put(&made);
        let vectors = |(digest, found): (&Digest, Option<Vectors>)| {
            found.or_else(|| made.get(*places.get(digest)?).map(|(_, vectors)| vectors.clone())).unwrap_or_default()
        };
        Ok(digests.iter().zip(found).map(vectors).collect())
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
