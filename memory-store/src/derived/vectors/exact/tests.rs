//! The exact index against a plain reference, and its files against everything that happens to files.

mod beside;
mod conformance;
mod faults;
mod turns;

use std::{fs, path::PathBuf};

use proptest::prelude::*;

use memory_core::port::Slot;

use super::*;

const DIMENSIONS: usize = 5;

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn index_in(dir: &Path) -> ExactIndex {
    ExactIndex::open(dir, ModelId::new("toy/1"), DIMENSIONS)
}

fn unit() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.0f32..1.0, DIMENSIONS).prop_filter_map("too short to be scaled", |mut vector| {
        let length = Kernels::detected().dot_f32(&vector, &vector).sqrt();
        vector.iter_mut().for_each(|component| *component /= length);
        (length > 0.01).then_some(vector)
    })
}

/// Vectors of successive nodes; some nodes have none.
fn nodes(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Vec<Vec<f32>>>> {
    prop::collection::vec(prop::collection::vec(unit(), 0..3), count)
}

fn numbered(from: usize, nodes: &[Vec<Vec<f32>>]) -> Vec<(NodeId, Vec<Vec<f32>>)> {
    nodes.iter().enumerate().map(|(index, vectors)| (NodeId::from_index(from + index), vectors.clone())).collect()
}

fn insert(index: &ExactIndex, id: &ConversationId, nodes: &[Vec<Vec<f32>>]) {
    let through = usize::try_from(index.stats(id).through).unwrap();
    pollster::block_on(index.insert(id, &numbered(through, nodes))).unwrap();
}

fn search(index: &ExactIndex, id: &ConversationId, query: &[f32], limit: usize) -> Vec<VectorHit> {
    let parts = [VectorPart::new(id)];
    let query = VectorQuery::new(query, limit, &parts);
    pollster::block_on(index.search(&query)).unwrap().hits
}

fn flush(index: &ExactIndex) {
    pollster::block_on(index.flush()).unwrap();
}

/// The files of the one conversation in `dir`: components, codes, blocks.
fn files(dir: &Path) -> [PathBuf; 3] {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| path.extension().map(std::ffi::OsStr::to_owned));
    files.try_into().unwrap()
}

fn read_all(dir: &Path) -> [Vec<u8>; 3] {
    files(dir).map(|file| fs::read(file).unwrap())
}

/// Two basis vectors, then one between them.
fn sample() -> Vec<Vec<Vec<f32>>> {
    let axis = |n: usize| (0..DIMENSIONS).map(|i| f32::from(u8::from(i == n))).collect::<Vec<_>>();
    vec![vec![axis(0)], vec![], vec![axis(1), vec![0.6, 0.8, 0.0, 0.0, 0.0]]]
}

proptest! {
    #[test]
    fn the_best_are_those_of_the_plain_scan(nodes in nodes(0..30), query in unit(), limit in 0usize..80) {
        let index = ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS);
        let a = id("a");
        insert(&index, &a, &nodes);
        let mut plain = Vec::new();
        for (node, vectors) in numbered(0, &nodes) {
            for (chunk, vector) in (0u32..).zip(&vectors) {
                let cosine: f64 = query.iter().zip(vector).map(|(q, v)| f64::from(*q) * f64::from(*v)).sum();
                plain.push((Slot { node, chunk }, cosine));
            }
        }
        let found = search(&index, &a, &query, limit);
        prop_assert_eq!(found.len(), limit.min(plain.len()));
        prop_assert!(found.windows(2).all(|w| (w[1].cosine, w[0].slot) < (w[0].cosine, w[1].slot)));
        plain.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        for (found, (_, cosine)) in found.iter().zip(&plain) {
            prop_assert!((f64::from(found.cosine) - cosine).abs() < 1e-5);
            let own = plain.iter().find(|(slot, _)| *slot == found.slot).unwrap().1;
            prop_assert!((f64::from(found.cosine) - own).abs() < 1e-5, "a score belongs to its slot");
        }
        prop_assert_eq!(search(&index, &a, &query, usize::MAX).len(), plain.len());
    }

    #[test]
    fn a_selection_answers_as_if_there_were_nothing_else(
        nodes in nodes(0..120),
        selected in prop::collection::vec(any::<bool>(), 120),
        query in unit(),
        limit in 1usize..40,
    ) {
        let [all, alone] = [(); 2].map(|()| ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS));
        let a = id("a");
        insert(&all, &a, &nodes);
        let kept = |(vectors, keep): (&Vec<Vec<f32>>, &bool)| if *keep { vectors.clone() } else { Vec::new() };
        insert(&alone, &a, &nodes.iter().zip(&selected).map(kept).collect::<Vec<_>>());
        let only = selected.iter().enumerate().filter(|(_, keep)| **keep).map(|(node, _)| NodeId::from_index(node));
        let only: NodeSet = only.collect();
        let parts = [VectorPart::new(&a).only(&only)];
        let query = VectorQuery::new(&query, limit, &parts);
        let found = pollster::block_on(all.search(&query)).unwrap().hits;
        prop_assert_eq!(found, search(&alone, &a, query.vector, limit));
    }

    #[test]
    fn an_index_reopens_as_it_was_flushed(batches in prop::collection::vec(nodes(0..6), 1..5), query in unit()) {
        let dir = tempfile::tempdir().unwrap();
        let a = id("a");
        let memory = ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS);
        for batch in &batches {
            let index = index_in(dir.path());
            insert(&index, &a, batch);
            insert(&memory, &a, batch);
            flush(&index);
            let again = index_in(dir.path());
            prop_assert_eq!(again.stats(&a).through, memory.stats(&a).through);
            prop_assert_eq!(again.stats(&a).vectors, memory.stats(&a).vectors);
            prop_assert_eq!(search(&again, &a, &query, usize::MAX), search(&memory, &a, &query, usize::MAX));
        }
    }
}

