//! A generated conversation in a memory of its own.

use std::{cell::RefCell, path::Path, sync::Arc};

use anyhow::Result;
use memory_core::{ConversationId, Store, TokenCounter};
use memory_embed::TiktokenCounter;
use memory_hooks::{CompactionReport, Conversation, ConversationStats, Memory, Prompt, PromptOptions};
use memory_plugins::Registry;
use memory_store::LogStore;

use crate::corpus::Corpus;

/// Messages appended at once.
const BATCH: usize = 1_000;

/// A conversation in a log on disk, with the default strategies and exact token counts; nothing is recalled.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) store: Arc<dyn Store>,
    conversation: Conversation,
    corpus: RefCell<Corpus>,
}

impl Talk {
    /// An empty conversation, in a new directory under `parent`.
    pub(super) fn begin(parent: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("talk").tempdir_in(parent)?.keep();
        let store: Arc<dyn Store> = Arc::new(LogStore::open(directory)?);
        let strategies = Registry::with_builtins();
        let memory = Memory::builder()
            .store(Arc::clone(&store))
            .token_counter(Arc::new(TiktokenCounter::cl100k()))
            .summarizer(strategies.summarizer(Registry::DEFAULT_SUMMARIZER)?)
            .scorer(strategies.scorer(Registry::DEFAULT_SCORER)?)
            .build()?;
        let conversation = memory.conversation(ConversationId::new("talk")?);
        Ok(Self { store, conversation, corpus: RefCell::new(Corpus::new(11)) })
    }

    pub(super) fn id(&self) -> &ConversationId {
        self.conversation.id()
    }

    /// Appends messages, their tokens counted exactly.
    pub(super) fn say(&self, messages: usize) -> Result<()> {
        self.say_counted_by(messages, &TiktokenCounter::cl100k())
    }

    /// Appends messages with another count of tokens.
    pub(super) fn say_counted_by(&self, messages: usize, counter: &dyn TokenCounter) -> Result<()> {
        let mut left = messages;
        while left > 0 {
            let batch = self.corpus.borrow_mut().drafts(left.min(BATCH), counter);
            left -= batch.len();
            pollster::block_on(self.store.append(self.id(), batch))?;
        }
        Ok(())
    }

    pub(super) fn compact(&self) -> Result<CompactionReport> {
        Ok(pollster::block_on(self.conversation.compact(&()))?)
    }

    /// A context at the defaults.
    pub(super) fn context(&self, question: &str) -> Result<Prompt> {
        Ok(pollster::block_on(self.conversation.prompt(question, &PromptOptions::default()))?)
    }

    pub(super) fn stats(&self) -> Result<ConversationStats> {
        Ok(pollster::block_on(self.conversation.stats())?)
    }
}
