//! Tests of what bears on a question and what does not.

use memory_core::{Relation, RelationKind};

use super::*;

fn all_of(store: &Arc<CountingStore>, question: &str) -> Recall {
    recall(&by_words(store), question, |request| (request.limit, request.max_tokens) = (RecallRequest::LIMIT, 4_000))
}

fn shown(recall: &Recall) -> Vec<u64> {
    recall.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter()).map(NodeId::get).collect()
}

fn call(id: &str, tool: &str, input: &str) -> Message {
    let input = Json::string(input);
    let mut message = Message::assistant("");
    message.content = vec![ContentBlock::ToolUse { id: id.to_owned(), name: tool.to_owned(), input }];
    message
}

fn result(id: &str, text: &str) -> Message {
    let content = vec![ContentBlock::Text(text.to_owned())];
    let mut message = Message::user("");
    message.content = vec![ContentBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error: false }];
    message
}

#[test]
fn nothing_is_recalled_where_nothing_bears_on_the_question() {
    let store = store();
    say(&store, "talk", &["Thanks, bye!", "Thanks to all of you, and bye!"]);
    for question in ["Thanks, bye!", "Write me a haiku about the sea", "Good morning!"] {
        let recalled = all_of(&store, question);
        assert_eq!((recalled.excerpts.len(), recalled.tokens), (0, 0), "{question}: {recalled:?}");
        let found = in_talk(&by_words(&store), question);
        assert_eq!(recalled.not_worth.map_or(0, |held| held.hits) > 0, !found.hits.is_empty());
        assert!(found.hits.iter().all(|hit| hit.relevance < Some(0.1)), "{question}: {found:?}");
        let is_said = found.notices.iter().any(|notice| matches!(notice, Notice::NothingLikely { .. }));
        assert_eq!(is_said, !found.hits.is_empty(), "{question}");
    }
    let filled = recall(&by_words(&store), "Write me a haiku about the hall", |request| request.stop_early = false);
    assert!(!filled.excerpts.is_empty(), "on demand the budget is filled");
}

#[test]
fn what_a_short_conversation_says_is_recalled() {
    let store = Arc::new(CountingStore::default());
    say(&store, "talk", &["Hello!", "The train leaves at 9:40 from platform 3."]);
    assert_eq!(shown(&all_of(&store, "When does the train leave?")), [2]);
    assert!(in_talk(&by_words(&store), "When does the train leave?").hits[0].relevance >= Some(0.3));
}

#[test]
fn what_repeats_the_question_ranks_below_its_answer() {
    let store = Arc::new(CountingStore::default());
    let asked = "When does the train to Graz leave?";
    let by = |name: &str, text: &str| Message::user(text).speaker(name);
    let small_talk =
        |n: u64| by(if n.is_multiple_of(2) { "Ann" } else { "Tom" }, &format!("It rained on day {n} of the walk."));
    append(&store, "talk", (0..20).map(small_talk));
    append(&store, "talk", [by("Ann", asked), by("Tom", "At 9:40 sharp.")]);
    append(&store, "talk", (20..40).map(small_talk));
    append(&store, "talk", [by("Ann", asked), by("Ann", "So when does the train to Graz leave?")]);
    let found = in_talk(&by_words(&store), asked);
    assert_eq!(nodes(&found)[0], 22, "{found:?}");
    assert!(found.hits[0].relevance >= Some(0.5), "{found:?}");
    let all = search(&by_words(&store), asked, Scope::one(&id("talk")), 100);
    let of_repeats = all.hits.iter().filter(|hit| [21, 43, 44].contains(&hit.node.id.get()));
    assert!(of_repeats.map(|hit| hit.relevance).all(|relevance| relevance == Some(0.0)), "{all:?}");
    let recalled = shown(&all_of(&store, asked));
    assert!([21, 22].iter().all(|node| recalled.contains(node)), "the question comes with its answer: {recalled:?}");
    assert!(![43, 44].iter().any(|node| recalled.contains(node)), "and not alone: {recalled:?}");
    let filled = recall(&by_words(&store), asked, |request| {
        (request.limit, request.max_tokens, request.stop_early) = (100, 4_000, false);
    });
    assert!(![43, 44].iter().any(|node| shown(&filled).contains(node)), "{filled:?}");
}

#[test]
fn turns_without_content_are_only_shown_in_an_exchange() {
    let store = Arc::new(CountingStore::default());
    let by = |name: &str, text: &str| Message::user(text).speaker(name);
    append(&store, "talk", (0..20).map(|n| by("Mel", &format!("It rained on day {n} of the walk."))));
    append(
        &store,
        "talk",
        [
            by("Mel", "Thanks for the violin!"),
            by("Tom", "Is the violin in tune?"),
            by("Mel", "Yes."),
            by("Tom", "Thanks, Mel!"),
            by("Mel", "Sure."),
        ],
    );
    let found = all_of(&store, "Is Mel's violin in tune?");
    assert!(shown(&found).contains(&22) && shown(&found).contains(&23), "{:?}", shown(&found));
    assert!(![24, 25].iter().any(|node| shown(&found).contains(node)), "{:?}", shown(&found));
}

