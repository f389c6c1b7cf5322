//! The threads that own the sessions, and the queue before them.

mod splitting;

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use memory_core::{BoxError, EmbedError, ModelId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use self::splitting::{Splitting, Step};
use super::batch::plan_batches;
use crate::ModelError;

/// Work that waits, for each worker, before another worker is started. Loading a session takes as long as a few
/// batches, so a question alone never pays for a second one.
const BACKLOG: usize = 4;

/// A model's session, owned by one thread.
pub(super) trait Engine<I, O>: Send {
    /// One output for each input, in order.
    fn run(&mut self, inputs: &[I]) -> Result<Vec<O>, WorkError>;
}

/// What runs as one row of a batch.
pub(super) trait Sequence: Send + 'static {
    /// Its length in tokens.
    fn tokens(&self) -> usize;
}

impl Sequence for Vec<u32> {
    fn tokens(&self) -> usize {
        self.len()
    }
}

/// See [`Parts::start`].
pub(super) type Start<I, O> = dyn Fn() -> Result<Box<dyn Engine<I, O>>, ModelError> + Send + Sync;

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum WorkError {
    /// The model's output is not what it should be.
    BadOutput(String),
    /// The model, its tokenizer or its worker failed.
    Failed(BoxError),
}

impl WorkError {
    /// The same as an error of embedding with `model`.
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
            WorkError::BadOutput(what) => format!("its output is not what it should be: {what}").into(),
            WorkError::Failed(error) => error,
        }
    }
}

/// What the workers are made of.
pub(super) struct Parts<I, O> {
    /// What the threads are called; a number is added.
    pub(super) name: &'static str,
    /// Makes the engines of all workers but the first.
    pub(super) start: Box<Start<I, O>>,
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

type Reply<O> = oneshot::Sender<Result<Vec<Vec<O>>, WorkError>>;

/// Runs a model on threads of its own; stops them when dropped.
pub(super) struct Workers<I: Sequence, O: Send + 'static> {
    shared: Arc<Shared<I, O>>,
    questions: Arc<Semaphore>,
    indexing: Arc<Semaphore>,
}

impl<I: Sequence, O: Send + 'static> Workers<I, O> {
    /// Starts the first worker with `engine`; the others start when enough work waits.
    pub(super) fn start(parts: Parts<I, O>, engine: Box<dyn Engine<I, O>>) -> Result<Self, ModelError> {
        let admit = || Arc::new(Semaphore::new(parts.queue));
        let workers = Self {
            questions: admit(),
            indexing: admit(),
            shared: Arc::new(Shared { parts, state: Mutex::new(State::new()), wake: Condvar::new() }),
        };
        workers.shared.spawn(&mut workers.shared.lock(), Some(engine)).map_err(ModelError::Thread)?;
        Ok(workers)
    }

    /// The outputs of the inputs that `split` makes of each of so many `texts`, in the same order and grouping. Splits on
    /// the workers, and waits for room in the queue without blocking the thread.
    pub(super) async fn run(
        &self,
        texts: usize,
        split: impl Fn(usize) -> Result<Vec<I>, BoxError> + Send + Sync + 'static,
        urgency: Urgency,
    ) -> Result<Vec<Vec<O>>, WorkError> {
        let admission = match urgency {
            Urgency::Question => &self.questions,
            Urgency::Indexing => &self.indexing,
        };
        let gone = || WorkError::Failed("the worker is gone".into());
        let permit = Arc::clone(admission).acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let splitting = Splitting::new(texts, Box::new(split));
        self.shared
            .add([Task::Request(Request { splitting, urgency, reply: Mutex::new(Some((reply, permit))) }.into())]);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl<I: Sequence, O: Send + 'static> Drop for Workers<I, O> {
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

impl<I: Sequence, O: Send + 'static> fmt::Debug for Workers<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Workers").field("started", &state.started).field("waiting", &state.waiting()).finish()
    }
}

struct Request<I, O> {
    splitting: Splitting<I>,
    urgency: Urgency,
    /// Taken by the worker that finishes splitting, or finds that nobody waits.
    reply: Mutex<Answer<O>>,
}

/// Gone when answered; the permit lets the next request in.
type Answer<O> = Option<(Reply<O>, OwnedSemaphorePermit)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether nobody waits for it any more.
fn is_over<O>(answer: &Answer<O>) -> bool {
    answer.as_ref().is_none_or(|(reply, _)| reply.is_closed())
}

/// Inputs that run together, with the place of each among all of its request.
struct Batch<I, O> {
    places: Vec<usize>,
    inputs: Vec<I>,
    pending: Arc<Pending<O>>,
}

enum Task<I, O> {
    Request(Arc<Request<I, O>>),
    /// A request that another worker has begun to split.
    Help(Arc<Request<I, O>>),
    Batch(Batch<I, O>),
}

/// A request that has been split.
struct Pending<O> {
    urgency: Urgency,
    /// Inputs of each text.
    counts: Vec<usize>,
    progress: Mutex<Progress<O>>,
}

