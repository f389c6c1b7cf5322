//! Erased messages: their places stay, and what came from them goes.

use super::{draft, id, keyed, node, range, summary};
use crate::{
    ERASED, Erasure, ErasureId, Level, Node, NodeRange, NoteId, Role, Timestamp, ViewId,
    port::{Event, Note, NoteChange, Store, StoreError},
    view::{Shown, ShownRun, ViewDraft},
};

fn erasure(number: u8, first: u64, last: u64) -> Erasure {
    Erasure::new(ErasureId::from_bytes([number; 16]), Timestamp::from_millis(9), vec![range(first, last)]).by("suite")
}

fn erased(erasure: Erasure) -> Event {
    Event::Erased(Box::new(erasure))
}

fn view(nodes: u64, question: &str) -> ViewDraft {
    let salt = [7; 16];
    let hash = crate::view::text_hash(&salt, question);
    let run = ShownRun { shown: Shown::Messages(range(1, nodes)), check: [1; 8] };
    let by = crate::WrittenBy::new("suite", "1");
    ViewDraft::new(Timestamp::from_millis(1), nodes, 1, by, salt, hash).history(vec![run]).question(question)
}

fn note(number: u64, name: &str, source: Option<NodeRange>) -> Event {
    let change = NoteChange::Write { name: name.to_owned(), text: format!("the text of {name}") };
    let note = Note::new(NoteId::new(number).unwrap(), Timestamp::from_millis(1), change);
    Event::Note(Box::new(note.sources(source.into_iter().collect())))
}

pub(super) async fn erased_messages_keep_their_places_alone(store: &dyn Store) {
    let talk = id("erased-talk");
    let drafts = (1..=6).map(|number| keyed(&format!("secret {number}"), &format!("key {number}"))).collect();
    store.append(&talk, drafts).await.unwrap();
    let summaries = vec![
        Event::Summary(summary(Level::Summary, range(1, 1), &[], "of one")),
        Event::Summary(summary(Level::Summary, range(2, 2), &[], "of two")),
        Event::Summary(summary(Level::Meta, range(1, 2), &[1, 2], "of both")),
    ];
    for summary in summaries {
        store.record(&talk, vec![summary]).await.unwrap();
    }
    let mut views = [view(1, "early?"), view(4, "late?")].map(|view| Event::View(Box::new(view))).to_vec();
    views.insert(0, Event::Title("a title".into()));
    store.record(&talk, views).await.unwrap();
    let notes = [note(1, "of two", Some(range(1, 2))), note(2, "of five", Some(range(5, 5))), note(3, "alone", None)];
    store.record(&talk, notes.to_vec()).await.unwrap();
    let before = store.proofs(&talk, range(1, 6)).await.unwrap();
    let (whole, root) = {
        let verified = store.verify(Some(&talk)).await.unwrap();
        (verified.verified, verified.root)
    };

    let mut first = erasure(1, 2, 3);
    first.notes = vec![[NoteId::new(3).unwrap(); 2]];
    store.record(&talk, vec![erased(first)]).await.unwrap();

    let nodes = store.nodes(&talk, range(1, 6)).await.unwrap();
    let expected =
        |position| Node::erased(node(position), Role::User, nodes[usize::try_from(position).unwrap() - 1].at);
    assert_eq!(nodes[1..3], [expected(2), expected(3)]);
    assert!(nodes.iter().all(|node| node.is_erased == [2, 3].contains(&node.id.get())));
    assert_eq!(nodes[1].message.text(), ERASED);
    assert_eq!(store.node(&talk, node(2)).await.unwrap(), nodes[1]);
    let outlines = store.outline(&talk).await.unwrap();
    assert!(outlines.iter().zip(&nodes).all(|(outline, node)| *outline == crate::NodeOutline::of(node)));
    let state = store.conversation(&talk).await.unwrap();
    assert_eq!((state.nodes, state.erased, state.summaries, state.title.as_deref()), (6, 2, 1, Some("a title")));

    // Leaves and root stay, salts go.
    let after = store.proofs(&talk, range(1, 6)).await.unwrap();
    assert!(before.iter().zip(&after).all(|(before, after)| before.leaf == after.leaf));
    assert_eq!(after[1].salt, [0; 16]);
    assert_eq!(after[3], before[3]);
    let verified = store.verify(Some(&talk)).await.unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!((verified.verified, verified.erased, verified.root), (whole - 2, 2, root));

    // So does what came from them, and nothing else.
    let left: Vec<_> = store.summaries(&talk).await.unwrap().into_iter().map(|summary| summary.body.text).collect();
    assert_eq!(left, ["of one"]);
    let views = store.views(&talk, ViewId::FIRST, ViewId::new(9).unwrap()).await.unwrap();
    assert_eq!(views.iter().map(|view| view.body.question.as_str()).collect::<Vec<_>>(), ["", ""]);
    assert!(views.iter().all(|view| view.body.is_erased() && view.body.history.iter().all(|run| run.check == [0; 8])));
    let notes = store.notes(&talk, NoteId::FIRST, NoteId::new(9).unwrap()).await.unwrap();
    assert_eq!(notes.iter().map(|note| note.id.get()).collect::<Vec<_>>(), [2]);

    // Its key does not bring an erased message back, whatever comes with it.
    let again = vec![keyed("secret 2", "key 2"), keyed("another text", "key 3"), keyed("secret 4", "key 4")];
    let appended = store.append(&talk, again).await.unwrap();
    let told: Vec<_> = appended.iter().map(|one| (one.node.get(), one.is_new, one.is_erased)).collect();
    assert_eq!(told, [(2, false, true), (3, false, true), (4, false, false)]);

    // A summary made from a message before its erasure is refused; one made now is kept.
    let late = Event::Summary(summary(Level::Summary, range(3, 3), &[], "of three"));
    let refused = store.record(&talk, vec![late]).await.unwrap_err();
    assert!(matches!(refused, StoreError::ErasedMeanwhile { .. }), "{refused}");
    let refused = store.record(&talk, vec![Event::View(Box::new(view(6, "all?")))]).await.unwrap_err();
    assert!(matches!(refused, StoreError::ErasedMeanwhile { .. }), "{refused}");
    let anew = summary(Level::Summary, range(2, 2), &[], "of two").erased(1);
    let recorded = store.record(&talk, vec![Event::Summary(anew), note(4, "later", None)]).await.unwrap();
    assert_eq!(recorded.len(), 2);
    store.record(&talk, vec![Event::View(Box::new(view(6, "all?").erased(2)))]).await.unwrap();
    let last = store.views(&talk, ViewId::FIRST, ViewId::new(9).unwrap()).await.unwrap().pop().unwrap();
    assert_eq!((last.id.get(), last.body.question.as_str(), last.body.is_erased()), (3, "all?", false));
    let beyond = store.record(&talk, vec![erased(erasure(2, 5, 7))]).await.unwrap_err();
    assert!(matches!(beyond, StoreError::UnknownNode { .. }), "{beyond}");
    assert_eq!(store.conversation(&talk).await.unwrap().erased, 2);

    let mut rest = erasure(3, 1, 6);
    rest.is_whole = true;
    store.record(&talk, vec![erased(rest)]).await.unwrap();
    let state = store.conversation(&talk).await.unwrap();
    assert_eq!((state.erased, state.summaries, state.title, state.notes), (6, 0, None, 4));
    assert_eq!(store.notes(&talk, NoteId::FIRST, NoteId::new(9).unwrap()).await.unwrap(), []);
    assert_eq!(store.verify(Some(&talk)).await.unwrap().root, root);
}

