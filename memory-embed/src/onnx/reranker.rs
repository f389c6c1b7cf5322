//! The reranker that runs a cross-encoder in this process.

mod encoder;
mod files;
mod session;

use std::{sync::Arc, thread};

use memory_core::{
    ModelId,
    port::{BoxFuture, RerankError, Reranker, ScoreScale},
};

use self::{
    encoder::{Pair, PairEncoder},
    session::PairSession,
};
use super::{
    embedder::{check_positive, read, starting},
    runtime,
    workers::{Priority, WorkerConfig, Workers},
};
use crate::{ModelError, checksum::model_id};

pub use files::{MS_MARCO_MINILM_L6_V2, RerankerFiles};

/// Options of running a cross-encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerankerOptions {
    /// Maximum sessions, each with its own copy of the weights. The first is loaded at once, the others when the queue
    /// grows. By default one per processor, up to 8.
    pub workers: usize,
    /// Threads per session. By default 1.
    pub threads_per_worker: usize,
    /// Maximum tokens of a batch, including padding. By default 512.
    pub batch_tokens: usize,
    /// Maximum accepted requests before callers wait. By default 32.
    pub queue: usize,
    /// Maximum passages of a long text that are scored. By default 4. With 1, only the beginning of the text is scored.
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
    memory_core::setters! {
        const workers: usize,
        const threads_per_worker: usize,
        const batch_tokens: usize,
        const queue: usize,
        const passages: usize,
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
/// The model reads question and text together, as its tokenizer pairs them. A text that is too long is cut into
/// passages at sentence boundaries and scored by its best passage (MaxP: Dai and Callan 2019, [*Deeper Text
/// Understanding for IR with Contextual Neural Language Modeling*](https://arxiv.org/abs/1905.09217)). If there are
/// more passages than [`RerankerOptions::passages`], those with most of the question's rare words are scored. Passages
/// are taken from the first 64 KiB of a text. If the question leaves no room for passages, the longer of the two is
/// truncated token by token (`longest_first`). Scores are unbounded logits: the model's only output, or the difference
/// of its two outputs (relevant minus irrelevant). The reranker is designed for [`MS_MARCO_MINILM_L6_V2`].
///
/// Works under any async runtime or none. Dropping it waits for running batches; drop it before the process ends.
#[derive(Debug)]
pub struct OnnxReranker {
    model: ModelId,
    encoder: Arc<PairEncoder>,
    passages: usize,
    workers: Workers<Pair, f32>,
}

impl OnnxReranker {
    /// Loads runtime, tokenizer and graph.
    ///
    /// # Errors
    /// [`ModelError`] if a file is missing, damaged or not supported, or an option is invalid.
    pub fn load(files: &RerankerFiles, options: &RerankerOptions) -> Result<Self, ModelError> {
        options.check()?;
        let environment = runtime::environment(&files.runtime)?;
        let json = read("the tokenizer", &files.tokenizer, files.tokenizer_sha256.as_deref())?;
        let encoder = PairEncoder::new(&json.bytes, files.max_tokens)
            .map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })?;
        let (threads, pad, path) = (options.threads_per_worker, encoder.pad(), files.model.clone());
        let open = move |graph: &[u8]| {
            PairSession::open(&environment, graph, threads, pad)
                .map_err(|source| ModelError::Graph { path: path.clone(), source })
        };
        let graph = read("the reranker", &files.model, files.model_sha256.as_deref())?;
        let session = open(&graph.bytes)?;
        let model = model_id(&files.name, &graph.sha256);
        let config = WorkerConfig {
            name: "rerank",
            start: starting("the reranker", files.model.clone(), graph.sha256, open),
            workers: options.workers,
            batch_tokens: options.batch_tokens,
            queue: options.queue,
        };
        let workers = Workers::start(config, Box::new(session))?;
        Ok(Self { model, encoder: Arc::new(encoder), passages: options.passages, workers })
    }

    async fn scores(&self, query: &str, documents: &[&str]) -> Result<Vec<f32>, RerankError> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let (encoder, passages) = (Arc::clone(&self.encoder), self.passages);
        let query = query.to_owned();
        let documents: Vec<String> = documents.iter().map(|document| (*document).to_owned()).collect();
        let count = documents.len();
        let split = move |place: usize| {
            let document = documents.get(place).ok_or("there is no such document")?;
            encoder.best(&query, document, passages)
        };
        let scores = self.workers.run(count, split, Priority::Query).await;
        let scores = scores.map_err(|error| RerankError::new(self.model.clone(), error))?;
        let unread = || RerankError::new(self.model.clone(), "a text has no score");
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
