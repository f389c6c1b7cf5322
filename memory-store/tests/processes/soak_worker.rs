//! A child at a store that the soak test works on.

use std::{
    io::{BufRead, stdin},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use memory_core::{
    ConversationId, Message, NodeDraft, NodeId, Timestamp,
    port::{Source, Store},
};
use memory_store::LogStore;

use crate::child::{self, Failure, say};

/// The entry of the child. Its arguments: `write` or `read`, store and conversation.
///
/// It appends or reads until a line comes in, then says how much it did, and with the next line what it verified:
/// nodes, verified nodes and the root.
#[test]
fn as_a_child_works_until_it_is_asked() {
    child::run(work_until_asked);
}

fn work_until_asked(arguments: &[&str]) -> Result<(), Failure> {
    let [mode, path, conversation] = *arguments else { return Err("write|read STORE CONVERSATION".into()) };
    let conversation = ConversationId::new(conversation)?;
    let writes = mode == "write";
    let store = if writes { LogStore::open(path)? } else { LogStore::open_read_only(path)? };
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut lines = stdin().lock().lines();
    child::opened()?;
    thread::scope(|scope| {
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let number = done.load(Ordering::Relaxed);
                let outcome = if writes { write(&store, &conversation, number) } else { read(&store, &conversation) };
                if let Err(error) = outcome {
                    return Err(error.to_string());
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let worker = scope.spawn(work);
        lines.next();
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap_or_else(|_| Err("the worker panicked".into()))
    })?;
    say(&format!("{}\n", done.into_inner()))?;
    lines.next();
    let verified = pollster::block_on(store.verify(None))?;
    say(&format!("{} {} {}\n", verified.nodes, verified.verified, verified.root))
}

fn write(store: &LogStore, conversation: &ConversationId, number: u64) -> Result<(), Failure> {
    let draft = NodeDraft::new(Message::user(format!("other {number}")), Timestamp::from_millis(0), 1);
    pollster::block_on(store.append(conversation, vec![draft]))?;
    Ok(())
}

/// The last node and the first one of each conversation, and all that is known of them.
fn read(store: &LogStore, own: &ConversationId) -> Result<(), Failure> {
    for state in pollster::block_on(store.conversations())? {
        if let Some(last) = NodeId::new(state.nodes) {
            for node in [NodeId::FIRST, last] {
                let read = pollster::block_on(store.node(&state.id, node))?;
                if read.id != node {
                    return Err(format!("{own}: node {node} of {} is {}", state.id, read.id).into());
                }
            }
        }
        pollster::block_on(store.summaries(&state.id))?;
    }
    Ok(())
}
