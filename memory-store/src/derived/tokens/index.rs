//! Index of token vectors with a few bits per component.

use std::{path::Path, sync::Arc};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{
        BoxFuture, CachedInMemory, DerivedKind, TokenAnswer, TokenIndex, TokenIndexStats, TokenPart, TokenVectors,
        VectorError,
    },
};

use super::{
    super::{
        anchor::Anchor,
        conversations::{Conversations, Loaded},
        packs::Packs,
        vectors::Kernels,
    },
    codec::{Codec, QuestionCodes, TokenBits},
    file::{EXTENSIONS, TokenFile},
    kept::{DamagedBlock, Kept},
};
use crate::{LogStore, log::Leaves};

/// Tolerance of a vector's unit length.
const UNIT_TOLERANCE: f32 = 1e-3;
/// Default limit on bytes of the heap; rows are mapped and do not count.
const MEMORY: usize = 64 << 20;

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
    model: ModelId,
    bits: TokenBits,
    codec: Codec,
    /// Directory of the files, with its packs.
    packs: Option<Arc<Packs>>,
    /// Leaves of the log, to which the files are bound.
    leaves: Option<Leaves>,
    /// True if a flush writes to disk.
    writes: bool,
    conversations: Conversations<Held>,
}

/// Data of a conversation in memory, with its file.
#[derive(Debug)]
struct Held {
    kept: Kept,
    file: Option<TokenFile>,
}

impl QuantizedTokens {
    /// An index only in memory.
    #[must_use]
    pub fn in_memory(model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        let codec = Codec::new(dimensions, bits);
        let conversations = Conversations::new(MEMORY);
        Self { model, bits, codec, packs: None, leaves: None, writes: false, conversations }
    }

    /// An index next to the log that its tokens are derived from, with files in the store's [cache
    /// directory](LogStore::cache_dir). Ignores tokens that were derived from another log, or from nodes that this log
    /// does not have (any more). Writes no files for a store that was opened read-only.
    #[must_use]
    pub fn beside(store: &LogStore, model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        Self {
            packs: Some(Packs::new(&store.cache_dir().join("tokens"), store.leaves().store(), EXTENSIONS)),
            leaves: Some(store.leaves()),
            writes: store.may_write(),
            ..Self::in_memory(model, dimensions, bits)
        }
    }

    /// An index with files in `dir`, not bound to a log: the caller guarantees that nodes never change. The directory
    /// is created when the first file is written.
    ///
    /// Several processes may flush to it: they take turns, and each appends its blocks to the existing ones.
    #[must_use]
    pub fn open(dir: impl AsRef<Path>, model: ModelId, dimensions: usize, bits: TokenBits) -> Self {
        let packs = Packs::new(dir.as_ref(), [0; 16], EXTENSIONS);
        Self { packs: Some(packs), writes: true, ..Self::in_memory(model, dimensions, bits) }
    }

    /// Limits the bytes of tokens on the heap, 64 MiB by default, by dropping the least recently used ones. Tokens that
    /// are in use or unsaved stay. Mapped files do not count.
    #[must_use]
    pub fn hold_at_most(mut self, bytes: usize) -> Self {
        self.conversations.limit_to(bytes);
        self
    }

    /// Forgets a conversation's tokens, in memory and on disk, for a log that is shorter than
    /// [`TokenIndexStats::through`], for example after a restore from a backup.
    ///
    /// # Errors
    /// If the file cannot be removed; the tokens in memory are gone nevertheless.
    pub fn forget(&self, conversation: &ConversationId) -> Result<(), VectorError> {
        self.writing(conversation, |held| {
            held.kept = Kept::default();
            let Some(file) = &mut held.file else { return Ok(()) };
            file.remove().map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
        })
    }

    /// Loaded conversations, each with its last node and the bytes of unsaved rows.
    pub(in crate::derived) fn held_in_memory(&self) -> Vec<(ConversationId, u64, u64)> {
        self.conversations.look_at_loaded(|id, held| (id.clone(), held.kept.through(), held.kept.bytes_in_memory()))
    }

    fn reading<T>(&self, conversation: &ConversationId, act: impl FnOnce(&Held) -> T) -> T {
        self.conversations.read(conversation, || self.load(conversation), act)
    }

    fn writing<T>(&self, conversation: &ConversationId, act: impl FnOnce(&mut Held) -> T) -> T {
        self.conversations.write(conversation, || self.load(conversation), act)
    }

    fn load(&self, conversation: &ConversationId) -> Held {
        let Some(packs) = &self.packs else { return Held { kept: Kept::default(), file: None } };
        let anchor = Anchor::new(self.leaves.as_ref(), conversation);
        let (file, kept) = TokenFile::load(packs, anchor, &self.model, (&self.codec, self.bits));
        Held { kept, file: Some(file) }
    }

    fn check(&self, tokens: &TokenVectors) -> Result<(), VectorError> {
        if !tokens.is_empty() && tokens.dimensions() != self.codec.dimensions() {
            return Err(VectorError::Dimensions { expected: self.codec.dimensions(), found: tokens.dimensions() });
        }
        Ok(())
    }

