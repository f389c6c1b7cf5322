//! A vector index that records how it answered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use memory_core::{
    AnsweredBy, BoxFuture, ConversationId, ModelId, NodeId, NodeSet, Progress, VectorAnswer, VectorError, VectorIndex,
    VectorIndexStats, VectorQuery,
};
use serde_json::Value;

/// Wraps an index, and records how each conversation was searched: by a scan, by a graph, or by one after the other.
#[derive(Debug)]
pub struct WatchedIndex {
    index: Arc<dyn VectorIndex>,
    ways: Mutex<BTreeMap<ConversationId, Vec<AnsweredBy>>>,
}

impl WatchedIndex {
    /// Wraps `index`.
    #[must_use]
    pub fn over(index: Arc<dyn VectorIndex>) -> Self {
        Self { index, ways: Mutex::default() }
    }

    /// How each conversation was searched so far, of those that were searched: each way once, in the order of its first
    /// use.
    #[must_use]
    pub fn answered_by(&self) -> BTreeMap<ConversationId, Vec<AnsweredBy>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same as a text: `vectors compared by scan in 2 conversations, by graph (memory) in 1 conversation`. `None`
    /// if no vectors were compared.
    pub(crate) fn explain(&self) -> Option<String> {
        let mut conversations: BTreeMap<String, usize> = BTreeMap::new();
        self.answered_by().values().for_each(|ways| *conversations.entry(in_words(ways)).or_default() += 1);
        let unit = |count: &usize| if *count == 1 { "conversation" } else { "conversations" };
        let ways = conversations.iter().map(|(how, count)| format!("by {how} in {count} {}", unit(count)));
        let ways = ways.collect::<Vec<_>>().join(", ");
        (!ways.is_empty()).then(|| format!("vectors compared {ways}"))
    }

    /// The same by conversation.
    pub(crate) fn to_json(&self) -> Value {
        self.answered_by().iter().map(|(id, ways)| (id.to_string(), in_words(ways))).collect()
    }
}

fn in_words(ways: &[AnsweredBy]) -> String {
    ways.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

impl VectorIndex for WatchedIndex {
    fn model(&self) -> &ModelId {
        self.index.model()
    }

    fn dimensions(&self) -> usize {
        self.index.dimensions()
    }

    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats {
        self.index.stats(conversation)
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        self.index.insert(conversation, nodes)
    }

    fn remove<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a NodeSet,
    ) -> BoxFuture<'a, Result<u64, VectorError>> {
        self.index.remove(conversation, nodes)
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        Box::pin(async move {
            let answer = self.index.search(query).await?;
            let mut all = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
            for (part, way) in query.parts.iter().zip(&answer.answered_by) {
                let ways = all.entry(part.conversation.clone()).or_default();
                if !ways.contains(way) {
                    ways.push(*way);
                }
            }
            drop(all);
            Ok(answer)
        })
    }

    fn prepare<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        self.index.prepare(conversation, progress)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        self.index.flush()
    }
}

#[cfg(test)]
mod tests {
    use memory_core::VectorPart;
    use memory_store::{AutoIndex, AutoOptions, Method};

    use super::*;

    #[tokio::test]
    async fn what_answered_is_said_for_each_conversation() {
        let ids = ["a", "b", "c"].map(|name| ConversationId::new(name).unwrap());
        let options = AutoOptions::default().method(Method::Graph);
        let auto = AutoIndex::in_memory(ModelId::new("toy"), 2, options);
        let node = |node: NodeId| (node, vec![vec![1.0, 0.0]]);
        let nodes: Vec<_> = (1..=2_000).filter_map(NodeId::new).map(node).collect();
        for id in &ids {
            auto.insert(id, &nodes).await.unwrap();
        }
        assert_eq!(auto.build_graph(&ids[0], &()), 2_000);
        let index = WatchedIndex::over(Arc::new(auto));
        assert_eq!((index.explain(), index.answered_by().len()), (None, 0));
        let only: NodeSet = NodeId::new(7).into_iter().collect();
        let parts = [VectorPart::new(&ids[0]), VectorPart::new(&ids[2]).only(&only)];
        let query = VectorQuery::new(&[1.0, 0.0], 3, &parts);
        index.search(&query).await.unwrap();
        let expected = [
            (ids[0].clone(), vec![AnsweredBy::Graph { backend: "memory" }]),
            (ids[2].clone(), vec![AnsweredBy::SubsetScan]),
        ];
        assert_eq!(index.answered_by(), BTreeMap::from(expected));
        let words = "vectors compared by graph (memory) in 1 conversation, by scan of a subset in 1 conversation";
        assert_eq!(index.explain().as_deref(), Some(words));
    }
}
