//! The cache forgets by text, whatever the model, and passes the suite of derived data.

use std::{collections::BTreeSet, sync::Arc};

use memory_core::{
    ConversationId, ModelId,
    port::Embedder,
    testing::{DerivedUnderTest, HashEmbedder, derived_conformance},
};
use pollster::block_on;
use tempfile::TempDir;

use super::{
    super::{CacheKey, CachedEmbedder},
    *,
};

struct Case(TempDir);

impl Case {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn cache(&self) -> EmbeddingCache {
        EmbeddingCache::new(self.0.path().join("cache"), &CacheKey::new([7; 32]))
    }

    fn embed(&self, texts: &[String]) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for dimensions in [8, 12] {
            let embedder = CachedEmbedder::new(Arc::new(HashEmbedder::new(dimensions)), Arc::new(self.cache()));
            block_on(embedder.embed_documents(&texts)).unwrap();
        }
    }

    /// By how many models a text was embedded.
    fn models_of(&self, text: &str) -> usize {
        let cache = self.cache();
        let of_model = |dimensions| {
            let hash = cache.hash(&ModelId::new(&format!("hash/{dimensions}")), text);
            cache.get(&[hash], dimensions).remove(0)
        };
        [8, 12].into_iter().filter_map(of_model).count()
    }

    fn files(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let paths = [OLDER, RECENT].map(|name| self.0.path().join("cache").join(name));
        paths.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
    }
}

fn text(conversation: &ConversationId, node: u64) -> String {
    format!("text{node} of {conversation}")
}

impl DerivedUnderTest for Case {
    fn open(&self) -> Arc<dyn Derived> {
        Arc::new(self.cache())
    }

    fn derive(&self, conversation: &ConversationId, through: u64) {
        self.embed(&(1..=through).map(|node| text(conversation, node)).collect::<Vec<_>>());
    }

    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        (1..=12).filter(|node| self.models_of(&text(conversation, *node)) > 0).collect()
    }

    fn is_by_conversation(&self) -> bool {
        false
    }

    fn text(&self, conversation: &ConversationId, node: u64) -> Option<String> {
        Some(text(conversation, node))
    }

    fn at_rest(&self) -> Vec<u8> {
        self.files().into_iter().flat_map(|(_, bytes)| bytes).collect()
    }

    fn bytes_of(&self, conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        let vector = HashEmbedder::new(8).vector(&text(conversation, node));
        Some(vector.iter().flat_map(|component| component.to_le_bytes()).collect())
    }

    fn flip(&self, mut nth: usize) -> bool {
        for (path, mut bytes) in self.files() {
            if let Some(byte) = bytes.get_mut(nth) {
                *byte ^= 1;
                fs::write(path, bytes).unwrap();
                return true;
            }
            nth -= bytes.len();
        }
        false
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

#[test]
fn the_cache_of_embeddings_is_derived_data() {
    derived_conformance(&Case::new());
}

#[test]
fn forgetting_without_the_texts_empties_the_cache() {
    let (case, talk) = (Case::new(), ConversationId::new("talk").unwrap());
    case.embed(&["one".to_owned(), "two".to_owned()]);
    let cache = case.cache();
    let read_only = case.cache().read_only();
    let what = Forget::conversation(&talk);
    assert!(matches!(block_on(Derived::forget(&read_only, &what)), Err(DerivedError::ReadOnly { .. })));
    assert_eq!(case.models_of("one"), 2);
    assert_eq!(block_on(Derived::forget(&cache, &what)).unwrap(), Forgotten::All);
    assert_eq!((case.models_of("one"), case.models_of("two"), case.files().len()), (0, 0, 0));
}

#[test]
fn a_forgotten_text_does_not_come_back_from_another_process_or_a_half_made_file() {
    let case = Case::new();
    case.embed(&["one".to_owned(), "two".to_owned()]);
    // The other cache has both files open.
    let other = case.cache();
    let hash = other.hash(&ModelId::new("hash/8"), "one");
    assert!(other.get(&[hash], 8).remove(0).is_some());
    fs::copy(case.0.path().join("cache").join(RECENT), case.0.path().join("cache/.recent-left")).unwrap();
    case.cache().forget(&["one"]).unwrap();
    assert!(other.get(&[hash], 8).remove(0).is_none());
    assert_eq!((case.models_of("one"), case.models_of("two")), (0, 2));
    assert!(!case.0.path().join("cache/.recent-left").exists());
}
