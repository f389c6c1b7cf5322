//! Derived data of each kind next to a store of two conversations.

use std::{collections::BTreeSet, fs, future::Future, marker::PhantomData, path::Path};

use memory_core::{
    Message, NodeDraft, NodeId, NodeRange, Timestamp, ViewId, WrittenBy,
    port::{BlockCache, BlockKey, BlockRun, Event, Source, Store, TokenPart, TokenVectors, VectorPart, VectorQuery},
    testing::DerivedUnderTest,
    view::{ViewDraft, text_hash},
};
use tempfile::TempDir;

use super::super::super::{
    AutoOptions, BlockFiles, DerivedBlocks, ExactIndex, Method, RecordedQuestions, TokenBits, graph::GraphBinding,
    packs::Packs,
};
use super::*;

const DIMENSIONS: usize = 5;

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

pub(super) fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

/// The files below a directory, by name.
pub(super) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

fn flip(files: &[(PathBuf, Vec<u8>)], mut nth: usize) -> bool {
    for (path, bytes) in files {
        if let Some(byte) = bytes.get(nth) {
            let mut flipped = bytes.clone();
            flipped[nth] = byte ^ 0x10;
            fs::write(path, flipped).unwrap();
            return true;
        }
        nth -= bytes.len();
    }
    false
}

/// A store with twelve messages in each of two conversations.
fn store() -> (TempDir, Arc<LogStore>) {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::open(dir.path()).unwrap();
    let draft = |n: u64| NodeDraft::new(Message::user(format!("message {n}")), Timestamp::from_millis(0), 2);
    for name in ["talk", "other"] {
        block_on(store.append(&id(name), (0..12).map(draft).collect())).unwrap();
    }
    (dir, Arc::new(store))
}

/// A kind of derived files under test.
pub(super) trait Kind {
    type Files: Derived + 'static;

    fn open(store: &LogStore) -> Self::Files;
    fn dir(store: &LogStore) -> PathBuf;
    fn derive(store: &LogStore, conversation: &ConversationId, through: u64);
    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64>;
    fn bytes_of(conversation: &ConversationId, node: u64) -> Option<Vec<u8>>;
}

pub(super) struct Case<K> {
    _dir: TempDir,
    pub(super) store: Arc<LogStore>,
    kind: PhantomData<K>,
}

impl<K: Kind> Case<K> {
    pub(super) fn new() -> Self {
        let (dir, store) = store();
        Self { _dir: dir, store, kind: PhantomData }
    }

    pub(super) fn derive(&self, conversation: &ConversationId, through: u64) {
        K::derive(&self.store, conversation, through);
    }

    pub(super) fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        K::found(&self.store, conversation)
    }
}

impl<K: Kind> DerivedUnderTest for Case<K> {
    fn open(&self) -> Arc<dyn Derived> {
        Arc::new(K::open(&self.store))
    }

    fn derive(&self, conversation: &ConversationId, through: u64) {
        K::derive(&self.store, conversation, through);
    }

    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        K::found(&self.store, conversation)
    }

    fn at_rest(&self) -> Vec<u8> {
        at_rest::<K>(&self.store).into_iter().flat_map(|(_, bytes)| bytes).collect()
    }

    fn bytes_of(&self, conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        K::bytes_of(conversation, node)
    }

    fn flip(&self, nth: usize) -> bool {
        flip(&at_rest::<K>(&self.store), nth)
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}

/// The files of a kind, loose and packed.
fn at_rest<K: Kind>(store: &LogStore) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = K::dir(store);
    [files(&dir), files(&dir.join("packs"))].concat()
}

/// A kind whose files are packed after each change.
pub(super) struct Packed<K>(PhantomData<K>);

impl<K: Kind> Kind for Packed<K> {
    type Files = K::Files;

    fn open(store: &LogStore) -> Self::Files {
        K::open(store)
    }

    fn dir(store: &LogStore) -> PathBuf {
        K::dir(store)
    }

    fn derive(store: &LogStore, conversation: &ConversationId, through: u64) {
        K::derive(store, conversation, through);
        for kind in [&vectors::KIND, &tokens::KIND] {
            let dir = store.cache_dir().join(kind.directory);
            let packs = Packs::new(&dir, store.leaves().named(), kind.extensions);
            if dir.exists() {
                packs.gather_beyond(0, 0).unwrap();
            }
        }
        assert_eq!(files(&K::dir(store)), []);
    }

    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
        K::found(store, conversation)
    }

    fn bytes_of(conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        K::bytes_of(conversation, node)
    }
}

pub(super) struct Words;

const WORDS: BlockKey = BlockKey { kind: "words", version: 1 };

fn word(conversation: &ConversationId, node: u64) -> String {
    format!("<word {node} of {conversation}>")
}

