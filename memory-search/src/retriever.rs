//! The retriever: words and meaning over a store.

use std::sync::Arc;

use memory_core::{
    BlockCache, BoxFuture, ConversationId, ConversationState, Embedder, Excerpt, Filter, HeldBack, Hit, IndexReport,
    Losses, NodeId, NodeRange, Progress, Query, Recall, RecallRequest, Reranker, RetrieveError, Retrieved, Retriever,
    Scope, Store, TokenIndex, VectorIndex,
};

use crate::{
    complexity::{budget_share, share_of},
    late::Late,
    lexical::{MOST_UNKEPT, WordIndex},
    notices::{in_full, push_new},
    pack::{Characters, Lengths, PackRequest, TooLarge, pack, prices, reach},
    pairs::Pairs,
    ranking::{Pool, Ranking},
    recheck::are_some_lost,
    rerank::{CrossEncoder, RerankOptions},
    selection::Selection,
    semantic::{Meaning, Semantic, ends_of},
    shared_past::seen_before,
    stopwatch::Stopwatch,
    worth::are_worth,
};

const EMPTY_QUESTION: &str = "nothing is recalled for an empty question";
/// Memory that the postings of conversations not in use may take.
const POSTINGS_BYTES: usize = 256 << 20;

/// Retrieves by words and, where there are an embedding model and an index of its vectors, by meaning.
///
/// The best candidates by a cheap sum of BM25 and cosine are ranked by a weighted sum of features: words (BM25 with two
/// sets of parameters, of the message, its neighbours, its session), meaning (cosines of the same), how much of the
/// question is covered, who speaks, times and dates. The weights were fitted to conversations, apart for those with an
/// agent and those among people, with vectors and without (`memory-search/src/ranker/weights.rs`). A hit's signals say
/// what each feature was, mostly stretched to 0..=1 over all that is searched, and what it added. Several conversations
/// are searched as if they were one: the rarity of a term, the average length and the stretching are those of all their
/// messages, so the scores of their hits compare. A score may be below 0.
///
/// A session is what the metadata member `session` names, or else ends with a pause of six hours.
///
/// Postings are carried on from where they end: in memory and, where there is a cache for them
/// ([`keep_words_in`](Self::keep_words_in)), between runs. Vectors are made by
/// [`catch_up`](Retriever::catch_up), however long it takes. A question makes only what is soon made: where all that
/// it searches lacks vectors of at most 64 messages and 64 KiB of text, it embeds these, and otherwise nothing. A
/// message without a vector counts as the mean of those that have one, and meaning weighs the less the fewer have one.
/// Where model, index or all vectors are missing or fail, the answer is by words; a notice says so, as it does where
/// some vectors are missing. A message that a model refuses when it is asked for that one alone has no vector for good, if
/// the model takes others beside it.
///
/// A node that cannot be read is no hit and stands in no excerpt; the answer says so. It counts as lost for the life
/// of the retriever. Of nodes whose words were kept between runs, those that are to be given out are read again, and all
/// of their conversation where one of them cannot be.
#[derive(Debug)]
pub struct HybridRetriever {
    store: Arc<dyn Store>,
    words: WordIndex,
    semantic: Semantic,
    cross_encoder: Option<CrossEncoder>,
}

