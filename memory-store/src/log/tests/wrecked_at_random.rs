//! Stores of every kind with random damage: every readable message is true, and no damage goes unnoticed.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use memory_core::{
    ConversationId, Hash, MessageKey, Node, NoteId, ViewId,
    port::{Event, Source, Store, StoreError},
};
use proptest::{prelude::*, sample::Index};

use super::sample::{
    Request, Shown, ShownConversation, all, draft, last_view, model, node, perform, requests_without_forks, shown,
    tiny_segments,
};
use crate::{
    CompressionOptions, LogOptions, LogStore, VacuumOptions,
    log::media::{WORDS, sim::SimDisk},
};

/// Stores that are damaged; `MEMORY_WRECK_ROUNDS` asks for more.
const ROUNDS: u32 = 400;

fn rounds() -> u32 {
    env::var("MEMORY_WRECK_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

fn root() -> &'static Path {
    Path::new("/store")
}

/// Change to a file.
#[derive(Clone, Debug)]
enum Change {
    Flip(u8),
    Zeros(usize),
    Garbage(Vec<u8>),
    Cut,
    /// Garbage after the end.
    Tail(Vec<u8>),
    Remove,
    /// Swaps this file with another.
    Swap(Index),
}

fn changes() -> impl Strategy<Value = Change> {
    let garbage = || prop::collection::vec(any::<u8>(), 1..300);
    prop_oneof![
        5 => (0u8..8).prop_map(|bit| Change::Flip(1 << bit)),
        2 => (1usize..3_000).prop_map(Change::Zeros),
        2 => garbage().prop_map(Change::Garbage),
        3 => Just(Change::Cut),
        2 => garbage().prop_map(Change::Tail),
        1 => Just(Change::Remove),
        1 => any::<Index>().prop_map(Change::Swap),
    ]
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A store before anything happened to it.
#[derive(Debug)]
struct Whole {
    files: Files,
    /// Contents that the store shows after each request.
    history: Vec<Shown>,
    root: Hash,
    /// A vacuum dropped importances, pins, titles and tags that later records had replaced.
    is_vacuumed: bool,
}

impl Whole {
    fn last(&self) -> &Shown {
        self.history.last().unwrap()
    }

    /// True if the store showed this at some time.
    ///
    /// A record that replaced another one may be lost with the end of the log, and only HORIZON or the checkpoint may
    /// show the loss. If both are damaged too, and a vacuum has removed the replaced record, the loss goes unnoticed.
    fn has_shown(&self, now: &Shown, wrecked: &Files) -> bool {
        let is_changed = |name: &str| {
            let path = root().join(name);
            wrecked.get(&path) != self.files.get(&path)
        };
        let may_lack_marks = self.is_vacuumed && is_changed("HORIZON") && is_changed("cache/checkpoint");
        self.history.iter().any(|then| now == then || may_lack_marks && lacks_only_marks(now, then))
    }
}

fn open(disk: &SimDisk) -> Result<LogStore, StoreError> {
    LogStore::open_on(Arc::new(disk.clone()), root(), tiny_segments())
}

fn open_read_only(disk: &SimDisk) -> Result<LogStore, StoreError> {
    LogStore::open_read_only_on(Arc::new(disk.clone()), root())
}

fn of(files: &Files) -> SimDisk {
    let disk = SimDisk::lossless();
    files.iter().for_each(|(path, bytes)| disk.put(path, bytes.clone()));
    disk
}

/// The sample, and titles and pins that replace each other.
fn said() -> Vec<Request> {
    let mut all = requests_without_forks();
    for round in 0..8 {
        let title = format!("title {round} {}", "x".repeat(200));
        let pin = Event::Pin { node: node(1 + round % 3), pinned: round % 2 == 0 };
        all.push(Request::Record("a", vec![Event::Title(title), pin]));
    }
    all.push(Request::Append("b", vec![draft(4, 600)]));
    // The last segment holds the one that counts, wherever it begins.
    all.push(Request::Record("a", vec![Event::Title("the last title".into())]));
    all
}

/// Plain, with a checkpoint, vacuumed, compressed.
fn wholes() -> &'static [Whole; 4] {
    static WHOLES: OnceLock<[Whole; 4]> = OnceLock::new();
    WHOLES.get_or_init(|| {
        [0, 1, 2, 3].map(|kind| {
            let disk = SimDisk::lossless();
            let checkpoints = if kind == 1 { 1 } else { u64::MAX };
            let options: LogOptions = tiny_segments().checkpoint_bytes(checkpoints);
            let store = LogStore::open_on(Arc::new(disk.clone()), root(), options).unwrap();
            let mut history = vec![shown(&store).unwrap()];
            for request in said() {
                perform(&store, &request).unwrap();
                history.push(shown(&store).unwrap());
            }
            assert_eq!(history.last(), Some(&shown(&model(&said())).unwrap()));
            let compression = CompressionOptions::default().level(1).block_bytes(1 << 10);
            if kind >= 2 {
                let options = if kind == 2 { VacuumOptions::default() } else { VacuumOptions::compress(compression) };
                store.vacuum(options, &()).unwrap();
            }
            let root = pollster::block_on(store.verify(None)).unwrap().root;
            drop(store);
            let mut files = disk.files();
            files.retain(|path, _| !path.ends_with("LOCK") && !path.ends_with("LEASE"));
            Whole { files, history, root, is_vacuumed: kind >= 2 }
        })
    })
}

fn wreck(files: &mut Files, file: &Index, at: &Index, change: &Change) {
    let name = |index: &Index, files: &Files| files.keys().nth(index.index(files.len())).cloned();
    let Some(path) = name(file, files) else { return };
    match change {
        Change::Remove => drop(files.remove(&path)),
        Change::Swap(other) => {
            let other = name(other, files).unwrap();
            let (mine, others) = (files[&path].clone(), files[&other].clone());
            files.insert(path, others);
            files.insert(other, mine);
        }
        Change::Tail(garbage) => files.get_mut(&path).unwrap().extend_from_slice(garbage),
        Change::Cut => {
            let bytes = files.get_mut(&path).unwrap();
            bytes.truncate(at.index(bytes.len() + 1));
        }
        Change::Flip(_) | Change::Zeros(_) | Change::Garbage(_) => {
            let bytes = files.get_mut(&path).unwrap();
            let at = at.index(bytes.len().max(1));
            let rest = bytes.iter_mut().skip(at);
            match change {
                Change::Flip(bit) => rest.take(1).for_each(|byte| *byte ^= bit),
                Change::Zeros(count) => rest.take(*count).for_each(|byte| *byte = 0),
                Change::Garbage(garbage) => rest.zip(garbage).for_each(|(byte, new)| *byte = *new),
                _ => {}
            }
        }
    }
}

fn damage_or<T>(result: Result<T, StoreError>, context: &dyn Fn() -> String) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if error.is_damage() => None,
        Err(error) => panic!("{}: {error:?}", context()),
    }
}