pub(super) async fn an_erasure_is_of_all_that_share_its_messages(store: &dyn Store) {
    let [parent, child, grandchild] = ["erased-parent", "erased-child", "erased-grandchild"].map(id);
    store.append(&parent, (1..=4).map(|number| draft(&format!("shared {number}"), 1)).collect()).await.unwrap();
    store.fork(&parent, node(3), &child).await.unwrap();
    store.append(&child, vec![draft("of the child", 1), draft("of the child, too", 1)]).await.unwrap();
    store.fork(&child, node(4), &grandchild).await.unwrap();
    let erased_of = async |of: &crate::ConversationId| {
        let nodes = store.nodes(of, range(1, 9)).await.unwrap();
        nodes.iter().filter(|node| node.is_erased).map(|node| node.id.get()).collect::<Vec<_>>()
    };
    let all = async || [erased_of(&parent).await, erased_of(&child).await, erased_of(&grandchild).await];
    // From a fork of a fork up to where the message was appended, and down again.
    store.record(&grandchild, vec![erased(erasure(4, 2, 2))]).await.unwrap();
    assert_eq!(all().await, [vec![2], vec![2], vec![2]]);
    // Message 4 of the parent is another one.
    store.record(&parent, vec![erased(erasure(5, 3, 4))]).await.unwrap();
    assert_eq!(all().await, [vec![2, 3, 4], vec![2, 3], vec![2, 3]]);
    store.record(&child, vec![erased(erasure(6, 4, 5))]).await.unwrap();
    assert_eq!(all().await, [vec![2, 3, 4], vec![2, 3, 4, 5], vec![2, 3, 4]]);
    let late = id("erased-late");
    store.fork(&parent, node(3), &late).await.unwrap();
    assert_eq!(erased_of(&late).await, [2, 3]);
}
