//! Choice between scan and graph, and the choosing index before the suite that every index passes.

use std::{fs, path::PathBuf, sync::Mutex};

use memory_core::{
    Message, NodeDraft, Timestamp,
    port::{Store, VectorHit, VectorPart},
    testing::{IndexUnderTest, SUITE_DIMENSIONS, vector_index_conformance},
};

use super::*;

const DIMENSIONS: usize = 24;

struct OnDisk(tempfile::TempDir, Method);

impl IndexUnderTest for OnDisk {
    fn open(&self, case: u32) -> Arc<dyn VectorIndex> {
        let dir = self.0.path().join(case.to_string());
        let options = AutoOptions::default().method(self.1).graph_from(300);
        Arc::new(AutoIndex::open(dir, ModelId::new("suite"), SUITE_DIMENSIONS, options))
    }

    fn keeps(&self) -> bool {
        true
    }

    fn recall(&self) -> f64 {
        if self.1 == Method::Scan { 0.999 } else { 0.98 }
    }

    fn prepares_graphs(&self) -> bool {
        matches!(self.1, Method::Fastest | Method::Graph)
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

#[cfg(feature = "hnsw-rs")]
#[test]
fn an_index_keeps_the_contract_with_hnsw_rs() {
    vector_index_conformance(&OnDisk(tempfile::tempdir().unwrap(), Method::HnswRs));
}

#[cfg(feature = "hnsw-rs")]
#[test]
fn hnsw_rs_answers_once_it_is_built_and_what_it_lacks_is_scanned() {
    let options = AutoOptions::default().method(Method::HnswRs);
    let index = AutoIndex::in_memory(ModelId::new("toy"), DIMENSIONS, options);
    insert(&index, 1, 2_000);
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    let backend = AnsweredBy::Graph { backend: "hnsw_rs" };
    let (hits, answered_by) = search(&index, 700, None);
    assert_eq!((hits[0].slot.node.get(), answered_by), (700, backend));
    insert(&index, 2_001, 100);
    let (hits, answered_by) = search(&index, 2_050, None);
    assert_eq!((hits[0].slot.node.get(), answered_by), (2_050, backend));
    let gone: NodeSet = [NodeId::new(700).unwrap()].into_iter().collect();
    pollster::block_on(index.remove(&id(), &gone)).unwrap();
    let (hits, _) = search(&index, 700, None);
    assert!(hits.iter().all(|hit| hit.slot.node.get() != 700));
}

#[test]
fn an_index_keeps_the_contract_whatever_it_chooses() {
    for method in [Method::Fastest, Method::Graph, Method::Scan] {
        vector_index_conformance(&OnDisk(tempfile::tempdir().unwrap(), method));
    }
}

fn id() -> ConversationId {
    ConversationId::new("a").unwrap()
}

fn open(dir: &Path) -> AutoIndex {
    AutoIndex::open(dir, ModelId::new("toy"), DIMENSIONS, AutoOptions::default().graph_from(1_000))
}

/// Vectors that look random, one a node.
fn insert(index: &AutoIndex, from: u64, count: u64) {
    let nodes: Vec<_> = (from..from + count).map(|node| (NodeId::new(node).unwrap(), vec![vector(node)])).collect();
    pollster::block_on(index.insert(&id(), &nodes)).unwrap();
}

fn vector(seed: u64) -> Vec<f32> {
    let digest = blake3::hash(&seed.to_le_bytes());
    let mut vector: Vec<f32> = digest.as_bytes().iter().take(DIMENSIONS).map(|byte| f32::from(*byte) - 127.5).collect();
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|component| *component /= length);
    vector
}

fn search(index: &AutoIndex, seed: u64, only: Option<&NodeSet>) -> (Vec<VectorHit>, AnsweredBy) {
    let id = id();
    let parts = [VectorPart::new(&id).only(only)];
    let vector = vector(seed);
    let query = VectorQuery::new(&vector, 10, &parts);
    let answer = pollster::block_on(index.search(&query)).unwrap();
    (answer.hits, answer.answered_by[0])
}

const GRAPH: AnsweredBy = AnsweredBy::Graph { backend: BACKEND };

#[test]
fn the_size_and_the_selection_decide() {
    let index = AutoIndex::in_memory(ModelId::new("toy"), DIMENSIONS, AutoOptions::default().graph_from(1_000));
    insert(&index, 1, 999);
    assert_eq!(index.build_graph(&id(), &()), 0);
    assert_eq!(search(&index, 5, None).1, AnsweredBy::Scan);
    insert(&index, 1_000, 1_001);
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    assert_eq!(index.linked(&id()), (2_000, 2_000));
    let (hits, by) = search(&index, 5, None);
    assert_eq!((hits[0].slot.node.get(), by), (5, GRAPH));
    let of = |nodes: std::ops::Range<u64>| nodes.filter_map(NodeId::new).collect::<NodeSet>();
    assert_eq!(search(&index, 5, Some(&of(1..199))).1, AnsweredBy::SubsetScan);
    let (hits, by) = search(&index, 5, Some(&of(100..1_900)));
    assert!(by == GRAPH && hits.iter().all(|hit| (100..1_900).contains(&hit.slot.node.get())));
    // Vectors that the graph lacks are scanned.
    insert(&index, 2_001, 10);
    let (hits, by) = search(&index, 2_005, None);
    assert_eq!((hits[0].slot.node.get(), by), (2_005, GRAPH));
    let (id, query) = (id(), vector(1));
    let parts = [VectorPart::new(&id)];
    let all = VectorQuery::new(&query, usize::MAX, &parts);
    let answer = pollster::block_on(index.search(&all)).unwrap();
    assert_eq!((answer.hits.len(), answer.answered_by[0]), (2_010, AnsweredBy::Scan));
}

/// The graph's file, kept.
fn kept(dir: &Path) -> (PathBuf, Vec<u8>) {
    kept_by(&open(dir), dir)
}

fn kept_by(index: &AutoIndex, dir: &Path) -> (PathBuf, Vec<u8>) {
    insert(index, 1, 2_000);
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    let file = fs::read_dir(dir.join("graphs")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&file).unwrap();
    (file, bytes)
}

#[test]
fn a_graph_of_messages_that_the_log_lost_is_not_used_for_those_in_their_place() {
    let (dir, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = |from: &Path, to: &Path| {
        fs::read_dir(from).unwrap().map(Result::unwrap).for_each(|entry| {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        });
    };
    let say = |store: &LogStore, count: u64| {
        let draft = |n| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 1);
        pollster::block_on(store.append(&id(), (0..count).map(draft).collect())).unwrap();
    };
    let beside = |store: &LogStore| {
        AutoIndex::beside(store, ModelId::new("toy"), DIMENSIONS, AutoOptions::default().graph_from(1_000))
    };
    let log = dir.path().join("log");
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, 100);
    drop(store);
    copy(&log, backup.path());
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, 1_900);
    let index = beside(&store);
    insert(&index, 1, 2_000);
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    assert_eq!(search(&beside(&store), 7, None).1, GRAPH, "it is kept");
    drop((index, store));

    copy(backup.path(), &log);
    // HORIZON shows that the log was longer.
    fs::remove_file(dir.path().join("HORIZON")).unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    say(&store, 1_900);
    let index = beside(&store);
    let through = index.stats(&id()).through;
    assert!(through <= 100, "{through}");
    // Other vectors, of the same number.
    let nodes: Vec<_> =
        (through + 1..=2_000).map(|node| (NodeId::new(node).unwrap(), vec![vector(node + 5_000)])).collect();
    pollster::block_on(index.insert(&id(), &nodes)).unwrap();
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(search(&beside(&store), 7, None).1, AnsweredBy::Scan);
}

