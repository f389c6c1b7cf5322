//! [`HybridRetriever`]: lexical and semantic retrieval over a store.

mod recall;

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{
    ConversationId, Filter, NodeId, NodeRange,
    port::{
        BlockCache, BoxFuture, CachedInMemory, ConversationState, Detector, Embedder, Hit, IndexReport, Notice,
        Progress, Query, Recall, RecallRequest, Reranker, RetrieveError, Retrieved, Retriever, Scope, Source,
        StoreError, TokenIndex, VectorError, VectorIndex,
    },
};

use crate::{
    ArchiveLimits,
    archive::{Archive, LimitsOf},
    late::Late,
    lexical::{MAX_UNSAVED, Weighed, WordIndex},
    masked::MaskedSource,
    ranker::Fitted,
    ranking::{Candidate, Pool, Ranking},
    reads::Reads,
    repeats::put_corrections_first,
    rerank::{CrossEncoder, RerankOptions},
    selection::Selection,
    semantic::{
        Asked, HOW_TO_CATCH_UP, MAX_BACKLOG_PIECES, OutsidePool, Semantic, SemanticScores, ends_of, in_full, push_new,
    },
    shared_prefix::seen_before,
    shortlist::{FEWEST, Shortlist, ShortlistEvidence},
    stopwatch::Stopwatch,
};

/// Default limit in bytes of cached postings.
const POSTINGS_BYTES: usize = 64 << 20;

/// Maximum messages of a scope that is ranked node by node, in a few milliseconds.
const RANKED_ALL: u64 = 20_000;

/// Nearest vectors by which conversations are chosen in a larger scope.
const NEAREST: usize = 512;

/// Probability of the best hit below which a notice states that nothing is likely.
const LIKELY: f32 = 0.01;

/// Retrieves by words and, with an embedding model and an index of its vectors, by meaning.
///
/// The best candidates by a cheap sum of BM25 and cosine are ranked by a weighted sum of features: words (BM25 with two
/// sets of parameters, of the message, its neighbours and its session), meaning (cosines of the same), coverage of the
/// question, speakers, times and dates. Conversations with an agent, between two people and in a group have separate
/// weights, with and without vectors, which were fitted together (`memory-search/src/ranker/weights.rs`). Signals of a
/// hit are the features, mostly normalized to 0..=1 over the searched messages, with their shares of the score. Several
/// conversations are searched as one: document frequencies, average length and normalization cover all their messages,
/// so that scores are comparable. A score may be negative.
///
/// A session is named by the metadata member `session`; otherwise a pause of six hours ends a session.
///
/// Conversations of notes ([`ConversationState::is_of_notes`]) are neither indexed nor searched.
///
/// Postings are extended as messages are appended: in memory and, with a [`word_cache`](Self::word_cache), across runs.
/// [`catch_up`](Retriever::catch_up) computes all missing vectors, however long it takes. A query computes them only if
/// the searched conversations together lack the vectors of at most 64 pieces of text of 1 KiB, each message at least
/// one. A message without a vector counts as the mean of those with one, and the weight of meaning is proportional to
/// the share of messages with vectors. If the model, the index or all vectors are missing or fail, retrieval is by
/// words and a notice states it; another notice states that some vectors are missing. A message that the model rejects,
/// while it accepts others, never gets a vector.
///
/// An unreadable node is neither a hit nor in an excerpt, and is reported. It counts as lost for the life of the
/// retriever. Results from the word cache are read again before they are returned; if one is unreadable, its whole
/// conversation is read.
#[derive(Debug)]
pub struct HybridRetriever {
    source: Arc<dyn Source>,
    /// The same messages as they are indexed.
    indexed: Arc<dyn Source>,
    words: WordIndex,
    semantic: Semantic,
    cross_encoder: Option<CrossEncoder>,
    ranked_all: u64,
    archive: Archive,
}

impl HybridRetriever {
    /// A retriever over `source`; by words only without `embedder` or `index`.
    #[must_use]
    pub fn new(
        source: Arc<dyn Source>,
        embedder: Option<Arc<dyn Embedder>>,
        index: Option<Arc<dyn VectorIndex>>,
    ) -> Self {
        let semantic = Semantic::new(embedder, index);
        Self {
            indexed: source.clone(),
            source,
            words: WordIndex::new(POSTINGS_BYTES),
            semantic,
            cross_encoder: None,
            ranked_all: RANKED_ALL,
            archive: Archive::default(),
        }
    }

