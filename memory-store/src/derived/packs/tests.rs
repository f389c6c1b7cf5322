//! Packs under an index of vectors: wherever the work stops, nothing is lost and nothing forgotten is left.

use memory_core::{
    ConversationId, ModelId, NodeId, NodeSet,
    port::{VectorHit, VectorIndex, VectorPart, VectorQuery},
};
use memory_files::seal::KeySet;
use pollster::block_on;
use tempfile::TempDir;

use super::{
    super::{
        disk::stopping,
        vectors::{ExactIndex, KIND},
    },
    *,
};

const DIMENSIONS: usize = 4;

fn id(number: usize) -> ConversationId {
    ConversationId::new(&format!("talk-{number}")).unwrap()
}

/// The vector of a node, which no other one has.
fn vector(talk: usize, node: u64) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let components = [1.0, talk as f32 / 64.0, node as f32 / 64.0, 0.5];
    let length = components.iter().map(|component| component * component).sum::<f32>().sqrt();
    components.map(|component| component / length).to_vec()
}

struct Setup(TempDir);

impl Setup {
    /// Conversations of three nodes each, in files of their own.
    fn of(talks: usize) -> Self {
        let setup = Self(tempfile::tempdir().unwrap());
        (0..talks).for_each(|talk| setup.derive(talk, 3));
        setup
    }

    fn index(&self) -> ExactIndex {
        ExactIndex::open(self.0.path(), ModelId::new("toy"), DIMENSIONS)
    }

    fn packs(&self) -> Arc<Packs> {
        Packs::new(self.0.path(), ([0; 16], KeySet::default()), KIND.extensions)
    }

    fn derive(&self, talk: usize, through: u64) {
        let index = self.index();
        insert(&index, talk, through);
        block_on(index.flush()).unwrap();
    }

    fn gather(&self) -> io::Result<bool> {
        let _turn = Turn::now(self.0.path()).unwrap().unwrap();
        self.packs().gather_beyond(0, 0)
    }

    /// The names of loose files and of packs.
    fn files(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let files = |dir: &Path| {
            let entries = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.is_file()).collect::<Vec<_>>()
        };
        (files(self.0.path()), files(&self.0.path().join(DIRECTORY)))
    }

    /// True if the components of a node are anywhere on disk.
    fn has_bytes_of(&self, talk: usize, node: u64) -> bool {
        let wanted: Vec<u8> = vector(talk, node).iter().flat_map(|component| component.to_le_bytes()).collect();
        let (loose, packs) = self.files();
        let holds = |path: &PathBuf| fs::read(path).unwrap().windows(wanted.len()).any(|bytes| bytes == wanted);
        loose.iter().chain(&packs).any(holds)
    }

    fn assert_found(&self, talk: usize, through: u64) {
        let found = found(&self.index(), talk);
        assert_eq!(found.iter().map(|hit| hit.slot.node.get()).collect::<Vec<_>>(), (1..=through).collect::<Vec<_>>());
    }
}

fn insert(index: &ExactIndex, talk: usize, through: u64) {
    for node in index.stats(&id(talk)).through + 1..=through {
        block_on(index.insert(&id(talk), &[(NodeId::new(node).unwrap(), vec![vector(talk, node)])])).unwrap();
    }
}

/// All vectors of a conversation, each of which must be the one that was inserted.
fn found(index: &ExactIndex, talk: usize) -> Vec<VectorHit> {
    let (talk_id, query) = (id(talk), vector(talk, 1));
    let parts = [VectorPart::new(&talk_id)];
    let hits = block_on(index.search(&VectorQuery::new(&query, usize::MAX, &parts))).unwrap().hits;
    for hit in &hits {
        let expected: f32 = vector(talk, hit.slot.node.get()).iter().zip(&query).map(|(a, b)| a * b).sum();
        assert!((hit.cosine - expected).abs() < 1e-5);
    }
    hits
}

#[test]
fn packed_conversations_are_found_and_changed() {
    let setup = Setup::of(20);
    assert!(setup.gather().unwrap());
    let (loose, packs) = setup.files();
    assert_eq!((loose.len(), packs.len()), (0, 1));
    (0..20).for_each(|talk| setup.assert_found(talk, 3));
    // The conversation becomes loose, and its loose files count before the pack.
    setup.derive(7, 5);
    assert_eq!(setup.files().0.len(), 3);
    setup.assert_found(7, 5);
    // The conversation is packed again, into a pack that counts before the other.
    setup.derive(8, 4);
    assert!(setup.gather().unwrap());
    assert_eq!(setup.files().0.len(), 0);
    (0..20).for_each(|talk| setup.assert_found(talk, [3, 5, 4][usize::from(talk == 7) + 2 * usize::from(talk == 8)]));
}

#[test]
fn a_flush_packs_what_is_more_than_enough() {
    let setup = Setup(tempfile::tempdir().unwrap());
    let index = setup.index();
    for talk in 0..200 {
        insert(&index, talk, 1);
        block_on(index.flush()).unwrap();
    }
    let (loose, packs) = setup.files();
    assert!(loose.len() <= 3 * 65 && packs.len() <= 3, "{} loose files and {} packs", loose.len(), packs.len());
    for talk in 0..200 {
        assert_eq!((found(&index, talk).len(), found(&setup.index(), talk).len()), (1, 1), "{talk}");
    }
}

