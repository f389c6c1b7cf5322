//! Tests of the word cache.

use super::{fakes::MemoryBlocks, *};

const NOTICE: &str = "node 3 of `talk` cannot be read (the node was lost to damage before the store was salvaged, as \
                      memory records at byte 3): run `memory doctor`";

fn kept() -> (Arc<CountingStore>, Arc<MemoryBlocks>) {
    let store = store();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    (store, cache)
}

fn keeping(store: &Arc<CountingStore>, cache: &Arc<MemoryBlocks>) -> HybridRetriever {
    by_words(store).word_cache(cache.clone())
}

fn index(retriever: &HybridRetriever) -> IndexReport {
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap()
}

#[test]
fn the_next_retriever_reads_what_is_new_alone_and_answers_the_same() {
    let (store, cache) = kept();
    assert_eq!(index(&keeping(&store, &cache)).words, 6);
    assert_eq!(cache.runs(&id("talk")), ["1-6"]);
    say(&store, "talk", &["The harpsichord was tuned.", "By whom?"]);
    let read = store.nodes_read();
    let retriever = keeping(&store, &cache);
    let found = in_talk(&retriever, "Who brings the harpsichord and the cello?");
    // Two that are new, for their words, and three hits.
    assert_eq!((store.nodes_read() - read, found.hits.len()), (5, 3));
    let plain = in_talk(&by_words(&store), "Who brings the harpsichord and the cello?");
    assert_eq!((found.hits, found.notices), (plain.hits, plain.notices));
    assert_eq!(cache.runs(&id("talk")), ["1-6"], "a question keeps no few messages");
    assert_eq!(index(&retriever).words, 0);
    assert_eq!(cache.runs(&id("talk")), ["1-6", "7-8"], "six are too many to be written again for two");
    assert_eq!(index(&keeping(&store, &cache)).words, 0);
}

#[test]
fn a_question_keeps_what_took_it_long_to_read() {
    let (store, cache) = kept();
    say(&store, "talk", &["again and again"; 300]);
    in_talk(&keeping(&store, &cache), "cello");
    assert_eq!(cache.runs(&id("talk")), ["1-306"]);
}

#[test]
fn a_message_that_was_lost_since_its_words_were_kept_is_no_hit() {
    let (store, cache) = kept();
    index(&keeping(&store, &cache));
    store.lose(&id("talk"), 3);
    let retriever = keeping(&store, &cache);
    let found = in_talk(&retriever, "booking QX-4471-93B, year, cello");
    assert!(!nodes(&found).contains(&3) && nodes(&found).contains(&4), "{found:?}");
    assert_eq!(found.hits.len(), 3, "another one takes its place");
    assert!(sentences(&found.notices).contains(&NOTICE.to_owned()), "{:?}", found.notices);
    let recalled = recall(&keeping(&store, &cache), "Who brings the cello?", |request| request.radius = 2);
    assert_eq!(runs(&recalled), ["1-2", "4"]);
    assert_eq!(recalled.losses.count(), 1);
}

#[test]
fn a_hit_that_takes_the_place_of_a_lost_one_is_checked_too() {
    let store = Arc::new(CountingStore::default());
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let said = ["cello, cello, piano, horn", "cello, piano, horn", "cello, horn", "cello, and nothing else at all"];
    let names = ["a", "b", "c", "d"];
    for (name, said) in names.iter().zip(said) {
        say(&store, name, &[said]);
        pollster::block_on(keeping(&store, &cache).catch_up(&id(name), &())).unwrap();
    }
    names[..3].iter().for_each(|name| store.lose(&id(name), 1));
    let found = search(&keeping(&store, &cache), "cello piano horn", Scope::all(), 1);
    assert_eq!(found.hits.iter().map(|hit| hit.conversation.as_str()).collect::<Vec<_>>(), ["d"]);
    assert_eq!(found.notices.len(), 4, "one about each loss: {:?}", found.notices);
}

#[test]
fn what_was_lost_when_words_were_kept_is_lost_still_or_read_again() {
    let (whole, damaged) = (store(), store());
    damaged.lose(&id("talk"), 3);
    let cache = Arc::new(MemoryBlocks::beside(damaged.clone()));
    assert_eq!(index(&keeping(&damaged, &cache)).notices.len(), 2);
    let found = in_talk(&keeping(&damaged, &cache), "cello");
    assert!(sentences(&found.notices).contains(&NOTICE.to_owned()), "{:?}", found.notices);
    // As after a repair.
    let found = in_talk(&keeping(&whole, &cache), "QX-4471-93B");
    assert_eq!(nodes(&found)[0], 3);
    assert_eq!(sentences(&found.notices), ["recall is by words only: no embedding model is set up"]);
}

#[test]
fn a_cache_that_makes_no_sense_or_takes_nothing_stops_no_answer() {
    let (store, cache) = kept();
    index(&keeping(&store, &cache));
    cache.damage();
    assert_eq!(nodes(&in_talk(&keeping(&store, &cache), "QX-4471-93B"))[0], 3);
    cache.is_full.store(true, Ordering::Relaxed);
    let retriever = keeping(&store, &cache);
    assert_eq!(index(&retriever).words, 6);
    assert_eq!(nodes(&in_talk(&retriever, "QX-4471-93B"))[0], 3);
}