#[test]
fn equal_scores_are_ordered_by_slot() {
    let index = ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS);
    let same = vec![sample()[0][0].clone(); 2];
    insert(&index, &id("a"), &[same.clone(), same.clone()]);
    let found: Vec<_> =
        search(&index, &id("a"), &same[0], 3).iter().map(|s| (s.slot.node.get(), s.slot.chunk)).collect();
    assert_eq!(found, [(1, 0), (1, 1), (2, 0)]);
}

#[test]
fn what_is_no_unit_vector_is_refused_whole() {
    let index = ExactIndex::in_memory(ModelId::new("toy/1"), 2);
    let a = id("a");
    let refused = |vector: Vec<f32>| {
        let nodes = [(NodeId::FIRST, vec![vec![1.0, 0.0], vector])];
        pollster::block_on(index.insert(&a, &nodes)).unwrap_err()
    };
    for bad in [vec![f32::NAN, 0.0], vec![f32::INFINITY, 0.0], vec![0.0, 0.0], vec![0.5, 0.5], vec![1.01, 0.0]] {
        assert!(matches!(refused(bad), VectorError::BadVector { .. }));
    }
    assert!(matches!(refused(vec![1.0]), VectorError::Dimensions { expected: 2, found: 1 }));
    assert_eq!(index.stats(&a), VectorIndexStats::default(), "nothing of a refused batch is kept");
    let late = [(NodeId::FIRST.next(), vec![])];
    let late = pollster::block_on(index.insert(&a, &late)).unwrap_err();
    assert!(matches!(late, VectorError::OutOfOrder { expected: NodeId::FIRST, .. }), "{late}");
    for bad in [vec![f32::NAN, 0.0], vec![0.0, 0.0], vec![1.0]] {
        let parts = [VectorPart::new(&a)];
        let query = VectorQuery::new(&bad, 3, &parts);
        assert!(pollster::block_on(index.search(&query)).is_err(), "{bad:?}");
    }
}

/// An index over damaged files finds only a prefix of the sample's vectors, and is whole again once the others are
/// inserted.
fn assert_heals(dir: &Path, what: &str) {
    let a = id("a");
    let query = [0.6, 0.5, 0.4, 0.3, 0.2];
    let index = index_in(dir);
    let check = |index: &ExactIndex| {
        let found = search(index, &a, &query, 9);
        let through = usize::try_from(index.stats(&a).through).unwrap();
        let alone = ExactIndex::in_memory(ModelId::new("toy/1"), DIMENSIONS);
        insert(&alone, &a, &sample()[..through]);
        assert_eq!(found, search(&alone, &a, &query, 9), "{what}");
        through
    };
    let through = check(&index);
    insert(&index, &a, &sample()[through..]);
    assert_eq!(check(&index), 3, "{what}");
    flush(&index);
    assert_eq!(check(&index), 3, "{what}");
    let again = index_in(dir);
    assert_eq!(check(&again), 3, "{what}");
}

fn sample_in_three_blocks(dir: &Path) -> [(PathBuf, Vec<u8>); 3] {
    let index = index_in(dir);
    for node in sample() {
        insert(&index, &id("a"), &[node]);
        flush(&index);
    }
    files(dir).map(|file| (file.clone(), fs::read(file).unwrap()))
}

fn restore(files: &[(PathBuf, Vec<u8>)]) {
    files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
}

