//! Output of `find` and `search`: several conversations, the messages around a match, the part of a message that bears
//! on a question.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use serde_json::{Value, json};

use crate::support::{Store, messages, success};

/// `boat` with 3 messages, `trip` with 12.
fn store() -> Store {
    let store = Store::new();
    let said = ["We take the boat.", "Which platform does the ferry have?", "Platform 3, at the end of the quay."];
    let line = |text: &&str| format!("{}\n", json!({"role": "user", "speaker": "Maya", "content": text}));
    let boat = store.file("boat.jsonl", &said.iter().map(line).collect::<String>());
    let trip = store.file("trip.jsonl", &messages(12));
    store.succeed(&["import", "--format", "jsonl", &trip]);
    store.succeed(&["import", "--format", "jsonl", &boat]);
    store
}

fn places(matches: &Value) -> Vec<(&str, u64)> {
    let matches = matches.as_array().unwrap().iter();
    matches.map(|one| (one["conversation"].as_str().unwrap(), one["node"].as_u64().unwrap())).collect()
}

fn numbers(messages: &Value) -> Vec<u64> {
    messages.as_array().unwrap().iter().map(|message| message["node"].as_u64().unwrap()).collect()
}

#[test]
fn find_looks_through_all_conversations_or_those_that_are_named() {
    let store = store();
    let pattern = "(?i)platform [0-9]";
    let all = store.json(&["find", pattern]);
    assert_eq!(places(&all["matches"]), [("boat", 3), ("trip", 7)]);
    assert_eq!((&all["conversations"], &all["scanned"]), (&json!(["boat", "trip"]), &json!(15)));
    assert_eq!((&all["excerpts"], &all["stopped_at"]), (&json!([]), &Value::Null));
    assert_eq!(store.json(&["find", "-c", "trip", "-c", "bo", pattern]), all, "named in any order");
    assert_eq!(store.json(&["find", "--all", pattern]), all);
    assert_eq!(places(&store.json(&["find", "-c", "boat", pattern])["matches"]), [("boat", 3)]);

    let text = store.succeed(&["find", pattern]);
    let trip = "trip:7:1: The train leaves at 7:42 from platform 9.\n";
    assert_eq!(text, format!("boat:3:1: Platform 3, at the end of the quay.\n{trip}"), "no escapes in a pipe");
    assert_eq!(store.succeed(&["find", "-c", "trip", pattern]), trip.trim_start_matches("trip:"));

    assert_eq!(places(&store.json(&["find", "-c", "trip", "--from", "7", pattern])["matches"]), [("trip", 7)]);
    let refused = store.fail(&["find", "--from", "7", pattern], 2);
    assert!(refused.contains("nodes of one conversation, not of 2: say which by --conversation"), "{refused}");
    assert!(store.fail(&["find", "-c", "trip", "-c", "none", pattern], 3).contains("no conversation `none`"));
}

#[test]
fn find_shows_the_messages_around_each_match_once() {
    let store = store();
    let pattern = "platform|number (5|12)";
    let found = store.json(&["find", "--context", "1", pattern]);
    assert_eq!(places(&found["matches"]), [("boat", 2), ("trip", 5), ("trip", 7), ("trip", 12)]);
    let excerpts: Vec<_> = found["excerpts"].as_array().unwrap().iter().collect();
    let shown: Vec<_> =
        excerpts.iter().map(|one| (one["conversation"].as_str().unwrap(), numbers(&one["messages"]))).collect();
    assert_eq!(shown, [("boat", vec![1, 2, 3]), ("trip", vec![4, 5, 6, 7, 8]), ("trip", vec![11, 12])]);
    let first = &excerpts[0]["messages"][0];
    assert_eq!(first, &json!({"node": 1, "speaker": "Maya", "at": null, "text": "We take the boat."}));

    let text = store.succeed(&["find", "--context", "1", pattern]);
    let lines: Vec<_> = text.lines().map(|line| line.get(..16).unwrap_or(line)).collect();
    let expected = [
        "boat-1- Maya: We",
        "boat:2:1: Maya: ",
        "boat-3- Maya: Pl",
        "--",
        "trip-4- assistan",
        "trip:5:1: user: ",
        "trip-6- assistan",
        "trip:7:1: user: ",
        "trip-8- assistan",
        "--",
        "trip-11- user: R",
        "trip:12:1: assis",
    ];
    assert_eq!(lines, expected);
    store.fail(&["find", "--context", "21", pattern], 2);
}

