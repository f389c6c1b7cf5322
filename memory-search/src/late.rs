//! Late interaction: scores candidates by the token vectors of question and node (MaxSim).

use std::collections::HashMap;

use memory_core::{
    ConversationId, ModelId, NodeId, NodeRange,
    port::{EmbedError, RetrieveError, Source, TokenAnswer, TokenEmbedder, TokenIndex, TokenPart, TokenVectors},
};

use crate::lexical::indexed_text;

/// Maximum nodes per question whose missing token vectors are computed, and maximum bytes of their texts together: some
/// 4,000 tokens, a tenth of a second or two on two cores.
const MAX_RECOMPUTED: usize = 32;
const MAX_RECOMPUTED_BYTES: usize = 16 << 10;

/// Minimum length of a sum of unit vectors that has a direction.
const SHORTEST_SUM: f32 = 1e-3;

/// Token vectors of a question, with the sources of nodes' token vectors.
#[derive(Debug)]
pub(crate) struct Late<'a> {
    pub(crate) question: TokenVectors,
    pub(crate) index: &'a dyn TokenIndex,
    pub(crate) embedder: &'a dyn TokenEmbedder,
    pub(crate) source: &'a dyn Source,
    /// Nodes whose tokens count for nothing.
    pub(crate) hidden: HashMap<ConversationId, Vec<NodeId>>,
}

/// Late-interaction scores by pool index.
#[derive(Debug, Default)]
pub(crate) struct LateScores {
    by_place: HashMap<usize, f32>,
    low: f32,
    width: f32,
    /// Number of best nodes that were not compared, because their token vectors are missing.
    pub(crate) left_out: usize,
}

/// Pool index, conversation and id of a node.
type PoolNode<'a> = (usize, &'a ConversationId, NodeId);

