//! Embeds texts through a service's protocol and validates the vectors.

use std::{collections::VecDeque, fmt, future::Future, sync::Arc, time::Instant};

use memory_core::{ModelId, port::EmbedError};
use memory_remote::Runtime;
use tokio::task::JoinSet;

use super::{
    Failure, RemoteError, RemoteOptions,
    batch_size::BatchSize,
    estimate::{TokenCount, chunks_of, estimated_tokens},
    retry::{Deadline, Permits, with_retries},
};
use crate::unit::unit_sum;

/// The purpose of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A vector of a document, to be searched.
    Document,
    /// A vector of a query.
    Query,
}

/// The protocol of a service.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Performs one call: returns a vector of any norm for each of `texts`, in order.
    fn call(&self, texts: &[String], purpose: Purpose) -> impl Future<Output = Result<Vec<Vec<f32>>, Failure>> + Send;
}

/// The limits of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Maximum tokens of a text.
    pub(crate) tokens: usize,
    /// Maximum texts of a call.
    pub(crate) texts: usize,
    /// Maximum tokens of all texts of a call.
    pub(crate) call_tokens: usize,
}

/// Embeds through a protocol.
pub(crate) struct Remote<P> {
    runtime: Runtime,
    shared: Arc<Service<P>>,
}

struct Service<P> {
    protocol: P,
    model: ModelId,
    dimensions: usize,
    limits: Limits,
    options: RemoteOptions,
    permits: Permits,
    batch_size: BatchSize,
}

type Embeddings = Vec<Vec<Vec<f32>>>;

impl<P: Protocol> Remote<P> {
    /// # Errors
    /// [`RemoteError::Setup`] for invalid options, or if no thread can be started.
    pub(crate) fn start(
        protocol: P,
        model: ModelId,
        dimensions: usize,
        limits: Limits,
        options: RemoteOptions,
    ) -> Result<Self, RemoteError> {
        options.check()?;
        let permits = Permits::new(options.concurrency);
        let batch_size = BatchSize::new(limits.texts);
        let shared = Service { protocol, model, dimensions, limits, options, permits, batch_size };
        let runtime = Runtime::start()
            .map_err(|error| RemoteError::Setup { what: format!("no thread for calls over the network: {error}") })?;
        Ok(Self { runtime, shared: Arc::new(shared) })
    }

    pub(crate) fn model(&self) -> &ModelId {
        &self.shared.model
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.shared.dimensions
    }

    /// One vector for each chunk of each text.
    pub(crate) async fn documents(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        self.embed(texts, Purpose::Document).await
    }

    /// The normalized sum of the vectors of the text's chunks.
    pub(crate) async fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let chunks = self.embed(&[text], Purpose::Query).await?.concat();
        unit_sum(chunks.iter().map(Vec::as_slice), self.dimensions()).ok_or_else(|| EmbedError::BadOutput {
            model: self.model().clone(),
            what: format!("{} vectors that cancel each other out", chunks.len()),
        })
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Embeddings, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let work = Arc::clone(&self.shared).embed(texts, purpose);
        let gone = || EmbedError::Backend { model: self.model().clone(), source: "the worker panicked".into() };
        self.runtime.run(work).await.ok_or_else(gone)?.map_err(|error| error.into_embed_error(self.model()))
    }
}

impl<P> fmt::Debug for Remote<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Service { model, dimensions, limits, options, .. } = self.shared.as_ref();
        f.debug_struct("Remote")
            .field("model", model)
            .field("dimensions", dimensions)
            .field("limits", limits)
            .field("options", options)
            .finish_non_exhaustive()
    }
}

/// Refused calls of a batch before each of its texts is sent alone.
const MAX_HALVINGS: usize = 8;

/// Minimum bytes of a piece; a shorter text is refused for a reason other than its length.
const MIN_PIECE: usize = 16;

/// Chunks of one call, each with its index in the request.
type CallBatch = Vec<(usize, String)>;

/// Splits a batch into parts of `part` chunks and pushes them onto the stack `waiting`, the first part on top.
fn push_parts(mut batch: CallBatch, part: usize, waiting: &mut Vec<CallBatch>) {
    while let Some(last) = batch.len().checked_sub(1) {
        waiting.push(batch.split_off(last / part * part));
    }
}

impl<P: Protocol> Service<P> {
    async fn embed(self: Arc<Self>, texts: Vec<String>, purpose: Purpose) -> Result<Embeddings, RemoteError> {
        let deadline = match purpose {
            Purpose::Document => Deadline::without_progress(self.options.document_deadline),
            Purpose::Query => Deadline::after(self.options.query_deadline),
        };
        let limit = self.options.chunk_tokens.min(self.limits.tokens);
        let cut = |text: &String| -> Vec<String> {
            chunks_of(text, TokenCount::Estimated, limit, self.options.overlap_tokens)
                .into_iter()
                .map(str::to_owned)
                .collect()
        };
        let chunks: Vec<Vec<String>> = texts.iter().map(cut).collect();
        let counts: Vec<usize> = chunks.iter().map(Vec::len).collect();
        let mut vectors: Vec<Vec<Vec<f32>>> = counts.iter().flat_map(|count| vec![Vec::new(); *count]).collect();

        let mut waiting = self.batches(chunks.into_iter().flatten().enumerate());
        let mut running = JoinSet::new();
        loop {
            // Starts no more calls than may run, so that a query does not wait behind a long queue.
            while running.len() < self.options.concurrency
                && let Some(batch) = waiting.pop_front()
            {
                running.spawn(Arc::clone(&self).run(batch, purpose, deadline.clone()));
            }
            let Some(done) = running.join_next().await else { break };
            let done = done.map_err(|error| RemoteError::Failed { attempts: 1, detail: error.to_string() })?;
            for (at, found) in done? {
                if let Some(slot) = vectors.get_mut(at) {
                    *slot = found;
                }
            }
        }
        let mut vectors = vectors.into_iter();
        Ok(counts.iter().map(|count| vectors.by_ref().take(*count).flatten().collect()).collect())
    }

