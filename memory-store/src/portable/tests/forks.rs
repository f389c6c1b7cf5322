//! Exports of conversations that share a prefix.

use memory_core::{
    Level, Message, NodeDraft, NodeRange, SummaryDraft, SummaryId, Timestamp,
    port::{Event, Source, Store},
    testing::MemoryStore,
};
use pollster::block_on;

use super::{
    export, import, open,
    sample::{fill, id, node, plain, summary},
};
use crate::{ExchangeError, LogStore};

/// Both have the marks that the other does not.
fn fork_beside(store: &dyn Store) {
    fill(store, plain(8));
    block_on(store.fork(&id("c"), node(5), &id("fork"))).unwrap();
    let pin = |number, pinned| Event::Pin { node: node(number), pinned };
    let more = |text: &str| vec![NodeDraft::new(Message::user(text), Timestamp::from_millis(77), 1)];
    block_on(store.record(&id("c"), vec![pin(2, false), pin(3, true)])).unwrap();
    block_on(store.append(&id("c"), more("of the parent"))).unwrap();
    block_on(store.append(&id("fork"), more("of the fork"))).unwrap();
    let events = vec![Event::Title("Fork".into()), pin(1, true), summary(Level::Summary, (6, 6), &[])];
    block_on(store.record(&id("fork"), events)).unwrap();
}

#[test]
fn a_fork_is_exported_with_its_past_and_imported_without_its_parent_and_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let from = LogStore::open(directory.path().join("from")).unwrap();
    fork_beside(&from);
    let model = MemoryStore::default();
    fork_beside(&model);
    let bytes = export(&from, "fork");
    assert_eq!(open(&bytes).unwrap().header().nodes, 6);
    let all = NodeRange::first_n(100).unwrap();
    // A store numbers summaries itself: they are compared by their text and their input.
    let summaries = |store: &dyn Store, name: &str| -> Vec<_> {
        let all = block_on(store.summaries(&id(name))).unwrap();
        let text = |child: &SummaryId| all.iter().find(|summary| summary.id == *child).unwrap().body.text.clone();
        let made_from = |body: &SummaryDraft| body.children.iter().map(text).collect::<Vec<_>>();
        let told = |body: &SummaryDraft| (made_from(body), body.clone().children(Vec::new()));
        all.iter().map(|summary| told(&summary.body)).collect()
    };
    let of = |store: &dyn Store, name: &str| {
        let (nodes, proofs) = (block_on(store.nodes(&id(name), all)), block_on(store.proofs(&id(name), all)));
        (nodes.unwrap(), proofs.unwrap(), summaries(store, name))
    };
    let root = |store: &dyn Store, name: &str| block_on(store.verify(Some(&id(name)))).unwrap().root;
    let should = of(&from, "fork");
    assert!(should.2.iter().any(|(children, _)| !children.is_empty()), "{:?}", should.2);
    let pinned: Vec<_> = should.0.iter().filter(|node| node.pinned).map(|node| node.id.get()).collect();
    assert_eq!(pinned, [1, 2], "as it was when the fork began, and its own");
    assert_eq!(of(&model, "fork").0, should.0);

    let to = LogStore::open(directory.path().join("to")).unwrap();
    import(&to, &bytes).unwrap();
    let parent = of(&from, "c");
    block_on(crate::import(&from, &mut open(&bytes).unwrap(), Some(&id("copy")), None, &())).unwrap();
    assert_eq!(of(&from, "c"), parent);
    for (store, name) in [(&to, "fork"), (&from, "copy")] {
        assert_eq!(of(store, name), should, "{name}");
        assert_eq!(root(store, name), root(&from, "fork"), "{name}");
        let state = block_on(store.conversation(&id(name))).unwrap();
        assert_eq!((state.forked_from, state.title.as_deref()), (None, Some("Fork")), "{name}: it stands alone");
    }
    // The shared messages are there from elsewhere: nothing is written over them.
    let again = import(&from, &bytes).unwrap();
    assert_eq!((again.new_nodes, again.new_summaries), (0, 0));
    assert_eq!(export(&from, "fork"), bytes);
}

#[test]
fn the_export_of_a_parent_completes_a_fork_that_says_nothing_else_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = LogStore::open(directory.path()).unwrap();
    fork_beside(&store);
    block_on(store.fork(&id("c"), node(4), &id("empty"))).unwrap();
    let bytes = export(&store, "c");
    let imported = block_on(crate::import(&store, &mut open(&bytes).unwrap(), Some(&id("empty")), None, &())).unwrap();
    assert_eq!((imported.nodes, imported.new_nodes), (9, 5));
    let root = |name: &str| block_on(store.verify(Some(&id(name)))).unwrap().root;
    assert_eq!(root("empty"), root("c"));
    let before = export(&store, "fork");
    let error = block_on(crate::import(&store, &mut open(&bytes).unwrap(), Some(&id("fork")), None, &())).unwrap_err();
    assert!(matches!(&error, ExchangeError::Differs { node, .. } if node.get() == 6), "{error}");
    assert_eq!(export(&store, "fork"), before);
}
