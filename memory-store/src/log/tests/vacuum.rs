//! Segments rewritten and compressed next to readers and writers, and when the power fails in between.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use memory_core::{
    Json, Mark, Node, NodeRange, NoteId, WrittenBy,
    port::{Event, Note, Progress, Source, Store, StoreError},
};

use super::{
    faults::{PATH, empty_disk, open},
    sample::{Request, draft, id, model, node, note, perform, requests, shown, tiny_segments},
};
use crate::{
    CompressionOptions, LogStore, VacuumOptions, VacuumReport,
    log::media::{
        Media,
        sim::{Fault, Unsynced},
    },
};

fn weigh(number: u64, importance: f32) -> Event {
    let scored_by = WrittenBy::new("sample", "1");
    Event::Importance { node: node(number), importance, scored_by }
}

/// The sample, and importances, pins, titles and tags that replace each other over several segments.
fn wasteful() -> Vec<Request> {
    let mut all = requests();
    for round in 0..60u64 {
        let importance = f32::from(u8::try_from(round).unwrap()) / 100.0;
        let events = vec![
            weigh(1 + round % 5, importance),
            Event::Pin { node: node(1 + round % 3), pinned: round % 2 == 0 },
            Event::Title(format!("title {round} {}", "x".repeat(200))),
            Event::Tags(vec![format!("round-{round}")]),
        ];
        all.push(Request::Record("a", events));
        if round % 20 == 0 {
            all.push(Request::Append("a", vec![draft(100 + usize::try_from(round).unwrap(), 300)]));
        }
    }
    all
}

fn fill(store: &LogStore, requests: &[Request]) {
    requests.iter().for_each(|request| perform(store, request).unwrap());
}

fn kinds() -> [VacuumOptions; 2] {
    let options = CompressionOptions::default().level(1).block_bytes(1 << 10);
    [VacuumOptions::default(), VacuumOptions::compress(options)]
}

/// Everything is there, as it was written, by any way of reading.
fn check(store: &LogStore, requests: &[Request], context: &str) {
    let truth = model(requests);
    assert!(shown(store).unwrap() == shown(&truth).unwrap(), "{context}");
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{context}: {:?}", verified.damage);
}

#[test]
fn vacuum_drops_what_was_replaced_and_nothing_else() {
    for options in kinds() {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        fill(&store, &wasteful());
        let roots = pollster::block_on(store.verify(None)).unwrap().root;
        let report = store.vacuum(options, &()).unwrap();
        assert!(report.dropped > 150 && report.replaced > 3, "{report:?}");
        assert!(report.bytes_after < report.bytes_before * 2 / 3, "{report:?}");
        check(&store, &wasteful(), "right after");
        assert_eq!(pollster::block_on(store.verify(None)).unwrap().root, roots);
        // Once more there is nothing to do, and the log goes on.
        let again = store.vacuum(options, &()).unwrap();
        assert_eq!((again.replaced, again.bytes_before), (0, report.bytes_after));
        let more = Request::Append("b", vec![draft(77, 900)]);
        perform(&store, &more).unwrap();
        drop(store);
        let store = open(&disk).unwrap();
        assert!(store.report().damage.is_empty(), "{:?}", store.report().damage);
        check(&store, &[wasteful(), vec![more]].concat(), "reopened");
    }
}

#[test]
fn compressed_segments_become_plain_again() {
    let disk = empty_disk();
    let store = open(&disk).unwrap();
    fill(&store, &wasteful());
    let [_, compress] = kinds();
    store.vacuum(compress, &()).unwrap();
    let VacuumReport { replaced, segments, .. } = store.vacuum(VacuumOptions::expand(), &()).unwrap();
    assert!(replaced > 3 && replaced <= segments);
    check(&store, &wasteful(), "plain again");
}

