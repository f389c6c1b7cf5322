//! Checks of the owners of conversations.

use super::{draft, id, node};
use crate::{
    OwnerId,
    port::{Store, StoreError},
};

pub(super) fn owner(name: &str) -> OwnerId {
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
