//! Wrecked stores: reports of doctor, and recovery by salvage.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::{
    ContentBlock, ConversationId, Media, Node, NodeId, NodeRange, Summary,
    port::{Source, Store, StoreError},
};

use super::{
    sample::{Request, all, draft, id, model, node, perform, shown, tiny_segments},
    wreck::{Files, What, files_in, frames, left, put, sample, segment, store_id},
};
use crate::{
    ConversationLabel, Diagnosis, LogStore, RescueError, SalvageReport, examine,
    log::{
        format::{
            codec,
            frame::{FRAME_HEADER, FrameHeader, FrameKind, Payload, Place},
            segment::{SEGMENT_HEADER, SegmentHeader},
        },
        media::{self, Disk, sim::SimDisk},
        store::tested,
        upkeep::salvage::salvage_on,
    },
};

pub(super) fn rescue(dir: &Path) -> Result<(SalvageReport, tempfile::TempDir), RescueError> {
    let target = tempfile::tempdir().unwrap();
    let before = files_in(dir);
    let report = salvage_on(
        &(Arc::new(Disk) as Arc<dyn media::Media>),
        dir,
        &target.path().join("new"),
        4 << 10,
        tested::key(),
        &(),
    );
    assert_eq!(files_in(dir), before, "salvage leaves the source as it is");
    report.map(|report| (report, target))
}

/// The message and time of each node that can be read.
pub(super) fn readable(store: &LogStore, id: &ConversationId) -> BTreeMap<NodeId, Node> {
    pollster::block_on(async {
        let nodes = store.conversation(id).await.unwrap().nodes;
        let mut found = BTreeMap::new();
        for position in 1..=nodes {
            match store.node(id, node(position)).await {
                Ok(node) => drop(found.insert(node.id, node)),
                Err(error) => assert!(error.is_damage(), "{error}"),
            }
        }
        found
    })
}

/// Salvages a wrecked store and compares what comes out with what stands in it, byte by byte.
pub(super) fn salvage_gives_all_that_is_whole(
    whole: &Files,
    truth: &dyn Store,
    wrecked: &Files,
    context: &str,
) -> Diagnosis {
    let dir = put(wrecked);
    let (report, target) = rescue(dir.path()).unwrap_or_else(|error| panic!("{context}: {error}"));
    let left = left(whole, wrecked);
    let store = LogStore::open_with(target.path().join("new"), tiny_segments()).unwrap();
    assert!(store.report().damage.is_empty() && store.report().torn.is_none(), "{context}: {:?}", store.report());
    assert!(report.target.findings.is_empty(), "{context}: {:?}", report.target.findings);

    let verified = pollster::block_on(store.verify(None)).unwrap();
    assert_eq!(verified.damage, Vec::<String>::new(), "{context}");
    assert_eq!((verified.nodes, verified.verified), report.target.nodes(), "{context}: doctor and verify agree");
    assert_eq!(verified.verified, left.nodes.len() as u64, "{context}: {left:?}");

    for (number, truly) in left.names.iter().chain(&left.lost_names) {
        let name = if left.names.contains_key(number) { truly.clone() } else { id(&format!("recovered-{number}")) };
        let nodes: Vec<_> = left.nodes.iter().filter(|(of, _)| of == number).map(|(_, node)| *node).collect();
        let summaries: Vec<_> = left.summaries.iter().filter(|(of, _)| of == number).map(|(_, id)| *id).collect();
        if pollster::block_on(store.conversation(&name)).is_err() {
            assert!(nodes.is_empty() && summaries.is_empty(), "{context}: `{truly}` is left out");
            continue;
        }
        let found = readable(&store, &name);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), nodes, "{context}: {name}");
        let should: Vec<Node> = pollster::block_on(truth.nodes(truly, all())).unwrap();
        for (position, node) in &found {
            let should = &should[position.index()];
            assert_eq!((&node.message, node.at), (&should.message, should.at), "{context}: node {position}");
        }
        let found = pollster::block_on(store.summaries(&name)).unwrap();
        assert_eq!(found.iter().map(|summary| summary.id).collect::<Vec<_>>(), summaries, "{context}: {name}");
        let should: Vec<Summary> = pollster::block_on(truth.summaries(truly)).unwrap();
        assert!(found.iter().all(|summary| should.contains(summary)), "{context}: {name}");
    }
    doctor_agrees_with_the_store(dir.path(), &report.source, context);
    report.source
}

