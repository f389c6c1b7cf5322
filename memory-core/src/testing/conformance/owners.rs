//! Checks of the owners of conversations.

use super::{draft, id, node};
use crate::{
    ConversationId, DOCUMENT, Json, OwnerId,
    port::{Store, StoreError},
};

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).expect("a valid name")
}

pub(super) async fn a_conversation_stays_whose_it_began(store: &dyn Store) {
    let (hers, fork, nobodys) = (id("owned-hers"), id("owned-fork"), id("owned-nobodys"));
    let ana = owner("ana");
    assert!(store.append_for(Some(&ana), &hers, Vec::new()).await.unwrap().is_empty());
    assert!(store.conversation(&hers).await.unwrap_err().is_not_found(), "an empty batch begins no conversation");
    store.append_for(Some(&ana), &hers, vec![draft("one", 1)]).await.unwrap();
    store.append_for(Some(&ana), &hers, vec![draft("two", 2)]).await.unwrap();
    store.append(&hers, vec![draft("three", 3)]).await.expect("without an owner, any conversation is appended to");
    store.append(&nobodys, vec![draft("one", 1)]).await.unwrap();
    let child = store.fork(&hers, node(2), &fork).await.unwrap();
    assert_eq!(child.owner, Some(ana.clone()), "a fork is its parent's owner's");
    store.append_for(Some(&ana), &fork, vec![draft("hers as well", 4)]).await.unwrap();
    for (of, whose, nodes) in [(&hers, Some(ana.clone()), 3), (&fork, Some(ana), 3), (&nobodys, None, 1)] {
        let state = store.conversation(of).await.unwrap();
        assert_eq!((&state.owner, state.nodes), (&whose, nodes), "{of}");
        assert!(store.conversations().await.unwrap().contains(&state), "{of}");
    }
}

pub(super) async fn one_name_has_one_owner(store: &dyn Store) {
    let (ana, ben) = (owner("ana"), owner("ben"));
    let (hers, nobodys) = (id("owned-hers"), id("owned-nobodys"));
    for (who, name) in [(&ben, &hers), (&ana, &nobodys)] {
        let nodes = store.conversation(name).await.unwrap().nodes;
        let refused = store.append_for(Some(who), name, vec![draft("not mine", 9)]).await.unwrap_err();
        assert!(matches!(&refused, StoreError::NameTaken { id } if id == name), "{refused}");
        assert_eq!(store.conversation(name).await.unwrap().nodes, nodes, "nothing was written");
    }
}

pub(super) async fn names_of_notes_are_kept_for_their_owners_notes(store: &dyn Store) {
    let (ana, ben) = (owner("ana"), owner("ben"));
    let (of_none, of_ana) = (id("memory-notes"), id("memory-notes.ana"));
    let note = |text: &str| {
        let mut draft = draft(text, 1);
        draft.message.metadata.insert(DOCUMENT.to_owned(), Json::from_value(&serde_json::json!({"write": "a"})));
        draft
    };
    let is_reserved = |refused: Result<_, StoreError>, name: &ConversationId| {
        let refused = refused.map(|_: Vec<_>| ()).expect_err("the name is reserved");
        assert!(matches!(&refused, StoreError::Reserved { id, .. } if id == name), "{refused}");
    };
    for (who, name) in [(Some(&ben), &of_none), (Some(&ben), &of_ana), (None, &of_ana)] {
        is_reserved(store.append_for(who, name, vec![note("not theirs")]).await, name);
    }
    is_reserved(store.append(&of_none, vec![note("one"), draft("no note", 2)]).await, &of_none);
    store.append(&of_none, vec![note("one")]).await.expect("notes of nobody");
    store.append_for(Some(&ana), &of_ana, vec![note("one")]).await.expect("notes of hers");
    is_reserved(store.append_for(Some(&ana), &of_ana, vec![draft("no note", 2)]).await, &of_ana);
    is_reserved(store.append(&of_ana, vec![draft("no note", 2)]).await, &of_ana);
    let fork = id("memory-notes.carol");
    let refused = store.fork(&of_ana, node(1), &fork).await.expect_err("no fork has such a name");
    assert!(matches!(&refused, StoreError::Reserved { id, .. } if *id == fork), "{refused}");
    assert_eq!(store.conversation(&of_ana).await.expect("hers").nodes, 1, "nothing else was written");
}
