//! Tests of the retriever against fakes of the other ports.

mod archive;
mod backlog;
mod budget;
mod disabled;
mod failures;
mod fakes;
mod filter;
mod kinds;
mod large;
mod large_scope;
mod late;
mod losses;
mod owners;
mod reads;
mod relevance;
mod several;
mod word_cache;
mod worth;

use std::sync::atomic::{AtomicU64, Ordering};

use memory_core::{
    ContentBlock, Json, Message, ModelId, NodeDraft, Role, Timestamp,
    port::Store,
    testing::{HashEmbedder, MemoryStore},
};

use self::fakes::{CountingStore, ExactIndex, FailingIndex, FewChunks, NoModel};
use super::*;

const TALK: [&str; 6] = [
    "I moved the rehearsal to Thursday.",
    "Good, then I can bring the cello.",
    "The hall costs 4,200 euros a night, booking QX-4471-93B.",
    "That is more than last year!",
    "Shall we ask the library instead?",
    "Their room has no piano.",
];

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn append(store: &MemoryStore, conversation: &str, messages: impl IntoIterator<Item = Message>) {
    let draft = |message: Message| NodeDraft::new(message, Timestamp::from_millis(0), 10);
    pollster::block_on(store.append(&id(conversation), messages.into_iter().map(draft).collect())).unwrap();
}

fn say(store: &MemoryStore, conversation: &str, texts: &[&str]) {
    append(store, conversation, texts.iter().map(|text| Message::user(*text)));
}

fn store() -> Arc<CountingStore> {
    let store = Arc::new(CountingStore::default());
    say(&store, "talk", &TALK);
    store
}

fn by_words(store: &Arc<CountingStore>) -> HybridRetriever {
    HybridRetriever::new(store.clone(), None, None)
}

