//! Ranks all nodes of the searched conversations.

mod pool;

use std::collections::{BTreeSet, HashMap, HashSet};

use memory_core::{
    ConversationId, NodeId, Role,
    port::{RetrieveError, Score, ScoreScale, Signal},
};

use crate::{
    features::{AROUND, Evidence, Extractor, Feature, Features, Placement, Scale, around},
    fuse::{Column, Fused},
    late::{Late, LateScores},
    lexical::{Talk, Traits},
    question::Question,
    ranker::{Fitted, Ranker},
    relevance::{Bearing, Relevance},
    selection::Selection,
    stopwatch::Stopwatch,
};

pub(crate) use self::pool::{Pool, PooledConversation};

/// Candidates for the ranker, the best by a cheap sum; more if more hits are requested.
const CANDIDATES: usize = 300;

/// Minimum and maximum candidates to compare by token vectors, the best by the other features. In between, the number
/// is that of requested hits, because packing reaches far down the ranking.
const LATE_CANDIDATES: usize = 64;
const MOST_LATE_CANDIDATES: usize = 200;

/// Weights of the cheap sum, tuned for recall of ten hits over chats of two people, chats with an agent, and meetings.
/// Recall is flat around them.
const WINDOW_PART: f32 = 0.4;
const WORDS_PART: f32 = 0.1;
const COSINE_PART: f32 = 0.5;
const WORDS_AROUND_PART: f32 = 0.2;
const COSINE_AROUND_PART: f32 = 0.2;
const DATE_PART: f32 = 0.3;

/// Score that a title with all words of the question adds to each node of its conversation, if several conversations
/// are searched: about a third of the score of the same words in and around the node. Not fitted, because no evaluation
/// data has titles.
const OF_TITLE: f32 = 1.5;

/// Factor of the neighbours' probabilities that are added to a node's own in a conversation of more than two people,
/// where an answer runs over several turns. Between two people it would be a loss.
const OF_NEIGHBOURS: f32 = 0.2;

/// Minimum share of the question in a message that repeats it, and maximum length of the message relative to the
/// question's, if it is a question as well.
const REPEATED: f32 = 0.9;
const REPEATED_LENGTH: f32 = 1.25;

/// Score that a message loses for repeating the question: about the range of all scores.
const OF_REPEAT: f32 = 10.0;

/// Name of the signal of a node that answers one that repeats the question.
pub(crate) const ANSWERS_QUESTION: &str = "answers_question";

/// Maximum messages, such as calls of tools and their results, between a question and its answer.
const REACH_OF_ANSWER: usize = 16;

/// Conversations that are searched as one, with a score for each of their nodes.
///
/// Document frequencies, average length and normalization cover all of them, so that scores of different conversations
/// are comparable.
#[derive(Debug)]
pub(crate) struct Ranking {
    pool: Pool,
    selection: Selection,
    question: Question,
    evidence: Evidence,
    placements: Vec<Placement>,
    fused: Fused,
    with_vectors: f32,
    fitted: &'static Fitted,
}

/// A ranked node whose message is not read yet.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) conversation: ConversationId,
    pub(crate) node: NodeId,
    pub(crate) score: Score,
    /// Probability that the node is relevant to the question.
    pub(crate) relevance: f32,
    /// True if the node says the question and nothing else.
    pub(crate) repeats_question: bool,
    /// Signals, the largest share first.
    pub(crate) signals: Vec<Signal>,
}

#[derive(Debug)]
struct Scored {
    candidate: usize,
    /// Kind of its conversation.
    talk: Talk,
    score: f32,
    signals: Vec<Signal>,
    /// Part in a repetition of the question.
    repeat: Repeat,
}

/// Part of a node in a repetition of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    None,
    /// Repeats the question, and so is no evidence.
    Asks,
    /// Answers the candidate, which repeats the question.
    Answers(usize),
}

