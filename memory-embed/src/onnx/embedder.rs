//! The embedder that runs an ONNX model in this process.

use std::{
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, ScopedJoinHandle},
};

use memory_core::{
    ModelId,
    port::{BoxFuture, EmbedError, Embedder, TokenEmbedder, TokenEmbedding, TokenVectors},
};

use super::{
    runtime,
    session::{Chunk, ChunkVectors, Graph, SentenceSession},
    splitter::Splitter,
    workers::{Engine, Priority, StartEngine, WorkerConfig, Workers},
};
use crate::{
    ModelError, ModelFiles, Pooling,
    checksum::{model_id_of, sha256_hex, sha256_hex_of_file},
    files,
    unit::unit_sum,
};

/// Maximum bytes of a graph that runs in batches of [`SMALL_BATCH`] tokens; a larger one uses [`LARGE_BATCH`].
const SMALL_GRAPH: usize = 64 << 20;
const SMALL_BATCH: usize = 128;
const LARGE_BATCH: usize = 256;

/// Options of running a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// Maximum sessions, each with its own copy of the weights. The first is loaded at once, the others when the queue
    /// grows. By default one per processor, up to 8.
    pub workers: usize,
    /// Threads per session. By default 1, because one session per processor is faster than one with many threads.
    pub threads_per_worker: usize,
    /// Maximum tokens of a batch, including padding. By default 128 for a graph of up to 64 MiB and 256 for a larger
    /// one, whose weights are read again for each batch. Much larger batches are slower.
    pub batch_tokens: Option<usize>,
    /// Maximum tokens that a chunk of a long text repeats from the previous chunk. By default 32.
    pub overlap_tokens: usize,
    /// Maximum accepted requests, of documents and of queries each, before callers wait. By default 32.
    pub queue: usize,
}

impl Default for OnnxOptions {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().map_or(1, usize::from).min(8),
            threads_per_worker: 1,
            batch_tokens: None,
            overlap_tokens: 32,
            queue: 32,
        }
    }
}

impl OnnxOptions {
    memory_core::setters! {
        const workers: usize,
        const threads_per_worker: usize,
        const some batch_tokens: usize,
        const overlap_tokens: usize,
        const queue: usize,
    }

    fn check(&self, max_tokens: usize) -> Result<(), ModelError> {
        check_positive([
            ("workers", self.workers),
            ("threads_per_worker", self.threads_per_worker),
            ("batch_tokens", self.batch_tokens.unwrap_or(SMALL_BATCH)),
            ("queue", self.queue),
        ])?;
        // Two special tokens enclose the text.
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

/// Rejects the first option that is 0.
pub(super) fn check_positive<const N: usize>(options: [(&'static str, usize); N]) -> Result<(), ModelError> {
    match options.into_iter().find(|(_, value)| *value == 0) {
        Some((option, value)) => Err(ModelError::Option { option, value, must: "at least 1".to_owned() }),
        None => Ok(()),
    }
}

/// Embeds texts with a sentence-embedding model in ONNX format, on threads of its own.
///
/// Token vectors are pooled as the model's configuration states, and scaled to unit length. A text that is longer than
/// the model's input is cut into overlapping chunks at sentence boundaries and has one vector for each chunk; the
/// vector of such a query is the normalized sum of its chunks' vectors. The model's prompts are put before documents
/// and queries. The vectors of a text do not depend on the other texts of its batch, bit for bit.
///
/// Works under any async runtime or none. Queries take precedence over documents. Dropping it waits for running
/// batches; drop it before the process ends.
#[derive(Debug)]
pub struct OnnxEmbedder {
    model: ModelId,
    dimensions: usize,
    splitter: Arc<Splitter>,
    workers: Workers<Chunk, ChunkVectors>,
}

impl OnnxEmbedder {
    /// Loads runtime, tokenizer and graph, in about a tenth of a second.
    ///
    /// # Errors
    /// [`ModelError`] if a file is missing, damaged or not supported, or an option is invalid.
    pub fn load(files: &ModelFiles, options: &OnnxOptions) -> Result<Self, ModelError> {
        options.check(files.max_tokens)?;
        let LoadedModel { splitter, session, sha256, graph_bytes, tokenizer, open } =
            LoadedModel::open(files, options)?;
        let batch_tokens = options.batch_tokens.unwrap_or_else(|| default_batch(graph_bytes));
        let model = id_of(files, &sha256, &tokenizer);
        let dimensions = session.dimensions();
        let config = WorkerConfig {
            name: "embed",
            start: starting("the model", files.model.clone(), sha256, open),
            workers: options.workers,
            batch_tokens,
            queue: options.queue,
        };
        let workers = Workers::start(config, Box::new(session))?;
        Ok(Self { model, dimensions, splitter: Arc::new(splitter), workers })
    }

    /// Vectors of each chunk of each text.
    async fn embed(
        &self,
        texts: &[&str],
        priority: Priority,
        with_tokens: bool,
    ) -> Result<Vec<Vec<ChunkVectors>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let splitter = Arc::clone(&self.splitter);
        let count = texts.len();
        let split = move |text: usize| {
            let text = texts.get(text).ok_or("there is no such text")?;
            splitter.split(text, priority, with_tokens)
        };
        self.workers.run(count, split, priority).await.map_err(|error| error.of_embedding(&self.model))
    }

    /// The normalized sum of the vectors of a query's chunks, and the chunks.
    async fn query(&self, text: &str, with_tokens: bool) -> Result<(Vec<f32>, Vec<ChunkVectors>), EmbedError> {
        let knows_script = self.splitter.knows_script(text);
        if !knows_script.map_err(|source| EmbedError::Backend { model: self.model.clone(), source })? {
            return Err(EmbedError::UnknownScript { model: self.model.clone() });
        }
        let chunks = self.embed(&[text], Priority::Query, with_tokens).await?.pop().unwrap_or_default();
        let wholes = chunks.iter().map(|chunk| chunk.whole.as_slice());
        let whole = unit_sum(wholes, self.dimensions).ok_or_else(|| EmbedError::BadOutput {
            model: self.model.clone(),
            what: format!("{} vectors that cancel each other out", chunks.len()),
        })?;
        Ok((whole, chunks))
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
        Box::pin(async move {
            let found = self.embed(texts, Priority::Indexing, false).await?;
            Ok(found.into_iter().map(|chunks| chunks.into_iter().map(|chunk| chunk.whole).collect()).collect())
        })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move { Ok(self.query(text, false).await?.0) })
    }

    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        Some(self)
    }
}

impl TokenEmbedder for OnnxEmbedder {
    fn token_dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents_with_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Vec<TokenEmbedding>>, EmbedError>> {
        let embedding = |ChunkVectors { whole, tokens }| TokenEmbedding::new(whole, tokens);
        Box::pin(async move {
            let found = self.embed(texts, Priority::Indexing, true).await?;
            Ok(found.into_iter().map(|chunks| chunks.into_iter().map(embedding).collect()).collect())
        })
    }

