//! Checks of a store's forks.

use super::{draft, id, keyed, node, range, summary};
use crate::{
    ConversationId, Hash, Level, MessageKey, Node, Summary, SummaryId, Timestamp, ViewId, WrittenBy,
    port::{Event, ForkedFrom, NodeProof, Recorded, Revision, Store, StoreError},
    proof::MerkleFrontier,
    view::{Shown, ShownRun, View, ViewDraft},
};

/// Everything that a store returns for a conversation.
#[derive(Debug, PartialEq)]
struct Contents {
    nodes: Vec<Node>,
    proofs: Vec<NodeProof>,
    summaries: Vec<Summary>,
    views: Vec<View>,
    keys: Vec<Option<u64>>,
}

const KEYS: [&str; 3] = ["early", "late", "own"];

async fn contents(store: &dyn Store, of: &ConversationId) -> Contents {
    let mut keys = Vec::new();
    for key in KEYS {
        let found = store.find_key(of, &MessageKey::new(key).unwrap()).await.unwrap();
        keys.push(found.map(crate::NodeId::get));
    }
    let last = ViewId::new(99).unwrap();
    let contents = Contents {
        nodes: store.nodes(of, range(1, 99)).await.unwrap(),
        proofs: store.proofs(of, range(1, 99)).await.unwrap(),
        summaries: store.summaries(of).await.unwrap(),
        views: store.views(of, ViewId::FIRST, last).await.unwrap(),
        keys,
    };
    let outlines: Vec<_> = contents.nodes.iter().map(crate::NodeOutline::of).collect();
    assert_eq!(store.outline(of).await.unwrap(), outlines);
    let changes = store.changes(of, Revision::default()).await.unwrap();
    assert_eq!((changes.nodes.len(), changes.summaries.len()), (contents.nodes.len(), contents.summaries.len()));
    let root = contents.proofs.iter().map(|proof| proof.leaf).collect::<MerkleFrontier>().root();
    let verified = store.verify(Some(of)).await.unwrap();
    assert!(verified.is_whole(), "{:?}", verified.damage);
    assert_eq!((verified.root, verified.nodes), (root, contents.nodes.len() as u64));
    let state = store.conversation(of).await.unwrap();
    assert_eq!((state.nodes, state.summaries), (contents.nodes.len() as u64, contents.summaries.len() as u64));
    assert_eq!(state.tokens, contents.nodes.iter().map(|node| u64::from(node.tokens)).sum::<u64>());
    assert!(store.verify(None).await.unwrap().is_whole());
    contents
}

fn view(nodes: u64, question: &str) -> Event {
    let run = ShownRun { shown: Shown::Messages(range(1, nodes)), check: [7; 8] };
    Event::View(Box::new(ViewDraft {
        at: Timestamp::from_millis(1),
        nodes,
        layout: 1,
        budget: 100,
        tokens: 10,
        counter: "words".into(),
        chosen_by: WrittenBy { strategy: "suite".into(), version: "1".into() },
        longest_result: None,
        history: vec![run],
        recalled: Vec::new(),
        elsewhere: Vec::new(),
        attached: Vec::new(),
        question: question.to_owned(),
        salt: [1; 16],
        hash: Hash::of_parts([question.as_bytes()]),
        erased: 0,
    }))
}

fn weigh(number: u64, importance: f32) -> Event {
    let scored_by = WrittenBy { strategy: "rules".into(), version: "1".into() };
    Event::Importance { node: node(number), importance, scored_by }
}

fn pin(number: u64, pinned: bool) -> Event {
    Event::Pin { node: node(number), pinned }
}

fn leaf(first: u64, last: u64, text: &str) -> Event {
    Event::Summary(summary(Level::Summary, range(first, last), &[], text))
}

