//! Another process at a store that the soak test works on.
//!
//! `soak_worker write|read STORE CONVERSATION` appends or reads until a line comes in, then prints how much it did, and
//! with the next line what it verified: nodes, verified nodes and the root.

use std::{
    env,
    error::Error,
    io::{BufRead, stdin},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use memory_core::{ConversationId, Message, NodeDraft, NodeId, Source, Store, Timestamp};
use memory_store::LogStore;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mode, path, conversation] = arguments.as_slice() else {
        return Err("usage: soak_worker write|read STORE CONVERSATION".into());
    };
    let conversation = ConversationId::new(conversation)?;
    let writes = mode == "write";
    let store = if writes { LogStore::open(path)? } else { LogStore::open_read_only(path)? };
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut lines = stdin().lock().lines();
    println!("open");
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
    println!("{}", done.into_inner());
    lines.next();
    let verified = pollster::block_on(store.verify(None))?;
    println!("{} {} {}", verified.nodes, verified.verified, verified.root);
    Ok(())
}

fn write(store: &LogStore, conversation: &ConversationId, number: u64) -> Result<(), Box<dyn Error>> {
    let draft = NodeDraft::new(Message::user(format!("other {number}")), Timestamp::from_millis(0), 1);
    pollster::block_on(store.append(conversation, vec![draft]))?;
    Ok(())
}

/// The last node and the first one of each conversation, and all that is known of them.
fn read(store: &LogStore, own: &ConversationId) -> Result<(), Box<dyn Error>> {
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
