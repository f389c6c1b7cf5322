//! Forks: against the model, through checkpoints and vacuums, damaged, salvaged and forged.

use std::{path::Path, sync::Arc};

use memory_core::{
    MessageKey, WrittenBy,
    port::{Event, Source, Store, StoreError},
};
use proptest::prelude::*;

use super::{
    faults::{PATH, empty_disk},
    forge,
    sample::{Request, all, draft, id, model, node, perform, shown, summary, tiny_segments, view},
    wreck::{Files, files_in, put, segment, store_id},
};
use crate::{ConversationLabel, LogStore, VacuumOptions, examine, log::media::sim::SimDisk, salvage};

fn pin(number: u64, pinned: bool) -> Event {
    Event::Pin { node: node(number), pinned }
}

fn weigh(number: u64, percent: u8) -> Event {
    let scored_by = WrittenBy::new("sample", "1");
    Event::Importance { node: node(number), importance: f32::from(percent) / 100.0, scored_by }
}

/// Six messages, a fork at the third with two of its own, a fork of that at its fourth, and more of the first.
fn family() -> Vec<Request> {
    vec![
        Request::Append("parent", (1..7).map(|n| draft(n, 30)).collect()),
        Request::Record("parent", vec![Event::Summary(summary(1, 1, &[])), Event::Summary(summary(4, 6, &[]))]),
        Request::Record("parent", vec![pin(2, true), weigh(3, 90), view(6, "six")]),
        Request::Fork("parent", 3, "child"),
        Request::Append("child", vec![draft(14, 10), draft(15, 10)]),
        Request::Record("child", vec![Event::Summary(summary(2, 3, &[])), pin(1, true)]),
        Request::Fork("child", 4, "young"),
        Request::Append("young", vec![draft(25, 10)]),
        Request::Record("parent", vec![pin(2, false), weigh(3, 10), Event::Summary(summary(2, 2, &[]))]),
        Request::Append("parent", vec![draft(7, 10)]),
    ]
}

/// The family in one segment, without caches.
fn files() -> Files {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    family().iter().for_each(|request| perform(&store, request).unwrap());
    drop(store);
    let mut files = files_in(dir.path());
    files.retain(|name, _| name == Path::new("FORMAT") || name.starts_with("log"));
    files
}

/// The family with other bytes in a record, every checksum being right.
fn forged(from: &[u8], to: &[u8]) -> tempfile::TempDir {
    let mut files = files();
    let store = store_id(&files);
    let log = files.get_mut(&segment(1)).unwrap();
    let before = log.clone();
    forge(log, store, from, to);
    assert_ne!(*log, before);
    put(&files)
}

/// Numbers of nodes and of verified nodes of each conversation; doctor and the store must agree on them.
fn counts(dir: &Path) -> Vec<(String, u64, u64)> {
    let store = LogStore::open_read_only(dir).unwrap();
    let verified = pollster::block_on(store.verify(None)).unwrap();
    let counts: Vec<_> =
        verified.conversations.iter().map(|one| (one.id.as_str().to_owned(), one.nodes, one.verified)).collect();
    let diagnosis = examine(dir, &()).unwrap();
    assert_eq!(diagnosis.is_whole(), verified.is_whole(), "{diagnosis:?}\n{verified:?}");
    for one in &verified.conversations {
        let label = ConversationLabel::Named(one.id.clone());
        let conversation = diagnosis.conversations.iter().find(|conversation| conversation.label == label).unwrap();
        assert_eq!((conversation.nodes, conversation.verified), (one.nodes, one.verified), "{label}");
        assert!(conversation.root == one.root || one.verified < one.nodes, "{label}");
        let alone = pollster::block_on(store.verify(Some(&one.id))).unwrap();
        assert_eq!((alone.nodes, alone.verified, alone.root), (one.nodes, one.verified, one.root), "{label} alone");
        assert!(alone.damage.is_empty() || alone.verified < alone.nodes, "{label}: {:?}", alone.damage);
    }
    counts
}