/// The nodes of a conversation whose words are in a whole block.
fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
    let blocks = block_on(BlockFiles::beside(store).blocks(WORDS));
    let text =
        |block: &Arc<memory_core::port::Block>| block.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
    let text: String = blocks.iter().filter_map(text).collect();
    (1..=12).filter(|node| text.contains(&word(conversation, *node))).collect()
}

impl Kind for Words {
    type Files = DerivedBlocks;

    fn open(store: &LogStore) -> DerivedBlocks {
        DerivedBlocks::words(store)
    }

    fn dir(store: &LogStore) -> PathBuf {
        store.cache_dir().join("words")
    }

    fn derive(store: &LogStore, conversation: &ConversationId, through: u64) {
        // Up to the first gap.
        let known = (1..).zip(found(store, conversation)).take_while(|(number, node)| number == node).count() as u64;
        let Some(nodes) = NodeRange::new(NodeId::new(known + 1).unwrap(), NodeId::new(through).unwrap()) else {
            return;
        };
        let words: String = nodes.iter().map(|node| word(conversation, node.get())).collect();
        let runs = [BlockRun::new(conversation.clone(), nodes)];
        assert!(block_on(BlockFiles::beside(store).write(WORDS, &runs, words.as_bytes(), &[])).unwrap());
    }

    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
        found(store, conversation)
    }

    fn bytes_of(conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        Some(word(conversation, node).into_bytes())
    }
}

/// A vector that no other node has.
fn vector(conversation: &ConversationId, node: u64) -> Vec<f32> {
    let seed = if conversation == &id("talk") { 0.25 } else { 0.75 };
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let components = [1.0, node as f32 * 0.125, seed, 0.5, 0.0];
    let length = components.iter().map(|component| component * component).sum::<f32>().sqrt();
    components.map(|component| component / length).to_vec()
}

pub(super) fn index(store: &LogStore, model: &str) -> AutoIndex {
    let options = AutoOptions::default().method(Method::Graph);
    AutoIndex::over(ExactIndex::beside(store, ModelId::new(model), DIMENSIONS), options)
}

/// Inserts the vectors of the nodes that the index lacks.
pub(super) fn insert(index: &AutoIndex, conversation: &ConversationId, through: u64) {
    for node in index.stats(conversation).through + 1..=through {
        let nodes = [(NodeId::new(node).unwrap(), vec![vector(conversation, node)])];
        block_on(index.insert(conversation, &nodes)).unwrap();
    }
}

pub(super) struct Vectors;

impl Kind for Vectors {
    type Files = DerivedFiles;

    fn dir(store: &LogStore) -> PathBuf {
        Self::open(store).dir()
    }

    fn open(store: &LogStore) -> DerivedFiles {
        DerivedFiles::vectors(store, None)
    }

    fn derive(store: &LogStore, conversation: &ConversationId, through: u64) {
        for model in ["toy/1", "toy/2"] {
            let index = index(store, model);
            insert(&index, conversation, through);
            block_on(index.flush()).unwrap();
        }
    }

    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
        let parts = [VectorPart::new(conversation)];
        let query = VectorQuery::new(&[1.0, 0.0, 0.0, 0.0, 0.0], usize::MAX, &parts);
        let hits = |model| block_on(index(store, model).search(&query)).unwrap().hits;
        ["toy/1", "toy/2"].into_iter().flat_map(hits).map(|hit| hit.slot.node.get()).collect()
    }

    fn bytes_of(conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        Some(vector(conversation, node).iter().flat_map(|component| component.to_le_bytes()).collect())
    }
}

pub(super) struct Graphs;

impl Kind for Graphs {
    type Files = DerivedFiles;

    fn dir(store: &LogStore) -> PathBuf {
        Self::open(store).dir()
    }

    fn open(store: &LogStore) -> DerivedFiles {
        DerivedFiles::graphs(store, None)
    }

    fn derive(store: &LogStore, conversation: &ConversationId, through: u64) {
        let index = index(store, "toy/1");
        insert(&index, conversation, through);
        block_on(index.flush()).unwrap();
        assert_eq!(index.build_graph(conversation, &()), through);
    }

    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
        let graphs = files(&Self::open(store).dir()).into_iter().filter_map(|(_, bytes)| GraphBinding::of_file(&bytes));
        let of_it = graphs.filter(|graph| graph.conversation == conversation.as_str());
        of_it.flat_map(|graph| 1..=graph.through).collect()
    }

    fn bytes_of(_: &ConversationId, _: u64) -> Option<Vec<u8>> {
        None
    }
}

pub(super) struct Tokens;

impl Tokens {
    fn index(store: &LogStore) -> QuantizedTokens {
        QuantizedTokens::beside(store, ModelId::new("toy/1"), DIMENSIONS, TokenBits::Eight)
    }

