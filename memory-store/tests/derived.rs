//! Derived files of each readable version, and the bytes of written ones.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{collections::BTreeMap, env, fs, path::Path};

use memory_core::{
    ConversationId, ModelId, NodeId, NodeRange,
    port::{
        BlockCache, BlockKey, BlockRun, TokenAnswer, TokenIndex, TokenPart, TokenVectors, VectorHit, VectorIndex,
        VectorPart, VectorQuery,
    },
};
use memory_store::{AutoIndex, AutoOptions, BlockFiles, LogStore, Method, QuantizedTokens, TokenBits, examine};
use pollster::block_on;
use tempfile::TempDir;

const DIMENSIONS: usize = 5;

fn talk() -> ConversationId {
    ConversationId::new("talk").unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A copy of the golden store, because its salts, and so its leaves, are always the same.
fn store() -> (TempDir, LogStore) {
    let dir = tempfile::tempdir().unwrap();
    copy(&golden("format-1"), dir.path());
    let store = LogStore::open(dir.path()).unwrap();
    (dir, store)
}

fn vectors(store: &LogStore) -> AutoIndex {
    AutoIndex::beside(store, ModelId::new("toy/1"), DIMENSIONS, AutoOptions::default().method(Method::Graph))
}

fn tokens(store: &LogStore) -> QuantizedTokens {
    QuantizedTokens::beside(store, ModelId::new("toy/1"), DIMENSIONS, TokenBits::Four)
}

fn axis(at: usize) -> Vec<f32> {
    (0..DIMENSIONS).map(|place| f32::from(u8::from(place == at))).collect()
}

/// Inserts the vectors of nodes `from + 1` to `to` of the first four.
fn insert_vectors(index: &AutoIndex, from: usize, to: usize) {
    let all = [vec![axis(0)], vec![], vec![axis(1), vec![0.6, 0.8, 0.0, 0.0, 0.0]], vec![axis(4)]];
    for (at, vectors) in all.into_iter().enumerate().take(to).skip(from) {
        // A flush may have found more in the file.
        if index.stats(&talk()).through > at as u64 {
            continue;
        }
        block_on(index.insert(&talk(), &[(NodeId::from_index(at), vectors)])).unwrap();
        // A block of two nodes, and then one each.
        if at > 0 {
            block_on(index.flush()).unwrap();
        }
    }
}

fn insert_tokens(index: &QuantizedTokens, from: usize, to: usize) {
    let said =
        |ids: &[u32], vectors: &[Vec<f32>]| TokenVectors::new(ids.to_vec(), DIMENSIONS, vectors.concat()).unwrap();
    let all = [said(&[7, 9], &[axis(3), axis(2)]), said(&[], &[]), said(&[9], &[axis(4)]), said(&[3], &[axis(0)])];
    for (at, said) in all.into_iter().enumerate().take(to).skip(from) {
        if index.stats(&talk()).through > at as u64 {
            continue;
        }
        block_on(index.insert(&talk(), &[(NodeId::from_index(at), said)])).unwrap();
        if at > 0 {
            block_on(index.flush()).unwrap();
        }
    }
}

fn nearest(index: &AutoIndex) -> Vec<VectorHit> {
    let talk = talk();
    let parts = [VectorPart::new(&talk)];
    let query = VectorQuery::new(&[0.5, 0.4, 0.3, 0.2, 0.6], 9, &parts);
    block_on(index.search(&query)).unwrap().hits
}

fn cosines(index: &QuantizedTokens) -> TokenAnswer {
    let question = TokenVectors::new(vec![9], DIMENSIONS, axis(4)).unwrap();
    let (talk, nodes) = (talk(), (0..4).map(NodeId::from_index).collect::<Vec<_>>());
    block_on(index.max_cosines(&question, &[TokenPart::new(&talk, &nodes)])).unwrap()
}

const WORDS: BlockKey = BlockKey { kind: "words", version: 1 };

fn words() -> Vec<(Vec<BlockRun>, &'static [u8])> {
    let run = |first, last| {
        let nodes = NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap();
        BlockRun::new(talk(), nodes)
    };
    vec![(vec![run(1, 3)], b"the words of 1-3"), (vec![run(4, 4)], b"the words of 4")]
}

fn write(store: &LogStore) {
    let index = vectors(store);
    insert_vectors(&index, 0, 4);
    assert_eq!(index.build_graph(&talk(), &()), 4);
    insert_tokens(&tokens(store), 0, 4);
    let cache = BlockFiles::beside(store);
    assert!(words().iter().all(|(runs, bytes)| block_on(cache.write(WORDS, runs, bytes, &[])).unwrap()));
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in ["vectors", "vectors/graphs", "tokens", "words"] {
        for path in
            fs::read_dir(dir.join(name)).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            files.insert(path.strip_prefix(dir).unwrap().display().to_string(), fs::read(path).unwrap());
        }
    }
    files
}

/// Golden bytes: changing them takes a new version. With `MEMORY_GOLDEN=DIR` it leaves the files there.
#[test]
fn this_version_writes_the_golden_files() {
    let (_dir, store) = store();
    write(&store);
    if let Some(golden) = env::var_os("MEMORY_GOLDEN") {
        for (name, bytes) in files(&store.cache_dir()) {
            let path = Path::new(&golden).join("derived").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let (written, golden) = (files(&store.cache_dir()), files(&golden("derived")));
    assert_eq!(written.keys().collect::<Vec<_>>(), golden.keys().collect::<Vec<_>>());
    assert_eq!(written.len(), 7);
    for (name, bytes) in &written {
        assert!(golden.get(name) == Some(bytes), "{name}");
    }
}

#[test]
fn the_golden_files_are_read() {
    let ((_dir, store), (_other, expected)) = (store(), store());
    write(&expected);
    for name in ["vectors", "tokens", "words"] {
        copy(&golden("derived").join(name), &store.cache_dir().join(name));
    }
    assert_eq!(nearest(&vectors(&store)), nearest(&vectors(&expected)));
    assert_eq!(vectors(&store).build_graph(&talk(), &()), 4);
    assert_eq!(cosines(&tokens(&store)), cosines(&tokens(&expected)));
    let blocks = block_on(BlockFiles::beside(&store).blocks(WORDS));
    let mut found: Vec<_> = blocks.iter().map(|block| (block.runs.clone(), block.bytes().unwrap())).collect();
    found.sort_by_key(|(runs, _)| runs[0].nodes);
    assert_eq!(found, words());
    assert!(examine(store.path(), &()).unwrap().stale_caches.is_empty());
}
