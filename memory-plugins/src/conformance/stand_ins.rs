//! Substitutes for a tokenizer and an embedding model.

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder, TokenCounter},
};

/// Counts similarly to tokenizers: a token for every four characters of a word, rounded up; a token per character in
/// other scripts.
#[derive(Debug)]
pub(super) struct Pieces;

impl TokenCounter for Pieces {
    fn name(&self) -> &'static str {
        "pieces"
    }

    fn count(&self, text: &str) -> u32 {
        let cost = |word: &str| if word.is_ascii() { word.len().div_ceil(4) } else { word.chars().count() };
        u32::try_from(text.split_whitespace().map(cost).sum::<usize>()).unwrap_or(u32::MAX)
    }
}

/// Embeds a text by its bytes.
#[derive(Debug)]
pub(super) struct Letters;

impl Letters {
    const DIMENSIONS: usize = 64;

    fn vector(text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; Self::DIMENSIONS];
        for byte in text.bytes() {
            if let Some(component) = vector.get_mut(usize::from(byte) % Self::DIMENSIONS) {
                *component += 1.0;
            }
        }
        let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|component| *component /= length);
        } else if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        vector
    }
}

impl Embedder for Letters {
    fn model(&self) -> &ModelId {
        static MODEL: std::sync::LazyLock<ModelId> = std::sync::LazyLock::new(|| ModelId::new("letters"));
        &MODEL
    }

    fn dimensions(&self) -> usize {
        Self::DIMENSIONS
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vec![Self::vector(text)]).collect()) })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move { Ok(Self::vector(text)) })
    }
}
