//! Disabled messages and summaries: not read until they are enabled, and never lost.

use super::{draft, id, keyed, node, range, summary};
use crate::{
    DISABLED, Disabling, Level, Node, SummaryId, Timestamp,
    port::{Event, Store, StoreError},
};

fn change(is_disabled: bool, first: u64, last: u64) -> Event {
    let change = Disabling::new(Timestamp::from_millis(7), is_disabled).by("suite");
    Event::Disabled(Box::new(change.nodes(vec![range(first, last)])))
}

fn of_summary(is_disabled: bool, number: u64) -> Event {
    let change = Disabling::new(Timestamp::from_millis(8), is_disabled);
    Event::Disabled(Box::new(change.summaries(vec![SummaryId::new(number).unwrap()])))
}

async fn texts(store: &dyn Store, of: &crate::ConversationId) -> Vec<String> {
    store.summaries(of).await.unwrap().into_iter().map(|summary| summary.body.text).collect()
}

pub(super) async fn disabled_messages_are_read_again_once_they_are_enabled(store: &dyn Store) {
    let talk = id("disabled-talk");
    let drafts = (1..=5).map(|number| keyed(&format!("said {number}"), &format!("key {number}"))).collect();
    store.append(&talk, drafts).await.unwrap();
    for (level, nodes, children, text) in [
        (Level::Summary, range(1, 1), &[][..], "of one"),
        (Level::Summary, range(2, 2), &[], "of two"),
        (Level::Summary, range(3, 3), &[], "of three"),
        (Level::Meta, range(1, 2), &[1, 2], "of both"),
    ] {
        store.record(&talk, vec![Event::Summary(summary(level, nodes, children, text))]).await.unwrap();
    }
    let (said, proofs) =
        (store.nodes(&talk, range(1, 5)).await.unwrap(), store.proofs(&talk, range(1, 5)).await.unwrap());
    let verified = store.verify(Some(&talk)).await.unwrap();
    let before = store.changes(&talk, crate::port::Revision::default()).await.unwrap().revision;

    store.record(&talk, vec![change(true, 2, 2), change(true, 5, 5)]).await.unwrap();
    let hidden = |at: usize| Node::disabled(said[at].id, said[at].message.role, said[at].at);
    let nodes = store.nodes(&talk, range(1, 5)).await.unwrap();
    assert_eq!(nodes, [said[0].clone(), hidden(1), said[2].clone(), said[3].clone(), hidden(4)]);
    assert_eq!(store.node(&talk, node(2)).await.unwrap(), hidden(1));
    assert_eq!(store.readable_nodes(&talk, range(2, 2)).await.unwrap().nodes, [hidden(1)]);
    let outlines = store.outline(&talk).await.unwrap();
    assert_eq!(outlines.iter().filter(|outline| outline.is_disabled && outline.tokens == 4).count(), 2);
    let whole = store.whole_nodes(&talk, range(1, 5)).await.unwrap().nodes;
    assert_eq!(whole.iter().map(|node| node.is_disabled).collect::<Vec<_>>(), [false, true, false, false, true]);
    assert!(whole.iter().zip(&said).all(|(whole, said)| whole.message == said.message));
    assert_eq!(store.proofs(&talk, range(1, 5)).await.unwrap(), proofs, "leaves and salts stay");
    assert_eq!(store.verify(Some(&talk)).await.unwrap(), verified, "all of it is whole");
    let state = store.conversation(&talk).await.unwrap();
    assert_eq!((state.disabled, state.erased, state.nodes), (2, 0, 5));
    assert_eq!(state.tokens, said.iter().map(|node| u64::from(node.tokens)).sum::<u64>());
    assert!(store.changes(&talk, before).await.unwrap().is_whole, "readers begin again");
    let again = store.append(&talk, vec![keyed("said 2", "key 2")]).await.unwrap();
    assert_eq!((again[0].node, again[0].is_new), (node(2), false), "keys stay");

    // A summary made from it is not read; one made without it is.
    assert_eq!(texts(store, &talk).await, ["of one", "of three"]);
    let stale = Event::Summary(summary(Level::Summary, range(2, 2), &[], "of two"));
    let refused = store.record(&talk, vec![stale]).await.unwrap_err();
    assert!(matches!(refused, StoreError::ErasedMeanwhile { .. }), "{refused}");
    let without = summary(Level::Summary, range(2, 2), &[], "without it").erased(1);
    store.record(&talk, vec![Event::Summary(without)]).await.unwrap();
    assert_eq!(texts(store, &talk).await, ["of one", "of three", "without it"]);
    let ids: Vec<_> = (1..=9).filter_map(SummaryId::new).collect();
    assert_eq!(store.whole_summaries_of(&talk, &ids).await.unwrap().len(), 5, "for views that were shown before");

    let fork = id("disabled-fork");
    store.fork(&talk, node(3), &fork).await.unwrap();
    store.record(&talk, vec![change(false, 1, 5)]).await.unwrap();
    assert_eq!(store.nodes(&talk, range(1, 5)).await.unwrap(), said);
    assert_eq!(texts(store, &talk).await, ["of one", "of two", "of three", "of both"], "as they were");
    let forked = store.nodes(&fork, range(1, 3)).await.unwrap();
    assert_eq!(forked[1], hidden(1), "a fork has what was so when it was made");
    assert_eq!(texts(store, &fork).await, ["of one", "of three", "without it"]);
    store.record(&fork, vec![change(false, 2, 2)]).await.unwrap();
    assert_eq!(texts(store, &fork).await, ["of one", "of two", "of three", "of both"]);

    let changes = store.disablings(&talk).await.unwrap();
    assert_eq!(changes.iter().map(|change| change.is_disabled).collect::<Vec<_>>(), [true, true, false]);
    assert!(changes.iter().all(|change| change.by == "suite"));
    let beyond = store.record(&talk, vec![change(true, 4, 9)]).await.unwrap_err();
    assert!(matches!(beyond, StoreError::UnknownNode { .. }), "{beyond}");
}

