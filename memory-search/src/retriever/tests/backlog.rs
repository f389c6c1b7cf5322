//! Tests of how a query treats messages that have no vector yet.

use super::{
    fakes::{CountingEmbedder, CountingStore, ExactIndex, FewChunks},
    late::KeptTokens,
    *,
};
use crate::semantic::{MAX_BACKLOG_PIECES, MAX_QUESTION_BYTES, PIECE_BYTES};

const INDEX_FIRST: &str = "index the rest first (`memory index` does it)";

/// A retriever over a store, and how many texts it has embedded.
struct Counted {
    store: Arc<CountingStore>,
    embedder: Arc<CountingEmbedder>,
    retriever: HybridRetriever,
}

impl Counted {
    fn new() -> Self {
        let store = Arc::new(CountingStore::default());
        let embedder = Arc::new(CountingEmbedder::new(64));
        let index = Arc::new(ExactIndex::of(&*embedder));
        let retriever = HybridRetriever::new(store.clone(), Some(embedder.clone()), Some(index));
        Self { store, embedder, retriever }
    }

    fn say_many(&self, conversation: &str, count: u64) {
        append(&self.store, conversation, (0..count).map(|n| Message::user(format!("remark {n}"))));
    }

    fn catch_up(&self, conversation: &str) {
        pollster::block_on(self.retriever.catch_up(&id(conversation), &())).unwrap();
    }

    /// Results from all conversations, and how many texts were embedded for them.
    fn ask(&self, text: &str) -> (Retrieved, u64) {
        let before = self.embedder.texts();
        let found = search(&self.retriever, text, Scope::all(), 5);
        (found, self.embedder.texts() - before)
    }
}

fn by_words_only(messages: u64) -> String {
    format!("recall is by words only: none of the {messages} messages is embedded; {INDEX_FIRST}")
}

#[test]
fn a_message_of_any_length_is_embedded_in_bounded_pieces_and_by_no_question() {
    for with_tokens in [false, true] {
        let counted = Counted::new();
        let tokens = KeptTokens::of(&*counted.embedder);
        let retriever = if with_tokens { counted.retriever.token_index(tokens) } else { counted.retriever };
        let words = (0..60_000).map(|word| format!("w{word} ")).collect::<String>();
        say(&counted.store, "talk", &["The hall is booked.", &format!("{words}harpsichord {}", "x".repeat(900_000))]);
        let found = search(&retriever, "harpsichord", Scope::all(), 1);
        assert_eq!((nodes(&found), counted.embedder.texts()), (vec![2], 0), "found by words, and nothing waited for");
        assert_eq!(sentences(&found.notices), [by_words_only(2)]);
        pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
        let most = counted.embedder.most_bytes();
        assert!((64 << 10..=128 << 10).contains(&most), "{most} bytes at once");
        let found = search(&retriever, "harpsichord", Scope::all(), 1);
        assert_eq!((nodes(&found), sentences(&found.notices)), (vec![2], vec![]));
    }
}

#[test]
fn a_question_embeds_no_large_backlog() {
    let counted = Counted::new();
    counted.say_many("talk", MAX_BACKLOG_PIECES);
    say(&counted.store, "talk", &["The hall is booked."]);
    for _ in 0..2 {
        let (found, embedded) = counted.ask("who booked the hall?");
        assert_eq!((nodes(&found)[0], embedded), (MAX_BACKLOG_PIECES + 1, 0));
        assert_eq!(sentences(&found.notices), [by_words_only(MAX_BACKLOG_PIECES + 1)]);
    }
    let recalled = recall(&counted.retriever, "who booked the hall?", |_| ());
    assert_eq!(sentences(&recalled.notices), [by_words_only(MAX_BACKLOG_PIECES + 1)]);
    assert_eq!(counted.embedder.texts(), 0);
}

#[test]
fn a_huge_message_stalls_no_question() {
    let counted = Counted::new();
    say(&counted.store, "talk", &TALK);
    counted.catch_up("talk");
    say(&counted.store, "talk", &[&"harpsichord ".repeat((2 << 20) / 12), "Is it tuned?"]);
    let (found, embedded) = counted.ask("which harpsichord?");
    assert!(nodes(&found)[..3].contains(&7), "{found:?}");
    assert_eq!(embedded, 0);
    assert_eq!(sentences(&found.notices), [format!("meaning counts for 6 of 8 messages only; {INDEX_FIRST}")]);
}

#[test]
fn a_question_embeds_as_much_text_as_it_may_and_no_byte_more() {
    for (over, expected) in [(0, 2), (1, 0)] {
        let counted = Counted::new();
        let half = 32 * PIECE_BYTES - "user: ".len();
        say(&counted.store, "a", &[&"x".repeat(half)]);
        say(&counted.store, "b", &[&"x".repeat(half + over)]);
        assert_eq!(counted.ask("xylophone").1, expected);
    }
}

