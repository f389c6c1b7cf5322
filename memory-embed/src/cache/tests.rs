//! Tests of the embedding cache: hits, eviction and damage.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use memory_core::{
    port::{BoxFuture, EmbedError, Embedder},
    testing::HashEmbedder,
};
use pollster::block_on;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Counts the texts that reach the model. A text of many words has a vector for each ten.
#[derive(Debug)]
struct Counting {
    model: ModelId,
    inner: HashEmbedder,
    texts: AtomicUsize,
}

impl Counting {
    fn new(model: &str) -> Arc<Self> {
        Arc::new(Self { model: ModelId::new(model), inner: HashEmbedder::new(8), texts: AtomicUsize::new(0) })
    }

    fn vectors(&self, text: &str) -> Vectors {
        let words: Vec<&str> = text.split(' ').collect();
        words.chunks(10).map(|words| self.inner.vector(&words.join(" "))).collect()
    }

    fn texts(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }
}

impl Embedder for Counting {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vectors>, EmbedError>> {
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        Box::pin(async move { Ok(texts.iter().map(|text| self.vectors(text)).collect()) })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        self.inner.embed_query(text)
    }
}

const KEY: CacheKey = CacheKey::new([7; 32]);
const TEXTS: [&str; 3] = ["The ferry leaves at nine.", "", "one two three four five six seven eight nine ten eleven"];

fn cache(directory: &TempDir) -> EmbeddingCache {
    EmbeddingCache::new(directory.path().join("cache"), &KEY)
}

fn cached(model: &Arc<Counting>, cache: EmbeddingCache) -> CachedEmbedder {
    CachedEmbedder::new(Arc::<Counting>::clone(model), Arc::new(cache))
}

fn embed(embedder: &CachedEmbedder, texts: &[&str]) -> Vec<Vectors> {
    block_on(embedder.embed_documents(texts)).unwrap()
}

/// The vectors of the model itself.
fn expected(model: &Counting, texts: &[&str]) -> Vec<Vectors> {
    texts.iter().map(|text| model.vectors(text)).collect()
}

fn sizes(directory: &TempDir) -> u64 {
    [RECENT, OLDER]
        .iter()
        .filter_map(|name| fs::metadata(directory.path().join("cache").join(name)).ok())
        .map(|file| file.len())
        .sum()
}

#[test]
fn a_text_is_embedded_once_also_by_later_processes() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let embedder = cached(&model, cache(&directory));
    assert_eq!(embed(&embedder, &TEXTS), expected(&model, &TEXTS));
    assert_eq!(model.texts(), 3);
    assert_eq!(embed(&embedder, &TEXTS), expected(&model, &TEXTS));
    let later = cached(&model, cache(&directory));
    assert_eq!(embed(&later, &[TEXTS[2], "new", TEXTS[0]]), expected(&model, &[TEXTS[2], "new", TEXTS[0]]));
    assert_eq!(model.texts(), 4);
}

#[test]
fn a_text_that_comes_twice_in_one_call_is_embedded_once() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let embedder = cached(&model, cache(&directory));
    let texts = ["yes", "no", "yes", "yes"];
    assert_eq!(embed(&embedder, &texts), expected(&model, &texts));
    assert_eq!(model.texts(), 2);
    assert!(embed(&embedder, &[]).is_empty());
}

#[test]
fn vectors_of_models_and_keys_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (Counting::new("one"), Counting::new("other"));
    embed(&cached(&one, cache(&directory)), &TEXTS);
    embed(&cached(&other, cache(&directory)), &TEXTS);
    assert_eq!((one.texts(), other.texts()), (3, 3));
    // Going back to the first model costs nothing.
    embed(&cached(&one, cache(&directory)), &TEXTS);
    assert_eq!(one.texts(), 3);
    let stranger = EmbeddingCache::new(directory.path().join("cache"), &CacheKey::new([8; 32]));
    embed(&cached(&one, stranger), &TEXTS);
    assert_eq!(one.texts(), 6);
}

#[test]
fn neither_text_nor_a_hash_that_can_be_guessed_is_on_disk() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    embed(&cached(&model, cache(&directory)), &TEXTS);
    let bytes = fs::read(directory.path().join("cache").join(RECENT)).unwrap();
    let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    assert!(!holds(TEXTS[0].as_bytes()) && !holds(blake3::hash(TEXTS[0].as_bytes()).as_bytes()) && !holds(&KEY.0));
    assert_eq!(format!("{KEY:?}"), "CacheKey(..)");
}

#[test]
fn room_is_bounded_and_what_is_in_use_stays() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let bytes = 10_000;
    let embedder = cached(&model, cache(&directory).max_bytes(bytes));
    embed(&embedder, &["often"]);
    for n in 0..1000 {
        embed(&embedder, &[&format!("text{n}"), "often"]);
        assert!(sizes(&directory) <= bytes, "{}", sizes(&directory));
    }
    assert_eq!(model.texts(), 1001);
    let before = model.texts();
    embed(&embedder, &["text0", "text999"]);
    assert_eq!(model.texts(), before + 1);
}