#[test]
fn a_damaged_copy_in_a_compressed_segment_is_reported_although_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let options = tiny_segments();
    let store = LogStore::open_with(directory.path(), options).unwrap();
    fill(&store, &wasteful());
    let [_, compress] = kinds();
    store.vacuum(compress, &()).unwrap();
    drop(store);
    let path = directory.path().join("log/0001.seg");
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.starts_with(b"MEMSEGZ"));
    // The header in front, what follows it, the table at the end, the header at the end.
    let places = [(40, "header"), (70, ""), (whole.len() - 66, "block table"), (whole.len() - 20, "header")];
    for (place, what) in places {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let store = LogStore::open_read_only(directory.path()).unwrap();
        let verified = pollster::block_on(store.verify(None)).unwrap();
        assert_eq!((verified.verified, verified.damage.len()), (verified.nodes, 1), "{:?}", verified.damage);
        let said = format!("one of the two copies of the {what}");
        assert!(verified.damage[0].contains(&said) && !verified.is_whole(), "{:?}", verified.damage);
        let found = crate::examine(directory.path(), &()).unwrap().findings;
        assert!(found.len() == 1 && found[0].why.contains(&said) && found[0].lost.is_empty(), "{found:?}");
    }
    std::fs::write(&path, whole).unwrap();
    let store = LogStore::open_with(directory.path(), options).unwrap();
    check(&store, &wasteful(), "whole again");
    assert!(crate::examine(directory.path(), &()).unwrap().findings.is_empty());
}

#[test]
fn others_read_and_write_while_segments_are_replaced() {
    let disk = empty_disk();
    let stores = [open(&disk).unwrap(), open(&disk).unwrap()];
    let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
    let mut done = wasteful();
    fill(&stores[0], &done);
    for (round, options) in (0..).zip([kinds(), kinds()].concat()) {
        let vacuumed = &stores[round % 2];
        let segments = reader.shared.state().segments.clone();
        vacuumed.vacuum(options, &()).unwrap();
        for store in stores.iter().chain([&reader]) {
            check(store, &done, "after a vacuum");
        }
        // A reader that still has the old files open reads their old contents.
        assert!(segments.iter().all(|segment| segment.image().is_ok()));
        for store in &stores {
            let more = [Request::Record("a", vec![weigh(2, 0.5)]), Request::Append("a", vec![draft(500 + round, 700)])];
            fill(store, &more);
            done.extend(more);
        }
        for store in stores.iter().chain([&reader]) {
            check(store, &done, "after more");
        }
    }
}

#[test]
fn whoever_writes_does_not_wait_until_a_vacuumed_log_is_read_again() {
    for options in kinds() {
        let disk = empty_disk();
        let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
        fill(&store, &wasteful());
        let under_lock = |work: &mut dyn FnMut()| {
            let before = disk.read_while_locked();
            work();
            disk.read_while_locked() - before
        };
        let mut log = 0;
        let by_vacuum = under_lock(&mut || log = store.vacuum(options, &()).unwrap().bytes_before);
        let log = usize::try_from(log).unwrap();
        assert!(by_vacuum < log / 50, "{options:?}: {by_vacuum} of {log} bytes were read with the lock held");
        // Another process applies the checkpoint that fits, and the segments' headers.
        let by_other = under_lock(&mut || fill(&other, &[Request::Append("b", vec![draft(77, 900)])]));
        assert!(by_other < log / 5, "{options:?}: {by_other} of {log} bytes were read by the next writer");
    }
}

#[test]
fn a_new_segment_that_does_not_read_back_replaces_nothing() {
    for options in kinds() {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        fill(&store, &wasteful());
        let sealed: Vec<_> = store.shared.state().segments.iter().map(|segment| segment.path().to_owned()).collect();
        let contents = || sealed.iter().map(|path| disk.contents(path)).collect::<Vec<_>>();
        let before = contents();
        disk.spoil_next(".seg.new");
        let failed = store.vacuum(options, &()).unwrap_err();
        assert!(failed.to_string().contains(".seg.new"), "{failed}");
        assert!(contents() == before, "{options:?}");
        check(&store, &wasteful(), "afterwards");
        assert!(store.vacuum(options, &()).unwrap().replaced > 3);
    }
}

