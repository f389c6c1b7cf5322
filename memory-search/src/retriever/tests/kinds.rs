//! Tests of scores and relevances over conversations of different kinds.

use super::*;

#[test]
fn kinds_of_talk_are_ranked_by_their_own_weights() {
    let store = Arc::new(CountingStore::default());
    say(&store, "agent", &["Where is the cello?", "The cello is in the hall.", "Thanks."]);
    let names = ["Maya", "Tom", "Lena"];
    let said = ["Did the cello arrive?", "The cello is in the van.", "Good."];
    append(&store, "meeting", said.iter().zip(names).map(|(text, name)| Message::user(*text).speaker(name)));
    let found = search(&by_words(&store), "cello", Scope::all(), 9);
    let per_unit = |conversation: &str, name: &str| {
        let hit = found.hits.iter().find(|hit| hit.conversation == id(conversation)).unwrap();
        let signal = hit.signals.iter().find(|signal| signal.name == name).unwrap();
        (signal.value, signal.share / signal.value)
    };
    assert_eq!((per_unit("agent", "of_agent").0, per_unit("meeting", "of_agent").0), (1.0, 0.0));
    assert_eq!((per_unit("agent", "of_group").0, per_unit("meeting", "of_group").0), (0.0, 1.0));
    let (agent, meeting) = (per_unit("agent", "length").1, per_unit("meeting", "length").1);
    assert!((agent - meeting).abs() > 0.1, "a long turn of an agent is another thing than one of a meeting");
}

#[test]
fn neighbours_add_to_a_chance_in_a_group_alone() {
    let gained = |people: usize| {
        let store = Arc::new(CountingStore::default());
        let name = |n: usize| format!("Speaker{}", n % people);
        append(&store, "talk", (0..9).map(|n| Message::user("the cello and the hall").speaker(name(n))));
        let found = in_talk(&by_words(&store), "cello hall");
        found.hits.iter().flat_map(|hit| &hit.signals).filter(|signal| signal.name == "neighbours").count()
    };
    assert_eq!((gained(1), gained(2)), (0, 0));
    assert_eq!(gained(3), 3, "each of the three hits");
}

#[test]
fn an_unlikely_hit_is_left_out_and_said_to_be() {
    let store = Arc::new(CountingStore::default());
    let remarks: Vec<_> = (0..300).map(|n| format!("Matter {n} of the concert.")).collect();
    say(&store, "talk", &remarks.iter().map(String::as_str).collect::<Vec<_>>());
    say(&store, "talk", &["The harpsichord was tuned on Monday."]);
    let retriever = by_words(&store);
    let ask = |question: &str, least: f32| {
        let query = Query::new(question, Scope::all()).min_relevance(least);
        let found = pollster::block_on(retriever.search(&query)).unwrap();
        let codes: Vec<_> = found.notices.iter().map(Notice::code).filter(|code| *code != "words-only").collect();
        (found.hits.iter().map(|hit| hit.relevance.unwrap()).collect::<Vec<_>>(), codes)
    };
    let (found, codes) = ask("When was the harpsichord tuned?", 0.0);
    assert!(found[0] > 0.5 && codes.is_empty(), "{found:?} {codes:?}");
    assert!(found.iter().all(|chance| (0.0..=1.0).contains(chance)));
    let (found, codes) = ask("concert", 0.0);
    assert!(found.len() == 10 && found[0] < 0.1, "one of three hundred: {found:?}");
    assert_eq!(codes, ["nothing-likely"]);
    assert_eq!(ask("concert", 0.5), (Vec::new(), vec!["nothing-likely"]));
}
