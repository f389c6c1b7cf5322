//! Tests of `find`.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use memory_core::{Message, NodeDraft, OwnerId, Timestamp, port::Store, testing::MemoryStore};

use super::*;

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn conversation() -> ConversationId {
    id("c")
}

fn here() -> Scope {
    Scope::one(&conversation())
}

fn append(store: &MemoryStore, owner: Option<&OwnerId>, to: &str, texts: &[&str]) {
    let draft = |text: &&str| NodeDraft::new(Message::user(*text), Timestamp::from_millis(0), 1);
    pollster::block_on(store.append_for(owner, &id(to), texts.iter().map(draft).collect())).unwrap();
}

fn store(texts: &[&str]) -> MemoryStore {
    let store = MemoryStore::default();
    append(&store, None, "c", texts);
    store
}

fn run(store: &MemoryStore, request: &FindRequest) -> Result<Found, FindError> {
    pollster::block_on(find(store, request))
}

fn find_in(texts: &[&str], pattern: &str, range: Option<(u64, u64)>, limit: usize) -> Result<Found, FindError> {
    let range = range.map(|(a, b)| NodeRange::new(NodeId::new(a).unwrap(), NodeId::new(b).unwrap()).unwrap());
    run(&store(texts), &FindRequest::new(pattern, here()).range(range).limit(limit))
}

/// The conversation and node of each match.
fn places(found: &Found) -> Vec<(&str, u64)> {
    found.matches.iter().map(|found| (found.conversation.as_str(), found.node.get())).collect()
}

fn nodes(found: &Found) -> Vec<u64> {
    found.matches.iter().map(|found| found.node.get()).collect()
}

