//! Every node of the conversations that are searched, in order of how well it answers.

use std::sync::Arc;

use memory_core::{ConversationId, Hit, Losses, NodeId, Score, ScoreScale};

use crate::{
    fuse::{Column, Fused},
    lexical::{Bm25, Collection, Indexed, Postings, QuestionTerm},
};

/// The parts of the signals in the sum: tuned for recall of ten hits over chats of two people, chats with an agent and
/// meetings alike; the figures are flat around them.
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
    fused: Fused,
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

/// What words say of every node of a pool.
#[derive(Debug)]
pub(crate) struct WordScores {
    words: Vec<f32>,
    window: Vec<f32>,
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

    /// How many nodes can be read.
    pub(crate) fn readable(&self) -> usize {
        let lost = |part: &Part| usize::try_from(part.losses.count()).unwrap_or(usize::MAX);
        self.parts.iter().map(|part| part.nodes.saturating_sub(lost(part))).sum()
    }

    /// Says of each conversation which nodes cannot be read.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| part.losses.notice(&part.conversation))
    }

    /// Scores every node by words; `None` where the question has no terms.
    pub(crate) fn word_scores(&self, terms: Vec<Box<str>>) -> Option<WordScores> {
        if terms.is_empty() {
            return None;
        }
        let guards: Vec<_> = self.parts.iter().map(|part| part.indexed.read()).collect();
        let all = guards.iter().fold(Collection::default(), |all, postings| all.with(postings));
        let weigh = |text: Box<str>| {
            let nodes_with: u64 = guards.iter().map(|postings| u64::from(postings.nodes_with(&text))).sum();
            (nodes_with > 0).then(|| QuestionTerm { idf: all.idf(nodes_with), text })
        };
        let mut terms: Vec<_> = terms.into_iter().filter_map(weigh).collect();
        terms.sort_by(|a, b| b.idf.total_cmp(&a.idf));
        terms.truncate(MAX_TERMS);
        let each = |score: &dyn Fn(&Postings) -> Vec<f32>| {
            let parts = self.parts.iter().zip(&guards);
            parts.flat_map(|(part, postings)| score(postings).into_iter().take(part.nodes)).collect()
        };
        Some(WordScores {
            words: each(&|postings| Bm25::AGENT.scores(postings, &terms, all)),
            window: each(&|postings| Bm25::CHAT.window_scores(postings, &terms, all)),
        })
    }

    /// Conversation and node of a candidate; `None` where it cannot be read.
    fn place(&self, candidate: usize) -> Option<(&ConversationId, NodeId)> {
        let next = self.parts.partition_point(|part| part.begin <= candidate);
        let part = self.parts.get(next.checked_sub(1)?)?;
        let node = NodeId::from_index(candidate - part.begin);
        (!part.losses.contains(node)).then_some((&part.conversation, node))
    }
}

impl Ranking {
    /// Fuses what is known of the nodes of a pool: by words, by cosine, or by both.
    ///
    /// The cosines weigh in proportion to how many nodes have one: the best of a few is no find, and stretching would
    /// make it count as the best of all.
    pub(crate) fn new(pool: Pool, words: Option<WordScores>, cosines: Option<Vec<f32>>) -> Self {
        let mut columns = Vec::new();
        if let Some(WordScores { words, window }) = words {
            columns.push(Column { name: "window", weight: WINDOW_PART, floor: Some(0.0), values: window });
            columns.push(Column { name: "words", weight: WORDS_PART, floor: Some(0.0), values: words });
        }
        if let Some(values) = cosines {
            let weight = COSINE_PART * measured_part(&values, pool.readable());
            columns.push(Column { name: "cosine", weight, floor: None, values });
        }
        Self { pool, fused: Fused::of(columns) }
    }

    /// What was ranked.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The `limit` best of the nodes that `wanted` lets through, best first; equal ones in order of conversation and
    /// node.
    pub(crate) fn hits(&self, limit: usize, wanted: impl Fn(NodeId) -> bool) -> Vec<Hit> {
        let best = self.fused.best(limit, |candidate| self.pool.place(candidate).is_some_and(|(_, node)| wanted(node)));
        best.into_iter().filter_map(|candidate| self.hit(candidate)).collect()
    }

    fn hit(&self, candidate: usize) -> Option<Hit> {
        let (conversation, node) = self.pool.place(candidate)?;
        let value = *self.fused.scores.get(candidate)?;
        Some(Hit {
            conversation: conversation.clone(),
            node,
            score: Score { value, scale: ScoreScale::Fused },
            signals: self.fused.signals(candidate),
        })
    }
}

/// How many of the values are not NaN, as a part of the nodes that can be read, 0..=1.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more than 24 bits")]
fn measured_part(values: &[f32], readable: usize) -> f32 {
    let measured = values.iter().filter(|value| !value.is_nan()).count();
    (measured as f32 / readable.max(1) as f32).min(1.0)
}
