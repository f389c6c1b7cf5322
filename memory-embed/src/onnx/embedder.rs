//! The embedder that runs an ONNX model in this process.

use std::{fs, path::Path, sync::Arc, thread};

use memory_core::{BoxFuture, EmbedError, Embedder, ModelId};

use super::{
    runtime,
    session::SentenceSession,
    splitter::Splitter,
    workers::{Parts, Urgency, Workers},
};
use crate::{ModelError, ModelFiles, checksum::sha256_hex, unit::unit_sum};

/// Digits of the graph's digest in the model's name.
const SHORT_DIGEST: usize = 12;

/// How to run a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// Sessions at most, each with its own copy of the weights; the first is loaded at once, the others when work
    /// piles up. By default one for each processor, up to 8.
    pub workers: usize,
    /// Threads of each session. By default 1: as many sessions as processors are faster than one with many threads.
    pub threads_per_worker: usize,
    /// Tokens that run together, padding included. By default 256; much more is slower.
    pub batch_tokens: usize,
    /// Tokens that a chunk of a long text repeats from the chunk before it, at most. By default 32.
    pub overlap_tokens: usize,
    /// Requests that are taken in, of documents and of queries each, before callers wait. By default 32.
    pub queue: usize,
}

impl Default for OnnxOptions {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().map_or(1, usize::from).min(8),
            threads_per_worker: 1,
            batch_tokens: 256,
            overlap_tokens: 32,
            queue: 32,
        }
    }
}

impl OnnxOptions {
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

    /// Sets [`overlap_tokens`](Self::overlap_tokens).
    #[must_use]
    pub const fn overlap_tokens(mut self, tokens: usize) -> Self {
        self.overlap_tokens = tokens;
        self
    }

    /// Sets [`queue`](Self::queue).
    #[must_use]
    pub const fn queue(mut self, requests: usize) -> Self {
        self.queue = requests;
        self
    }

    fn check(&self, max_tokens: usize) -> Result<(), ModelError> {
        let positive = [
            ("workers", self.workers),
            ("threads_per_worker", self.threads_per_worker),
            ("batch_tokens", self.batch_tokens),
            ("queue", self.queue),
        ];
        if let Some((option, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(ModelError::Option { option, value, must: "at least 1".to_owned() });
        }
        // Two tokens enclose the text.
        let limit = max_tokens.saturating_sub(2);
        if limit == 0 {
            return Err(ModelError::Option { option: "max_tokens", value: max_tokens, must: "at least 3".to_owned() });
        }
        // At least half of each chunk is new.
        if self.overlap_tokens > limit / 2 {
            return Err(ModelError::Option {
                option: "overlap_tokens",
                value: self.overlap_tokens,
                must: format!("at most {} for a model that reads {max_tokens} tokens", limit / 2),
            });
        }
        Ok(())
    }
}

/// Embeds texts with a sentence-embedding model in ONNX format, on threads of its own.
///
/// Vectors are the means of the model's token vectors, scaled to unit length. A text longer than the model's input is
/// cut into overlapping chunks at the ends of sentences and has a vector for each; a query then has the direction of
/// the sum of its chunks' vectors. Documents and queries are encoded alike.
///
/// Works under any async runtime or none. Queries go before documents. Dropping it waits for the batches under way;
/// so let it be dropped before the process ends.
#[derive(Debug)]
pub struct OnnxEmbedder {
    model: ModelId,
    dimensions: usize,
    splitter: Arc<Splitter>,
    workers: Workers<Vec<u32>, Vec<f32>>,
}

impl OnnxEmbedder {
    /// Loads runtime, tokenizer and graph; takes about a tenth of a second.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, damaged or of a kind that cannot be used, or an option is.
    pub fn load(files: &ModelFiles, options: &OnnxOptions) -> Result<Self, ModelError> {
        options.check(files.max_tokens)?;
        let environment = runtime::environment(&files.runtime)?;
        let json = read("the tokenizer", &files.tokenizer, files.tokenizer_sha256.as_deref())?;
        let splitter = Splitter::new(&json.bytes, files.max_tokens, options.overlap_tokens)
            .map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })?;
        let (threads, pad) = (options.threads_per_worker, splitter.pad());
        let open = {
            let path = files.model.clone();
            move |graph: &[u8]| {
                SentenceSession::open(&environment, graph, threads, pad)
                    .map_err(|source| ModelError::Graph { path: path.clone(), source })
            }
        };
        let graph = read("the model", &files.model, files.model_sha256.as_deref())?;
        let first = open(&graph.bytes)?;
        let digest = graph.sha256.get(..SHORT_DIGEST).unwrap_or(&graph.sha256);
        let model = ModelId::new(&format!("{}@{digest}", files.name));
        let dimensions = first.dimensions();

