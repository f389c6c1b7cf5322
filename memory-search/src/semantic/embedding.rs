//! Embeds nodes without vectors in batches and inserts them into the indexes.

use std::time::{Duration, Instant};

use memory_core::{
    ConversationId, NodeId, NodeRange,
    port::{EmbedError, Notice, Progress, ReadNodes, Source, TokenVectors, VectorError},
    text::floor_char_boundary,
};

use super::{SemanticError, Tokens, Vectors, in_full, is_absent};
use crate::{
    late::Pooled,
    lexical::{Indexed, indexed_text},
};

/// Maximum nodes that are read from the store at once and embedded together.
const READ_NODES: u64 = 256;
/// Maximum bytes of text that are embedded together, of several nodes or a piece of one: some 32,000 tokens, whose
/// vectors take 1.5 KB each. With larger batches, workers wait less often for the last text of a batch.
const BATCH_BYTES: usize = 128 << 10;
/// Maximum time that vectors are only in memory; an interrupted run loses this much work, and one batch.
const BETWEEN_FLUSHES: Duration = Duration::from_secs(2);

/// Handling of texts that the model rejects, and of caches that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailurePolicy {
    /// For a query, which waits for the result and can use existing vectors. A cache that cannot be written causes a
    /// notice, and few calls are spent on finding a rejected text.
    Question,
    /// For indexing: the indexes must be complete and on disk, or the caller gets an error.
    Index,
}

impl FailurePolicy {
    /// Maximum consecutive failed calls of the model. Finding one rejected text among 256 takes nine, and a further one
    /// right after it two more.
    const fn most_failures(self) -> u32 {
        match self {
            Self::Question => 16,
            Self::Index => 64,
        }
    }
}

/// Result of embedding the nodes without vectors.
#[derive(Debug, Default)]
pub(crate) struct CaughtUp {
    pub(crate) embedded: u64,
    /// Number of nodes that the model rejected, and the first of them with the reason.
    refused: u64,
    first_refused: Option<(NodeId, EmbedError)>,
    /// First failure of a cache under [`FailurePolicy::Question`].
    unkept: Option<VectorError>,
}

impl CaughtUp {
    /// Notices for the caller.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Notice> {
        let refused = self.first_refused.as_ref().map(|(first, why)| Notice::RejectedByModel {
            messages: self.refused,
            first: *first,
            why: in_full(why),
        });
        let unkept = self.unkept.as_ref().map(|why| Notice::VectorsNotKept { why: in_full(why) });
        refused.into_iter().chain(unkept)
    }
}

struct Batch {
    /// Nodes with the vectors of their chunks; a lost or rejected node has none.
    vectors: Vec<(NodeId, Vec<Vec<f32>>)>,
    /// Nodes with their token vectors, if these are indexed.
    tokens: Vec<(NodeId, TokenVectors)>,
}

/// Vectors of one text: those of its chunks, and of its tokens if these are indexed.
type Embedded = (Vec<Vec<f32>>, Option<TokenVectors>);

/// State of embedding the missing nodes of one conversation.
struct Run<'a> {
    vectors: &'a Vectors<'a>,
    source: &'a dyn Source,
    conversation: &'a ConversationId,
    policy: FailurePolicy,
    done: CaughtUp,
}