    fn embed_query_with_tokens<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<TokenEmbedding, EmbedError>> {
        Box::pin(async move {
            let (whole, chunks) = self.query(text, true).await?;
            let mut tokens = TokenVectors::default();
            for chunk in &chunks {
                tokens.append(&chunk.tokens).ok_or_else(|| EmbedError::BadOutput {
                    model: self.model.clone(),
                    what: "token vectors of different dimensions".to_owned(),
                })?;
            }
            Ok(TokenEmbedding::new(whole, tokens))
        })
    }
}

/// Starts further engines on the graph at `path`. Each reads and verifies the file again instead of sharing it, because
/// it may have been replaced.
pub(super) fn starting<I, O, E: Engine<I, O> + 'static>(
    what: &'static str,
    path: PathBuf,
    sha256: String,
    open: impl Fn(&[u8]) -> Result<E, ModelError> + Send + Sync + 'static,
) -> Box<StartEngine<I, O>> {
    Box::new(move || Ok(Box::new(open(&read(what, &path, Some(&sha256))?.bytes)?)))
}

/// The default batch size for a graph of so many bytes.
fn default_batch(graph_bytes: usize) -> usize {
    if graph_bytes <= SMALL_GRAPH { SMALL_BATCH } else { LARGE_BATCH }
}

/// Id of a model: its name and a checksum of everything that the vectors of documents depend on. With another
/// tokenizer, pooling, length or prompt the same graph gives vectors that cannot be compared.
fn id_of(files: &ModelFiles, graph: &str, tokenizer: &str) -> ModelId {
    let ModelFiles { name, max_tokens, pooling, prompts, lower_case, .. } = files;
    let graph = files.identity.as_deref().filter(|_| files.model_sha256.is_some()).unwrap_or(graph);
    let pooling = match pooling {
        Pooling::Mean => "mean",
        Pooling::Cls => "cls",
        Pooling::Max => "max",
    };
    let (max_tokens, lower_case) = (max_tokens.to_string(), lower_case.to_string());
    model_id_of(name, &[graph, tokenizer, &max_tokens, pooling, &lower_case, &prompts.document])
}

pub(super) struct LoadedModel {
    pub(super) splitter: Splitter,
    pub(super) session: SentenceSession,
    sha256: String,
    graph_bytes: usize,
    /// The SHA-256 of the tokenizer.
    tokenizer: String,
    /// Opens another session on the same graph.
    open: Box<OpenSession>,
}

/// Opens a session on a graph.
pub(super) type OpenSession = dyn Fn(&[u8]) -> Result<SentenceSession, ModelError> + Send + Sync;

