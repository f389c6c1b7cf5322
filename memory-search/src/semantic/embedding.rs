//! Nodes without vectors are embedded, batch by batch, and handed to the indexes.

use memory_core::{
    ConversationId, EmbedError, NodeId, NodeRange, Progress, ReadNodes, Store, TokenVectors, VectorError,
};

use super::{NoMeaning, Tokens, Vectors, is_absent};
use crate::{
    late::joined,
    lexical::{Indexed, indexed_text},
    notices::in_full,
};

/// Nodes read from the store at a time, and embedded together at most.
const READ_NODES: u64 = 256;
/// Text that is embedded together at most, but for a node that alone has more: some 32,000 tokens, whose vectors take
/// 1.5 KB each. The more there is, the less often a worker waits for the last text of a batch.
const BATCH_BYTES: usize = 128 << 10;
/// Nodes after which the indexes are put on disk, so that an interrupted run loses little.
const NODES_BETWEEN_FLUSHES: u64 = 4_096;

/// How embedding goes about what fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// Someone waits for an answer, which goes with the vectors that are there: a cache that cannot be written is worth a
    /// notice, and few calls are made to find out which text a model refuses.
    Question,
    /// The indexes are to be complete and on disk, or the caller is to know why they are not.
    Index,
}

impl Errand {
    /// The calls of a model that may fail one after the other before it is not called again. One text that is refused
    /// among 256 takes nine, and each of those right behind it two more.
    const fn most_failures(self) -> u32 {
        match self {
            Self::Question => 16,
            Self::Index => 64,
        }
    }
}

/// What came of the nodes that had no vector.
#[derive(Debug, Default)]
pub(crate) struct CaughtUp {
    /// How many of them the model read.
    pub(crate) embedded: u64,
    /// How many it refused to read, and what the first of them was and why.
    refused: u64,
    first_refused: Option<(NodeId, EmbedError)>,
    /// What of it the caches did not take; of a question's errand alone.
    unkept: Option<VectorError>,
}

impl CaughtUp {
    /// What the caller ought to know, a line each.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        let refused = self.first_refused.as_ref().map(|(node, why)| {
            let (count, verb) = (self.refused, if self.refused == 1 { "is" } else { "are" });
            let messages = if count == 1 { "message" } else { "messages" };
            format!(
                "{count} {messages} {verb} found by words alone: the model does not take node {node} ({})",
                in_full(why)
            )
        });
        let unkept = self.unkept.as_ref();
        let unkept = unkept.map(|why| format!("what was embedded for this question is not kept: {}", in_full(why)));
        refused.into_iter().chain(unkept)
    }
}

/// An embedded batch.
struct Batch {
    /// Each node with the vectors of its chunks, of which one that is lost or was refused has none.
    vectors: Vec<(NodeId, Vec<Vec<f32>>)>,
    /// Each node with its tokens, where they are kept.
    tokens: Vec<(NodeId, TokenVectors)>,
}

/// The vectors of one text: those of its chunks, and those of its tokens where they are kept.
type Embedded = (Vec<Vec<f32>>, Option<TokenVectors>);

/// Embeds what one conversation lacks.
struct Run<'a> {
    vectors: &'a Vectors<'a>,
    store: &'a dyn Store,
    conversation: &'a ConversationId,
    errand: Errand,
    done: CaughtUp,
}

impl Vectors<'_> {
    /// Embeds the nodes behind those that have vectors, and those behind the ones that have tokens, up to `last`, and puts
    /// all on disk.
    pub(crate) async fn catch_up(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
    ) -> Result<CaughtUp, NoMeaning> {
        let (done, result) = self.embed_behind(store, conversation, indexed, last, progress, Errand::Index).await;
        result.map(|()| done)
    }

    /// Embeds the nodes behind those that have vectors, up to `last`, as far as it can. Keeps their tokens, unless those
    /// of nodes before them are missing. Gives what the caller ought to know.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn catch_up_for_question(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
    ) -> Result<Vec<String>, NoMeaning> {
        let (done, result) = self.embed_behind(store, conversation, indexed, last, &(), Errand::Question).await;
        let mut notices: Vec<_> = done.notices().collect();
        match result {
            Ok(()) => {}
            Err(failed @ NoMeaning::Failed(_)) => return Err(failed),
            Err(failed) => notices.push(format!("new messages are not embedded: {}", failed.reason())),
        }
        Ok(notices)
    }

    async fn embed_behind(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        indexed: &Indexed,
        last: u64,
        progress: &dyn Progress,
        errand: Errand,
    ) -> (CaughtUp, Result<(), NoMeaning>) {
        let mut run = Run { vectors: self, store, conversation, errand, done: CaughtUp::default() };
        let begun = run.through();
        if begun >= last {
            return (run.done, Ok(()));
        }
        let _embedding = indexed.embedding.lock().await;
        let embedded = run.go_on(begun, last, progress).await;
        // What was embedded before something failed need not be embedded again.
        let flushed = if run.through() > begun { run.flush().await } else { Ok(()) };
        (run.done, embedded.and(flushed))
    }

    /// Vectors before tokens: an answer can do without the latter.
    async fn flush(&self) -> Result<(), VectorError> {
        self.index.flush().await?;
        match self.tokens {
            Some(tokens) => tokens.index.flush().await,
            None => Ok(()),
        }
    }

    /// The vectors of each text, in order. Where a model fails with several texts they are halved, until it is known which
    /// of them it refuses alone.
    ///
    /// # Errors
    /// When there is no model, it refuses every text, or it failed `most_failures` times running.
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

    /// The vectors of all of some texts, by one call of the model.
    async fn embed_all(&self, texts: &[&str], tokens: Option<Tokens<'_>>) -> Result<Vec<Embedded>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let embedded: Vec<Embedded> = match tokens {
            None => {
                let found = self.embedder.embed_documents(texts).await?;
                found.into_iter().map(|chunks| (chunks, None)).collect()
            }
            Some(tokens) => tokens.embed(texts).await?,
        };
        if embedded.len() != texts.len() {
            let what = format!("vectors of {} texts for {}", embedded.len(), texts.len());
            return Err(EmbedError::BadOutput { model: self.embedder.model().clone(), what });
        }
        Ok(embedded)
    }
}

