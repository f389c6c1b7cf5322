//! A conversation so long that a graph answers.

use serde_json::{Value, json};

use crate::{
    models,
    support::{Store, success},
};

#[test]
fn a_long_conversation_is_searched_by_its_graph_from_the_first_search_of_a_process_on() {
    let store = Store::new();
    let model = models::model(&store, "first", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
    let line = |number: usize| {
        let word = ["the", "is", "a"][number % 3];
        format!("{}\n", json!({"role": "user", "content": format!("{word} a remark{number} {word}")}))
    };
    let talk = store.file("talk.jsonl", &(0..20_500).map(line).collect::<String>());
    let run = |args: &[&str]| success(&mut store.hybrid(args));
    run(&["--embedding-model", &model, "import", "--format", "jsonl", &talk]);
    let found: Value = serde_json::from_str(&run(&["--json", "search", "--explain", "the remark17 is"])).unwrap();
    assert_eq!(found["hits"][0]["node"], 18, "{found}");
    let steps = found["steps"].to_string();
    assert!(steps.contains(r#"{"graph":{"backend":"memory"}}"#) && steps.contains("subset_scan"), "{found}");
}