#[test]
fn files_cut_at_any_byte_give_a_prefix_and_are_refilled() {
    let dir = tempfile::tempdir().unwrap();
    let files = sample_in_three_blocks(dir.path());
    for (file, whole) in &files {
        for cut in 0..whole.len() {
            restore(&files);
            fs::write(file, &whole[..cut]).unwrap();
            assert_heals(dir.path(), &format!("{} cut at {cut}", file.display()));
        }
    }
}

#[test]
fn any_of_the_files_may_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    let files = sample_in_three_blocks(dir.path());
    for missing in 1u8..8 {
        restore(&files);
        for (bit, (file, _)) in files.iter().enumerate() {
            if missing & (1 << bit) != 0 {
                fs::remove_file(file).unwrap();
            }
        }
        assert_heals(dir.path(), &format!("without {missing:03b}"));
    }
}

#[test]
fn every_flipped_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let files = sample_in_three_blocks(dir.path());
    for (file, whole) in &files {
        for byte in 0..whole.len() {
            restore(&files);
            let mut flipped = whole.clone();
            flipped[byte] ^= 0x20;
            fs::write(file, &flipped).unwrap();
            assert_heals(dir.path(), &format!("{} flipped at {byte}", file.display()));
        }
    }
}

#[test]
fn codes_that_are_damaged_are_made_anew_from_the_components() {
    let dir = tempfile::tempdir().unwrap();
    sample_in_three_blocks(dir.path());
    let [_, codes, _] = files(dir.path());
    let whole_codes = fs::read(&codes).unwrap();
    let mut flipped = whole_codes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&codes, flipped).unwrap();
    let index = index_in(dir.path());
    assert_eq!(index.stats(&id("a")).through, 3, "nothing has to be embedded again");
    flush(&index);
    assert_eq!(fs::read(&codes).unwrap(), whole_codes);
}

#[test]
fn a_file_of_another_model_or_conversation_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (id("a"), id("b"));
    let index = index_in(dir.path());
    insert(&index, &a, &sample());
    flush(&index);
    let of_a = files(dir.path()).map(|file| (file.extension().unwrap().to_owned(), fs::read(file).unwrap()));
    let other = ExactIndex::open(dir.path(), ModelId::new("toy/2"), DIMENSIONS);
    assert_eq!(other.stats(&a).through, 0);
    insert(&index, &b, &sample()[..1]);
    flush(&index);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let (_, bytes) = of_a.iter().find(|(extension, _)| path.extension() == Some(extension)).unwrap();
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(index_in(dir.path()).stats(&a).through, 3);
    assert_eq!(index_in(dir.path()).stats(&b).through, 0, "the vectors of another conversation lie there");
}

#[test]
fn a_cache_that_was_deleted_meanwhile_is_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let a = id("a");
    let index = index_in(dir.path());
    insert(&index, &a, &sample()[..1]);
    flush(&index);
    files(dir.path()).iter().for_each(|file| fs::remove_file(file).unwrap());
    insert(&index, &a, &sample()[1..]);
    flush(&index);
    assert_eq!(index_in(dir.path()).stats(&a), index.stats(&a));
}

#[test]
fn what_was_forgotten_is_gone_from_disk() {
    let dir = tempfile::tempdir().unwrap();
    let a = id("a");
    let index = index_in(dir.path());
    index.forget(&a).unwrap();
    insert(&index, &a, &sample());
    flush(&index);
    index.forget(&a).unwrap();
    assert_eq!(index.stats(&a), VectorIndexStats::default());
    assert_eq!(index_in(dir.path()).stats(&a), VectorIndexStats::default());
    insert(&index, &a, &sample()[..1]);
    flush(&index);
    assert_eq!((index_in(dir.path()).stats(&a).through, index_in(dir.path()).stats(&a).vectors), (1, 1));
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_of_flush_alone() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let index = index_in(&blocked.join("vectors"));
    insert(&index, &id("a"), &sample());
    assert!(matches!(pollster::block_on(index.flush()), Err(VectorError::Io { .. })));
    assert_eq!(search(&index, &id("a"), &sample()[0][0], 9).len(), 3);
}

#[test]
fn an_index_beside_a_writer_reads_the_files_and_writes_none() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (id("a"), id("b"));
    let writer = index_in(dir.path());
    insert(&writer, &a, &sample());
    flush(&writer);
    let before = read_all(dir.path());
    let beside = ExactIndex::open_read_only(dir.path(), ModelId::new("toy/1"), DIMENSIONS);
    assert_eq!(beside.stats(&a), writer.stats(&a));
    let next = NodeId::from_index(sample().len());
    pollster::block_on(beside.insert(&a, &[(next, sample()[0].clone())])).unwrap();
    insert(&beside, &b, &sample());
    flush(&beside);
    assert_eq!(beside.stats(&a).through, writer.stats(&a).through + 1, "what is inserted is searched");
    assert_eq!(read_all(dir.path()), before);
}
