//! Stores whose files were changed.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use memory_core::{
    port::{ConversationState, Place, Source, Store, StoreError},
    testing::store_conformance,
};
use proptest::{prelude::*, sample::Index};

use super::sample::{Request, all, draft, id, model, node, perform, requests_without_forks, shown, tiny_segments};
use crate::{LogStore, log::fuzzing::mend};

fn open(path: &Path) -> Result<LogStore, StoreError> {
    LogStore::open_with(path, tiny_segments())
}

/// A store on disk that holds the sample.
fn sample_store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    requests_without_forks().iter().for_each(|request| perform(&store, request).unwrap());
    dir
}

fn segments(store: &Path) -> Vec<PathBuf> {
    let mut segments: Vec<_> = fs::read_dir(store.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    segments
}

fn edit(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Reads everything in every way; an error must be damage, and every message must be true.
fn everything_read_is_true(store: &dyn Store, truth: &dyn Store, context: &str) {
    pollster::block_on(async {
        for ConversationState { id, nodes, .. } in store.conversations().await.unwrap() {
            let Ok(should) = truth.nodes(&id, all()).await else { panic!("{context}: `{id}` came out of nowhere") };
            assert!(nodes <= should.len() as u64, "{context}: `{id}` has nodes that were never appended");
            for should in should.iter().take(usize::try_from(nodes).unwrap()) {
                match store.node(&id, should.id).await {
                    Ok(node) => assert_eq!(node.message, should.message, "{context}: node {} of `{id}`", should.id),
                    Err(error) => assert!(error.is_damage(), "{context}: {error}"),
                }
            }
            store.summaries(&id).await.unwrap();
            store.outline(&id).await.unwrap();
        }
    });
}

/// Appends whose frames fill one segment, so that all of it may be a tail: `FORMAT`, and the segment.
fn one_segment() -> &'static (Vec<Request>, Vec<u8>, Vec<u8>) {
    static IMAGE: OnceLock<(Vec<Request>, Vec<u8>, Vec<u8>)> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let appends: Vec<_> = (1..12).map(|n| Request::Append("a", vec![draft(n, 40 * n)])).collect();
        let store = LogStore::open(dir.path()).unwrap();
        appends.iter().for_each(|request| perform(&store, request).unwrap());
        drop(store);
        let segment = fs::read(&segments(dir.path())[0]).unwrap();
        (appends, fs::read(dir.path().join("FORMAT")).unwrap(), segment)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_torn_log_reopens_to_a_prefix(cut in any::<Index>(), garbage in prop::collection::vec(any::<u8>(), 0..300)) {
        let (appends, format, whole) = one_segment();
        let cut = 64 + cut.index(whole.len() - 63);
        let left = [&whole[..cut], &garbage].concat();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("log")).unwrap();
        fs::write(dir.path().join("FORMAT"), format).unwrap();
        fs::write(dir.path().join("log/0001.seg"), &left).unwrap();

        let store = LogStore::open(dir.path()).unwrap();
        prop_assert_eq!(&store.report().damage, &[]);
        let held = usize::try_from(store.report().nodes).unwrap();
        prop_assert_eq!(shown(&store).unwrap(), shown(&model(&appends[..held])).unwrap());
        let torn = store.report().torn.clone();
        drop(store);
        // The cut is reported to the last byte that is not zero, and no whole frame is in it.
        let end = fs::metadata(&segments(dir.path())[0]).unwrap().len();
        let used = left.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        match torn {
            Some(torn) => prop_assert_eq!((torn.offset, torn.offset + torn.bytes), (end, used)),
            None => prop_assert!(used <= end),
        }
        prop_assert!(end <= cut as u64 && (held == appends.len()) == (cut == whole.len()));

        // The log goes on from there.
        let store = LogStore::open(dir.path()).unwrap();
        prop_assert_eq!(&store.report().torn, &None);
        let rest: Vec<_> = appends[held..].iter().flat_map(|request| match request {
            Request::Append(_, batch) => batch.clone(),
            Request::Record(..) | Request::Fork(..) => Vec::new(),
        }).collect();
        perform(&store, &Request::Append("a", rest)).unwrap();
        prop_assert_eq!(shown(&store).unwrap(), shown(&model(appends)).unwrap());
    }
}