#[test]
fn own_tools_are_no_hits() {
    let store = Arc::new(CountingStore::default());
    let fact = "The violin is in locker 4711 in Graz.";
    say(&store, "talk", &[fact]);
    for (n, tool) in ["search_memory", "mcp__memory__expand_node", "mcp__memory__find"].into_iter().enumerate() {
        let call_id = format!("own-{n}");
        append(&store, "talk", [call(&call_id, tool, "Where is the violin?"), result(&call_id, fact)]);
    }
    append(&store, "talk", [call("other", "Grep", "tuner"), result("other", "No violin is in tuner.txt of Graz.")]);
    let check = |retriever: &HybridRetriever| {
        let found = search(retriever, "Where is the violin?", Scope::one(&id("talk")), 20);
        assert!(nodes(&found).contains(&1) && nodes(&found).contains(&9));
        assert!(nodes(&found).iter().all(|node| [1, 8, 9].contains(node)), "{:?}", nodes(&found));
    };
    check(&by_words(&store));
    // A result whose call was indexed by an earlier process.
    let blocks = Arc::new(fakes::MemoryBlocks::beside(store.clone()));
    let kept = || by_words(&store).word_cache(blocks.clone());
    append(&store, "talk", [call("late", "search_memory", "Where is the violin?")]);
    pollster::block_on(kept().catch_up(&id("talk"), &())).unwrap();
    append(&store, "talk", [result("late", fact)]);
    check(&kept());
}

#[test]
fn a_correction_ranks_above_what_it_corrects() {
    let store = store();
    let stale =
        NodeDraft::new(Message::user("The violin concert is at noon in the violin hall."), Timestamp::default(), 10);
    let mut correction = NodeDraft::new(Message::user("No, the violin concert is at one."), Timestamp::default(), 10);
    correction.relates_to = Some(Relation { to: NodeId::new(7).unwrap(), kind: RelationKind::Correction });
    pollster::block_on(store.append(&id("talk"), vec![stale, correction])).unwrap();
    let found = in_talk(&by_words(&store), "When is the violin concert in the violin hall?");
    assert_eq!(nodes(&found)[..2], [8, 7], "{found:?}");
    assert!(found.hits[0].score.value >= found.hits[1].score.value);
    let shares: f32 = found.hits[0].signals.iter().map(|signal| signal.share).sum();
    assert!((shares - found.hits[0].score.value).abs() < 1e-4, "{found:?}");
}

#[test]
fn a_long_message_is_shown_in_part() {
    let store = Arc::new(CountingStore::default());
    let names = ["Ann", "Ben", "Mia", "Tom", "Ines", "Omar", "Lena", "Paul", "Rosa", "Karl"];
    let towns = ["Oslo", "Rome", "Bonn", "Lyon", "Graz", "Brno", "Cork", "Bath", "Linz", "Nice"];
    let rows =
        names.iter().flat_map(|name| towns.iter().map(move |town| format!("{name},{town},{}\n", name.len() * 999)));
    let table = format!("customer,town,number\n{}", rows.collect::<String>());
    append(&store, "talk", [Message::user("Read the list."), call("t", "read_file", "customers.csv")]);
    let tokens = u32::try_from(table.len() / 3).unwrap();
    let long = NodeDraft::new(result("t", &table), Timestamp::default(), tokens);
    pollster::block_on(store.append(&id("talk"), vec![long])).unwrap();
    append(&store, "talk", (0..60).map(|n| Message::user(format!("It rained on day {n}."))));
    let row = "Mia,Graz,2997";
    for max_tokens in [300, 500, 1_000] {
        let longest = max_tokens * 3 / 10;
        let recalled = recall(&by_words(&store), "What is the number of Mia in Graz?", |request| {
            (request.limit, request.max_tokens, request.longest) = (100, max_tokens, Some(longest));
        });
        let excerpt = recalled.excerpts.iter().find(|excerpt| excerpt.nodes.contains(NodeId::new(3).unwrap()));
        let parts: Vec<_> =
            excerpt.unwrap().cuts.iter().map(|(node, part)| (node.get(), &table[part.clone()])).collect();
        assert_eq!(parts[0], (3, "customer,town,number"), "{max_tokens}");
        assert!(parts.iter().any(|(node, part)| *node == 3 && part.contains(row)), "{max_tokens}: {parts:?}");
        assert!(parts.iter().all(|(_, part)| part.lines().all(|line| table.contains(&format!("{line}\n")))));
        assert!(recalled.tokens <= u64::from(max_tokens), "{recalled:?}");
    }
    let whole = recall(&by_words(&store), "What is the number of Mia in Graz?", |request| request.max_tokens = 9_000);
    assert!(whole.excerpts.iter().all(|excerpt| excerpt.cuts.is_empty()));
}
