//! Erased messages: unreadable at once, gone from every file after a vacuum, whatever fails in between.

use std::{path::Path, sync::Arc};

use memory_core::{
    ConversationId, Erasure, ErasureId, MessageKey, NodeRange, NoteId, Timestamp,
    port::{Event, Source, Store},
};
use proptest::prelude::*;

use super::{
    faults::{PATH, empty_disk, fail_at_each_operation, open, perform_all, without_checkpoint},
    sample::{Request, draft, id, model, node, note, perform, requests, shown, summary, view},
};
use crate::{
    CompressedSegment, CompressionOptions, LogStore, VacuumOptions,
    log::{
        media::{Media, sim::SimDisk},
        store::tested,
    },
};

fn erasure(number: u8, runs: &[(u64, u64)]) -> Erasure {
    let run = |(first, last): &(u64, u64)| NodeRange::new(node(*first), node(*last)).unwrap();
    Erasure::new(ErasureId::from_bytes([number; 16]), Timestamp::from_millis(7), runs.iter().map(run).collect())
}

fn erase(of: &'static str, erasure: Erasure) -> Request {
    Request::Record(of, vec![Event::Erased(Box::new(erasure))])
}

/// Everything of a conversation, but what it shares with its parent.
fn erase_all(of: &'static str, number: u8, runs: &[(u64, u64)]) -> Request {
    erase(of, erasure(number, runs).is_whole(true))
}

/// The sample with erasures in a conversation, in a fork of its own messages and of shared ones, of whole
/// conversations, of notes, and with what follows them.
pub(super) fn erasures() -> Vec<Request> {
    let keyed = |mut draft: memory_core::NodeDraft, key: &str| {
        draft.message.key = MessageKey::new(key).ok();
        draft
    };
    let mut of_notes = erasure(4, &[]);
    of_notes.notes = vec![[NoteId::new(2).unwrap(), NoteId::new(3).unwrap()]];
    let mut all = requests();
    all.extend([
        Request::Append("a", vec![keyed(draft(90, 30), "ninety")]),
        erase("a", erasure(1, &[(2, 4), (9, 9), (22, 22)])),
        erase("its-fork", erasure(2, &[(6, 6), (11, 11)])),
        erase_all("b", 3, &[(1, 3)]),
        erase("notes", of_notes),
        erase_all("fork-of-a", 5, &[(10, 11)]),
        Request::Append("a", vec![keyed(draft(91, 100), "ninety"), keyed(draft(2, 300), "second"), draft(92, 600)]),
        Request::Record("notes", vec![note(4, "after them")]),
        Request::Record("a", vec![Event::Summary(summary(2, 2, &[]).erased(1))]),
        Request::Append("fork-of-a", vec![draft(93, 10)]),
        Request::Record("fork-of-a", vec![Event::Title("anew".into())]),
    ]);
    all
}

pub(super) fn check(store: &LogStore, requests: &[Request], context: &str) {
    let truth = model(requests);
    let (found, expected) = (shown(store).unwrap(), shown(&truth).unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        let is_odd = |(found, expected): &(&memory_core::Node, &memory_core::Node)| found != expected;
        let odd = found.1.iter().zip(&expected.1).find(is_odd);
        assert!(found == expected, "{context}: {:?} {:.400?} {:.900?}", found.0, odd, (&found.2, &expected.2));
    }
    assert_eq!(found.len(), expected.len(), "{context}");
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(verified.is_whole(), "{context}: {:?}", verified.damage);
    let erased: u64 = found.iter().map(|(state, ..)| state.erased).sum();
    assert_eq!(verified.erased, erased, "{context}");
}

fn kinds() -> [VacuumOptions; 2] {
    let options = CompressionOptions::default().level(1).block_bytes(1 << 10);
    [VacuumOptions::default(), VacuumOptions::compress(options)]
}