#[test]
fn every_flipped_byte_is_an_error_or_is_found() {
    let dir = sample_store();
    let truth = model(&requests_without_forks());
    let names = ["FORMAT".into()].into_iter().chain(segments(dir.path()));
    for path in names.map(|name: PathBuf| dir.path().join(name)) {
        let whole = fs::read(&path).unwrap();
        // Every byte of headers, and of the rest enough to meet every field.
        for byte in (0..whole.len()).filter(|byte| *byte < 200 || byte % 23 == 0) {
            let context = format!("{} byte {byte}", path.display());
            let mut flipped = whole.clone();
            flipped[byte] ^= 1 << (byte % 8);
            fs::write(&path, &flipped).unwrap();
            match LogStore::open_read_only(dir.path()) {
                Ok(store) => {
                    let found = !store.report().damage.is_empty() || store.report().torn.is_some();
                    assert!(found, "{context}: nobody noticed");
                    everything_read_is_true(&store, &truth, &context);
                }
                Err(StoreError::Damaged { .. } | StoreError::NotAStore { .. } | StoreError::NewerFormat { .. }) => {}
                Err(error) => panic!("{context}: {error:?}"),
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(shown(&LogStore::open_read_only(dir.path()).unwrap()).unwrap(), shown(&truth).unwrap());
}

#[test]
fn damage_in_a_sealed_segment_is_named_and_the_rest_goes_on() {
    let dir = sample_store();
    let truth = model(&requests_without_forks());
    let sealed = segments(dir.path()).remove(0);
    edit(&sealed, |bytes| bytes[64 + 52 + 40] ^= 1);

    let store = open(dir.path()).unwrap();
    // The first frame opened `a`: with its name all of `a` is gone, which is reported once. The others are whole.
    let [damage, orphans] = store.report().damage.as_slice() else { panic!("{:?}", store.report().damage) };
    assert_eq!((damage.path.as_path(), damage.offset), (sealed.as_path(), 64));
    assert!(orphans.why.contains("its opening is lost"), "{orphans}");
    everything_read_is_true(&store, &truth, "first frame");
    let b = pollster::block_on(store.nodes(&id("b"), all())).unwrap();
    assert_eq!(b, pollster::block_on(truth.nodes(&id("b"), all())).unwrap());
    perform(&store, &Request::Append("b", vec![draft(4, 10)])).unwrap();
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert!(
        verified.damage.iter().any(|words| words.contains("0001.seg") && words.contains("byte 64")),
        "{verified:?}"
    );
    assert!(pollster::block_on(store.verify(Some(&id("b")))).unwrap().is_whole());
}

#[test]
fn what_was_proven_durable_is_never_cut_from_the_last_segment() {
    let (appends, format, whole) = one_segment();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("log")).unwrap();
    fs::write(dir.path().join("FORMAT"), format).unwrap();
    let mut hurt = whole.clone();
    hurt[64 + 52 + 20] ^= 1;
    let middle = hurt.len() / 2;
    hurt[middle] ^= 1;
    let file = dir.path().join("log/0001.seg");
    fs::write(&file, &hurt).unwrap();

    let store = LogStore::open(dir.path()).unwrap();
    assert_eq!(store.report().torn, None);
    assert!(store.report().damage.iter().any(|damage| damage.offset > 64), "{:?}", store.report().damage);
    drop(store);
    assert_eq!(fs::read(&file).unwrap(), hurt, "not a byte of it is changed");
    // With the bits turned back everything is there.
    fs::write(&file, whole).unwrap();
    assert_eq!(shown(&LogStore::open(dir.path()).unwrap()).unwrap(), shown(&model(appends)).unwrap());
}

#[test]
fn a_lost_node_is_damage_and_its_neighbours_keep_their_numbers() {
    let dir = sample_store();
    let truth = model(&requests_without_forks());
    // The second batch of `a` is the fourth frame: nodes 3 to 7.
    let whole = LogStore::open_read_only(dir.path()).unwrap();
    let third = pollster::block_on(whole.proofs(&id("a"), memory_core::NodeRange::single(node(3)))).unwrap()[0];
    let path = segments(dir.path()).into_iter().find(|path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(16).any(|window| window == third.salt)
    });
    edit(&path.unwrap(), |bytes| {
        let at = bytes.windows(16).position(|window| window == third.salt).unwrap();
        bytes[at] ^= 1;
    });

    let store = open(dir.path()).unwrap();
    let state = pollster::block_on(store.conversation(&id("a"))).unwrap();
    assert_eq!(state.nodes, 20, "later nodes keep their numbers");
    for position in 1..=20 {
        let read = pollster::block_on(store.node(&id("a"), node(position)));
        match read {
            Ok(node) => assert!(!(3..=7).contains(&position), "{node:?}"),
            Err(error) => assert!((3..=7).contains(&position) && error.is_damage(), "node {position}: {error}"),
        }
    }
    let read = pollster::block_on(store.readable_nodes(&id("a"), all())).unwrap();
    assert_eq!(read.losses.runs(), [memory_core::NodeRange::new(node(3), node(7)).unwrap()]);
    assert_eq!(read.nodes.len(), 15);
    everything_read_is_true(&store, &truth, "nodes 3 to 7 lost");
    let verified = pollster::block_on(store.verify(Some(&id("a")))).unwrap();
    assert_eq!((verified.nodes, verified.verified, verified.damage.len()), (20, 15, 1), "{:?}", verified.damage);
    // A later frame records how many nodes there were, so that the conversation may grow.
    perform(&store, &Request::Append("a", vec![draft(21, 10)])).unwrap();
}

#[test]
fn nothing_is_appended_where_a_number_could_be_that_of_a_lost_node() {
    let dir = sample_store();
    let store = open(dir.path()).unwrap();
    // After this frame nothing records how long `c` is.
    perform(&store, &Request::Append("c", vec![draft(2, 2_000)])).unwrap();
    perform(&store, &Request::Append("b", vec![draft(4, 3_000)])).unwrap();
    drop(store);
    let salt = {
        let store = LogStore::open_read_only(dir.path()).unwrap();
        pollster::block_on(store.proofs(&id("c"), memory_core::NodeRange::single(node(2)))).unwrap()[0].salt
    };
    for path in segments(dir.path()) {
        edit(&path, |bytes| {
            if let Some(at) = bytes.windows(16).position(|window| window == salt) {
                bytes[at] ^= 1;
            }
        });
    }
    let store = open(dir.path()).unwrap();
    let refused = perform(&store, &Request::Append("c", vec![draft(3, 10)])).unwrap_err();
    assert!(refused.is_damage(), "{refused}");
    assert!(pollster::block_on(store.node(&id("c"), node(1))).is_ok());
    perform(&store, &Request::Append("b", vec![draft(5, 10)])).unwrap();
}

/// Flips a byte of the first segment's first frame, which opened `a`. The store's other conversations are
/// whole; each new name could be the lost one.
fn refuses_new_conversations_when_the_opening_is_hurt(byte: usize) {
    let dir = sample_store();
    let first = segments(dir.path()).remove(0);
    edit(&first, |bytes| bytes[64 + byte] ^= 1);
    let store = open(dir.path()).unwrap();
    let before = shown(&store).unwrap();
    for name in ["a", "new"] {
        match perform(&store, &Request::Append(name, vec![draft(1, 10)])).unwrap_err() {
            StoreError::Damaged { place, why } => {
                assert_eq!(place, Place::from(&first).offset(64), "{name}");
                assert!(why.contains(&format!("`{name}` may be a conversation that was opened there")), "{why}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(shown(&store).unwrap(), before, "nothing was written");
    perform(&store, &Request::Append("c", vec![draft(2, 10)])).unwrap();
    drop(store);
    assert!(perform(&open(dir.path()).unwrap(), &Request::Append("a", vec![draft(1, 10)])).unwrap_err().is_damage());
}

#[test]
fn no_conversation_is_begun_while_the_header_of_an_opening_is_damaged() {
    refuses_new_conversations_when_the_opening_is_hurt(20);
}

#[test]
fn no_conversation_is_begun_while_the_payload_of_an_opening_is_damaged() {
    refuses_new_conversations_when_the_opening_is_hurt(52 + 10);
}

#[test]
fn a_conversation_may_begin_beside_damage_that_holds_no_opening() {
    let dir = sample_store();
    let third = {
        let whole = LogStore::open_read_only(dir.path()).unwrap();
        pollster::block_on(whole.proofs(&id("a"), memory_core::NodeRange::single(node(3)))).unwrap()[0].salt
    };
    for path in segments(dir.path()) {
        edit(&path, |bytes| {
            if let Some(at) = bytes.windows(16).position(|window| window == third) {
                bytes[at] ^= 1;
            }
        });
    }
    let store = open(dir.path()).unwrap();
    assert!(!store.report().damage.is_empty());
    perform(&store, &Request::Append("new", vec![draft(1, 10)])).unwrap();
}

#[test]
fn content_that_was_changed_together_with_its_checksums_does_not_match_its_leaf() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    perform(&store, &Request::Append("a", vec![draft(1, 10), draft(2, 10), draft(3, 10)])).unwrap();
    let root = pollster::block_on(store.verify(None)).unwrap().root;
    drop(store);
    let id_text = fs::read_to_string(dir.path().join("FORMAT")).unwrap();
    let hex = id_text.lines().find_map(|line| line.strip_prefix("id ")).unwrap().to_owned();
    let store_id = u128::from_str_radix(&hex, 16).unwrap().to_be_bytes();
    edit(&segments(dir.path())[0], |bytes| super::forge(bytes, store_id, b"message 2", b"message 9"));

    let store = LogStore::open(dir.path()).unwrap();
    assert!(store.report().damage.is_empty(), "every checksum is right");
    let forged = pollster::block_on(store.node(&id("a"), node(2))).unwrap();
    assert!(forged.message.text().starts_with("message 9"));
    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert_eq!((verified.nodes, verified.verified), (3, 2));
    assert_ne!(verified.root, root);
    assert!(verified.damage[0].contains("node 2 of `a`"), "{:?}", verified.damage);
}

#[test]
fn a_missing_segment_is_named() {
    let dir = sample_store();
    let gone = segments(dir.path()).remove(1);
    fs::remove_file(&gone).unwrap();
    let store = open(dir.path()).unwrap();
    assert!(store.report().damage.iter().any(|damage| damage.path == gone), "{:?}", store.report().damage);
    everything_read_is_true(&store, &model(&requests_without_forks()), "segment 2 is gone");
    fs::remove_dir_all(dir.path().join("log")).unwrap();
    drop(store);
    assert!(open(dir.path()).is_err());
}

#[test]
fn a_segment_cut_at_a_frame_is_noticed() {
    let dir = sample_store();
    let first = segments(dir.path()).remove(0);
    edit(&first, |bytes| bytes.truncate(64));
    let store = open(dir.path()).unwrap();
    assert!(!store.report().damage.is_empty());
    everything_read_is_true(&store, &model(&requests_without_forks()), "segment 1 is empty");
}

#[test]
fn a_newer_store_is_refused() {
    let dir = sample_store();
    edit(&dir.path().join("FORMAT"), |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap().replace("format 1", "format 3");
        *bytes = text.into_bytes();
    });
    for error in [open(dir.path()).unwrap_err(), LogStore::open_read_only(dir.path()).unwrap_err()] {
        assert!(matches!(error, StoreError::NewerFormat { found: 3, supported: 2, .. }), "{error:?}");
    }
}

#[test]
fn a_process_that_has_the_store_open_refuses_what_a_newer_version_appends() {
    let dir = sample_store();
    let (older, newer) = (open(dir.path()).unwrap(), open(dir.path()).unwrap());
    let last = segments(dir.path()).pop().unwrap();
    let end = fs::read(&last).unwrap().len();
    perform(&newer, &Request::Append("new", vec![draft(1, 10)])).unwrap();
    edit(&last, |bytes| {
        bytes[end + 52 + 8] = 40;
        let (number, store) =
            (u32::from_le_bytes(bytes[12..16].try_into().unwrap()), bytes[16..32].try_into().unwrap());
        mend::segment(bytes, store, number);
    });
    for _ in 0..2 {
        let read = pollster::block_on(older.conversations()).unwrap_err();
        let written = perform(&older, &Request::Append("old", vec![draft(1, 10)])).unwrap_err();
        for error in [read, written] {
            assert!(matches!(error, StoreError::NewerRecord { kind: 40, version: 1, .. }), "{error:?}");
        }
    }
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_nothing_is_changed() {
    let dir = sample_store();
    let last = segments(dir.path()).pop().unwrap();
    const KIND: usize = 64 + 52 + 8;
    for (at, kind, version) in [(KIND, 40, 1), (KIND + 1, 2, 2)] {
        let whole = fs::read(&last).unwrap();
        edit(&last, |bytes| {
            bytes[KIND] = kind;
            bytes[KIND + 1] = version;
            let (number, store) =
                (u32::from_le_bytes(bytes[12..16].try_into().unwrap()), bytes[16..32].try_into().unwrap());
            mend::segment(bytes, store, number);
        });
        let newer = fs::read(&last).unwrap();
        for error in [open(dir.path()).unwrap_err(), LogStore::open_read_only(dir.path()).unwrap_err()] {
            let StoreError::NewerRecord { place, kind: found, version: of, .. } = &error else {
                panic!("byte {at}: {error:?}")
            };
            assert_eq!((place, *found, *of), (&Place::from(&last).offset(64), kind, version));
            assert!(error.to_string().contains("a newer version wrote"), "{error}");
        }
        assert!(fs::read(&last).unwrap() == newer, "the log is as it was");
        fs::write(&last, whole).unwrap();
    }
    assert!(open(dir.path()).is_ok());
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    for error in [open(dir.path()).unwrap_err(), LogStore::open_read_only(dir.path()).unwrap_err()] {
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was put beside it");
    assert!(matches!(open(&dir.path().join("thesis.txt")), Err(StoreError::NotAStore { .. })));
    assert!(matches!(LogStore::open_read_only(dir.path().join("none")), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_log_without_its_format_file_is_not_taken_for_an_empty_directory() {
    let dir = sample_store();
    let format = dir.path().join("FORMAT");
    let kept = fs::read(&format).unwrap();
    fs::remove_file(&format).unwrap();
    assert!(open(dir.path()).unwrap_err().is_damage());
    fs::write(&format, kept).unwrap();
    assert_eq!(shown(&open(dir.path()).unwrap()).unwrap(), shown(&model(&requests_without_forks())).unwrap());
}

#[test]
fn a_reader_beside_the_writer_sees_what_was_acknowledged_before() {
    let dir = tempfile::tempdir().unwrap();
    let writer = open(dir.path()).unwrap();
    for (done, request) in requests_without_forks().iter().enumerate() {
        perform(&writer, request).unwrap();
        let reader = LogStore::open_read_only(dir.path()).unwrap();
        assert_eq!(shown(&reader).unwrap(), shown(&model(&requests_without_forks()[..=done])).unwrap());
        let refused = perform(&reader, request).unwrap_err();
        assert!(matches!(&refused, StoreError::ReadOnly { place } if *place == dir.path().into()), "{refused:?}");
    }
}

#[test]
fn the_log_conforms_in_tiny_segments_and_reopens_to_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    pollster::block_on(store_conformance(&store));
    pollster::block_on(store_conformance(&LogStore::in_memory(crate::LogOptions::default()).unwrap()));
    let before = (shown(&store).unwrap(), pollster::block_on(store.verify(None)).unwrap());
    drop(store);
    let store = open(dir.path()).unwrap();
    assert_eq!((shown(&store).unwrap(), pollster::block_on(store.verify(None)).unwrap()), before);
}

#[test]
fn acknowledged_records_that_were_cut_off_are_damage_and_no_torn_tail() {
    let dir = sample_store();
    let last = segments(dir.path()).pop().unwrap();
    edit(&last, |bytes| bytes.truncate(bytes.len() - 40));
    for store in [LogStore::open_read_only(dir.path()).unwrap(), open(dir.path()).unwrap()] {
        assert_eq!(store.report().torn, None);
        assert!(store.report().damage.iter().any(|damage| damage.path == last), "{:?}", store.report().damage);
        assert!(perform(&store, &Request::Append("b", vec![draft(9, 10)])).is_err(), "its number may be taken");
    }
    // Without a record of the durable end, the same log looks as after a crash.
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    let store = open(dir.path()).unwrap();
    assert!(store.report().torn.is_some() && store.report().damage.is_empty(), "{:?}", store.report());
    perform(&store, &Request::Append("b", vec![draft(9, 10)])).unwrap();
}

#[test]
fn a_watermark_with_any_flipped_bit_does_no_harm() {
    let dir = sample_store();
    let truth = shown(&model(&requests_without_forks())).unwrap();
    let watermark = dir.path().join("HORIZON");
    let whole = fs::read(&watermark).unwrap();
    for bit in 0..whole.len() * 8 {
        // In place, since a new file would not be believed anyway.
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::OpenOptions::new().write(true).open(&watermark).unwrap().write_all_at(&flipped, 0).unwrap();
        let reader = LogStore::open_read_only(dir.path()).unwrap();
        assert!(reader.report().damage.is_empty() && shown(&reader).unwrap() == truth, "bit {bit}");
        if bit % 7 == 0 {
            let store = open(dir.path()).unwrap();
            assert!(store.report().damage.is_empty() && shown(&store).unwrap() == truth, "bit {bit}");
            assert!(shown(&reader).unwrap() == truth, "bit {bit}");
        }
    }
}

#[test]
fn a_last_segment_of_another_store_is_damage_and_is_left_as_it_is() {
    let dirs = [sample_store(), sample_store()];
    let truth = model(&requests_without_forks());
    for (name, number) in [("0007.seg", 7), ("4294967295.seg", u32::MAX)] {
        let foreign = dirs[0].path().join("log").join(name);
        let bytes = fs::read(&segments(dirs[1].path())[0]).unwrap();
        fs::write(&foreign, &bytes).unwrap();
        fs::remove_file(dirs[0].path().join("HORIZON")).unwrap();
        let store = open(dirs[0].path()).unwrap();
        assert!(store.report().torn.is_none(), "{number}: {:?}", store.report());
        assert!(store.report().damage.iter().any(|damage| damage.path == foreign), "{:?}", store.report().damage);
        assert!(store.report().damage.len() < 20);
        everything_read_is_true(&store, &truth, name);
        assert!(perform(&store, &Request::Append("b", vec![draft(4, 10)])).is_err());
        drop(store);
        let now = fs::read(&foreign).unwrap();
        assert!(now == bytes, "not a byte of it is changed: {} bytes of {}", now.len(), bytes.len());
        fs::remove_file(&foreign).unwrap();
    }
    fs::remove_file(dirs[0].path().join("HORIZON")).unwrap();
    assert!(shown(&open(dirs[0].path()).unwrap()).unwrap() == shown(&truth).unwrap());
}

/// Appends a message to `a`.
fn say(store: &LogStore, number: usize) -> Result<u64, StoreError> {
    pollster::block_on(store.append(&id("a"), vec![draft(number, 50)])).map(|appended| appended[0].node.get())
}

#[test]
fn what_is_missing_is_not_forgotten_by_the_second_opening() {
    type Wreck = fn(&Path);
    let cut: Wreck = |path| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 300).unwrap();
    };
    for wreck in [cut, |path| fs::remove_file(path).unwrap()] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path()).unwrap();
        for number in 1..=100 {
            say(&store, number).unwrap();
        }
        drop(store);
        wreck(&segments(dir.path()).pop().unwrap());
        for opening in 0..3 {
            let store = open(dir.path()).unwrap();
            assert!(!store.report().damage.is_empty(), "opening {opening}");
            assert!(say(&store, 101).is_err(), "opening {opening}: 100 had been acknowledged");
            for only in [None, Some(&id("a"))] {
                let verification = pollster::block_on(store.verify(only)).unwrap();
                assert!(!verification.is_whole(), "opening {opening}: not all is there to be verified");
            }
        }
    }
}

#[test]
fn a_watermark_deleted_while_it_is_open_ends_writing_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let one = open(dir.path()).unwrap();
    say(&one, 1).unwrap();
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    let two = open(dir.path()).unwrap();
    assert_eq!(say(&two, 2).unwrap(), 2);
    let refused = say(&one, 3).unwrap_err();
    assert!(matches!(&refused, StoreError::Poisoned { why, .. } if why.contains("HORIZON")), "{refused:?}");
    assert_eq!(say(&two, 3).unwrap(), 3);
    drop((one, two));
    let store = open(dir.path()).unwrap();
    assert_eq!(pollster::block_on(store.nodes(&id("a"), all())).unwrap().len(), 3);
}

#[test]
fn a_reader_opened_before_there_was_a_watermark_follows() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    let writer = open(dir.path()).unwrap();
    say(&writer, 1).unwrap();
    assert_eq!(pollster::block_on(reader.conversations()).unwrap().len(), 1);
}

#[test]
fn a_watermark_of_nothing_but_ones_is_another_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    fs::write(dir.path().join("HORIZON"), [0xFF; 128]).unwrap();
    let store = open(dir.path()).unwrap();
    say(&store, 1).unwrap();
    assert_eq!(pollster::block_on(LogStore::open_read_only(dir.path()).unwrap().conversations()).unwrap().len(), 1);
}