#[test]
fn a_match_names_its_node_place_and_line() {
    let found = find_in(&["nothing", "first\nthe code is QX-4471, I think\nlast"], r"QX-\d+", None, 10).unwrap();
    let expected = Match {
        conversation: conversation(),
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
    let error = run(&MemoryStore::default(), &FindRequest::new("a", here())).unwrap_err();
    assert!(matches!(&error, FindError::Store(error) if error.is_not_found()), "{error}");
}

#[test]
fn lost_messages_are_passed_over_and_named() {
    let store = store(&["one QX-1", "two QX-2", "three QX-3"]);
    store.lose_node(&conversation(), NodeId::new(2).unwrap());
    append(&store, None, "b", &["QX-4"]);
    let scope = Scope::only(vec![conversation(), id("b")]);
    let found = run(&store, &FindRequest::new(r"QX-\d", scope)).unwrap();
    assert_eq!((places(&found), found.scanned), (vec![("b", 1), ("c", 1), ("c", 3)], 3));
    assert_eq!(found.losses.keys().collect::<Vec<_>>(), [&conversation()]);
    let lost = found.losses[&conversation()].notice(&conversation()).unwrap().to_string();
    assert!(lost.starts_with("node 2 of `c` cannot be read"), "{lost}");
}

fn find_for(text: &str, pattern: &str, max_time: Option<Duration>) -> Found {
    run(&store(&["before", text]), &FindRequest::new(pattern, here()).max_time(max_time)).unwrap()
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
    assert_eq!(nodes(&found), [1]);
    assert_eq!((found.stopped_at, found.scanned, found.left_out), (at("c", 2), 0, end_of("c", 1, 2, 6)));
    // This pattern scans the whole text again at each position: some 10^12 steps.
    let found = find_for(&"ab cd ".repeat(1 << 19), r"(?s)(a.*Z)?", Some(Duration::from_millis(500)));
    assert_eq!((found.stopped_at, found.scanned), (at("c", 2), 1));
}

fn at(conversation: &str, node: u64) -> Option<StoppedAt> {
    Some(StoppedAt { conversation: id(conversation), node: NodeId::new(node).unwrap() })
}

fn end_of(conversation: &str, node: u64, from: usize, length: usize) -> Option<LeftOut> {
    Some(LeftOut { conversation: id(conversation), node: NodeId::new(node).unwrap(), from, length })
}

#[test]
fn whoever_goes_on_where_time_ran_out_always_gets_ahead() {
    let heavy = "ab cd ".repeat(1 << 19);
    let store = store(&["x", &heavy, "x Z", "x"]);
    let (mut from, mut stops, mut found) = (NodeId::FIRST, 0, Vec::new());
    let mut left_out = Vec::new();
    loop {
        let range = NodeRange::new(from, NodeId::new(4).unwrap());
        // The second message takes some 10^12 steps.
        let pattern = r"(?s)x|^ab|(a.*Z)?";
        let request = FindRequest::new(pattern, here()).range(range).max_time(Duration::from_millis(200));
        let answer = run(&store, &request).unwrap();
        found.extend(nodes(&answer));
        left_out.extend(answer.left_out);
        stops += 1;
        let Some(StoppedAt { node: next, .. }) = answer.stopped_at else { break };
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
    let request = FindRequest::new(pattern, here()).max_time(Duration::from_millis(100));
    let found = run(&store(&[&text]), &request).unwrap();
    // On 64 KiB it takes some ten seconds before the deadline is checked.
    let end = found.left_out.unwrap();
    assert!(end.from < 64 << 10, "{end:?}");
}

#[test]
fn a_search_that_is_told_to_stop_ends() {
    let store = store(&["a", "a", "a"]);
    let stop = Arc::new(AtomicBool::new(false));
    let request = FindRequest::new("a", here()).stop(Arc::clone(&stop));
    assert_eq!(run(&store, &request).unwrap().stopped_at, None);
    stop.store(true, Ordering::Relaxed);
    let found = run(&store, &request).unwrap();
    // The first message always counts, so that going on makes progress.
    assert_eq!((found.matches.len(), found.stopped_at.unwrap().node.get()), (1, 2));
}

#[test]
fn a_search_that_is_dropped_ends() {
    let texts = vec!["a"; 100];
    let store = store(&texts);
    let request = FindRequest::new("a", here());
    let mut search = Box::pin(find(&store, &request));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    // The search yields at least once per message, so that dropping it takes effect.
    let polls = (0..).take_while(|_| search.as_mut().poll(&mut context).is_pending()).count();
    assert!(polls >= 100, "{polls}");
}

/// `a` and `c` without an owner, `b` and `d` of Ana, `e` of Ben.
fn several() -> MemoryStore {
    let store = MemoryStore::default();
    let owner = |name| OwnerId::new(name).unwrap();
    append(&store, None, "c", &["x", "nothing", "x x"]);
    append(&store, Some(&owner("ben")), "e", &["x"]);
    append(&store, Some(&owner("ana")), "d", &["x"]);
    append(&store, None, "a", &["nothing", "x"]);
    append(&store, Some(&owner("ana")), "b", &["x", "nothing"]);
    store
}

#[test]
fn several_conversations_are_searched_in_the_order_of_their_names() {
    let store = several();
    let all = [("a", 2), ("b", 1), ("c", 1), ("c", 3), ("c", 3), ("d", 1), ("e", 1)];
    let found = run(&store, &FindRequest::new("x", Scope::all())).unwrap();
    assert_eq!((places(&found), found.scanned, found.more), (all.to_vec(), 9, false));
    let some = Scope::only(vec![id("e"), id("c"), id("e")]);
    let found = run(&store, &FindRequest::new("x", some)).unwrap();
    assert_eq!((places(&found), found.scanned), (vec![("c", 1), ("c", 3), ("c", 3), ("e", 1)], 4));
    for limit in 0..9 {
        let found = run(&store, &FindRequest::new("x", Scope::all()).limit(limit)).unwrap();
        assert_eq!(places(&found), all[..limit.min(7)], "the limit is of all conversations together");
        assert_eq!(found.more, limit < 7);
    }
    let error = run(&store, &FindRequest::new("x", Scope::only(vec![id("a"), id("z")]))).unwrap_err();
    assert!(matches!(&error, FindError::Store(error) if error.is_not_found()), "{error}");
    assert_eq!(run(&MemoryStore::default(), &FindRequest::new("x", Scope::all())).unwrap(), Found::default());
}

#[test]
fn an_owner_finds_what_is_theirs_alone() {
    let store = several();
    let hers = |scope: Scope| FindRequest::new("x", scope.owner(OwnerId::new("ana").unwrap()));
    assert_eq!(places(&run(&store, &hers(Scope::all())).unwrap()), [("b", 1), ("d", 1)]);
    assert_eq!(places(&run(&store, &hers(Scope::one(&id("d")))).unwrap()), [("d", 1)]);
    for others in ["a", "e"] {
        let error = run(&store, &hers(Scope::only(vec![id("b"), id(others)]))).unwrap_err();
        assert!(matches!(&error, FindError::Store(error) if error.is_not_found()), "{error}");
    }
}

#[test]
fn a_range_is_of_one_conversation() {
    let store = several();
    let request = |scope| FindRequest::new("x", scope).range(NodeRange::new(NodeId::FIRST, NodeId::FIRST));
    for (scope, expected) in [
        (Scope::all(), 5),
        (Scope::only(vec![id("a"), id("c")]), 2),
        (Scope::all().owner(OwnerId::new("eve").unwrap()), 0),
    ] {
        let error = run(&store, &request(scope)).unwrap_err();
        let is_refused = matches!(error, FindError::RangeOfSeveral { conversations } if conversations == expected);
        assert!(is_refused, "{error}");
    }
    let twice = Scope::only(vec![id("c"), id("c")]);
    assert_eq!(places(&run(&store, &request(twice)).unwrap()), [("c", 1)]);
    let only = Scope::all().owner(OwnerId::new("ben").unwrap());
    assert_eq!(places(&run(&store, &request(only)).unwrap()), [("e", 1)], "however the scope names it");
}

#[test]
fn what_forks_share_is_found_once_where_it_was_said() {
    let store = MemoryStore::default();
    append(&store, None, "trunk", &["x", "x", "x"]);
    pollster::block_on(store.fork(&id("trunk"), NodeId::new(2).unwrap(), &id("branch"))).unwrap();
    append(&store, None, "branch", &["x"]);
    let found = run(&store, &FindRequest::new("x", Scope::all())).unwrap();
    assert_eq!(places(&found), [("branch", 3), ("trunk", 1), ("trunk", 2), ("trunk", 3)]);
    let found = run(&store, &FindRequest::new("x", Scope::one(&id("branch")))).unwrap();
    assert_eq!(places(&found), [("branch", 1), ("branch", 2), ("branch", 3)]);
}

#[test]
fn where_time_runs_out_in_a_later_conversation_the_answer_says_in_which() {
    let store = MemoryStore::default();
    // This pattern scans the whole text again at each position: some 10^12 steps.
    let (heavy, pattern) = ("ab cd ".repeat(1 << 19), r"(?s)x|(a.*Z)?");
    append(&store, None, "a", &["x", "x"]);
    append(&store, None, "b", &["x", &heavy, "x"]);
    append(&store, None, "c", &["x"]);
    let request = || FindRequest::new(pattern, Scope::all()).max_time(Duration::from_millis(200));
    let found = run(&store, &request()).unwrap();
    assert_eq!((places(&found), found.scanned), (vec![("a", 1), ("a", 2), ("b", 1)], 3));
    assert_eq!((found.stopped_at, found.left_out), (at("b", 2), None));
    // Going on there: the rest of the conversation, then those after it.
    let (second, last) = (NodeId::new(2).unwrap(), NodeId::new(9).unwrap());
    let mut rest = request().range(NodeRange::new(second, last));
    rest.scope = Scope::one(&id("b"));
    let found = run(&store, &rest).unwrap();
    assert_eq!(found.stopped_at, at("b", 3));
    assert!(found.left_out.is_some_and(|end| end.conversation == id("b") && end.node == second));
}

#[test]
fn time_that_runs_out_in_the_last_message_of_a_conversation_stops_at_the_next_conversation() {
    let store = MemoryStore::default();
    append(&store, None, "a", &["xaaaaaa"]);
    append(&store, None, "b", &[]);
    append(&store, None, "c", &["x"]);
    let request = |scope| FindRequest::new("x", scope).max_time(Duration::ZERO);
    let found = run(&store, &request(Scope::all())).unwrap();
    assert_eq!((places(&found), &found.stopped_at), (vec![("a", 1)], &at("c", 1)));
    assert_eq!(found.left_out, end_of("a", 1, 1, 7));
    let found = run(&store, &request(Scope::one(&id("a")))).unwrap();
    assert_eq!((found.stopped_at, found.left_out), (None, end_of("a", 1, 1, 7)), "there is nothing to go on with");
}

#[test]
fn the_larger_a_pattern_the_less_text_it_is_given() {
    let reach = |pattern: &str| Pattern::compile(pattern).unwrap().reach;
    assert_eq!(reach("QX-[0-9]+"), 64 << 10);
    assert_eq!(reach(r"(?s)begin.*end\."), 64 << 10);
    assert_eq!(reach(r"\w+"), 16 << 10);
    assert_eq!(reach(r"\w+@\w+\.\w+"), 4 << 10);
    assert_eq!(reach("(?:[ab]*a[ab]{12000})+c"), 1 << 10);
}

#[test]
fn a_pattern_too_large_is_refused_and_a_wrong_one_at_once() {
    let why = |pattern: &str| match Pattern::compile(pattern) {
        Err(FindError::Pattern { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(matches!(why("(?:a{1000}){1000}"), regex::Error::CompiledTooBig(_)));
    assert!(matches!(why("(a"), regex::Error::Syntax(_)));
}

#[test]
fn the_same_letters_are_found_however_they_are_written() {
    let texts =
        ["Der Café-Preis", "Cafe\u{301} zwei", "ro\u{ad}ta\u{ad}tion", "1\u{202f}000 Euro", "zero\u{200b}width"];
    let nodes = |pattern: &str| -> Vec<u64> {
        let found = find_in(&texts, pattern, None, 10).unwrap();
        found.matches.iter().map(|one| one.node.get()).collect()
    };
    assert_eq!((nodes("Café"), nodes("Cafe\u{301}")), (vec![1, 2], vec![1, 2]));
    assert_eq!((nodes("rotation"), nodes("zerowidth"), nodes(r"1 \d+")), (vec![3], vec![5], vec![4]));
    assert_eq!((nodes(r"\x{AD}t"), nodes(r"e\u0301")), (vec![3, 3], vec![2]), "codes are searched for as they are");
    let found = find_in(&texts, "rotation", None, 10).unwrap();
    assert_eq!((found.matches[0].span.clone(), found.matches[0].matched.as_str()), (0..12, texts[2]));
}