fn named(counts: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    counts.iter().map(|(name, nodes, verified)| ((*name).to_owned(), *nodes, *verified)).collect()
}

#[test]
fn a_family_is_whole_for_verify_doctor_and_salvage() {
    let dir = put(&files());
    let whole = [("child", 5, 5), ("parent", 7, 7), ("young", 5, 5)];
    assert_eq!(counts(dir.path()), named(&whole));
    let diagnosis = examine(dir.path(), &()).unwrap();
    let from: Vec<_> = diagnosis.conversations.iter().map(|one| one.forked_from.clone()).collect();
    let label = |name| ConversationLabel::Named(id(name));
    assert_eq!(from, [None, Some((label("parent"), node(3))), Some((label("child"), node(4)))]);
    assert!(diagnosis.conversations.iter().all(|one| one.lost_summaries.is_empty() && one.lost_views.is_empty()));
    let target = tempfile::tempdir().unwrap();
    let path = target.path().join("new");
    let report = salvage(dir.path(), &path, &()).unwrap();
    assert!(report.target.is_whole(), "{:?}", report.target);
    assert_eq!(counts(&path), named(&whole));
    let salvaged = LogStore::open(&path).unwrap();
    assert!(salvaged.report().damage.is_empty());
    assert!(shown(&salvaged).unwrap() == shown(&model(&family())).unwrap());
}

#[test]
fn a_message_that_is_lost_is_lost_in_every_fork_that_shares_it() {
    for (text, expected, lost_node) in [
        ("message 2 ", [("child", 5, 4), ("parent", 7, 6), ("young", 5, 4)], 2),
        ("message 5 ", [("child", 5, 5), ("parent", 7, 6), ("young", 5, 5)], 5),
        ("message 14 ", [("child", 5, 4), ("parent", 7, 7), ("young", 5, 4)], 4),
    ] {
        // The forged text does not match its hash.
        let dir = forged(text.as_bytes(), text.replace("message", "massage").as_bytes());
        assert_eq!(counts(dir.path()), named(&expected), "{text}");
        let target = tempfile::tempdir().unwrap();
        let path = target.path().join("new");
        let report = salvage(dir.path(), &path, &()).unwrap();
        assert!(report.target.findings.is_empty(), "{:?}", report.target.findings);
        assert_eq!(counts(&path), named(&expected), "{text} salvaged");
        let salvaged = LogStore::open(&path).unwrap();
        assert!(salvaged.report().damage.is_empty());
        let child = pollster::block_on(salvaged.node(&id("young"), node(lost_node)));
        assert_eq!(matches!(child, Err(StoreError::Lost { .. })), expected[2].2 < 5, "{child:?}");
    }
}

#[test]
fn a_fork_whose_parent_is_lost_keeps_what_is_its_own() {
    // Parents: one that is not there, the fork itself, one that comes later, and one with fewer nodes than are shared.
    for (to, there) in
        [(b"\x05child\x63\x03", 0), (b"\x05child\x04\x03", 0), (b"\x05child\x07\x03", 0), (b"\x05child\x01\x09", 6)]
    {
        let dir = forged(b"\x05child\x01\x03", to);
        let shared = u64::from(to[7]);
        let store = LogStore::open_read_only(dir.path()).unwrap();
        let report = store.report();
        assert!(report.damage.iter().any(|damage| damage.why.contains("past")), "{:?}", report.damage);
        let state = pollster::block_on(store.conversation(&id("child"))).unwrap();
        assert_eq!(state.forked_from.is_some(), there > 0);
        for number in 1..=shared {
            let read = pollster::block_on(store.node(&id("child"), node(number)));
            assert_eq!(read.is_ok(), number <= there, "node {number}: {read:?}");
        }
        assert_eq!(pollster::block_on(store.find_key(&id("young"), &MessageKey::new("k").unwrap())).unwrap(), None);
        let diagnosis = examine(dir.path(), &()).unwrap();
        assert!(!diagnosis.is_whole());
        let target = tempfile::tempdir().unwrap();
        let path = target.path().join("new");
        let report = salvage(dir.path(), &path, &()).unwrap();
        assert!(report.target.findings.is_empty(), "{:?}", report.target.findings);
        let salvaged = LogStore::open(&path).unwrap();
        assert!(salvaged.report().damage.is_empty(), "{:?}", salvaged.report().damage);
        let nodes = pollster::block_on(salvaged.conversation(&id("child"))).unwrap().nodes;
        // The child's first frame is damage if its count of nodes fits another shared prefix, which is left then.
        assert!(nodes >= shared, "{nodes} nodes");
        let read = pollster::block_on(salvaged.readable_nodes(&id("child"), all())).unwrap();
        assert!(read.nodes.len() as u64 >= there && !read.losses.is_empty());
    }
}

