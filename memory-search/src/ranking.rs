//! Every node of the conversations that are searched, in order of how well it answers.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use memory_core::{ConversationId, Hit, Losses, NodeId, RetrieveError, Score, ScoreScale, Signal};

use crate::{
    features::{Evidence, Extractor, Feature, Features, Setting},
    fuse::{Column, Fused},
    late::Late,
    lexical::{Bm25, Collection, Coverage, Indexed, QuestionTerm},
    question::Question,
    ranker::Ranker,
    selection::Selection,
    stopwatch::Stopwatch,
};

/// Nodes that the ranker looks at, best by a cheap sum; more only where more hits are asked for.
const CANDIDATES: usize = 200;

/// Nodes that are compared by their tokens, best by the other features: so many for a few hits, and as many as hits are
/// asked for up to a bound, since what is packed reaches far down.
const LATE_CANDIDATES: usize = 64;
const MOST_LATE_CANDIDATES: usize = 200;

/// The parts of the signals in the cheap sum: tuned for recall of ten hits over chats of two people, chats with an agent
/// and meetings alike; the figures are flat around them.
const WINDOW_PART: f32 = 0.4;
const WORDS_PART: f32 = 0.1;
const COSINE_PART: f32 = 0.5;

/// Terms of a question that are looked for, the rarest first: a page that someone pastes need not be looked up whole.
const MAX_TERMS: usize = 64;

/// Conversations that are searched as if they were one, and a score for each of their nodes.
///
/// The rarity of a term and the average length are those of all of them together, and each signal is stretched over
/// all of them, so that the scores of different conversations compare.
#[derive(Debug)]
pub(crate) struct Ranking {
    pool: Pool,
    selection: Selection,
    question: Question,
    evidence: Evidence,
    fused: Fused,
    with_vectors: f32,
}

/// The nodes of several conversations in one row, each conversation once.
#[derive(Debug)]
pub(crate) struct Pool {
    parts: Vec<Part>,
}

/// A conversation in a pool.
#[derive(Debug)]
pub(crate) struct Part {
    /// The conversation.
    pub(crate) conversation: ConversationId,
    /// Its words.
    pub(crate) indexed: Arc<Indexed>,
    /// How many of its nodes are in the pool: all, from the first, that were indexed when the pool was made.
    pub(crate) nodes: usize,
    /// Those of them that cannot be read: no hits, though their neighbours' words and old vectors may score them.
    pub(crate) losses: Losses,
    /// The place of its first node.
    begin: usize,
}

impl Part {
    /// The places of its nodes.
    pub(crate) fn places(&self) -> Range<usize> {
        self.begin..self.begin + self.nodes
    }
}

impl Pool {
    /// All that is indexed of these conversations by now.
    pub(crate) fn new(conversations: Vec<(ConversationId, Arc<Indexed>)>) -> Self {
        let mut begin = 0;
        let parts = conversations.into_iter().map(|(conversation, indexed)| {
            let (nodes, losses) = {
                let postings = indexed.read();
                (postings.lengths().len(), postings.losses().clone())
            };
            let part = Part { conversation, indexed, nodes, losses, begin };
            begin += nodes;
            part
        });
        Self { parts: parts.collect() }
    }

    /// The conversations in order.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Sees which nodes are known by now to be lost.
    pub(crate) fn refresh(&mut self) {
        self.parts.iter_mut().for_each(|part| part.losses.clone_from(part.indexed.read().losses()));
    }

    /// How many nodes can be read.
    pub(crate) fn readable(&self) -> usize {
        let lost = |part: &Part| usize::try_from(part.losses.count()).unwrap_or(usize::MAX);
        self.parts.iter().map(|part| part.nodes.saturating_sub(lost(part))).sum()
    }