/// The bytes of every file of the store, compressed segments opened as well.
pub(super) fn bytes_of(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for dir in ["", "log", "cache"] {
        let dir = Path::new(PATH).join(dir);
        for name in Media::list(disk, &dir).unwrap_or_default() {
            let path = dir.join(&name);
            let Some(bytes) = disk.contents(&path) else { continue };
            if let Ok(compressed) = CompressedSegment::open(bytes.as_slice()) {
                let mut image = vec![0; compressed.len() as usize];
                compressed.read_at(bytes.as_slice(), 0, &mut image).unwrap();
                all.push((format!("{} opened", path.display()), image));
            }
            all.push((path.display().to_string(), bytes));
        }
    }
    all
}

/// Texts that must be in no file, and some that must be in one.
const GONE: [&str; 15] = [
    "message 2 x",
    "message 3 x",
    "message 4 x",
    "message 9 x",
    "message 90 x",
    "message 80 x",
    "message 70 x",
    "message 71 x",
    "nodes 1 to 2",
    "nodes 3 to 4",
    "what is in the first seven?",
    "and here?",
    "the other",
    "moremore",
    "its own its own",
];
const KEPT: [&str; 6] = ["message 5 x", "message 21 x", "message 92 x", "nodes 1 to 1", "the title", "anew"];

pub(super) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn check_bytes(disk: &SimDisk, context: &str) {
    let all = bytes_of(disk);
    for text in GONE {
        let found: Vec<_> = all.iter().filter(|(_, bytes)| holds(bytes, text)).map(|(path, _)| path).collect();
        assert!(found.is_empty(), "{context}: {text:?} is in {found:?}");
    }
    for text in KEPT.iter().filter(|_| tested::key().is_none()) {
        assert!(all.iter().any(|(_, bytes)| holds(bytes, text)), "{context}: {text:?} is in no file");
    }
}

#[test]
pub(super) fn what_is_erased_is_unreadable_at_once_and_in_no_file_after_a_vacuum() {
    for options in kinds() {
        let disk = empty_disk();
        let (store, other) = (open(&disk).unwrap(), open(&disk).unwrap());
        let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
        perform_all(&store, &erasures());
        for store in [&store, &other, &reader] {
            check(store, &erasures(), "before it is gone");
        }
        let is_there = bytes_of(&disk).iter().any(|(_, bytes)| holds(bytes, GONE[0]));
        assert_eq!(is_there, tested::key().is_none(), "the log is not rewritten yet");
        assert!(store.erased_content().unwrap() > 20);
        let report = store.vacuum(options, &()).unwrap();
        assert!(report.erased > 20, "{report:?}");
        for store in [&store, &other, &reader] {
            check(store, &erasures(), "after it is gone");
        }
        check_bytes(&disk, "after a vacuum");
        assert_eq!(store.erased_content().unwrap(), 0);
        assert_eq!(store.vacuum(options, &()).unwrap().erased, 0, "nothing is left to erase");
        drop((store, other, reader));
        let store = open(&disk).unwrap();
        check(&store, &erasures(), "reopened by its checkpoint");
        drop(store);
        Media::remove(&disk, &Path::new(PATH).join("cache/checkpoint")).unwrap();
        let store = open(&disk).unwrap();
        check(&store, &erasures(), "reopened without a checkpoint");
        check_bytes(&disk, "reopened");
        let more = [Request::Append("a", vec![draft(99, 10)]), Request::Fork("a", 12, "late")];
        perform_all(&store, &more);
        check(&store, &[erasures(), more.to_vec()].concat(), "it goes on");
    }
}

#[test]
pub(super) fn a_store_that_was_not_vacuumed_opens_with_its_erasures() {
    let disk = empty_disk();
    perform_all(&open(&disk).unwrap(), &erasures());
    check(&open(&disk).unwrap(), &erasures(), "by its checkpoint");
    without_checkpoint(&disk);
    check(&open(&disk).unwrap(), &erasures(), "without a checkpoint");
}

#[test]
pub(super) fn an_erasure_is_there_or_not_whatever_operation_of_it_fails_and_the_next_vacuum_completes_it() {
    let before = requests();
    let erasures: Vec<_> = erasures().into_iter().skip(before.len()).collect();
    let run = |store: &LogStore, options| {
        let mut done = 0;
        for request in &erasures {
            if perform(store, request).is_err() {
                return done;
            }
            done += 1;
        }
        drop(store.vacuum(options, &()));
        done
    };
    let all = [&before[..], &erasures].concat();
    for options in kinds() {
        let name = format!("{options:?}");
        let run = |store: &LogStore| run(store, options);
        fail_at_each_operation([&before, &erasures], &name, run, |store, disk, context| {
            store.vacuum(options, &()).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(store, &all, context);
            check_bytes(disk, context);
        });
    }
}