/// Asserts that doctor and the store agree on whether the store is whole, and on conversations that doctor calls whole.
fn doctor_agrees_with_the_store(dir: &Path, diagnosis: &Diagnosis, context: &str) {
    let Ok(store) = LogStore::open_read_only(dir) else {
        assert!(!diagnosis.is_whole(), "{context}: it cannot even be opened");
        return;
    };
    // A segment of another store is not a torn tail.
    let foreign = diagnosis.findings.iter().find(|finding| finding.why.contains("another store"));
    if foreign.is_none_or(|foreign| Some(&foreign.path) != store.report().torn.as_ref().map(|torn| &torn.path)) {
        assert_eq!(diagnosis.torn, store.report().torn, "{context}");
    }
    let verified = pollster::block_on(store.verify(None)).unwrap();
    let is_whole = store.report().damage.is_empty() && verified.is_whole();
    assert_eq!(diagnosis.is_whole(), is_whole, "{context}: {diagnosis:?} {verified:?}");
    for conversation in &diagnosis.conversations {
        let ConversationLabel::Named(name) = &conversation.label else { continue };
        // Salvage reads single whole records, the opening too, which cannot be read without it.
        let Some(same) = verified.conversations.iter().find(|one| one.id == *name) else { continue };
        assert!(conversation.verified >= same.verified, "{context}: `{name}`");
        if conversation.nodes == same.verified {
            assert_eq!((conversation.verified, conversation.root), (same.verified, same.root), "{context}: `{name}`");
        }
    }
}

#[test]
fn a_whole_store_is_said_to_be_whole_and_salvaged_with_the_same_roots() {
    let (files, requests) = sample();
    let truth = model(&requests);
    let dir = put(&files);
    let diagnosis = examine(dir.path(), &()).unwrap();
    assert!(diagnosis.is_whole() && diagnosis.torn.is_none() && diagnosis.leftovers.is_empty(), "{diagnosis:?}");
    let source = LogStore::open_read_only(dir.path()).unwrap();
    let (report, target) = rescue(dir.path()).unwrap();
    assert_eq!(report.source, diagnosis);
    let store = LogStore::open(target.path().join("new")).unwrap();
    assert_eq!(shown(&store).unwrap(), shown(&truth).unwrap());
    let verify = |store: &LogStore| pollster::block_on(store.verify(None)).unwrap();
    assert_eq!(verify(&store), verify(&source));
    let proofs = |store: &LogStore| pollster::block_on(store.proofs(&id("a"), all())).unwrap();
    assert_eq!(proofs(&store), proofs(&source), "salts and leaves are the same");
    // A key that is there is still there.
    let Request::Append(name, batch) = &requests[0] else { panic!("it begins with an append") };
    let again = pollster::block_on(store.append(&id(name), batch[1..].to_vec())).unwrap();
    assert_eq!((again[0].node, again[0].is_new), (node(2), false));
}