    /// A number that takes five bytes on disk, and that no other node has.
    fn token(conversation: &ConversationId, node: u64) -> u32 {
        let base = if conversation == &id("talk") { 0x5432_1000 } else { 0x6789_a000 };
        base + u32::try_from(node).unwrap()
    }
}

impl Kind for Tokens {
    type Files = DerivedFiles;

    fn dir(store: &LogStore) -> PathBuf {
        Self::open(store).dir()
    }

    fn open(store: &LogStore) -> DerivedFiles {
        DerivedFiles::tokens(store, None)
    }

    fn derive(store: &LogStore, conversation: &ConversationId, through: u64) {
        let index = Self::index(store);
        for node in index.stats(conversation).through + 1..=through {
            let ids = vec![Self::token(conversation, node)];
            let said = TokenVectors::new(ids, DIMENSIONS, vector(conversation, node)).unwrap();
            block_on(index.insert(conversation, &[(NodeId::new(node).unwrap(), said)])).unwrap();
        }
        block_on(index.flush()).unwrap();
    }

    fn found(store: &LogStore, conversation: &ConversationId) -> BTreeSet<u64> {
        let nodes: Vec<_> = (0..12).map(NodeId::from_index).collect();
        let question = TokenVectors::new(vec![1], DIMENSIONS, vector(conversation, 1)).unwrap();
        let parts = [TokenPart::new(conversation, &nodes)];
        let answer = block_on(Self::index(store).max_cosines(&question, &parts)).unwrap();
        (1..).zip(answer.max_cosines).filter(|(_, cosines)| cosines.is_some()).map(|(node, _)| node).collect()
    }

    fn bytes_of(conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        let token = Self::token(conversation, node);
        let group = |at: u32| u8::try_from(token >> (7 * at) & 0x7F).unwrap() | if at < 4 { 0x80 } else { 0 };
        Some((0..5).map(group).collect())
    }
}

/// The questions in the views of a store.
pub(super) struct Questions {
    dir: TempDir,
    store: Arc<LogStore>,
}

impl Questions {
    pub(super) fn new() -> Self {
        let (dir, store) = store();
        Self { dir, store }
    }

    fn question(conversation: &ConversationId, node: u64) -> String {
        format!("<question {node} of {conversation}>")
    }

    /// The views of a conversation.
    fn views(&self, conversation: &ConversationId) -> Vec<memory_core::view::View> {
        let last = ViewId::new(block_on(self.store.conversation(conversation)).unwrap().views);
        let views = last.map(|last| block_on(self.store.views(conversation, ViewId::FIRST, last)).unwrap());
        views.unwrap_or_default()
    }
}

impl DerivedUnderTest for Questions {
    fn open(&self) -> Arc<dyn Derived> {
        Arc::new(RecordedQuestions::of(Arc::<LogStore>::clone(&self.store)))
    }

    fn derive(&self, conversation: &ConversationId, through: u64) {
        for node in self.views(conversation).len() as u64 + 1..=through {
            let salt = [u8::try_from(node).unwrap() | if conversation == &id("talk") { 0x80 } else { 0 }; 16];
            let by = WrittenBy::new("suite", "1");
            let hash = text_hash(&salt, "text");
            let shown = memory_core::view::Shown::Messages(NodeRange::first_n(node).unwrap());
            let draft = ViewDraft::new(Timestamp::from_millis(0), node, 1, by, salt, hash)
                .question(Self::question(conversation, node))
                .history(vec![memory_core::view::ShownRun { shown, check: [0; 8] }]);
            block_on(self.store.record(conversation, vec![Event::View(Box::new(draft))])).unwrap();
        }
    }

    fn found(&self, conversation: &ConversationId) -> BTreeSet<u64> {
        self.views(conversation).iter().filter(|view| !view.body.question.is_empty()).map(|v| v.body.nodes).collect()
    }

    fn at_rest(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("log/0001.seg")).unwrap()
    }

    fn bytes_of(&self, conversation: &ConversationId, node: u64) -> Option<Vec<u8>> {
        Some(Self::question(conversation, node).into_bytes())
    }

    /// Bytes of the questions: the rest of the log is not theirs.
    fn flip(&self, nth: usize) -> bool {
        let mut bytes = self.at_rest();
        let is_begin = |at: &usize| bytes[*at..].starts_with(b"<question ");
        let begins = (0..bytes.len()).filter(is_begin);
        let of_questions =
            begins.flat_map(|begin| (begin + b"<question ".len()..).take_while(|at| bytes[*at] != b'>')).nth(nth);
        let Some(at) = of_questions else { return false };
        bytes[at] ^= 0x80;
        fs::write(self.dir.path().join("log/0001.seg"), bytes).unwrap();
        true
    }

    fn block_on<'a, T>(&self, future: BoxFuture<'a, T>) -> T {
        pollster::block_on(future)
    }
}