fn hybrid(store: &Arc<CountingStore>) -> (HybridRetriever, Arc<ExactIndex>) {
    let embedder = Arc::new(HashEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    (HybridRetriever::new(store.clone(), Some(embedder), Some(index.clone())), index)
}

fn search(retriever: &HybridRetriever, text: &str, scope: Scope, limit: usize) -> Retrieved {
    pollster::block_on(retriever.search(&Query::new(text, scope).limit(limit))).unwrap()
}

fn in_talk(retriever: &HybridRetriever, text: &str) -> Retrieved {
    search(retriever, text, Scope::one(&id("talk")), 3)
}

fn sentences(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(Notice::to_string).collect()
}

fn nodes(found: &Retrieved) -> Vec<u64> {
    found.hits.iter().map(|hit| hit.node.id.get()).collect()
}

fn recall(retriever: &HybridRetriever, question: &str, change: impl FnOnce(&mut RecallRequest)) -> Recall {
    let mut request = RecallRequest::new(question, &id("talk"), 1_000).per_message(8).limit(1);
    change(&mut request);
    pollster::block_on(retriever.recall(&request)).unwrap()
}

fn runs(recall: &Recall) -> Vec<String> {
    recall.excerpts.iter().map(|excerpt| excerpt.nodes.to_string()).collect()
}

#[test]
fn a_reference_is_found_by_words_and_by_both() {
    let store = store();
    for retriever in [by_words(&store), hybrid(&store).0] {
        for question in ["QX-4471-93B", "what was booking 4471?", "who pays the 4200 euros"] {
            assert_eq!(nodes(&in_talk(&retriever, question)).first(), Some(&3), "{question}");
        }
    }
}

#[test]
fn what_was_appended_before_the_call_is_found() {
    let store = store();
    let (retriever, index) = hybrid(&store);
    in_talk(&retriever, "cello");
    say(&store, "talk", &["The harpsichord was tuned."]);
    assert_eq!(nodes(&in_talk(&retriever, "harpsichord")).first(), Some(&7));
    assert_eq!(index.stats(&id("talk")).through, 7);
}

#[test]
fn a_message_is_read_from_the_store_once_for_words() {
    let store = store();
    let retriever = by_words(&store);
    let for_words = |question| search(&retriever, question, Scope::one(&id("talk")), 0);
    for_words("cello");
    assert_eq!(store.nodes_read(), 6);
    for_words("piano");
    assert_eq!(store.nodes_read(), 6);
}

#[test]
fn an_answer_by_words_says_so_in_one_line() {
    let store = store();
    let check = |embedder: Option<Arc<dyn Embedder>>, index: Option<Arc<dyn VectorIndex>>, expected: &str| {
        let found = in_talk(&HybridRetriever::new(store.clone(), embedder, index), "QX-4471-93B");
        assert_eq!(nodes(&found).first(), Some(&3));
        assert_eq!(sentences(&found.notices), [format!("recall is by words only: {expected}")]);
    };
    let embedder = || Arc::new(HashEmbedder::new(64));
    check(None, None, "no embedding model is set up");
    check(Some(embedder()), None, "no vector index is set up");
    check(
        Some(Arc::new(NoModel(ModelId::new("hash/64")))),
        Some(Arc::new(ExactIndex::of(&*embedder()))),
        "the model is missing: fetch it",
    );
    check(
        Some(embedder()),
        Some(Arc::new(ExactIndex::of(&HashEmbedder::new(32)))),
        "the index holds vectors of hash/32 with 32 dimensions, the embedding model is hash/64 with 64",
    );
    check(
        Some(embedder()),
        Some(Arc::new(FailingIndex(ModelId::new("hash/64")))),
        "the vector index failed (vector backend test failed)",
    );
}

#[test]
fn meaning_finds_what_words_do_not() {
    let store = Arc::new(CountingStore::default());
    say(&store, "talk", &["alpha", "beta", "gamma"]);
    let embedder = Arc::new(FewChunks::new([("alpha", vec![0.0]), ("beta", vec![90.0]), ("gamma", vec![180.0])], 80.0));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let retriever = HybridRetriever::new(store, Some(embedder), Some(index));
    let found = in_talk(&retriever, "delta");
    assert_eq!(nodes(&found), [2, 1]);
    assert!(found.hits[0].signals[0].name.starts_with("cosine"), "{found:?}");
    assert!(found.notices.is_empty());
}

#[test]
fn a_long_message_counts_by_its_first_and_its_best_chunk() {
    let store = Arc::new(CountingStore::default());
    say(&store, "talk", &["alpha", "beta", "gamma"]);
    let angles = [("alpha", vec![60.0, 0.0]), ("beta", vec![0.0, 60.0]), ("gamma", vec![30.0])];
    let embedder = Arc::new(FewChunks::new(angles, 0.0));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let found = in_talk(&HybridRetriever::new(store, Some(embedder), Some(index)), "delta");
    assert_eq!(nodes(&found), [2, 3]);
    // The first chunk of alpha is 60 degrees off and its best one hits: their mean is the lowest of the three, from
    // which all are measured.
    let lowest = f32::midpoint(60f32.to_radians().cos(), 1.0);
    let cosine = |hit: usize| found.hits[hit].signals.iter().find(|signal| signal.name == "cosine").unwrap().value;
    let expected = (30f32.to_radians().cos() - lowest) / (1.0 - lowest);
    assert!((cosine(0) - 1.0).abs() < 1e-6 && (cosine(1) - expected).abs() < 1e-6);
}

#[test]
fn hits_say_why_the_heaviest_signal_first() {
    let store = store();
    for hit in in_talk(&hybrid(&store).0, "which booking for the hall?").hits {
        let sum: f32 = hit.signals.iter().map(|signal| signal.share).sum();
        assert!((sum - hit.score.value).abs() < 1e-5);
        assert!(hit.signals.windows(2).all(|pair| pair[0].share >= pair[1].share));
        assert!(hit.signals.iter().any(|signal| signal.name == "cosine") && hit.signals.len() > 10);
    }
}

#[test]
fn the_order_of_equal_scores_is_fixed() {
    let store = Arc::new(CountingStore::default());
    for conversation in ["b", "a"] {
        say(&store, conversation, &["same", "same", "same"]);
    }
    let (retriever, _) = hybrid(&store);
    let scope = || Scope::only(vec![id("b"), id("a"), id("b")]);
    let found = search(&retriever, "same", scope(), 10);
    let places: Vec<_> = found.hits.iter().map(|hit| format!("{}{}", hit.conversation, hit.node.id)).collect();
    assert_eq!(places, ["a2", "b2", "a3", "b3", "a1", "b1"]);
    assert_eq!(search(&retriever, "same", scope(), 10).hits, found.hits);
}

#[test]
fn scores_of_several_conversations_compare() {
    let store = store();
    say(&store, "other", &["We talked about the hall.", "Nothing else.", "The weather was fine."]);
    say(&store, "empty", &[]);
    let (retriever, _) = hybrid(&store);
    let found = search(&retriever, "booking of the hall for 4,200 euros", Scope::all(), 20);
    let place = |hit: &memory_core::port::Hit| format!("{}/{}", hit.conversation, hit.node.id);
    assert_eq!(place(&found.hits[0]), "talk/3");
    let other = found.hits.iter().find(|hit| place(hit) == "other/1").unwrap();
    assert!(other.score.value < 0.7 * found.hits[0].score.value, "the best of a conversation is not best of all");
    assert!(other.score.value > 0.1);
}

#[test]
fn an_unknown_conversation_is_not_found() {
    let query = Query::new("x", Scope::one(&id("tlak")));
    let error = pollster::block_on(by_words(&store()).search(&query)).unwrap_err();
    assert_eq!(error.to_string(), "no conversation `tlak`; nearest: `talk`");
}

#[test]
fn an_empty_question_and_an_empty_conversation_give_nothing() {
    let store = store();
    append(&store, "empty", []);
    let retriever = by_words(&store);
    assert_eq!(in_talk(&retriever, " \n").notices, [Notice::EmptyQuestion]);
    assert_eq!(recall(&retriever, "", |_| ()).notices, [Notice::EmptyQuestion]);
    assert_eq!(in_talk(&retriever, "?!").hits, []);
    assert_eq!(search(&retriever, "hall", Scope::only(Vec::new()), 3).hits, []);
    assert_eq!(search(&retriever, "hall", Scope::one(&id("talk")), 0).hits, []);
}

#[test]
fn stop_words_alone_find_what_holds_them() {
    let store = Arc::new(CountingStore::default());
    say(&store, "talk", &["to be or not to be", "hello"]);
    assert_eq!(nodes(&in_talk(&by_words(&store), "To be, or not to be?"))[0], 1);
}

#[test]
fn a_pasted_page_finds_what_is_rare_in_it() {
    let store = store();
    let fillers: Vec<_> = (0..200).map(|n| format!("filler{n}")).collect();
    for _ in 0..3 {
        say(&store, "talk", &[&fillers.join(" ")]);
    }
    let page = format!("{} piano {}", fillers.join(" "), fillers.join(" "));
    let found = search(&by_words(&store), &page, Scope::one(&id("talk")), 20);
    let piano = found.hits.iter().find(|hit| hit.node.id.get() == 6).unwrap();
    assert!(piano.signals.iter().any(|signal| signal.name == "words" && signal.value > 0.0), "{piano:?}");
}

#[test]
fn recall_leaves_out_what_is_shown() {
    let store = store();
    let retriever = by_words(&store);
    let question = "booking of the hall at the library";
    assert_eq!(runs(&recall(&retriever, question, |_| ())), ["3"]);
    let shown = vec![NodeRange::first_n(4).unwrap()];
    assert_eq!(runs(&recall(&retriever, question, |request| request.shown = shown)), ["5"]);
}

#[test]
fn recall_shows_excerpts_in_order_of_time_with_their_hits() {
    let recall = recall(&by_words(&store()), "which cello for the booking, and the piano?", |request| {
        request.limit = 9;
        request.radius = 1;
        request.max_tokens = 18 * 5;
    });
    let nodes: Vec<_> = recall.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter()).collect();
    assert!(nodes.is_sorted() && nodes.len() == 5, "{nodes:?}");
    for excerpt in &recall.excerpts {
        assert!(excerpt.hits.iter().all(|hit| excerpt.nodes.contains(hit.node.id)));
        assert!(excerpt.hits.windows(2).all(|pair| pair[0].score.value >= pair[1].score.value));
    }
}

