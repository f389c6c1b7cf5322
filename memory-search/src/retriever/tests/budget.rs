//! Budgets of a recall: in characters, and by the complexity of a question.

use super::*;

#[test]
fn a_budget_in_characters_is_a_hard_ceiling() {
    let store = store();
    let retriever = by_words(&store);
    let length = |node: u64| TALK[usize::try_from(node).unwrap() - 1].chars().count();
    let characters = |recall: &Recall| -> usize {
        recall.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter()).map(|node| length(node.get())).sum()
    };
    let best = nodes(&in_talk(&retriever, "Who brings the cello to the hall?"))[0];
    for max in 0..200 {
        let recalled = recall(&retriever, "Who brings the cello to the hall?", |request| {
            request.max_characters = Some(max);
            request.limit = 6;
            request.radius = 1;
        });
        assert!(characters(&recalled) <= max as usize, "{max}: {:?}", runs(&recalled));
        let shows =
            |node: u64| recalled.excerpts.iter().any(|excerpt| excerpt.nodes.contains(NodeId::new(node).unwrap()));
        assert_eq!(shows(best), max as usize >= length(best), "{max}: the best hit is shown wherever it fits");
    }
}

#[test]
fn a_budget_in_characters_reads_no_more_than_the_tokens_allow() {
    let store = store();
    append(&store, "talk", (0..2_000).map(|n| Message::user(format!("remark {n}"))));
    let retriever = by_words(&store);
    in_talk(&retriever, "cello");
    let before = store.nodes_read();
    let recalled = recall(&retriever, "Who brings the cello?", |request| {
        request.max_tokens = 18 * 10;
        request.max_characters = Some(1_000_000);
        request.radius = 1_000_000;
    });
    assert!(recalled.excerpts[0].nodes.count() > 5, "{recalled:?}");
    let read = store.nodes_read() - before;
    assert!(read <= 20, "{read} of 2,006 messages read for room for ten");
}

#[test]
fn a_simple_question_gets_its_share_and_a_complex_one_gets_all() {
    let store = store();
    let retriever = by_words(&store);
    let shown = |question: &str, least_share: f32| {
        let recalled = recall(&retriever, question, |request| {
            request.least_share = least_share;
            request.max_tokens = 6 * 18;
            request.limit = 6;
            request.radius = 6;
        });
        recalled.excerpts.iter().map(|excerpt| excerpt.nodes.count()).sum::<u64>()
    };
    assert_eq!(shown("Who has a cello?", 1.0), 6);
    assert_eq!(shown("Who has a cello?", 0.5), 3);
    assert_eq!(shown("List the cello, the piano, the library and all booking of Maya, Tom, Ines and Ada", 0.5), 6);
    assert_eq!(shown("Who has a cello?", f32::NAN), 6);
}
