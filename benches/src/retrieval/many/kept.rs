//! The store of many conversations: made once, and kept for later runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use memory::{Access, Builder, Config, blocking::Memory};
use memory_embed::ALL_MINILM_L6_V2;
use pollster::block_on;

use super::super::sizes::{CONVERSATIONS, MESSAGES_OF_EACH as MESSAGES};
use crate::talks::Talk;

/// To be raised when stores are made in another way, though of the same texts.
const VERSION: u32 = 1;

/// The store under `kept`: that of an earlier run with the same messages and model, or a new one. What an earlier run
/// derived in a format that has changed since is derived again.
pub(super) fn store(kept: &Path) -> Result<PathBuf> {
    let store = kept.join(format!("talks-{}", key()));
    let is_new = !store.is_dir();
    let unfinished = store.with_extension("unfinished");
    let open = |path: &Path, access| {
        let config = Config::new(path, access).model(ALL_MINILM_L6_V2.name.to_owned());
        let memory = Builder::of(config).background(false).open();
        memory.map(Memory::from).with_context(|| format!("opening {}", path.display()))
    };
    let memory = if is_new {
        eprintln!("retrieval: making {} with {} messages", store.display(), MESSAGES * CONVERSATIONS as usize);
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished).with_context(|| format!("removing {}", unfinished.display()))?;
        }
        fs::create_dir_all(kept).with_context(|| format!("making {}", kept.display()))?;
        let memory = open(&unfinished, Access::Write)?;
        fill(&memory)?;
        memory
    } else {
        eprintln!("retrieval: {} is kept from an earlier run; remove it to have it made anew", store.display());
        open(&store, Access::Existing)?
    };
    index(&memory)?;
    memory.catch_up()?;
    drop(memory);
    if is_new {
        fs::rename(&unfinished, &store).with_context(|| format!("naming {}", store.display()))?;
    }
    Ok(store)
}

/// Names the messages, the model and the way they are stored.
fn key() -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{VERSION} {CONVERSATIONS} {MESSAGES} {}", ALL_MINILM_L6_V2.name).as_bytes());
    for number in (0..CONVERSATIONS).step_by(100) {
        let talk = Talk::of(number);
        for index in 0..MESSAGES {
            let (message, at) = talk.message(index);
            hasher.update(format!("{at} {} {}\n", message.speaker_or_role(), message.text()).as_bytes());
        }
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn fill(memory: &Memory) -> Result<()> {
    let bar = ProgressBar::new(CONVERSATIONS.into());
    for talk in (0..CONVERSATIONS).map(Talk::of) {
        let messages = (0..MESSAGES).map(|index| talk.message(index)).collect();
        memory.conversation(&talk.name())?.append_batch(messages)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Embeds what is not embedded yet, with progress on standard error.
fn index(memory: &Memory) -> Result<()> {
    let parts = memory.as_async().parts();
    let bar = ProgressBar::new(CONVERSATIONS.into());
    for number in 0..CONVERSATIONS {
        let id = memory::ConversationId::new(&Talk::of(number).name())?;
        let report = block_on(parts.retriever.catch_up(&id, &()))?;
        anyhow::ensure!(report.notices.is_empty(), "{id} is not indexed: {:?}", report.notices);
        bar.inc(1);
        if number % 100 == 99 {
            block_on(parts.flush())?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}