#[test]
pub(super) fn doctor_and_salvage_take_erased_messages_for_what_they_are() {
    for is_vacuumed in [false, true] {
        let disk = empty_disk();
        let store = open(&disk).unwrap();
        perform_all(&store, &erasures());
        if is_vacuumed {
            store.vacuum(VacuumOptions::default(), &()).unwrap();
        }
        drop(store);
        let media: Arc<dyn Media> = Arc::new(disk.clone());
        let diagnosis = crate::log::upkeep::doctor::examine_on(&media, Path::new(PATH), None, &()).unwrap();
        assert!(diagnosis.is_whole(), "{diagnosis:?}");
        let target = Path::new("/disk/saved");
        crate::log::upkeep::salvage::salvage_on(&media, Path::new(PATH), target, 4096, tested::key(), &()).unwrap();
        let saved = LogStore::open_on(Arc::new(disk.clone()), target, super::sample::tiny_segments()).unwrap();
        check(&saved, &erasures(), "salvaged");
        // The key of an erased message is known in the new store, too.
        let mut again = draft(90, 30);
        again.message.key = MessageKey::new("ninety").ok();
        let appended = pollster::block_on(saved.append(&id("a"), vec![again])).unwrap();
        assert!(appended[0].is_erased && appended[0].node == node(22), "{appended:?}");
    }
}

#[test]
pub(super) fn a_backup_after_an_erasure_holds_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, target) = (dir.path().join("store"), dir.path().join("backup"));
    let store = LogStore::open_with(&path, super::sample::tiny_segments()).unwrap();
    perform_all(&store, &requests());
    store.backup(&target, &()).unwrap();
    perform_all(&store, &erasures()[requests().len()..]);
    store.vacuum(VacuumOptions::default(), &()).unwrap();
    store.backup(&target, &()).unwrap();
    for file in std::fs::read_dir(target.join("files")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!GONE.iter().any(|text| holds(&bytes, text)));
    }
    let restored = dir.path().join("restored");
    crate::restore(&target, &restored, &()).unwrap();
    check(&LogStore::open(&restored).unwrap(), &erasures(), "restored");
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Summarize(u64),
    View,
    Erase(u64, u64),
    EraseAll,
    Fork(u64),
    Vacuum(bool),
    Reopen,
    ReopenWithoutCheckpoint,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        6 => (1usize..4).prop_map(Step::Append),
        3 => (1u64..9).prop_map(Step::Summarize),
        2 => Just(Step::View),
        4 => (1u64..12, 0u64..3).prop_map(|(first, more)| Step::Erase(first, more)),
        1 => Just(Step::EraseAll),
        2 => (1u64..9).prop_map(Step::Fork),
        2 => any::<bool>().prop_map(Step::Vacuum),
        1 => Just(Step::Reopen),
        1 => Just(Step::ReopenWithoutCheckpoint),
    ];
    prop::collection::vec((0usize..4, step), 1..40)
}

const NAMES: [&str; 4] = ["w", "x", "y", "z"];