pub(super) async fn disabled_summaries_have_no_words_and_those_above_are_made_again(store: &dyn Store) {
    let talk = id("disabled-summaries");
    store.append(&talk, (1..=2).map(|number| draft("said", number)).collect()).await.unwrap();
    for (level, nodes, children, text) in [
        (Level::Summary, range(1, 1), &[][..], "of one"),
        (Level::Summary, range(2, 2), &[], "of two"),
        (Level::Meta, range(1, 2), &[1, 2], "of both"),
    ] {
        store.record(&talk, vec![Event::Summary(summary(level, nodes, children, text))]).await.unwrap();
    }
    store.record(&talk, vec![of_summary(true, 2)]).await.unwrap();
    assert_eq!(texts(store, &talk).await, ["of one", DISABLED], "what was made from it is not read");
    let second = SummaryId::new(2).unwrap();
    let read = store.summaries_of(&talk, &[second]).await.unwrap();
    assert!(read[0].is_disabled && read[0].body.text == DISABLED);
    let whole = store.whole_summaries_of(&talk, &[second]).await.unwrap();
    assert!(whole[0].is_disabled && whole[0].body.text == "of two");
    let outlines = store.changes(&talk, crate::port::Revision::default()).await.unwrap().summaries;
    assert_eq!(outlines.iter().map(|outline| outline.is_disabled).collect::<Vec<_>>(), [false, true]);
    store.record(&talk, vec![of_summary(false, 2)]).await.unwrap();
    assert_eq!(texts(store, &talk).await, ["of one", "of two", "of both"]);
    let unknown = store.record(&talk, vec![of_summary(true, 99)]).await.unwrap_err();
    assert!(matches!(unknown, StoreError::Invalid { .. }), "{unknown}");
}
