//! One call of a plugin: the state shared by the caller, the worker that runs it, and the clock thread.

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
/// The caller's token counter is borrowed and must not outlive the caller's wait, but a call that was given up does. So
/// the worker never holds the counter: it sends its questions to the caller's future, which counts and returns the
/// answers.
#[derive(Debug)]
pub(crate) struct Call<T> {
    state: Mutex<State<T>>,
    answered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// A worker runs it.
    running: bool,
    /// The caller no longer waits: the outcome is known, or the caller went away.
    over: bool,
    /// The call was given up while a worker ran it.
    given_up: bool,
    outcome: Option<Result<T, CallError>>,
    caller: Option<Waker>,
    /// A text to count, and its number of tokens.
    question: Option<String>,
    answer: Option<u32>,
    /// A thread of the plugin is asking; the others wait for their turn.
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

    /// A worker begins; false when the call is over.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        state.running = !state.over;
        state.running
    }

    /// The worker is done, or no worker will ever begin. True when the call had been given up in the meantime.
    pub(crate) fn finish(&self, outcome: Result<T, CallError>) -> bool {
        let mut state = self.lock();
        state.running = false;
        let given_up = state.given_up;
        if !state.over {
            self.settle(state, Some(outcome));
        }
        given_up
    }

    /// True if the call is over.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Asks the caller for the tokens of `text`; `u32::MAX` when the call is over.
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

    /// Answers the pending question.
    fn answer(&self, tokens: u32) {
        self.lock().answer = Some(tokens);
        self.answered.notify_all();
    }

    /// Ends the wait with `outcome`, or with `None` if the caller went away.
    fn settle(&self, mut state: MutexGuard<'_, State<T>>, outcome: Option<Result<T, CallError>>) {
        state.over = true;
        state.outcome = outcome;
        let caller = state.caller.take();
        drop(state);
        wake(caller);
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Every change of the state is one step, so a panic leaves it consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.answered.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the caller. No lock may be held, because a waker runs code of the caller's runtime.
fn wake(caller: Option<Waker>) {
    if let Some(caller) = caller {
        caller.wake();
    }
}

/// Something with a deadline.
pub(crate) trait Expire: Send + Sync {
    /// Gives the call up at its deadline. A call that no worker has begun is over. Returns true when a worker runs it:
    /// that worker may never return, and [`Self::tell_late`] answers the caller once the worker is counted as stuck.
    fn give_up(&self) -> bool;

    /// Answers the caller of a call that was given up, if no answer came in the meantime.
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

/// Waits for a call and counts tokens for it. Dropping it gives the call up.
pub(crate) struct Answer<'a, T> {
    pub(crate) call: Arc<Call<T>>,
    pub(crate) counter: Option<&'a dyn TokenCounter>,
}

impl<T> Future for Answer<'_, T> {
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let call = &*self.call;
            let mut state = call.lock();
            if let Some(outcome) = state.outcome.take() {
                return Poll::Ready(outcome);
            }
            if let Some(question) = state.question.take() {
                drop(state);
                let tokens = self.counter.map_or(u32::MAX, |counter| counter.count(&question));
                call.answer(tokens);
            } else {
                state.caller = Some(context.waker().clone());
                return Poll::Pending;
            }
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