/// Damage of every kind in places of every kind.
#[test]
fn each_kind_of_damage_in_each_kind_of_place_is_found_and_read_around() {
    let (whole, requests) = sample();
    let truth = model(&requests);
    let mut places: Vec<(PathBuf, usize, &str)> = vec![("FORMAT".into(), 40, "the store's name")];
    let count = u32::try_from(whole.len() - 1).unwrap();
    places.extend((1..=count).map(|number| (segment(number), 20, "a segment's header")));
    for frame in frames(&whole) {
        for (at, what) in [(0, "magic"), (17, "lsn"), (25, "nodes before"), (37, "length"), (45, "payload checksum")] {
            places.push((frame.segment.clone(), frame.range.start + at, what));
        }
        for record in [&frame.records[0], frame.records.last().unwrap()] {
            for (at, what) in [(0, "record length"), (5, "record checksum"), (8, "kind"), (11, "value")] {
                places.push((frame.segment.clone(), record.range.start + at, what));
            }
        }
    }
    type Wreck = (&'static str, fn(&mut Vec<u8>, usize));
    let wrecks: [Wreck; 4] = [
        ("flipped", |bytes, at| bytes[at] ^= 0x10),
        ("zeroed for 700 bytes", |bytes, at| bytes.iter_mut().skip(at).take(700).for_each(|byte| *byte = 0)),
        ("overwritten for 9 bytes", |bytes, at| bytes.iter_mut().skip(at).take(9).for_each(|byte| *byte = 0xF7)),
        ("cut", Vec::truncate),
    ];
    // Every place is wrecked in one way, and by turns in all.
    for ((file, at, what), (how, wreck)) in places.into_iter().zip(wrecks.iter().cycle()) {
        let context = format!("{what} at byte {at} of {} {how}", file.display());
        let mut wrecked = whole.clone();
        wreck(wrecked.get_mut(&file).unwrap(), at);
        if wrecked == whole {
            continue;
        }
        let diagnosis = salvage_gives_all_that_is_whole(&whole, &truth, &wrecked, &context);
        // A log that ends in zeros, or at a frame, has simply ended.
        let ends = file == segment(count) && wrecked[&file][at..].iter().all(|byte| *byte == 0);
        assert!(!diagnosis.is_whole() || diagnosis.torn.is_some() || ends, "{context}: not noticed");
    }
}

#[test]
fn missing_empty_and_foreign_segments_cost_what_was_in_them() {
    let (whole, requests) = sample();
    let truth = model(&requests);
    let (other, _) = sample();
    let count = u32::try_from(whole.len() - 1).unwrap();
    for number in 1..=count {
        type Wreck<'w> = (&'w str, &'w dyn Fn(&mut Files));
        let wrecks: [Wreck; 4] = [
            ("gone", &|files| drop(files.remove(&segment(number)))),
            ("empty", &|files| files.get_mut(&segment(number)).unwrap().clear()),
            ("zeros", &|files| files.get_mut(&segment(number)).unwrap().fill(0)),
            ("another store's", &|files| drop(files.insert(segment(number), other[&segment(number)].clone()))),
        ];
        for (how, wreck) in wrecks {
            let context = format!("segment {number} is {how}");
            let mut wrecked = whole.clone();
            wreck(&mut wrecked);
            let diagnosis = salvage_gives_all_that_is_whole(&whole, &truth, &wrecked, &context);
            // Nothing records the last segment when it is gone.
            assert!(!diagnosis.is_whole() || number == count, "{context}");
        }
    }
}

#[test]
fn the_segments_tell_whose_they_are_when_format_is_lost() {
    let (whole, requests) = sample();
    for format in [None, Some(&b""[..]), Some(b"memory-store\nformat 1\nid zz\n"), Some(b"\xff\xfe")] {
        let mut wrecked = whole.clone();
        wrecked.remove(Path::new("FORMAT"));
        wrecked.extend(format.map(|bytes| ("FORMAT".into(), bytes.to_vec())));
        let dir = put(&wrecked);
        let (report, target) = rescue(dir.path()).unwrap();
        let [finding] = report.source.findings.as_slice() else { panic!("{:?}", report.source.findings) };
        assert!(finding.path.ends_with("FORMAT"), "{finding}");
        let store = LogStore::open(target.path().join("new")).unwrap();
        assert_eq!(shown(&store).unwrap(), shown(&model(&requests)).unwrap());
    }
}

#[test]
fn segments_are_known_by_their_headers_when_files_are_misnamed() {
    let (whole, requests) = sample();
    let mut wrecked = whole.clone();
    let (first, second) = (wrecked.remove(&segment(1)).unwrap(), wrecked.remove(&segment(2)).unwrap());
    wrecked.insert(segment(2), first.clone());
    wrecked.insert(segment(1), second);
    wrecked.insert(segment(4_000_000_000), first);
    let dir = put(&wrecked);
    let (report, target) = rescue(dir.path()).unwrap();
    assert!(report.source.findings.iter().any(|finding| finding.why.contains("name of another segment")));
    let store = LogStore::open(target.path().join("new")).unwrap();
    assert_eq!(shown(&store).unwrap(), shown(&model(&requests)).unwrap());
}

#[test]
fn lost_nodes_keep_their_numbers_and_say_that_they_are_lost() {
    let (whole, _) = sample();
    // The third record of the batch that holds nodes 3 to 7 of `a`.
    let frames = frames(&whole);
    let batch = frames
        .iter()
        .find(|frame| frame.records.len() == 5 && matches!(frame.records[0].what, What::Node(n) if n == node(3)));
    let (file, at) = (&batch.unwrap().segment, batch.unwrap().records[2].range.start + 60);
    let mut wrecked = whole.clone();
    wrecked.get_mut(file).unwrap()[at] ^= 4;
    let dir = put(&wrecked);
    let (report, target) = rescue(dir.path()).unwrap();
    let a = ConversationLabel::Named(id("a"));
    let [finding] = report.source.findings.as_slice() else { panic!("{:?}", report.source.findings) };
    let single = NodeRange::single;
    assert_eq!((&finding.conversation, &finding.lost), (&Some(a.clone()), &vec![(a, single(node(5)))]), "{finding}");

    let path = target.path().join("new");
    for _ in 0..2 {
        let store = LogStore::open(&path).unwrap();
        let [lost] = store.report().lost.as_slice() else { panic!("{:?}", store.report()) };
        assert_eq!((&lost.conversation, lost.nodes), (&id("a"), single(node(5))));
        let error = pollster::block_on(store.node(&id("a"), node(5))).unwrap_err();
        assert!(matches!(error, StoreError::Lost { .. }) && error.is_damage(), "{error}");
        assert!(pollster::block_on(store.nodes(&id("a"), all())).is_err());
        let verified = pollster::block_on(store.verify(Some(&id("a")))).unwrap();
        assert_eq!((verified.nodes - verified.verified, verified.damage.len()), (1, 0));
        assert!(!verified.is_whole());
    }
    // The conversation continues, and the salvaged store can be salvaged again.
    let store = LogStore::open(&path).unwrap();
    let appended = pollster::block_on(store.append(&id("a"), vec![draft(21, 5)])).unwrap();
    assert_eq!(appended[0].node, node(21));
    let once = pollster::block_on(store.verify(None)).unwrap();
    drop(store);
    let (_, again) = rescue(&path).unwrap();
    let again = LogStore::open(again.path().join("new")).unwrap();
    assert_eq!(pollster::block_on(again.verify(None)).unwrap(), once);
}

#[test]
fn a_message_that_was_forged_with_its_checksums_is_not_salvaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    perform(&store, &Request::Append("a", vec![draft(1, 10), draft(2, 10), draft(3, 10)])).unwrap();
    drop(store);
    let mut files = files_in(dir.path());
    let store = store_id(&files);
    super::forge(files.get_mut(&segment(1)).unwrap(), store, b"message 2", b"message 9");
    fs::write(dir.path().join(segment(1)), &files[&segment(1)]).unwrap();
    let (report, target) = rescue(dir.path()).unwrap();
    assert!(report.source.findings[0].why.contains("not what was hashed"), "{:?}", report.source.findings);
    let store = LogStore::open(target.path().join("new")).unwrap();
    assert_eq!(readable(&store, &id("a")).into_keys().collect::<Vec<_>>(), [node(1), node(3)]);
}