#[test]
fn an_index_that_has_conversations_loaded_goes_on_when_another_process_packs_them() {
    let setup = Setup::of(4);
    let index = setup.index();
    assert_eq!(found(&index, 1).len(), 3);
    insert(&index, 2, 4);
    assert!(setup.gather().unwrap());
    insert(&index, 1, 5);
    block_on(index.flush()).unwrap();
    [(0, 3), (1, 5), (2, 4), (3, 3)].into_iter().for_each(|(talk, through)| {
        setup.assert_found(talk, through);
        assert_eq!(found(&index, talk).len() as u64, through);
    });
}

#[test]
fn nothing_is_lost_when_gathering_stops_after_any_operation() {
    for operations in 0.. {
        let setup = Setup::of(6);
        setup.gather().unwrap();
        setup.derive(2, 5);
        setup.derive(6, 3);
        stopping::after(Some(operations));
        let gathered = setup.gather();
        stopping::after(None);
        let check = || (0..7).for_each(|talk| setup.assert_found(talk, if talk == 2 { 5 } else { 3 }));
        check();
        if gathered.is_ok() {
            assert!(operations > 8, "{operations}");
            return;
        }
        // Remains of a stopped gathering disturb nothing afterwards.
        setup.derive(4, 3);
        setup.gather().unwrap();
        check();
    }
}

#[test]
fn nothing_is_left_when_forgetting_stops_after_any_operation_and_is_done_again() {
    for operations in 0.. {
        let setup = Setup::of(4);
        setup.gather().unwrap();
        // The pack has an older version of the conversation.
        setup.derive(1, 5);
        let node: NodeSet = NodeId::new(2).into_iter().collect();
        let forget = || {
            let index = setup.index();
            block_on(index.remove(&id(1), &node)).unwrap();
            block_on(index.flush())
        };
        stopping::after(Some(operations));
        let forgotten = forget();
        stopping::after(None);
        [0, 2, 3].into_iter().for_each(|talk| setup.assert_found(talk, 3));
        let nodes: Vec<_> = found(&setup.index(), 1).iter().map(|hit| hit.slot.node.get()).collect();
        // A row that does not match its block costs the block, which is derived again.
        let is_sound = nodes.is_empty() || nodes == [1, 2, 3, 4, 5] || nodes == [1, 3, 4, 5];
        assert!(is_sound, "{nodes:?} after {operations} operations");
        if forgotten.is_err() {
            // The same steps as `DerivedFiles::forget`.
            forget().unwrap();
            let stem = super::super::header::file_name(id(1).as_str(), "toy");
            setup.packs().forget_older(&stem).unwrap();
        }
        assert!(!setup.has_bytes_of(1, 2), "after {operations} operations");
        if forgotten.is_ok() {
            assert!(setup.has_bytes_of(1, 3) && nodes == [1, 3, 4, 5] && operations > 4, "{operations}");
            return;
        }
    }
}

#[test]
fn a_damaged_pack_costs_only_what_it_held() {
    let setup = Setup::of(3);
    setup.gather().unwrap();
    setup.derive(3, 3);
    let pack = setup.files().1.remove(0);
    let good = fs::read(&pack).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut flipped = good.clone();
        flipped[at] ^= 0x10;
        fs::write(&pack, &flipped).unwrap();
        let index = setup.index();
        assert!((0..3).all(|talk| found(&index, talk).len() <= 3));
        assert_eq!(found(&index, 3).len(), 3);
        let packs = setup.packs();
        assert!(packs.strange().unwrap().len() + packs.damaged().unwrap().len() == 1, "byte {at} is not noticed");
    }
    fs::write(&pack, &good).unwrap();
    assert_eq!((setup.packs().strange().unwrap().len(), setup.packs().damaged().unwrap().len()), (0, 0));
}

/// Golden bytes: if they change, these must stay readable, under another version of packs.
#[test]
fn the_bytes_of_a_pack_never_change() {
    let dir = tempfile::tempdir().unwrap();
    let header = super::super::header::VECTORS.header([7; 16], &4_u64.to_le_bytes(), ["toy", "talk"]);
    fs::write(dir.path().join("ab.vec"), &header).unwrap();
    fs::write(dir.path().join("ab.i8"), b"codes").unwrap();
    let packs = Packs::new(dir.path(), ([7; 16], KeySet::default()), KIND.extensions);
    assert!(packs.gather_beyond(0, 0).unwrap());
    let bytes = fs::read(packs.list().unwrap()[0].path()).unwrap();
    assert_eq!(&bytes[..12], b"MEMPACK\n\x01\0\0\0");
    assert_eq!((&bytes[12..28], &bytes[28..32]), ([7; 16].as_slice(), [2, 0, 0, 0].as_slice()));
    assert_eq!(bytes[32..36], ::crc32c::crc32c(&bytes[64..256]).to_le_bytes());
    assert_eq!(bytes[60..64], ::crc32c::crc32c(&bytes[..60]).to_le_bytes());
    // Names are sorted: the codes, then the blocks. Contents are in the order of kinds: the blocks, then the codes.
    assert_eq!((&bytes[64..69], &bytes[160..166]), (b"ab.i8".as_slice(), b"ab.vec".as_slice()));
    let (blocks, codes) = (256, (256 + header.len()).next_multiple_of(64));
    let numbers =
        |entry: usize| [136 + entry, 144 + entry].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
    assert_eq!((numbers(96), numbers(0)), ([blocks as u64, header.len() as u64], [codes as u64, 5]));
    assert_eq!(bytes[152..156], ::crc32c::crc32c(b"codes").to_le_bytes());
    assert_eq!((&bytes[blocks..blocks + header.len()], &bytes[codes..]), (header.as_slice(), b"codes".as_slice()));
}
