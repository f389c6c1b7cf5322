//! Reranking of the best hits by a cross-encoder.

use std::sync::Arc;

use memory_core::{
    NodeRange,
    port::{RerankError, Reranker, RetrieveError, Score, Signal},
};

use crate::{lexical::indexed_text, ranking::Candidate, reads::Reads};

/// Name of the cross-encoder's score among the signals of a hit.
const SIGNAL: &str = "cross_encoder";

/// Options of reranking by a cross-encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RerankOptions {
    /// Number of best hits that the model scores; 50 by default.
    pub candidates: usize,
    /// Minimum score on the model's scale. Hits that score lower, or are not scored, are dropped. `None`, the default,
    /// drops none.
    pub min_score: Option<f32>,
}

impl Default for RerankOptions {
    fn default() -> Self {
        Self { candidates: 50, min_score: None }
    }
}

impl RerankOptions {
    memory_core::setters! {
        const candidates: usize,
        const some min_score: f32,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CrossEncoder {
    model: Arc<dyn Reranker>,
    pub(crate) options: RerankOptions,
}

impl CrossEncoder {
    pub(crate) fn new(model: Arc<dyn Reranker>, options: RerankOptions) -> Self {
        Self { model, options }
    }

    /// Sorts the best hits by the model's scores, before the others, and drops those below the minimum score; returns
    /// the number of messages read. Scores of these hits are on the model's scale; their other signals get a share of
    /// 0. If the model fails, the hits are unchanged.
    pub(crate) async fn rerank(
        &self,
        reads: &mut Reads<'_>,
        question: &str,
        hits: &mut Vec<Candidate>,
    ) -> Result<usize, RetrieveError> {
        let mut texts = Vec::new();
        for hit in hits.iter().take(self.options.candidates) {
            reads.read(&hit.conversation, NodeRange::single(hit.node)).await?;
            texts.push(
                reads
                    .get(&hit.conversation, hit.node)
                    .filter(|node| !node.is_erased)
                    .map(|node| indexed_text(&node.message)),
            );
        }
        let read: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        let scores = if read.is_empty() { Vec::new() } else { self.model.rerank(question, &read).await? };
        if scores.len() != read.len() || scores.iter().any(|score| !score.is_finite()) {
            let source = format!("{} scores for {} texts, all of them finite", scores.len(), read.len());
            return Err(RerankError::new(self.model.model().clone(), source).into());
        }
        let others = hits.split_off(texts.len());
        // A node that was lost since it was ranked is dropped.
        let readable: Vec<_> =
            std::mem::take(hits).into_iter().zip(&texts).filter(|(_, text)| text.is_some()).collect();
        *hits = readable.into_iter().zip(scores).map(|((hit, _), value)| self.scored(hit, value)).collect();
        hits.sort_by(|a, b| b.score.value.total_cmp(&a.score.value));
        match self.options.min_score {
            Some(least) => hits.retain(|hit| hit.score.value >= least),
            None => hits.extend(others),
        }
        Ok(texts.len())
    }

    fn scored(&self, mut hit: Candidate, value: f32) -> Candidate {
        hit.score = Score { value, scale: self.model.scale() };
        hit.signals.iter_mut().for_each(|signal| signal.share = 0.0);
        hit.signals.insert(0, Signal::new(SIGNAL, value, value));
        hit
    }
}

#[cfg(test)]
mod tests;