/// Reads a store in every way: each answer is true, or an error that reports damage. Returns true if everything could
/// be read and nothing is missing.
fn is_all_there(store: &LogStore, whole: &Whole, context: &dyn Fn() -> String) -> bool {
    let truth: BTreeMap<&ConversationId, &ShownConversation> =
        whole.last().iter().map(|one| (&one.0.id, one)).collect();
    let mut all_there = true;
    let states = pollster::block_on(store.conversations()).unwrap();
    for state in &states {
        let id = &state.id;
        let Some((_, nodes, summaries, (views, notes))) = truth.get(id) else { panic!("{}: `{id}` is new", context()) };
        assert!(state.nodes <= nodes.len() as u64, "{}: `{id}` has too many nodes", context());
        for should in nodes.iter().take(usize::try_from(state.nodes).unwrap()) {
            match damage_or(pollster::block_on(store.node(id, should.id)), context) {
                Some(read) => assert_eq!(
                    (&read.message, read.at, read.tokens, &read.topics),
                    (&should.message, should.at, should.tokens, &should.topics),
                    "{}: node {} of `{id}`",
                    context(),
                    should.id
                ),
                None => all_there = false,
            }
        }
        for summary in damage_or(pollster::block_on(store.summaries(id)), context).unwrap_or_default() {
            assert!(summaries.contains(&summary), "{}: {summary:?} of `{id}`", context());
        }
        for view in
            damage_or(pollster::block_on(store.views(id, ViewId::FIRST, last_view())), context).unwrap_or_default()
        {
            assert!(views.contains(&view), "{}: {view:?} of `{id}`", context());
        }
        let (first, last) = (NoteId::FIRST, NoteId::after(u64::MAX));
        for note in damage_or(pollster::block_on(store.notes(id, first, last)), context).unwrap_or_default() {
            assert!(notes.contains(&note), "{}: {note:?} of `{id}`", context());
        }
        let key = MessageKey::new("second").unwrap();
        if let Some(Some(found)) = damage_or(pollster::block_on(store.find_key(id, &key)), context) {
            assert_eq!((id.as_str(), found), ("a", node(2)), "{}: by key", context());
        }
        drop(damage_or(pollster::block_on(store.nodes(id, all())), context));
        drop(damage_or(pollster::block_on(store.proofs(id, all())), context));
        drop(damage_or(pollster::block_on(store.outline(id)), context));
    }
    let verified = pollster::block_on(store.verify(None)).unwrap();
    if all_there && verified.is_whole() && verified.nodes == truth.values().map(|(state, ..)| state.nodes).sum::<u64>()
    {
        assert_eq!(verified.root, whole.root, "{}: whole, and of another root", context());
    }
    assert!(all_there || !verified.is_whole(), "{}: verified what cannot be read", context());
    all_there && states.len() == truth.len()
}

