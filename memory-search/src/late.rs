//! Late interaction: scores candidates by the token vectors of question and node (MaxSim).

use std::collections::HashMap;

use memory_core::{
    ConversationId, EmbedError, ModelId, NodeId, NodeRange, RetrieveError, Source, TokenAnswer, TokenEmbedder,
    TokenIndex, TokenPart, TokenVectors,
};

use crate::lexical::indexed_text;

/// Maximum nodes whose missing token vectors are computed for a question, and maximum bytes of their texts together:
/// some 4,000 tokens, a tenth of a second or two on two cores.
const MAX_RECOMPUTED: usize = 32;
const MAX_RECOMPUTED_BYTES: usize = 16 << 10;

/// A sum of unit vectors that is not longer than this has no direction.
const SHORTEST_SUM: f32 = 1e-3;

/// The token vectors of a question, and the sources of those of nodes.
#[derive(Debug)]
pub(crate) struct Late<'a> {
    pub(crate) question: TokenVectors,
    pub(crate) index: &'a dyn TokenIndex,
    pub(crate) embedder: &'a dyn TokenEmbedder,
    pub(crate) source: &'a dyn Source,
}

/// Late-interaction scores by pool index.
#[derive(Debug, Default)]
pub(crate) struct LateScores {
    by_place: HashMap<usize, f32>,
    low: f32,
    width: f32,
    /// Of the best nodes, those that were not compared because their token vectors are missing.
    pub(crate) left_out: usize,
}

/// A node: its pool index, conversation and id.
type Placed<'a> = (usize, &'a ConversationId, NodeId);

