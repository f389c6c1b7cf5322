//! Tests of late interaction: token vectors are saved with the vectors, computed where they are missing, and never fail
//! a search.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use memory_core::{
    NodeSet,
    port::{RerankError, ScoreScale, TokenAnswer, TokenIndexStats, TokenPart, TokenVectors, VectorError},
};

use super::{
    fakes::{CountingEmbedder, MemoryBlocks},
    *,
};

/// Stores tokens unchanged, and fails on request.
#[derive(Debug)]
pub(super) struct KeptTokens {
    model: ModelId,
    nodes: Mutex<BTreeMap<ConversationId, Vec<TokenVectors>>>,
    fails: AtomicBool,
    refuses: AtomicBool,
    is_full: AtomicBool,
}

fn failure() -> VectorError {
    VectorError::Backend { backend: "test", source: "broken".into() }
}

impl KeptTokens {
    pub(super) fn of(embedder: &dyn Embedder) -> Arc<Self> {
        Arc::new(Self {
            model: embedder.model().clone(),
            nodes: Mutex::default(),
            fails: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
        })
    }

    fn through(&self, conversation: &str) -> u64 {
        self.stats(&id(conversation)).through
    }

    fn forget(&self) {
        self.nodes.lock().unwrap().clear();
    }
}

impl TokenIndex for KeptTokens {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn stats(&self, conversation: &ConversationId) -> TokenIndexStats {
        let through = self.nodes.lock().unwrap().get(conversation).map_or(0, Vec::len) as u64;
        TokenIndexStats::default().through(through)
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, TokenVectors)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move {
            if self.refuses.load(Ordering::Relaxed) {
                return Err(failure());
            }
            let mut all = self.nodes.lock().unwrap();
            let kept = all.entry(conversation.clone()).or_default();
            for (node, tokens) in nodes {
                assert_eq!(node.index(), kept.len());
                kept.push(tokens.clone());
            }
            Ok(())
        })
    }

    fn remove<'a>(&'a self, _: &'a ConversationId, _: &'a NodeSet) -> BoxFuture<'a, Result<u64, VectorError>> {
        Box::pin(async { Ok(0) })
    }

    fn max_cosines<'a>(
        &'a self,
        question: &'a TokenVectors,
        parts: &'a [TokenPart<'a>],
    ) -> BoxFuture<'a, Result<TokenAnswer, VectorError>> {
        Box::pin(async move {
            if self.fails.load(Ordering::Relaxed) {
                return Err(failure());
            }
            let all = self.nodes.lock().unwrap();
            let mut answer = TokenAnswer::default().nodes_with(vec![1; question.len()]).nodes(6);
            for part in parts {
                let kept = all.get(part.conversation).map_or(&[][..], Vec::as_slice);
                for node in part.nodes {
                    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                    let of_node = |tokens: &TokenVectors| {
                        let best = |a: &[f32]| tokens.iter().map(|(_, b)| dot(a, b)).fold(-1.0, f32::max);
                        question.iter().map(|(_, token)| best(token)).collect()
                    };
                    answer.max_cosines.push(kept.get(node.index()).map(of_node));
                }
            }
            Ok(answer)
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async { if self.is_full.load(Ordering::Relaxed) { Err(failure()) } else { Ok(()) } })
    }
}

struct Setup {
    store: Arc<CountingStore>,
    embedder: Arc<CountingEmbedder>,
    index: Arc<ExactIndex>,
    tokens: Arc<KeptTokens>,
    retriever: HybridRetriever,
}