    /// Keeps private keys and keys of services out of the indexes, where `detector` finds them. A message that has one is
    /// found by its other words, and returned whole.
    #[must_use]
    pub fn detector(mut self, detector: Arc<dyn Detector>) -> Self {
        self.indexed = Arc::new(MaskedSource { source: self.source.clone(), detector });
        self
    }

    /// Also compares the best candidates by token vectors from `tokens`, if the embedding model makes them. By default
    /// the ranking uses only the other features.
    #[must_use]
    pub fn token_index(mut self, tokens: Arc<dyn TokenIndex>) -> Self {
        self.semantic.tokens = Some(tokens);
        self
    }

    /// Maximum messages of a conversation in which all vectors are compared with a question, 20,000 by default. In a
    /// longer one, only the nearest by the index (by its graph, if it has one) and the best by words are compared;
    /// every other message gets an estimated typical cosine.
    #[must_use]
    pub fn compare_all_up_to(mut self, messages: usize) -> Self {
        self.semantic.compared_all = messages;
        self
    }

    /// Reranks the best hits with a cross-encoder.
    #[must_use]
    pub fn reranker(self, model: Arc<dyn Reranker>, options: RerankOptions) -> Self {
        Self { cross_encoder: Some(CrossEncoder::new(model, options)), ..self }
    }

    /// Saves postings in `cache`, so that a new retriever need not read all messages again.
    #[must_use]
    pub fn word_cache(mut self, cache: Arc<dyn BlockCache>) -> Self {
        self.words.cache = Some(cache);
        self
    }

    /// Limits the bytes of postings in memory, 64 MiB by default, by dropping the least recently used.
    #[must_use]
    pub fn hold_words_at_most(mut self, bytes: usize) -> Self {
        self.words.max_bytes = bytes;
        self
    }

    /// Limits how much of each conversation may be a hit; unlimited by default. In a large scope, evicted messages
    /// still count in the choice of conversations.
    #[must_use]
    pub fn archive_limits(self, limits: ArchiveLimits) -> Self {
        self.archive_limits_of(move |_| limits)
    }

    /// [`Self::archive_limits`] that are decided for each conversation when it is searched.
    #[must_use]
    pub fn archive_limits_of(
        self,
        limits: impl Fn(&ConversationState) -> ArchiveLimits + Send + Sync + 'static,
    ) -> Self {
        Self { archive: Archive::new(LimitsOf::new(limits)), ..self }
    }

    /// Maximum messages of a scope in which all nodes are ranked, 20,000 by default; a scope of at most 16
    /// conversations is always ranked completely. In a larger scope, words and vectors of all messages choose the
    /// conversations whose nodes are ranked.
    #[must_use]
    pub const fn rank_all_up_to(mut self, messages: u64) -> Self {
        self.ranked_all = messages;
        self
    }

