//! Worker threads that own the sessions, and their queue.

mod split;

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use memory_core::{
    ModelId,
    port::{BoxError, EmbedError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use self::split::{SplitJob, Step};
use super::batch::plan_batches;
use crate::ModelError;

/// Queued tasks per worker before another worker is started. Loading a session takes as long as a few batches, so a
/// single query never starts a second worker.
const BACKLOG: usize = 4;

/// A model's session, owned by one thread.
pub(super) trait Engine<I, O>: Send {
    /// Computes one output for each input, in order.
    fn run(&mut self, inputs: &[I]) -> Result<Vec<O>, WorkError>;
}

/// One row of a batch.
pub(super) trait Sequence: Send + 'static {
    fn ids(&self) -> &[u32];

    /// Types of the first tokens; those of the others are 0.
    fn types(&self) -> &[u32] {
        &[]
    }
}

#[cfg(test)]
impl Sequence for Vec<u32> {
    fn ids(&self) -> &[u32] {
        self
    }
}

/// See [`WorkerConfig::start`].
pub(super) type StartEngine<I, O> = dyn Fn() -> Result<Box<dyn Engine<I, O>>, ModelError> + Send + Sync;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum WorkError {
    /// The model's output is invalid.
    BadOutput(String),
    /// The model, its tokenizer or its worker failed.
    Failed(BoxError),
}

impl WorkError {
    /// Converts to an error of embedding with `model`.
    pub(super) fn of_embedding(self, model: &ModelId) -> EmbedError {
        let model = model.clone();
        match self {
            Self::BadOutput(what) => EmbedError::BadOutput { model, what },
            Self::Failed(source) => EmbedError::Backend { model, source },
        }
    }
}

impl From<WorkError> for BoxError {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::BadOutput(what) => format!("invalid output: {what}").into(),
            WorkError::Failed(error) => error,
        }
    }
}

pub(super) struct WorkerConfig<I, O> {
    /// Prefix of the threads' names; a number is appended.
    pub(super) name: &'static str,
    /// Creates the engines of all workers but the first.
    pub(super) start: Box<StartEngine<I, O>>,
    pub(super) workers: usize,
    /// Maximum tokens of a batch, including padding.
    pub(super) batch_tokens: usize,
    /// Maximum accepted requests of each kind before callers wait.
    pub(super) queue: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A query, which precedes all documents.
    Query,
    /// Documents to be indexed.
    Indexing,
}

type Reply<O> = oneshot::Sender<Result<Vec<Vec<O>>, WorkError>>;

/// Runs a model on its own threads, which end when this is dropped.
pub(super) struct Workers<I: Sequence, O: Send + 'static> {
    shared: Arc<Pool<I, O>>,
    queries: Arc<Semaphore>,
    indexing: Arc<Semaphore>,
}

impl<I: Sequence, O: Send + 'static> Workers<I, O> {
    /// Starts the first worker with `engine`; the others start when the queue grows.
    pub(super) fn start(config: WorkerConfig<I, O>, engine: Box<dyn Engine<I, O>>) -> Result<Self, ModelError> {
        let admit = || Arc::new(Semaphore::new(config.queue));
        let workers = Self {
            queries: admit(),
            indexing: admit(),
            shared: Arc::new(Pool { config, state: Mutex::new(PoolState::new()), wake: Condvar::new() }),
        };
        workers.shared.spawn(&mut workers.shared.lock(), Some(engine)).map_err(ModelError::Thread)?;
        Ok(workers)
    }

    /// Splits each of `texts` texts into inputs with `split`, and returns their outputs in the same order and grouping.
    /// Splits on the workers, and waits for room in the queue without blocking the thread.
    pub(super) async fn run(
        &self,
        texts: usize,
        split: impl Fn(usize) -> Result<Vec<I>, BoxError> + Send + Sync + 'static,
        priority: Priority,
    ) -> Result<Vec<Vec<O>>, WorkError> {
        let admission = match priority {
            Priority::Query => &self.queries,
            Priority::Indexing => &self.indexing,
        };
        let gone = || WorkError::Failed("the worker is gone".into());
        let permit = Arc::clone(admission).acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let split_job = SplitJob::new(texts, Box::new(split));
        self.shared
            .add([Task::Request(Request { split_job, priority, reply: Mutex::new(Some((reply, permit))) }.into())]);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl<I: Sequence, O: Send + 'static> Drop for Workers<I, O> {
    /// Waits for running batches, because ONNX Runtime must not run while the process ends.
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

impl<I: Sequence, O: Send + 'static> fmt::Debug for Workers<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Workers").field("started", &state.started).field("waiting", &state.waiting()).finish()
    }
}

