//! The threads that own the sessions, and the queue before them.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use memory_core::{BoxError, EmbedError, ModelId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::batch::plan_batches;
use crate::ModelError;

/// Work that waits, for each worker, before another worker is started. Loading a session takes as long as a few
/// batches, so a question alone never pays for a second one.
const BACKLOG: usize = 4;

/// Owned by one thread.
pub(super) trait Engine: Send {
    /// One unit-length vector for each sequence of token numbers, in order.
    fn embed(&mut self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, EngineError>;
}

/// See [`Parts::split`].
pub(super) type Split = dyn Fn(&str, Urgency) -> Result<Vec<Vec<u32>>, BoxError> + Send + Sync;

/// See [`Parts::start`].
pub(super) type Start = dyn Fn() -> Result<Box<dyn Engine>, ModelError> + Send + Sync;

/// Why an engine gave no vectors.
#[derive(Debug)]
pub(super) enum EngineError {
    /// Its output is no embedding.
    BadOutput(String),
    /// It failed.
    Failed(BoxError),
}

impl From<EngineError> for BoxError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::BadOutput(what) => format!("its output is no embedding: {what}").into(),
            EngineError::Failed(error) => error,
        }
    }
}

/// What the workers are made of.
pub(super) struct Parts {
    pub(super) model: ModelId,
    /// From a text, a question or a document, to its sequences, at least one.
    pub(super) split: Box<Split>,
    /// Makes the engines of all workers but the first.
    pub(super) start: Box<Start>,
    /// Workers, at most.
    pub(super) workers: usize,
    /// Tokens of a batch, at most, padding included.
    pub(super) batch_tokens: usize,
    /// Requests of each kind that are taken in before callers wait.
    pub(super) queue: usize,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A person with a question: goes before all else.
    Question,
    /// Documents that are being indexed.
    Indexing,
}

/// One vector for each chunk of each text.
type Embeddings = Vec<Vec<Vec<f32>>>;
type Reply = oneshot::Sender<Result<Embeddings, EmbedError>>;

/// Embeds on threads of its own; stops them when dropped.
pub(super) struct Workers {
    shared: Arc<Shared>,
    questions: Arc<Semaphore>,
    indexing: Arc<Semaphore>,
}

impl Workers {
    /// Starts the first worker with `engine`; the others start when enough work waits.
    pub(super) fn start(parts: Parts, engine: Box<dyn Engine>) -> Result<Self, ModelError> {
        let admit = || Arc::new(Semaphore::new(parts.queue));
        let workers = Self {
            questions: admit(),
            indexing: admit(),
            shared: Arc::new(Shared { parts, state: Mutex::default(), wake: Condvar::new() }),
        };
        workers.shared.spawn(&mut workers.shared.lock(), Some(engine)).map_err(ModelError::Thread)?;
        Ok(workers)
    }

    /// The vectors of `texts`, in order. Waits for room in the queue without blocking the thread.
    pub(super) async fn embed(&self, texts: &[&str], urgency: Urgency) -> Result<Embeddings, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let admission = match urgency {
            Urgency::Question => &self.questions,
            Urgency::Indexing => &self.indexing,
        };
        let gone = || self.shared.failed("the worker is gone");
        let permit = Arc::clone(admission).acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        self.shared.add([Task::Request(Request { texts, urgency, reply, permit })]);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for Workers {
    /// Waits for the batches under way, as ONNX Runtime must not run while the process ends.
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.lock();
            state.closed = true;
            std::mem::take(&mut state.threads)
        };
        self.shared.wake.notify_all();
        for thread in threads {
            // A worker catches the panics of its work.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Workers").field("started", &state.started).field("waiting", &state.waiting()).finish()
    }
}

struct Request {
    texts: Vec<String>,
    urgency: Urgency,
    reply: Reply,
    permit: OwnedSemaphorePermit,
}

/// Sequences that run together, each with its place among all of its request.
struct Batch {
    sequences: Vec<(usize, Vec<u32>)>,
    pending: Arc<Pending>,
}

enum Task {
    Request(Request),
    Batch(Batch),
}

/// A request that has been split.
struct Pending {
    urgency: Urgency,
    /// Sequences of each text.
    counts: Vec<usize>,
    progress: Mutex<Progress>,
}

struct Progress {
    vectors: Vec<Vec<f32>>,
    missing: usize,
    /// Gone when answered; the permit lets the next request in.
    reply: Option<(Reply, OwnedSemaphorePermit)>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody waits for it any more.
    fn is_over(&self) -> bool {
        self.lock().reply.as_ref().is_none_or(|(reply, _)| reply.is_closed())
    }

    fn fail(&self, error: EmbedError) {
        if let Some((reply, _permit)) = self.lock().reply.take() {
            // The caller may have given up.
            let _ = reply.send(Err(error));
        }
    }

    fn complete(&self, vectors: impl IntoIterator<Item = (usize, Vec<f32>)>) {
        let mut progress = self.lock();
        for (at, vector) in vectors {
            if let Some(slot) = progress.vectors.get_mut(at) {
                *slot = vector;
                progress.missing -= 1;
            }
        }
        if progress.missing == 0
            && let Some((reply, _permit)) = progress.reply.take()
        {
            let mut vectors = std::mem::take(&mut progress.vectors).into_iter();
            let embeddings = self.counts.iter().map(|count| vectors.by_ref().take(*count).collect()).collect();
            let _ = reply.send(Ok(embeddings));
        }
    }
}

