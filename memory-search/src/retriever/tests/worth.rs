//! Tests of early stopping, and of questions with their answers.

use super::*;

/// Two people's talk of many things, with one exchange about the question.
fn chat() -> Arc<CountingStore> {
    let store = Arc::new(CountingStore::default());
    let names = ["Maya", "Tom"];
    let remark = |n: usize| match n {
        40 => "Which hall did you book for the concert?".to_owned(),
        41 => "The Atrium, for two nights.".to_owned(),
        n => format!("We talked of matter {n}, and of the concert of year {n}."),
    };
    append(&store, "talk", (0..80).map(|n| Message::user(remark(n)).speaker(names[n % 2])));
    store
}

const QUESTION: &str = "Which of the halls was booked for the concert in spring?";

fn recalled(store: &Arc<CountingStore>, change: impl FnOnce(&mut RecallRequest)) -> Recall {
    recall(&by_words(store), QUESTION, |request| {
        (request.limit, request.max_tokens) = (RecallRequest::LIMIT, 900);
        change(request);
    })
}

fn shown(recall: &Recall) -> Vec<u64> {
    recall.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter()).map(NodeId::get).collect()
}

#[test]
fn a_question_that_is_found_is_recalled_with_its_answer() {
    let store = chat();
    let only_best = recalled(&store, |request| request.limit = 1);
    assert_eq!(runs(&only_best), ["41-42"], "the answer has no word of the question");
    let best: Vec<_> = only_best.excerpts[0].hits.iter().map(|hit| hit.node.id.get()).collect();
    assert_eq!(best, [41], "what comes along is no hit");
    let answer = recall(&by_words(&store), "Who said Atrium for two nights?", |request| request.max_tokens = 900);
    assert_eq!(runs(&answer), ["41-42"]);
    let dear = recalled(&store, |request| (request.limit, request.max_tokens) = (1, 500));
    assert_eq!(runs(&dear), ["41-42"], "18 tokens are more than a 50th of 500, and are left");
    let full = recalled(&store, |request| (request.limit, request.max_tokens) = (1, 30));
    assert_eq!(runs(&full), ["41"], "18 tokens are not left");
}

#[test]
fn recall_stops_where_hits_are_not_worth_their_tokens() {
    let store = chat();
    let filled = recalled(&store, |request| request.stop_early = false);
    assert!(filled.tokens > 900 - 18 && filled.not_worth.is_none(), "{filled:?}");
    assert!(filled.no_room.is_some_and(|held| held.hits > 10), "{filled:?}");
    let early = recalled(&store, |_| ());
    assert!(early.tokens < filled.tokens, "{} tokens", early.tokens);
    assert!(shown(&early).contains(&41) && shown(&early).contains(&42));
    let held = early.not_worth.unwrap();
    let least = early.excerpts.iter().flat_map(|excerpt| &excerpt.hits).map(|hit| hit.score.value);
    assert!(held.best.value <= least.fold(f32::INFINITY, f32::min), "of messages of one length the worst are left out");
    let more = recalled(&store, |request| request.max_tokens = 10_000);
    assert!(
        more.not_worth.map_or(0, |held| held.hits) < held.hits,
        "the more room there is, the less tokens are worth"
    );
    assert_eq!(more.no_room, None);
}

#[test]
fn recall_says_what_it_spent() {
    let store = chat();
    for max_tokens in (0..2_000).step_by(97) {
        for stop_early in [false, true] {
            let recall = recalled(&store, |request| {
                (request.max_tokens, request.stop_early) = (max_tokens, stop_early);
            });
            assert_eq!(recall.tokens, 18 * shown(&recall).len() as u64);
            assert!(recall.tokens <= u64::from(max_tokens));
            let hits: usize = recall.excerpts.iter().map(|excerpt| excerpt.hits.len()).sum();
            let held = [recall.not_worth, recall.no_room].into_iter().flatten().map(|held| held.hits).sum::<usize>();
            let all = search(&by_words(&store), QUESTION, Scope::one(&id("talk")), RecallRequest::LIMIT);
            assert_eq!(hits + held, all.hits.len(), "every hit is shown or held back");
        }
    }
}

#[test]
fn what_is_too_large_for_the_budget_keeps_nothing_else_back() {
    let store = chat();
    let page = NodeDraft::new(
        Message::user("The hall booked for the concert is the Atrium. ".repeat(9)).speaker("Maya"),
        Timestamp::from_millis(0),
        900,
    );
    pollster::block_on(store.append(&id("talk"), vec![page])).unwrap();
    let recall = recalled(&store, |_| ());
    assert!(shown(&recall).contains(&41), "{recall:?}");
    assert!(
        sentences(&recall.notices).iter().any(|notice| notice.contains("node 81, is left out")),
        "{:?}",
        recall.notices
    );
}
