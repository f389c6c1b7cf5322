//! Cosines of a conversation's nodes with a question: exact for all nodes, or approximate in a large conversation.

use std::ops::Range;

use memory_core::{
    ConversationId, NodeId, NodeRange, NodeSet,
    port::{AnsweredBy, VectorAnswer, VectorError, VectorHit, VectorIndex, VectorPart, VectorQuery},
};

/// Maximum nodes of a conversation that is compared exhaustively, in a few milliseconds.
pub(crate) const COMPARED_ALL: usize = 20_000;
/// Nearest vectors that the index returns in a larger conversation.
const NEAREST: usize = 1_024;
/// Nodes that are also compared there because they are the best by words.
const BEST_BY_WORDS: usize = 512;
/// Evenly spaced runs of nodes from which the typical cosine of the others is estimated.
const SAMPLED_RUNS: usize = 256;
const SAMPLED_RUN: usize = 4;

/// A vector query in one conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared<'a> {
    pub(crate) index: &'a dyn VectorIndex,
    pub(crate) conversation: &'a ConversationId,
    pub(crate) question: &'a [f32],
    pub(crate) nodes: usize,
}

/// A cosine for each node, and the methods of the index, each once.
pub(crate) type Cosines = (Vec<f32>, Vec<AnsweredBy>);

impl Compared<'_> {
    /// Cosine of every node; NaN for one without a vector.
    pub(crate) async fn all(&self) -> Result<Cosines, VectorError> {
        let answer = self.search(usize::MAX, None).await?;
        Ok((self.of_nodes(&answer.hits), answer.answered_by))
    }

    /// Cosines of the nodes that may be among the best, and of their neighbours; every other node gets the estimated
    /// typical cosine.
    ///
    /// Exact for the nearest nodes that `may_answer` accepts, as far as the index finds them, and for the best nodes by
    /// `words`, which has one score per node or is empty.
    pub(crate) async fn nearest(
        &self,
        words: &[f32],
        may_answer: Option<impl Fn(usize) -> bool>,
    ) -> Result<Cosines, VectorError> {
        let selected = may_answer.as_ref().map(|may_answer| ids((0..self.nodes).filter(|index| may_answer(*index))));
        let found = self.search(NEAREST, selected.as_ref()).await?;
        let by_words = best(words, |index| may_answer.as_ref().is_none_or(|may_answer| may_answer(index)));
        let sampled: Vec<_> = self.sampled().collect();
        let near = found.hits.iter().map(|hit| hit.slot.node.index()).chain(by_words);
        let runs = near.map(|index| index.saturating_sub(1)..(index + 2).min(self.nodes));
        let runs = runs.chain(sampled.iter().cloned()).filter_map(run_of).collect();
        // All chunks of a found node count.
        let exact = self.search(usize::MAX, Some(&NodeSet::of_runs(runs))).await?;
        let mut ways = found.answered_by;
        ways.extend(exact.answered_by);
        ways.dedup();
        let mut cosines = self.of_nodes(&exact.hits);
        let sample = sampled.into_iter().filter_map(|run| cosines.get(run)).flatten().filter(|cosine| !cosine.is_nan());
        let (sum, count) = sample.fold((0.0, 0.0f32), |(sum, count), cosine| (sum + cosine, count + 1.0));
        let usual = sum / count;
        let through = usize::try_from(self.index.stats(self.conversation).through).unwrap_or(usize::MAX);
        cosines.iter_mut().take(through).filter(|cosine| cosine.is_nan()).for_each(|cosine| *cosine = usual);
        Ok((cosines, ways))
    }

    async fn search(&self, limit: usize, only: Option<&NodeSet>) -> Result<VectorAnswer, VectorError> {
        let parts = [VectorPart::new(self.conversation).only(only)];
        self.index.search(&VectorQuery::new(self.question, limit, &parts)).await
    }

    /// The score of a message with several chunks is the mean of its first chunk, which introduces the subject, and its
    /// best chunk. By the best chunk alone, long messages would crowd out short ones.
    fn of_nodes(&self, hits: &[VectorHit]) -> Vec<f32> {
        let mut best = vec![f32::NAN; self.nodes];
        let mut first = vec![f32::NAN; self.nodes];
        for VectorHit { slot, cosine, .. } in hits {
            let index = slot.node.index();
            if let Some(best) = best.get_mut(index) {
                *best = best.max(*cosine);
            }
            if let Some(first) = first.get_mut(index).filter(|_| slot.chunk == 0) {
                *first = *cosine;
            }
        }
        first.into_iter().zip(best).map(|(first, best)| f32::midpoint(first, best)).collect()
    }

    fn sampled(&self) -> impl Iterator<Item = Range<usize>> {
        let begins = (0..self.nodes).step_by((self.nodes / SAMPLED_RUNS).max(1));
        begins.map(|begin| begin..(begin + SAMPLED_RUN).min(self.nodes))
    }
}

/// Indices of the best scores above 0 that `may_answer` accepts.
fn best(scores: &[f32], may_answer: impl Fn(usize) -> bool) -> Vec<usize> {
    let places = scores.iter().enumerate().filter(|(index, score)| **score > 0.0 && may_answer(*index));
    let mut places: Vec<(usize, f32)> = places.map(|(index, score)| (index, *score)).collect();
    if places.len() > BEST_BY_WORDS {
        places.select_nth_unstable_by(BEST_BY_WORDS, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        places.truncate(BEST_BY_WORDS);
    }
    places.into_iter().map(|(index, _)| index).collect()
}

fn ids(indices: impl Iterator<Item = usize>) -> NodeSet {
    indices.map(NodeId::from_index).collect()
}

fn run_of(indices: Range<usize>) -> Option<NodeRange> {
    NodeRange::new(NodeId::from_index(indices.start), NodeId::from_index(indices.end.checked_sub(1)?))
}
