//! Tests of a scope of many conversations; only the best are ranked.

use memory_core::{Filter, OwnerId};

use super::{
    fakes::{CountingEmbedder, CountingStore, ExactIndex, MemoryBlocks},
    *,
};

const CHATS: usize = 160;

fn name(chat: usize) -> String {
    format!("chat-{chat:02}")
}

fn code(chat: usize) -> String {
    format!("ZX-{}", 1_000 + 37 * chat)
}

/// Many chats about the same things, each with a code of its own.
fn chats() -> Arc<CountingStore> {
    let store = Arc::new(CountingStore::default());
    let subjects = ["harbour", "garden", "violin", "bridge", "library", "kitchen", "glacier"];
    for chat in 0..CHATS {
        let [one, other] = [0, 3].map(|more| subjects[(chat + more) % subjects.len()]);
        let told = format!("The secret code of chat {chat} is {}.", code(chat));
        let texts = [
            format!("Have you seen the {one}?"),
            format!("Yes, and the {other} beside it."),
            told,
            "Keep the code secret, please.".to_owned(),
            format!("What about the {one} tomorrow?"),
        ];
        say(&store, &name(chat), &texts.each_ref().map(String::as_str));
    }
    store
}

/// A retriever that ranks the best conversations alone.
fn choosing(store: &Arc<CountingStore>, cache: &Arc<MemoryBlocks>) -> HybridRetriever {
    by_words(store).word_cache(cache.clone()).rank_all_up_to(0)
}

fn all(retriever: &HybridRetriever, text: &str, limit: usize) -> Retrieved {
    search(retriever, text, Scope::all(), limit)
}

fn places(found: &Retrieved) -> Vec<(String, u64)> {
    found.hits.iter().map(|hit| (hit.conversation.to_string(), hit.node.id.get())).collect()
}

#[test]
fn what_is_asked_for_is_found_among_many_conversations() {
    let store = chats();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let (few, every) = (choosing(&store, &cache), by_words(&store));
    for chat in (0..CHATS).step_by(7) {
        let question = format!("What is the secret code of chat {chat}?");
        let found = all(&few, &question, 3);
        assert_eq!(places(&found)[0], (name(chat), 3), "{question}");
        let ranked = all(&every, &question, 3);
        assert_eq!(places(&found)[0], places(&ranked)[0]);
        // The rarity of words is that of the whole scope, not of the conversations that are ranked.
        let score = |found: &Retrieved| found.hits[0].score.value;
        assert!((score(&found) - score(&ranked)).abs() < 1e-6, "{found:?}\n{ranked:?}");
        assert_eq!(places(&all(&few, &code(chat), 1)), [(name(chat), 3)]);
    }
    let steps: Vec<_> = all(&few, "code", 1).steps.iter().map(|step| (step.name, step.candidates)).collect();
    assert!(steps.contains(&("shortlist", CHATS)), "{steps:?}");
    let ranked = steps.iter().find(|(name, _)| *name == "words").unwrap().1;
    assert!(ranked < CHATS * 5, "not all were ranked: {steps:?}");
}

#[test]
fn the_words_of_many_conversations_are_saved_together_and_read_once() {
    let store = chats();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    all(&choosing(&store, &cache), "code", 1);
    assert_eq!(cache.len(), 1, "800 messages are saved at once");
    let read = store.nodes_read();
    let next = choosing(&store, &cache);
    let found = all(&next, &code(7), 2);
    assert_eq!(store.nodes_read() - read, found.hits.len() as u64, "hits alone are read");
    // New messages are found, and stay few for the next search.
    say(&store, &name(7), &["The harpsichord was tuned."]);
    say(&store, "new", &["A harpsichord stands in the hall."]);
    let found = all(&next, "harpsichord", 9);
    assert_eq!(places(&found)[..2], [("new".to_owned(), 1), (name(7), 6)]);
    assert_eq!(cache.runs(&id(&name(7))), ["1-5"]);
    pollster::block_on(next.catch_up(&id("new"), &())).unwrap();
    pollster::block_on(next.catch_up(&id(&name(7)), &())).unwrap();
    assert_eq!(
        (cache.runs(&id("new")), cache.runs(&id(&name(7)))),
        (vec!["1".to_owned()], vec!["1-5".into(), "6".into()])
    );
    assert!(cache.len() <= 3, "{} blocks", cache.len());
    assert_eq!(places(&all(&choosing(&store, &cache), "harpsichord", 9)), places(&found));
}

#[test]
fn damaged_words_are_read_again_and_replaced() {
    let store = chats();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    all(&choosing(&store, &cache), "code", 1);
    cache.damage();
    for _ in 0..2 {
        assert_eq!(places(&all(&choosing(&store, &cache), &code(9), 1)), [(name(9), 3)]);
    }
    assert_eq!(cache.len(), 1, "the damaged block is gone");
}

