//! Port: vectors of tokens, for late interaction.

use super::{BoxFuture, EmbedError, Embedder};

/// Embeds texts and, in the same run of the model, their tokens.
///
/// Late interaction (Khattab and Zaharia, "ColBERT", 2020) compares every token of a question with every token of a
/// text. A text's score is the sum, over the question's tokens, of the largest cosine with one of the text's tokens
/// (MaxSim). A caller may weight the terms by the rarity of the question's token. Token vectors take far more space
/// than the vector of a chunk, so they are stored compressed, and can be computed from the text again.
///
/// Contract: each token's vector meets the requirements of [`Embedder`]. Chunks and their vectors are those of
/// [`Embedder::embed_documents`] and [`Embedder::embed_query`].
pub trait TokenEmbedder: Embedder {
    /// Components of each token's vector.
    fn token_dimensions(&self) -> usize;

    /// Chunks of each text, in input order. A token in the overlap of two chunks belongs to the first.
    fn embed_documents_with_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Vec<TokenEmbedding>>, EmbedError>>;

    /// Vector of a question, and vectors of the tokens of all its chunks.
    fn embed_query_with_tokens<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<TokenEmbedding, EmbedError>>;
}

/// Vectors of a chunk or a question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenEmbedding {
    /// Vector of the whole, of unit length.
    pub whole: Vec<f32>,
    /// Vectors of its tokens.
    pub tokens: TokenVectors,
}

impl TokenEmbedding {
    /// The vector of the whole with those of its tokens.
    #[must_use]
    pub fn new(whole: Vec<f32>, tokens: TokenVectors) -> Self {
        Self { whole, tokens }
    }
}

/// Unit vectors of tokens, in the order of the text. Special tokens around the text, a prompt before it, and
/// punctuation are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenVectors {
    ids: Vec<u32>,
    dimensions: usize,
    components: Vec<f32>,
}

impl TokenVectors {
    /// Vectors of tokens with these ids in the vocabulary; `components` is `[ids.len(), dimensions]`, row-major.
    ///
    /// `None` if `components` has another size.
    #[must_use]
    pub fn new(ids: Vec<u32>, dimensions: usize, components: Vec<f32>) -> Option<Self> {
        (ids.len().checked_mul(dimensions) == Some(components.len())).then_some(Self { ids, dimensions, components })
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there are no tokens, as in an empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Components of each vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Ids of the tokens in the model's vocabulary, by which rarity is counted.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// All components, `[len, dimensions]`, row-major.
    #[must_use]
    pub fn components(&self) -> &[f32] {
        &self.components
    }

    /// Id and vector of each token.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &[f32])> {
        self.ids.iter().copied().zip(self.components.chunks_exact(self.dimensions.max(1)))
    }

    /// Appends the tokens of `more`.
    ///
    /// `None` if its vectors have other dimensions; nothing is appended then.
    #[must_use]
    pub fn append(&mut self, more: &Self) -> Option<()> {
        if self.is_empty() {
            self.dimensions = more.dimensions;
        }
        if !more.is_empty() && self.dimensions != more.dimensions {
            return None;
        }
        self.ids.extend_from_slice(&more.ids);
        self.components.extend_from_slice(&more.components);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_does_not_fit_is_refused() {
        assert!(TokenVectors::new(vec![1, 2], 2, vec![1.0, 0.0, 0.0]).is_none());
        let vectors = TokenVectors::new(vec![1, 2], 2, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(vectors.iter().collect::<Vec<_>>(), [(1, [1.0, 0.0].as_slice()), (2, &[0.0, 1.0])]);
    }

    #[test]
    fn tokens_are_joined_if_they_are_of_one_model() {
        let mut all = TokenVectors::default();
        all.append(&TokenVectors::new(vec![1], 2, vec![1.0, 0.0]).unwrap()).unwrap();
        all.append(&TokenVectors::new(vec![2], 2, vec![0.0, 1.0]).unwrap()).unwrap();
        assert_eq!(all, TokenVectors::new(vec![1, 2], 2, vec![1.0, 0.0, 0.0, 1.0]).unwrap());
        assert_eq!(all.append(&TokenVectors::new(vec![3], 1, vec![1.0]).unwrap()), None);
        assert_eq!(all.len(), 2);
    }
}
