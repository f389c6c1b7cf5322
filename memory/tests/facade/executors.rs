//! Calls under several executors, on threads that are not the caller's.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    thread::{self, ThreadId},
};

use memory::{
    Memory, Message,
    hooks::{Hook, HookRegistry, MessageAdded},
    port::{BoxError, BoxFuture},
};

use crate::support::{Counting, Dir, Gate};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

async fn ten_lines(memory: Memory) -> String {
    let trip = memory.conversation("trip").unwrap();
    trip.append(Message::user("The train leaves at 7:42 from platform 9.")).await.unwrap();
    trip.prompt("When does the train leave?").await.unwrap().text().to_owned()
}

#[test]
fn a_program_of_ten_lines_works_under_any_executor() {
    let open = |dir: &Dir| dir.words().open().unwrap();
    let [polled, single, several] = [Dir::new(), Dir::new(), Dir::new()];
    let answers = [
        pollster::block_on(ten_lines(open(&polled))),
        runtime().block_on(ten_lines(open(&single))),
        tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(ten_lines(open(&several))),
    ];
    assert!(answers[0].contains("7:42"), "{}", answers[0]);
}

#[test]
fn a_store_that_blocks_does_not_stop_the_executor_of_its_caller() {
    let (gate, threads) = (Arc::new(Gate::default()), Arc::new(Mutex::new(Vec::new())));
    let counter = {
        let (gate, threads) = (Arc::clone(&gate), Arc::clone(&threads));
        Counting(move || {
            let thread = thread::current();
            threads.lock().unwrap().push((thread.id(), thread.name().map(str::to_owned)));
            gate.pass();
        })
    };
    let dir = Dir::new();
    let memory = dir.words().token_counter(Arc::new(counter)).open().unwrap();
    runtime().block_on(async {
        let trip = memory.conversation("trip").unwrap();
        let mut append = pin!(trip.append(Message::user("The ferry leaves at noon.")));
        // On this thread, only this can open the gate for the append: it would wait for ever if it ran here.
        assert!(append.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        gate.open();
        append.await.unwrap();
    });
    let threads: Vec<(ThreadId, Option<String>)> = threads.lock().unwrap().clone();
    assert!(!threads.is_empty());
    for (id, name) in threads {
        assert!(id != thread::current().id() && name.as_deref() == Some("memory"), "{name:?}");
    }
}

#[test]
fn dropping_a_future_neither_loses_nor_doubles_an_append() {
    let (gate, dir) = (Arc::new(Gate::default()), Dir::new());
    let counter = {
        let gate = Arc::clone(&gate);
        Counting(move || gate.pass())
    };
    let memory = dir.words().token_counter(Arc::new(counter)).open().unwrap();
    {
        let trip = memory.conversation("trip").unwrap();
        // Never polled: never begun.
        drop(trip.append(Message::user("not said")));
        let mut append = Box::pin(trip.append(Message::user("The ferry leaves at noon.")));
        assert!(append.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    gate.open();
    drop(memory);
    let memory = dir.words().open().unwrap();
    let states = pollster::block_on(memory.conversations()).unwrap();
    assert_eq!(states.iter().map(|state| state.nodes).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_last_handle_may_be_dropped_in_async_code() {
    let dir = Dir::new();
    runtime().block_on(async {
        let trip = dir.meaning().open().unwrap().conversation("trip").unwrap();
        trip.append(Message::user("The ferry leaves at noon.")).await.unwrap();
        // The conversation is the last handle. What was embedded for the question is on disk afterwards.
        trip.search("When does the ferry leave?", 1).await.unwrap();
        drop(trip);
        assert_eq!(dir.embedded_on_disk("trip"), 1);
    });
}

/// Asks the memory from within one of its own calls.
#[derive(Default)]
struct Asking(OnceLock<Memory>, AtomicBool);

impl Hook<MessageAdded> for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn call<'a>(&'a self, event: &'a mut MessageAdded) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            let talk = self.0.get().unwrap().conversation(event.conversation.as_str())?;
            // In both ways.
            assert!(talk.stats().await?.nodes > 0);
            assert!(memory::blocking::Conversation::from(talk).stats()?.nodes > 0);
            self.1.store(true, Ordering::Relaxed);
            Ok(())
        })
    }
}

#[test]
fn hooks_that_ask_the_memory_do_not_take_up_its_threads() {
    let (dir, asking, mut hooks) = (Dir::new(), Arc::new(Asking::default()), HookRegistry::new());
    hooks.add::<MessageAdded>(Arc::clone(&asking) as Arc<dyn Hook<MessageAdded>>);
    let memory = dir.words().hooks(hooks).background(false).open().unwrap();
    asking.0.set(memory.clone()).unwrap();
    // More at once than there are threads.
    runtime().block_on(async {
        let local = tokio::task::LocalSet::new();
        let add = |number| {
            let talk = memory.conversation("talk").unwrap();
            local.spawn_local(async move { talk.add_message(Message::user(format!("number {number}"))).await.unwrap() })
        };
        let added: Vec<_> = (0..100).map(add).collect();
        local.await;
        for added in added {
            added.await.unwrap();
        }
    });
    assert!(asking.1.load(Ordering::Relaxed));
}