struct Request<I, O> {
    split_job: SplitJob<I>,
    priority: Priority,
    /// Taken by the worker that finishes splitting, or that finds the request cancelled.
    reply: Mutex<ReplySlot<O>>,
}

/// `None` after the reply. Dropping the permit admits the next request.
type ReplySlot<O> = Option<(Reply<O>, OwnedSemaphorePermit)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if the request was answered or cancelled.
fn is_closed<O>(answer: &ReplySlot<O>) -> bool {
    answer.as_ref().is_none_or(|(reply, _)| reply.is_closed())
}

/// A batch of inputs, with the index of each in its request.
struct Batch<I, O> {
    places: Vec<usize>,
    inputs: Vec<I>,
    pending: Arc<Pending<O>>,
}

enum Task<I, O> {
    Request(Arc<Request<I, O>>),
    /// A request that another worker is splitting too.
    Help(Arc<Request<I, O>>),
    Batch(Batch<I, O>),
}

/// A request that has been split.
struct Pending<O> {
    priority: Priority,
    /// Inputs of each text.
    counts: Vec<usize>,
    progress: Mutex<Progress<O>>,
}

struct Progress<O> {
    outputs: Vec<Option<O>>,
    missing: usize,
    reply: ReplySlot<O>,
}

impl<O> Pending<O> {
    fn lock(&self) -> MutexGuard<'_, Progress<O>> {
        lock(&self.progress)
    }

    fn is_closed(&self) -> bool {
        is_closed(&self.lock().reply)
    }

    fn fail(&self, error: WorkError) {
        if let Some((reply, _permit)) = self.lock().reply.take() {
            // The caller may have cancelled.
            let _ = reply.send(Err(error));
        }
    }

    fn complete(&self, outputs: impl IntoIterator<Item = (usize, O)>) {
        let mut progress = self.lock();
        for (at, output) in outputs {
            if let Some(slot) = progress.outputs.get_mut(at) {
                *slot = Some(output);
                progress.missing -= 1;
            }
        }
        if progress.missing == 0
            && let Some((reply, _permit)) = progress.reply.take()
        {
            let mut outputs = std::mem::take(&mut progress.outputs).into_iter().flatten();
            let grouped = self.counts.iter().map(|count| outputs.by_ref().take(*count).collect()).collect();
            let _ = reply.send(Ok(grouped));
        }
    }
}

