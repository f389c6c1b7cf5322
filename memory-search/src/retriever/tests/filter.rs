//! A filter before ranking finds what a filter of the full ranking leaves.

use std::collections::BTreeMap;

use memory_core::{
    Filter, Hash, Level, SummaryDraft, WrittenBy,
    port::{Event, Hit},
    testing::MemoryStore,
    time::{Edge, TimeRange},
};
use proptest::prelude::*;

use super::*;

const WORDS: [&str; 8] = ["cello", "hall", "euros", "piano", "library", "Thursday", "room", "booking"];
const BEGIN: i64 = 1_683_000_000_000;
const HOUR: i64 = 60 * 60 * 1_000;

/// A message: its words, whether the user says it, its session, and hours since the one before.
type Said = (Vec<usize>, bool, Option<u8>, i64);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let message = (prop::collection::vec(0..WORDS.len(), 1..5), any::<bool>(), prop::option::of(0u8..3), 0i64..40);
    prop::collection::vec(message, 1..40)
}

fn fill(store: &MemoryStore, conversation: &ConversationId, said: &[Said]) {
    let mut at = BEGIN;
    let drafts = said.iter().map(|(words, by_user, session, hours)| {
        let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
        let mut message = if *by_user { Message::user(text) } else { Message::assistant(text) };
        if let Some(session) = session {
            message.metadata.insert(Filter::SESSION.to_owned(), Json::string(&format!("S{session}")));
        }
        at += hours * HOUR;
        NodeDraft::new(message, Timestamp::from_millis(at), 4)
    });
    pollster::block_on(store.append(conversation, drafts.collect())).unwrap();
}

/// Puts each node up to `last` under a summary.
fn summarize(store: &MemoryStore, conversation: &ConversationId, last: u64) {
    let summary = |node: NodeId| {
        Event::Summary(SummaryDraft::new(
            Level::Summary,
            NodeRange::single(node),
            "so",
            1,
            WrittenBy::new("test", "1"),
            Hash::of_parts([node.get().to_le_bytes().as_slice()]),
        ))
    };
    let events = (1..=last).filter_map(NodeId::new).map(summary).collect();
    pollster::block_on(store.record(conversation, events)).unwrap();
}