/// Bytes in a message that look like records are not taken for records, wherever the damage is.
#[test]
fn records_inside_of_a_damaged_message_are_not_taken_for_records() {
    let (inner, _) = sample();
    let planted = inner[&segment(2)].repeat(3);
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    let mut bearer = draft(2, 0);
    let media = Media::Bytes { media_type: "application/octet-stream".into(), data: planted.into() };
    bearer.message.content.push(ContentBlock::Image(media));
    perform(&store, &Request::Append("a", vec![draft(1, 10), bearer, draft(3, 10)])).unwrap();
    perform(&store, &Request::Append("a", vec![draft(4, 10)])).unwrap();
    drop(store);
    let files = files_in(dir.path());
    let mut log = files.clone();
    log.retain(|name, _| !name.ends_with("LOCK"));
    let bearer = frames(&log)[0].records[2].range.clone();
    for at in bearer.clone().step_by(97).chain(bearer.start..bearer.start + 12) {
        let mut bytes = files[&segment(1)].clone();
        bytes[at] ^= 0x21;
        fs::write(dir.path().join(segment(1)), &bytes).unwrap();
        let (_, target) = rescue(dir.path()).unwrap();
        let store = LogStore::open(target.path().join("new")).unwrap();
        let readable = readable(&store, &id("a"));
        assert!(
            readable.iter().all(|(position, node)| node.message.text().starts_with(&format!("message {position} ")))
        );
        assert!(readable.contains_key(&node(1)) && readable.contains_key(&node(4)), "byte {at}");
        assert_eq!(store.report().conversations, 1);
    }
}

