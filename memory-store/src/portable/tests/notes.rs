//! Exports of conversations with notes, and of those whose messages are notes.

use memory_core::{
    Json, Mark, Message, NodeDraft, NodeRange, NoteId, OwnerId, Timestamp,
    port::{ConversationState, Event, Note, NoteChange, Store},
    testing::MemoryStore,
};
use pollster::block_on;

use super::{
    export, import, lines, open,
    sample::{fill, id, node, plain},
    sealed,
};
use crate::{ExchangeError, LogStore};

fn note(of: u64, change: NoteChange) -> Note {
    Note::new(NoteId::new(of).unwrap(), Timestamp::from_millis(-3), change)
}

fn notes() -> Vec<Note> {
    let (name, text) = (|| "a \"b\"".to_owned(), |text: &str| text.to_owned());
    let runs = vec![NodeRange::single(node(1)), NodeRange::new(node(2), node(3)).unwrap()];
    vec![
        note(1, NoteChange::Write { name: name(), text: text("one\ntwo") }).sources(runs),
        note(2, NoteChange::Append { name: name(), text: String::new() }),
        note(3, NoteChange::Rename { from: name(), to: text("c") }),
        note(4, NoteChange::Remove { name: text("c") }),
    ]
}

fn record(store: &dyn Store, name: &str, notes: &[Note]) {
    let events = notes.iter().map(|note| Event::Note(Box::new(note.clone()))).collect();
    block_on(store.record(&id(name), events)).unwrap();
}

fn all(store: &dyn Store, name: &str) -> Vec<Note> {
    block_on(store.notes(&id(name), NoteId::FIRST, NoteId::after(99))).unwrap()
}

fn state(store: &dyn Store, name: &str) -> ConversationState {
    block_on(store.conversation(&id(name))).unwrap()
}

