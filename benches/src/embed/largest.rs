//! The memory that one very long message takes beside the model.

use std::{env, path::Path, process::Command};

use anyhow::{Result, ensure};
use memory::{Access, Config};
use memory_core::{ConversationId, Message, NodeDraft, Timestamp};
use pollster::block_on;

use crate::{Corpus, figure::Figure, process_memory, rounds::Samples};

/// Bytes of the message.
const BYTES: usize = 5_000_000;

/// Indexes a short message and then one of 5 MB, and prints by how many megabytes the second raised the peak of this process.
///
/// # Errors
/// When the model cannot be loaded, or the system does not report the peak.
pub fn print_largest(store: &Path) -> Result<()> {
    memory::limit_heap_arenas();
    let parts = memory::parts::open(&Config::new(store, Access::Write))?;
    ensure!(parts.vectors.is_some(), "there is no model: run `cargo xtask setup`");
    let id = ConversationId::new("talk")?;
    let index = |text: String| -> Result<f64> {
        block_on(parts.store.append(&id, vec![NodeDraft::new(Message::user(text), Timestamp::from_millis(0), 1)]))?;
        block_on(parts.retriever.catch_up(&id, &()))?;
        process_memory::megabytes("VmHWM")
    };
    let mut corpus = Corpus::new(5);
    let before = index(corpus.text(2_000))?;
    let mut text = String::with_capacity(BYTES);
    while text.len() < BYTES {
        text.push_str(&corpus.text(10_000));
        text.push('\n');
    }
    println!("{}", index(text)? - before);
    Ok(())
}

/// [`print_largest`] in a process of its own.
pub(super) fn measure(scratch: &Path) -> Result<Figure> {
    eprintln!("embed: a message of {} MB", BYTES / 1_000_000);
    let output = Command::new(env::current_exe()?).arg("largest-message").arg(scratch.join("largest")).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let megabytes = String::from_utf8(output.stdout)?.trim().parse()?;
    let samples = Samples { name: "int8".to_owned(), unit: "MB", values: vec![megabytes] };
    let note = "by how much a message of 5 MB raised the peak of a process that had embedded a short one: words, vectors, \
                token vectors";
    Ok(Figure::absolute("largest_message_rss_mb", &samples, note))
}