#[test]
fn counts_of_lost_nodes_that_lie_ask_for_no_memory() {
    let (mut files, _) = sample();
    let store = store_id(&files);
    let last = u32::try_from(files.len() - 1).unwrap();
    let bytes = files.get_mut(&segment(last)).unwrap();
    for (lsn, nodes_before, count) in [(100, 1 << 50, 1), (101, u64::MAX, u64::MAX), (u64::MAX, 30, 1 << 60)] {
        let mut payload = Payload::default();
        payload.push(&codec::encode_lost(count).unwrap());
        let length = u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap();
        let header = FrameHeader {
            kind: FrameKind::Batch,
            conversation: 1,
            lsn,
            nodes_before,
            key_epoch: 0,
            payload: length,
            durable: 64,
        };
        let place = Place { store, segment: last, offset: u32::try_from(bytes.len()).unwrap() };
        payload.finish(&header, &place, bytes);
    }
    let dir = put(&files);
    let (report, target) = rescue(dir.path()).unwrap();
    assert!(report.source.findings.iter().any(|finding| finding.why.contains("more lost nodes")), "{report:?}");
    assert_eq!(report.target.nodes().1, 32);
    assert!(LogStore::open(target.path().join("new")).unwrap().report().damage.is_empty());
}

/// Segments as a vacuum leaves them: shorter, with a filler for frames of which nothing is left.
#[test]
fn rewritten_segments_are_whole() {
    let (whole, requests) = sample();
    let store = store_id(&whole);
    let frames = frames(&whole);
    let mut rewritten = whole.clone();
    let mut filler = 0;
    let last = whole.keys().rfind(|name| name.starts_with("log")).unwrap();
    for (number, name) in (1..).zip(whole.keys().filter(|name| name.starts_with("log"))) {
        let bytes = &whole[name];
        let mut out = bytes[..SEGMENT_HEADER as usize].to_vec();
        for frame in frames.iter().filter(|frame| frame.segment == *name) {
            let place = |offset| Place { store, segment: number, offset: u32::try_from(offset).unwrap() };
            let (header, records) = FrameHeader::parse(&bytes[frame.range.clone()], &place(frame.range.start)).unwrap();
            let mut payload = Payload::default();
            // Only sealed segments are rewritten.
            let is_dead = name != last && frame.records.iter().all(|record| matches!(record.what, What::Other));
            let header = if is_dead {
                filler += 1;
                FrameHeader { kind: FrameKind::Filler, conversation: 0, nodes_before: 1, payload: 0, ..header }
            } else {
                payload.push(records);
                header
            };
            let place = place(out.len());
            // A vacuum writes the same, since the offset of an earlier frame may now be behind the end.
            let header = FrameHeader { durable: place.offset, ..header };
            payload.finish(&header, &place, &mut out);
        }
        let end = Some(u32::try_from(out.len()).unwrap()).filter(|_| out.len() < bytes.len());
        let header = SegmentHeader { end, rewritten: 1, ..SegmentHeader::parse(bytes).unwrap() };
        out[..SEGMENT_HEADER as usize].copy_from_slice(&header.encode());
        rewritten.insert(name.clone(), out);
    }
    assert!(filler > 1, "something was left out");
    let dir = put(&rewritten);
    let (report, target) = rescue(dir.path()).unwrap();
    assert!(report.source.is_whole(), "{:?}", report.source.findings);
    doctor_agrees_with_the_store(dir.path(), &report.source, "rewritten");
    let store = LogStore::open(target.path().join("new")).unwrap();
    let truth = model(&requests);
    for name in ["a", "b", "c"] {
        let messages = |nodes: Vec<Node>| nodes.into_iter().map(|node| node.message).collect::<Vec<_>>();
        let should = messages(pollster::block_on(truth.nodes(&id(name), all())).unwrap());
        assert_eq!(messages(pollster::block_on(store.nodes(&id(name), all())).unwrap()), should, "`{name}`");
    }
}