impl Late<'_> {
    /// Scores nodes: for each of the question's tokens the largest cosine with one of the node's tokens (MaxSim;
    /// Khattab and Zaharia, "ColBERT", 2020), averaged with the inverse document frequency of the token among these
    /// conversations as weight. Missing token vectors of the nodes in `best` are computed, best first, within the
    /// limits above. Nodes without token vectors have no score.
    pub(crate) async fn scores(&self, nodes: &[PoolNode<'_>], best: &[usize]) -> Result<LateScores, RetrieveError> {
        let mut by_conversation: Vec<(&ConversationId, Vec<usize>, Vec<NodeId>)> = Vec::new();
        for (place, conversation, node) in nodes {
            match by_conversation.iter_mut().find(|(id, ..)| id == conversation) {
                Some((_, places, nodes)) => {
                    places.push(*place);
                    nodes.push(*node);
                }
                None => by_conversation.push((conversation, vec![*place], vec![*node])),
            }
        }
        let mut parts = Vec::with_capacity(by_conversation.len());
        for (conversation, _, nodes) in &by_conversation {
            let hidden = self.hidden.get(*conversation).map_or(&[][..], Vec::as_slice);
            parts.push(TokenPart::new(conversation, nodes).without(hidden));
        }
        let answer = self.index.max_cosines(&self.question, &parts).await?;
        let weights = weights(&answer);
        let places = by_conversation.iter().flat_map(|(_, places, _)| places.iter().copied());
        let scored = places.zip(&answer.max_cosines);
        let mut scores: HashMap<usize, f32> =
            scored.filter_map(|(place, cosines)| Some((place, weighted(cosines.as_ref()?, &weights)))).collect();
        let (recomputed, left_out) = self.recomputed(nodes, best, &scores).await?;
        for (place, tokens) in recomputed {
            scores.insert(place, weighted(&max_cosines(&self.question, &tokens), &weights));
        }
        Ok(LateScores { left_out, ..LateScores::new(scores) })
    }

    /// Computes token vectors of the best nodes that have none in the index. Also returns how many nodes exceeded the
    /// limits.
    async fn recomputed(
        &self,
        nodes: &[PoolNode<'_>],
        best: &[usize],
        scores: &HashMap<usize, f32>,
    ) -> Result<(Vec<(usize, TokenVectors)>, usize), RetrieveError> {
        let (mut places, mut texts, mut bytes, mut left_out) = (Vec::new(), Vec::new(), 0, 0);
        for place in best.iter().filter(|place| !scores.contains_key(place)) {
            let Some((_, conversation, node)) = nodes.iter().find(|(at, ..)| at == place) else { continue };
            // The index covers this node, so it has no tokens.
            if self.index.stats(conversation).through >= node.get() {
                continue;
            }
            if left_out > 0 || places.len() == MAX_RECOMPUTED {
                left_out += 1;
                continue;
            }
            let read = self.source.whole_nodes(conversation, NodeRange::single(*node)).await?;
            let Some(text) = read.nodes.first().filter(|node| !node.is_erased).map(|node| indexed_text(&node.message))
            else {
                continue;
            };
            bytes += text.len();
            if bytes > MAX_RECOMPUTED_BYTES {
                left_out += 1;
                continue;
            }
            places.push(*place);
            texts.push(text);
        }
        if texts.is_empty() {
            return Ok((Vec::new(), left_out));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let made = self.embedder.embed_documents_with_tokens(&texts).await?;
        let mut tokens = Vec::with_capacity(made.len());
        for (place, chunks) in places.into_iter().zip(made) {
            let mut all = Pooled::default();
            chunks.iter().try_for_each(|chunk| all.add(self.embedder.model(), &chunk.tokens))?;
            let all = all.vectors();
            if !all.is_empty() {
                tokens.push((place, all));
            }
        }
        Ok((tokens, left_out))
    }
}

/// One vector for each distinct token of a text, in order of first occurrence: the mean direction of its vectors. This
/// halves the vectors of a long text and hardly changes the scores (on pooling in general see Clavié and others,
/// "Reducing the Footprint of Multi-Vector Retrieval", 2024). The size is bounded by the vocabulary.
#[derive(Debug, Default)]
pub(crate) struct Pooled {
    dimensions: usize,
    rows: HashMap<u32, usize>,
    ids: Vec<u32>,
    /// Sum of the vectors of each id.
    sums: Vec<f32>,
}

impl Pooled {
    /// Adds the tokens of the next chunk.
    ///
    /// # Errors
    /// If its vectors have other dimensions than earlier ones.
    pub(crate) fn add(&mut self, model: &ModelId, chunk: &TokenVectors) -> Result<(), EmbedError> {
        if self.ids.is_empty() {
            self.dimensions = chunk.dimensions();
        }
        let dimensions = self.dimensions;
        if !chunk.is_empty() && chunk.dimensions() != dimensions {
            let what = "token vectors of different dimensions".to_owned();
            return Err(EmbedError::BadOutput { model: model.clone(), what });
        }
        for (id, vector) in chunk.iter() {
            let row = *self.rows.entry(id).or_insert(self.ids.len());
            if row == self.ids.len() {
                self.ids.push(id);
                self.sums.extend_from_slice(vector);
            } else if let Some(sum) = self.sums.get_mut(row * dimensions..(row + 1) * dimensions) {
                sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
            }
        }
        Ok(())
    }

    /// Vectors of all added tokens.
    pub(crate) fn vectors(self) -> TokenVectors {
        let Self { dimensions, ids, mut sums, .. } = self;
        let (mut kept, mut row) = (Vec::with_capacity(ids.len()), 0);
        for (at, id) in ids.into_iter().enumerate() {
            let here = at * dimensions..(at + 1) * dimensions;
            let sum = sums.get(here.clone()).unwrap_or_default();
            let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
            // The index rejects NaN; a vector without direction is dropped.
            if length.is_nan() || length > SHORTEST_SUM {
                kept.push(id);
                sums.copy_within(here, row * dimensions);
                let unit = sums.get_mut(row * dimensions..(row + 1) * dimensions);
                unit.into_iter().flatten().for_each(|component| *component /= length);
                row += 1;
            }
        }
        sums.truncate(row * dimensions);
        TokenVectors::new(kept, dimensions, sums).unwrap_or_default()
    }
}

fn weighted(cosines: &[f32], weights: &[f32]) -> f32 {
    let sum: f32 = weights.iter().sum();
    cosines.iter().zip(weights).map(|(cosine, weight)| cosine * weight).sum::<f32>() / sum.max(f32::MIN_POSITIVE)
}

/// For each token of the question, the largest cosine with a token of the text.
fn max_cosines(question: &TokenVectors, text: &TokenVectors) -> Vec<f32> {
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let largest = |token: &[f32]| text.iter().map(|(_, other)| cosine(token, other)).fold(-1.0, f32::max);
    question.iter().map(|(_, token)| largest(token)).collect()
}

/// Inverse document frequency of each of the question's tokens.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more than 24 bits")]
fn weights(answer: &TokenAnswer) -> Vec<f32> {
    let nodes = answer.nodes as f32;
    answer.nodes_with.iter().map(|&with| ((nodes - with as f32 + 0.5) / (with as f32 + 0.5)).ln_1p()).collect()
}

impl LateScores {
    fn new(by_place: HashMap<usize, f32>) -> Self {
        let low = by_place.values().copied().fold(f32::INFINITY, f32::min);
        let high = by_place.values().copied().fold(f32::NEG_INFINITY, f32::max);
        Self { by_place, low, width: high - low, left_out: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Scores of all `count` nodes of the pool, normalized to 0..=1 over the scored nodes; 0 for the others.
    pub(crate) fn all(&self, count: usize) -> Vec<f32> {
        let mut all = vec![0.0; count];
        for &place in self.by_place.keys() {
            if let Some(score) = all.get_mut(place) {
                *score = self.at(place);
            }
        }
        all
    }

    /// Score of a node as it is, −1..=1; `None` if it was not scored.
    pub(crate) fn raw(&self, place: usize) -> Option<f32> {
        self.by_place.get(&place).copied()
    }

    /// Score of a node, normalized to 0..=1 over the scored nodes; NaN if it was not scored.
    pub(crate) fn at(&self, place: usize) -> f32 {
        let stretch = |score: &f32| if self.width > 0.0 { (score - self.low) / self.width } else { 0.0 };
        self.by_place.get(&place).map_or(f32::NAN, stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_stretched_and_unknown_ones_are_not_numbers() {
        let scores = LateScores::new(HashMap::from([(3, 0.2), (5, 0.6), (9, 0.3)]));
        assert!((scores.at(9) - 0.25).abs() < 1e-6);
        assert_eq!((scores.at(3), scores.at(5)), (0.0, 1.0));
        assert!(scores.at(4).is_nan() && scores.len() == 3);
        assert_eq!(scores.all(7), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let one = LateScores::new(HashMap::from([(3, 0.2)]));
        assert_eq!(one.at(3), 0.0);
    }

    fn pooled(chunks: &[&TokenVectors]) -> TokenVectors {
        let mut pooled = Pooled::default();
        chunks.iter().for_each(|chunk| pooled.add(&ModelId::new("m"), chunk).unwrap());
        pooled.vectors()
    }

    #[test]
    fn equal_tokens_are_pooled() {
        let half = 0.5_f32.sqrt();
        let tokens = TokenVectors::new(vec![7, 3, 7], 2, vec![1.0, 0.0, 0.0, -1.0, 0.0, 1.0]).unwrap();
        let first = TokenVectors::new(vec![7], 2, vec![1.0, 0.0]).unwrap();
        let rest = TokenVectors::new(vec![3, 7], 2, vec![0.0, -1.0, 0.0, 1.0]).unwrap();
        let all = pooled(&[&tokens]);
        assert_eq!(all, pooled(&[&first, &rest]), "however a text is cut");
        assert_eq!(all.ids(), [7, 3]);
        let expected = [half, half, 0.0, -1.0];
        assert!(all.components().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{all:?}");
    }

    #[test]
    fn opposite_tokens_leave_nothing_that_could_be_kept() {
        let tokens = TokenVectors::new(vec![7, 7, 9], 2, vec![1.0, 0.0, -1.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(pooled(&[&tokens]), TokenVectors::new(vec![9], 2, vec![0.0, 1.0]).unwrap());
    }

    #[test]
    fn a_rare_token_weighs_more() {
        let answer = TokenAnswer::new(Vec::new()).nodes_with(vec![1, 50, 100]).nodes(100);
        let weights = weights(&answer);
        assert!(weights[0] > weights[1] && weights[1] > weights[2] && weights[2] > 0.0, "{weights:?}");
    }
}