    /// Scores every node of a scope, or of the best conversations of a large one. `first` is always one of these, and
    /// messages that it shares with others count as its nodes.
    async fn rank(
        &self,
        question: &str,
        scope: &Scope,
        filter: &Filter,
        first: Option<&ConversationId>,
    ) -> Result<Ranked<'_>, RetrieveError> {
        let mut stopwatch = Stopwatch::start();
        let mut states = self.resolve(scope, filter).await?;
        let mut seen = seen_before(&*self.source, &states, first).await?;
        let mut asked = self.semantic.ask(&*self.indexed, question, &mut stopwatch).await;
        let (mut weighed, mut beyond) = (None, OutsidePool::default());
        let nodes: u64 = states.iter().map(|state| state.nodes).sum();
        let mut hidden = self.hidden(&states, filter).await?;
        if nodes > self.ranked_all && states.len() > FEWEST && !filter.is_by_node() {
            let listed = self.shortlist(question, &states, &seen, &hidden, asked.as_ref().ok(), first).await?;
            stopwatch.end("shortlist", states.len());
            let chosen = |number: &usize| Some((states.get(*number)?.clone(), *seen.get(*number)?));
            (states, seen) = listed.chosen.iter().filter_map(chosen).unzip();
            hidden = (0..).zip(&listed.chosen).filter_map(|(at, number)| Some((at, hidden.remove(number)?))).collect();
            (weighed, beyond) = (Some(listed.question), listed.beyond);
            if let Some(failed) = listed.failed {
                asked = Err(failed.into());
            }
        }
        let (mut conversations, mut silent) = (Vec::new(), 0);
        for (number, (state, seen)) in states.iter().zip(&mut seen).enumerate() {
            let archived = self.archive.archived(&*self.source, state).await?;
            *seen = archived.evicted.max(*seen);
            self.words.heed_erasures(state);
            let (mut indexed, _) =
                self.words.catch_up(&*self.indexed, &state.id, state.nodes, MAX_UNSAVED, &()).await?;
            if let Some(hidden) = hidden.remove(&number) {
                silent += hidden.len() as u64;
                indexed = Arc::new(indexed.without(hidden));
            }
            conversations.push((state.id.clone(), indexed));
        }
        let mut pool = Pool::new(conversations);
        pool.note_silent(silent + states.iter().map(|state| state.erased).sum::<u64>());
        let selection = Selection::of(&*self.source, &pool, filter).await?.without(&pool, &seen);
        let admits_none = selection.notice();
        let selection = selection.without_own_tools(&pool).without_hidden(&pool);
        let weighed = weighed.unwrap_or_else(|| pool.weigh(&pool.asked(question)));
        pool.add_titles(states.iter().map(|state| self.words.title_share(state, &weighed)));
        let evidence = pool.words(&weighed);
        stopwatch.end("words", pool.readable());
        let (source, words) = (&*self.indexed, &evidence.window);
        let meaning = match asked {
            Ok(asked) => asked.meaning(source, &pool, &selection, words, beyond, &mut stopwatch).await,
            Err(missing) => Err(missing),
        };
        let (cosines, late, mut notices) = match meaning {
            Ok(SemanticScores { cosines, notices, late }) => (Some(cosines), late, notices),
            Err(missing) => (None, None, vec![missing.notice()?]),
        };
        notices.extend(admits_none);
        let fitted = Fitted::to(self.semantic.model());
        let ranking = Ranking::new(pool, selection, &ends_of(question), evidence, cosines, fitted);
        let cross_encoder = self.cross_encoder.as_ref();
        let reads = Reads::new(&*self.source).whole(filter.disabled);
        Ok(Ranked { ranking, late, cross_encoder, reads, notices, stopwatch })
    }

    /// Chooses the conversations of a large scope to rank.
    async fn shortlist(
        &self,
        question: &str,
        states: &[ConversationState],
        seen: &[u64],
        hidden: &BTreeMap<usize, Vec<usize>>,
        asked: Option<&Asked<'_>>,
        first: Option<&ConversationId>,
    ) -> Result<Shortlisted, RetrieveError> {
        let words = self.words.catch_up_all(&*self.indexed, states, hidden).await?;
        let list = Shortlist { states, seen, hidden, words: &words };
        let weighed = list.weigh(question);
        let nearest = match asked {
            Some(asked) => asked.nearest(states, NEAREST).await.map(Some),
            None => Ok(None),
        };
        let (nearest, failed) = nearest.map_or_else(|failed| (None, Some(failed)), |nearest| (nearest, None));
        let (nearest, embedded) = nearest.unzip();
        let embedded = embedded.unwrap_or_default();
        let missing = |(state, embedded): (&ConversationState, &u64)| state.nodes.saturating_sub(*embedded);
        let said = |number: usize, state: &ConversationState| {
            let hidden = hidden.get(&number).map_or(0, |hidden| hidden.len() as u64);
            state.nodes.saturating_sub(state.erased + hidden)
        };
        let backlog: u64 = states.iter().zip(&embedded).map(missing).sum();
        let mut always = list.with_losses();
        always.extend(states.iter().position(|state| first == Some(&state.id)));
        if backlog <= MAX_BACKLOG_PIECES {
            let behind = states.iter().zip(&embedded).enumerate().filter(|(_, of)| missing(*of) > 0);
            always.extend(behind.map(|(number, _)| number));
        }
        let titles: Vec<f32> = states.iter().map(|state| self.words.title_share(state, &weighed)).collect();
        let evidence = ShortlistEvidence { question: &weighed, titles: &titles, nearest: nearest.as_ref() };
        let chosen = list.choose(evidence, &always);
        let others: Vec<usize> = (0..states.len()).filter(|number| chosen.binary_search(number).is_err()).collect();
        let sum = |of: &dyn Fn(usize) -> Option<u64>| {
            usize::try_from(others.iter().filter_map(|number| of(*number)).sum::<u64>()).unwrap_or(usize::MAX)
        };
        let beyond = OutsidePool {
            messages: sum(&|number| states.get(number).map(|state| said(number, state))),
            embedded: sum(&|number| {
                let of = (states.get(number)?, embedded.get(number)?);
                Some(said(number, of.0).saturating_sub(missing(of)))
            }),
        };
        Ok(Shortlisted { chosen, question: weighed, beyond, failed })
    }

    /// Indices of the disabled nodes of each conversation that has some, unless the filter admits these.
    async fn hidden(
        &self,
        states: &[ConversationState],
        filter: &Filter,
    ) -> Result<BTreeMap<usize, Vec<usize>>, StoreError> {
        let mut hidden = BTreeMap::new();
        for (number, state) in states.iter().enumerate().filter(|(_, state)| state.disabled > 0 && !filter.disabled) {
            let outline = self.source.outline(&state.id).await?;
            let of = outline.iter().enumerate().filter(|(_, node)| node.is_disabled).map(|(index, _)| index).collect();
            hidden.insert(number, of);
        }
        Ok(hidden)
    }

    /// Conversations of a scope with the tags of a filter, in order of id. Notes are left out, because most of them
    /// are outdated texts, which no index should hold.
    async fn resolve(&self, scope: &Scope, filter: &Filter) -> Result<Vec<ConversationState>, RetrieveError> {
        let mut states = scope.states(&*self.source).await?;
        states.retain(|state| filter.admits_tags(&state.tags) && !state.is_of_notes());
        Ok(states)
    }
}