impl Vectors<'_> {
    /// Embeds the nodes up to `last` that have no vectors or no token vectors, and flushes the indexes.
    pub(crate) async fn catch_up(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
    ) -> Result<CaughtUp, SemanticError> {
        let (done, result) =
            self.embed_after(source, conversation, indexed, last, progress, FailurePolicy::Index).await;
        result.map(|()| done)
    }

    /// Embeds nodes without vectors up to `last`, as far as possible. Saves their token vectors, unless those of
    /// earlier nodes are missing. Returns notices for the caller.
    ///
    /// # Errors
    /// If the store fails.
    pub(super) async fn catch_up_for_question(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
    ) -> Result<Vec<Notice>, SemanticError> {
        let (done, result) = self.embed_after(source, conversation, indexed, last, &(), FailurePolicy::Question).await;
        let mut notices: Vec<_> = done.notices().collect();
        match result {
            Ok(()) => {}
            Err(failed @ SemanticError::Failed(_)) => return Err(failed),
            Err(failed) => notices.push(Notice::NotEmbedded { why: failed.reason() }),
        }
        Ok(notices)
    }

    async fn embed_after(
        &self,
        source: &dyn Source,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
        policy: FailurePolicy,
    ) -> (CaughtUp, Result<(), SemanticError>) {
        let mut run = Run { vectors: self, source, conversation, policy, done: CaughtUp::default() };
        let begun = run.through();
        if begun >= last {
            return (run.done, Ok(()));
        }
        let _embedding = indexed.embedding.lock().await;
        let embedded = run.embed_through(begun, last, progress).await;
        // Flushes after a failure too, so that finished work is not repeated.
        let flushed = if run.through() > begun { run.flush().await } else { Ok(()) };
        (run.done, embedded.and(flushed))
    }

    /// Vectors first, because token vectors are optional.
    async fn flush(&self) -> Result<(), VectorError> {
        self.index.flush().await?;
        match self.tokens {
            Some(tokens) => tokens.index.flush().await,
            None => Ok(()),
        }
    }

    /// Vectors of each text, in order. If the model fails on several texts, they are bisected until the rejected texts
    /// are known.
    ///
    /// # Errors
    /// If the model is absent, rejects every text, or fails `most_failures` times in succession.
    async fn embed_each(
        &self,
        texts: &[&str],
        tokens: Option<Tokens<'_>>,
        most_failures: u32,
    ) -> Result<Vec<Result<Embedded, EmbedError>>, EmbedError> {
        let mut each = Vec::with_capacity(texts.len());
        let (mut spans, mut failures, mut is_any_taken) = (vec![(0, texts.len())], 0, false);
        while let Some((start, end)) = spans.pop() {
            match self.embed_all(texts.get(start..end).unwrap_or_default(), tokens).await {
                Ok(embedded) => {
                    (failures, is_any_taken) = (0, true);
                    each.extend(embedded.into_iter().map(Ok));
                    continue;
                }
                Err(failed) if is_absent(&failed) || failures + 1 >= most_failures => return Err(failed),
                Err(failed) if end - start == 1 => each.push(Err(failed)),
                Err(_) => {
                    let middle = usize::midpoint(start, end);
                    spans.extend([(middle, end), (start, middle)]);
                }
            }
            failures += 1;
        }
        match each.pop() {
            Some(Err(refused)) if !is_any_taken => Err(refused),
            last => Ok(each.into_iter().chain(last).collect()),
        }
    }

    /// Vectors of some texts, from one call of the model.
    async fn embed_all(&self, texts: &[&str], tokens: Option<Tokens<'_>>) -> Result<Vec<Embedded>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if let [text] = texts
            && text.len() > BATCH_BYTES
        {
            return Ok(vec![self.embed_in_pieces(text, tokens).await?]);
        }
        let embedded: Vec<Embedded> = match tokens {
            None => {
                let found = self.embedder.embed_documents(texts).await?;
                found.into_iter().map(|chunks| (chunks, None)).collect()
            }
            Some(tokens) => tokens.embed(texts).await?,
        };
        self.check_count(embedded.len(), texts.len())?;
        Ok(embedded)
    }

    /// Vectors of a text of any length; the model processes one piece at a time.
    async fn embed_in_pieces(&self, text: &str, tokens: Option<Tokens<'_>>) -> Result<Embedded, EmbedError> {
        let (mut chunks, mut pooled) = (Vec::new(), tokens.map(|_| Pooled::default()));
        for piece in pieces(text) {
            match (tokens, &mut pooled) {
                (Some(tokens), Some(pooled)) => {
                    let found = tokens.embedder.embed_documents_with_tokens(&[piece]).await?;
                    self.check_count(found.len(), 1)?;
                    for chunk in found.into_iter().flatten() {
                        pooled.add(self.embedder.model(), &chunk.tokens)?;
                        chunks.push(chunk.whole);
                    }
                }
                _ => {
                    let found = self.embedder.embed_documents(&[piece]).await?;
                    self.check_count(found.len(), 1)?;
                    chunks.extend(found.into_iter().flatten());
                }
            }
        }
        Ok((chunks, pooled.map(Pooled::vectors)))
    }

    fn check_count(&self, found: usize, texts: usize) -> Result<(), EmbedError> {
        if found == texts {
            return Ok(());
        }
        let what = format!("vectors of {found} texts for {texts}");
        Err(EmbedError::BadOutput { model: self.embedder.model().clone(), what })
    }
}

