//! The conformance suite of owners: two of them in one store, neither of whom finds anything of the other.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a suite of tests: a breach panics"
)]

use std::sync::Arc;

use super::source_conformance;
use crate::{
    ConversationId, Message, MessageKey, NodeDraft, NodeId, NodeRange, NoteId, OwnerId, Timestamp, ViewId,
    port::{Conversations, Event, Note, NoteChange, OwnedStore, Revision, Scope, Source, Store, StoreError},
};

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).expect("a valid name")
}

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).expect("a valid name")
}

fn draft(text: &str) -> NodeDraft {
    let key = MessageKey::new(text).expect("a valid key");
    NodeDraft::new(Message::user(text).key(key), Timestamp::from_millis(7), 3)
}

fn all() -> NodeRange {
    NodeRange::first_n(99).expect("not empty")
}

/// Checks that `store`, which must be empty, keeps two owners apart: through an [`OwnedStore`], and through a
/// [`Scope`] with an owner.
///
/// # Panics
/// At the first breach, with its description.
pub async fn owner_conformance(store: Arc<dyn Store>) {
    let (ana, ben) = (owner("ana"), owner("ben"));
    let hers = OwnedStore::new(Arc::clone(&store), ana.clone());
    let his = OwnedStore::new(Arc::clone(&store), ben.clone());
    let (trip, trap, own) = (id("trip-hers"), id("trip-fork"), id("trip-his"));
    hers.append(&trip, vec![draft("the secret"), draft("and more")]).await.unwrap();
    hers.fork(&trip, NodeId::FIRST, &trap).await.unwrap();
    his.append(&own, vec![draft("mine")]).await.unwrap();
    store.append(&id("trip-nobodys"), vec![draft("nobody's")]).await.unwrap();
    for hidden in [&trip, &trap, &id("trip-nobodys")] {
        nothing_is_found(&his, hidden).await;
    }
    nothing_is_found(&hers, &own).await;
    each_has_what_is_theirs(&hers, &[&trap, &trip]).await;
    each_has_what_is_theirs(&his, &[&own]).await;
    a_scope_shows_the_same(&*store, &ana, &[&trap, &trip]).await;
    a_scope_shows_the_same(&*store, &ben, &[&own]).await;
    let everything = Scope::all().states(&*store).await.unwrap();
    assert_eq!(everything.len(), 4, "without an owner all is seen");
    assert_eq!(everything, store.conversations().await.unwrap());
    a_name_is_taken_for_both(&his, &trip).await;
}

/// The error must be that of a conversation that does not exist.
fn is_unknown(error: &StoreError, hidden: &ConversationId) {
    let StoreError::UnknownConversation { id, nearest } = error else { panic!("{error}") };
    assert_eq!(id, hidden);
    assert!(nearest.iter().all(|name| name != hidden), "{error}");
}

async fn nothing_is_found(store: &OwnedStore, hidden: &ConversationId) {
    let made_up = id("trip-made-up");
    // Hints of near names are of the owner's own.
    let own = store.conversations().await.unwrap();
    for unknown in [hidden, &made_up] {
        let expected = StoreError::unknown_conversation(unknown, own.iter().map(|state| &state.id));
        let error = store.conversation(unknown).await.unwrap_err();
        assert_eq!(error.to_string(), expected.to_string(), "as if it were made up");
    }
    let key = MessageKey::new("the secret").expect("a valid key");
    let pin = vec![Event::Pin { node: NodeId::FIRST, pinned: true }];
    for refused in [
        store.conversation(hidden).await.map(drop),
        store.readable_nodes(hidden, all()).await.map(drop),
        store.outline(hidden).await.map(drop),
        store.summaries(hidden).await.map(drop),
        store.summaries_of(hidden, &[]).await.map(drop),
        store.node(hidden, NodeId::FIRST).await.map(drop),
        store.nodes(hidden, all()).await.map(drop),
        store.views(hidden, ViewId::FIRST, ViewId::FIRST).await.map(drop),
        store.notes(hidden, NoteId::FIRST, NoteId::FIRST).await.map(drop),
        store.changes(hidden, Revision::default()).await.map(drop),
        store.find_key(hidden, &key).await.map(drop),
        store.proofs(hidden, all()).await.map(drop),
        store.verify(Some(hidden)).await.map(drop),
        store.record(hidden, pin).await.map(drop),
        store.fork(hidden, NodeId::FIRST, &id("stolen")).await.map(drop),
    ] {
        is_unknown(&refused.unwrap_err(), hidden);
    }
}

async fn each_has_what_is_theirs(store: &OwnedStore, names: &[&ConversationId]) {
    let states = store.conversations().await.unwrap();
    assert_eq!(states.iter().map(|state| &state.id).collect::<Vec<_>>(), names);
    let verified = store.verify(None).await.unwrap();
    assert!(verified.is_whole(), "{:?}", verified.damage);
    assert_eq!(verified.conversations.iter().map(|one| &one.id).collect::<Vec<_>>(), names);
    assert_eq!(verified.nodes, states.iter().map(|state| state.nodes).sum::<u64>());
    let mut holds = Vec::new();
    for name in names {
        let nodes = store.nodes(name, all()).await.unwrap();
        holds.push(((*name).clone(), nodes));
    }
    source_conformance(store, &holds).await;
}

async fn a_scope_shows_the_same(store: &dyn Store, owner: &OwnerId, names: &[&ConversationId]) {
    let scope = Scope::all().owner(owner.clone());
    let states = scope.states(store).await.unwrap();
    assert_eq!(states.iter().map(|state| &state.id).collect::<Vec<_>>(), names);
    for state in store.conversations().await.unwrap() {
        let one = Scope { conversations: Conversations::Only(vec![state.id.clone()]), ..scope.clone() };
        match one.states(store).await {
            Ok(found) => assert!(found == [state.clone()] && names.contains(&&state.id)),
            Err(error) => {
                assert!(!names.contains(&&state.id), "{error}");
                is_unknown(&error, &state.id);
            }
        }
    }
}

/// Names are unique in a store: that one is taken is all that can be learned.
async fn a_name_is_taken_for_both(store: &OwnedStore, taken: &ConversationId) {
    let before = store.conversations().await.unwrap();
    let refused = store.append(taken, vec![draft("mine now")]).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NameTaken { id } if id == taken), "{refused}");
    let change = NoteChange::Remove { name: "a".into() };
    let note = Event::Note(Box::new(Note::new(NoteId::FIRST, Timestamp::from_millis(7), change)));
    let refused = store.record(taken, vec![note]).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NameTaken { id } if id == taken), "{refused}");
    let refused = store.fork(&before[0].id, NodeId::FIRST, taken).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NameTaken { id } if id == taken), "{refused}");
    assert_eq!(store.conversations().await.unwrap(), before);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryStore;

    #[test]
    fn two_owners_find_nothing_of_each_other() {
        pollster::block_on(owner_conformance(Arc::new(MemoryStore::default())));
    }
}