/// Conversations of a large scope that were chosen.
struct Shortlisted {
    /// Numbers of the conversations, in order.
    chosen: Vec<usize>,
    /// Words of the question, weighted over the whole scope.
    question: Weighed,
    beyond: OutsidePool,
    /// Why the vectors could not be searched.
    failed: Option<VectorError>,
}

/// Ranked nodes of a scope.
struct Ranked<'a> {
    ranking: Ranking,
    late: Option<Late<'a>>,
    cross_encoder: Option<&'a CrossEncoder>,
    reads: Reads<'a>,
    notices: Vec<Notice>,
    stopwatch: Stopwatch,
}

impl Ranked<'_> {
    /// The best nodes. If token vectors or the cross-encoder fail, the ranking does without them and a notice states
    /// it.
    async fn hits(
        &mut self,
        question: &str,
        limit: usize,
        wanted: impl Fn(&ConversationId, NodeId) -> bool,
    ) -> Result<Vec<Candidate>, RetrieveError> {
        let Self { ranking, late, cross_encoder, reads, notices, stopwatch } = self;
        let read = cross_encoder.map_or(0, |encoder| encoder.options.candidates);
        let mut hits = match ranking.hits(limit.max(read), &wanted, late.as_ref(), stopwatch).await {
            Ok((hits, 0)) => hits,
            Ok((hits, left_out)) => {
                let why = format!("{left_out} of the best candidates have no token vectors; {HOW_TO_CATCH_UP}");
                push_new(notices, Notice::TokensNotCompared { why });
                hits
            }
            Err(failed) => {
                push_new(notices, Notice::TokensNotCompared { why: in_full(&failed) });
                ranking.hits(limit.max(read), &wanted, None, stopwatch).await?.0
            }
        };
        if let Some(encoder) = cross_encoder {
            // A cross-encoder would prefer them.
            let repeats: Vec<_> = hits.extract_if(.., |hit| hit.repeats_question).collect();
            match encoder.rerank(reads, &ends_of(question), &mut hits).await {
                Ok(read) => stopwatch.end("rerank", read),
                Err(failed) => push_new(notices, Notice::NotReranked { why: in_full(&failed) }),
            }
            hits.extend(repeats.into_iter().filter(|_| encoder.options.min_score.is_none()));
        }
        hits.truncate(limit);
        Ok(hits)
    }

    /// Hits with their messages; `None` if one was lost since it was indexed, so that the hits must be chosen again.
    async fn read(&mut self, hits: Vec<Candidate>) -> Result<Option<Vec<Hit>>, RetrieveError> {
        let nodes = hits.iter().map(|hit| (&hit.conversation, NodeRange::single(hit.node)));
        if !self.reads.are_there(self.ranking.pool_mut(), nodes).await? {
            return Ok(None);
        }
        Ok(Some(hits.iter().filter_map(|hit| self.reads.hit(hit)).collect()))
    }
}

