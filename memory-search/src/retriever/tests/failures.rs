//! Models that reject texts and caches that fail: queries are still answered, and indexing reports what is missing.

use memory_core::{
    NodeSet,
    port::{EmbedError, VectorAnswer, VectorError, VectorIndexStats, VectorQuery},
};

use super::{
    fakes::{CountingStore, ExactIndex, WrongCount},
    *,
};

/// The model's error for texts that contain `BAD`.
type Refusal = fn() -> EmbedError;

fn refused() -> EmbedError {
    EmbedError::Backend { model: ModelId::new("hash/64"), source: "400: not a text".into() }
}

fn unreachable() -> EmbedError {
    EmbedError::Unreachable { model: ModelId::new("hash/64"), source: "no network".into() }
}

/// Rejects every call with a text that contains `BAD`, and counts the calls for documents.
#[derive(Debug)]
struct Choosy {
    embedder: HashEmbedder,
    refusal: Refusal,
    calls: AtomicU64,
}

impl Embedder for Choosy {
    fn model(&self) -> &ModelId {
        self.embedder.model()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if texts.iter().any(|text| text.contains("BAD")) {
            return Box::pin(async { Err((self.refusal)()) });
        }
        self.embedder.embed_documents(texts)
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        if text.contains("BAD") {
            return Box::pin(async { Err((self.refusal)()) });
        }
        self.embedder.embed_query(text)
    }
}

struct Setup {
    store: Arc<CountingStore>,
    embedder: Arc<Choosy>,
    index: Arc<ExactIndex>,
    retriever: HybridRetriever,
}

impl Setup {
    fn new(refusal: Refusal, said: &[&str]) -> Self {
        let store = Arc::new(CountingStore::default());
        say(&store, "talk", said);
        let embedder = Arc::new(Choosy { embedder: HashEmbedder::new(64), refusal, calls: AtomicU64::new(0) });
        let index = Arc::new(ExactIndex::of(&*embedder));
        let retriever = HybridRetriever::new(store.clone(), Some(embedder.clone()), Some(index.clone()));
        Self { store, embedder, index, retriever }
    }

    fn catch_up(&self) -> Result<IndexReport, RetrieveError> {
        pollster::block_on(self.retriever.catch_up(&id("talk"), &()))
    }

    /// How many calls of the model something takes.
    fn calls<T>(&self, of: impl FnOnce(&Self) -> T) -> (T, u64) {
        let before = self.embedder.calls.load(Ordering::Relaxed);
        let done = of(self);
        (done, self.embedder.calls.load(Ordering::Relaxed) - before)
    }

    fn vectors(&self) -> (u64, u64) {
        let stats = self.index.stats(&id("talk"));
        (stats.through, stats.vectors)
    }
}

fn has_cosines(found: &Retrieved) -> bool {
    found.hits.iter().any(|hit| hit.signals.iter().any(|signal| signal.name == "cosine"))
}

#[test]
fn a_model_that_fails_stops_no_question_and_is_an_error_when_indexing() {
    let embedder = Arc::new(WrongCount(HashEmbedder::new(64)));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let retriever = HybridRetriever::new(store(), Some(embedder), Some(index));
    let found = in_talk(&retriever, "QX-4471-93B");
    assert_eq!(nodes(&found)[0], 3);
    let expected = "recall is by words only: none of the 6 messages is embedded: new messages are not embedded: model \
                    hash/64 returned vectors of 0 texts for 1";
    assert_eq!(sentences(&found.notices), [expected]);
    assert_eq!(runs(&recall(&retriever, "QX-4471-93B", |_| ())), ["3"]);
    let error = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap_err();
    assert!(matches!(error, RetrieveError::Embed(EmbedError::BadOutput { .. })), "{error}");
}

#[test]
fn a_question_that_the_model_refuses_is_answered_by_words() {
    let setup = Setup::new(refused, &TALK);
    setup.catch_up().unwrap();
    let found = in_talk(&setup.retriever, "BAD QX-4471-93B");
    assert_eq!((nodes(&found)[0], has_cosines(&found)), (3, false));
    assert_eq!(sentences(&found.notices), ["recall is by words only: embedding with hash/64 failed: 400: not a text"]);
}

