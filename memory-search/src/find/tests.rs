//! Tests of `find`.

use std::future::Future;

use memory_core::{Message, NodeDraft, Store, Timestamp, testing::MemoryStore};

use super::*;

fn conversation() -> ConversationId {
    ConversationId::new("c").unwrap()
}

fn store(texts: &[&str]) -> MemoryStore {
    let store = MemoryStore::default();
    let draft = |text: &&str| NodeDraft::new(Message::user(*text), Timestamp::from_millis(0), 1);
    pollster::block_on(store.append(&conversation(), texts.iter().map(draft).collect())).unwrap();
    store
}

fn find_in(texts: &[&str], pattern: &str, range: Option<(u64, u64)>, limit: usize) -> Result<Found, FindError> {
    let range = range.map(|(a, b)| NodeRange::new(NodeId::new(a).unwrap(), NodeId::new(b).unwrap()).unwrap());
    let request = FindRequest { conversation: &conversation(), owner: None, pattern, range, limit, max_time: None };
    pollster::block_on(find(&store(texts), &request))
}

fn nodes(found: &Found) -> Vec<u64> {
    found.matches.iter().map(|found| found.node.get()).collect()
}

#[test]
fn a_match_names_its_node_place_and_line() {
    let found = find_in(&["nothing", "first\nthe code is QX-4471, I think\nlast"], r"QX-\d+", None, 10).unwrap();
    let expected = Match {
        node: NodeId::new(2).unwrap(),
        span: 18..25,
        line: 2,
        before: "the code is ".to_owned(),
        matched: "QX-4471".to_owned(),
        after: ", I think".to_owned(),
    };
    assert_eq!(found, Found { matches: vec![expected], scanned: 2, ..Found::default() });
}

#[test]
fn a_range_bounds_the_search() {
    let texts = ["a", "a", "a", "a"];
    assert_eq!(nodes(&find_in(&texts, "a", Some((2, 3)), 10).unwrap()), [2, 3]);
    assert_eq!(nodes(&find_in(&texts, "a", Some((4, 99)), 10).unwrap()), [4]);
    let error = find_in(&texts, "a", Some((5, 9)), 10).unwrap_err();
    assert!(matches!(&error, FindError::Store(error) if error.is_not_found()), "{error}");
}

#[test]
fn more_is_said_only_when_there_is_more() {
    let texts = ["a a", "a"];
    assert_eq!(find_in(&texts, "a", None, 3).map(|found| (nodes(&found), found.more)).unwrap(), (vec![1, 1, 2], false));
    assert_eq!(find_in(&texts, "a", None, 2).map(|found| (nodes(&found), found.more)).unwrap(), (vec![1, 1], true));
    assert!(find_in(&texts, "a", None, 0).unwrap().more);
    assert!(!find_in(&texts, "b", None, 0).unwrap().more);
}

#[test]
fn a_long_conversation_is_read_piece_by_piece() {
    let mut texts = vec!["x"; usize::try_from(CHUNK).unwrap() * 2 + 1];
    *texts.last_mut().unwrap() = "needle";
    let found = find_in(&texts, "needle", None, 10).unwrap();
    assert_eq!((nodes(&found), found.scanned), (vec![CHUNK * 2 + 1], CHUNK * 2 + 1));
}

#[test]
fn lines_are_anchored_and_empty_matches_are_none() {
    assert_eq!(find_in(&["one\ntwo"], "^two$", None, 10).unwrap().matches.len(), 1);
    assert_eq!(find_in(&["one"], "z*", None, 10).unwrap().matches.len(), 0);
}

#[test]
fn long_surroundings_are_shortened_at_characters() {
    let text = format!("{}needle{}", "é".repeat(300), "日".repeat(300));
    let found = find_in(&[&text], "needle", None, 1).unwrap().matches.remove(0);
    assert_eq!(found.before, format!("…{}", "é".repeat(MAX_CONTEXT / 2)));
    assert_eq!(found.after, format!("{}…", "日".repeat(MAX_CONTEXT / 3)));
    let all = find_in(&["a\nb"], "(?s).+", None, 1).unwrap().matches.remove(0);
    assert_eq!((all.span, all.matched, all.after), (0..3, "a".to_owned(), String::new()));
}

#[test]
fn a_bad_pattern_says_what_is_wrong_with_it() {
    let error = find_in(&["a"], "a(b", None, 1).unwrap_err();
    assert!(error.to_string().contains("unclosed group"), "{error}");
    let error = find_in(&["a"], r"(\w{500}){500}", None, 1).unwrap_err();
    assert!(error.to_string().contains("size limit"), "{error}");
}

#[test]
fn an_unknown_conversation_is_not_found() {
    let request =
        FindRequest { conversation: &conversation(), owner: None, pattern: "a", range: None, limit: 1, max_time: None };
    let error = pollster::block_on(find(&MemoryStore::default(), &request)).unwrap_err();
    assert!(matches!(&error, FindError::Store(error) if error.is_not_found()), "{error}");
}

#[test]
fn lost_messages_are_passed_over_and_named() {
    let store = store(&["one QX-1", "two QX-2", "three QX-3"]);
    store.lose_node(&conversation(), NodeId::new(2).unwrap());
    let request = FindRequest {
        conversation: &conversation(),
        owner: None,
        pattern: r"QX-\d",
        range: None,
        limit: 10,
        max_time: None,
    };
    let found = pollster::block_on(find(&store, &request)).unwrap();
    assert_eq!((nodes(&found), found.scanned), (vec![1, 3], 2));
    assert!(found.losses.notice(&conversation()).unwrap().to_string().starts_with("node 2 of `c` cannot be read"));
}