#[test]
fn an_export_of_format_3_never_changes() {
    let golden = include_bytes!("../../../tests/golden/export-3.jsonl");
    let store = MemoryStore::default();
    fill(&store, plain(3));
    record(&store, "c", &notes());
    let bytes = export(&store, "c");
    if let Some(path) = std::env::var_os("MEMORY_GOLDEN_EXPORT") {
        std::fs::write(path, &bytes).unwrap();
    }
    assert_eq!(str::from_utf8(&bytes).unwrap(), str::from_utf8(golden).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let log = LogStore::open(directory.path()).unwrap();
    let imported = import(&log, golden).unwrap();
    assert_eq!((imported.new_nodes, imported.notes, imported.new_notes), (3, 4, 4));
    assert_eq!((all(&log, "c"), export(&log, "c")), (notes(), bytes));
    let again = import(&log, golden).unwrap();
    assert_eq!((again.new_nodes, again.notes, again.new_notes), (0, 4, 0));
    assert_eq!(all(&log, "c"), notes());
}

#[test]
fn notes_alone_come_back_and_what_is_missing_of_them_is_added() {
    let store = MemoryStore::default();
    let unsourced: Vec<_> = notes().into_iter().map(|note| note.sources(Vec::new())).collect();
    let owner = OwnerId::new("ana").unwrap();
    let events = unsourced.iter().map(|note| Event::Note(Box::new(note.clone()))).collect();
    block_on(store.record_for(Some(&owner), &id("memory-notes.ana"), events)).unwrap();
    let bytes = export(&store, "memory-notes.ana");
    let to = MemoryStore::default();
    let events = unsourced[..3].iter().map(|note| Event::Note(Box::new(note.clone()))).collect();
    block_on(to.record_for(Some(&owner), &id("memory-notes.ana"), events)).unwrap();
    let imported = import(&to, &bytes).unwrap();
    assert_eq!((imported.nodes, imported.notes, imported.new_notes), (0, 4, 1));
    assert_eq!((all(&to, "memory-notes.ana"), state(&to, "memory-notes.ana").owner), (unsourced.clone(), Some(owner)));
    assert_eq!(export(&to, "memory-notes.ana"), bytes);
    // Notes that went on stay, and others are left alone.
    record(&to, "memory-notes.ana", &[note(5, NoteChange::Remove { name: "more".into() })]);
    assert_eq!(import(&to, &bytes).unwrap().new_notes, 0);
    let other = MemoryStore::default();
    let owner = OwnerId::new("ana").unwrap();
    let own = vec![Event::Note(Box::new(note(1, NoteChange::Remove { name: "x".into() })))];
    block_on(other.record_for(Some(&owner), &id("memory-notes.ana"), own)).unwrap();
    let error = import(&other, &bytes).unwrap_err();
    assert!(matches!(&error, ExchangeError::OtherNotes { note: 1, .. }), "{error}");
    assert_eq!(all(&other, "memory-notes.ana").len(), 1);
}

#[test]
fn bad_lines_of_notes_are_refused() {
    let store = MemoryStore::default();
    fill(&store, plain(3));
    record(&store, "c", &notes());
    let whole = lines(&export(&store, "c"));
    let first = whole.iter().position(|line| line.starts_with(r#"{"note":1"#)).unwrap();
    for (from, to, why) in [
        (r#""note":1"#, r#""note":2"#, "note 2 stands where note 1 belongs"),
        (r#""change":"write""#, r#""change":"remove""#, "its members are not those of its change"),
        (r#""change":"write""#, r#""change":"forget""#, "unknown variant"),
        ("[2,3]", "[3,2]", "a source is no run of nodes"),
        ("[2,3]", "[2,4]", "note 1 has a source that is not there"),
    ] {
        let mut forged = whole[..whole.len() - 1].to_vec();
        assert!(forged[first].contains(from), "{}", forged[first]);
        forged[first] = forged[first].replacen(from, to, 1);
        let error = open(&sealed(&forged)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut older = whole[..whole.len() - 1].to_vec();
    older[0] = older[0].replacen(r#""memory_export":3"#, r#""memory_export":1"#, 1);
    assert!(open(&sealed(&older)).unwrap_err().to_string().contains("notes in format 3 and later"));
}

/// A conversation of notes as versions without notes kept it.
fn old(store: &dyn Store, name: &str) {
    let draft = |json: &str, text: &str| {
        let metadata = [("document".to_owned(), Json::new(json).unwrap())].into();
        NodeDraft::new(Message::assistant(text).metadata(metadata), Timestamp::from_millis(-3), 2)
    };
    let drafts = vec![
        draft(r#"{"write":"a \"b\""}"#, "one\ntwo"),
        draft(r#"{"append":"a \"b\"","empty":true}"#, "(empty)"),
        draft(r#"{"from":"a \"b\"","to":"c"}"#, "Renamed"),
        draft(r#"{"remove":"c"}"#, "Removed c"),
    ];
    block_on(store.append(&id(name), drafts)).unwrap();
    let tags = [Mark::Archived, Mark::Companion].map(|mark| mark.tag().to_owned());
    block_on(store.record(&id(name), vec![Event::Tags(tags.to_vec())])).unwrap();
}

#[test]
fn messages_that_are_notes_become_notes() {
    let store = MemoryStore::default();
    old(&store, "retracted");
    let bytes = export(&store, "retracted");
    let expected: Vec<_> = notes().into_iter().map(|note| note.sources(Vec::new())).collect();
    let to = MemoryStore::default();
    for new in [4, 0] {
        let imported = import(&to, &bytes).unwrap();
        assert_eq!((imported.nodes, imported.notes, imported.new_notes), (0, 4, new));
        assert_eq!((all(&to, "retracted"), state(&to, "retracted").tags), (expected.clone(), Vec::new()));
        assert!(state(&to, "retracted").is_of_notes());
    }
    // Beside the same messages it changes nothing, and with a note after them that goes along.
    record(&store, "retracted", &[note(5, NoteChange::Remove { name: "more".into() })]);
    assert_eq!(import(&store, &bytes).unwrap().new_notes, 0);
    assert_eq!((state(&store, "retracted").nodes, state(&store, "retracted").notes), (4, 5));
    let both = export(&store, "retracted");
    assert_eq!(import(&to, &both).unwrap().new_notes, 1);
    assert_eq!(all(&to, "retracted").len(), 5);
    // A conversation with other messages keeps them as messages.
    block_on(store.append(&id("retracted"), vec![NodeDraft::new(Message::user("hi"), Timestamp::default(), 1)]))
        .unwrap();
    let plain = MemoryStore::default();
    assert_eq!(import(&plain, &export(&store, "retracted")).unwrap().nodes, 5);
}