impl HybridRetriever {
    /// Reads from `store`; without `embedder` or `index`, by words only.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        embedder: Option<Arc<dyn Embedder>>,
        index: Option<Arc<dyn VectorIndex>>,
    ) -> Self {
        let semantic = Semantic::new(embedder, index);
        Self { store, words: WordIndex::new(POSTINGS_BYTES), semantic, cross_encoder: None }
    }

    /// Compares the best candidates by their tokens too, whose vectors `tokens` keeps, where the embedding model gives
    /// those. Without them the ranking is by the other features.
    #[must_use]
    pub fn with_tokens(self, tokens: Arc<dyn TokenIndex>) -> Self {
        Self { semantic: self.semantic.with_tokens(tokens), ..self }
    }

    /// Compares all vectors of a conversation with a question up to so many messages, 20,000 by default. Of a longer one
    /// those are compared that the index finds near, by a graph if it has one, and those that are best by words; every other
    /// message counts as a usual one.
    #[must_use]
    pub fn compare_all_up_to(self, messages: usize) -> Self {
        Self { semantic: self.semantic.comparing_all_up_to(messages), ..self }
    }

    /// Has a cross-encoder read the best hits, together with the question, and put them in the order of its scores.
    #[must_use]
    pub fn with_reranker(self, model: Arc<dyn Reranker>, options: RerankOptions) -> Self {
        Self { cross_encoder: Some(CrossEncoder::new(model, options)), ..self }
    }

    /// Keeps the postings of conversations in `cache`, so that a new retriever need not read all messages again.
    #[must_use]
    pub fn keep_words_in(mut self, cache: Arc<dyn BlockCache>) -> Self {
        self.words.keep_in(cache);
        self
    }

    /// Scores every node of a scope; the notices are for the caller.
    async fn rank(&self, question: &str, scope: &Scope, filter: &Filter) -> Result<Ranked<'_>, RetrieveError> {
        let mut stopwatch = Stopwatch::start();
        let mut conversations = Vec::new();
        let states = self.resolve(scope, filter).await?;
        let seen = seen_before(&*self.store, &states).await?;
        for state in states {
            let (indexed, _) = self.words.catch_up(&*self.store, &state.id, state.nodes, MOST_UNKEPT, &()).await?;
            conversations.push((state.id, indexed));
        }
        let pool = Pool::new(conversations);
        let selection = Selection::of(&*self.store, &pool, filter).await?.without(&pool, &seen);
        let evidence = pool.words(self.words.question(question));
        stopwatch.end("words", pool.readable());
        let (store, words) = (&*self.store, &evidence.window);
        let meaning = self.semantic.meaning(store, question, &pool, &selection, words, &mut stopwatch).await;
        let (cosines, late, mut notices) = match meaning {
            Ok(Meaning { cosines, notices, late }) => (Some(cosines), late, notices),
            Err(missing) => (None, None, vec![missing.notice()?]),
        };
        notices.extend(selection.notice());
        let ranking = Ranking::new(pool, selection, &ends_of(question), evidence, cosines);
        let cross_encoder = self.cross_encoder.as_ref();
        Ok(Ranked { ranking, late, cross_encoder, store: &*self.store, notices, stopwatch })
    }

    /// How many characters the texts of some nodes have; those that cannot be read have none.
    async fn lengths(&self, conversation: &ConversationId, runs: &[NodeRange]) -> Result<Lengths, RetrieveError> {
        let mut lengths = Lengths::new();
        for run in runs {
            let read = self.store.readable_nodes(conversation, *run).await?;
            lengths.extend(read.nodes.iter().map(|node| (node.id, node.message.text().chars().count() as u64)));
        }
        Ok(lengths)
    }

    /// The conversations of a scope that have the tags of a filter, each once and in order.
    async fn resolve(&self, scope: &Scope, filter: &Filter) -> Result<Vec<ConversationState>, RetrieveError> {
        let mut states = match scope {
            Scope::All => self.store.conversations().await?,
            Scope::Conversations(ids) => {
                let mut states = Vec::with_capacity(ids.len());
                for id in ids {
                    states.push(self.store.conversation(id).await?);
                }
                states
            }
        };
        states.retain(|state| filter.admits_tags(&state.tags));
        states.sort_by(|a, b| a.id.cmp(&b.id));
        states.dedup_by(|a, b| a.id == b.id);
        Ok(states)
    }
}

/// What is known of the nodes of a scope.
struct Ranked<'a> {
    ranking: Ranking,
    late: Option<Late<'a>>,
    cross_encoder: Option<&'a CrossEncoder>,
    store: &'a dyn Store,
    notices: Vec<String>,
    stopwatch: Stopwatch,
}