#[test]
fn two_processes_share_what_they_keep() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let processes =
        [cached(&model, cache(&directory).max_bytes(4_000)), cached(&model, cache(&directory).max_bytes(4_000))];
    for n in 0..300 {
        let text = format!("text{n}");
        assert_eq!(embed(&processes[n % 2], &[&text]), expected(&model, &[&text]));
        assert_eq!(embed(&processes[1 - n % 2], &[&text]), expected(&model, &[&text]));
        assert_eq!(model.texts(), n + 1);
    }
}

#[test]
fn while_another_process_writes_nothing_waits() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    fs::create_dir(directory.path().join("cache")).unwrap();
    let lock = File::create(directory.path().join("cache").join(LOCK)).unwrap();
    lock.lock().unwrap();
    let embedder = cached(&model, cache(&directory));
    assert_eq!(embed(&embedder, &TEXTS), expected(&model, &TEXTS));
    drop(lock);
    embed(&embedder, &TEXTS);
    embed(&embedder, &TEXTS);
    assert_eq!(model.texts(), 6);
}

#[test]
fn read_only_reads_and_leaves_the_disk_alone() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    embed(&cached(&model, cache(&directory).read_only()), &TEXTS);
    assert!(!directory.path().join("cache").exists());
    embed(&cached(&model, cache(&directory)), &TEXTS[..1]);
    let before = sizes(&directory);
    embed(&cached(&model, cache(&directory).read_only()), &TEXTS);
    assert_eq!((model.texts(), sizes(&directory)), (3 + 1 + 2, before));
}

#[test]
fn a_place_that_cannot_be_written_to_costs_only_time() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    fs::write(directory.path().join("cache"), "a file, not a directory").unwrap();
    let embedder = cached(&model, cache(&directory));
    for _ in 0..2 {
        assert_eq!(embed(&embedder, &TEXTS), expected(&model, &TEXTS));
    }
    assert_eq!(model.texts(), 6);
}

#[test]
fn clearing_forgets_everything() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let cache = Arc::new(cache(&directory));
    let embedder = CachedEmbedder::new(model.clone(), cache.clone());
    embed(&embedder, &TEXTS);
    cache.clear().unwrap();
    assert_eq!(sizes(&directory), 0);
    embed(&embedder, &TEXTS);
    assert_eq!(model.texts(), 6);
    cache.clear().unwrap();
    cache.clear().unwrap();
}

#[test]
fn whatever_is_damaged_or_cut_off_is_embedded_again_and_kept_again() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    embed(&cached(&model, cache(&directory)), &TEXTS);
    let path = directory.path().join("cache").join(RECENT);
    let whole = fs::read(&path).unwrap();
    let heal = |damaged: &[u8]| {
        fs::write(&path, damaged).unwrap();
        let before = model.texts();
        assert_eq!(embed(&cached(&model, cache(&directory)), &TEXTS), expected(&model, &TEXTS));
        let lost = model.texts() - before;
        assert_eq!(embed(&cached(&model, cache(&directory)), &TEXTS), expected(&model, &TEXTS));
        assert_eq!(model.texts(), before + lost, "what was lost is kept again");
        lost
    };
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!((1..=3).contains(&heal(&damaged)), "byte {at}");
        assert!((1..=3).contains(&heal(&whole[..at])), "cut at {at}");
    }
    assert_eq!(heal(&whole), 0);
}

#[test]
fn a_record_that_claims_the_world_allocates_nothing() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
    let cache_of = cache(&directory);
    let hash = cache_of.hash(&model.model, TEXTS[0]);
    embed(&cached(&model, cache(&directory)), &["other"]);
    let path = directory.path().join("cache").join(RECENT);
    let mut record = [&hash[..], &u32::MAX.to_le_bytes(), &u32::MAX.to_le_bytes(), &0u32.to_le_bytes()].concat();
    record.extend_from_slice(&crc32c::crc32c(&record).to_le_bytes());
    OpenOptions::new().append(true).open(&path).unwrap().write_all(&record).unwrap();
    assert_eq!(embed(&cached(&model, cache_of), &TEXTS), expected(&model, &TEXTS));
}

proptest! {
    #[test]
    fn any_bytes_are_a_cache(bytes in prop::collection::vec(any::<u8>(), 0..400), keeps_header: bool) {
        let (directory, model) = (tempfile::tempdir().unwrap(), Counting::new("m"));
        let path = directory.path().join("cache").join(RECENT);
        let mut file = Vec::new();
        if keeps_header {
            embed(&cached(&model, cache(&directory)), &["x"]);
            file = fs::read(&path).unwrap();
        } else {
            fs::create_dir(directory.path().join("cache")).unwrap();
        }
        file.extend_from_slice(&bytes);
        fs::write(&path, &file).unwrap();
        fs::write(directory.path().join("cache").join(OLDER), &bytes).unwrap();
        prop_assert_eq!(embed(&cached(&model, cache(&directory)), &TEXTS), expected(&model, &TEXTS));
    }
}