#[test]
fn a_fork_whose_opening_is_lost_is_given_back_under_another_name() {
    let mut files = files();
    let log = files.get_mut(&segment(1)).unwrap();
    let at = log.windows(6).position(|window| window == b"\x05child").unwrap();
    log[at + 2] ^= 1;
    let dir = put(&files);
    let store = LogStore::open_read_only(dir.path()).unwrap();
    let names: Vec<_> =
        pollster::block_on(store.conversations()).unwrap().into_iter().map(|one| one.id.to_string()).collect();
    assert_eq!(names, ["parent", "young"]);
    let target = tempfile::tempdir().unwrap();
    let report = salvage(dir.path(), target.path().join("new"), &()).unwrap();
    assert!(report.target.findings.is_empty(), "{:?}", report.target.findings);
    let salvaged = LogStore::open(target.path().join("new")).unwrap();
    let recovered = pollster::block_on(salvaged.conversations()).unwrap();
    let recovered = recovered.iter().find(|one| one.id.as_str().starts_with("recovered-")).unwrap();
    assert_eq!(recovered.nodes, 5, "three lost ones that it shared, and its own two");
    let own = pollster::block_on(salvaged.nodes(&recovered.id, memory_core::NodeRange::new(node(4), node(5)).unwrap()));
    assert_eq!(own.unwrap().len(), 2);
}

/// Thousands of forks of thousands of messages would not fit into memory as copies.
#[test]
fn ten_thousand_forks_cost_no_ten_thousand_copies() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    perform(&store, &Request::Append("parent", (0..20_000).map(|n| draft(n, 0)).collect())).unwrap();
    drop(store);
    let media = crate::log::media::Disk;
    let directory = crate::log::read::directory::Directory::open(&media, dir.path()).unwrap();
    let mut state = crate::log::read::recovery::recover(
        &media,
        &directory,
        crate::log::read::recovery::Mode::ReadOnly,
        None,
        None,
        None,
    )
    .unwrap()
    .state;
    for number in 0..10_000u64 {
        let opening = crate::log::format::codec::Opening {
            owner: None,
            name: id(&format!("fork-{number}")),
            past: Some(crate::log::format::codec::Past {
                parent: 1,
                nodes: 19_990 - number % 5,
                summaries: 0,
                views: 0,
            }),
        };
        let applied = crate::log::state::Applied {
            conversation: 10 + number,
            opened: Some((opening, crate::log::format::Location::default())),
            nodes_before: 0,
            changes: Vec::new(),
        };
        state.apply(applied).unwrap();
    }
    let forks = state.conversations().filter(|one| one.past.is_some());
    assert_eq!(forks.map(crate::log::state::conversation::Conversation::nodes).sum::<u64>(), 10_000 * 19_988);
    let own: usize = state.conversations().map(|one| one.nodes.own_bytes()).sum();
    assert!(own < 10_000 * 8_192, "{own} bytes beside what is shared");
}

#[derive(Clone, Debug)]
enum Action {
    Do(Request),
    Reopen,
    Vacuum,
}

