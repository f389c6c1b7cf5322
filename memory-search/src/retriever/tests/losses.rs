//! Tests of conversations with lost messages.

use super::*;

const NOTICE: &str = "node 3 of `talk` cannot be read (the node was lost to damage before the store was salvaged, as \
                      memory records at byte 3): run `memory doctor`";

fn damaged() -> Arc<CountingStore> {
    let store = store();
    store.lose(&id("talk"), 3);
    store
}

#[test]
fn the_rest_of_a_damaged_conversation_is_found() {
    let (hybrid, index) = hybrid(&damaged());
    let by_words = by_words(&damaged());
    for retriever in [&hybrid, &by_words] {
        let found = in_talk(retriever, "the rehearsal on Thursday with the cello");
        assert_eq!(nodes(&found)[0], 1);
        // Its neighbours contain the words; it is still no hit.
        let found = search(retriever, "cello, last year, library", Scope::all(), 10);
        assert!(nodes(&found).contains(&2) && nodes(&found).contains(&4) && !nodes(&found).contains(&3));
        assert!(sentences(&found.notices).contains(&NOTICE.to_owned()), "{:?}", found.notices);
    }
    let stats = index.stats(&id("talk"));
    assert_eq!((stats.through, stats.vectors), (6, 5), "a lost message has a place and no vector");
    assert_eq!(sentences(&in_talk(&hybrid, "cello").notices), [NOTICE], "meaning counts for all that is left");
}

#[test]
fn catching_up_goes_past_lost_messages_once() {
    let store = damaged();
    let (retriever, _) = hybrid(&store);
    let report = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert_eq!((report.words, report.embedded, sentences(&report.notices)), (6, 5, vec![NOTICE.to_owned()]));
    let read = store.nodes_read();
    let report = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert_eq!((report.words, report.embedded, report.notices.len()), (0, 0, 1));
    assert_eq!(store.nodes_read(), read, "what is known to be lost is not tried again");
    say(&store, "talk", &["The piano tuner comes on Monday."]);
    assert_eq!(nodes(&in_talk(&retriever, "piano tuner"))[0], 7);
}

#[test]
fn a_message_that_was_lost_after_it_was_embedded_is_no_hit() {
    let store = store();
    let (before, index) = hybrid(&store);
    assert_eq!(nodes(&in_talk(&before, "QX-4471-93B"))[0], 3);
    store.lose(&id("talk"), 3);
    let embedder = Arc::new(HashEmbedder::new(64));
    let retriever = HybridRetriever::new(store, Some(embedder), Some(index));
    let found = in_talk(&retriever, "The hall costs 4,200 euros a night, booking QX-4471-93B.");
    assert!(!nodes(&found).contains(&3), "{found:?}");
    assert_eq!(sentences(&found.notices), [NOTICE]);
}

#[test]
fn an_excerpt_ends_where_a_message_is_lost() {
    let by_words = by_words(&damaged());
    let recalled = recall(&by_words, "Who brings the cello?", |request| request.radius = 2);
    assert_eq!(runs(&recalled), ["1-2", "4"]);
    assert_eq!((recalled.losses.count(), recalled.notices.len()), (1, 1), "{:?}", recalled.notices);
}

#[test]
fn a_conversation_that_is_lost_as_a_whole_gives_no_hit() {
    let store = store();
    (1..=6).for_each(|node| store.lose(&id("talk"), node));
    let (retriever, index) = hybrid(&store);
    let found = in_talk(&retriever, "cello");
    assert!(found.hits.is_empty());
    assert!(
        found.notices.iter().any(|notice| matches!(notice, Notice::Unreadable { nodes: 6, first: NodeId::FIRST, .. }))
    );
    assert_eq!(index.stats(&id("talk")).through, 6);
}