    /// Says of each conversation which nodes cannot be read.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| part.losses.notice(&part.conversation))
    }

    /// What words say of every node; nothing where the question has no terms.
    pub(crate) fn words(&self, terms: Vec<Box<str>>) -> Evidence {
        if terms.is_empty() {
            return Evidence::default();
        }
        let guards: Vec<_> = self.parts.iter().map(|part| part.indexed.read()).collect();
        let all = guards.iter().fold(Collection::default(), |all, postings| all.with(postings));
        let mut total = 0.0;
        let weigh = |text: Box<str>| {
            let nodes_with: u64 = guards.iter().map(|postings| u64::from(postings.nodes_with(&text))).sum();
            let idf = all.idf(nodes_with);
            total += idf;
            (nodes_with > 0).then_some(QuestionTerm { idf, text })
        };
        let mut terms: Vec<_> = terms.into_iter().filter_map(weigh).collect();
        terms.sort_by(|a, b| b.idf.total_cmp(&a.idf));
        terms.truncate(MAX_TERMS);
        let mut evidence = Evidence::default();
        for (part, postings) in self.parts.iter().zip(&guards) {
            let add = |to: &mut Vec<f32>, of_part: Vec<f32>| to.extend(of_part.into_iter().take(part.nodes));
            add(&mut evidence.chat, Bm25::CHAT.scores(postings, &terms, all));
            add(&mut evidence.agent, Bm25::AGENT.scores(postings, &terms, all));
            add(&mut evidence.window, Bm25::CHAT.window_scores(postings, &terms, all));
            let coverage = Coverage::of(postings, &terms, total);
            add(&mut evidence.coverage, coverage.node);
            add(&mut evidence.coverage_window, coverage.window);
        }
        evidence
    }

    /// Where each node stands.
    fn settings(&self) -> Vec<Setting> {
        let mut settings: Vec<Setting> = Vec::new();
        for part in &self.parts {
            let postings = part.indexed.read();
            let before = settings.last().map_or(0, |last| last.session + 1);
            let nodes = postings.cast().traits().iter().zip(postings.lengths()).take(part.nodes);
            for (offset, (traits, &length)) in nodes.enumerate() {
                let (index, session) = (part.begin + offset, before + traits.session as usize);
                let mut here = Setting { index, before: None, after: None, session, length };
                if let Some(last) = settings.last_mut().filter(|last| last.session == session) {
                    here.before = Some(last.index);
                    last.after = Some(index);
                }
                settings.push(here);
            }
        }
        settings
    }

    /// Whether most of the conversations are with an agent. One sum ranks them all, so that scores compare.
    fn is_with_agent(&self) -> bool {
        let with_agent = self.parts.iter().filter(|part| part.indexed.read().cast().is_with_agent()).count();
        2 * with_agent >= self.parts.len()
    }

    fn part(&self, candidate: usize) -> Option<&Part> {
        let next = self.parts.partition_point(|part| part.begin <= candidate);
        self.parts.get(next.checked_sub(1)?)
    }

    /// Conversation and node of a candidate; `None` where it cannot be read.
    fn place(&self, candidate: usize) -> Option<(&ConversationId, NodeId)> {
        let part = self.part(candidate)?;
        let node = NodeId::from_index(candidate - part.begin);
        (!part.losses.contains(node)).then_some((&part.conversation, node))
    }
}

impl Ranking {
    /// Ranks the nodes of a pool by what is known of them: by words, by cosine, or by both.
    ///
    /// The cosines weigh in proportion to how many nodes have one: the best of a few is no find, and stretching would
    /// make it count as the best of all.
    pub(crate) fn new(
        pool: Pool,
        selection: Selection,
        question: &str,
        mut evidence: Evidence,
        cosines: Option<Vec<f32>>,
    ) -> Self {
        let mut columns = Vec::new();
        if !evidence.window.is_empty() {
            let (window, words) = (evidence.window.clone(), evidence.agent.clone());
            columns.push(Column { weight: WINDOW_PART, floor: Some(0.0), values: window });
            columns.push(Column { weight: WORDS_PART, floor: Some(0.0), values: words });
        }
        let mut with_vectors = 0.0;
        if let Some(values) = cosines {
            with_vectors = measured_part(&values, pool.readable());
            evidence.cosine.clone_from(&values);
            columns.push(Column { weight: COSINE_PART * with_vectors, floor: None, values });
        }
        Self { question: Question::of(question), evidence, fused: Fused::of(columns), with_vectors, pool, selection }
    }

    /// What was ranked.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What was ranked, to be [refreshed](Pool::refresh).
    pub(crate) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// The `limit` best of the selected nodes that `wanted` lets through, best first; equal ones in order of conversation
    /// and node. The best by their other features are compared by their tokens too, if `late` can do that; the others
    /// count as the least of those.
    pub(crate) async fn hits(
        &self,
        limit: usize,
        wanted: impl Fn(NodeId) -> bool,
        late: Option<&Late<'_>>,
        stopwatch: &mut Stopwatch,
    ) -> Result<Vec<Hit>, RetrieveError> {
        let settings = self.pool.settings();
        let mut features = self.features(&settings, limit.max(CANDIDATES), wanted);
        stopwatch.end("features", features.len());
        let late = match late {
            Some(late) if self.with_vectors > 0.0 => {
                let compare = limit.clamp(LATE_CANDIDATES, MOST_LATE_CANDIDATES);
                let compared = self.late(&settings, &mut features, late, compare).await?;
                stopwatch.end("late", compared);
                compared > 0
            }
            _ => false,
        };
        let mut scored = self.scores(&features, late);
        scored.truncate(limit);
        let hit = |(candidate, value, signals)| {
            let (conversation, node) = self.pool.place(candidate)?;
            let score = Score { value, scale: ScoreScale::Fused };
            Some(Hit { conversation: conversation.clone(), node, score, signals })
        };
        Ok(scored.into_iter().filter_map(hit).collect())
    }

