//! Searches messages that a program keeps itself, by words and by meaning: no store, no files.
//!
//! `cargo run -p memory-search --example search_only`

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use memory_core::{
    ConversationId, Message, ModelId, Node, NodeId, NodeRange, NodeSet, Timestamp,
    port::{
        AnsweredBy, BoxFuture, ConversationState, Embedder, Losses, Query, ReadNodes, Retrieved, Retriever, Scope,
        Slot, Source, StoreError, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorIndexStats, VectorQuery,
    },
    testing::HashEmbedder,
};
use memory_search::HybridRetriever;

/// Messages of the program, in order.
#[derive(Debug)]
struct Mailbox {
    name: ConversationId,
    messages: Vec<Node>,
}

impl Mailbox {
    fn new(name: ConversationId, said: &[(&str, &str)]) -> Self {
        let node = |(index, (speaker, text)): (usize, &(&str, &str))| {
            let at = Timestamp::from_millis(60_000 * i64::try_from(index).unwrap_or_default());
            Node::new(NodeId::from_index(index), Message::user(*text).speaker(*speaker), at).tokens(8)
        };
        Self { name, messages: said.iter().enumerate().map(node).collect() }
    }

    fn check(&self, name: &ConversationId) -> Result<(), StoreError> {
        if *name == self.name { Ok(()) } else { Err(StoreError::unknown_conversation(name, [&self.name])) }
    }

    fn state(&self) -> ConversationState {
        ConversationState::new(self.name.clone())
            .nodes(self.messages.len() as u64)
            .tokens(self.messages.iter().map(|node| u64::from(node.tokens)).sum())
            .first_at(self.messages.first().map(|node| node.at))
            .last_at(self.messages.last().map(|node| node.at))
    }
}

/// All that the searcher needs to know of it.
impl Source for Mailbox {
    fn conversation<'a>(&'a self, name: &'a ConversationId) -> BoxFuture<'a, Result<ConversationState, StoreError>> {
        Box::pin(async move { self.check(name).map(|()| self.state()) })
    }

    fn conversations(&self) -> BoxFuture<'_, Result<Vec<ConversationState>, StoreError>> {
        Box::pin(async move { Ok(vec![self.state()]) })
    }

    fn readable_nodes<'a>(
        &'a self,
        name: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<ReadNodes, StoreError>> {
        Box::pin(async move {
            self.check(name)?;
            let nodes = self.messages.iter().filter(|node| range.contains(node.id)).cloned();
            Ok(ReadNodes::new(nodes.collect(), Losses::default()))
        })
    }
}

/// The vectors of the mailbox; each question is compared with all of them. `memory-store` has indexes that are faster
/// and stay on disk.
#[derive(Debug)]
struct Vectors {
    model: ModelId,
    dimensions: usize,
    of_nodes: Mutex<Vec<(NodeId, Vec<Vec<f32>>)>>,
}

impl Vectors {
    fn of(embedder: &dyn Embedder) -> Self {
        Self { model: embedder.model().clone(), dimensions: embedder.dimensions(), of_nodes: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<(NodeId, Vec<Vec<f32>>)>) -> T) -> T {
        act(&mut self.of_nodes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl VectorIndex for Vectors {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn stats(&self, _: &ConversationId) -> VectorIndexStats {
        self.with(|nodes| VectorIndexStats::default().through(nodes.last().map_or(0, |(node, _)| node.get())))
    }

    fn insert<'a>(
        &'a self,
        _: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        self.with(|there| there.extend_from_slice(nodes));
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, _: &'a ConversationId, gone: &'a NodeSet) -> BoxFuture<'a, Result<u64, VectorError>> {
        let removed = self.with(|nodes| {
            let gone = nodes.iter_mut().filter(|(node, _)| gone.contains(*node));
            gone.map(|(_, vectors)| std::mem::take(vectors).len() as u64).sum()
        });
        Box::pin(async move { Ok(removed) })
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        let mut hits = Vec::new();
        for (part, asked) in query.parts.iter().enumerate() {
            self.with(|nodes| {
                for (node, vectors) in nodes.iter().filter(|(node, _)| asked.only.is_none_or(|set| set.contains(*node)))
                {
                    for (chunk, vector) in (0..).zip(vectors) {
                        let cosine = vector.iter().zip(query.vector).map(|(a, b)| a * b).sum();
                        hits.push(VectorHit::new(part, Slot { node: *node, chunk }, cosine));
                    }
                }
            });
        }
        if query.limit < usize::MAX {
            hits.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then((a.part, a.slot).cmp(&(b.part, b.slot))));
            hits.truncate(query.limit);
        }
        let answered_by = vec![AnsweredBy::Scan; query.parts.len()];
        Box::pin(async { Ok(VectorAnswer::new(hits, answered_by)) })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async { Ok(()) })
    }
}

fn mailbox() -> Result<Mailbox, Box<dyn Error>> {
    let said = [
        ("Maya", "Where do we stay in Bergen?"),
        ("Omar", "At the harbour. The booking is QX-4471-93B, for two nights."),
        ("Maya", "And the train back?"),
        ("Omar", "It leaves on Sunday at 9:40 from platform 3."),
    ];
    Ok(Mailbox::new(ConversationId::new("mail")?, &said))
}

async fn ask(mailbox: Mailbox, question: &str) -> Result<Retrieved, Box<dyn Error>> {
    // Stands for a model; `memory-embed` has real ones.
    let embedder = Arc::new(HashEmbedder::new(64));
    let vectors = Arc::new(Vectors::of(&*embedder));
    let scope = Scope::one(&mailbox.name);
    let retriever = HybridRetriever::new(Arc::new(mailbox), Some(embedder), Some(vectors));
    Ok(retriever.search(&Query::new(question, scope)).await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let found = pollster::block_on(ask(mailbox()?, "which booking do we have for the nights?"))?;
    for hit in found.hits {
        println!("message {}: {}", hit.node.id, hit.score);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use memory_core::testing::source_conformance;

    use super::*;

    #[test]
    fn messages_of_ones_own_are_found_by_words_and_meaning() {
        let found = pollster::block_on(ask(mailbox().unwrap(), "which booking do we have for the nights?")).unwrap();
        assert_eq!(found.hits[0].node.id.get(), 2);
        assert!(found.notices.is_empty(), "{:?}", found.notices);
        assert!(found.steps.iter().any(|step| step.name == "vectors"), "it was compared by meaning, too");
    }

    #[test]
    fn a_list_of_messages_conforms_to_the_source() {
        let mailbox = mailbox().unwrap();
        let holds = [(mailbox.name.clone(), mailbox.messages.clone())];
        pollster::block_on(source_conformance(&mailbox, &holds));
    }
}