        // Read again rather than kept, and checked again, as the file may have been replaced.
        let (path, sha256) = (files.model.clone(), graph.sha256);
        let start = move || {
            let graph = read("the model", &path, Some(&sha256))?;
            Ok(Box::new(open(&graph.bytes)?) as Box<_>)
        };
        let parts = Parts {
            name: "embed",
            start: Box::new(start),
            workers: options.workers,
            batch_tokens: options.batch_tokens,
            queue: options.queue,
        };
        let workers = Workers::start(parts, Box::new(first))?;
        Ok(Self { model, dimensions, splitter: Arc::new(splitter), workers })
    }

    /// One vector for each chunk of each text.
    async fn embed(&self, texts: &[&str], urgency: Urgency) -> Result<Vec<Vec<Vec<f32>>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let splitter = Arc::clone(&self.splitter);
        let split = move || texts.iter().map(|text| splitter.split(text)).collect();
        self.workers.run(split, urgency).await.map_err(|error| error.of_embedding(&self.model))
    }
}

impl Embedder for OnnxEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(self.embed(texts, Urgency::Indexing))
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move {
            let chunks = self.embed(&[text], Urgency::Question).await?.concat();
            unit_sum(chunks.iter().map(Vec::as_slice), self.dimensions).ok_or_else(|| EmbedError::BadOutput {
                model: self.model.clone(),
                what: format!("{} vectors that cancel each other out", chunks.len()),
            })
        })
    }
}

struct Checked {
    bytes: Vec<u8>,
    sha256: String,
}

/// Reads a file whose digest must be `expected`.
fn read(what: &str, path: &Path, expected: Option<&str>) -> Result<Checked, ModelError> {
    let bytes = fs::read(path).map_err(|source| ModelError::reading(what, path, source))?;
    let sha256 = sha256_hex(&bytes);
    match expected {
        Some(expected) if expected != sha256 => {
            Err(ModelError::Checksum { path: path.to_path_buf(), expected: expected.to_owned(), actual: sha256 })
        }
        _ => Ok(Checked { bytes, sha256 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_sense_are_refused_by_name() {
        let defaults = OnnxOptions::default();
        assert!(defaults.check(256).is_ok());
        for (options, name) in [
            (defaults.workers(0), "workers"),
            (defaults.threads_per_worker(0), "threads_per_worker"),
            (defaults.batch_tokens(0), "batch_tokens"),
            (defaults.queue(0), "queue"),
            (defaults.overlap_tokens(128), "overlap_tokens"),
        ] {
            let error = options.check(256).unwrap_err();
            assert!(matches!(error, ModelError::Option { option, .. } if option == name), "{error}");
        }
        assert!(defaults.overlap_tokens(127).check(256).is_ok());
        let error = defaults.overlap_tokens(0).check(2).unwrap_err();
        assert!(matches!(error, ModelError::Option { option: "max_tokens", .. }), "{error}");
    }

    #[test]
    fn another_file_than_the_pinned_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("graph.onnx");
        fs::write(&path, "abc").unwrap();
        let error = read("the model", &path, Some("00")).err().unwrap();
        assert!(matches!(error, ModelError::Checksum { .. }), "{error}");
        let error = read("the model", &directory.path().join("none"), None).err().unwrap();
        assert!(matches!(error, ModelError::Missing { .. }), "{error}");
    }
}
