//! Appends to a store until something kills it; the crash tests do.
//!
//! `append_until_killed STORE CONVERSATION THREADS` prints one line `NODE TEXT` for each acknowledged message.

use std::{
    env,
    error::Error,
    io::{Write, stdout},
    thread,
};

use memory_core::{ConversationId, Message, NodeDraft, Store, Timestamp};
use memory_store::{LogOptions, LogStore};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, conversation, threads] = arguments.as_slice() else {
        return Err("usage: append_until_killed STORE CONVERSATION THREADS".into());
    };
    let options = LogOptions::default().with_segment_bytes(64 << 10);
    let store = LogStore::open_with(path, options)?;
    let conversation = ConversationId::new(conversation)?;
    writeln!(stdout(), "open")?;
    thread::scope(|scope| {
        for thread in 0..threads.parse::<u32>()? {
            let (store, conversation) = (&store, &conversation);
            scope.spawn(move || {
                for number in 0u64.. {
                    let text = format!("{thread}-{number} {}", "x".repeat(usize::try_from(number % 700).unwrap_or(0)));
                    let draft = NodeDraft::new(Message::user(text.as_str()), Timestamp::from_millis(0), 1);
                    let Ok(appended) = pollster::block_on(store.append(conversation, vec![draft])) else { return };
                    let Some(appended) = appended.first() else { return };
                    // One write for a line: a pipe keeps it whole, and in it the line outlives this process.
                    if stdout().lock().write_all(format!("{} {text}\n", appended.node).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(())
    })
}