impl Late<'_> {
    /// Scores nodes: the sum over the question's tokens of the largest cosine with one of the node's tokens (MaxSim;
    /// Khattab and Zaharia, "ColBERT", 2020), weighted by inverse document frequency of the token among the nodes of
    /// these conversations, divided by the sum of the weights. Missing token vectors of the nodes in `best` are
    /// computed, best first, within the limits above. Nodes without any have no score.
    pub(crate) async fn scores(&self, nodes: &[Placed<'_>], best: &[usize]) -> Result<LateScores, RetrieveError> {
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
        let parts: Vec<_> =
            by_conversation.iter().map(|(conversation, _, nodes)| TokenPart::new(conversation, nodes)).collect();
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

    /// Computes the token vectors of those of the best nodes that have none in the index. Gives also how many were too
    /// many for a question.
    async fn recomputed(
        &self,
        nodes: &[Placed<'_>],
        best: &[usize],
        scores: &HashMap<usize, f32>,
    ) -> Result<(Vec<(usize, TokenVectors)>, usize), RetrieveError> {
        let (mut places, mut texts, mut bytes, mut left_out) = (Vec::new(), Vec::new(), 0, 0);
        for place in best.iter().filter(|place| !scores.contains_key(place)) {
            let Some((_, conversation, node)) = nodes.iter().find(|(at, ..)| at == place) else { continue };
            // The index has covered this node: it has no tokens.
            if self.index.stats(conversation).through >= node.get() {
                continue;
            }
            if left_out > 0 || places.len() == MAX_RECOMPUTED {
                left_out += 1;
                continue;
            }
            let read = self.source.readable_nodes(conversation, NodeRange::single(*node)).await?;
            let Some(text) = read.nodes.first().map(|node| indexed_text(&node.message)) else { continue };
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
            let all = joined(self.embedder.model(), chunks.iter().map(|chunk| &chunk.tokens))?;
            if !all.is_empty() {
                tokens.push((place, all));
            }
        }
        Ok((tokens, left_out))
    }
}

/// The token vectors of all chunks of a text, pooled by token id.
pub(crate) fn joined<'a>(
    model: &ModelId,
    chunks: impl Iterator<Item = &'a TokenVectors>,
) -> Result<TokenVectors, EmbedError> {
    let mut all = TokenVectors::default();
    for chunk in chunks {
        let what = || "token vectors of different dimensions".to_owned();
        all.append(chunk).ok_or_else(|| EmbedError::BadOutput { model: model.clone(), what: what() })?;
    }
    Ok(pooled(&all))
}

/// One vector for each distinct token of a text, in order of first occurrence: the mean direction of its vectors. This
/// halves the vectors of a long text and hardly changes the scores (for pooling in general see Clavié and others,
/// "Reducing the Footprint of Multi-Vector Retrieval", 2024).
fn pooled(tokens: &TokenVectors) -> TokenVectors {
    let dimensions = tokens.dimensions();
    let mut rows: HashMap<u32, usize> = HashMap::with_capacity(tokens.len());
    let (mut ids, mut components): (Vec<u32>, Vec<f32>) = (Vec::new(), Vec::new());
    for (id, vector) in tokens.iter() {
        let row = *rows.entry(id).or_insert(ids.len());
        if row == ids.len() {
            ids.push(id);
            components.extend_from_slice(vector);
        } else if let Some(sum) = components.get_mut(row * dimensions..(row + 1) * dimensions) {
            sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
        }
    }
    let (mut kept_ids, mut kept) = (Vec::with_capacity(ids.len()), Vec::with_capacity(components.len()));
    for (id, sum) in ids.into_iter().zip(components.chunks_exact(dimensions.max(1))) {
        let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
        // NaN is left for the index to reject; a vector without direction is dropped.
        if length.is_nan() || length > SHORTEST_SUM {
            kept_ids.push(id);
            kept.extend(sum.iter().map(|component| component / length));
        }
    }
    TokenVectors::new(kept_ids, dimensions, kept).unwrap_or_default()
}

fn weighted(cosines: &[f32], weights: &[f32]) -> f32 {
    let sum: f32 = weights.iter().sum();
    cosines.iter().zip(weights).map(|(cosine, weight)| cosine * weight).sum::<f32>() / sum.max(f32::MIN_POSITIVE)
}

/// For each token of the question, its largest cosine with a token of the text.
fn max_cosines(question: &TokenVectors, text: &TokenVectors) -> Vec<f32> {
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let largest = |token: &[f32]| text.iter().map(|(_, other)| cosine(token, other)).fold(-1.0, f32::max);
    question.iter().map(|(_, token)| largest(token)).collect()
}

/// The inverse document frequency of each of the question's tokens.
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

    /// How many nodes were scored.
    pub(crate) fn len(&self) -> usize {
        self.by_place.len()
    }

    /// The scores of all `count` nodes of the pool, normalized to 0..=1 over the scored nodes; 0 for the others.
    pub(crate) fn all(&self, count: usize) -> Vec<f32> {
        let mut all = vec![0.0; count];
        for &place in self.by_place.keys() {
            if let Some(score) = all.get_mut(place) {
                *score = self.at(place);
            }
        }
        all
    }

    /// The score of a node, normalized to 0..=1 over the scored nodes; NaN if it was not scored.
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

    #[test]
    fn equal_tokens_are_pooled() {
        let half = 0.5_f32.sqrt();
        let tokens = TokenVectors::new(vec![7, 3, 7], 2, vec![1.0, 0.0, 0.0, -1.0, 0.0, 1.0]).unwrap();
        let pooled = pooled(&tokens);
        assert_eq!(pooled.ids(), [7, 3]);
        let expected = [half, half, 0.0, -1.0];
        assert!(pooled.components().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{pooled:?}");
    }

    #[test]
    fn opposite_tokens_leave_nothing_that_could_be_kept() {
        let tokens = TokenVectors::new(vec![7, 7, 9], 2, vec![1.0, 0.0, -1.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(pooled(&tokens).ids(), [9]);
    }

    #[test]
    fn a_rare_token_weighs_more() {
        let answer = TokenAnswer::new(Vec::new()).nodes_with(vec![1, 50, 100]).nodes(100);
        let weights = weights(&answer);
        assert!(weights[0] > weights[1] && weights[1] > weights[2] && weights[2] > 0.0, "{weights:?}");
    }
}