impl Retriever for HybridRetriever {
    fn search<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Retrieved, RetrieveError>> {
        Box::pin(async move {
            if query.text.trim().is_empty() {
                return Ok(Retrieved::default().notices(vec![Notice::EmptyQuestion]));
            }
            let mut ranked = self.rank(&query.text, &query.scope, &query.filter, None).await?;
            // New hits may be lost too. The loop ends because a conversation with a lost hit is read completely.
            let mut best: Option<f32> = None;
            let mut hits = loop {
                let mut hits = ranked.hits(&query.text, query.limit, |_, _| true).await?;
                best = best.into_iter().chain(hits.iter().map(|hit| hit.relevance)).reduce(f32::max);
                hits.retain(|hit| hit.relevance >= query.min_relevance);
                if let Some(hits) = ranked.read(hits).await? {
                    break hits;
                }
            };
            let Ranked { ranking, mut notices, stopwatch, .. } = ranked;
            notices.extend(ranking.pool().notices());
            put_corrections_first(&mut hits);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..=100")]
            let percent = |best: f32| (best * 100.0).round() as u8;
            let nothing = best.filter(|best| *best < LIKELY);
            notices.extend(nothing.map(|best| Notice::NothingLikely { best_percent: percent(best) }));
            Ok(Retrieved::new(hits).notices(notices).steps(stopwatch.steps()))
        })
    }

    fn recall<'a>(&'a self, request: &'a RecallRequest) -> BoxFuture<'a, Result<Recall, RetrieveError>> {
        Box::pin(self.recalled(request))
    }

    fn catch_up<'a>(
        &'a self,
        conversation: &'a ConversationId,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<IndexReport, RetrieveError>> {
        Box::pin(async move {
            let state = self.source.conversation(conversation).await?;
            if state.is_of_notes() {
                return Ok(IndexReport::default());
            }
            self.words.heed_erasures(&state);
            let nodes = state.nodes;
            let vectors = self.semantic.vectors();
            // Saved blocks are loaded first, so that their nodes need not be read from the store.
            self.words.load(&*self.indexed, conversation, nodes).await?;
            let words_missing = nodes.saturating_sub(self.words.through(conversation));
            let vectors_missing = vectors.as_ref().map_or(0, |v| nodes.saturating_sub(v.all_through(conversation)));
            let mut steps = Steps { progress, before: 0, total: words_missing + vectors_missing };
            let (indexed, words) = self.words.catch_up(&*self.indexed, conversation, nodes, 0, &steps).await?;
            // The report includes nodes that were lost since their words were saved.
            if indexed.read().restored() > 0 {
                indexed.check(&*self.source, conversation).await?;
            }
            let losses = indexed.read().losses().notice(conversation);
            let mut report = IndexReport::default().words(words).notices(Vec::from_iter(losses));
            steps.before = words_missing;
            let embedded = match vectors {
                Ok(vectors) => {
                    let embedded = vectors.catch_up(&*self.indexed, conversation, &indexed, nodes, &steps).await;
                    if embedded.is_ok() {
                        vectors.index.prepare(conversation, progress).await?;
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

    fn held(&self) -> Vec<CachedInMemory> {
        std::iter::once(self.words.in_memory()).chain(self.semantic.held()).collect()
    }
}

/// Combines several steps of work into one progress.
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