fn hits(retriever: &HybridRetriever, filter: Filter, limit: usize) -> Vec<Hit> {
    let query = Query::new("Which hall has a piano, and for how many euros?", Scope::all()).filter(filter).limit(limit);
    let found = pollster::block_on(retriever.search(&query)).unwrap();
    // The relevance is a chance among what may be a hit.
    found.hits.into_iter().map(|hit| hit.relevance(None)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_passes_a_filter_is_found_as_if_it_were_picked_out_of_everything(
        (a, b) in (said(), said()),
        with_vectors in any::<bool>(),
        limit in 1usize..12,
        since in prop::option::of(0i64..800),
        hours in 1i64..400,
        words in prop::option::of(prop_oneof![Just("yesterday"), Just("last week"), Just("since Monday")]),
        role in prop::option::of(any::<bool>()),
        session in prop::option::of(0u8..3),
        level in prop::option::of(any::<bool>()),
        (covered, tag) in (0u64..10, any::<bool>()),
    ) {
        let store = Arc::new(MemoryStore::default());
        let tags = if tag { vec!["mine".to_owned()] } else { Vec::new() };
        let mut clocks = BTreeMap::new();
        for (name, said) in [("a", &a), ("b", &b)] {
            fill(&store, &id(name), said);
            pollster::block_on(store.record(&id(name), vec![Event::Tags(tags.clone())])).unwrap();
            clocks.insert(id(name), pollster::block_on(store.conversation(&id(name))).unwrap().last_at.unwrap());
        }
        let covered = covered.min(a.len() as u64);
        summarize(&store, &id("a"), covered);
        let begin = |since: i64| Timestamp::from_millis(BEGIN + since * HOUR);
        let range = |since| TimeRange::new(Some(begin(since)), Some(begin(since + hours))).unwrap();
        let mut filter = Filter::default()
            .time(since.map_or(TimeRange::ALL, range))
            .roles(role.map(|by_user| if by_user { Role::User } else { Role::Assistant }).into_iter().collect())
            .sessions(session.map(|session| format!("S{session}")).into_iter().collect())
            .levels(level.map(|full| if full { Level::Full } else { Level::Summary }).into_iter().collect())
            .tags(tags);
        filter.during = words.map(|words| words.parse().unwrap());
        let passes = |hit: &Hit| {
            let node = &hit.node;
            let is_covered = hit.conversation == id("a") && node.id.get() <= covered;
            let level = if is_covered { Level::Summary } else { Level::Full };
            let session = Filter::session_of(node);
            let clock = clocks[&hit.conversation];
            let is_during = |words: &memory_core::time::TimeWords| words.ranges(clock).iter().any(|at| at.contains(node.at));
            filter.during.as_ref().is_none_or(is_during)
                && filter.time.contains(node.at)
                && (filter.roles.is_empty() || filter.roles.contains(&node.message.role))
                && (filter.sessions.is_empty() || session.is_some_and(|session| filter.sessions.contains(&session)))
                && (filter.levels.is_empty() || filter.levels.contains(&level))
        };
        let embedder = with_vectors.then(|| Arc::new(HashEmbedder::new(32)));
        let index = embedder.as_ref().map(|embedder| Arc::new(ExactIndex::of(&**embedder)) as Arc<dyn VectorIndex>);
        let embedder = embedder.map(|embedder| embedder as Arc<dyn Embedder>);
        let retriever = HybridRetriever::new(store.clone(), embedder, index);
        let mut expected = hits(&retriever, Filter::default(), usize::MAX);
        expected.retain(passes);
        prop_assert_eq!(&hits(&retriever, filter.clone(), usize::MAX), &expected);
        expected.truncate(limit);
        prop_assert_eq!(hits(&retriever, filter, limit), expected);
    }
}

#[test]
fn a_session_without_a_name_is_called_by_its_place() {
    let store = Arc::new(MemoryStore::default());
    fill(&store, &id("a"), &[(vec![1], true, None, 0), (vec![1], true, None, 7), (vec![1], true, None, 1)]);
    let retriever = HybridRetriever::new(store, None, None);
    let nodes = |session: &str| {
        let filter = Filter::default().sessions(vec![session.to_owned()]);
        let mut nodes: Vec<_> = hits(&retriever, filter, 9).iter().map(|hit| hit.node.id.get()).collect();
        nodes.sort_unstable();
        nodes
    };
    assert_eq!([nodes("1"), nodes("2"), nodes("3")], [vec![1], vec![2, 3], vec![]]);
}

#[test]
fn words_of_time_are_counted_from_the_last_message_of_each_conversation() {
    let store = Arc::new(MemoryStore::default());
    // The one ends in May 2023, the other three weeks later.
    fill(&store, &id("a"), &[(vec![1], true, None, 0), (vec![1], true, None, 24)]);
    fill(&store, &id("b"), &[(vec![1], true, None, 0), (vec![1], true, None, 480), (vec![1], true, None, 24)]);
    let retriever = HybridRetriever::new(store, None, None);
    let filter = Filter::default().during("yesterday".parse().unwrap());
    let mut found: Vec<_> =
        hits(&retriever, filter, 9).iter().map(|hit| format!("{} {}", hit.conversation, hit.node.id)).collect();
    found.sort_unstable();
    assert_eq!(found, ["a 1", "b 2"]);
}

#[test]
fn a_time_without_a_zone_is_that_of_the_place_where_a_message_was_said() {
    let store = Arc::new(MemoryStore::default());
    // Each is said at 04:30 of 7 May in UTC: the first one in the evening of 6 May, the last one where it is unknown.
    let drafts = ["-18000", "7200", "null"].map(|offset| {
        let mut message = Message::user("The hall has a piano.");
        message.metadata.insert("utc_offset".to_owned(), Json::new(offset).unwrap());
        NodeDraft::new(message, "2023-05-07T04:30:00Z".parse().unwrap(), 4)
    });
    pollster::block_on(store.append(&id("a"), drafts.into())).unwrap();
    let retriever = HybridRetriever::new(store, None, None);
    let check = |filter: Filter, expected: &[u64]| {
        let mut found: Vec<_> = hits(&retriever, filter, 9).iter().map(|hit| hit.node.id.get()).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    };
    let between = |since: &str, until: &str| {
        let [since, until] = [Edge::since(since), Edge::until(until)].map(|edge| Some(edge.unwrap()));
        Filter::default().between(since, until).unwrap()
    };
    check(between("2023-05-06", "2023-05-06"), &[1]);
    check(between("2023-05-07", "2023-05-07"), &[2, 3]);
    check(between("2023-05-07T06:00:00", "2023-05-07"), &[2]);
    check(between("2023-05-07T04:30:00Z", "2023-05-07T04:30:00Z"), &[1, 2, 3]);
    check(Filter::default().during("on 6 May 2023".parse().unwrap()), &[1]);
}

#[test]
fn a_filter_that_lets_nothing_through_says_so() {
    let store = Arc::new(MemoryStore::default());
    fill(&store, &id("a"), &[(vec![1], true, None, 0)]);
    let retriever = HybridRetriever::new(store, None, None);
    let check = |filter: Filter, expected: &str| {
        let query = Query::new("hall", Scope::all()).filter(filter);
        let found = pollster::block_on(retriever.search(&query)).unwrap();
        assert!(found.hits.is_empty());
        assert!(sentences(&found.notices).contains(&expected.to_owned()), "{:?}", found.notices);
    };
    let by_tool = Filter::default().roles(vec![Role::Tool]);
    check(by_tool, "the filter lets none of 1 messages through");
    let tagged = Filter::default().tags(vec!["mine".to_owned()]);
    check(tagged, "the filter lets none of 0 messages through");
}

#[test]
fn recall_filters_hits_and_not_their_neighbours() {
    let store = store();
    let retriever = by_words(&store);
    let only = |roles: Vec<Role>| Filter::default().roles(roles);
    let recalled = recall(&retriever, "Who brings the cello?", |request| request.filter = only(vec![Role::Assistant]));
    assert!(recalled.excerpts.is_empty());
    let recalled = recall(&retriever, "Who brings the cello?", |request| {
        request.filter = only(vec![Role::User]);
        request.radius = 1;
    });
    assert_eq!(runs(&recalled), ["1-3"]);
}
