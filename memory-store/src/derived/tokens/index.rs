//! Index of token vectors with a few bits per component.

use std::path::Path;

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{BoxFuture, CachedInMemory, TokenAnswer, TokenIndex, TokenIndexStats, TokenPart, TokenVectors, VectorError},
};

use super::{
    super::{
        cached::{CacheFile, Cached, CachedConversations, Data},
        vectors::{Kernels, is_unit},
    },
    codec::{Codec, QuestionCodes, TokenBits},
    file::TokenFile,
    kept::{DamagedBlock, Kept},
};
use crate::LogStore;

/// Token vectors with a few bits per component, and the token ids of each node.
///
/// With a directory, each conversation has a cache file, next to the log that the tokens are derived from. A file that
/// is truncated, damaged, or of another model, conversation or log is not an error: its valid part is used,
/// [`TokenIndexStats::through`] states how far it reaches, and the owner inserts the rest.
///
/// ```
/// use memory_core::{ConversationId, ModelId, NodeId, port::{TokenIndex, TokenPart, TokenVectors}};
/// use memory_store::{QuantizedTokens, TokenBits};
///
/// # pollster::block_on(async {
/// let index = QuantizedTokens::in_memory(ModelId::new("toy"), 64, TokenBits::Four);
/// let talk = ConversationId::new("talk")?;
/// let token = |at: usize| (0..64).map(|place| f32::from(u8::from(place == at))).collect::<Vec<f32>>();
/// let said = TokenVectors::new(vec![7, 9], 64, [token(3), token(5)].concat()).unwrap();
/// index.insert(&talk, &[(NodeId::FIRST, said)]).await?;
///
/// let question = TokenVectors::new(vec![9], 64, token(5)).unwrap();
/// let parts = [TokenPart::new(&talk, &[NodeId::FIRST])];
/// let answer = index.max_cosines(&question, &parts).await?;
/// assert!((answer.max_cosines[0].as_ref().unwrap()[0] - 1.0).abs() < 0.1);
/// assert_eq!(answer.nodes_with, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct QuantizedTokens {
    cache: CachedConversations<TokenFile>,
}

impl QuantizedTokens {
    /// An index only in memory.
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        Self { cache: CachedConversations::in_memory(model, Codec::new(dimensions, bits)) }
    }

    /// An index next to the log that its tokens are derived from, with files in the store's [cache
    /// directory](LogStore::cache_dir). Ignores tokens that were derived from another log, or from nodes that this log
    /// does not have (any more). Writes no files for a store that was opened read-only.
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        Self { cache: CachedConversations::beside(store, model, Codec::new(dimensions, bits)) }
    }

    /// An index with files in `dir`, not bound to a log: the caller guarantees that nodes never change. The directory
    /// is created when the first file is written.
    ///
    /// Several processes may flush to it: they take turns, and each appends its blocks to the existing ones.
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        Self { cache: CachedConversations::open(dir.as_ref(), true, model, Codec::new(dimensions, bits)) }
    }

    /// Limits the bytes of tokens on the heap, 64 MiB by default, by dropping the least recently used ones. Tokens that
    /// are in use or unsaved stay. Mapped files do not count.
    #[must_use]
    pub fn hold_at_most(mut self, bytes: usize) -> Self {
        self.cache.hold_at_most(bytes);
        self
    }

    /// Forgets a conversation's tokens, in memory and on disk, for a log that is shorter than
    /// [`TokenIndexStats::through`], for example after a restore from a backup.
    ///
    /// # Errors
    /// If the file cannot be removed; the tokens in memory are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.cache.forget(conversation)
    }

    /// Conversations in memory, each with its last node and the bytes of unsaved rows.
    pub(in crate::derived) fn held_in_memory(&self) -> Vec<(ConversationId, u64, u64)> {
        self.cache.unsaved()
    }

    fn codec(&self) -> &Codec {
        &self.cache.shape
    }

    fn check(&self, tokens: &TokenVectors) -> Result<(), VectorError> {
        if !tokens.is_empty() && tokens.dimensions() != self.codec().dimensions() {
            return Err(VectorError::Dimensions { expected: self.codec().dimensions(), found: tokens.dimensions() });
        }
        Ok(())
    }

    /// Inserts nodes after validating all of them.
    fn insert_all(&self, held: &mut Cached<TokenFile>, nodes: &[(NodeId, TokenVectors)]) -> Result<(), VectorError> {
        for (reached, (node, tokens)) in (held.data.through()..).zip(nodes) {
            if node.get() != reached + 1 {
                let expected = NodeId::new(reached + 1).unwrap_or(*node);
                return Err(VectorError::OutOfOrder { expected, found: *node });
            }
            self.check(tokens)?;
            for (_, vector) in tokens.iter() {
                if !is_unit(vector) {
                    let what = "one of a token is not of unit length";
                    return Err(VectorError::BadVector { node: *node, what });
                }
            }
        }
        nodes.iter().for_each(|(_, tokens)| held.data.push(tokens, self.codec()));
        Ok(())
    }

    /// Maximum cosines for the nodes of a part. If a block turns out to be damaged, it and all later ones are dropped,
    /// and the query is repeated.
    fn answer(&self, question: &[QuestionCodes], part: &TokenPart<'_>) -> Vec<Option<Vec<f32>>> {
        loop {
            let answer = self.cache.reading(part.conversation, |held| {
                let mut codes = Vec::new();
                let of_node = |node: &NodeId| self.of_node(&held.data, question, *node, &mut codes);
                part.nodes.iter().map(of_node).collect::<Result<_, _>>()
            });
            match answer {
                Ok(answer) => return answer,
                // Terminates, because each time fewer nodes remain.
                Err(DamagedBlock(first)) => {
                    self.cache.writing(part.conversation, |held| held.set_aside(first, self.codec()))
                }
            }
        }
    }

    fn of_node(
        &self,
        kept: &Kept,
        question: &[QuestionCodes],
        node: NodeId,
        codes: &mut Vec<i8>,
    ) -> Result<Option<Vec<f32>>, DamagedBlock> {
        codes.clear();
        self.codec().decode(kept.rows_of(node, self.codec().row_bytes())?, codes);
        if codes.is_empty() {
            return Ok(None);
        }
        let mut products = vec![0; codes.len() / self.codec().dimensions().max(1)];
        let largest = |token: &QuestionCodes| {
            Kernels::detected().dots_i8(&token.codes, codes, &mut products);
            let product = products.iter().copied().max().unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let cosine = product as f32 * token.scale;
            cosine.clamp(-1.0, 1.0)
        };
        Ok(Some(question.iter().map(largest).collect()))
    }
}

