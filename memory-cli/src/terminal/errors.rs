//! Writer of standard error, in a thread, so that a reader that stopped reading blocks no other work.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// Most bytes that wait for a reader; further texts are dropped and counted.
const MOST_WAITING: usize = 1 << 20;
/// Time without a byte read, after which the reader is no longer waited for.
const PATIENCE: Duration = Duration::from_secs(1);

static QUEUE: Mutex<Queue> = Mutex::new(Queue::new());
static CHANGED: Condvar = Condvar::new();

/// Texts that wait for the writer.
struct Queue {
    texts: VecDeque<String>,
    bytes: usize,
    /// Number of dropped texts since the last accepted one.
    dropped: u64,
    /// Number of texts that were written, or could not be.
    done: u64,
    has_writer: bool,
    is_writing: bool,
    /// True once a reader read nothing for [`PATIENCE`], until it reads again.
    is_stuck: bool,
}

impl Queue {
    const fn new() -> Self {
        Self {
            texts: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            done: 0,
            has_writer: false,
            is_writing: false,
            is_stuck: false,
        }
    }

    fn push(&mut self, text: String) {
        if self.bytes + text.len() > MOST_WAITING {
            self.dropped += 1;
            return;
        }
        if self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            // The line has the form of the text after it, which a program may read.
            let said = format!("{dropped} lines were dropped here: nobody read standard error");
            self.add(if text.starts_with('{') { format!("{{\"warning\":\"{said}\"}}\n") } else { format!("{said}\n") });
        }
        self.add(text);
    }

    fn add(&mut self, text: String) {
        self.bytes += text.len();
        self.texts.push_back(text);
    }
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Queues a text, and returns at once. A standard error that is closed or full takes nothing.
pub(super) fn say(text: String) {
    let mut queue = queue();
    if !queue.has_writer {
        let writer = thread::Builder::new().name("standard-error".to_owned()).spawn(write);
        if writer.is_err() {
            drop(queue);
            drop(io::stderr().lock().write_all(text.as_bytes()));
            return;
        }
        queue.has_writer = true;
    }
    queue.push(text);
    CHANGED.notify_all();
}

fn write() {
    let mut held = queue();
    loop {
        let Some(text) = held.texts.pop_front() else {
            held = CHANGED.wait(held).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        held.is_writing = true;
        drop(held);
        drop(io::stderr().lock().write_all(text.as_bytes()));
        held = queue();
        held.bytes -= text.len();
        held.done += 1;
        (held.is_writing, held.is_stuck) = (false, false);
        CHANGED.notify_all();
    }
}

/// Waits until everything is written, unless the reader has stopped reading.
pub(crate) fn flush() {
    let mut held = queue();
    while !held.is_stuck && (held.is_writing || !held.texts.is_empty()) {
        let done = held.done;
        let (waited, timeout) = CHANGED.wait_timeout(held, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        held = waited;
        held.is_stuck = timeout.timed_out() && held.done == done;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_room_are_counted_before_the_next_one_that_has_some() {
        let mut queue = Queue::new();
        queue.push("x".repeat(MOST_WAITING));
        queue.push("a\n".to_owned());
        queue.push("b\n".to_owned());
        assert_eq!((queue.texts.len(), queue.dropped), (1, 2));
        (queue.texts, queue.bytes) = (VecDeque::new(), 0);
        queue.push("{}\n".to_owned());
        assert_eq!(queue.texts.len(), 2);
        assert!(queue.texts[0].starts_with("{\"warning\":\"2 lines were dropped here"), "{:?}", queue.texts);
        assert_eq!(queue.bytes, queue.texts.iter().map(String::len).sum::<usize>());
    }
}