#[test]
fn a_refused_message_stops_neither_questions_nor_indexing() {
    let setup = Setup::new(refused, &TALK);
    setup.catch_up().unwrap();
    say(&setup.store, "talk", &["BAD bytes of the harpsichord"]);
    // The message is the only new one, so that it is not known yet whether the model rejects it or everything.
    let found = in_talk(&setup.retriever, "which booking for the hall?");
    assert_eq!((nodes(&found)[0], has_cosines(&found), setup.vectors()), (3, true, (6, 6)));
    assert_eq!(
        sentences(&found.notices),
        ["new messages are not embedded: embedding with hash/64 failed: 400: not a text"]
    );
    assert!(setup.catch_up().is_err());

    say(&setup.store, "talk", &["Is it tuned?"]);
    let found = in_talk(&setup.retriever, "which booking for the hall?");
    assert_eq!((nodes(&found)[0], setup.vectors()), (3, (8, 7)));
    let notice = "1 message is found by words alone: the model does not take node 7 (embedding with hash/64 failed: \
                  400: not a text)";
    assert_eq!(sentences(&found.notices), [notice]);
    let (found, calls) = setup.calls(|setup| in_talk(&setup.retriever, "harpsichord"));
    assert_eq!((nodes(&found)[0], calls), (7, 0), "by its words, and without asking again");
    assert_eq!(sentences(&found.notices), ["meaning counts for 7 of 8 messages only; the others have no vector"]);
}

#[test]
fn a_refused_message_costs_few_calls_and_its_batch_no_vector() {
    let mut said = vec!["fine"; 300];
    (said[100], said[101], said[299]) = ("BAD", "BAD", "BAD");
    let setup = Setup::new(refused, &said);
    let (report, calls) = setup.calls(|setup| setup.catch_up().unwrap());
    assert_eq!((report.words, report.embedded, setup.vectors()), (300, 297, (300, 297)));
    assert!(
        report.notices[0]
            .to_string()
            .starts_with("3 messages are found by words alone: the model does not take node 101 (")
    );
    // 256 texts with one rejected pair: nine bisections, and the other halves.
    assert!(calls < 40, "{calls}");
    assert_eq!(setup.calls(|setup| setup.catch_up().unwrap()), (IndexReport::default(), 0));
}

#[test]
fn a_model_that_refuses_everything_is_given_up_and_keeps_what_it_has() {
    let setup = Setup::new(refused, &["fine"; 256]);
    say(&setup.store, "talk", &["BAD"; 64]);
    let (error, calls) = setup.calls(|setup| setup.catch_up().unwrap_err());
    assert!(matches!(error, RetrieveError::Embed(EmbedError::Backend { .. })), "{error}");
    assert!(calls <= 65, "{calls}");
    assert_eq!((setup.vectors(), setup.index.unflushed()), ((256, 256), 0));
    let (found, calls) = setup.calls(|setup| in_talk(&setup.retriever, "fine"));
    assert!(calls <= 16 && has_cosines(&found), "{calls}");
}

#[test]
fn a_model_that_cannot_be_asked_is_asked_once() {
    let setup = Setup::new(unreachable, &["BAD"; 64]);
    let (report, calls) = setup.calls(|setup| setup.catch_up().unwrap());
    assert_eq!(sentences(&report.notices), ["new messages are not embedded: hash/64 cannot be asked: no network"]);
    assert_eq!((calls, setup.vectors()), (1, (0, 0)));
}

/// Searches its vectors and fails to write.
#[derive(Debug)]
struct FullDisk(ExactIndex);

impl VectorIndex for FullDisk {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn stats(&self, conversation: &ConversationId) -> VectorIndexStats {
        self.0.stats(conversation)
    }

    fn insert<'a>(
        &'a self,
        conversation: &'a ConversationId,
        nodes: &'a [(NodeId, Vec<Vec<f32>>)],
    ) -> BoxFuture<'a, Result<(), VectorError>> {
        self.0.insert(conversation, nodes)
    }

    fn remove<'a>(&'a self, id: &'a ConversationId, nodes: &'a NodeSet) -> BoxFuture<'a, Result<u64, VectorError>> {
        self.0.remove(id, nodes)
    }

    fn search<'a>(&'a self, query: &'a VectorQuery<'a>) -> BoxFuture<'a, Result<VectorAnswer, VectorError>> {
        self.0.search(query)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), VectorError>> {
        Box::pin(async { Err(VectorError::Backend { backend: "test", source: "disk full".into() }) })
    }
}

#[test]
fn a_cache_that_cannot_be_written_leaves_meaning_to_a_question() {
    let store = store();
    say(&store, "other", &TALK);
    let embedder = Arc::new(HashEmbedder::new(64));
    let index = Arc::new(FullDisk(ExactIndex::of(&*embedder)));
    let retriever = HybridRetriever::new(store.clone(), Some(embedder), Some(index));
    let found = search(&retriever, "which booking for the hall?", Scope::all(), 3);
    assert!(has_cosines(&found), "{found:?}");
    let notice = "what was embedded for this question is not kept: vector backend test failed: disk full";
    assert_eq!(sentences(&found.notices), [notice], "once, though neither of two conversations is kept");
    say(&store, "talk", &["The harpsichord was tuned."]);
    let error = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap_err();
    assert!(matches!(error, RetrieveError::Vectors(_)), "{error}");
}