#[test]
fn a_lost_message_of_any_conversation_is_reported_and_is_no_hit() {
    let store = chats();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    store.lose(&id(&name(50)), 3);
    for _ in 0..2 {
        let found = all(&choosing(&store, &cache), "harbour", 3);
        let about = format!("node 3 of `{}` cannot be read", name(50));
        assert!(sentences(&found.notices).iter().any(|notice| notice.starts_with(&about)), "{:?}", found.notices);
        assert!(!places(&all(&choosing(&store, &cache), &code(50), 9)).contains(&(name(50), 3)));
    }
}

#[test]
fn a_shared_message_is_a_hit_once_and_tags_and_owners_hold() {
    let store = chats();
    for fork in 0..20 {
        let name = format!("fork-{fork}");
        pollster::block_on(store.fork(&id("chat-05"), NodeId::new(4).unwrap(), &id(&name))).unwrap();
        say(&store, &name, &["Goodbye."]);
    }
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let retriever = choosing(&store, &cache);
    let found = all(&retriever, &code(5), 9);
    assert_eq!(places(&found)[0], ("chat-05".to_owned(), 3));
    assert!(places(&found)[1..].iter().all(|(name, _)| !name.starts_with("fork")), "{:?}", places(&found));
    let nobody = Scope::all().owner(OwnerId::new("ben").unwrap());
    assert_eq!(search(&retriever, &code(5), nobody, 9).hits.len(), 0);
    let filter = Filter::default().roles(vec![Role::Assistant]);
    let query = Query::new(&code(5), Scope::all()).filter(filter);
    assert_eq!(pollster::block_on(retriever.search(&query)).unwrap().hits.len(), 0, "all are the user's");
}

#[test]
fn vectors_choose_too_and_what_has_none_is_counted_in_the_whole_scope() {
    let store = chats();
    let embedder = Arc::new(CountingEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let retriever =
        HybridRetriever::new(store.clone(), Some(embedder.clone()), Some(index)).word_cache(cache).rank_all_up_to(0);
    for chat in 0..140 {
        pollster::block_on(retriever.catch_up(&id(&name(chat)), &())).unwrap();
    }
    let embedded = embedder.texts();
    let found = all(&retriever, &format!("What is the secret code of chat {}?", 33), 3);
    assert_eq!(places(&found)[0], (name(33), 3));
    let partly = found.notices.iter().find_map(|notice| match notice {
        Notice::PartlyEmbedded { embedded, messages, .. } => Some((*embedded, *messages)),
        _ => None,
    });
    assert_eq!(partly, Some((140 * 5, CHATS * 5)));
    assert_eq!(embedder.texts(), embedded, "a large backlog waits");
    for chat in 140..CHATS {
        pollster::block_on(retriever.catch_up(&id(&name(chat)), &())).unwrap();
    }
    // A small one is embedded, wherever it is.
    say(&store, &name(159), &["An unrelated remark about tulips."]);
    let before = embedder.texts();
    let found = all(&retriever, &code(2), 1);
    assert_eq!((places(&found), embedder.texts() - before), (vec![(name(2), 3)], 1));
    assert!(found.notices.is_empty(), "{:?}", found.notices);
}

#[test]
fn a_title_leads_to_its_conversation_in_a_small_scope_and_in_a_large_one() {
    let store = chats();
    let title = [memory_core::port::Event::Title("Lisbon trip".to_owned())];
    pollster::block_on(store.record(&id(&name(120)), title.to_vec())).unwrap();
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    for retriever in [choosing(&store, &cache), by_words(&store)] {
        let found = all(&retriever, "What is the secret code of the Lisbon trip?", 3);
        assert_eq!(places(&found)[0], (name(120), 3), "{:?}", places(&found));
        assert!(found.hits[0].signals.iter().any(|signal| signal.name == "title"));
        let alone = search(&retriever, "the secret code of the Lisbon trip", Scope::one(&id(&name(120))), 3);
        assert!(alone.hits.iter().all(|hit| hit.signals.iter().all(|signal| signal.name != "title")));
    }
}

#[test]
fn the_conversation_that_recalls_is_always_ranked() {
    let store = chats();
    say(&store, "own", &["Good morning.", "What about lunch?"]);
    let retriever = choosing(&store, &Arc::new(MemoryBlocks::beside(store.clone())));
    let is_ranked = |first: Option<&ConversationId>| {
        let question = "What is the secret code of chat 7?";
        let ranked = pollster::block_on(retriever.rank(question, &Scope::all(), &Filter::default(), first)).unwrap();
        ranked.ranking.pool().parts().iter().any(|part| part.conversation == id("own"))
    };
    assert_eq!((is_ranked(None), is_ranked(Some(&id("own")))), (false, true));
}