/// Progress that panics if anything is built.
struct NothingToDo;

impl Progress for NothingToDo {
    fn report(&self, done: u64, total: u64) {
        assert_eq!(done, total, "nothing is to be linked");
    }
}

#[test]
fn a_graph_comes_back_from_its_file_and_is_carried_on() {
    let dir = tempfile::tempdir().unwrap();
    let (file, bytes) = kept(dir.path());
    let index = open(dir.path());
    assert_eq!(index.build_graph(&id(), &NothingToDo), 2_000);
    assert_eq!(search(&index, 7, None).1, GRAPH);
    insert(&index, 2_001, 700);
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(index.build_graph(&id(), &()), 2_700);
    assert_ne!(fs::read(&file).unwrap(), bytes, "it has grown by more than an eighth");
    assert_eq!(open(dir.path()).build_graph(&id(), &NothingToDo), 2_700);
}

#[test]
fn a_damaged_graph_is_set_aside_and_answers_are_exact_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let (file, whole) = kept(dir.path());
    let hits = search(&open(dir.path()), 7, None).0;
    for damage in 0..12 {
        let mut bytes = whole.clone();
        match damage {
            0 => bytes.clear(),
            1 => bytes.truncate(60),
            2 => bytes.truncate(whole.len() - 1),
            _ => bytes[(damage - 3) * (whole.len() - 1) / 8] ^= 4,
        }
        fs::write(&file, &bytes).unwrap();
        let index = open(dir.path());
        assert_eq!(search(&index, 7, None), (hits.clone(), AnsweredBy::Scan), "damage {damage}");
        assert_eq!(index.build_graph(&id(), &()), 2_000);
        assert_eq!(fs::read(&file).unwrap(), whole, "the same graph is built again");
    }
}

