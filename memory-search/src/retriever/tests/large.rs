//! Tests of a conversation too large for exhaustive comparison.

use fastrand::Rng;
use memory_core::{Filter, NodeSet, Role};

use super::*;

const MESSAGES: usize = 6_000;
const WORDS: u32 = 400;

/// Messages of words out of a small vocabulary, some of them the assistant's.
fn talk(store: &MemoryStore) {
    let mut rng = Rng::with_seed(7);
    let message = |index: usize| {
        let words: Vec<_> = (0..rng.usize(4..20)).map(|_| format!("word{}", rng.u32(0..WORDS))).collect();
        let text = words.join(" ");
        if index.is_multiple_of(40) { Message::assistant(text) } else { Message::user(text) }
    };
    append(store, "talk", (0..MESSAGES).map(message));
}

fn questions() -> impl Iterator<Item = String> {
    let mut rng = Rng::with_seed(8);
    (0..20).map(move |_| (0..3).map(|_| format!("word{}", rng.u32(0..WORDS))).collect::<Vec<_>>().join(" "))
}

/// The same conversation compared whole and by its nearest, and how the index was asked for the latter.
fn both() -> [(HybridRetriever, Arc<ExactIndex>); 2] {
    let store = Arc::new(CountingStore::default());
    talk(&store);
    [usize::MAX, MESSAGES - 1].map(|all_up_to| {
        let embedder = Arc::new(HashEmbedder::new(48));
        let index = Arc::new(ExactIndex::of(&*embedder));
        let retriever = HybridRetriever::new(store.clone(), Some(embedder), Some(index.clone()));
        let retriever = retriever.compare_all_up_to(all_up_to);
        pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
        (retriever, index)
    })
}

fn found(retriever: &HybridRetriever, question: &str, filter: &Filter) -> Retrieved {
    let query = Query::new(question, Scope::one(&id("talk"))).limit(10).filter(filter.clone());
    pollster::block_on(retriever.search(&query)).unwrap()
}

#[test]
fn the_nearest_give_the_hits_that_all_give() {
    let [(whole, _), (nearest, asked)] = both();
    for filter in [Filter::default(), Filter::default().roles(vec![Role::Assistant])] {
        let (mut same, mut all) = (0, 0);
        for question in questions() {
            let (expected, got) = (found(&whole, &question, &filter), found(&nearest, &question, &filter));
            let others = |found: &Retrieved| {
                let is_other = |notice: &&Notice| !matches!(notice, Notice::NothingLikely { .. });
                found.notices.iter().filter(is_other).cloned().collect::<Vec<_>>()
            };
            assert_eq!(others(&got), others(&expected));
            all += expected.hits.len();
            same += nodes(&got).iter().filter(|node| nodes(&expected).contains(node)).count();
        }
        assert!(all >= 190 && same * 100 >= all * 95, "{same} of {all}");
    }
    let asked = asked.asked();
    assert!(asked.iter().any(|(limit, _)| *limit == 1_024), "the index was never asked for the nearest");
    assert!(!asked.contains(&(usize::MAX, MESSAGES)), "all were compared after all");
}

#[test]
fn what_has_no_vector_yet_is_not_taken_for_usual() {
    let store = Arc::new(CountingStore::default());
    talk(&store);
    let embedder = Arc::new(HashEmbedder::new(48));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let retriever = HybridRetriever::new(store.clone(), Some(embedder), Some(index)).compare_all_up_to(1_000);
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    append(&store, "talk", (0..MESSAGES).map(|index| Message::user(format!("later {index}"))));
    let got = found(&retriever, "word1 word2", &Filter::default());
    let is_of = |notice: &Notice| matches!(notice, Notice::PartlyEmbedded { embedded, messages, .. } if [*embedded, *messages] == [MESSAGES, 2 * MESSAGES]);
    assert!(got.notices.iter().any(is_of), "{:?}", got.notices);
}

#[test]
fn nodes_that_were_removed_from_the_index_do_no_harm() {
    let [_, (nearest, asked)] = both();
    let question = questions().next().unwrap();
    let best: NodeSet = found(&nearest, &question, &Filter::default()).hits.iter().map(|hit| hit.node.id).collect();
    pollster::block_on(asked.remove(&id("talk"), &best)).unwrap();
    assert_eq!(found(&nearest, &question, &Filter::default()).hits.len(), 10);
}