#[test]
fn a_question_embeds_what_was_appended_since_the_last() {
    let counted = Counted::new();
    counted.say_many("talk", 300);
    counted.catch_up("talk");
    counted.say_many("talk", MAX_BACKLOG_PIECES);
    let (found, embedded) = counted.ask("remark 7");
    assert_eq!((embedded, found.notices), (MAX_BACKLOG_PIECES, Vec::new()));
    assert_eq!(counted.ask("remark 8").1, 0);
}

#[test]
fn a_backlog_is_that_of_all_that_is_searched_and_has_one_notice() {
    let counted = Counted::new();
    for conversation in ["a", "b", "c"] {
        counted.say_many(conversation, MAX_BACKLOG_PIECES / 2);
    }
    let (found, embedded) = counted.ask("remark 7");
    assert_eq!((embedded, sentences(&found.notices)), (0, vec![by_words_only(MAX_BACKLOG_PIECES / 2 * 3)]));
    let found = search(&counted.retriever, "remark 7", Scope::one(&id("a")), 5);
    assert!(found.notices.is_empty());
    assert_eq!(counted.embedder.texts(), MAX_BACKLOG_PIECES / 2);
}

#[test]
fn a_message_without_a_vector_keeps_its_place_by_words() {
    let counted = Counted::new();
    say(&counted.store, "talk", &["The piano is locked.", "Who has the key?", "Nobody knows."]);
    counted.say_many("talk", 200);
    counted.catch_up("talk");
    counted.say_many("talk", 200);
    say(&counted.store, "talk", &["The piano is locked.", "Who has the key?", "Nobody knows."]);
    let (found, embedded) = counted.ask("the piano is locked");
    assert_eq!((embedded, found.notices.len()), (0, 1));
    let mut places = nodes(&found)[..2].to_vec();
    places.sort_unstable();
    assert_eq!(places, [1, 404], "the same words come first, with a vector and without");
    for hit in &found.hits {
        let sum: f32 = hit.signals.iter().map(|signal| signal.share).sum();
        assert!((sum - hit.score.value).abs() < 1e-5);
        assert_eq!(hit.signals.iter().any(|signal| signal.name == "cosine"), hit.node.id.get() <= 203);
    }
}

#[test]
fn few_vectors_do_not_outweigh_the_words_of_many() {
    let store = Arc::new(CountingStore::default());
    let embedder = Arc::new(FewChunks::new([("eat", vec![80.0])], 0.0));
    let index = Arc::new(ExactIndex::of(&*embedder));
    let retriever = HybridRetriever::new(store.clone(), Some(embedder), Some(index));
    say(&store, "talk", &["Shall we eat"]);
    pollster::block_on(retriever.catch_up(&id("talk"), &())).unwrap();
    say(&store, "talk", &["So it is."; 100]);
    say(&store, "talk", &["The hall costs 4,200 euros a night.", "Dear!", "Good night, Maya.", "Good night, Omar."]);
    let found = search(&retriever, "what does the hall cost in euros a night?", Scope::all(), 9);
    let place = |wanted| nodes(&found).iter().position(|&node| node == wanted);
    assert_eq!(place(102), Some(0));
    assert!(place(105).unwrap() < place(1).unwrap_or(usize::MAX), "the only vector is near nothing: {found:?}");
}

#[test]
fn what_was_caught_up_beforehand_answers_as_what_a_question_embeds() {
    let (beforehand, asked) = (Counted::new(), Counted::new());
    for counted in [&beforehand, &asked] {
        say(&counted.store, "talk", &TALK);
    }
    beforehand.catch_up("talk");
    let question = "which booking for the hall?";
    let (found, embedded) = beforehand.ask(question);
    let other = asked.ask(question).0;
    assert_eq!((found.hits, found.notices, embedded), (other.hits, other.notices, 0));
}

#[test]
fn a_huge_question_is_embedded_by_its_ends() {
    let counted = Counted::new();
    say(&counted.store, "talk", &TALK);
    for filler in ["filler ", "füller "] {
        let question = format!("Where is the cello? {} Where is it?", filler.repeat(300_000));
        let (found, _) = counted.ask(&question);
        assert!(nodes(&found)[..2].contains(&2), "{found:?}");
        let bytes = usize::try_from(counted.embedder.question_bytes()).unwrap();
        assert!((MAX_QUESTION_BYTES - 8..=MAX_QUESTION_BYTES).contains(&bytes), "{bytes}");
    }
}