struct Progress<O> {
    outputs: Vec<Option<O>>,
    missing: usize,
    reply: Answer<O>,
}

impl<O> Pending<O> {
    fn lock(&self) -> MutexGuard<'_, Progress<O>> {
        lock(&self.progress)
    }

    fn is_over(&self) -> bool {
        is_over(&self.lock().reply)
    }

    fn fail(&self, error: WorkError) {
        if let Some((reply, _permit)) = self.lock().reply.take() {
            // The caller may have given up.
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

struct State<I, O> {
    /// Questions, split or not.
    questions: VecDeque<Task<I, O>>,
    /// Requests that are being split, and batches of those that have been: finished before another is begun.
    begun: VecDeque<Task<I, O>>,
    requests: VecDeque<Task<I, O>>,
    started: usize,
    /// Workers that wait for a task.
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl<I, O> State<I, O> {
    fn new() -> Self {
        Self {
            questions: VecDeque::new(),
            begun: VecDeque::new(),
            requests: VecDeque::new(),
            started: 0,
            idle: 0,
            threads: Vec::new(),
            closed: false,
        }
    }

    fn waiting(&self) -> usize {
        self.questions.len() + self.begun.len() + self.requests.len()
    }

    fn push(&mut self, task: Task<I, O>) {
        let queue = match &task {
            Task::Request(request) | Task::Help(request) if request.urgency == Urgency::Question => &mut self.questions,
            Task::Batch(batch) if batch.pending.urgency == Urgency::Question => &mut self.questions,
            Task::Batch(_) | Task::Help(_) => &mut self.begun,
            Task::Request(_) => &mut self.requests,
        };
        queue.push_back(task);
    }

    fn pop(&mut self) -> Option<Task<I, O>> {
        let Self { questions, begun, requests, .. } = self;
        [questions, begun, requests].into_iter().find_map(VecDeque::pop_front)
    }
}

struct Shared<I, O> {
    parts: Parts<I, O>,
    state: Mutex<State<I, O>>,
    wake: Condvar,
}

impl<I: Sequence, O: Send + 'static> Shared<I, O> {
    fn lock(&self) -> MutexGuard<'_, State<I, O>> {
        lock(&self.state)
    }

    /// Queues `tasks` and starts workers if the queue has grown long.
    fn add(self: &Arc<Self>, tasks: impl IntoIterator<Item = Task<I, O>>) {
        let mut state = self.lock();
        for task in tasks {
            state.push(task);
            self.wake.notify_one();
        }
        let wanted = (state.waiting() / BACKLOG + 1).min(self.parts.workers);
        while state.started < wanted && !state.closed {
            if let Err(error) = self.spawn(&mut state, None) {
                tracing::warn!(%error, "no thread for another worker of the model");
                return;
            }
        }
    }

    /// Starts a worker, with an engine of its own unless one is given.
    fn spawn(self: &Arc<Self>, state: &mut State<I, O>, engine: Option<Box<dyn Engine<I, O>>>) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let name = format!("{}-{}", self.parts.name, state.started);
        let thread = thread::Builder::new().name(name).spawn(move || {
            match engine.map_or_else(&shared.parts.start, Ok) {
                Ok(mut engine) => shared.work(engine.as_mut()),
                // The others go on.
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
                    let helpers = self.lock().idle.min(request.splitting.blocks().saturating_sub(1));
                    self.add((0..helpers).map(|_| Task::Help(Arc::clone(&request))));
                    self.split(&request);
                }
                Task::Help(request) => self.split(&request),
                Task::Batch(batch) => run(batch, engine),
            }
        }
    }

    /// Waits for a task; `None` when it is time to stop.
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

    /// Splits what is left of a request, and queues its batches after the last of it. Questions that come meanwhile go
    /// before.
    fn split(self: &Arc<Self>, request: &Arc<Request<I, O>>) {
        let split = loop {
            let mut answer = lock(&request.reply);
            if is_over(&answer) {
                // The permit lets the next request in, whoever still holds this one.
                *answer = None;
                return;
            }
            drop(answer);
            if request.urgency == Urgency::Indexing && !self.lock().questions.is_empty() {
                return self.add([Task::Help(Arc::clone(request))]);
            }
            match request.splitting.next_block() {
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
            urgency: request.urgency,
            counts,
            progress: Mutex::new(Progress {
                outputs: inputs.iter().map(|_| None).collect(),
                missing: inputs.len(),
                reply: Some((reply, permit)),
            }),
        });
        let lengths: Vec<usize> = inputs.iter().flatten().map(Sequence::tokens).collect();
        let batches = plan_batches(&lengths, self.parts.batch_tokens).into_iter().map(|places| {
            let inputs = places.iter().filter_map(|at| inputs.get_mut(*at)?.take()).collect();
            Task::Batch(Batch { places, inputs, pending: Arc::clone(&pending) })
        });
        self.add(batches);
    }
}

fn run<I, O>(batch: Batch<I, O>, engine: &mut dyn Engine<I, O>) {
    let Batch { places, inputs, pending } = batch;
    if pending.is_over() {
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