    /// Packs chunks into as few calls as the limits allow.
    fn batches(&self, chunks: impl Iterator<Item = (usize, String)>) -> VecDeque<CallBatch> {
        let mut batches: VecDeque<CallBatch> = VecDeque::new();
        let mut tokens = 0;
        for (at, chunk) in chunks {
            let more = estimated_tokens(&chunk);
            match batches.back_mut() {
                Some(batch) if batch.len() < self.limits.texts && tokens + more <= self.limits.call_tokens => {
                    tokens += more;
                    batch.push((at, chunk));
                }
                _ => {
                    tokens = more;
                    batches.push_back(vec![(at, chunk)]);
                }
            }
        }
        batches
    }

    /// Embeds a batch: returns one vector per chunk, or several if the service refused the chunk as too long and it was
    /// cut again.
    async fn run(
        self: Arc<Self>,
        batch: CallBatch,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Vec<(usize, Vec<Vec<f32>>)>, RemoteError> {
        let mut found: Vec<(usize, Vec<Vec<f32>>)> = Vec::with_capacity(batch.len());
        let mut waiting = vec![batch];
        let mut refused = 0;
        while let Some(mut batch) = waiting.pop() {
            // The rest stays in one batch, because the batch size may change before it is sent.
            let at_once = self.batch_size.texts();
            if batch.len() > at_once {
                waiting.push(batch.split_off(at_once));
            }
            let (places, texts): (Vec<usize>, Vec<String>) = batch.into_iter().unzip();
            match self.call_with_retries(&texts, purpose, &deadline).await {
                Ok(vectors) => {
                    for (place, vector) in places.into_iter().zip(vectors) {
                        match found.last_mut() {
                            Some((last, pieces)) if *last == place => pieces.push(vector),
                            _ => found.push((place, vec![vector])),
                        }
                    }
                }
                // At least one text exceeds its estimate, and the service does not say which. Send fewer texts, because
                // the vectors of a text must not depend on the other texts of its call.
                Err(RemoteError::TooLong { .. }) if texts.len() > 1 => {
                    refused += 1;
                    // Halving finds one long text among a hundred. If many are too long, single calls are fewer.
                    let part = if refused > MAX_HALVINGS { 1 } else { texts.len().div_ceil(2) };
                    push_parts(places.into_iter().zip(texts).collect(), part, &mut waiting);
                }
                Err(error @ RemoteError::TimedOut { .. }) if texts.len() > 1 => {
                    tracing::debug!(%error, texts = texts.len(), "a call timed out and is split in halves");
                    self.batch_size.timed_out(texts.len());
                    let part = texts.len().div_ceil(2);
                    push_parts(places.into_iter().zip(texts).collect(), part, &mut waiting);
                }
                Err(error @ RemoteError::TooLong { .. }) => {
                    let pieces: CallBatch =
                        places.into_iter().zip(texts).flat_map(|chunk| self.cut_again(chunk)).collect();
                    if pieces.len() < 2 {
                        return Err(error);
                    }
                    waiting.extend(self.batches(pieces.into_iter()).into_iter().rev());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Cuts a chunk into pieces with at most as many bytes as the limit of tokens, or half of its own bytes if that is
    /// less, because a token has at least one byte, and the service's actual limit may be lower than the known one.
    fn cut_again(&self, (place, chunk): (usize, String)) -> CallBatch {
        let most = self.limits.tokens.min(chunk.len() / 2);
        if most < MIN_PIECE {
            return vec![(place, chunk)];
        }
        chunks_of(&chunk, TokenCount::Bytes, most, 0).into_iter().map(|piece| (place, piece.to_owned())).collect()
    }

    /// Performs one call with retries. Vectors are validated and scaled to unit length.
    async fn call_with_retries(
        &self,
        texts: &[String],
        purpose: Purpose,
        deadline: &Deadline,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        let call = || async {
            let begun = Instant::now();
            let answer = self.protocol.call(texts, purpose).await;
            answer.map(|vectors| (vectors, begun.elapsed()))
        };
        let (vectors, took) =
            with_retries(&self.options, deadline, &self.permits, (purpose, texts.len() > 1), call).await?;
        self.batch_size.succeeded(texts.len(), took, self.options.call_timeout);
        if vectors.len() != texts.len() {
            let what = format!("{} vectors for {} texts", vectors.len(), texts.len());
            return Err(RemoteError::Malformed { what });
        }
        vectors.into_iter().map(|vector| self.checked(&vector)).collect()
    }

    fn checked(&self, vector: &[f32]) -> Result<Vec<f32>, RemoteError> {
        if vector.len() != self.dimensions {
            return Err(RemoteError::Dimensions { expected: self.dimensions, actual: vector.len() });
        }
        unit_sum([vector], self.dimensions)
            .ok_or_else(|| RemoteError::Malformed { what: "a vector without a direction, or not finite".to_owned() })
    }
}

#[cfg(test)]
mod tests;