struct PoolState<I, O> {
    /// Queries, split or not.
    queries: VecDeque<Task<I, O>>,
    /// Requests that are being split, and batches, all of which precede new requests.
    begun: VecDeque<Task<I, O>>,
    requests: VecDeque<Task<I, O>>,
    started: usize,
    /// Number of workers that wait for a task.
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl<I, O> PoolState<I, O> {
    fn new() -> Self {
        Self {
            queries: VecDeque::new(),
            begun: VecDeque::new(),
            requests: VecDeque::new(),
            started: 0,
            idle: 0,
            threads: Vec::new(),
            closed: false,
        }
    }

    fn waiting(&self) -> usize {
        self.queries.len() + self.begun.len() + self.requests.len()
    }

    fn push(&mut self, task: Task<I, O>) {
        let queue = match &task {
            Task::Request(request) | Task::Help(request) if request.priority == Priority::Query => &mut self.queries,
            Task::Batch(batch) if batch.pending.priority == Priority::Query => &mut self.queries,
            Task::Batch(_) | Task::Help(_) => &mut self.begun,
            Task::Request(_) => &mut self.requests,
        };
        queue.push_back(task);
    }

    fn pop(&mut self) -> Option<Task<I, O>> {
        let Self { queries, begun, requests, .. } = self;
        [queries, begun, requests].into_iter().find_map(VecDeque::pop_front)
    }
}

struct Pool<I, O> {
    config: WorkerConfig<I, O>,
    state: Mutex<PoolState<I, O>>,
    wake: Condvar,
}

impl<I: Sequence, O: Send + 'static> Pool<I, O> {
    fn lock(&self) -> MutexGuard<'_, PoolState<I, O>> {
        lock(&self.state)
    }

    /// Queues `tasks` and starts workers if the queue is long.
    fn add(self: &Arc<Self>, tasks: impl IntoIterator<Item = Task<I, O>>) {
        let mut state = self.lock();
        for task in tasks {
            state.push(task);
            self.wake.notify_one();
        }
        let workers = (state.waiting() / BACKLOG + 1).min(self.config.workers);
        while state.started < workers && !state.closed {
            if let Err(error) = self.spawn(&mut state, None) {
                tracing::warn!(%error, "no thread for another worker of the model");
                return;
            }
        }
    }

    /// Starts a worker with `engine`, or with an engine that it creates itself.
    fn spawn(
        self: &Arc<Self>,
        state: &mut PoolState<I, O>,
        engine: Option<Box<dyn Engine<I, O>>>,
    ) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let name = format!("{}-{}", self.config.name, state.started);
        let thread = thread::Builder::new().name(name).spawn(move || {
            match engine.map_or_else(&shared.config.start, Ok) {
                Ok(mut engine) => shared.work(engine.as_mut()),
                // The other workers continue.
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a worker of the model did not start")
                }
            }
        })?;
        state.threads.push(thread);
        state.started += 1;
        Ok(())
    }

    fn work(self: &Arc<Self>, engine: &mut dyn Engine<I, O>) {
        while let Some(task) = self.next() {
            match task {
                Task::Request(request) => {
                    let helpers = self.lock().idle.min(request.split_job.blocks().saturating_sub(1));
                    self.add((0..helpers).map(|_| Task::Help(Arc::clone(&request))));
                    self.split(&request);
                }
                Task::Help(request) => self.split(&request),
                Task::Batch(batch) => run(batch, engine),
            }
        }
    }

    /// Waits for a task; `None` when the workers are dropped.
    fn next(&self) -> Option<Task<I, O>> {
        let mut state = self.lock();
        while !state.closed {
            if let Some(task) = state.pop() {
                return Some(task);
            }
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        None
    }

    /// Splits the rest of a request, and queues its batches once all texts are split. Yields to queries that arrive
    /// meanwhile.
    fn split(self: &Arc<Self>, request: &Arc<Request<I, O>>) {
        let split = loop {
            let mut answer = lock(&request.reply);
            if is_closed(&answer) {
                // Drops the permit even if other workers still reference the request.
                *answer = None;
                return;
            }
            drop(answer);
            if request.priority == Priority::Indexing && !self.lock().queries.is_empty() {
                return self.add([Task::Help(Arc::clone(request))]);
            }
            match request.split_job.next_block() {
                Step::More => {}
                Step::NothingLeft => return,
                Step::Done(result) => break result,
            }
        };
        let Some((reply, permit)) = lock(&request.reply).take() else { return };
        let inputs = match split {
            Ok(inputs) => inputs,
            Err(error) => {
                let _ = reply.send(Err(WorkError::Failed(error)));
                return;
            }
        };
        let counts: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let mut inputs: Vec<Option<I>> = inputs.into_iter().flatten().map(Some).collect();
        if inputs.is_empty() {
            let _ = reply.send(Ok(counts.iter().map(|_| Vec::new()).collect()));
            return;
        }
        let pending = Arc::new(Pending {
            priority: request.priority,
            counts,
            progress: Mutex::new(Progress {
                outputs: inputs.iter().map(|_| None).collect(),
                missing: inputs.len(),
                reply: Some((reply, permit)),
            }),
        });
        let lengths: Vec<usize> = inputs.iter().flatten().map(|input| input.ids().len()).collect();
        let batches = plan_batches(&lengths, self.config.batch_tokens).into_iter().map(|places| {
            let inputs = places.iter().filter_map(|at| inputs.get_mut(*at)?.take()).collect();
            Task::Batch(Batch { places, inputs, pending: Arc::clone(&pending) })
        });
        self.add(batches);
    }
}

fn run<I, O>(batch: Batch<I, O>, engine: &mut dyn Engine<I, O>) {
    let Batch { places, inputs, pending } = batch;
    if pending.is_closed() {
        return;
    }
    match catch_unwind(AssertUnwindSafe(|| engine.run(&inputs))) {
        Ok(Ok(outputs)) if outputs.len() == inputs.len() => pending.complete(places.into_iter().zip(outputs)),
        Ok(Ok(outputs)) => {
            pending.fail(WorkError::BadOutput(format!("{} outputs for {} inputs", outputs.len(), inputs.len())));
        }
        Ok(Err(error)) => pending.fail(error),
        Err(_) => pending.fail(WorkError::Failed("the model's worker panicked".into())),
    }
}

#[cfg(test)]
mod tests;