impl Ranked<'_> {
    /// The best nodes. Neither tokens, which are a cache, nor a cross-encoder stop an answer: where they fail it goes
    /// without them, and says so.
    async fn hits(
        &mut self,
        question: &str,
        limit: usize,
        wanted: impl Fn(NodeId) -> bool,
    ) -> Result<Vec<Hit>, RetrieveError> {
        let Self { ranking, late, cross_encoder, store, notices, stopwatch } = self;
        let read = cross_encoder.map_or(0, |encoder| encoder.options.candidates);
        let mut hits = match ranking.hits(limit.max(read), &wanted, late.as_ref(), stopwatch).await {
            Ok(hits) => hits,
            Err(failed) => {
                push_new(notices, format!("tokens are not compared: {}", in_full(&failed)));
                ranking.hits(limit.max(read), &wanted, None, stopwatch).await?
            }
        };
        if let Some(encoder) = cross_encoder {
            match encoder.rerank(*store, &ends_of(question), &mut hits).await {
                Ok(read) => stopwatch.end("rerank", read),
                Err(failed) => push_new(notices, format!("hits are not reranked: {}", in_full(&failed))),
            }
        }
        hits.truncate(limit);
        Ok(hits)
    }
}

impl Retriever for HybridRetriever {
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>> {
        Box::pin(async move {
            if query.text.trim().is_empty() {
                return Ok(Retrieved { notices: vec![EMPTY_QUESTION.to_owned()], ..Retrieved::default() });
            }
            let mut ranked = self.rank(&query.text, &query.scope, &query.filter).await?;
            // Hits that take the place of lost ones may be lost too. Of a conversation with one that is, all are read, so that
            // this ends.
            let hits = loop {
                let hits = ranked.hits(&query.text, query.limit, |_| true).await?;
                let nodes = hits.iter().map(|hit| (&hit.conversation, NodeRange::single(hit.node)));
                if !are_some_lost(&*self.store, ranked.ranking.pool_mut(), nodes).await? {
                    break hits;
                }
            };
            let Ranked { ranking, mut notices, stopwatch, .. } = ranked;
            notices.extend(ranking.pool().notices());
            Ok(Retrieved { hits, notices, steps: stopwatch.steps() })
        })
    }

    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>> {
        Box::pin(async move {
            if request.question.trim().is_empty() {
                return Ok(Recall { notices: vec![EMPTY_QUESTION.to_owned()], ..Recall::default() });
            }
            let mut ranked = self.rank(&request.question, &Scope::one(&request.conversation), &request.filter).await?;
            let is_shown = |node| request.shown.iter().any(|run| run.contains(node));
            let hits = ranked.hits(&request.question, request.limit, |node| !is_shown(node)).await?;
            let Ranked { mut ranking, mut notices, mut stopwatch, .. } = ranked;
            let share = budget_share(request, &self.words.question(&request.question), ranking.pool());
            let outline = self.store.outline(&request.conversation).await?;
            let ranked: Vec<NodeId> = hits.iter().map(|hit| hit.node).collect();
            let pairs = ranking
                .pool()
                .parts()
                .first()
                .map_or_else(Pairs::default, |part| Pairs::of(part.indexed.read().cast().traits(), &outline));
            let mut to_pack = PackRequest {
                outline: &outline,
                ranked: &ranked,
                shown: &request.shown,
                max_tokens: share_of(request.max_tokens, share),
                per_message: request.per_message,
                characters: None,
                radius: request.radius,
                pairs: &pairs,
            };
            let lengths = match request.max_characters {
                Some(_) => self.lengths(&request.conversation, &reach(&to_pack)).await?,
                None => Lengths::default(),
            };
            to_pack.characters =
                request.max_characters.map(|max| Characters { max: share_of(max, share), of: &lengths });
            let worth = if request.stop_early {
                are_worth(&hits, &prices(&to_pack), to_pack.max_tokens)
            } else {
                vec![true; hits.len()]
            };
            let worthy = ranked.iter().zip(&worth).filter(|(_, worth)| **worth);
            let worthy: Vec<NodeId> = worthy.map(|(node, _)| *node).collect();
            to_pack.ranked = &worthy;
            let packed = pack(&to_pack);
            if let Some(TooLarge { node, tokens, characters }) = packed.too_large {
                let budget = to_pack.max_tokens;
                let cost = match to_pack.characters {
                    Some(Characters { max, .. }) if tokens <= u64::from(budget) => {
                        format!("it has {characters} characters of {max}")
                    }
                    _ => format!("it costs {tokens} tokens of {budget}"),
                };
                notices.push(format!("the best hit, node {node}, is left out: {cost}"));
            }
            let runs = packed.runs.iter().map(|run| (&request.conversation, *run));
            are_some_lost(&*self.store, ranking.pool_mut(), runs).await?;
            let excerpt = |nodes: NodeRange| Excerpt {
                nodes,
                hits: hits.iter().filter(|hit| nodes.contains(hit.node)).cloned().collect(),
            };
            let mut losses = Losses::default();
            ranking.pool().parts().iter().for_each(|part| losses.extend(&part.losses));
            // Neighbours of a hit, and what must not be parted from it, may be lost.
            let runs = packed.runs.into_iter().flat_map(|run| losses.rest_of(run));
            let excerpts: Vec<_> = runs.map(excerpt).collect();
            let cost = |node: NodeId| {
                let tokens = outline.get(node.index()).map_or(0, |node| node.tokens);
                u64::from(tokens) + u64::from(request.per_message)
            };
            let tokens = excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter()).map(cost).sum();
            let held_back = |of_worth: bool| {
                let is_there = |hit: &Hit| {
                    losses.contains(hit.node) || excerpts.iter().any(|excerpt| excerpt.nodes.contains(hit.node))
                };
                let mut held = hits.iter().zip(&worth).filter(|(hit, worth)| **worth == of_worth && !is_there(hit));
                let (best, _) = held.next()?;
                Some(HeldBack { hits: 1 + held.count(), best: best.score })
            };
            let (not_worth, no_room) = (held_back(false), held_back(true));
            stopwatch.end("pack", hits.len());
            Ok(Recall { excerpts, tokens, not_worth, no_room, notices, losses, steps: stopwatch.steps() })
        })
    }

    fn catch_up<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>> {
        Box::pin(async move {
            let nodes = self.store.conversation(conversation).await?.nodes;
            let vectors = self.semantic.vectors();
            // What is kept need not be read.
            self.words.catch_up(&*self.store, conversation, 0, u64::MAX, &()).await?;
            let words_missing = nodes.saturating_sub(self.words.through(conversation));
            let vectors_missing = vectors.as_ref().map_or(0, |v| nodes.saturating_sub(v.all_through(conversation)));
            let mut steps = Steps { progress, before: 0, total: words_missing + vectors_missing };
            let (indexed, words) = self.words.catch_up(&*self.store, conversation, nodes, 0, &steps).await?;
            // Whoever catches up is told what was lost since the words were kept.
            if indexed.read().restored() > 0 {
                indexed.check(&*self.store, conversation).await?;
            }
            let losses = indexed.read().losses().notice(conversation);
            let mut report = IndexReport { words, embedded: 0, notices: Vec::from_iter(losses) };
            steps.before = words_missing;
            let embedded = match vectors {
                Ok(vectors) => {
                    let embedded = vectors.catch_up(&*self.store, conversation, &indexed, nodes, &steps).await;
                    if embedded.is_ok() {
                        vectors.prepare(conversation, progress).await?;
                    }
                    embedded
                }
                Err(missing) => Err(missing),
            };
            match embedded {
                Ok(caught_up) => {
                    report.embedded = caught_up.embedded;
                    report.notices.extend(caught_up.notices());
                }
                Err(missing) => report.notices.push(missing.notice_of_absence()?),
            }
            Ok(report)
        })
    }
}

/// Reports several steps of work as one.
struct Steps<'a> {
    progress: &'a dyn Progress,
    before: u64,
    total: u64,
}

impl Progress for Steps<'_> {
    fn report(&self, done: u64, _of_this_step: u64) {
        self.progress.report(self.before + done, self.total);
    }
}

#[cfg(test)]
mod tests;