/// Six nodes, four summaries (two reach beyond node 4), and views of 3, 4 and 6 nodes.
async fn parent(store: &dyn Store, name: &str) -> ConversationId {
    let parent = id(name);
    let mut batch: Vec<_> = (0..4).map(|n| draft("shared", n)).collect();
    batch[1] = keyed("the second", "early");
    store.append(&parent, batch[..3].to_vec()).await.unwrap();
    store.record(&parent, vec![view(3, "three"), pin(1, true), weigh(2, 1.0), leaf(1, 2, "a")]).await.unwrap();
    store.append(&parent, batch[3..].to_vec()).await.unwrap();
    store.record(&parent, vec![view(4, "four"), Event::Title("whole".into())]).await.unwrap();
    store.append(&parent, vec![keyed("the fifth", "late"), draft("the sixth", 9)]).await.unwrap();
    store.record(&parent, vec![leaf(3, 6, "b"), leaf(3, 4, "c"), view(6, "six")]).await.unwrap();
    store.record(&parent, vec![pin(1, false), weigh(3, 0.25), leaf(5, 6, "d")]).await.unwrap();
    parent
}

pub(super) async fn a_fork_shares_the_past_and_nothing_else(store: &dyn Store) {
    let parent = parent(store, "trunk").await;
    let child = id("branch");
    let whole = contents(store, &parent).await;
    let state = store.fork(&parent, node(4), &child).await.unwrap();
    let from = ForkedFrom { conversation: parent.clone(), node: node(4) };
    assert_eq!((state.nodes, state.summaries, state.views, state.title.as_deref()), (4, 2, 2, None));
    assert_eq!(state.forked_from, Some(from));
    assert_eq!(store.conversation(&child).await.unwrap(), state);
    assert_eq!(store.conversation(&parent).await.unwrap().forked_from, None);
    assert!(store.conversations().await.unwrap().contains(&state));

    let shared = contents(store, &child).await;
    assert_eq!(shared.nodes, whole.nodes[..4], "weights and pins are those of now");
    assert_eq!(shared.proofs, whole.proofs[..4]);
    assert_eq!(shared.summaries, [whole.summaries[0].clone(), whole.summaries[2].clone()]);
    assert_eq!(shared.views, whole.views[..2]);
    assert_eq!(shared.keys, [Some(2), None, None]);
    assert_eq!(contents(store, &parent).await, whole);

    // The child's additions are its own. The key of a node that it does not share is free.
    let appended = store
        .append(&child, vec![keyed("the second", "early"), keyed("another", "late"), keyed("mine", "own")])
        .await
        .unwrap();
    assert_eq!(
        appended.iter().map(|one| (one.node.get(), one.is_new)).collect::<Vec<_>>(),
        [(2, false), (5, true), (6, true)]
    );
    let conflict = store.append(&child, vec![keyed("not the second", "early")]).await.unwrap_err();
    assert!(matches!(conflict, StoreError::KeyConflict { .. }), "{conflict}");
    let recorded = store
        .record(
            &child,
            vec![leaf(1, 2, "a"), leaf(3, 4, "c"), leaf(5, 6, "mine"), pin(2, true), weigh(1, 0.5), view(6, "own")],
        )
        .await
        .unwrap();
    let number = |n| Recorded::Summary(SummaryId::new(n).unwrap());
    let next_view = Recorded::View(ViewId::new(3).unwrap());
    assert_eq!(recorded, [number(1), number(3), number(5), Recorded::Done, Recorded::Done, next_view]);
    assert_eq!(contents(store, &parent).await, whole, "the parent has nothing of it");

    // Later additions of the parent do not reach the child.
    let before = contents(store, &child).await;
    store.append(&parent, vec![keyed("the parent's", "own"), draft("more", 3)]).await.unwrap();
    store.record(&parent, vec![leaf(1, 4, "e"), pin(3, true), weigh(4, 0.125), view(8, "eight")]).await.unwrap();
    store.record(&parent, vec![Event::Tags(vec!["t".into()])]).await.unwrap();
    assert_eq!(contents(store, &child).await, before);
    assert_eq!(before.keys, [Some(2), Some(5), Some(6)]);
    assert_eq!(contents(store, &parent).await.keys, [Some(2), Some(5), Some(7)]);
    let meta = Event::Summary(summary(Level::Meta, range(1, 4), &[1, 3], "both"));
    assert_eq!(store.record(&child, vec![meta]).await.unwrap(), [number(6)], "built upon what is shared");
    let of_nothing = Event::Summary(summary(Level::Meta, range(5, 6), &[4], "not shared"));
    assert!(matches!(store.record(&child, vec![of_nothing]).await.unwrap_err(), StoreError::Invalid { .. }));
}

