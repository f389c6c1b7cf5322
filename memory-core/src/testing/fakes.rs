//! Simple implementations of the small ports.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::{
    ConversationId, Filter, Hash, ModelId, Node, NodeId, NodeRange, Timestamp,
    plan::Tree,
    port::{
        BoxFuture, Clock, ConversationState, EmbedError, Embedder, Excerpt, Hit, IndexReport, Losses, Progress, Query,
        Recall, RecallRequest, RetrieveError, Retrieved, Retriever, Revision, Score, ScoreScale, Store, TokenCounter,
        TokenEmbedder, TokenEmbedding, TokenVectors,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Counts words, each at most 4 characters long, which approximates a real tokenizer.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordCounter;

impl TokenCounter for WordCounter {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        let tokens: usize = text.split_whitespace().map(|word| word.chars().count().div_ceil(4)).sum();
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    fn adds_up_at_lines(&self) -> bool {
        true
    }
}

/// A clock that advances by one second at each call.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that begins at `start`.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millis()))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1000, Ordering::Relaxed))
    }
}

/// Embeds a text as the normalized sum of one pseudo-random direction for each word. Texts that share words are
/// similar; meaning is ignored.
#[derive(Debug)]
pub struct HashEmbedder {
    model: ModelId,
    dimensions: usize,
}

impl HashEmbedder {
    /// Vectors of `dimensions` components, at least 1.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { model: ModelId::new(&format!("hash/{dimensions}")), dimensions: dimensions.max(1) }
    }

    /// The vector of a text.
    #[must_use]
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0f32; self.dimensions];
        let lower = text.to_lowercase();
        for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let seed = Hash::of_parts([word.as_bytes()]);
            let bytes = seed.as_bytes().iter().cycle();
            for (i, (component, byte)) in sum.iter_mut().zip(bytes).enumerate() {
                let turn = u8::try_from(i / 32 % 8).unwrap_or(0);
                *component += f32::from(byte.rotate_left(u32::from(turn))) - 127.5;
            }
        }
        let norm = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm > 0.0 {
            sum.iter_mut().for_each(|x| *x /= norm);
        } else if let Some(first) = sum.first_mut() {
            *first = 1.0;
        }
        sum
    }
}

impl Embedder for HashEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vec![self.vector(text)]).collect()) })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move { Ok(self.vector(text)) })
    }

    fn with_tokens(&self) -> Option<&dyn TokenEmbedder> {
        Some(self)
    }
}

impl HashEmbedder {
    /// A text as one chunk, with each word as a token.
    fn with_words(&self, text: &str) -> TokenEmbedding {
        let (mut ids, mut components) = (Vec::new(), Vec::new());
        for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let [a, b, ..] = *Hash::of_parts([word.as_bytes()]).as_bytes();
            ids.push(u32::from(u16::from_le_bytes([a, b])));
            components.extend(self.vector(word));
        }
        let tokens = TokenVectors::new(ids, self.dimensions, components).unwrap_or_default();
        TokenEmbedding { whole: self.vector(text), tokens }
    }
}

impl TokenEmbedder for HashEmbedder {
    fn token_dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents_with_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Vec<TokenEmbedding>>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vec![self.with_words(text)]).collect()) })
    }

    fn embed_query_with_tokens<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<TokenEmbedding, EmbedError>> {
        Box::pin(async move { Ok(self.with_words(text)) })
    }
}

/// Retrieves by counting the question's words in every message: slow, simple, sufficient for tests.
#[derive(Debug)]
pub struct ScanRetriever {
    store: Arc<dyn Store>,
}