impl Run<'_> {
    /// All nodes up to this position have what the errand is about.
    fn through(&self) -> u64 {
        match self.errand {
            Errand::Question => self.vectors.through(self.conversation),
            Errand::Index => self.vectors.all_through(self.conversation),
        }
    }

    /// Embeds what has no vectors yet, up to `last`.
    async fn go_on(&mut self, begun: u64, last: u64, progress: &dyn Progress) -> Result<(), NoMeaning> {
        let mut flushed = begun;
        while let Some(nodes) = nodes_after(self.through(), last) {
            let read = self.store.readable_nodes(self.conversation, nodes).await?;
            for (run, texts) in batches(nodes, &read) {
                let batch = self.embed(run, &texts, &read).await?;
                self.insert(batch).await?;
                if self.through() < run.first().get() {
                    return Ok(());
                }
                progress.report(self.through().min(last).saturating_sub(begun), last - begun);
            }
            if self.through().saturating_sub(flushed) >= NODES_BETWEEN_FLUSHES {
                flushed = self.through();
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Embeds the texts of a run of nodes, in which those that are lost or refused keep their places without a vector.
    async fn embed(
        &mut self,
        run: NodeRange,
        texts: &[(NodeId, String)],
        read: &ReadNodes,
    ) -> Result<Batch, NoMeaning> {
        // Tokens are kept of a row of nodes without a gap.
        let kept = self.vectors.tokens;
        let tokens = kept.filter(|tokens| tokens.index.stats(self.conversation).through + 1 >= run.first().get());
        let to_embed: Vec<_> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let each = self.vectors.embed_each(&to_embed, tokens, self.errand.most_failures()).await?;
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
        read.losses.within(run).flat_map(NodeRange::iter).for_each(|lost| add(lost, Embedded::default()));
        batch.vectors.sort_by_key(|(node, _)| *node);
        batch.tokens.sort_by_key(|(node, _)| *node);
        Ok(batch)
    }

    /// Hands over what is missing of a batch.
    async fn insert(&mut self, batch: Batch) -> Result<(), NoMeaning> {
        let Batch { mut vectors, mut tokens } = batch;
        let (index, conversation) = (self.vectors.index, self.conversation);
        let through = || index.stats(conversation).through;
        let there = through();
        vectors.retain(|(node, _)| node.get() > there);
        match index.insert(conversation, &vectors).await {
            Ok(()) => {}
            // Another process embedded them in the meantime.
            Err(VectorError::OutOfOrder { found, .. }) if through() >= found.get() => {}
            Err(failed) => return Err(failed.into()),
        }
        let Some(kept) = self.vectors.tokens else { return Ok(()) };
        let through = || kept.index.stats(conversation).through;
        let there = through();
        tokens.retain(|(node, _)| node.get() > there);
        match kept.index.insert(conversation, &tokens).await {
            Err(VectorError::OutOfOrder { found, .. }) if through() >= found.get() => Ok(()),
            inserted => self.keep_on(inserted),
        }
    }

    async fn flush(&mut self) -> Result<(), NoMeaning> {
        let flushed = self.vectors.flush().await;
        self.keep_on(flushed)
    }

    /// What a cache did not take stops no answer: what it holds in memory is searched all the same.
    fn keep_on(&mut self, kept: Result<(), VectorError>) -> Result<(), NoMeaning> {
        match kept {
            Err(failed) if self.errand == Errand::Question => {
                self.done.unkept.get_or_insert(failed);
                Ok(())
            }
            kept => Ok(kept?),
        }
    }
}

impl Tokens<'_> {
    /// The vectors of each text's chunks, and those of all its tokens.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        let found = self.embedder.embed_documents_with_tokens(texts).await?;
        let embedded = found.into_iter().map(|chunks| {
            let tokens = joined(self.embedder.model(), chunks.iter().map(|chunk| &chunk.tokens))?;
            Ok((chunks.into_iter().map(|chunk| chunk.whole).collect(), Some(tokens)))
        });
        embedded.collect()
    }
}

/// Runs of `nodes`, which were read, that leave none out, each with its texts: as many as are embedded together.
fn batches(nodes: NodeRange, read: &ReadNodes) -> Vec<(NodeRange, Vec<(NodeId, String)>)> {
    let mut batches = Vec::new();
    let (mut first, mut texts, mut bytes) = (nodes.first(), Vec::new(), 0);
    for node in &read.nodes {
        let text = indexed_text(&node.message);
        if !texts.is_empty() && bytes + text.len() > BATCH_BYTES {
            // Lost nodes before this one go with those before them.
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

fn nodes_after(through: u64, last: u64) -> Option<NodeRange> {
    let end = through.saturating_add(READ_NODES).min(last);
    NodeRange::new(NodeId::new(through + 1)?, NodeId::new(end)?)
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, NodeDraft, Timestamp, testing::MemoryStore};

    use super::*;

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
