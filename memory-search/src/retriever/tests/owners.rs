//! Two owners in one store: nothing of one bears on what the other is answered.

use memory_core::{OwnerId, port::StoreError};

use super::{
    fakes::{CountingStore, ExactIndex},
    *,
};
use crate::{FindError, FindRequest, find};

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).unwrap()
}

fn append_for(store: &MemoryStore, whose: &str, conversation: &str, texts: &[&str]) {
    let draft = |text: &&str| NodeDraft::new(Message::user(*text), Timestamp::from_millis(0), 10);
    let batch = texts.iter().map(draft).collect();
    pollster::block_on(store.append_for(Some(&owner(whose)), &id(conversation), batch)).unwrap();
}

/// Ana's talk; and with `ben`, his that has the same words.
fn shared(ben: bool) -> Arc<CountingStore> {
    let store = Arc::new(CountingStore::default());
    append_for(&store, "ana", "ana-talk", &TALK);
    pollster::block_on(store.fork(&id("ana-talk"), NodeId::new(4).unwrap(), &id("ana-fork"))).unwrap();
    if ben {
        append_for(&store, "ben", "ben-talk", &TALK);
        append_for(&store, "ben", "ben-more", &["The hall costs nothing.", "Booking QX-4471-93B is his."]);
    }
    store
}

fn retriever(store: &Arc<CountingStore>) -> HybridRetriever {
    let embedder = Arc::new(HashEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    HybridRetriever::new(store.clone(), Some(embedder), Some(index))
}

fn ask(retriever: &HybridRetriever, scope: Scope) -> Result<Retrieved, RetrieveError> {
    pollster::block_on(retriever.search(&Query::new("which booking has the hall, for how many euros?", scope)))
}

#[test]
fn an_owner_is_answered_as_if_the_store_were_theirs_alone() {
    let (alone, beside) = (retriever(&shared(false)), retriever(&shared(true)));
    // Warm caches of the other's words and vectors bear on nothing either.
    assert!(ask(&beside, Scope::all()).unwrap().hits.iter().any(|hit| hit.conversation.as_str().starts_with("ben")));
    let hers = || Scope::all().owner(owner("ana"));
    let (expected, found) = (ask(&alone, hers()).unwrap(), ask(&beside, hers()).unwrap());
    assert_eq!((&found.hits, &found.notices), (&expected.hits, &expected.notices), "scores included");
    assert!(!found.hits.is_empty());
    assert_eq!(ask(&alone, Scope::all()).unwrap().hits, expected.hits);
    let stranger = ask(&beside, Scope::all().owner(owner("eve"))).unwrap();
    assert_eq!(stranger.hits, []);
}

#[test]
fn anothers_conversation_is_not_found_in_any_way() {
    let store = shared(true);
    let retriever = retriever(&store);
    let unknown = |error: &StoreError| match error {
        StoreError::UnknownConversation { nearest, .. } => nearest.iter().all(|name| !name.as_str().starts_with("ana")),
        _ => false,
    };
    let refused = ask(&retriever, Scope::one(&id("ana-talk")).owner(owner("ben"))).unwrap_err();
    assert!(matches!(&refused, RetrieveError::Store(error) if unknown(error)), "{refused}");
    let request = RecallRequest::new("booking", &id("ana-talk"), 1_000).owner(owner("ben"));
    let refused = pollster::block_on(retriever.recall(&request)).unwrap_err();
    assert!(matches!(&refused, RetrieveError::Store(error) if unknown(error)), "{refused}");
    let look = |scope| pollster::block_on(find(&*store, &FindRequest::new("QX", scope)));
    let talk = || Scope::one(&id("ana-talk"));
    let refused = look(talk().owner(owner("ben"))).unwrap_err();
    assert!(matches!(&refused, FindError::Store(error) if unknown(error)), "{refused}");
    assert_eq!(look(talk().owner(owner("ana"))).unwrap().matches.len(), 1);
    assert_eq!(look(talk()).unwrap().matches.len(), 1);
}
