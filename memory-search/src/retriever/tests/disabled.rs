//! A disabled message changes no ranking, whatever it says.

use memory_core::{Disabling, Filter, NodeRange, port::Event};
use proptest::prelude::*;

use super::{
    fakes::{CountingEmbedder, MemoryBlocks},
    late::KeptTokens,
    *,
};

const WORDS: [&str; 8] = ["cello", "hall", "euros", "piano", "library", "Thursday", "room?", "booking"];
const SPEAKERS: [Option<&str>; 4] = [None, Some("Ann"), Some("Ben"), Some("Cleo")];
const QUESTION: &str = "Which hall has a piano for Ann, and for how many euros?";

/// A message: its words and its speaker.
type Said = (Vec<usize>, usize);

fn said() -> impl Strategy<Value = Said> {
    (prop::collection::vec(0..WORDS.len(), 1..6), 0..SPEAKERS.len())
}

fn message((words, speaker): &Said) -> Message {
    let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
    let message = if speaker % 2 == 0 { Message::user(text) } else { Message::assistant(text) };
    match SPEAKERS[*speaker] {
        Some(name) => message.speaker(name),
        None => message,
    }
}

fn change(store: &CountingStore, node: u64, is_disabled: bool) {
    let node = NodeRange::single(NodeId::new(node).unwrap());
    let change = Disabling::new(Timestamp::default(), is_disabled).nodes(vec![node]);
    pollster::block_on(store.record(&id("talk"), vec![Event::Disabled(Box::new(change))])).unwrap();
}

/// Retrievers by words, by vectors and by tokens, and one that chooses among many conversations; each of the first
/// three is asked before the message is disabled, too, so that its indexes hold it.
fn retrievers(store: &Arc<CountingStore>) -> Vec<HybridRetriever> {
    let embedder = Arc::new(CountingEmbedder::new(64));
    let tokens = KeptTokens::of(&*embedder);
    let late = HybridRetriever::new(store.clone(), Some(embedder.clone()), Some(Arc::new(ExactIndex::of(&*embedder))));
    let cache = Arc::new(MemoryBlocks::beside(store.clone()));
    let saved = by_words(store).word_cache(cache.clone());
    let choosing = by_words(store).word_cache(cache).rank_all_up_to(0);
    vec![by_words(store), hybrid(store).0, late.token_index(tokens), saved, choosing]
}

/// Everything that a search and a recall say.
fn answers(retriever: &HybridRetriever) -> String {
    let query = Query::new(QUESTION, Scope::all()).limit(9);
    let found = pollster::block_on(retriever.search(&query)).unwrap();
    let hits = found.hits.iter().map(|hit| {
        (hit.conversation.to_string(), hit.node.id.get(), hit.score.value, hit.relevance, format!("{:?}", hit.signals))
    });
    let recalled = recall(retriever, QUESTION, |request| request.limit = 4);
    format!("{:#?}\n{:#?}\n{:#?}", hits.collect::<Vec<_>>(), found.notices, runs(&recalled))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_disabled_message_influences_no_ranking(
        talk in prop::collection::vec(said(), 2..14),
        (one, other) in (said(), said()),
        at in any::<prop::sample::Index>(),
        is_indexed in any::<bool>(),
    ) {
        let at = at.index(talk.len());
        let all = [one, other].map(|of_disabled| {
            let store = Arc::new(CountingStore::default());
            for chat in 0..20 {
                say(&store, &format!("chat-{chat}"), &["The piano stands in the hall.", "It took many euros."]);
            }
            let messages = talk.iter().enumerate();
            append(&store, "talk", messages.map(|(n, said)| message(if n == at { &of_disabled } else { said })));
            let node = at as u64 + 1;
            let retrievers = retrievers(&store);
            if is_indexed {
                retrievers.iter().for_each(|retriever| drop(answers(retriever)));
            }
            change(&store, node, true);
            let answers: Vec<_> = retrievers.iter().map(answers).collect();
            let of_it = format!("\"talk\",\n        {node},");
            assert!(answers.iter().all(|answer| !answer.contains(&of_it)), "{answers:?}");
            answers
        });
        for (one, other) in all[0].iter().zip(&all[1]) {
            prop_assert_eq!(one, other);
        }
    }
}

#[test]
fn an_enabled_message_is_found_as_before_even_where_it_was_indexed_while_disabled() {
    let store = store();
    let query = || Query::new("QX-4471-93B", Scope::all()).limit(3);
    let search = |retriever: &HybridRetriever, query| nodes(&pollster::block_on(retriever.search(&query)).unwrap());
    change(&store, 3, true);
    let detector = Arc::new(NoKeys);
    for retriever in retrievers(&store).into_iter().map(|retriever| retriever.detector(detector.clone())) {
        assert!(!search(&retriever, query()).contains(&3));
        assert_eq!(search(&retriever, query().filter(Filter::default().disabled(true)))[0], 3);
        change(&store, 3, false);
        assert_eq!(search(&retriever, query())[0], 3);
        change(&store, 3, true);
    }
}

/// Finds nothing.
#[derive(Debug)]
struct NoKeys;

impl Detector for NoKeys {
    fn find(&self, _: &str) -> Vec<memory_core::port::Finding> {
        Vec::new()
    }

    fn placeholder(&self, _: memory_core::port::Sensitive, _: &str) -> String {
        String::new()
    }
}
