//! Sealed segments to compress.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use memory_cli::import::eval;
use memory_core::{ConversationId, Message, NodeDraft, Store, Timestamp};
use memory_store::LogStore;

use crate::{corpus::Corpus, log::record_bytes};

/// Bytes of generated text in a segment: an eighth of a full one, so that the whole sweep takes minutes.
const TEXT: usize = 8 << 20;
const BATCH: usize = 100;

/// A sealed segment and its contents.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) image: Vec<u8>,
    pub(super) records: usize,
    /// Bytes of the encoded records, counted as for `disk_compressed_vs_payload`.
    pub(super) encoded_bytes: usize,
}

impl Sealed {
    /// Bytes of a record, on average.
    pub(super) fn record_bytes(&self) -> usize {
        self.image.len() / self.records.max(1)
    }
}

/// Texts of `bytes` bytes each.
pub(super) fn made_up(scratch: &Path, bytes: usize) -> Result<Sealed> {
    let mut corpus = Corpus::new(6);
    let at = Timestamp::from_millis(1_772_442_840_000);
    let drafts = (0..TEXT / bytes).map(|_| NodeDraft::new(Message::user(corpus.text(bytes)), at, 50)).collect();
    sealed(scratch, vec![(ConversationId::new("bench")?, drafts)])
}

/// The conversations of evaluation data.
pub(super) fn imported(scratch: &Path, data: &[PathBuf]) -> Result<Sealed> {
    let mut conversations = Vec::new();
    for directory in data {
        for conversation in eval::read(directory)? {
            let draft = |(message, at): (Message, Option<Timestamp>)| {
                let tokens = u32::try_from(message.text().len() / 4).unwrap_or(u32::MAX);
                NodeDraft::new(message, at.unwrap_or_default(), tokens)
            };
            conversations.push((conversation.id, conversation.messages.into_iter().map(draft).collect()));
        }
    }
    sealed(scratch, conversations)
}

fn sealed(scratch: &Path, conversations: Vec<(ConversationId, Vec<NodeDraft>)>) -> Result<Sealed> {
    let directory = tempfile::tempdir_in(scratch)?;
    let store = LogStore::open(directory.path())?;
    let mut records = 0;
    for (conversation, drafts) in &conversations {
        for batch in drafts.chunks(BATCH) {
            records += batch.len();
            pollster::block_on(store.append(conversation, batch.to_vec()))?;
        }
    }
    pollster::block_on(store.seal())?;
    drop(store);
    let log = directory.path().join("log");
    let image = fs::read(log.join("0001.seg")).context("reading the sealed segment")?;
    Ok(Sealed { image, records, encoded_bytes: record_bytes(&log)? })
}
