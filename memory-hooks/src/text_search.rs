//! Search by words over small texts that are no messages.

use std::sync::Arc;

use memory_core::{
    ConversationId, Mark, Message, Node, NodeId, NodeRange, Role, Timestamp,
    port::{
        BoxFuture, ConversationState, Losses, Notice, Query, ReadNodes, RetrieveError, Retrieved, Retriever as _,
        Scope, Source, StoreError,
    },
};
use memory_search::HybridRetriever;

/// Texts and the words in them.
#[derive(Debug)]
pub(crate) struct TextSearch {
    texts: Arc<Texts>,
    words: HybridRetriever,
}

/// A message for each text, numbered from 1.
#[derive(Debug)]
struct Texts {
    state: ConversationState,
    nodes: Vec<Node>,
}

impl TextSearch {
    /// Texts with their times, in the conversation of `state`.
    pub(crate) fn new<'a>(state: &ConversationState, texts: impl IntoIterator<Item = (&'a str, Timestamp)>) -> Self {
        let message =
            |(index, (text, at))| Node::new(NodeId::from_index(index), Message::text_of(Role::Assistant, text), at);
        let nodes: Vec<_> = texts.into_iter().enumerate().map(message).collect();
        let mut state = state.clone().nodes(nodes.len() as u64).notes(0);
        // An old store marks conversations of documents, and a search skips conversations with that mark.
        state.tags.retain(|tag| !Mark::reserves(tag));
        // An id of its own, which no query names.
        state.id = ConversationId::generate(Timestamp::default(), [0; 10]);
        let texts = Arc::new(Texts { state, nodes });
        let words = HybridRetriever::new(Arc::<Texts>::clone(&texts), None, None);
        Self { texts, words }
    }

    /// The texts that answer a question best, under the filter and limit of `query`. A hit has the place of its text, from
    /// 1, as its number.
    pub(crate) async fn search(&self, mut query: Query) -> Result<Retrieved, RetrieveError> {
        query.scope = Scope::one(&self.texts.state.id);
        let mut found = self.words.search(&query).await?;
        found.notices.retain(|notice| !matches!(notice, Notice::WordsOnly { .. }));
        Ok(found)
    }
}

impl Source for Texts {
    fn conversation<'a>(&'a self, id: &'a ConversationId) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move {
            if *id == self.state.id { Ok(self.state.clone()) } else { Err(StoreError::unknown_conversation(id, [])) }
        })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async { Ok(vec![self.state.clone()]) })
    }

    fn readable_nodes<'a>(
        &'a self,
        id: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.conversation(id).await?;
            let nodes = self.nodes.iter().filter(|node| range.contains(node.id)).cloned();
            Ok(ReadNodes::new(nodes.collect(), Losses::default()))
        })
    }
}
