//! A child that appends to a store until something kills it.

use std::thread;

use memory_core::{
    ConversationId, Message, NodeDraft, NodeId, Timestamp,
    port::{Event, Source, Store},
};
use memory_store::{CompressionOptions, LogOptions, LogStore, VacuumOptions};

use crate::child::{self, Failure, say};

/// The entry of the child. Its arguments: store, conversation, number of threads, and work to do beside appending.
///
/// It says `NODE TEXT` for each acknowledged message. The work is `vacuum`, `compress`, `expand`, or `backup` to
/// `STORE.backup`, each in a thread of its own, which says `worked` each time; or `checkpoint`, and the writer makes
/// one after every commit group.
#[test]
fn as_a_child_appends_until_it_is_killed() {
    child::run(append_until_killed);
}

fn append_until_killed(arguments: &[&str]) -> Result<(), Failure> {
    let (path, conversation, threads, work) = match *arguments {
        [path, conversation, threads] => (path, conversation, threads, None),
        [path, conversation, threads, work] => (path, conversation, threads, Some(work)),
        _ => return Err("STORE CONVERSATION THREADS [WORK]".into()),
    };
    let mut options = LogOptions::default().segment_bytes(64 << 10);
    if work == Some("checkpoint") {
        // After every commit group.
        options = options.checkpoint_bytes(1);
    }
    let store = LogStore::open_with(path, options)?;
    let conversation = ConversationId::new(conversation)?;
    child::opened()?;
    thread::scope(|scope| {
        for thread in 0..threads.parse::<u32>()? {
            let (store, conversation) = (&store, &conversation);
            scope.spawn(move || {
                for number in 0u64.. {
                    let text = format!("{thread}-{number} {}", "x".repeat(usize::try_from(number % 700).unwrap_or(0)));
                    let draft = NodeDraft::new(Message::user(text.as_str()), Timestamp::from_millis(0), 1);
                    let Ok(appended) = pollster::block_on(store.append(conversation, vec![draft])) else { return };
                    let Some(appended) = appended.first() else { return };
                    if say(&format!("{} {text}\n", appended.node)).is_err() {
                        return;
                    }
                }
            });
        }
        if let Some(work) = work.filter(|work| *work != "checkpoint") {
            loop {
                if let Err(error) = do_work(&store, &conversation, path, work) {
                    // The other threads never end.
                    eprintln!("{work}: {error}");
                    std::process::exit(1);
                }
                say("worked\n")?;
            }
        }
        Ok(())
    })
}

/// One round of work beside the writers.
fn do_work(store: &LogStore, id: &ConversationId, path: &str, work: &str) -> Result<(), Failure> {
    // Something that the next round can leave out, and sealed segments to find it in.
    if pollster::block_on(store.conversation(id)).is_ok() {
        let pins = [true, false].map(|pinned| Event::Pin { node: NodeId::FIRST, pinned });
        pollster::block_on(store.record(id, pins.to_vec()))?;
        pollster::block_on(store.seal())?;
    }
    let options = match work {
        "vacuum" => VacuumOptions::default(),
        "compress" => VacuumOptions::compress(CompressionOptions::default().level(1)),
        "expand" => VacuumOptions::expand(),
        "backup" => {
            store.backup(format!("{path}.backup"), &())?;
            return Ok(());
        }
        other => return Err(format!("nobody knows how to {other}").into()),
    };
    store.vacuum(options, &())?;
    Ok(())
}