    /// The features of the best candidates by a cheap sum.
    fn features(&self, settings: &[Setting], limit: usize, wanted: impl Fn(NodeId) -> bool) -> Vec<(usize, Features)> {
        let is_wanted = |candidate| {
            self.selection.admits(candidate) && self.pool.place(candidate).is_some_and(|(_, node)| wanted(node))
        };
        let candidates = self.fused.best(limit, is_wanted);
        let extractor = Extractor::new(&self.evidence, &self.question, settings);
        let features = candidates.into_iter().filter_map(|candidate| {
            let part = self.pool.part(candidate)?;
            let postings = part.indexed.read();
            let traits = postings.cast().traits().get(candidate - part.begin)?;
            Some((candidate, extractor.features(*settings.get(candidate)?, traits, postings.cast())))
        });
        features.collect()
    }

    /// Adds what tokens say to the features of the best so many candidates; gives of how many nodes they said anything.
    async fn late(
        &self,
        settings: &[Setting],
        features: &mut [(usize, Features)],
        late: &Late<'_>,
        compare: usize,
    ) -> Result<usize, RetrieveError> {
        let best: Vec<usize> =
            self.scores(features, false).into_iter().take(compare).map(|(candidate, ..)| candidate).collect();
        let beside = |&candidate: &usize| {
            let setting = settings.get(candidate);
            setting.into_iter().flat_map(|setting| [setting.before, Some(setting.index), setting.after]).flatten()
        };
        let places: BTreeSet<usize> = best.iter().flat_map(beside).collect();
        let node = |place| self.pool.place(place).map(|(conversation, node)| (place, conversation, node));
        let nodes: Vec<_> = places.into_iter().filter_map(node).collect();
        let scores = late.scores(&nodes, &best).await?;
        if scores.len() == 0 {
            return Ok(0);
        }
        let sessions = Extractor::late_sessions(settings, &scores);
        let best: HashSet<usize> = best.into_iter().collect();
        for (candidate, features) in features.iter_mut().filter(|(candidate, _)| best.contains(candidate)) {
            if let Some(setting) = settings.get(*candidate) {
                Extractor::add_late(features, *setting, &scores, &sessions);
            }
        }
        Ok(scores.len())
    }

    /// Candidates with their scores and signals, the best first.
    fn scores(&self, features: &[(usize, Features)], with_tokens: bool) -> Vec<(usize, f32, Vec<Signal>)> {
        let ranker = Ranker::new(self.pool.is_with_agent(), self.with_vectors, with_tokens);
        let unmeasured = means(features);
        let score = |(candidate, features): &(usize, Features)| {
            let (score, signals) = ranker.score(features, &unmeasured);
            (*candidate, score, signals)
        };
        let mut scored: Vec<_> = features.iter().map(score).collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scored
    }
}

/// The mean of each feature over the nodes of which it was measured; the least of one that is measured of the best alone.
fn means(features: &[(usize, Features)]) -> Features {
    let mut means = [0.0; Feature::ALL.len()];
    let columns = means.iter_mut().zip(Feature::ALL).enumerate();
    for (column, (mean, _)) in columns.filter(|(_, (_, feature))| !feature.is_late()) {
        let values = features.iter().filter_map(|(_, features)| features.get(column)).filter(|value| !value.is_nan());
        let (sum, count) = values.fold((0.0, 0.0f32), |(sum, count), value| (sum + value, count + 1.0));
        *mean = sum / count.max(1.0);
    }
    means
}

/// How many of the values are not NaN, as a part of the nodes that can be read, 0..=1.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more than 24 bits")]
fn measured_part(values: &[f32], readable: usize) -> f32 {
    let measured = values.iter().filter(|value| !value.is_nan()).count();
    (measured as f32 / readable.max(1) as f32).min(1.0)
}
