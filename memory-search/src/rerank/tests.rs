//! Tests with a cross-encoder that prefers long texts.

use memory_core::{
    ConversationId, Message, ModelId, NodeDraft, NodeId, Timestamp,
    port::{BoxFuture, ScoreScale, Store},
    testing::MemoryStore,
};

use super::*;

/// Scores a text by how many bytes it has above twenty.
#[derive(Debug)]
struct ByLength(ModelId);

impl Reranker for ByLength {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    #[expect(clippy::cast_precision_loss, reason = "short texts")]
    fn rerank<'a>(&'a self, query: &'a str, documents: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<f32>, RerankError>> {
        Box::pin(async move {
            if query == "fail" {
                return Ok(vec![f32::NAN; documents.len()]);
            }
            Ok(documents.iter().map(|text| text.len() as f32 - 20.0).collect())
        })
    }
}

/// Reranks nodes 1 to 5, each longer than the one before; gives number, score and scale of each.
fn rerank(question: &str, options: RerankOptions) -> Result<Vec<(u64, f32, ScoreScale)>, RetrieveError> {
    let store = MemoryStore::default();
    let talk = ConversationId::new("talk").unwrap();
    let said = (1..=5).map(|n| NodeDraft::new(Message::user("x".repeat(n * 4)), Timestamp::from_millis(0), 1));
    pollster::block_on(store.append(&talk, said.collect())).unwrap();
    let hit = |n: u16| Candidate {
        conversation: talk.clone(),
        node: NodeId::new(u64::from(n)).unwrap(),
        score: Score { value: -f32::from(n), scale: ScoreScale::Fused },
        relevance: 0.5,
        repeats_question: false,
        signals: vec![Signal::new("words", 0.5, -f32::from(n))],
    };
    let mut hits: Vec<_> = (1..=5).map(hit).collect();
    let encoder = CrossEncoder::new(Arc::new(ByLength(ModelId::new("long"))), options);
    pollster::block_on(encoder.rerank(&mut Reads::new(&store), question, &mut hits))?;
    for hit in &hits {
        let shares: f32 = hit.signals.iter().map(|signal| signal.share).sum();
        assert!((shares - hit.score.value).abs() < 1e-6, "{hit:?}");
    }
    Ok(hits.iter().map(|hit| (hit.node.get(), hit.score.value, hit.score.scale)).collect())
}

#[test]
fn what_is_read_comes_first_in_the_order_of_its_scores() {
    let found = rerank("what?", RerankOptions::default().candidates(3)).unwrap();
    let (logit, fused) = (ScoreScale::Logit, ScoreScale::Fused);
    assert_eq!(found, [(3, -2.0, logit), (2, -6.0, logit), (1, -10.0, logit), (4, -4.0, fused), (5, -5.0, fused)]);
}

#[test]
fn the_least_score_is_applied_after_reranking() {
    let found = rerank("what?", RerankOptions::default().candidates(4).min_score(-2.0)).unwrap();
    assert_eq!(found, [(4, 2.0, ScoreScale::Logit), (3, -2.0, ScoreScale::Logit)]);
}

#[test]
fn scores_that_are_no_numbers_are_an_error_that_names_the_model() {
    let error = rerank("fail", RerankOptions::default()).unwrap_err();
    assert!(matches!(&error, RetrieveError::Rerank(_)) && error.to_string().contains("long"), "{error}");
}
