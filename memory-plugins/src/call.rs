//! One call of a plugin: what passes between the caller, the worker that runs it, and the clock.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use memory_core::TokenCounter;

use crate::error::CallError;

/// A call that is waiting, running or over.
///
/// The caller's token counter is borrowed and may not outlive the caller's wait, which a call that was given up does.
/// So the worker never holds it: its questions go to the caller's future, which counts and sends the answer back.
#[derive(Debug)]
pub(crate) struct Call<T> {
    state: Mutex<State<T>>,
    answered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// A worker is at it.
    running: bool,
    /// Nobody waits any more: the outcome is known, or the caller went away.
    over: bool,
    /// It was given up while a worker was at it.
    given_up: bool,
    outcome: Option<Result<T, CallError>>,
    caller: Option<Waker>,
    /// A text to count, and its tokens.
    question: Option<String>,
    answer: Option<u32>,
    /// A thread of the plugin is asking; others wait for their turn.
    asking: bool,
}

impl<T> Call<T> {
    pub(crate) fn new() -> Self {
        let state = State {
            running: false,
            over: false,
            given_up: false,
            outcome: None,
            caller: None,
            question: None,
            answer: None,
            asking: false,
        };
        Self { state: Mutex::new(state), answered: Condvar::new() }
    }

    /// A worker begins; false when nobody waits any more.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        state.running = !state.over;
        state.running
    }

    /// The worker is done, or nobody will ever begin. True when the call had been given up meanwhile.
    pub(crate) fn finish(&self, outcome: Result<T, CallError>) -> bool {
        let mut state = self.lock();
        state.running = false;
        let given_up = state.given_up;
        if !state.over {
            self.settle(state, Some(outcome));
        }
        given_up
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Asks the caller for the tokens of `text`; `u32::MAX` when nobody waits any more.
    pub(crate) fn count(&self, text: &str) -> u32 {
        let mut state = self.lock();
        while state.asking && !state.over {
            state = self.wait(state);
        }
        if state.over {
            return u32::MAX;
        }
        state.asking = true;
        state.question = Some(text.to_owned());
        let caller = state.caller.take();
        drop(state);
        wake(caller);
        state = self.lock();
        let tokens = loop {
            if let Some(tokens) = state.answer.take() {
                break tokens;
            }
            if state.over {
                break u32::MAX;
            }
            state = self.wait(state);
        };
        state.asking = false;
        self.answered.notify_all();
        tokens
    }

    /// Ends the wait with `outcome`, or without one where the caller went away.
    fn settle(&self, mut state: MutexGuard<'_, State<T>>, outcome: Option<Result<T, CallError>>) {
        state.over = true;
        state.outcome = outcome;
        let caller = state.caller.take();
        drop(state);
        wake(caller);
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Every change of the state is one step, so a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.answered.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the caller; with no lock held, for a waker runs code of the caller's runtime.
fn wake(caller: Option<Waker>) {
    if let Some(caller) = caller {
        caller.wake();
    }
}

/// What has a deadline.
pub(crate) trait Expire: Send + Sync {
    /// The deadline is reached. A call that no worker has begun is over; true when a worker is at it, which may never
    /// come back and whose caller is told by [`Self::tell_late`], once the worker is counted.
    fn give_up(&self) -> bool;

    /// Tells the caller of a call that was given up, if no answer came meanwhile.
    fn tell_late(&self, deadline: Duration);
}

impl<T: Send> Expire for Call<T> {
    fn give_up(&self) -> bool {
        let mut state = self.lock();
        let running = state.running;
        state.given_up = running;
        if !running && !state.over {
            self.settle(state, Some(Err(CallError::Busy)));
        }
        running
    }

    fn tell_late(&self, deadline: Duration) {
        let state = self.lock();
        if !state.over {
            self.settle(state, Some(Err(CallError::Late(deadline))));
        }
    }
}

/// Waits for a call and counts tokens for it meanwhile. Dropped, it gives the call up.
pub(crate) struct Answer<'a, T> {
    pub(crate) call: Arc<Call<T>>,
    pub(crate) counter: Option<&'a dyn TokenCounter>,
}

impl<T> Future for Answer<'_, T> {
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut state = self.call.lock();
            if let Some(outcome) = state.outcome.take() {
                return Poll::Ready(outcome);
            }
            let Some(question) = state.question.take() else {
                state.caller = Some(context.waker().clone());
                return Poll::Pending;
            };
            drop(state);
            let tokens = self.counter.map_or(u32::MAX, |counter| counter.count(&question));
            self.call.lock().answer = Some(tokens);
            self.call.answered.notify_all();
        }
    }
}

impl<T> Drop for Answer<'_, T> {
    fn drop(&mut self) {
        let state = self.call.lock();
        if !state.over {
            self.call.settle(state, None);
        }
    }
}
