//! A cross-encoder that reads question and text together, in this process.

mod files;
mod pairs;
mod session;

use std::{sync::Arc, thread};

use memory_core::{BoxFuture, ModelId, RerankError, Reranker, ScoreScale};

use self::{
    pairs::{Pair, Pairs},
    session::PairSession,
};
use super::{
    embedder::{check_positive, read},
    runtime,
    workers::{Parts, Urgency, Workers},
};
use crate::{ModelError, model_id};

pub use files::{MS_MARCO_MINILM_L6_V2, RerankerFiles};

/// How to run a cross-encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerankerOptions {
    /// Sessions at most, each with its own copy of the weights; the first is loaded at once, the others when work
    /// piles up. By default one for each processor, up to 8.
    pub workers: usize,
    /// Threads of each session. By default 1.
    pub threads_per_worker: usize,
    /// Tokens that run together, padding included. By default 512.
    pub batch_tokens: usize,
    /// Requests that are taken in before callers wait. By default 32.
    pub queue: usize,
    /// Passages of a long text that are read, at most, for the best score of them. By default 4; with 1, the beginning of
    /// the text alone.
    pub passages: usize,
}

impl Default for RerankerOptions {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().map_or(1, usize::from).min(8),
            threads_per_worker: 1,
            batch_tokens: 512,
            queue: 32,
            passages: 4,
        }
    }
}

impl RerankerOptions {
    /// Sets [`workers`](Self::workers).
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets [`threads_per_worker`](Self::threads_per_worker).
    #[must_use]
    pub const fn threads_per_worker(mut self, threads: usize) -> Self {
        self.threads_per_worker = threads;
        self
    }

    /// Sets [`batch_tokens`](Self::batch_tokens).
    #[must_use]
    pub const fn batch_tokens(mut self, tokens: usize) -> Self {
        self.batch_tokens = tokens;
        self
    }

    /// Sets [`queue`](Self::queue).
    #[must_use]
    pub const fn queue(mut self, requests: usize) -> Self {
        self.queue = requests;
        self
    }

    /// Sets [`passages`](Self::passages).
    #[must_use]
    pub const fn passages(mut self, passages: usize) -> Self {
        self.passages = passages;
        self
    }

    fn check(&self) -> Result<(), ModelError> {
        check_positive([
            ("passages", self.passages),
            ("workers", self.workers),
            ("threads_per_worker", self.threads_per_worker),
            ("batch_tokens", self.batch_tokens),
            ("queue", self.queue),
        ])
    }
}

/// Scores texts for a question with a cross-encoder in ONNX format, on threads of its own.
///
/// Question and text are read together, as the model's tokenizer pairs them. A text that is too long for that is cut into
/// passages at the ends of sentences, and its score is that of its best one (MaxP: Dai and Callan 2019, [*Deeper Text
/// Understanding for IR with Contextual Neural Language Modeling*](https://arxiv.org/abs/1905.09217)); where it has more of
/// them than [`RerankerOptions::passages`], those are read that have most of the question's rare words. They are taken
/// from the first 64 KiB of a text. Where the question leaves no room for passages, the longer of the two is cut at its
/// end, token by token (`longest_first`). Scores are logits: unbounded, of the one output of the model, or the difference
/// of the two (relevant less irrelevant). [`MS_MARCO_MINILM_L6_V2`] is the model this is meant for.
///
/// Works under any async runtime or none. Dropping it waits for the batches under way; so let it be dropped before the
/// process ends.
#[derive(Debug)]
pub struct OnnxReranker {
    model: ModelId,
    pairs: Arc<Pairs>,
    passages: usize,
    workers: Workers<Pair, f32>,
}

impl OnnxReranker {
    /// Loads runtime, tokenizer and graph.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, damaged or of a kind that cannot be used, or an option is.
    pub fn load(files: &RerankerFiles, options: &RerankerOptions) -> Result<Self, ModelError> {
        options.check()?;
        let environment = runtime::environment(&files.runtime)?;
        let json = read("the tokenizer", &files.tokenizer, files.tokenizer_sha256.as_deref())?;
        let pairs = Pairs::new(&json.bytes, files.max_tokens)
            .map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })?;
        let (threads, pad, path) = (options.threads_per_worker, pairs.pad(), files.model.clone());
        let open = move |graph: &[u8]| {
            PairSession::open(&environment, graph, threads, pad)
                .map_err(|source| ModelError::Graph { path: path.clone(), source })
        };
        let graph = read("the reranker", &files.model, files.model_sha256.as_deref())?;
        let session = open(&graph.bytes)?;
        let model = model_id::of_digest(&files.name, &graph.sha256);

        // Read again rather than kept, and checked again, as the file may have been replaced.
        let (path, sha256) = (files.model.clone(), graph.sha256);
        let start = move || {
            let graph = read("the reranker", &path, Some(&sha256))?;
            Ok(Box::new(open(&graph.bytes)?) as Box<_>)
        };
        let parts = Parts {
            name: "rerank",
            start: Box::new(start),
            workers: options.workers,
            batch_tokens: options.batch_tokens,
            queue: options.queue,
        };
        let workers = Workers::start(parts, Box::new(session))?;
        Ok(Self { model, pairs: Arc::new(pairs), passages: options.passages, workers })
    }

    async fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, RerankError> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let (pairs, passages) = (Arc::clone(&self.pairs), self.passages);
        let query = query.to_owned();
        let documents: Vec<String> = documents.iter().map(|document| (*document).to_owned()).collect();
        let count = documents.len();
        let split = move |place: usize| {
            let document = documents.get(place).ok_or("there is no such document")?;
            pairs.best(&query, document, passages)
        };
        let scores = self.workers.run(count, split, Urgency::Question).await;
        let scores = scores.map_err(|error| RerankError { model: self.model.clone(), source: error.into() })?;
        let unread = || RerankError { model: self.model.clone(), source: "a text was not read".into() };
        let best = |passages: Vec<f32>| passages.into_iter().reduce(f32::max).ok_or_else(unread);
        scores.into_iter().map(best).collect()
    }
}

impl Reranker for OnnxReranker {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    fn rerank<'a>(&'a self, query: &'a str, documents: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<f32>, RerankError>> {
        Box::pin(self.scores(query, documents))
    }
}

#[cfg(test)]
mod tests;
