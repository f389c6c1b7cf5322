//! Checks of a store's recorded views.

use super::{draft, id, node, range, summary};
use crate::{
    Level, SummaryId, Timestamp, ViewId, WrittenBy,
    port::{Event, Recorded, Revision, Store, StoreError},
    view::{Shown, ShownElsewhere, ShownRun, ViewDraft, run_check, text_hash},
};

/// A view of five messages: a summary over two of them, one that is lost, and two verbatim.
fn view(question: &str) -> ViewDraft {
    let salt = [9; 16];
    let run = |shown| ShownRun { shown, check: run_check(&salt, [question]) };
    ViewDraft {
        at: Timestamp::from_millis(-7),
        nodes: 5,
        layout: u32::MAX,
        budget: 4_000,
        tokens: 700,
        counter: "words".into(),
        chosen_by: WrittenBy { strategy: "suite".into(), version: "1".into() },
        longest_result: Some(64),
        history: vec![
            run(Shown::Summaries { first: SummaryId::new(1).unwrap(), count: 2 }),
            run(Shown::Lost(range(3, 3))),
            run(Shown::Messages(range(4, 5))),
        ],
        recalled: vec![run(Shown::Messages(range(1, 1)))],
        elsewhere: Vec::new(),
        attached: Vec::new(),
        question: question.to_owned(),
        salt,
        hash: text_hash(&salt, question),
        erased: 0,
    }
}

pub(super) async fn views_are_kept_as_they_were_shown(store: &dyn Store) {
    let watched = id("watched");
    let number = |number| ViewId::new(number).unwrap();
    let event = |view: &ViewDraft| Event::View(Box::new(view.clone()));
    store.append(&watched, (0..6).map(|n| draft("word", n)).collect()).await.unwrap();
    let leaves = [1, 2].map(|n| Event::Summary(summary(Level::Summary, range(n, n), &[], &n.to_string())));
    store.record(&watched, leaves.to_vec()).await.unwrap();
    assert_eq!(store.conversation(&watched).await.unwrap().views, 0);
    assert!(store.views(&watched, ViewId::FIRST, number(9)).await.unwrap().is_empty());

    let revision = store.changes(&watched, Revision::default()).await.unwrap().revision;
    let mut shown = ["one?", "two?", "two?", "\u{1F600}\r\nthree?"].map(view);
    // No store needs to know this conversation.
    let run = ShownRun { shown: Shown::Messages(range(70, 72)), check: [4; 8] };
    let elsewhere = ShownElsewhere::new(id("never"), vec![run, run]);
    let times = [Timestamp::from_millis(-9), Timestamp::default()];
    shown[3].elsewhere = vec![elsewhere.clone().title("Trip\n".to_owned()).times(times), elsewhere];
    let recorded = store.record(&watched, shown[..3].iter().map(event).collect()).await.unwrap();
    assert_eq!(recorded, [1, 2, 3].map(|n| Recorded::View(number(n))), "the same shown again is another view");
    assert_eq!(store.record(&watched, vec![event(&shown[3])]).await.unwrap(), [Recorded::View(number(4))]);
    assert_eq!(store.conversation(&watched).await.unwrap().views, 4);
    let read = store.views(&watched, ViewId::FIRST, number(99)).await.unwrap();
    assert_eq!(read.iter().map(|view| view.id.get()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(read.iter().map(|view| &view.body).eq(&shown));
    assert_eq!(store.views(&watched, number(2), number(3)).await.unwrap(), read[1..3]);
    assert!(store.views(&watched, number(3), number(2)).await.unwrap().is_empty());
    assert!(store.changes(&watched, revision).await.unwrap().summaries.is_empty(), "a view changes no tree");

    for (why, bad) in [
        ("it ends too early", ViewDraft { nodes: 6, ..view("x") }),
        ("it shows more than there is", ViewDraft { nodes: 7, ..view("x") }),
        ("its summary is not there", {
            let mut bad = view("x");
            bad.history[0].shown = Shown::Summaries { first: SummaryId::new(2).unwrap(), count: 2 };
            bad
        }),
        (
            "it shows nothing of another conversation",
            view("x").elsewhere(vec![ShownElsewhere::new(id("never"), vec![])]),
        ),
    ] {
        let refused = store.record(&watched, vec![event(&bad)]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Invalid { .. }), "{why}: {refused}");
    }
    let unknown = store.views(&id("never"), ViewId::FIRST, number(1)).await.unwrap_err();
    assert!(unknown.is_not_found());
    store.record(&watched, vec![Event::Pin { node: node(1), pinned: true }]).await.unwrap();
    assert_eq!(store.conversation(&watched).await.unwrap().views, 4);
}