/// Progress that was reported.
#[derive(Default)]
struct Steps(Mutex<Vec<(u64, u64)>>);

impl Progress for Steps {
    fn report(&self, done: u64, total: u64) {
        self.0.lock().unwrap().push((done, total));
    }
}

#[test]
fn a_graph_that_is_missing_or_of_another_model_or_of_fewer_rows_costs_time_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (file, whole) = kept(dir.path());
    let hits = search(&open(dir.path()), 7, None).0;

    fs::remove_file(&file).unwrap();
    let index = open(dir.path());
    assert_eq!(search(&index, 7, None), (hits.clone(), AnsweredBy::Scan), "missing");
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    assert_eq!(fs::read(&file).unwrap(), whole);

    let other = tempfile::tempdir().unwrap();
    let options = AutoOptions::default().graph_from(1_000);
    let by_other = AutoIndex::open(other.path(), ModelId::new("other"), DIMENSIONS, options);
    let (_, foreign) = kept_by(&by_other, other.path());
    fs::write(&file, &foreign).unwrap();
    let index = open(dir.path());
    assert_eq!(search(&index, 7, None), (hits, AnsweredBy::Scan), "of another model");
    assert_eq!(index.build_graph(&id(), &()), 2_000);
    assert_eq!(fs::read(&file).unwrap(), whole);

    // Not up to date: the linked rows answer, and the rest is scanned.
    let index = open(dir.path());
    insert(&index, 2_001, 100);
    pollster::block_on(index.flush()).unwrap();
    drop(index);
    let index = open(dir.path());
    let steps = Steps::default();
    assert_eq!(index.build_graph(&id(), &steps), 2_100);
    assert_eq!(*steps.0.lock().unwrap(), [(2_048, 2_100), (2_100, 2_100)], "it goes on where the file ends");
    let (hits, by) = search(&index, 2_050, None);
    assert_eq!((hits[0].slot.node.get(), by), (2_050, GRAPH));
}

#[test]
fn a_graph_is_built_anew_when_a_quarter_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    kept(dir.path());
    let index = open(dir.path());
    index.build_graph(&id(), &());
    let some: NodeSet = (1..=300).filter_map(NodeId::new).collect();
    pollster::block_on(index.remove(&id(), &some)).unwrap();
    assert!(search(&index, 7, None).0.iter().all(|hit| hit.slot.node.get() > 300));
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(index.linked(&id()), (2_000, 2_000), "they are buried");
    let more: NodeSet = (301..=600).filter_map(NodeId::new).collect();
    pollster::block_on(index.remove(&id(), &more)).unwrap();
    pollster::block_on(index.flush()).unwrap();
    assert_eq!(index.stats(&id()).removed, 0);
    assert_eq!(index.linked(&id()), (0, 1_400));
    assert_eq!(search(&index, 700, None).1, AnsweredBy::Scan);
    assert_eq!(index.build_graph(&id(), &()), 1_400);
    let (hits, by) = search(&index, 700, None);
    assert_eq!((hits[0].slot.node.get(), by), (700, GRAPH));
}

#[test]
fn a_search_has_the_graph_built_in_the_background() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    insert(&index, 1, 2_000);
    assert_eq!(search(&index, 7, None).1, AnsweredBy::Scan);
    while index.linked(&id()).0 < 2_000 {
        std::thread::yield_now();
    }
    assert_eq!(search(&index, 7, None).1, GRAPH);
}

#[test]
fn what_is_prepared_is_there_for_the_next_process_and_a_small_rest_is_left_to_be_scanned() {
    let dir = tempfile::tempdir().unwrap();
    let grow = |from, count, linked| {
        let index = open(dir.path());
        insert(&index, from, count);
        pollster::block_on(index.flush()).unwrap();
        pollster::block_on(index.prepare(&id(), &())).unwrap();
        assert_eq!(index.linked(&id()), (linked, from + count - 1));
    };
    grow(1, 500, 0);
    grow(501, 1_500, 2_000);
    let (hits, answered_by) = search(&open(dir.path()), 700, None);
    assert_eq!((hits[0].slot.node.get(), answered_by), (700, GRAPH));
    grow(2_001, 100, 2_000);
    // Less than an eighth, and kept all the same: this process would be the next to do it over again.
    grow(2_101, 600, 2_700);
    grow(2_701, 1, 2_700);
}