#[test]
fn a_hit_has_its_neighbours_and_the_part_that_bears_on_the_question() {
    let store = Store::new();
    let long = format!("{} The booking — QX-4471 — is for two. {}", "We walk. ".repeat(40), "It rains. ".repeat(40));
    let line = |text: &str| format!("{}\n", json!({"role": "user", "content": text}));
    let file = store.file("trip.jsonl", &["Hello.", "Where do we stay?", &long, "Fine."].map(line).concat());
    store.succeed(&["import", "--format", "jsonl", &file]);
    let question = "Which bookings are there?";

    let found = store.json(&["search", "--limit", "1", question]);
    let hit = &found["hits"][0];
    assert_eq!((&hit["node"], &hit["before"], &hit["after"]), (&json!(3), &json!([]), &json!([])));
    let place = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let part = |range: &Value| &long[place(&range["start"])..place(&range["end"])];
    assert_eq!(part(&hit["excerpt"]), hit["excerpt"]["text"].as_str().unwrap());
    assert!(part(&hit["excerpt"]).contains("— QX-4471 —") && part(&hit["excerpt"]).chars().count() <= 200, "{hit}");
    assert_eq!(hit["highlights"].as_array().unwrap().iter().map(part).collect::<Vec<_>>(), ["booking"]);

    let found = store.json(&["search", "--limit", "1", "--neighbours", "2", question]);
    let hit = &found["hits"][0];
    assert_eq!((numbers(&hit["before"]), numbers(&hit["after"])), (vec![1, 2], vec![4]));
    assert_eq!(hit["before"][1], json!({"node": 2, "speaker": "user", "at": null, "text": "Where do we stay?"}));
    let text = store.succeed(&["search", "--limit", "1", "--neighbours", "1", question]);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(place("2 user: Where do we stay?") < place("3 user: …") && place("QX-4471") < place("4 user: Fine."));
    assert!(!text.contains(['\u{1b}', '\u{2061}']) && !text.contains("Hello"), "{text}");
    store.fail(&["search", "--neighbours", "21", question], 2);
}

#[test]
fn what_a_few_messages_do_not_answer_gets_little_relevance() {
    let store = Store::new();
    let said = [
        "The train leaves at 7:42 from platform 9.",
        "Which hotel is close to the station?",
        "The Rex, two streets away, has rooms for 80 euros.",
        "Book the Rex for two nights, please.",
        "Booked: two nights at the Rex under the name Miller.",
    ];
    for text in said {
        store.succeed(&["append", "-c", "trip", text]);
    }
    for by_meaning in [false, true] {
        let relevance = |question: &str| {
            let args = ["--json", "search", "-c", "trip", question];
            let shown = success(&mut if by_meaning { store.hybrid(&args) } else { store.command(&args) });
            let found: Value = serde_json::from_str(&shown).unwrap();
            found["hits"].as_array().unwrap().iter().map(|hit| hit["relevance"].as_f64().unwrap()).fold(0.0, f64::max)
        };
        for asked in ["When does the train leave?", "Under which name did we book?"] {
            assert!(relevance(asked) > 0.3, "{asked} {}", relevance(asked));
        }
        for nonsense in ["What is the capital of Mongolia?", "Why do cats purr?", "Explain quantum chromodynamics"] {
            assert!(relevance(nonsense) < 0.15, "{nonsense} {}", relevance(nonsense));
        }
    }
}