impl ScanRetriever {
    /// A retriever over `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The nodes of a conversation that pass a filter. Only named sessions pass.
    async fn passing(
        &self,
        conversation: &ConversationId,
        state: &ConversationState,
        filter: &Filter,
    ) -> Result<impl Fn(&Node) -> bool + use<>, RetrieveError> {
        let changes = self.store.changes(conversation, Revision::default()).await?;
        let nodes = changes.nodes.len();
        let tree = Tree::of(changes);
        let levels: Vec<_> = (0..nodes).map(|index| tree.level(NodeId::from_index(index))).collect();
        let times = filter.times(state.last_at.unwrap_or_default());
        let filter = filter.clone();
        Ok(move |node: &Node| {
            let session = Filter::session_of(node);
            times.iter().any(|range| range.contains(node.at))
                && (filter.roles.is_empty() || filter.roles.contains(&node.message.role))
                && (filter.sessions.is_empty() || session.is_some_and(|session| filter.sessions.contains(&session)))
                && (filter.levels.is_empty() || levels.get(node.id.index()).is_some_and(|l| filter.levels.contains(l)))
        })
    }
}

impl Retriever for ScanRetriever {
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>> {
        Box::pin(async move {
            let question = query.text.to_lowercase();
            let words: Vec<_> = question.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).collect();
            let (mut hits, mut notices) = (Vec::new(), Vec::new());
            for state in query.scope.states(&*self.store).await? {
                let conversation = state.id.clone();
                let Some(all) = NodeRange::first_n(state.nodes).filter(|_| query.filter.admits_tags(&state.tags))
                else {
                    continue;
                };
                let passes = self.passing(&conversation, &state, &query.filter).await?;
                let read = self.store.readable_nodes(&conversation, all).await?;
                notices.extend(read.losses.notice(&conversation));
                for node in read.nodes.into_iter().filter(&passes) {
                    let text = node.message.text().to_lowercase();
                    let found = words.iter().filter(|word| text.contains(**word)).count();
                    if found > 0 {
                        let value = f32::from(u16::try_from(found).unwrap_or(u16::MAX));
                        let score = Score { value, scale: ScoreScale::Fused };
                        let conversation = conversation.clone();
                        hits.push(Hit::new(conversation, Arc::new(node), score));
                    }
                }
            }
            hits.sort_by(|a, b| b.score.value.total_cmp(&a.score.value).then(a.node.id.cmp(&b.node.id)));
            hits.truncate(query.limit);
            Ok(Retrieved { hits, notices, ..Retrieved::default() })
        })
    }

    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>> {
        Box::pin(async move {
            let scope = request.scope();
            let (text, filter) = (request.question.clone(), request.filter.clone());
            let query = Query { text, scope, filter, limit: request.limit, min_relevance: 0.0 };
            let found = self.search(&query).await?;
            let mut left = request.max_tokens;
            // The request's own conversation first, then the others by name.
            let place = |hit: &Hit| (hit.conversation != request.conversation, hit.conversation.clone());
            let mut taken: BTreeMap<_, Vec<Hit>> = BTreeMap::new();
            for hit in found.hits {
                let place = place(&hit);
                let heading = if place.0 && !taken.contains_key(&place) { request.per_conversation } else { 0 };
                let cost = hit.node.tokens.saturating_add(request.per_message).saturating_add(heading);
                if cost <= left && !request.is_shown(&hit.conversation, hit.node.id) {
                    left -= cost;
                    taken.entry(place).or_default().push(hit);
                }
            }
            let mut excerpts = Vec::new();
            for ((_, conversation), mut hits) in taken {
                hits.sort_by_key(|hit| hit.node.id);
                for nodes in NodeRange::merge(hits.iter().map(|hit| NodeRange::single(hit.node.id)).collect()) {
                    let hits: Vec<_> = hits.iter().filter(|hit| nodes.contains(hit.node.id)).cloned().collect();
                    let messages = hits.iter().map(|hit| Arc::clone(&hit.node)).collect();
                    excerpts.push(Excerpt::new(conversation.clone(), nodes, messages, hits));
                }
            }
            let losses = match NodeRange::first_n(self.store.conversation(&request.conversation).await?.nodes) {
                Some(all) => self.store.readable_nodes(&request.conversation, all).await?.losses,
                None => Losses::default(),
            };
            Ok(Recall { excerpts, losses, tokens: u64::from(request.max_tokens - left), ..Recall::default() })
        })
    }

    fn catch_up<'a>(
        &'a self,
        _conversation: &'a crate::ConversationId,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>> {
        Box::pin(async { Ok(IndexReport::default()) })
    }
}