fn find_for(text: &str, pattern: &str, max_time: Option<Duration>) -> Found {
    let request =
        FindRequest { conversation: &conversation(), owner: None, pattern, range: None, limit: usize::MAX, max_time };
    pollster::block_on(find(&store(&["before", text]), &request)).unwrap()
}

#[test]
fn a_long_message_has_the_matches_that_it_has_in_one_piece() {
    let line = "Straße 12, the code is QX-4471.\n";
    let text = line.repeat(2_200);
    for pattern in ["QX-[0-9]+", r"\bcode\b", "^Str", r"(?s)1\.\nS", "ß*", r"\d{2}, \w+|QX", "1.$"] {
        let whole = regex::RegexBuilder::new(pattern).multi_line(true).build().unwrap();
        let expected: Vec<_> =
            whole.find_iter(&text).map(|found| found.range()).filter(|span| !span.is_empty()).collect();
        let found: Vec<_> = find_for(&text, pattern, None).matches.into_iter().map(|found| found.span).collect();
        assert!(found == expected, "{pattern}: {} matches, not {}", found.len(), expected.len());
    }
}

#[test]
fn a_match_reaches_no_farther_than_it_may() {
    let text = format!("a{}z", "-".repeat(100 << 10));
    assert!(find_for(&text, "(?s)a.*z", None).matches.is_empty());
    let text = format!("a{}z", "-".repeat(60 << 10));
    assert_eq!(find_for(&text, "(?s)a.*z", None).matches.len(), 1);
}

#[test]
fn where_time_runs_out_the_answer_says_where() {
    let found = find_for("a", "[ae]", Some(Duration::ZERO));
    assert_eq!((found.stopped_at, found.scanned, found.left_out), (NodeId::new(2), 0, end_of(1, 2, 6)));
    assert_eq!(nodes(&found), [1]);
    // It scans the whole text again at each position: some 10^12 steps.
    let found = find_for(&"ab cd ".repeat(1 << 19), r"(?s)(a.*Z)?", Some(Duration::from_millis(20)));
    assert_eq!((found.stopped_at, found.scanned), (NodeId::new(2), 1));
}

fn end_of(node: u64, from: usize, length: usize) -> Option<LeftOut> {
    Some(LeftOut { node: NodeId::new(node).unwrap(), from, length })
}

#[test]
fn whoever_goes_on_where_time_ran_out_always_gets_ahead() {
    let heavy = "ab cd ".repeat(1 << 19);
    let store = store(&["x", &heavy, "x Z", "x"]);
    let conversation = conversation();
    let (mut from, mut stops, mut found) = (NodeId::FIRST, 0, Vec::new());
    let mut left_out = Vec::new();
    loop {
        let range = NodeRange::new(from, NodeId::new(4).unwrap());
        let max_time = Some(Duration::from_millis(200));
        // The second message takes some 10^12 steps.
        let pattern = r"(?s)x|^ab|(a.*Z)?";
        let request =
            FindRequest { conversation: &conversation, owner: None, pattern, range, limit: usize::MAX, max_time };
        let answer = pollster::block_on(find(&store, &request)).unwrap();
        found.extend(nodes(&answer));
        left_out.extend(answer.left_out);
        stops += 1;
        let Some(next) = answer.stopped_at else { break };
        assert!(next > from, "{next} after {from}");
        from = next;
    }
    assert_eq!(found, [1, 2, 3, 4]);
    assert!(stops <= 4, "{stops}");
    let heavy_end = left_out.iter().find(|end| end.node.get() == 2).unwrap();
    assert!(heavy_end.from > 0 && heavy_end.from < heavy.len() && heavy_end.length == heavy.len(), "{heavy_end:?}");
}

#[test]
fn the_worst_pattern_stops_about_when_it_is_to() {
    // Neither a literal nor a table of states helps: at every byte the engine follows thousands of states.
    let text: String = (0_u64..1 << 20).map(|at| if at * 7_919 % 13 < 6 { 'a' } else { 'b' }).collect();
    let pattern = r"(?:[ab]{0,9000}[ab]b)+\d";
    let max_time = Some(Duration::from_millis(100));
    let request =
        FindRequest { conversation: &conversation(), owner: None, pattern, range: None, limit: usize::MAX, max_time };
    let found = pollster::block_on(find(&store(&[&text]), &request)).unwrap();
    // On 64 KiB it takes some ten seconds before the deadline is checked.
    let end = found.left_out.unwrap();
    assert!(end.from < 64 << 10, "{end:?}");
}

#[test]
fn a_search_that_is_dropped_ends() {
    let texts = vec!["a"; 100];
    let store = store(&texts);
    let conversation = conversation();
    let request = FindRequest {
        conversation: &conversation,
        owner: None,
        pattern: "a",
        range: None,
        limit: usize::MAX,
        max_time: None,
    };
    let mut search = Box::pin(find(&store, &request));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    // It yields at least once per message, so that dropping it takes effect.
    let polls = (0..).take_while(|_| search.as_mut().poll(&mut context).is_pending()).count();
    assert!(polls >= 100, "{polls}");
}
