//! `memory facts`: lists, histories and changes of what is known, and how it is printed.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lints do not know as tests")]

use serde_json::Value;

use crate::support::Store;

fn plans() -> Store {
    let store = Store::new();
    for (at, said) in [
        ("2026-03-01", "Always name the platform when you answer. I prefer window seats."),
        ("2026-03-02", "We decided to rent the hall in Ghent, which has room for two hundred guests and their coats."),
        ("2026-03-05", "Scrap the hall in Ghent, we rent the barn in Bruges."),
    ] {
        store.succeed(&["append", "-c", "plans", "--at", &format!("{at}T09:00:00Z"), said]);
    }
    store.succeed(&["append", "-c", "work", "--at", "2026-03-03T09:00:00Z", "I'm allergic to peanuts."]);
    store
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[test]
fn facts_are_lines_of_80_columns_and_say_what_replaced_them() {
    let store = plans();
    let listed = store.succeed(&["facts"]);
    assert_eq!(
        listed,
        "plans:\n\
         1.1      rule       2026-03-01 Always name the platform when you answer.\n\
         1.2      preference 2026-03-01 I prefer window seats.\n\
         3.1      decision   2026-03-05 Scrap the hall in Ghent, we rent the barn in Bru…\n\
         work:\n\
         1.1      preference 2026-03-03 I'm allergic to peanuts.\n"
    );
    let all = store.succeed(&["facts", "-c", "plans", "--all", "--kind", "decision"]);
    let first = all.lines().next().unwrap();
    assert!(
        first.starts_with("2.1      decision   2026-03-02 We decided to")
            && first.ends_with("… (until 2026-03-05: 3.1)")
    );
    for line in all.lines().chain(listed.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--previous"])), ["2.1"]);
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--as-of", "2026-03-02"])), ["1.1", "1.2", "2.1"]);
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--as-of", "2026-03-01", "--all"])), ["1.1", "1.2"]);
    let found = store.json(&["facts", "search", "peanuts"]);
    assert_eq!((ids(&found), &found["entries"][0]["conversation"]), (vec!["1.1"], &"work".into()));
    assert_eq!(ids(&store.json(&["facts", "list", "--limit", "1"])), ["1.1"]);
    let history = store.succeed(&["facts", "history", "hall in Ghent"]);
    assert!(
        history
            .contains("2026-03-02 2.1 decision (user; until 2026-03-05: 3.1)\n  We decided to rent the hall in Ghent")
    );
    assert_eq!(ids(&store.json(&["facts", "history", "-c", "plans", "3.1"])), ["2.1", "3.1"]);
    store.fail(&["facts", "history", "-c", "plans", "9.9"], 3);
    store.fail(&["facts", "history", "zeppelins"], 3);
}

#[test]
fn a_fact_is_recorded_corrected_disabled_and_erased() {
    let store = plans();
    let added =
        store.json(&["facts", "add", "-c", "plans", "--kind", "fact", "Ana is 34.", "--source", "2", "--by", "Ana"]);
    assert_eq!((&added["id"], &added["by"], &added["status"]), (&"e1".into(), &"person Ana".into(), &"current".into()));
    let corrected = store.json(&["facts", "correct", "-c", "plans", "e1", "Ana is 35."]);
    assert_eq!((&corrected["id"], &corrected["replaces"]), (&"e2".into(), &serde_json::json!(["e1"])));
    assert_eq!(corrected["sources"], serde_json::json!([[2, 2]]));
    store.fail(&["facts", "correct", "-c", "plans", "e1", "Ana is 36."], 1);
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--kind", "fact"])), ["e2"]);
    store.succeed(&["facts", "correct", "-c", "plans", "3.1", "We rent the mill."]);
    assert!(store.succeed(&["show", "plans", "--state"]).contains("- We rent the mill. (message 3, person, "));
    assert!(!store.succeed(&["show", "plans", "--state"]).contains("rent the barn"));
    let off = store.json(&["facts", "disable", "-c", "plans", "1.2"]);
    assert_eq!(off["status"], "disabled");
    assert!(!store.succeed(&["facts", "-c", "plans"]).contains("window seats"));
    assert!(store.succeed(&["facts", "-c", "plans", "--all"]).contains("I prefer window seats. (disabled)"));
    assert_eq!(store.json(&["facts", "enable", "-c", "plans", "1.2"])["status"], "current");
    assert!(store.fail(&["facts", "erase", "-c", "plans", "3.1", "--yes"], 2).contains("memory facts disable 3.1"));
    store.fail(&["facts", "erase", "-c", "plans", "e9", "--yes"], 3);
    store.succeed(&["facts", "erase", "-c", "plans", "e2", "--yes"]);
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--kind", "fact"])), ["e1"], "what it corrected is back");
    store.succeed(&["erase", "-c", "plans", "2", "--yes"]);
    assert_eq!(ids(&store.json(&["facts", "-c", "plans", "--kind", "fact", "--all"])), [""; 0]);
    for wrong in [&["facts", "disable", "-c", "plans", "x"][..], &["facts", "add", "-c", "plans", "--kind", "x", "y"]] {
        store.fail(wrong, 2);
    }
    store.fail(&["facts", "disable", "-c", "plans", "7.1"], 3);
    store.fail(&["facts", "add", "-c", "plans", "--kind", "fact", "Far away.", "--source", "99"], 3);
}