impl Run<'_> {
    /// Last node with the vectors that the policy requires.
    fn through(&self) -> u64 {
        match self.policy {
            FailurePolicy::Question => self.vectors.through(self.conversation),
            FailurePolicy::Index => self.vectors.all_through(self.conversation),
        }
    }

    /// Embeds nodes without vectors up to `last`.
    async fn embed_through(&mut self, begun: u64, last: u64, progress: &dyn Progress) -> Result<(), SemanticError> {
        let mut flushed = Instant::now();
        while let Some(nodes) = nodes_after(self.through(), last) {
            let read = self.source.whole_nodes(self.conversation, nodes).await?;
            for (run, texts) in batches(nodes, &read) {
                let batch = self.embed(run, &texts).await?;
                self.insert(batch).await?;
                if self.through() < run.first().get() {
                    return Ok(());
                }
                progress.report(self.through().min(last).saturating_sub(begun), last - begun);
                if flushed.elapsed() >= BETWEEN_FLUSHES {
                    self.flush().await?;
                    flushed = Instant::now();
                }
            }
        }
        Ok(())
    }

    /// Embeds the texts of a run of nodes; lost, erased or rejected nodes get an empty entry.
    async fn embed(&mut self, run: NodeRange, texts: &[(NodeId, String)]) -> Result<Batch, SemanticError> {
        // The token index has no gaps.
        let kept = self.vectors.tokens;
        let tokens = kept.filter(|tokens| tokens.index.stats(self.conversation).through + 1 >= run.first().get());
        let to_embed: Vec<_> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let each = self.vectors.embed_each(&to_embed, tokens, self.policy.most_failures()).await?;
        let mut batch = Batch { vectors: Vec::with_capacity(each.len()), tokens: Vec::new() };
        let mut add = |node: NodeId, (chunks, of_tokens): Embedded| {
            batch.vectors.push((node, chunks));
            if tokens.is_some() {
                batch.tokens.push((node, of_tokens.unwrap_or_default()));
            }
        };
        for ((node, _), embedded) in texts.iter().zip(each) {
            match embedded {
                Ok(embedded) => {
                    self.done.embedded += 1;
                    add(*node, embedded);
                }
                Err(why) => {
                    tracing::warn!(conversation = %self.conversation, %node, why = in_full(&why), "a message has no vector");
                    self.done.refused += 1;
                    self.done.first_refused.get_or_insert((*node, why));
                    add(*node, Embedded::default());
                }
            }
        }
        let is_without = |node: &NodeId| texts.binary_search_by_key(node, |(of, _)| *of).is_err();
        run.iter().filter(is_without).for_each(|node| add(node, Embedded::default()));
        batch.vectors.sort_by_key(|(node, _)| *node);
        batch.tokens.sort_by_key(|(node, _)| *node);
        Ok(batch)
    }

    /// Inserts the part of a batch that the indexes lack.
    async fn insert(&mut self, batch: Batch) -> Result<(), SemanticError> {
        let Batch { mut vectors, mut tokens } = batch;
        let (index, conversation) = (self.vectors.index, self.conversation);
        let through = || index.stats(conversation).through;
        let there = through();
        vectors.retain(|(node, _)| node.get() > there);
        match index.insert(conversation, &vectors).await {
            Ok(()) => {}
            // Another process has embedded them meanwhile.
            Err(VectorError::OutOfOrder { found, .. }) if through() >= found.get() => {}
            Err(failed) => return Err(failed.into()),
        }
        let Some(kept) = self.vectors.tokens else { return Ok(()) };
        let through = || kept.index.stats(conversation).through;
        let there = through();
        tokens.retain(|(node, _)| node.get() > there);
        match kept.index.insert(conversation, &tokens).await {
            Err(VectorError::OutOfOrder { found, .. }) if through() >= found.get() => Ok(()),
            inserted => self.tolerate(inserted),
        }
    }

    async fn flush(&mut self) -> Result<(), SemanticError> {
        let flushed = self.vectors.flush().await;
        self.tolerate(flushed)
    }

    /// Under the query policy, a failed cache write becomes a notice, since the vectors in memory can still be
    /// searched.
    fn tolerate(&mut self, kept: Result<(), VectorError>) -> Result<(), SemanticError> {
        match kept {
            Err(failed) if self.policy == FailurePolicy::Question => {
                self.done.unkept.get_or_insert(failed);
                Ok(())
            }
            kept => Ok(kept?),
        }
    }
}