pub(super) async fn forks_may_be_forked(store: &dyn Store) {
    let parent = parent(store, "oldest").await;
    let (child, grandchild, other) = (id("middle"), id("youngest"), id("beside"));
    store.fork(&parent, node(6), &child).await.unwrap();
    assert_eq!(contents(store, &child).await, contents(store, &parent).await, "all of it");
    store.append(&child, vec![keyed("mine", "own"), draft("mine too", 5)]).await.unwrap();
    store.record(&child, vec![leaf(1, 3, "child"), leaf(7, 8, "own"), pin(6, true)]).await.unwrap();
    // Forks at a node of the shared prefix, and at one of the child's own.
    store.fork(&child, node(3), &grandchild).await.unwrap();
    store.fork(&child, node(7), &other).await.unwrap();
    let (whole, young, beside) =
        (contents(store, &child).await, contents(store, &grandchild).await, contents(store, &other).await);
    let texts = |contents: &Contents| contents.summaries.iter().map(|one| one.body.text.clone()).collect::<Vec<_>>();
    assert_eq!((young.nodes.as_slice(), young.proofs.as_slice()), (&whole.nodes[..3], &whole.proofs[..3]));
    assert_eq!((texts(&young), young.views.len()), (vec!["a".to_owned(), "child".to_owned()], 1));
    assert_eq!((beside.nodes.as_slice(), beside.proofs.as_slice()), (&whole.nodes[..7], &whole.proofs[..7]));
    assert_eq!(texts(&beside), ["a", "b", "c", "d", "child"]);
    assert_eq!((young.keys[2], beside.keys[2]), (None, Some(7)));
    store.append(&grandchild, vec![draft("youngest", 1)]).await.unwrap();
    store.record(&grandchild, vec![leaf(1, 3, "child"), leaf(2, 4, "own")]).await.unwrap();
    let numbers: Vec<_> = contents(store, &grandchild).await.summaries.iter().map(|one| one.id.get()).collect();
    assert_eq!(numbers, [1, 5, 7], "the child had six");
    assert_eq!(contents(store, &other).await, beside);
    assert_eq!(contents(store, &child).await, whole);
}

pub(super) async fn a_fork_that_cannot_be_is_refused(store: &dyn Store) {
    let (parent, other) = (id("refusing"), id("there-already"));
    for there in [&parent, &other] {
        store.append(there, vec![draft("one", 1), draft("two", 2)]).await.unwrap();
    }
    let refused = store.fork(&id("nowhere"), node(1), &id("new")).await.unwrap_err();
    assert!(matches!(refused, StoreError::UnknownConversation { .. }), "{refused}");
    let refused = store.fork(&parent, node(3), &id("new")).await.unwrap_err();
    assert!(matches!(refused, StoreError::UnknownNode { nodes: 2, .. }), "{refused}");
    for taken in [&other, &parent] {
        let refused = store.fork(&parent, node(1), taken).await.unwrap_err();
        assert!(matches!(&refused, StoreError::NameTaken { id } if id == taken), "{refused}");
    }
    for unfit in [id("new\u{202e}"), id("cafe\u{301}")] {
        let refused = store.fork(&parent, node(1), &unfit).await.unwrap_err();
        assert!(matches!(refused, StoreError::UnfitName(_)), "{refused}");
        assert!(store.conversation(&unfit).await.unwrap_err().is_not_found(), "nothing was begun");
    }
    assert!(store.conversation(&id("new")).await.unwrap_err().is_not_found(), "nothing was begun");
    assert_eq!(store.conversation(&other).await.unwrap().nodes, 2);
}
