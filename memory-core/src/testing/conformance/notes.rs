//! Checks of a store's notes.

use super::{draft, id, node, owners::owner, range};
use crate::{
    NoteId, Timestamp,
    port::{Event, Note, NoteChange, Recorded, Revision, Store, StoreError},
};

fn number(number: u64) -> NoteId {
    NoteId::new(number).expect("not zero")
}

fn note(of: u64, text: &str) -> Note {
    let change = NoteChange::Write { name: "a/b \u{1F600}".into(), text: text.into() };
    Note::new(number(of), Timestamp::from_millis(-7), change)
}

fn event(note: &Note) -> Event {
    Event::Note(Box::new(note.clone()))
}

async fn all(store: &dyn Store, name: &str) -> Vec<Note> {
    store.notes(&id(name), NoteId::FIRST, number(u64::MAX)).await.unwrap()
}

pub(super) async fn notes_are_kept_in_their_order(store: &dyn Store) {
    let noted = id("noted");
    store.append(&noted, (0..3).map(|n| draft("word", n)).collect()).await.unwrap();
    let before = store.conversation(&noted).await.unwrap();
    let revision = store.changes(&noted, Revision::default()).await.unwrap().revision;
    assert_eq!((before.notes, all(store, "noted").await), (0, Vec::new()));
    let name = || "a/b \u{1F600}".to_owned();
    let changes = [
        NoteChange::Write { name: name(), text: "line one\r\nline two\0".into() },
        NoteChange::Append { name: name(), text: String::new() },
        NoteChange::Rename { from: name(), to: "c".into() },
        NoteChange::Remove { name: "c".into() },
    ];
    let mut notes: Vec<_> =
        (1..).zip(changes).map(|(n, change)| Note::new(number(n), Timestamp::from_millis(n as i64), change)).collect();
    notes[1].sources = vec![range(1, 1), range(2, 3)];
    let recorded = store.record(&noted, notes[..3].iter().map(event).collect()).await.unwrap();
    assert_eq!(recorded, [1, 2, 3].map(|n| Recorded::Note(number(n))));
    // A note next to other events.
    let title = Event::Title("titled".into());
    assert_eq!(store.record(&noted, vec![title, event(&notes[3])]).await.unwrap()[1], Recorded::Note(number(4)));
    assert_eq!(all(store, "noted").await, notes);
    assert_eq!(store.notes(&noted, number(2), number(3)).await.unwrap(), notes[1..3]);
    assert!(store.notes(&noted, number(3), number(2)).await.unwrap().is_empty());
    assert!(store.notes(&noted, number(5), number(9)).await.unwrap().is_empty());
    let after = store.conversation(&noted).await.unwrap();
    assert_eq!(after, before.notes(4).title("titled".to_owned()), "messages, their times and tokens stay");
    assert!(!after.is_of_notes());
    assert!(store.changes(&noted, revision).await.unwrap().nodes.is_empty(), "a note changes no tree");

    let next = number(5);
    for (stale, conflicting) in [(4, vec![note(4, "stale")]), (6, vec![note(6, "ahead")]), (5, vec![note(5, "x"); 2])] {
        let refused = store.record(&noted, conflicting.iter().map(event).collect()).await.unwrap_err();
        let StoreError::NoteConflict { conversation, note, next: told } = refused else { unreachable!("{refused}") };
        assert_eq!((conversation, note), (noted.clone(), number(stale)));
        assert_eq!(told, if stale == 5 { number(6) } else { next });
    }
    let refused = store.record(&noted, vec![event(&note(5, "x").sources(vec![range(2, 4)]))]).await.unwrap_err();
    assert!(matches!(refused, StoreError::UnknownNode { node: of, nodes: 3, .. } if of == node(4)), "{refused}");
    assert_eq!(all(store, "noted").await.len(), 4, "nothing of it was written");
    store.record(&noted, vec![event(&note(5, "x"))]).await.unwrap();
    store.append(&noted, vec![draft("more", 9)]).await.unwrap();
    let fork = store.fork(&noted, node(4), &id("noted-fork")).await.unwrap();
    assert_eq!((fork.notes, all(store, "noted-fork").await), (0, Vec::new()), "a fork begins without notes");
    store.record(&fork.id, vec![event(&note(1, "its own"))]).await.unwrap();
    assert_eq!((all(store, "noted-fork").await, all(store, "noted").await.len()), (vec![note(1, "its own")], 5));
    assert!(store.notes(&id("never"), NoteId::FIRST, NoteId::FIRST).await.unwrap_err().is_not_found());
}