#[test]
fn damage_is_noted_once_however_often_it_is_read_past() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogStore::open(dir.path()).unwrap();
    say(&writer, 1).unwrap();
    let reader = LogStore::open_read_only(dir.path()).unwrap();
    for number in 2..=6 {
        say(&writer, number).unwrap();
    }
    let file = fs::OpenOptions::new().write(true).open(dir.path().join("log/0001.seg")).unwrap();
    file.set_len(400).unwrap();
    for _ in 0..100 {
        pollster::block_on(reader.conversations()).unwrap();
    }
    assert!((1..=2).contains(&reader.shared.state().damage.len()), "{:?}", reader.shared.state().damage);
}

#[test]
fn what_was_on_disk_and_is_gone_is_not_forgotten() {
    let last_frame = |segment: &Path| {
        let bytes = fs::read(segment).unwrap();
        let magic = bytes.windows(4).rposition(|window| window == b"\xF7mem").unwrap();
        u64::try_from(magic).unwrap()
    };
    for is_cut in [false, true] {
        let dir = sample_store();
        perform(&open(dir.path()).unwrap(), &Request::Append("b", vec![draft(4, 10)])).unwrap();
        let last = segments(dir.path()).pop().unwrap();
        if is_cut {
            // Exactly after a whole frame: nothing in the log itself records that there was another.
            let end = last_frame(&last);
            fs::OpenOptions::new().write(true).open(&last).unwrap().set_len(end).unwrap();
        } else {
            fs::remove_file(&last).unwrap();
        }
        for opening in 0..3 {
            let store = open(dir.path()).unwrap();
            let damage = store.report().damage.clone();
            assert!(damage.iter().any(|damage| damage.path == last), "opening {opening}: {damage:?}");
            for name in ["a", "b", "new"] {
                let refused = perform(&store, &Request::Append(name, vec![draft(9, 10)])).unwrap_err();
                assert!(refused.is_damage(), "opening {opening}: {refused}");
            }
            let reader = LogStore::open_read_only(dir.path()).unwrap();
            shown(&reader).unwrap();
            assert_eq!(reader.report().damage, damage);
        }
    }
}
