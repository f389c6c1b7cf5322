//! Current texts of documents as messages to search, without their earlier texts.

use std::sync::Arc;

use memory_core::{
    ConversationId, Mark, Message, Node, NodeId, NodeRange, Role, Timestamp,
    port::{
        BoxFuture, ConversationState, Losses, Notice, Query, ReadNodes, RetrieveError, Retrieved, Retriever as _,
        Scope, Source, StoreError,
    },
};
use memory_search::HybridRetriever;

use crate::DocumentsNow;

/// The documents after some change, and the words in them.
#[derive(Debug)]
pub(super) struct Present {
    /// State of the conversation that holds the changes.
    state: ConversationState,
    texts: Arc<Texts>,
    words: HybridRetriever,
}

/// A message for each document, numbered from 1, and the number of its last change.
#[derive(Debug)]
struct Texts {
    state: ConversationState,
    nodes: Vec<Node>,
    changed: Vec<NodeId>,
}

impl Present {
    /// The current texts, ready to search.
    pub(super) fn new(state: ConversationState, now: DocumentsNow<'_>) -> Self {
        let (mut nodes, mut changed) = (Vec::new(), Vec::new());
        let mut documents: Vec<_> = now.all().map(|(_, document)| document).collect();
        documents.sort_by_key(|document| document.note);
        for document in documents {
            let message = Message::text_of(Role::Assistant, document.text.as_str());
            nodes.push(Node::new(NodeId::from_index(nodes.len()), message, document.at));
            changed.push(NodeId::new(document.note.get()).unwrap_or(NodeId::FIRST));
        }
        let mut searched = state.clone().nodes(nodes.len() as u64).notes(0);
        // An old store marks conversations of documents, and a search skips conversations with that mark.
        searched.tags.retain(|tag| !Mark::reserves(tag));
        // An id of its own, which no query names.
        searched.id = ConversationId::generate(Timestamp::default(), [0; 10]);
        let texts = Arc::new(Texts { state: searched, nodes, changed });
        let words = HybridRetriever::new(Arc::<Texts>::clone(&texts), None, None);
        Self { state, texts, words }
    }

    /// True if nothing changed since.
    pub(super) fn is_of(&self, state: &ConversationState) -> bool {
        self.state.last_note() == state.last_note() && self.state.tags == state.tags
    }

    pub(super) async fn search(&self, mut query: Query) -> Result<Retrieved, RetrieveError> {
        query.scope = Scope::one(&self.texts.state.id);
        let mut found = self.words.search(&query).await?;
        found.notices.retain(|notice| !matches!(notice, Notice::WordsOnly { .. }));
        for hit in &mut found.hits {
            hit.conversation.clone_from(&self.state.id);
            if let Some(changed) = self.texts.changed.get(hit.node.id.index()) {
                Arc::make_mut(&mut hit.node).id = *changed;
            }
        }
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