/// The requests that a step comes to in the present state, none of which is refused.
fn requests_of(store: &LogStore, number: usize, which: usize, step: &Step) -> Vec<Request> {
    let name = NAMES[which];
    let state = pollster::block_on(store.conversation(&id(name)));
    let nodes = state.as_ref().map_or(0, |state| state.nodes);
    let outlines = || pollster::block_on(store.outline(&id(name))).unwrap();
    let erased_in = |first: u64, last: u64| {
        let all = outlines();
        (first..=last).filter(|number| all[usize::try_from(*number).unwrap() - 1].is_erased).count() as u64
    };
    match step {
        Step::Append(count) => {
            let batch = (0..*count).map(|more| draft(number * 10 + more, 40)).collect();
            vec![Request::Append(name, batch)]
        }
        Step::Summarize(at) if *at <= nodes => {
            let mut draft = summary(*at, *at, &[]).erased(erased_in(*at, *at));
            draft.text = format!("summary {number} of {name}");
            draft.input_hash = memory_core::Hash::of_parts([number.to_le_bytes().as_slice()]);
            vec![Request::Record(name, vec![Event::Summary(draft)])]
        }
        Step::View if nodes > 0 => {
            let question = format!("question {number} of {name}");
            let Event::View(mut view) = view(nodes.max(2), &question) else { return Vec::new() };
            let run = memory_core::view::Shown::Messages(NodeRange::first_n(nodes).unwrap());
            view.nodes = nodes;
            view.recalled = Vec::new();
            view.history = vec![memory_core::view::ShownRun { shown: run, check: [3; 8] }];
            view.erased = erased_in(1, nodes);
            vec![Request::Record(name, vec![Event::View(view)])]
        }
        Step::Erase(first, more) if first + more <= nodes => {
            vec![erase(name, erasure(u8::try_from(number).unwrap(), &[(*first, first + more)]))]
        }
        Step::EraseAll if nodes > 0 => vec![erase_all(name, u8::try_from(number).unwrap(), &[(1, nodes)])],
        Step::Fork(at) if *at <= nodes => {
            let free = NAMES.iter().find(|name| pollster::block_on(store.conversation(&id(name))).is_err());
            free.map(|free| Request::Fork(name, *at, free)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The texts that the store still shows.
fn texts(store: &LogStore) -> String {
    let mut all = String::new();
    for (_, nodes, summaries, (views, _)) in shown(store).unwrap() {
        nodes.iter().for_each(|node| all.push_str(&(node.message.text() + "\n")));
        summaries.iter().for_each(|summary| all.push_str(&(summary.body.text.clone() + "\n")));
        views.iter().for_each(|view| all.push_str(&(view.body.question.clone() + "\n")));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn any_history_leaves_exactly_what_was_not_erased_and_no_byte_of_the_rest(steps in steps()) {
        let disk = empty_disk();
        let mut store = open(&disk).unwrap();
        let (mut done, mut said): (Vec<Request>, Vec<String>) = (Vec::new(), Vec::new());
        for (number, (which, step)) in (1..).zip(&steps) {
            match step {
                Step::Vacuum(compressed) => drop(store.vacuum(kinds()[usize::from(*compressed)], &()).unwrap()),
                Step::Reopen | Step::ReopenWithoutCheckpoint => {
                    drop(store);
                    if matches!(step, Step::ReopenWithoutCheckpoint) {
                        without_checkpoint(&disk);
                    }
                    store = open(&disk).unwrap();
                    prop_assert!(store.report().damage.is_empty());
                }
                step => {
                    for request in requests_of(&store, number, *which, step) {
                        perform(&store, &request).unwrap();
                        done.push(request);
                    }
                    said.extend(texts(&store).lines().map(str::to_owned));
                }
            }
        }
        check(&store, &done, "at the end");
        store.vacuum(VacuumOptions::default(), &()).unwrap();
        check(&store, &done, "after a vacuum");
        prop_assert_eq!(store.erased_content().unwrap(), 0);
        let left = texts(&store);
        said.sort();
        said.dedup();
        let files = bytes_of(&disk);
        for text in said.iter().filter(|text| !text.is_empty() && !left.lines().any(|line| line.contains(*text))) {
            let found: Vec<_> = files.iter().filter(|(_, bytes)| holds(bytes, text)).map(|(path, _)| path).collect();
            prop_assert!(found.is_empty(), "{:?} is in {:?}", text, found);
        }
    }
}

#[test]
fn an_erasure_needs_a_conversation_that_is_there() {
    let disk = empty_disk();
    let store = open(&disk).unwrap();
    let of = |name: &str| ConversationId::new(name).unwrap();
    let event = || vec![Event::Erased(Box::new(erasure(1, &[(1, 1)])))];
    assert!(pollster::block_on(store.record(&of("none"), event())).unwrap_err().is_not_found());
}