fn refuses(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Damaged { .. }
            | StoreError::NotAStore { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::NewerRecord { .. }
    )
}

/// True if damage is reported: by opening it, where that reads the log, or else by verification.
fn tells_of_damage(store: &LogStore) -> bool {
    !store.report().damage.is_empty() || !pollster::block_on(store.verify(None)).unwrap().is_whole()
}

/// True if `now` is `then`, except for importances, pins, titles and tags that `now` lacks.
fn lacks_only_marks(now: &Shown, then: &Shown) -> bool {
    let mut then = then.clone();
    for (now, then) in now.iter().zip(&mut then) {
        if now.0.title.is_none() {
            then.0.title = None;
        }
        if now.0.tags.is_empty() {
            then.0.tags.clear();
        }
        for (now, then) in now.1.iter().zip(&mut then.1) {
            then.pinned &= now.pinned;
            if now.importance.to_bits() == Node::NEUTRAL_IMPORTANCE.to_bits() {
                then.importance = now.importance;
            }
        }
    }
    *now == then
}

/// True if damage is reported, or the store shows a state that it once had.
fn tells_or_is_of_the_past(store: &LogStore, whole: &Whole, wrecked: &Files) -> bool {
    tells_of_damage(store) || shown(store).is_ok_and(|now| whole.has_shown(&now, wrecked))
}