#[derive(Default)]
struct State {
    /// Questions, split or not.
    questions: VecDeque<Task>,
    /// Batches of requests that have been split: finished before another is split.
    begun: VecDeque<Task>,
    requests: VecDeque<Task>,
    started: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl State {
    fn waiting(&self) -> usize {
        self.questions.len() + self.begun.len() + self.requests.len()
    }

    fn push(&mut self, task: Task) {
        let queue = match &task {
            Task::Request(Request { urgency: Urgency::Question, .. }) => &mut self.questions,
            Task::Batch(batch) if batch.pending.urgency == Urgency::Question => &mut self.questions,
            Task::Batch(_) => &mut self.begun,
            Task::Request(_) => &mut self.requests,
        };
        queue.push_back(task);
    }

    fn pop(&mut self) -> Option<Task> {
        let Self { questions, begun, requests, .. } = self;
        [questions, begun, requests].into_iter().find_map(VecDeque::pop_front)
    }
}

struct Shared {
    parts: Parts,
    state: Mutex<State>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, why: impl Into<BoxError>) -> EmbedError {
        EmbedError::Backend { model: self.parts.model.clone(), source: why.into() }
    }

    /// Queues `tasks` and starts workers if the queue has grown long.
    fn add(self: &Arc<Self>, tasks: impl IntoIterator<Item = Task>) {
        let mut state = self.lock();
        for task in tasks {
            state.push(task);
            self.wake.notify_one();
        }
        let wanted = (state.waiting() / BACKLOG + 1).min(self.parts.workers);
        while state.started < wanted && !state.closed {
            if let Err(error) = self.spawn(&mut state, None) {
                tracing::warn!(%error, "no thread for another embedding worker");
                return;
            }
        }
    }

    /// Starts a worker, with an engine of its own unless one is given.
    fn spawn(self: &Arc<Self>, state: &mut State, engine: Option<Box<dyn Engine>>) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name(format!("embed-{}", state.started)).spawn(move || {
            match engine.map_or_else(&shared.parts.start, Ok) {
                Ok(mut engine) => shared.work(engine.as_mut()),
                // The others go on.
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "an embedding worker did not start")
                }
            }
        })?;
        state.threads.push(thread);
        state.started += 1;
        Ok(())
    }

    fn work(self: &Arc<Self>, engine: &mut dyn Engine) {
        while let Some(task) = self.next() {
            match task {
                Task::Request(request) => self.split(request),
                Task::Batch(batch) => self.run(batch, engine),
            }
        }
    }

    /// Waits for a task; `None` when it is time to stop.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        while !state.closed {
            if let Some(task) = state.pop() {
                return Some(task);
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn split(self: &Arc<Self>, request: Request) {
        let Request { texts, urgency, reply, permit } = request;
        if reply.is_closed() {
            return;
        }
        let split = || texts.iter().map(|text| (self.parts.split)(text, urgency)).collect::<Result<Vec<_>, _>>();
        let sequences = match catch_unwind(AssertUnwindSafe(split)) {
            Ok(Ok(sequences)) => sequences,
            Ok(Err(error)) => {
                let _ = reply.send(Err(self.failed(error)));
                return;
            }
            Err(_) => {
                let _ = reply.send(Err(self.failed("the tokenizer panicked")));
                return;
            }
        };
        let counts = sequences.iter().map(Vec::len).collect();
        let mut sequences: Vec<Vec<u32>> = sequences.into_iter().flatten().collect();
        let pending = Arc::new(Pending {
            urgency,
            counts,
            progress: Mutex::new(Progress {
                vectors: vec![Vec::new(); sequences.len()],
                missing: sequences.len(),
                reply: Some((reply, permit)),
            }),
        });
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let batches = plan_batches(&lengths, self.parts.batch_tokens).into_iter().map(|places| {
            let take = |at: usize| Some((at, std::mem::take(sequences.get_mut(at)?)));
            Task::Batch(Batch {
                sequences: places.into_iter().filter_map(take).collect(),
                pending: Arc::clone(&pending),
            })
        });
        self.add(batches);
    }

    fn run(&self, batch: Batch, engine: &mut dyn Engine) {
        let Batch { sequences, pending } = batch;
        if pending.is_over() {
            return;
        }
        let inputs: Vec<&[u32]> = sequences.iter().map(|(_, sequence)| sequence.as_slice()).collect();
        match catch_unwind(AssertUnwindSafe(|| engine.embed(&inputs))) {
            Ok(Ok(vectors)) if vectors.len() == inputs.len() => {
                pending.complete(sequences.iter().map(|(at, _)| *at).zip(vectors));
            }
            Ok(Ok(vectors)) => {
                pending.fail(self.bad(format!("{} vectors for {} sequences", vectors.len(), inputs.len())))
            }
            Ok(Err(EngineError::BadOutput(what))) => pending.fail(self.bad(what)),
            Ok(Err(EngineError::Failed(error))) => pending.fail(self.failed(error)),
            Err(_) => pending.fail(self.failed("the model's worker panicked")),
        }
    }

    fn bad(&self, what: String) -> EmbedError {
        EmbedError::BadOutput { model: self.parts.model.clone(), what }
    }
}

#[cfg(test)]
mod tests;