#[test]
fn recall_says_when_the_best_hit_cannot_fit() {
    let recall = recall(&by_words(&store()), "cello", |request| request.max_tokens = 17);
    assert_eq!(recall.excerpts, []);
    assert_eq!(recall.notices[1].to_string(), "the best hit, node 2, is left out: it costs 18 tokens of 17");
}

#[test]
fn recall_keeps_a_tool_call_with_its_result() {
    let store = Arc::new(CountingStore::default());
    let call = ContentBlock::ToolUse { id: "t".into(), name: "measure".into(), input: Json::new("{}").unwrap() };
    let result = ContentBlock::ToolResult {
        tool_use_id: "t".into(),
        content: vec![ContentBlock::Text("41 degrees".into())],
        is_error: false,
    };
    append(
        &store,
        "talk",
        [
            Message::user("How warm is it?"),
            Message::new(Role::Assistant, vec![call]),
            Message::new(Role::Tool, vec![result]),
            Message::assistant("Warm."),
        ],
    );
    let retriever = by_words(&store);
    assert_eq!(runs(&recall(&retriever, "degrees", |_| ())), ["2-3"]);
    assert_eq!(runs(&recall(&retriever, "measure", |_| ())), ["2-3"]);
}

#[derive(Debug, Default)]
struct LastReport {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress for LastReport {
    fn report(&self, done: u64, total: u64) {
        assert!(done > self.done.swap(done, Ordering::Relaxed) && done <= total);
        self.total.store(total, Ordering::Relaxed);
    }
}

#[test]
fn catching_up_reports_what_it_did() {
    let store = Arc::new(CountingStore::default());
    let texts: Vec<_> = (0..600).map(|n| format!("message {n}")).collect();
    say(&store, "talk", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let (retriever, index) = hybrid(&store);
    let progress = LastReport::default();
    let report = pollster::block_on(retriever.catch_up(&id("talk"), &progress)).unwrap();
    assert_eq!(report, IndexReport::default().words(600).embedded(600));
    assert_eq!((progress.done.into_inner(), progress.total.into_inner()), (1_200, 1_200));
    assert_eq!((index.stats(&id("talk")).through, index.unflushed()), (600, 0));
    let again = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    assert_eq!(again, IndexReport::default());
}

#[test]
fn catching_up_without_a_model_does_what_it_can() {
    let report = pollster::block_on(by_words(&store()).catch_up(&id("talk"), &())).unwrap();
    assert_eq!((report.words, report.embedded, report.notices.len()), (6, 0, 1));
}

#[test]
fn catching_up_fails_where_the_index_does() {
    let index = FailingIndex(ModelId::new("hash/64"));
    let retriever = HybridRetriever::new(store(), Some(Arc::new(HashEmbedder::new(64))), Some(Arc::new(index)));
    let error = pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap_err();
    assert!(matches!(error, RetrieveError::Vectors(_)), "{error}");
}

#[test]
fn callers_at_the_same_time_embed_each_message_once() {
    let store = store();
    let embedder = Arc::new(fakes::CountingEmbedder::new(64));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let retriever = HybridRetriever::new(store, Some(embedder.clone()), Some(index));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(nodes(&in_talk(&retriever, "QX-4471-93B"))[0], 3));
        }
    });
    assert_eq!(embedder.texts(), 6);
}