#[test]
fn one_vacuum_at_a_time() {
    let disk = empty_disk();
    let [first, second] = [open(&disk).unwrap(), open(&disk).unwrap()];
    let lease = first.take_lease().unwrap();
    let refused = second.vacuum(VacuumOptions::default(), &()).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { pid, .. } if pid == std::process::id()), "{refused:?}");
    drop(lease);
    second.vacuum(VacuumOptions::default(), &()).unwrap();
    let reader = LogStore::open_read_only_on(Arc::new(disk), Path::new(PATH)).unwrap();
    assert!(matches!(reader.vacuum(VacuumOptions::default(), &()), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn the_lease_is_for_one_opening_and_shared_within_it() {
    let disk = empty_disk();
    let [first, second] = [open(&disk).unwrap(), open(&disk).unwrap()];
    let lease = |store: &LogStore| pollster::block_on(Store::lease(store));
    let held = [lease(&first).unwrap(), lease(&first).unwrap()];
    for held in held {
        let refused = lease(&second).unwrap_err();
        assert!(matches!(refused, StoreError::Locked { pid, .. } if pid == std::process::id()), "{refused:?}");
        drop(held);
    }
    let held = lease(&second).unwrap();
    assert!(lease(&first).is_err());
    let reader = LogStore::open_read_only_on(Arc::new(disk), Path::new(PATH)).unwrap();
    drop(lease(&reader).expect("what is done there is not kept, and keeps nobody from anything"));
    drop(held);
    lease(&first).unwrap();
}

/// A filled disk, and how many operations a vacuum of it takes.
fn before_vacuum(options: VacuumOptions) -> usize {
    let disk = empty_disk();
    let store = open(&disk).unwrap();
    fill(&store, &wasteful());
    let before = disk.operations();
    store.vacuum(options, &()).unwrap();
    disk.operations() - before
}

#[test]
fn lossless_whatever_operation_of_a_vacuum_the_power_fails_at() {
    for options in kinds() {
        for at in 0..before_vacuum(options) {
            for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)] {
                let context = format!("{options:?}: power lost at operation {at}, {unsynced:?}");
                let disk = empty_disk();
                let store = open(&disk).unwrap();
                fill(&store, &wasteful());
                disk.fail_after(at, Fault::PowerLoss);
                drop(store.vacuum(options, &()));
                drop(store);
                disk.power_cycle(unsynced);
                let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
                assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage);
                check(&store, &wasteful(), &context);
            }
        }
    }
}

#[test]
fn a_vacuum_that_fails_half_way_leaves_everybody_whole() {
    for options in kinds() {
        for at in 0..before_vacuum(options) {
            let context = format!("{options:?}: operation {at} fails");
            let disk = empty_disk();
            let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
            fill(&store, &wasteful());
            disk.fail_after(at, Fault::Fail(std::io::ErrorKind::Other));
            drop(store.vacuum(options, &()));
            disk.fail_after(usize::MAX / 2, Fault::PowerLoss);
            let more = Request::Append("b", vec![draft(77, 900)]);
            perform(&other, &more).unwrap_or_else(|error| panic!("{context}: {error}"));
            let all = [wasteful(), vec![more]].concat();
            for store in [&store, &other] {
                check(store, &all, &context);
            }
            // Nothing that was begun stands in the way of the next.
            store.vacuum(options, &()).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&other, &all, &context);
        }
    }
}

