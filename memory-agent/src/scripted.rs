//! A chat model that answers by a function, for tests and demonstrations without a network.

use std::{
    fmt,
    future::poll_fn,
    sync::atomic::{AtomicUsize, Ordering},
    task::Poll,
};

use memory::{
    ContentBlock, Message,
    port::{BoxFuture, ChatError, ChatEvent, ChatEvents, ChatModel, ChatReply, ChatRequest},
};

type Script = dyn Fn(usize, &ChatRequest) -> Result<Message, ChatError> + Send + Sync;

/// A chat model that answers by a function. Text is streamed word by word.
pub struct Scripted {
    window: u32,
    script: Box<Script>,
    requests: AtomicUsize,
}

impl Scripted {
    /// A model whose reply to a request is that of `script`, which is also given the number of the request, from 0.
    pub fn new(script: impl Fn(usize, &ChatRequest) -> Result<Message, ChatError> + Send + Sync + 'static) -> Self {
        Self { window: 100_000, script: Box::new(script), requests: AtomicUsize::new(0) }
    }

    memory::setters! {
        /// Sets the window, which only the script enforces.
        window: u32,
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("window", &self.window).finish_non_exhaustive()
    }
}

impl ChatModel for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn context_window(&self) -> u32 {
        self.window
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            (self.script)(number, request).map(ChatReply::new)
        })
    }

    fn stream<'a>(
        &'a self,
        request: &'a ChatRequest,
        events: &'a dyn ChatEvents,
    ) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let reply = self.reply(request).await?;
            let calls: Vec<_> = reply.message.content.iter().filter(|block| block_text(block).is_none()).collect();
            for part in reply.message.content.iter().filter_map(block_text).flat_map(|text| text.split_inclusive(' ')) {
                events.event(ChatEvent::Text(part.to_owned()));
                breathe().await;
            }
            let calls = Message::new(reply.message.role, calls.into_iter().cloned().collect());
            ChatReply::new(calls).replay(events);
            Ok(reply)
        })
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    }
}

/// Lets others run, under any executor.
async fn breathe() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