impl Cached<TokenFile> {
    /// Forgets the nodes from `first` on, in memory and on disk.
    fn set_aside(&mut self, first: u64, codec: &Codec) {
        if let Some(file) = &mut self.file {
            tracing::warn!(path = %file.blocks().path().display(), first, "a token cache is damaged: rebuilding the rest of it");
            file.rewrite_on_save();
        }
        let mut whole = Kept::default();
        whole.take_after(&self.data, codec.row_bytes());
        self.data = whole;
    }
}

impl TokenIndex for QuantizedTokens {
    fn model(&self) -> &ModelId {
        &self.cache.model
    }

    fn dimensions(&self) -> usize {
        self.codec().dimensions()
    }

    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats {
        self.cache.reading(conversation, |held| {
            TokenIndexStats::default()
                .tokens(held.data.tokens())
                .through(held.data.through())
                .bytes(held.file.as_ref().map_or_else(|| held.data.bytes(self.codec()), TokenFile::bytes))
        })
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move { self.cache.writing(conversation, |held| self.insert_all(held, nodes)) })
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async move {
            Ok(self.cache.writing(conversation, |held| {
                let removed = held.data.count(nodes);
                if removed > 0 {
                    held.data = held.data.without(nodes, self.codec().row_bytes());
                    held.file.as_mut().map(TokenFile::rewrite_on_save);
                }
                removed
            }))
        })
    }

    fn max_cosines<'a>(
        &'a self,
        question: &'a TokenVectors,
        parts: &'a [TokenPart<'a>],
    ) -> BoxFuture<'a, Result<TokenAnswer, VectorError>> {
        Box::pin(async move {
            self.check(question)?;
            let codes: Vec<_> = question.iter().map(|(_, vector)| self.codec().question(vector)).collect();
            let mut answer = TokenAnswer::default().nodes_with(vec![0; question.len()]);
            for part in parts {
                answer.max_cosines.extend(self.answer(&codes, part));
                self.cache.reading(part.conversation, |held| {
                    answer.nodes += held.data.nodes_with_tokens();
                    let counts = answer.nodes_with.iter_mut().zip(question.ids());
                    counts.for_each(|(count, id)| *count += held.data.nodes_with(*id));
                    for ids in part.without.iter().filter_map(|node| held.data.ids_of(*node)) {
                        answer.nodes -= 1;
                        let counts = answer.nodes_with.iter_mut().zip(question.ids());
                        counts.filter(|(_, id)| ids.contains(id)).for_each(|(count, _)| *count -= 1);
                    }
                });
            }
            Ok(answer)
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async move { self.cache.flush() })
    }

    fn held(&self) -> Vec<CachedInMemory> {
        self.cache.held()
    }
}

#[cfg(test)]
mod tests;