/// Conversations of notes that are messages, over several segments, and others that stay as they are.
fn noted() -> Vec<Request> {
    let tags = || Event::Tags([Mark::Archived, Mark::Companion].map(|mark| mark.tag().to_owned()).to_vec());
    let document = |number: usize| {
        let mut draft = draft(number, 500);
        let change = [r#"{"append":"a"}"#, r#"{"write":"a"}"#][number % 2];
        draft.message.metadata.insert("document".to_owned(), Json::new(change).unwrap());
        draft
    };
    let mut all = requests();
    let begin = |name| [Request::Append(name, vec![document(0)]), Request::Record(name, vec![tags()])];
    all.extend(begin("old"));
    all.extend(begin("older"));
    // Spoken in, forked, titled: it stays as it is.
    for name in ["mixed", "parent", "titled"] {
        all.extend(begin(name));
    }
    all.push(Request::Append("mixed", vec![draft(1, 100)]));
    all.push(Request::Fork("parent", 1, "child"));
    all.push(Request::Record("titled", vec![Event::Title("kept".into())]));
    for number in 1..12 {
        all.push(Request::Append("old", vec![document(number), document(number + 20)]));
        all.push(Request::Append("a", vec![draft(100 + number, 400)]));
    }
    all.push(Request::Record("old", vec![tags(), note(24, "after the messages")]));
    all.push(Request::Record("older", vec![note(2, "after one message")]));
    all
}

/// Notes of a conversation, messages that are notes included.
fn notes_of(store: &dyn Store, name: &str) -> Vec<Note> {
    let nodes = pollster::block_on(store.nodes(&id(name), NodeRange::first_n(99).unwrap())).unwrap();
    let as_note = |node: &Node| Note::of_message(NoteId::after(node.id.get() - 1), &node.message, node.at);
    let mut notes: Vec<_> = nodes.iter().filter_map(as_note).collect();
    notes.extend(pollster::block_on(store.notes(&id(name), NoteId::FIRST, NoteId::after(99))).unwrap());
    notes
}

/// Checks that everything is there, `old` and `older` as messages or as notes; returns true for each as notes.
fn check_noted(store: &LogStore, context: &str) -> [bool; 2] {
    let truth = model(&noted());
    let others = |store: &dyn Store| {
        let mut all = shown(store).unwrap();
        all.retain(|told| !["old", "older"].contains(&told.0.id.as_str()));
        all
    };
    assert!(others(store) == others(&truth), "{context}");
    assert!(pollster::block_on(store.verify(None)).unwrap().is_whole(), "{context}");
    ["old", "older"].map(|name| {
        assert_eq!(notes_of(store, name), notes_of(&truth, name), "{context}");
        let state = pollster::block_on(store.conversation(&id(name))).unwrap();
        assert!(state.is_of_notes(), "{context}: {state:?}");
        state.nodes == 0
    })
}

#[test]
pub(super) fn messages_that_are_notes_become_notes() {
    for options in kinds() {
        let disk = empty_disk();
        let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
        fill(&store, &noted());
        assert_eq!(check_noted(&store, "before"), [false; 2]);
        let report = store.vacuum(options, &()).unwrap();
        assert!(report.noted == 24 && report.replaced > 3, "{report:?}");
        for store in [&store, &other] {
            assert_eq!(check_noted(store, "right after"), [true; 2]);
        }
        assert_eq!(store.vacuum(options, &()).unwrap().noted, 0);
        perform(&other, &Request::Record("old", vec![note(25, "goes on")])).unwrap();
        drop((store, other));
        let store = open(&disk).unwrap();
        assert_eq!(notes_of(&store, "old").len(), 25);
        let states = pollster::block_on(store.conversations()).unwrap();
        let as_messages = states.iter().filter(|state| state.has_notes_as_messages());
        assert_eq!(as_messages.map(|state| state.id.as_str()).collect::<Vec<_>>(), ["mixed", "parent", "titled"]);
    }
}

#[test]
fn notes_are_lossless_whatever_operation_of_a_vacuum_the_power_fails_at() {
    let [options, _] = kinds();
    let operations = {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        fill(&store, &noted());
        let before = disk.operations();
        store.vacuum(options, &()).unwrap();
        disk.operations() - before
    };
    let mut half = 0;
    for at in 0..operations {
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed(at as u64)] {
            let context = format!("power lost at operation {at} of {operations}, {unsynced:?}");
            let disk = empty_disk();
            let store = open(&disk).unwrap();
            fill(&store, &noted());
            disk.fail_after(at, Fault::PowerLoss);
            drop(store.vacuum(options, &()));
            drop(store);
            disk.power_cycle(unsynced);
            let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            assert!(store.report().damage.is_empty(), "{context}: {:?}", store.report().damage);
            let [old, _] = check_noted(&store, &context);
            let state = pollster::block_on(store.conversation(&id("old"))).unwrap();
            half += u64::from(!old && state.nodes < 23);
            // The next vacuum does the rest.
            store.vacuum(options, &()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(check_noted(&store, &context), [true; 2], "{context}");
        }
    }
    assert!(half > 3, "the power failed between the segments of a conversation");
}

#[test]
fn a_message_in_the_way_leaves_notes_as_messages() {
    let disk = empty_disk();
    let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
    fill(&store, &noted());
    let meanwhile = Meanwhile(Mutex::new(Some(Box::new(move || {
        perform(&other, &Request::Append("old", vec![draft(70, 10)])).unwrap();
    }))));
    let report = store.vacuum(VacuumOptions::default(), &meanwhile).unwrap();
    let state = pollster::block_on(store.conversation(&id("old"))).unwrap();
    assert_eq!((report.noted, state.nodes), (0, 24), "{report:?}");
    assert!(pollster::block_on(store.verify(None)).unwrap().is_whole());
    assert_eq!(store.vacuum(VacuumOptions::default(), &()).unwrap().noted, 1, "the other conversation");
}

type Once = Box<dyn FnOnce() + Send>;

/// Acts once, when all that is to be written is known.
struct Meanwhile(Mutex<Option<Once>>);

impl Progress for Meanwhile {
    fn report(&self, done: u64, total: u64) {
        if done * 2 > total
            && let Some(act) = self.0.lock().unwrap().take()
        {
            act();
        }
    }
}

#[test]
fn a_damaged_store_is_not_vacuumed() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open_with(dir.path(), tiny_segments()).unwrap();
    fill(&store, &wasteful());
    drop(store);
    let first = dir.path().join("log/0001.seg");
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&first, &bytes).unwrap();
    std::fs::remove_dir_all(dir.path().join("cache")).unwrap();
    let store = LogStore::open_with(dir.path(), tiny_segments()).unwrap();
    assert!(store.vacuum(VacuumOptions::default(), &()).unwrap_err().is_damage());
    drop(store);
    assert_eq!(std::fs::read(&first).unwrap(), bytes);
}

#[test]
fn a_dead_vacuum_is_finished_by_the_next_writer() {
    let disk = empty_disk();
    let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
    let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
    fill(&store, &wasteful());
    check(&reader, &wasteful(), "before");
    // The vacuum died after its first rename: the generation is odd, and the other processes were not notified again.
    let watermark = store.shared.watermark().unwrap();
    let durable = watermark.durable().unwrap();
    watermark.publish(crate::log::read::watermark::Durable { generation: durable.generation + 1, ..durable });
    check(&reader, &wasteful(), "meanwhile");
    let more = Request::Append("b", vec![draft(77, 900)]);
    perform(&other, &more).unwrap();
    assert_eq!(watermark.durable().unwrap().generation, durable.generation + 2);
    for store in [&store, &other, &reader] {
        check(store, &[wasteful(), vec![more.clone()]].concat(), "afterwards");
    }
    let media: &dyn Media = &disk;
    assert!(media.list(Path::new(PATH)).unwrap().contains(&"HORIZON".to_owned()));
    let a = pollster::block_on(store.nodes(&id("a"), NodeRange::single(node(1)))).unwrap();
    assert_eq!(a.len(), 1);
}
