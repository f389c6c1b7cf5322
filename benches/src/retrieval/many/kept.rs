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

use super::super::sizes::MESSAGES_OF_EACH as MESSAGES;
use crate::talks::Talk;

/// To be raised when stores are made in another way, though of the same texts.
const VERSION: u32 = 1;

/// The store under `kept`: that of an earlier run with the same messages and model, or a new one. What an earlier run
/// derived in a format that has changed since is derived again. By words, nothing is embedded.
pub(super) fn store(kept: &Path, conversations: u32, by_words: bool) -> Result<PathBuf> {
    let store = kept.join(format!("talks-{}", key(conversations, by_words)));
    let is_new = !store.is_dir();
    let unfinished = store.with_extension("unfinished");
    let open = |path: &Path, access| {
        let config = Config::new(path, access);
        let config = if by_words { config.without_model() } else { config.model(ALL_MINILM_L6_V2.name.to_owned()) };
        let memory = Builder::of(config).background(false).open();
        memory.map(Memory::from).with_context(|| format!("opening {}", path.display()))
    };
    let memory = if is_new {
        eprintln!("retrieval: making {} with {} messages", store.display(), MESSAGES * conversations as usize);
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished).with_context(|| format!("removing {}", unfinished.display()))?;
        }
        fs::create_dir_all(kept).with_context(|| format!("making {}", kept.display()))?;
        let memory = open(&unfinished, Access::Write)?;
        fill(&memory, conversations)?;
        memory
    } else {
        eprintln!("retrieval: {} is kept from an earlier run; remove it to have it made anew", store.display());
        open(&store, Access::Existing)?
    };
    if !by_words {
        index(&memory, conversations)?;
    }
    memory.catch_up()?;
    drop(memory);
    if is_new {
        fs::rename(&unfinished, &store).with_context(|| format!("naming {}", store.display()))?;
    }
    Ok(store)
}

/// Names the messages, the model and the way they are stored.
fn key(conversations: u32, by_words: bool) -> String {
    let mut hasher = blake3::Hasher::new();
    let model = if by_words { "words" } else { ALL_MINILM_L6_V2.name };
    hasher.update(format!("{VERSION} {conversations} {MESSAGES} {model}").as_bytes());
    for number in (0..conversations).step_by(100) {
        let talk = Talk::of(number);
        for index in 0..MESSAGES {
            let (message, at) = talk.message(index);
            hasher.update(format!("{at} {} {}\n", message.speaker_or_role(), message.text()).as_bytes());
        }
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn fill(memory: &Memory, conversations: u32) -> Result<()> {
    let bar = ProgressBar::new(conversations.into());
    for talk in (0..conversations).map(Talk::of) {
        let messages = (0..MESSAGES).map(|index| talk.message(index)).collect();
        memory.conversation(&talk.name())?.append_batch(messages)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Embeds what is not embedded yet, with progress on standard error.
fn index(memory: &Memory, conversations: u32) -> Result<()> {
    let parts = memory.as_async().parts();
    let bar = ProgressBar::new(conversations.into());
    for number in 0..conversations {
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
