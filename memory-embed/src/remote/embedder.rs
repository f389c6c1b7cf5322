//! From texts to checked vectors through a service's protocol.

use std::{collections::VecDeque, fmt, future::Future, sync::Arc, time::Instant};

use memory_core::{EmbedError, ModelId};
use tokio::task::JoinSet;

use super::{
    Failure, RemoteError, RemoteOptions,
    pace::Pace,
    pieces::{Count, chunks_of, estimated_tokens},
    retry::{Deadline, Permits, with_retries},
    runtime::Runtime,
};
use crate::unit::unit_sum;

/// What a vector is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be found.
    Document,
    /// To find with.
    Query,
}

/// A service's way of asking for vectors.
pub(crate) trait Protocol: fmt::Debug + Send + Sync + 'static {
    /// One call: a vector for each of `texts`, in order, of any length of theirs.
    fn call(&self, texts: &[String], purpose: Purpose) -> impl Future<Output = Result<Vec<Vec<f32>>, Failure>> + Send;
}

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Tokens of a text.
    pub(crate) tokens: usize,
    /// Texts of a call.
    pub(crate) texts: usize,
    /// Tokens of all texts of a call.
    pub(crate) call_tokens: usize,
}

/// Embeds through a protocol.
pub(crate) struct Remote<P> {
    runtime: Runtime,
    shared: Arc<Shared<P>>,
}

struct Shared<P> {
    protocol: P,
    model: ModelId,
    dimensions: usize,
    limits: Limits,
    options: RemoteOptions,
    permits: Permits,
    pace: Pace,
}

type Embeddings = Vec<Vec<Vec<f32>>>;

impl<P: Protocol> Remote<P> {
    /// # Errors
    /// [`RemoteError::Setup`] for options without sense, or if there is no thread.
    pub(crate) fn start(
        protocol: P,
        model: ModelId,
        dimensions: usize,
        limits: Limits,
        options: RemoteOptions,
    ) -> Result<Self, RemoteError> {
        options.check()?;
        let permits = Permits::new(options.concurrency);
        let pace = Pace::new(limits.texts);
        let shared = Shared { protocol, model, dimensions, limits, options, permits, pace };
        Ok(Self { runtime: Runtime::start()?, shared: Arc::new(shared) })
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

    /// The direction of the sum of the vectors of the text's chunks.
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
        self.runtime.run(work).await.ok_or_else(gone)?.map_err(|error| error.of_model(self.model()))
    }
}

impl<P> fmt::Debug for Remote<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { model, dimensions, limits, options, .. } = self.shared.as_ref();
        f.debug_struct("Remote")
            .field("model", model)
            .field("dimensions", dimensions)
            .field("limits", limits)
            .field("options", options)
            .finish_non_exhaustive()
    }
}

/// Calls with several texts that may be refused before each text is asked for alone.
const HALVINGS: usize = 8;

/// Bytes of a piece, at least: a text that is too long for less is so for another reason.
const LEAST_PIECE: usize = 16;

/// Chunks that go into one call, each with its place among all of its request.
type Batch = Vec<(usize, String)>;

/// Puts a batch in parts on top of those that wait, the first of them uppermost.
fn divide(mut batch: Batch, part: usize, waiting: &mut Vec<Batch>) {
    while let Some(last) = batch.len().checked_sub(1) {
        waiting.push(batch.split_off(last / part * part));
    }
}

impl<P: Protocol> Shared<P> {
    async fn embed(self: Arc<Self>, texts: Vec<String>, purpose: Purpose) -> Result<Embeddings, RemoteError> {
        let deadline = match purpose {
            Purpose::Document => Deadline::without_progress(self.options.document_deadline),
            Purpose::Query => Deadline::after(self.options.query_deadline),
        };
        let limit = self.options.chunk_tokens.min(self.limits.tokens);
        let cut = |text: &String| -> Vec<String> {
            chunks_of(text, Count::Estimated, limit, self.options.overlap_tokens)
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
            // No more at a time than may run, so that a question does not wait behind a long queue.
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

    /// As few calls as the limits allow.
    fn batches(&self, chunks: impl Iterator<Item = (usize, String)>) -> VecDeque<Batch> {
        let mut batches: VecDeque<Batch> = VecDeque::new();
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

    /// The vectors of each chunk: one, or several where the model found it too long and it was cut again.
    async fn run(
        self: Arc<Self>,
        batch: Batch,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Vec<(usize, Vec<Vec<f32>>)>, RemoteError> {
        let mut found: Vec<(usize, Vec<Vec<f32>>)> = Vec::with_capacity(batch.len());
        let mut waiting = vec![batch];
        let mut refused = 0;
        while let Some(mut batch) = waiting.pop() {
            // The rest stays whole: the pace may be another by then.
            let at_once = self.pace.texts();
            if batch.len() > at_once {
                waiting.push(batch.split_off(at_once));
            }
            let (places, texts): (Vec<usize>, Vec<String>) = batch.into_iter().unzip();
            match self.ask(&texts, purpose, &deadline).await {
                Ok(vectors) => {
                    for (place, vector) in places.into_iter().zip(vectors) {
                        match found.last_mut() {
                            Some((last, pieces)) if *last == place => pieces.push(vector),
                            _ => found.push((place, vec![vector])),
                        }
                    }
                }
                // The estimate was too low for one of them, and the service does not say which. What becomes of a text must
                // not depend on the others of its call.
                Err(RemoteError::TooLong { .. }) if texts.len() > 1 => {
                    refused += 1;
                    // One of a hundred is found in halves; where many are too long, asking for each alone takes fewer calls.
                    let part = if refused > HALVINGS { 1 } else { texts.len().div_ceil(2) };
                    divide(places.into_iter().zip(texts).collect(), part, &mut waiting);
                }
                Err(error @ RemoteError::TimedOut { .. }) if texts.len() > 1 => {
                    tracing::debug!(%error, texts = texts.len(), "a call is made in halves");
                    self.pace.timed_out(texts.len());
                    let part = texts.len().div_ceil(2);
                    divide(places.into_iter().zip(texts).collect(), part, &mut waiting);
                }
                Err(error @ RemoteError::TooLong { .. }) => {
                    let pieces: Batch = places.into_iter().zip(texts).flat_map(|chunk| self.cut_again(chunk)).collect();
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

    /// A chunk in pieces of at most as many bytes as the service reads tokens, or of half of its own bytes where that is
    /// less: a token may be a byte, and the service may read fewer than it is known to.
    fn cut_again(&self, (place, chunk): (usize, String)) -> Batch {
        let most = self.limits.tokens.min(chunk.len() / 2);
        if most < LEAST_PIECE {
            return vec![(place, chunk)];
        }
        chunks_of(&chunk, Count::Bytes, most, 0).into_iter().map(|piece| (place, piece.to_owned())).collect()
    }

    /// One call, made again as long as that may help; the vectors are checked and of unit length.
    async fn ask(&self, texts: &[String], purpose: Purpose, deadline: &Deadline) -> Result<Vec<Vec<f32>>, RemoteError> {
        let call = || async {
            let begun = Instant::now();
            let answer = self.protocol.call(texts, purpose).await;
            answer.map(|vectors| (vectors, begun.elapsed()))
        };
        let (vectors, took) =
            with_retries(&self.options, deadline, &self.permits, (purpose, texts.len() > 1), call).await?;
        self.pace.answered(texts.len(), took, self.options.call_timeout);
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
