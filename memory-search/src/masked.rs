//! A source without keys, for indexes.

use std::sync::Arc;

use memory_core::{
    ConversationId, NodeOutline, NodeRange, Summary,
    port::{BoxFuture, ConversationState, Detector, ReadNodes, Source, StoreError},
};

/// A source whose messages have placeholders in place of private keys and keys of services.
#[derive(Debug)]
pub(crate) struct MaskedSource {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) detector: Arc<dyn Detector>,
}

impl MaskedSource {
    fn masked(&self, mut read: ReadNodes) -> ReadNodes {
        read.nodes.iter_mut().for_each(|node| self.detector.mask_keys(&mut node.message));
        read
    }
}

impl Source for MaskedSource {
    fn conversation<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        self.source.conversation(conversation)
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        self.source.conversations()
    }

    fn readable_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move { Ok(self.masked(self.source.readable_nodes(conversation, range).await?)) })
    }

    fn whole_nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move { Ok(self.masked(self.source.whole_nodes(conversation, range).await?)) })
    }

    fn outline<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<NodeOutline>, StoreError>> {
        self.source.outline(conversation)
    }

    fn summaries<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        self.source.summaries(conversation)
    }
}