/// Opens what is left of a store for reading, for writing, and once more, and appends in between.
fn check(whole: &Whole, wrecked: &Files, context: &dyn Fn() -> String) {
    let disk = of(wrecked);
    match open_read_only(&disk) {
        Ok(store) => {
            is_all_there(&store, whole, context);
            assert!(tells_or_is_of_the_past(&store, whole, wrecked), "{}: nobody noticed", context());
        }
        Err(error) => assert!(refuses(&error), "{}: {error:?}", context()),
    }
    let store = match open(&disk) {
        Ok(store) => store,
        Err(error) => return assert!(refuses(&error), "{}: {error:?}", context()),
    };
    if store.report().created {
        // Everything that identified a store was cut off: then nothing of it is left to be read.
        return assert!(!wrecked.contains_key(&root().join("FORMAT")), "{}", context());
    }
    is_all_there(&store, whole, context);
    let (damage, before) = (store.report().damage.clone(), shown(&store));
    assert!(tells_or_is_of_the_past(&store, whole, wrecked), "{}: nobody noticed", context());
    // A message that may be appended gets an unused number, and stays.
    let mut appended = Vec::new();
    for name in ["a", "b", "c"] {
        let id = ConversationId::new(name).unwrap();
        let there = pollster::block_on(store.conversation(&id)).map_or(0, |state| state.nodes);
        let mut new = draft(700, 10);
        new.message.key = None;
        if let Some(done) = damage_or(pollster::block_on(store.append(&id, vec![new.clone()])), context) {
            assert_eq!(done[0].node, node(there + 1), "{}", context());
            appended.push((id, done[0].node, new));
        }
    }
    drop(store);
    let store = open(&disk).unwrap_or_else(|error| panic!("{}: reopened: {error:?}", context()));
    assert_eq!(store.report().torn, None, "{}: what was cut is gone", context());
    assert!(damage.is_empty() || !store.report().damage.is_empty(), "{}: forgotten: {damage:?}", context());
    for (id, number, new) in &appended {
        let read = pollster::block_on(store.node(id, *number)).unwrap_or_else(|error| panic!("{}: {error}", context()));
        assert_eq!(read.message, new.message, "{}", context());
    }
    if damage.is_empty() && appended.is_empty() {
        assert_eq!(shown(&store).ok(), before.ok(), "{}", context());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds()))]

    #[test]
    fn a_store_wrecked_at_random_never_gives_a_wrong_answer(
        kind in 0usize..4,
        wrecks in prop::collection::vec((any::<Index>(), any::<Index>(), changes()), 1..4),
    ) {
        let whole = &wholes()[kind];
        let mut files = whole.files.clone();
        wrecks.iter().for_each(|(file, at, change)| wreck(&mut files, file, at, change));
        check(whole, &files, &|| format!("kind {kind}, {wrecks:?}"));
    }

    #[test]
    fn each_flipped_byte_is_an_error_or_a_rebuild(kind in 0usize..4, file in any::<Index>(), at in any::<Index>(), bit in 0u8..8) {
        let whole = &wholes()[kind];
        let mut files = whole.files.clone();
        wreck(&mut files, &file, &at, &Change::Flip(1 << bit));
        let path = files.keys().nth(file.index(files.len())).unwrap().clone();
        let is_cache = path.starts_with(root().join("cache")) || path.ends_with("HORIZON");
        let context = || format!("kind {kind}, {} {at:?} {bit}", path.display());
        match open_read_only(&of(&files)) {
            Ok(store) if is_cache || files == whole.files => {
                // Rebuilt from the log, or ignored.
                prop_assert_eq!(&store.report().damage, &[]);
                prop_assert_eq!(&shown(&store).unwrap(), whole.last());
            }
            Ok(store) => {
                let found = tells_of_damage(&store) || store.report().torn.is_some();
                let all_there = is_all_there(&store, whole, &context);
                // Bytes that a compressed segment holds twice may be flipped once.
                prop_assert!(found || all_there && kind == 3 && shown(&store).unwrap() == *whole.last(), "{}", context());
            }
            Err(error) => prop_assert!(!is_cache && refuses(&error), "{}: {error:?}", context()),
        }
        check(whole, &files, &context);
    }
}

#[test]
fn the_stores_that_are_wrecked_hold_what_they_should() {
    for (kind, whole) in wholes().iter().enumerate() {
        let has = |name: &str| whole.files.keys().any(|path| path.ends_with(name));
        assert!(has("FORMAT") && has("log/0003.seg") && has("cache/checkpoint") == (kind > 0), "{kind}");
        let watermark = &whole.files[&root().join("HORIZON")];
        assert_eq!(watermark.len(), WORDS * 8);
        let compressed = whole.files.values().filter(|bytes| bytes.starts_with(b"MEMSEGZ\n")).count();
        assert_eq!(compressed > 0, kind == 3, "{kind}");
        check(whole, &whole.files, &|| format!("kind {kind}, untouched"));
    }
}

/// Case that a random wreck found: the cut tail held the record which a vacuum had left others out for.
#[test]
fn a_lost_title_that_a_vacuum_had_left_others_out_for_is_missed_while_watermark_or_checkpoint_is_believed() {
    let whole = &wholes()[2];
    let last = whole.files.keys().rfind(|path| path.extension().is_some_and(|kind| kind == "seg")).unwrap();
    let never_shown = [&[][..], &["HORIZON"], &["HORIZON", "cache/checkpoint"]].map(|damaged| {
        let mut files = whole.files.clone();
        damaged.iter().for_each(|name| files.get_mut(&root().join(name)).unwrap().fill(0));
        let unnoticed = (0..whole.files[last].len()).step_by(97).filter(|cut| {
            let mut files = files.clone();
            files.get_mut(last).unwrap().truncate(*cut);
            // Strict where HORIZON is as it was.
            check(whole, &files, &|| format!("{damaged:?} damaged, cut at {cut}"));
            let Ok(store) = open_read_only(&of(&files)) else { return false };
            !tells_of_damage(&store) && !shown(&store).is_ok_and(|now| whole.history.contains(&now))
        });
        unnoticed.count()
    });
    assert_eq!(never_shown[..2], [0, 0]);
    assert!(never_shown[2] > 0, "if everything is noticed now, `lacks_only_marks` has no reason any more");
}