#[test]
fn what_was_on_disk_and_is_cut_off_is_missed_while_the_machine_runs() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open_with(dir.path(), tiny_segments()).unwrap();
    for number in 1..=3 {
        perform(&store, &Request::Append("a", vec![draft(number, 300)])).unwrap();
    }
    drop(store);
    assert!(examine(dir.path(), &()).unwrap().is_whole());
    let file = dir.path().join(segment(1));
    let bytes = fs::read(&file).unwrap();
    let cut = bytes.len() - 10;
    fs::write(&file, &bytes[..cut]).unwrap();
    let diagnosis = examine(dir.path(), &()).unwrap();
    assert!(!diagnosis.is_whole() && diagnosis.torn.is_none(), "{diagnosis:?}");
    assert!(diagnosis.conversations[0].may_have_lost_more);
    let opened = LogStore::open_read_only(dir.path()).unwrap();
    assert!(!opened.report().damage.is_empty(), "the store says the same");
}

#[test]
fn bad_sectors_cost_what_was_in_them() {
    let disk = SimDisk::default();
    let media: &dyn media::Media = &disk;
    media.create_dir_all(Path::new("/disk")).unwrap();
    let store = LogStore::open_on(Arc::new(disk.clone()), Path::new("/disk/store"), tiny_segments()).unwrap();
    for number in 1..=40 {
        perform(&store, &Request::Append("a", vec![draft(number, 300)])).unwrap();
    }
    drop(store);
    // Frames of some 400 bytes: a sector of 512 bytes touches three at most.
    let file = Path::new("/disk/store").join(segment(2));
    disk.spoil(&file, 1_500);
    let report = salvage_on(
        &(Arc::new(disk.clone()) as Arc<dyn media::Media>),
        Path::new("/disk/store"),
        Path::new("/disk/new"),
        4 << 10,
        tested::key(),
        &(),
    )
    .unwrap();
    let findings = &report.source.findings;
    assert!(!findings.is_empty(), "it is noticed");
    assert!(findings.iter().all(|one| one.path == file && (900..2_000).contains(&one.offset)), "{findings:?}");
    let [conversation] = report.target.conversations.as_slice() else { panic!("{:?}", report.target) };
    assert_eq!(conversation.nodes, 40);
    assert!((37..40).contains(&conversation.verified), "{conversation:?}");
}

#[test]
fn what_is_beside_the_log_is_told_of() {
    let (whole, _) = sample();
    let dir = put(&whole);
    fs::create_dir_all(dir.path().join("cache/vectors")).unwrap();
    let tmp = dir.path().join("log/0009.seg.tmp");
    let cache = dir.path().join("cache/vectors/x.vec");
    for path in [&tmp, &cache] {
        fs::write(path, b"MEMVEC\r\n and nothing of this store").unwrap();
    }
    let diagnosis = examine(dir.path(), &()).unwrap();
    assert!(diagnosis.is_whole(), "none of it is damage");
    assert_eq!((diagnosis.leftovers, diagnosis.stale_caches), (vec![tmp], vec![cache]));
    assert_eq!(diagnosis.unlisted_caches, [], "a directory that is missing holds nothing");
}

#[test]
fn only_an_empty_directory_outside_of_the_store_takes_what_is_salvaged() {
    let (whole, _) = sample();
    let dir = put(&whole);
    let inside = crate::salvage(dir.path(), dir.path().join("cache/new"), &()).unwrap_err();
    assert!(matches!(inside, RescueError::Inside { .. }), "{inside}");
    let target = tempfile::tempdir().unwrap();
    fs::write(target.path().join("thesis.txt"), "years of work").unwrap();
    let full = crate::salvage(dir.path(), target.path(), &()).unwrap_err();
    assert!(matches!(&full, RescueError::NotEmpty { entry, .. } if entry == "thesis.txt"), "{full}");
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 1);
    let nothing = tempfile::tempdir().unwrap();
    assert!(examine(nothing.path(), &()).is_err());
    assert!(crate::salvage(nothing.path().join("none"), nothing.path().join("new"), &()).is_err());
    assert_eq!(fs::read_dir(nothing.path()).unwrap().count(), 0, "nothing is made of nothing");
}
