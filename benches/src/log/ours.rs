//! Our log as a contender.

use std::{
    path::Path,
    task::{Context, Poll, Waker},
};

use anyhow::{Context as _, Result, bail};
use memory_core::{
    BoxFuture, ContentBlock, ConversationId, Message, Node, NodeDraft, NodeId, NodeRange, Store, StoreError, Timestamp,
};
use memory_store::LogStore;

use super::contender::Contender;

/// One conversation in our log: every record is hashed with a salt, and checked when it is read.
#[derive(Debug)]
pub(super) struct Ours {
    store: LogStore,
    conversation: ConversationId,
}

impl Ours {
    /// Opens or creates the store.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        Ok(Self { store: LogStore::open(directory)?, conversation: ConversationId::new("bench")? })
    }

    pub(super) fn store(&self) -> &LogStore {
        &self.store
    }
}

impl Contender for Ours {
    type Batch = Vec<NodeDraft>;

    const NAME: &'static str = "memory-store";

    fn create(directory: &Path) -> Result<Self> {
        Self::open(directory)
    }

    fn batch(texts: &[String]) -> Vec<NodeDraft> {
        texts.iter().map(|text| draft(text)).collect()
    }

    fn append(&mut self, batch: Vec<NodeDraft>) -> Result<()> {
        pollster::block_on(self.store.append(&self.conversation, batch))?;
        Ok(())
    }

    /// Begins a new segment, so that the appended records are mapped.
    fn settle(&mut self) -> Result<()> {
        Ok(pollster::block_on(self.store.seal())?)
    }

    fn read(&self, position: u64) -> Result<usize> {
        let node = NodeId::new(position + 1).context("positions begin at 0")?;
        Ok(text_bytes(&at_once(self.store.node(&self.conversation, node))?))
    }

    fn read_run(&self, first: u64, count: u64) -> Result<usize> {
        let ends = NodeId::new(first + 1).zip(NodeId::new(first + count));
        let run = ends.and_then(|(first, last)| NodeRange::new(first, last)).context("a run is not empty")?;
        let nodes = at_once(self.store.nodes(&self.conversation, run))?;
        Ok(nodes.iter().map(text_bytes).sum())
    }
}

/// The result of a read, which never waits: polling it once avoids making a waker, which a runtime has already.
fn at_once<T>(mut read: BoxFuture<'_, Result<T, StoreError>>) -> Result<T> {
    match read.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome?),
        Poll::Pending => bail!("a read waited"),
    }
}

/// A user's message of this text.
pub(super) fn draft(text: &str) -> NodeDraft {
    NodeDraft::new(Message::user(text), Timestamp::from_millis(1_772_442_840_000), 50)
}

/// The bytes of a message's texts.
pub(super) fn text_bytes(node: &Node) -> usize {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.len(),
        _ => 0,
    };
    node.message.content.iter().map(text).sum()
}