fn setup() -> Setup {
    let store = store();
    let embedder = Arc::new(CountingEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let tokens = KeptTokens::of(&*embedder);
    let retriever =
        HybridRetriever::new(store.clone(), Some(embedder.clone()), Some(index.clone())).token_index(tokens.clone());
    Setup { store, embedder, index, tokens, retriever }
}

/// The late signal of each hit, by node.
fn late(found: &Retrieved) -> BTreeMap<u64, f32> {
    let signal = |hit: &Hit| hit.signals.iter().find(|signal| signal.name == "late").map(|signal| signal.value);
    found.hits.iter().filter_map(|hit| Some((hit.node.id.get(), signal(hit)?))).collect()
}

#[test]
fn tokens_come_from_the_pass_that_embeds_and_have_a_say() {
    let Setup { store, embedder, tokens, retriever, .. } = setup();
    let found = in_talk(&retriever, "the hall costs how many euros?");
    assert_eq!((tokens.through("talk"), embedder.texts()), (6, 6));
    let late = late(&found);
    assert!(late.get(&3).is_some_and(|value| (value - 1.0).abs() < 1e-6), "{late:?}");
    say(&store, "talk", &["The harpsichord was tuned."]);
    in_talk(&retriever, "harpsichord");
    assert_eq!((tokens.through("talk"), embedder.texts()), (7, 7));
    assert!(found.steps.iter().any(|step| step.name == "late" && step.candidates == 6), "{:?}", found.steps);
}

#[test]
fn catching_up_makes_tokens_that_are_missing() {
    let Setup { embedder, tokens, retriever, .. } = setup();
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    tokens.forget();
    let report = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert_eq!((report.embedded, tokens.through("talk"), embedder.texts()), (6, 6, 12));
    let again = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert_eq!(again, IndexReport::default());
}

#[test]
fn a_question_makes_missing_tokens_of_its_candidates_anew() {
    let Setup { tokens, retriever, .. } = setup();
    let question = "the hall costs how many euros?";
    let before = in_talk(&retriever, question);
    tokens.forget();
    let found = in_talk(&retriever, question);
    assert_eq!(nodes(&found)[0], 3);
    assert_eq!(late(&found)[&3], late(&before)[&3]);
    assert_eq!((found.notices.len(), tokens.through("talk")), (0, 0));
}

#[test]
fn missing_tokens_that_are_too_many_for_a_question_are_told_of() {
    let Setup { store, tokens, retriever, .. } = setup();
    let many: Vec<_> = (0..60).map(|number| format!("The hall of house {number} costs {number} euros.")).collect();
    say(&store, "talk", &many.iter().map(String::as_str).collect::<Vec<_>>());
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    let question = "the hall of house 42 costs how many euros?";
    assert!(in_talk(&retriever, question).notices.is_empty());
    tokens.forget();
    let notices = sentences(&in_talk(&retriever, question).notices);
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    assert!(notice.starts_with("tokens are not compared: ") && notice.contains("have no token vectors"), "{notice}");
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert!(in_talk(&retriever, question).notices.is_empty(), "`memory index` makes them");
}

#[test]
fn tokens_that_fail_stop_no_answer() {
    let Setup { tokens, retriever, .. } = setup();
    tokens.fails.store(true, Ordering::Relaxed);
    let found = in_talk(&retriever, "QX-4471-93B");
    assert_eq!(nodes(&found)[0], 3);
    assert!(late(&found).is_empty());
    assert!(matches!(found.notices[0], Notice::TokensNotCompared { .. }), "{:?}", found.notices);
}

#[test]
fn tokens_that_cannot_be_kept_cost_no_vector() {
    let switches: [fn(&KeptTokens) -> &AtomicBool; 2] = [|tokens| &tokens.refuses, |tokens| &tokens.is_full];
    for which in switches {
        let Setup { store, index, tokens, retriever, .. } = setup();
        which(&tokens).store(true, Ordering::Relaxed);
        let found = in_talk(&retriever, "which booking for the hall?");
        assert_eq!(nodes(&found)[0], 3);
        assert!(found.hits[0].signals.iter().any(|signal| signal.name == "cosine"), "{found:?}");
        let notice = "what was embedded for this question is not kept: vector backend test failed: broken";
        assert_eq!(sentences(&found.notices), [notice]);
        assert_eq!((index.stats(&id("talk")).through, index.unflushed()), (6, 0), "vectors come before tokens");
        say(&store, "talk", &["The harpsichord was tuned."]);
        assert!(pollster::block_on(retriever.catch_up(&id("talk"), &())).is_err());
    }
}

#[test]
fn what_fails_twice_in_one_answer_is_said_once() {
    let Setup { store, tokens, retriever, .. } = setup();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    pollster::block_on(by_words(&store).word_cache(cache.clone()).catch_up(&id("talk"), &())).unwrap();
    tokens.fails.store(true, Ordering::Relaxed);
    store.lose(&id("talk"), 3);
    let found = in_talk(&retriever.word_cache(cache), "booking QX-4471-93B, year, cello");
    let about_tokens = found.notices.iter().filter(|notice| matches!(notice, Notice::TokensNotCompared { .. }));
    assert_eq!((about_tokens.count(), nodes(&found).contains(&3)), (1, false), "{found:?}");
}

#[test]
fn tokens_of_another_model_do_not_count() {
    let store = store();
    let embedder = Arc::new(HashEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let tokens = KeptTokens::of(&HashEmbedder::new(32));
    let retriever = HybridRetriever::new(store, Some(embedder), Some(index)).token_index(tokens.clone());
    assert!(late(&in_talk(&retriever, "QX-4471-93B")).is_empty());
    assert_eq!(tokens.through("talk"), 0);
}

/// Scores every text alike but for those that name a piano.
#[derive(Debug)]
pub(super) struct Pianist(pub(super) ModelId, pub(super) bool);

impl Reranker for Pianist {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    fn rerank<'a>(&'a self, _: &'a str, documents: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<f32>, RerankError>> {
        Box::pin(async move {
            if self.1 {
                return Err(RerankError::new(self.0.clone(), "no memory"));
            }
            Ok(documents.iter().map(|text| if text.contains("piano") { 3.0 } else { -3.0 }).collect())
        })
    }
}

#[test]
fn a_cross_encoder_has_the_last_word() {
    let model = |fails| Arc::new(Pianist(ModelId::new("pianist"), fails));
    let question = "the hall costs how many euros, and what of the piano or the room?";
    let retriever = setup().retriever.reranker(model(false), RerankOptions::default().min_score(-2.0));
    let found = in_talk(&retriever, question);
    assert_eq!(nodes(&found), [6]);
    assert_eq!(found.hits[0].score.scale, ScoreScale::Logit);
    assert!(found.steps.iter().any(|step| step.name == "rerank" && step.candidates > 0), "{:?}", found.steps);
    let retriever = setup().retriever.reranker(model(true), RerankOptions::default());
    let found = in_talk(&retriever, question);
    assert_eq!(nodes(&found)[0], 3);
    let said = found.notices[0].to_string();
    assert!(said.contains("pianist") && said.contains("no memory"), "{said}");
}