const NAMES: [&str; 5] = ["p", "q", "r", "s", "t"];

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let name = || prop::sample::select(NAMES.to_vec());
    // One at a time: the model checks a batch of events against what was there before it.
    let event = (0u8..5, 1u64..12, any::<u8>()).prop_map(|(kind, at, number)| match kind {
        0 => pin(at, number % 2 == 0),
        1 => weigh(at, number % 100),
        2 => Event::Summary(summary(at, at + u64::from(number % 3), &[])),
        3 => view(at.max(2), &number.to_string()),
        _ => Event::Tags(vec![number.to_string()]),
    });
    let drafts = prop::collection::vec((0usize..9, any::<bool>()), 1..5).prop_map(|drafts| {
        let one = |(number, keyed): (usize, bool)| {
            let mut draft = draft(number, 100);
            draft.message.key = keyed.then(|| MessageKey::new(&format!("key {number}")).unwrap());
            draft.salt = Some([u8::try_from(number).unwrap(); 16]);
            draft
        };
        drafts.into_iter().map(one).collect::<Vec<_>>()
    });
    let one = prop_oneof![
        5 => (name(), drafts).prop_map(|(name, drafts)| Action::Do(Request::Append(name, drafts))),
        5 => (name(), event).prop_map(|(name, event)| Action::Do(Request::Record(name, vec![event]))),
        4 => (name(), 1u64..14, name()).prop_map(|(from, at, to)| Action::Do(Request::Fork(from, at, to))),
        1 => Just(Action::Reopen),
        1 => Just(Action::Vacuum),
    ];
    prop::collection::vec(one, 1..40)
}

fn open(disk: &SimDisk) -> LogStore {
    LogStore::open_on(Arc::new(disk.clone()), Path::new(PATH), tiny_segments().checkpoint_bytes(1)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_store_with_forks_is_what_the_model_is(actions in actions()) {
        let disk = empty_disk();
        let (mut store, truth) = (open(&disk), memory_core::testing::MemoryStore::default());
        for action in actions {
            match &action {
                Action::Do(request) => {
                    let (done, should) = (perform(&store, request), perform(&truth, request));
                    prop_assert_eq!(done.map_err(|error| error.to_string()), should.map_err(|error| error.to_string()));
                }
                Action::Reopen => {
                    drop(store);
                    store = open(&disk);
                    prop_assert!(store.report().damage.is_empty(), "{:?}", store.report().damage);
                }
                Action::Vacuum => drop(store.vacuum(VacuumOptions::default(), &()).unwrap()),
            }
            prop_assert!(shown(&store).unwrap() == shown(&truth).unwrap(), "{:?}", action);
        }
        for name in NAMES.map(id) {
            let Ok(should) = pollster::block_on(truth.verify(Some(&name))) else { continue };
            prop_assert_eq!(pollster::block_on(store.verify(Some(&name))).unwrap(), should);
            for number in 0..9 {
                let key = MessageKey::new(&format!("key {number}")).unwrap();
                let found = pollster::block_on(store.find_key(&name, &key)).unwrap();
                prop_assert_eq!(found, pollster::block_on(truth.find_key(&name, &key)).unwrap());
            }
        }
        // The same without its checkpoint, as a process sees it that opens it beside this one.
        let media: &dyn crate::log::media::Media = &disk;
        drop(media.remove(&Path::new(PATH).join("cache/checkpoint")));
        let reader = LogStore::open_read_only_on(Arc::new(disk.clone()), Path::new(PATH)).unwrap();
        prop_assert!(shown(&reader).unwrap() == shown(&truth).unwrap(), "read from the beginning");
    }
}

/// A backup and its restored copy are the same log.
#[test]
fn a_store_with_forks_is_backed_up_and_restored() {
    let dir = put(&files());
    let beside = tempfile::tempdir().unwrap();
    let (backup, restored) = (beside.path().join("backup"), beside.path().join("restored"));
    let store = LogStore::open(dir.path()).unwrap();
    store.backup(&backup, &()).unwrap();
    crate::restore(&backup, &restored, &()).unwrap();
    assert!(shown(&LogStore::open(&restored).unwrap()).unwrap() == shown(&model(&family())).unwrap());
}
