//! Late interaction: the tokens of a question against those of candidates.

use std::collections::HashMap;

use memory_core::{ConversationId, NodeId, TokenAnswer, TokenIndex, TokenPart, TokenVectors, VectorError};

/// The tokens of a question, and where those of nodes are.
#[derive(Debug)]
pub(crate) struct Late<'a> {
    pub(crate) question: TokenVectors,
    pub(crate) index: &'a dyn TokenIndex,
}

/// How well the tokens of nodes answer those of a question, by the nodes' places in the pool.
#[derive(Debug, Default)]
pub(crate) struct LateScores {
    by_place: HashMap<usize, f32>,
    low: f32,
    width: f32,
}

impl Late<'_> {
    /// Scores nodes, given as place, conversation and node: the sum over the question's tokens of the largest cosine with
    /// one of the node's (MaxSim; Khattab and Zaharia, "ColBERT", 2020), each weighted by how rare its number is among
    /// the nodes of these conversations, divided by the sum of the weights. Nodes whose tokens are not kept have none.
    pub(crate) async fn scores(&self, nodes: &[(usize, &ConversationId, NodeId)]) -> Result<LateScores, VectorError> {
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
        let part = |(conversation, _, nodes)| TokenPart { conversation, nodes };
        let parts: Vec<_> = by_conversation.iter().map(|(id, places, nodes)| part((*id, places, nodes))).collect();
        let answer = self.index.max_cosines(&self.question, &parts).await?;
        let weights = weights(&answer);
        let sum: f32 = weights.iter().sum();
        let score = |cosines: &Vec<f32>| {
            let weighted = cosines.iter().zip(&weights).map(|(cosine, weight)| cosine * weight);
            weighted.sum::<f32>() / sum.max(f32::MIN_POSITIVE)
        };
        let places = by_conversation.iter().flat_map(|(_, places, _)| places.iter().copied());
        let scored = places.zip(&answer.max_cosines).filter_map(|(place, cosines)| Some((place, score(cosines.as_ref()?))));
        Ok(LateScores::new(scored.collect()))
    }
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
        Self { by_place, low, width: high - low }
    }

    /// Whether nothing was scored.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// The score of a node, stretched to 0..=1 over all that were scored; NaN for one that was not.
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
        assert!(scores.at(4).is_nan() && !scores.is_empty());
        let one = LateScores::new(HashMap::from([(3, 0.2)]));
        assert_eq!(one.at(3), 0.0);
        assert!(LateScores::default().is_empty());
    }

    #[test]
    fn a_rare_token_weighs_more() {
        let answer = TokenAnswer { max_cosines: Vec::new(), nodes_with: vec![1, 50, 100], nodes: 100 };
        let weights = weights(&answer);
        assert!(weights[0] > weights[1] && weights[1] > weights[2] && weights[2] > 0.0, "{weights:?}");
    }
}