pub(super) async fn a_note_may_begin_a_conversation(store: &dyn Store) {
    let (ana, ben, hers) = (owner("ana"), owner("ben"), id("noted-hers"));
    let first = [event(&note(1, "of hers")), Event::Tags(vec!["t".into()])];
    let refused = store.record_for(Some(&ana), &hers, first.iter().rev().cloned().collect()).await.unwrap_err();
    assert!(refused.is_not_found(), "{refused}");
    let refused = store.record_for(Some(&ana), &hers, vec![event(&note(1, "x").sources(vec![range(1, 1)]))]).await;
    assert!(refused.is_err() && store.conversation(&hers).await.unwrap_err().is_not_found(), "nothing was begun");
    store.record_for(Some(&ana), &hers, first.to_vec()).await.unwrap();
    let state = store.conversation(&hers).await.unwrap();
    assert_eq!((state.owner.as_ref(), state.nodes, state.notes, state.first_at), (Some(&ana), 0, 1, None));
    assert!(state.is_of_notes() && state.tags == ["t"] && store.conversations().await.unwrap().contains(&state));
    let refused = store.record_for(Some(&ben), &hers, vec![event(&note(2, "his"))]).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NameTaken { id } if *id == hers), "{refused}");
    store.record(&hers, vec![event(&note(2, "by nobody"))]).await.expect("without an owner, to any conversation");
    assert!(store.fork(&hers, node(1), &id("noted-none")).await.unwrap_err().is_not_found());
    assert_eq!(store.verify(Some(&hers)).await.unwrap().nodes, 0);
    store.append_for(Some(&ana), &hers, vec![draft("Hello.", 1)]).await.unwrap();
    let state = store.conversation(&hers).await.unwrap();
    assert_eq!((state.nodes, state.notes, state.is_of_notes()), (1, 2, false));
    store.record(&hers, vec![event(&note(3, "of a message").sources(vec![range(1, 1)]))]).await.unwrap();
    assert_eq!(all(store, "noted-hers").await.iter().map(|note| note.id.get()).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(store.verify(None).await.unwrap().is_whole());
}

pub(super) async fn the_first_note_may_follow_messages_that_are_notes(store: &dyn Store) {
    let old = id("noted-old");
    store.append(&old, (0..3).map(|n| draft("word", n)).collect()).await.unwrap();
    let refused = store.record(&old, vec![event(&note(5, "ahead"))]).await.unwrap_err();
    assert!(matches!(refused, StoreError::NoteConflict { next: NoteId::FIRST, .. }), "{refused}");
    store.record(&old, vec![event(&note(4, "four")), event(&note(5, "five"))]).await.unwrap();
    assert!(store.record(&old, vec![event(&note(1, "one"))]).await.is_err());
    assert_eq!((all(store, "noted-old").await.len(), store.conversation(&old).await.unwrap().notes), (2, 5));
}

pub(super) async fn names_of_notes_are_kept_for_their_owners(store: &dyn Store) {
    let (ana, ben) = (owner("ana"), owner("ben"));
    let (of_none, of_ana) = (id("memory-notes"), id("memory-notes.ana"));
    let reserved = |refused: Result<(), StoreError>, name: &_| {
        let refused = refused.expect_err("the name is kept");
        assert!(matches!(&refused, StoreError::Reserved { id, .. } if id == name), "{refused}");
    };
    for (who, name) in [(Some(&ben), &of_none), (Some(&ben), &of_ana), (None, &of_ana)] {
        reserved(store.record_for(who, name, vec![event(&note(1, "not theirs"))]).await.map(drop), name);
    }
    reserved(store.append(&of_none, vec![draft("no note", 2)]).await.map(drop), &of_none);
    reserved(store.append_for(Some(&ana), &of_ana, vec![draft("no note", 2)]).await.map(drop), &of_ana);
    let fork = id("memory-notes.carol");
    reserved(store.fork(&id("noted"), node(1), &fork).await.map(drop), &fork);
    store.record(&of_none, vec![event(&note(1, "of nobody"))]).await.expect("notes of nobody");
    store.record_for(Some(&ana), &of_ana, vec![event(&note(1, "of hers"))]).await.expect("notes of hers");
}
