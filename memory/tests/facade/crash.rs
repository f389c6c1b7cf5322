//! A process that is killed while it embeds.

use std::{
    env,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use memory::{Builder, Message, Timestamp};
use pollster::block_on;

use crate::support::{Dir, Embedding, wait_until};

/// Names the store to the child.
const STORE: &str = "MEMORY_TEST_KILLED_STORE";
const MESSAGES: u64 = 2_000;

/// The process that is killed; nothing where the test below has not started it.
#[test]
fn embed_until_killed() {
    let Some(store) = env::var_os(STORE) else { return };
    let batches = AtomicU64::new(0);
    let model = Embedding::after(move || {
        // Some batches take a while, and the one after them never ends.
        let pause = if batches.fetch_add(1, Ordering::Relaxed) < 4 { 800 } else { 3_600_000 };
        thread::sleep(Duration::from_millis(pause));
        Ok(())
    });
    let memory = Builder::new(store).embedder(Arc::new(model)).open().unwrap();
    let message = |number| (Message::user(format!("message {number}")), Timestamp::from_millis(0));
    block_on(memory.conversation("talk").unwrap().append_batch((1..=MESSAGES).map(message).collect())).unwrap();
    thread::sleep(Duration::from_secs(3_600));
}

#[test]
fn a_process_that_is_killed_keeps_what_it_embedded_some_seconds_before() {
    let dir = Dir::new();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::embed_until_killed"])
        .env(STORE, dir.store())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("vectors are on disk", || dir.store().join("MODEL").exists() && dir.embedded_on_disk("talk") > 0);
    // SIGKILL: nothing of it runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = dir.embedded_on_disk("talk");
    assert!(kept > 0 && kept < MESSAGES, "{kept}");

    // The next process embeds the rest.
    let memory = dir.meaning().open().unwrap();
    wait_until("all is embedded", || crate::support::embedded(&memory, "talk") == MESSAGES);
    drop(memory);
    assert_eq!(dir.embedded_on_disk("talk"), MESSAGES);
}