impl Tokens<'_> {
    /// Vectors of each text's chunks, and of all its tokens.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        let found = self.embedder.embed_documents_with_tokens(texts).await?;
        let embedded = found.into_iter().map(|chunks| {
            let mut tokens = Pooled::default();
            chunks.iter().try_for_each(|chunk| tokens.add(self.embedder.model(), &chunk.tokens))?;
            Ok((chunks.into_iter().map(|chunk| chunk.whole).collect(), Some(tokens.vectors())))
        });
        embedded.collect()
    }
}

/// Splits `nodes`, which were read, into consecutive runs to be embedded together, each with its texts.
fn batches(nodes: NodeRange, read: &ReadNodes) -> Vec<(NodeRange, Vec<(NodeId, String)>)> {
    let mut batches = Vec::new();
    let (mut first, mut texts, mut bytes) = (nodes.first(), Vec::new(), 0);
    for node in read.nodes.iter().filter(|node| !node.is_erased) {
        let text = indexed_text(&node.message);
        if !texts.is_empty() && bytes + text.len() > BATCH_BYTES {
            // Lost and erased nodes before this one belong to the previous run.
            let run = node.id.previous().and_then(|last| NodeRange::new(first, last));
            batches.extend(run.map(|run| (run, std::mem::take(&mut texts))));
            (first, bytes) = (node.id, 0);
        }
        bytes += text.len();
        texts.push((node.id, text));
    }
    batches.extend(NodeRange::new(first, nodes.last()).map(|run| (run, texts)));
    batches
}

/// Pieces of a long text of at most [`BATCH_BYTES`], each cut after a line, otherwise after a word, if there is one.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = floor_char_boundary(rest, BATCH_BYTES);
        let most = rest.get(..end).filter(|most| !most.is_empty())?;
        let after = |blank: char| most.rfind(blank).map(|at| at + blank.len_utf8()).filter(|at| *at > BATCH_BYTES / 2);
        let cut = if end == rest.len() { end } else { after('\n').or_else(|| after(' ')).unwrap_or(end) };
        let (piece, left) = rest.split_at(cut);
        rest = left;
        Some(piece)
    })
}

fn nodes_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(READ_NODES).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, NodeDraft, Timestamp, port::Store, testing::MemoryStore};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn pieces_are_the_text_and_bounded(text in "(\\PC|[a-z ]{60}|\n){0,40}", times in 0_usize..400) {
            let text = text.repeat(times);
            let pieces: Vec<_> = pieces(&text).collect();
            prop_assert_eq!(&pieces.concat(), &text);
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= BATCH_BYTES));
        }
    }

    #[test]
    fn batches_are_bounded_by_their_text_and_leave_no_node_out() {
        let check = |lengths: &[usize], lost: &[u64], expected: &[&str]| {
            let (store, talk) = (MemoryStore::default(), ConversationId::new("talk").unwrap());
            let draft = |length: &usize| {
                NodeDraft::new(Message::user("x".repeat(length - "user: ".len())), Timestamp::from_millis(0), 1)
            };
            pollster::block_on(store.append(&talk, lengths.iter().map(draft).collect())).unwrap();
            lost.iter().for_each(|node| store.lose_node(&talk, NodeId::new(*node).unwrap()));
            let nodes = nodes_after(0, lengths.len() as u64).unwrap();
            let read = pollster::block_on(store.readable_nodes(&talk, nodes)).unwrap();
            let batches = batches(nodes, &read);
            let runs: Vec<_> = batches.iter().map(|(run, _)| run.to_string()).collect();
            assert_eq!(runs, expected, "{lengths:?}");
            for (run, texts) in batches {
                let held: Vec<_> = texts.iter().map(|(node, _)| *node).collect();
                assert_eq!(held, run.iter().filter(|node| !lost.contains(&node.get())).collect::<Vec<_>>());
                assert!(texts.len() < 2 || texts.iter().map(|(_, text)| text.len()).sum::<usize>() <= BATCH_BYTES);
            }
        };
        let half = BATCH_BYTES / 2;
        check(&[half, half, 10], &[], &["1-2", "3"]);
        check(&[half, half + 1, half - 1, 10], &[], &["1", "2-3", "4"]);
        check(&[3 * half, 3 * half, 10], &[], &["1", "2", "3"]);
        check(&[half, half, 10, half, half], &[3, 5], &["1-3", "4-5"]);
        check(&[10, 10], &[1, 2], &["1-2"]);
        check(&[10; 300], &[1], &["1-256"]);
    }
}