    /// Inserts nodes after validating all of them.
    fn insert_all(&self, held: &mut Held, nodes: &[(NodeId, TokenVectors)]) -> Result<(), VectorError> {
        for (reached, (node, tokens)) in (held.kept.through()..).zip(nodes) {
            if node.get() != reached + 1 {
                let expected = NodeId::new(reached + 1).unwrap_or(*node);
                return Err(VectorError::OutOfOrder { expected, found: *node });
            }
            self.check(tokens)?;
            for (_, vector) in tokens.iter() {
                // NaN and infinity make the length invalid.
                let length = Kernels::detected().dot_f32(vector, vector).sqrt();
                if length.is_nan() || (length - 1.0).abs() > UNIT_TOLERANCE {
                    let what = "one of a token is not of unit length";
                    return Err(VectorError::BadVector { node: *node, what });
                }
            }
        }
        nodes.iter().for_each(|(_, tokens)| held.kept.push(tokens, &self.codec));
        Ok(())
    }

    /// Maximum cosines for the nodes of a part. If a block turns out to be damaged, it and all later ones are dropped,
    /// and the query is repeated.
    fn answer(&self, question: &[QuestionCodes], part: &TokenPart<'_>) -> Vec<Option<Vec<f32>>> {
        loop {
            let answer = self.reading(part.conversation, |held| {
                let mut codes = Vec::new();
                let of_node = |node: &NodeId| self.of_node(&held.kept, question, *node, &mut codes);
                part.nodes.iter().map(of_node).collect::<Result<_, _>>()
            });
            match answer {
                Ok(answer) => return answer,
                // Terminates, because each time fewer nodes remain.
                Err(DamagedBlock(first)) => self.writing(part.conversation, |held| held.set_aside(first, &self.codec)),
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
        self.codec.decode(kept.rows_of(node, self.codec.row_bytes())?, codes);
        if codes.is_empty() {
            return Ok(None);
        }
        let mut products = vec![0; codes.len() / self.codec.dimensions().max(1)];
        let largest = |token: &QuestionCodes| {
            Kernels::detected().dots_i8(&token.codes, codes, &mut products);
            let product = products.iter().copied().max().unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let cosine = product as f32 * token.scale;
            cosine.clamp(-1.0, 1.0)
        };
        Ok(Some(question.iter().map(largest).collect()))
    }

    fn flush_all(&self) -> Result<(), VectorError> {
        if self.packs.is_some() && !self.writes {
            return Ok(());
        }
        self.conversations.flush(Held::flush)?;
        self.packs.as_deref().is_some_and(Packs::tidy).then(|| self.conversations.drop_outdated());
        Ok(())
    }
}

impl Loaded for Held {
    fn heap(&self) -> usize {
        self.kept.heap() + self.file.as_ref().map_or(0, TokenFile::heap)
    }

    fn is_saved(&self) -> bool {
        self.file.as_ref().map_or(self.kept.through() == 0, |file| !file.owes(&self.kept))
    }

    fn is_outdated(&self) -> bool {
        self.file.as_ref().is_some_and(TokenFile::is_outdated)
    }

    fn refresh(&mut self) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.refresh(&mut self.kept) {
            tracing::warn!(path = %file.path().display(), %error, "a token cache cannot be read again");
        }
    }
}

impl Held {
    fn flush(&mut self) -> Result<(), VectorError> {
        let Self { kept, file } = self;
        let Some(file) = file else { return Ok(()) };
        file.save(kept).map_err(|source| VectorError::Io { path: file.path().to_owned(), source })
    }

    /// Forgets the nodes from `first` on, in memory and on disk.
    fn set_aside(&mut self, first: u64, codec: &Codec) {
        if let Some(file) = &mut self.file {
            tracing::warn!(path = %file.path().display(), first, "a token cache is damaged: rebuilding the rest of it");
            file.write_anew();
        }
        let mut whole = Kept::default();
        whole.take_after(&self.kept, codec.row_bytes());
        self.kept = whole;
    }
}

impl TokenIndex for QuantizedTokens {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.codec.dimensions()
    }

    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats {
        self.reading(conversation, |held| {
            TokenIndexStats::default()
                .tokens(held.kept.tokens())
                .through(held.kept.through())
                .bytes(held.file.as_ref().map_or_else(|| held.kept.bytes(&self.codec), TokenFile::bytes))
        })
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move { self.writing(conversation, |held| self.insert_all(held, nodes)) })
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async move {
            Ok(self.writing(conversation, |held| {
                let removed = held.kept.count(nodes);
                if removed > 0 {
                    held.kept = held.kept.without(nodes, self.codec.row_bytes());
                    held.file.as_mut().map(TokenFile::write_anew);
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
            let codes: Vec<_> = question.iter().map(|(_, vector)| self.codec.question(vector)).collect();
            let mut answer = TokenAnswer::default().nodes_with(vec![0; question.len()]);
            for part in parts {
                answer.max_cosines.extend(self.answer(&codes, part));
                self.reading(part.conversation, |held| {
                    answer.nodes += held.kept.nodes_with_tokens();
                    let counts = answer.nodes_with.iter_mut().zip(question.ids());
                    counts.for_each(|(count, id)| *count += held.kept.nodes_with(*id));
                });
            }
            Ok(answer)
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async move { self.flush_all() })
    }

    fn held(&self) -> Vec<CachedInMemory> {
        vec![self.conversations.held(DerivedKind::Tokens)]
    }
}

#[cfg(test)]
mod tests;