impl LoadedModel {
    pub(super) fn open(files: &ModelFiles, options: &OnnxOptions) -> Result<Self, ModelError> {
        let (splitter, tokenizer, open) = Self::without_graph(files, options)?;
        let graph = read("the model", &files.model, files.model_sha256.as_deref())?;
        let session = open(&graph.bytes)?;
        Ok(Self { splitter, session, sha256: graph.sha256, graph_bytes: graph.bytes.len(), tokenizer, open })
    }

    /// The splitter, the SHA-256 of its tokenizer, and a function that opens sessions.
    pub(super) fn without_graph(
        files: &ModelFiles,
        options: &OnnxOptions,
    ) -> Result<(Splitter, String, Box<OpenSession>), ModelError> {
        let environment = runtime::environment(&files.runtime)?;
        let file = read("the tokenizer", &files.tokenizer, files.tokenizer_sha256.as_deref())?;
        let splitter = Splitter::new(&file.bytes, files.max_tokens, options.overlap_tokens)
            .and_then(|splitter| splitter.lower_case(files.lower_case).prompts(&files.prompts))
            .map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })?;
        let (threads, pad, pooling, path) =
            (options.threads_per_worker, splitter.pad(), files.pooling, files.model.clone());
        let words = files.words_sha256.clone().map(|sha256| (files.words(), sha256));
        let open = move |bytes: &[u8]| {
            let graph = Graph { bytes, tensors: words.as_ref().and_then(|(words, _)| words.parent()) };
            // Both take about as long.
            thread::scope(|scope| {
                let checked = words.as_ref().map(|(words, sha256)| scope.spawn(|| check(words, sha256)));
                let session = SentenceSession::open(&environment, graph, threads, pad, pooling)
                    .map_err(|source| ModelError::Graph { path: path.clone(), source });
                match checked.map(ScopedJoinHandle::join) {
                    Some(Ok(Err(damaged))) => Err(damaged),
                    Some(Err(panic)) => resume_unwind(panic),
                    Some(Ok(Ok(()))) | None => session,
                }
            })
        };
        let tokenizer = splitter.compiled_from().map_or(file.sha256, str::to_owned);
        Ok((splitter, tokenizer, Box::new(open)))
    }
}

/// Checks a file that ONNX Runtime maps.
fn check(path: &Path, expected: &str) -> Result<(), ModelError> {
    let sha256 = sha256_hex_of_file(path)
        .map_err(|source| ModelError::reading("the table of the model's words", path, source))?;
    matches(path, expected, &sha256)
}

fn matches(path: &Path, expected: &str, actual: &str) -> Result<(), ModelError> {
    if expected == actual {
        return Ok(());
    }
    Err(ModelError::Checksum { path: path.to_owned(), expected: expected.to_owned(), actual: actual.to_owned() })
}

pub(super) struct CheckedFile {
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
}

/// Reads a file whose SHA-256 must be `expected`, if given.
pub(super) fn read(what: &str, path: &Path, expected: Option<&str>) -> Result<CheckedFile, ModelError> {
    let bytes = files::read_weights(path).map_err(|source| ModelError::reading(what, path, source))?;
    let sha256 = sha256_hex(&bytes);
    expected.map_or(Ok(()), |expected| matches(path, expected, &sha256))?;
    Ok(CheckedFile { bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Prompts;

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
    fn everything_that_changes_the_vectors_changes_the_id() {
        let files = ModelFiles::new("mine", "lib.so", "graph.onnx", "tokenizer.json").max_tokens(256).lower_case(true);
        let same = id_of(&files, "aa", "bb");
        assert!(same.as_str().starts_with("mine@"));
        assert_eq!(id_of(&ModelFiles { runtime: "other.so".into(), ..files.clone() }, "aa", "bb"), same);
        let prompts = Prompts { document: "passage: ".to_owned(), ..Prompts::default() };
        let others = [
            id_of(&files, "cc", "bb"),
            id_of(&files, "aa", "cc"),
            id_of(&ModelFiles { max_tokens: 512, ..files.clone() }, "aa", "bb"),
            id_of(&ModelFiles { pooling: Pooling::Cls, ..files.clone() }, "aa", "bb"),
            id_of(&ModelFiles { lower_case: false, ..files.clone() }, "aa", "bb"),
            id_of(&ModelFiles { prompts, ..files.clone() }, "aa", "bb"),
        ];
        assert!(!others.contains(&same));
        let known =
            ModelFiles { identity: Some("dd".to_owned()), model_sha256: Some("ee".to_owned()), ..files.clone() };
        assert_eq!(
            id_of(&known, "aa", "bb"),
            id_of(&known, "cc", "bb"),
            "graphs that were converted on different machines"
        );
        assert_ne!(id_of(&known, "aa", "bb"), same);
        let unchecked = ModelFiles { model_sha256: None, ..known };
        assert_eq!(id_of(&unchecked, "aa", "bb"), same, "it may be any graph");
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
