//! Recall from several conversations under one budget.

use memory_core::port::{Conversations, Excerpt};

use super::*;

const QUESTION: &str = "what does the hall cost, and what was the booking?";

/// The talk, and two others that speak of the hall; their messages cost as much as those of the talk.
fn several() -> Arc<CountingStore> {
    let store = store();
    say(
        &store,
        "offers",
        &["Nothing yet.", "The other hall costs 900 euros.", "What does the booking cost?", "Nine euros."],
    );
    say(&store, "a-trip", &["The train was late.", "The hall of the station was cold."]);
    store
}

/// Recalled runs by conversation.
fn found(recall: &Recall) -> Vec<String> {
    recall.excerpts.iter().map(|excerpt| format!("{} {}", excerpt.conversation, excerpt.nodes)).collect()
}

fn from(retriever: &HybridRetriever, others: Conversations, change: impl FnOnce(&mut RecallRequest)) -> Recall {
    recall(retriever, QUESTION, |request| {
        (request.others, request.limit, request.stop_early) = (others, 20, false);
        change(request);
    })
}

#[test]
fn hits_of_other_conversations_come_after_its_own_by_name() {
    let store = several();
    for retriever in [by_words(&store), hybrid(&store).0] {
        let alone = from(&retriever, Conversations::Only(vec![]), |_| ());
        assert!(alone.excerpts.iter().all(|excerpt| excerpt.conversation == id("talk")));
        let every = from(&retriever, Conversations::All, |_| ());
        let mut conversations: Vec<_> = every.excerpts.iter().map(|excerpt| excerpt.conversation.as_str()).collect();
        conversations.dedup();
        assert_eq!(conversations, ["talk", "a-trip", "offers"]);
        let messages = || every.excerpts.iter().flat_map(|excerpt| &excerpt.messages);
        let is_whole = |excerpt: &Excerpt| excerpt.messages.iter().map(|node| node.id).eq(excerpt.nodes.iter());
        assert!(every.excerpts.iter().all(is_whole));
        let is_of_it = |excerpt: &Excerpt| excerpt.hits.iter().all(|hit| hit.conversation == excerpt.conversation);
        assert!(every.excerpts.iter().all(is_of_it));
        assert_eq!(every.tokens, messages().map(|node| u64::from(node.tokens) + 8).sum::<u64>());
        let named = from(&retriever, Conversations::Only(vec![id("offers"), id("talk")]), |_| ());
        assert!(found(&named).iter().any(|run| run.starts_with("offers")), "{:?}", found(&named));
        assert!(!found(&named).iter().any(|run| run.starts_with("a-trip")), "{:?}", found(&named));
    }
}

#[test]
fn what_is_shown_of_the_conversation_hides_nothing_of_others() {
    let retriever = by_words(&several());
    let shown = vec![NodeRange::first_n(6).unwrap()];
    let recalled = from(&retriever, Conversations::All, |request| request.shown = shown);
    assert!(found(&recalled).iter().any(|run| run.starts_with("offers")), "{:?}", found(&recalled));
    assert!(!found(&recalled).iter().any(|run| run.starts_with("talk")), "{:?}", found(&recalled));
}

#[test]
fn the_budget_holds_with_the_headings_of_others() {
    let retriever = by_words(&several());
    let (mut fewest, mut most) = (usize::MAX, 0);
    for budget in 0..200 {
        let recalled = from(&retriever, Conversations::All, |request| {
            (request.max_tokens, request.per_conversation) = (budget, 25);
        });
        let others: std::collections::BTreeSet<_> =
            recalled.excerpts.iter().map(|excerpt| &excerpt.conversation).filter(|of| of.as_str() != "talk").collect();
        let messages: usize = recalled.excerpts.iter().map(|excerpt| excerpt.messages.len()).sum();
        assert_eq!(recalled.tokens, 18 * messages as u64 + 25 * others.len() as u64);
        assert!(recalled.tokens <= u64::from(budget), "{} of {budget}", recalled.tokens);
        (fewest, most) = (fewest.min(others.len()), most.max(others.len()));
    }
    assert_eq!((fewest, most), (0, 2));
}

#[test]
fn a_message_that_forks_share_is_the_asking_conversations_own() {
    let store = store();
    pollster::block_on(store.fork(&id("talk"), NodeId::new(4).unwrap(), &id("a-fork"))).unwrap();
    say(&store, "a-fork", &["The hall of the fork costs nothing."]);
    let retriever = by_words(&store);
    let recalled = from(&retriever, Conversations::All, |_| ());
    assert!(found(&recalled).contains(&"a-fork 5".to_owned()), "{:?}", found(&recalled));
    assert!(found(&recalled).iter().all(|run| run.starts_with("talk") || run == "a-fork 5"), "{:?}", found(&recalled));
    let mut request = RecallRequest::new(QUESTION, &id("a-fork"), 1_000).others(Conversations::All).stop_early(false);
    request.limit = 20;
    let recalled = pollster::block_on(retriever.recall(&request)).unwrap();
    let of_talk = recalled.excerpts.iter().filter(|excerpt| excerpt.conversation == id("talk"));
    assert!(of_talk.flat_map(|excerpt| excerpt.nodes.iter()).all(|node| node.get() > 4), "{:?}", found(&recalled));
    let own = recalled.excerpts.iter().filter(|excerpt| excerpt.conversation == id("a-fork"));
    assert!(own.flat_map(|excerpt| excerpt.nodes.iter()).any(|node| node.get() == 3), "{:?}", found(&recalled));
}

#[test]
fn a_best_hit_of_another_conversation_that_cannot_fit_is_named_with_it() {
    let retriever = by_words(&several());
    let recalled = recall(&retriever, "900 euros", |request| {
        (request.others, request.max_tokens, request.per_conversation) = (Conversations::All, 30, 20);
    });
    let named = sentences(&recalled.notices);
    assert!(
        named.contains(&"the best hit, node 2 of `offers`, is left out: it costs 38 tokens of 30".to_owned()),
        "{named:?}"
    );
}
