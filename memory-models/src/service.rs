//! Requests to a service: attempts with pauses, parts of replies, and a thread for the network.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use memory_core::port::{ChatError, ChatEvent, ChatEvents, ChatReply, ChatRequest};
use memory_remote::Runtime;
use tokio::{
    sync::mpsc::{self, UnboundedSender},
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    ChatOptions, ModelError,
    failure::{Failure, Target},
};

/// The protocol of a service.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Makes one request, and passes the parts of a stream on to `parts`; without `parts`, the reply comes as a whole.
    fn attempt(
        &self,
        request: &ChatRequest,
        parts: Option<&Parts>,
    ) -> impl Future<Output = Result<ChatReply, Failure>> + Send;
}

/// Channel that carries the parts of a reply from the network's thread to the caller.
pub(crate) struct Parts {
    sender: UnboundedSender<ChatEvent>,
    /// True once a part was sent, after which a request cannot be repeated unnoticed.
    is_begun: AtomicBool,
}

impl Parts {
    pub(crate) fn send(&self, event: ChatEvent) {
        self.is_begun.store(true, Ordering::Relaxed);
        // Without a receiver the request is cancelled.
        drop(self.sender.send(event));
    }
}

/// A model of a service.
pub(crate) struct Service<P> {
    runtime: Runtime,
    shared: Arc<Shared<P>>,
}

struct Shared<P> {
    protocol: P,
    target: Arc<Target>,
    options: ChatOptions,
}

impl<P: Protocol> Service<P> {
    /// # Errors
    /// [`ModelError::Setup`] for invalid options, or if no thread can be started.
    pub(crate) fn start(protocol: P, target: Arc<Target>, options: ChatOptions) -> Result<Self, ModelError> {
        if options.attempts == 0 {
            return Err(ModelError::Setup { what: "attempts is 0: it must be at least 1".to_owned() });
        }
        let no_thread = |error| ModelError::Setup { what: format!("no thread for calls over the network: {error}") };
        Ok(Self {
            runtime: Runtime::start().map_err(no_thread)?,
            shared: Arc::new(Shared { protocol, target, options }),
        })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.shared.target
    }

    /// Requests a reply. Dropping the future cancels the request.
    pub(crate) async fn ask(
        &self,
        request: &ChatRequest,
        events: Option<&dyn ChatEvents>,
    ) -> Result<ChatReply, ChatError> {
        let (shared, request) = (Arc::clone(&self.shared), request.clone());
        let (sender, mut arrived) = mpsc::unbounded_channel();
        let parts = events.map(|_| Parts { sender, is_begun: AtomicBool::new(false) });
        let mut work = pin!(self.runtime.run(async move { shared.attempts(&request, parts.as_ref()).await }));
        let outcome = poll_fn(|context| {
            while let Poll::Ready(Some(event)) = arrived.poll_recv(context) {
                events.iter().for_each(|events| events.event(event.clone()));
            }
            let polled = work.as_mut().poll(context);
            if polled.is_ready() {
                while let Ok(event) = arrived.try_recv() {
                    events.iter().for_each(|events| events.event(event.clone()));
                }
            }
            polled
        })
        .await;
        let gone = || ChatError::Backend { model: self.target().name.clone(), source: "the request panicked".into() };
        let outcome = outcome.ok_or_else(gone)?;
        // The parts of a reply go to an agent, which forgets what it learned from a turn that failed.
        if let (Err(error), None) = (&outcome, events) {
            self.target().learn(error);
        }
        let mut reply = outcome?;
        reply.message = reply.message.spoken_by(&self.target().name);
        if let Some(events) = events {
            events.event(ChatEvent::Usage(reply.usage));
            reply.stop.iter().for_each(|stop| events.event(ChatEvent::Stop(stop.clone())));
        }
        Ok(reply)
    }
}

impl<P: Protocol> Shared<P> {
    /// Repeats a request until there is a reply, a lasting failure, or no attempt or time left.
    async fn attempts(&self, request: &ChatRequest, parts: Option<&Parts>) -> Result<ChatReply, ChatError> {
        let Self { protocol, target, options } = self;
        let deadline = Instant::now() + options.deadline;
        let mut made = 0;
        loop {
            made += 1;
            let failure = match timeout_at(deadline, protocol.attempt(request, parts)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(target.failed(ModelError::TimedOut { after: options.deadline }).error),
            };
            let is_begun = parts.is_some_and(|parts| parts.is_begun.load(Ordering::Relaxed));
            if !failure.is_transient || is_begun || made >= options.attempts {
                return Err(failure.error);
            }
            let pause = longest_pause(options, made).mul_f64(fastrand::f64());
            let next = Instant::now() + pause.max(failure.retry_after.unwrap_or_default());
            if next >= deadline {
                return Err(failure.error);
            }
            tracing::debug!(error = %failure.error, ?pause, "a request failed and is repeated");
            if let Some(parts) = parts {
                let (after, detail) = (next.saturating_duration_since(Instant::now()), failure.error.to_string());
                drop(parts.sender.send(ChatEvent::Retry { after, detail }));
            }
            sleep_until(next).await;
        }
    }
}

impl<P> fmt::Debug for Service<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { target, options, .. } = &*self.shared;
        f.debug_struct("Service").field("target", target).field("options", options).finish_non_exhaustive()
    }
}

/// Upper bound of the pause after `made` attempts.
fn longest_pause(options: &ChatOptions, made: u32) -> Duration {
    let doubled = 2_u32.checked_pow(made.saturating_sub(1)).and_then(|factor| options.first_pause.checked_mul(factor));
    doubled.unwrap_or(options.longest_pause).min(options.longest_pause)
}

/// Implements `ChatModel` for a type whose field `service` is a [`Service`].
macro_rules! chat_model {
    ($type:ty) => {
        impl memory_core::port::ChatModel for $type {
            fn name(&self) -> &str {
                &self.service.target().name
            }

            fn context_window(&self) -> u32 {
                self.service.target().window()
            }

            fn reply<'a>(
                &'a self,
                request: &'a memory_core::port::ChatRequest,
            ) -> memory_core::port::BoxFuture<'a, Result<memory_core::port::ChatReply, memory_core::port::ChatError>>
            {
                Box::pin(self.service.ask(request, None))
            }

            fn stream<'a>(
                &'a self,
                request: &'a memory_core::port::ChatRequest,
                events: &'a dyn memory_core::port::ChatEvents,
            ) -> memory_core::port::BoxFuture<'a, Result<memory_core::port::ChatReply, memory_core::port::ChatError>>
            {
                Box::pin(self.service.ask(request, Some(events)))
            }
        }
    };
}

pub(crate) use chat_model;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<f64> =
            (1..=8).map(|made| longest_pause(&ChatOptions::default(), made).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]);
        assert_eq!(longest_pause(&ChatOptions::default(), u32::MAX), Duration::from_secs(20));
    }
}