impl Ranking {
    /// Ranks the nodes of a pool by words, by cosine, or by both.
    ///
    /// The weight of cosines is proportional to the share of nodes that have one, because normalization would otherwise
    /// make the best of a few count as the best of all.
    pub(crate) fn new(
        pool: Pool,
        selection: Selection,
        question: &str,
        mut evidence: Evidence,
        cosines: Option<Vec<f32>>,
        fitted: &'static Fitted,
    ) -> Self {
        let question = Question::of(question);
        let placements = pool.placements();
        evidence.date = pool.dates(&question);
        evidence.chat_around = around(&placements, &evidence.chat, AROUND);
        let mut columns = Vec::new();
        let mut add =
            |weight: f32, floor: Option<f32>, values: Vec<f32>| columns.push(Column { weight, floor, values });
        if !evidence.window.is_empty() {
            add(WINDOW_PART, Some(0.0), evidence.window.clone());
            add(WORDS_PART, Some(0.0), evidence.agent.clone());
            add(WORDS_AROUND_PART, Some(0.0), evidence.chat_around.clone());
        }
        if !evidence.date.is_empty() {
            add(DATE_PART, Some(0.0), evidence.date.clone());
        }
        let mut with_vectors = 0.0;
        if let Some(values) = cosines {
            with_vectors = measured_part(&values, pool.readable());
            evidence.cosine_around = around(&placements, &values, AROUND);
            evidence.cosine.clone_from(&values);
            add(COSINE_AROUND_PART * with_vectors, None, evidence.cosine_around.clone());
            add(COSINE_PART * with_vectors, None, values);
        }
        Self { question, evidence, placements, fused: Fused::of(columns), with_vectors, fitted, pool, selection }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// The `limit` best selected nodes that `wanted` accepts, best first, ties by conversation and node. With `late`,
    /// the best by the other features are also compared by token vectors, and the rest count as the lowest of these.
    /// Also returns how many could not be compared because token vectors are missing.
    pub(crate) async fn hits(
        &self,
        limit: usize,
        wanted: impl Fn(&ConversationId, NodeId) -> bool,
        late: Option<&Late<'_>>,
        stopwatch: &mut Stopwatch,
    ) -> Result<(Vec<Candidate>, usize), RetrieveError> {
        let mut features = self.features(limit.max(CANDIDATES), wanted);
        stopwatch.end("features", features.len());
        let (mut late_scores, mut left_out) = (None, 0);
        if let Some(late) = late.filter(|_| self.with_vectors > 0.0) {
            let compare = limit.clamp(LATE_CANDIDATES, MOST_LATE_CANDIDATES);
            let compared = self.late(&mut features, late, compare).await?;
            stopwatch.end("late", compared.len());
            left_out = compared.left_out;
            late_scores = Some(compared).filter(|compared| compared.len() > 0);
        }
        let late = late_scores.as_ref();
        let scored = self.scores(&features, late.is_some());
        let best = scored.first().map_or(0.0, |best| best.score);
        let all = scored.iter().map(|scored| (scored.score - best).exp()).sum::<f32>().ln();
        let relevance = Relevance::new(self.fitted, self.with_vectors > 0.0, late.is_some());
        let hit = |Scored { candidate, talk, score: value, mut signals, repeat }| {
            let (conversation, node) = self.pool.place(candidate)?;
            let score = Score { value, scale: ScoreScale::Fused };
            let bearing = match repeat {
                Repeat::Answers(other) => self.bearing(candidate, late).max(self.bearing(other, late)),
                _ => self.bearing(candidate, late),
            };
            let repeats_question = repeat == Repeat::Asks;
            let relevance = if repeats_question || self.question.asks_nothing {
                0.0
            } else {
                relevance.of(talk, value - best, value - best - all, bearing)
            };
            bearing.signals().for_each(|signal| add_signal(&mut signals, signal));
            Some(Candidate { conversation: conversation.clone(), node, score, relevance, repeats_question, signals })
        };
        Ok((scored.into_iter().take(limit).filter_map(hit).collect(), left_out))
    }

    /// Evidence that a candidate bears on the question, whatever else is in the pool.
    fn bearing(&self, candidate: usize, late: Option<&LateScores>) -> Bearing {
        let Self { evidence, .. } = self;
        let here = |values: &[f32]| values.get(candidate).copied().filter(|value| !value.is_nan()).unwrap_or_default();
        Bearing {
            coverage: here(&evidence.coverage),
            coverage_window: here(&evidence.coverage_window),
            heard: evidence.heard,
            cosine: here(&evidence.cosine).max(0.0),
            late: late.and_then(|late| late.raw(candidate)).unwrap_or_default().max(0.0),
        }
    }

    /// Features of the best candidates by the cheap sum.
    fn features(&self, limit: usize, wanted: impl Fn(&ConversationId, NodeId) -> bool) -> Vec<(usize, Features)> {
        // A candidate must contain a word of the question or be next to a node that does, match its time, or be nearer
        // in meaning than the farthest node.
        let is_any = |values: &[f32], at: usize| values.get(at).is_some_and(|value| *value > 0.0);
        // 0 if all are equal.
        let farthest = Scale::of(self.evidence.cosine.iter().copied()).low;
        let is_near = |at: usize| self.evidence.cosine.get(at).is_some_and(|cosine| *cosine > farthest);
        let bears_on = |at| is_any(&self.evidence.window, at) || is_any(&self.evidence.date, at) || is_near(at);
        let is_wanted = |candidate| {
            self.selection.admits(candidate)
                && bears_on(candidate)
                && self.pool.place(candidate).is_some_and(|(conversation, node)| wanted(conversation, node))
        };
        let mut candidates = self.fused.best(limit, is_wanted);
        let answers = candidates.iter().filter(|candidate| self.repeats_question(**candidate));
        let answers: Vec<_> = answers.filter_map(|repeat| self.answer_to(*repeat)).collect();
        for answer in answers {
            if is_wanted(answer) && !candidates.contains(&answer) {
                candidates.push(answer);
            }
        }
        let extractor = Extractor::new(&self.evidence, &self.question, &self.placements);
        // Searching for speakers' names takes time, so it is done once per conversation.
        let mut named: HashMap<usize, Option<u32>> = HashMap::new();
        let features = candidates.into_iter().filter_map(|candidate| {
            let part = self.pool.part(candidate)?;
            let postings = part.indexed.read();
            let table = postings.node_table();
            let named = *named.entry(part.begin).or_insert_with(|| self.question.named_speaker(table));
            let traits = table.traits().get(candidate - part.begin)?;
            Some((candidate, extractor.features(*self.placements.get(candidate)?, traits, table, named)))
        });
        features.collect()
    }

    /// Adds late-interaction features to the best `compare` candidates; returns the scores.
    async fn late(
        &self,
        features: &mut [(usize, Features)],
        late: &Late<'_>,
        compare: usize,
    ) -> Result<LateScores, RetrieveError> {
        let placements = &self.placements;
        let best: Vec<usize> =
            self.scores(features, false).into_iter().take(compare).map(|scored| scored.candidate).collect();
        let beside = |&candidate: &usize| {
            let placement = placements.get(candidate);
            placement
                .into_iter()
                .flat_map(|placement| [placement.before, Some(placement.index), placement.after])
                .flatten()
        };
        let places: BTreeSet<usize> = best.iter().flat_map(beside).collect();
        let node = |place| self.pool.place(place).map(|(conversation, node)| (place, conversation, node));
        let nodes: Vec<_> = places.into_iter().filter_map(node).collect();
        let scores = late.scores(&nodes, &best).await?;
        if scores.len() == 0 {
            return Ok(scores);
        }
        let sessions = Extractor::late_sessions(placements, &scores);
        let best: HashSet<usize> = best.into_iter().collect();
        for (candidate, features) in features.iter_mut().filter(|(candidate, _)| best.contains(candidate)) {
            if let Some(placement) = placements.get(*candidate) {
                Extractor::add_late(features, *placement, &scores, &sessions);
            }
        }
        Ok(scores)
    }

    /// Candidates with scores and signals, best first.
    fn scores(&self, features: &[(usize, Features)], with_tokens: bool) -> Vec<Scored> {
        let rankers = Talk::ALL.map(|talk| Ranker::new(self.fitted, talk, self.with_vectors, with_tokens));
        let unmeasured = means(features);
        let score = |(candidate, features): &(usize, Features)| {
            let &PooledConversation { talk, title, .. } = self.pool.part(*candidate)?;
            let (mut score, mut signals) = rankers.get(talk as usize)?.score(features, &unmeasured);
            if title > 0.0 {
                score += OF_TITLE * title;
                add_signal(&mut signals, Signal::new("title", title, OF_TITLE * title));
            }
            Some(Scored { candidate: *candidate, talk, score, signals, repeat: Repeat::None })
        };
        let mut scored: Vec<_> = features.iter().filter_map(score).collect();
        self.add_neighbours(&mut scored);
        self.put_answers_first(&mut scored);
        scored.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.candidate.cmp(&b.candidate)));
        scored
    }

    /// Adds the share [`OF_NEIGHBOURS`] of the neighbours' probabilities to the probability of each node in a group.
    /// Probabilities are proportional to the exponentials of the scores, as in the fit.
    fn add_neighbours(&self, scored: &mut [Scored]) {
        let in_groups = scored.iter().filter(|scored| scored.talk == Talk::Group);
        let before: HashMap<usize, f32> = in_groups.map(|scored| (scored.candidate, scored.score)).collect();
        for Scored { candidate, score, signals, .. } in scored {
            let Some(own) = before.get(candidate) else { continue };
            let placement = self.placements.get(*candidate);
            let beside = placement.into_iter().flat_map(|place| [place.before, place.after]).flatten();
            let chances: f32 = beside.filter_map(|place| before.get(&place)).map(|other| (other - own).exp()).sum();
            let share = (OF_NEIGHBOURS * chances).ln_1p();
            if share > 0.0 {
                *score += share;
                add_signal(signals, Signal::new("neighbours", chances, share));
            }
        }
    }

    /// Puts nodes that answer one that repeats the question above all others, and that one below.
    fn put_answers_first(&self, scored: &mut [Scored]) {
        let repeats =
            scored.iter().map(|scored| scored.candidate).filter(|candidate| self.repeats_question(*candidate));
        let repeats: HashSet<usize> = repeats.collect();
        if repeats.is_empty() {
            return;
        }
        let best = scored.iter().map(|scored| scored.score).fold(f32::NEG_INFINITY, f32::max);
        let answers: HashMap<usize, usize> =
            repeats.iter().filter_map(|repeat| Some((self.answer_to(*repeat)?, *repeat))).collect();
        for Scored { candidate, score, signals, repeat, .. } in scored {
            let (name, share);
            if repeats.contains(candidate) {
                (name, share, *repeat) = ("repeats_question", -OF_REPEAT, Repeat::Asks);
            } else if let Some(asked) = answers.get(candidate) {
                (name, share, *repeat) = (ANSWERS_QUESTION, best - *score, Repeat::Answers(*asked));
            } else {
                continue;
            }
            *score += share;
            add_signal(signals, Signal::new(name, 1.0, share));
        }
    }

    /// True if a node asks the question and does nothing else. A statement in the words of a query is what was looked
    /// for.
    fn repeats_question(&self, candidate: usize) -> bool {
        if self.evidence.coverage.get(candidate).is_none_or(|coverage| *coverage < REPEATED) {
            return false;
        }
        let (Some(part), Some(placement)) = (self.pool.part(candidate), self.placements.get(candidate)) else {
            return false;
        };
        let postings = part.indexed.read();
        let table = postings.node_table();
        let Some(traits) = table.traits().get(candidate - part.begin) else { return false };
        // The indexed text begins with the speaker.
        let name = table.speakers().find(|(number, _)| *number == traits.speaker);
        let name = name.map_or(1, |(_, name)| name.split_whitespace().count());
        let said = (placement.length as usize).saturating_sub(name);
        let asked = self.question.length as usize;
        #[expect(clippy::cast_precision_loss, reason = "counts of words")]
        let is_as_short = said as f32 <= REPEATED_LENGTH * asked as f32 + 1.0;
        traits.is_question && is_as_short
    }

    /// The node that answers one that repeats the question: the next by another speaker in the session, tools aside.
    fn answer_to(&self, candidate: usize) -> Option<usize> {
        let part = self.pool.part(candidate)?;
        let answer = {
            let postings = part.indexed.read();
            let traits = |place: usize| postings.node_table().traits().get(place.checked_sub(part.begin)?);
            let voice = |traits: &Traits| (traits.speaker, traits.role);
            let is_aside =
                |traits: &Traits| traits.is_own_tool || matches!(traits.role, None | Some(Role::Tool | Role::System));
            let asked = traits(candidate)?;
            let after = std::iter::successors(Some(candidate), |place| self.placements.get(*place)?.after);
            let mut after = after.skip(1).take(REACH_OF_ANSWER).filter_map(|place| Some((place, traits(place)?)));
            let (place, next) = after.find(|(_, traits)| !is_aside(traits))?;
            (voice(next) != voice(asked)).then_some(place)?
        };
        (!self.repeats_question(answer)).then_some(answer)
    }
}

/// Inserts a signal in order of its share.
fn add_signal(signals: &mut Vec<Signal>, signal: Signal) {
    let at = signals.partition_point(|other| other.share.total_cmp(&signal.share).is_ge());
    signals.insert(at, signal);
}

/// Mean of each feature over the nodes for which it was measured; 0 for late features, which are measured only for the
/// best.
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

/// Number of values that are not NaN, as a share of the readable nodes, in 0..=1.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more than 24 bits")]
fn measured_part(values: &[f32], readable: usize) -> f32 {
    let measured = values.iter().filter(|value| !value.is_nan()).count();
    (measured as f32 / readable.max(1) as f32).min(1.0)
}
