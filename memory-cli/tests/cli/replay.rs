//! Replay of views through the binary, after rebuilding, rewriting, restoring and damage.

use std::fs;

use memory::{Access, Config, Recall, parts::open};
use memory_core::{ConversationId, Message, NodeId};
use memory_hooks::{AsOf, MemoryError, Prompt, PromptOptions};

use crate::support::{self, Store};

/// A store that was asked when it had 60 messages and when it had 120, and both answers.
fn asked_twice() -> (Store, [String; 2]) {
    let store = Store::new();
    let ask = |count: usize, question| {
        let file = store.file("trip.jsonl", &support::messages(count));
        store.succeed(&["import", "--format", "jsonl", &file]);
        store.succeed(&["context", "--budget", "700", question])
    };
    let answers = [ask(60, "Which platform?"), ask(120, "What about day 30?")];
    assert_ne!(answers[0], answers[1]);
    (store, answers)
}

fn check(store: &Store, answers: &[String; 2]) {
    assert_eq!(store.succeed(&["context", "--as-of", "60"]), answers[0]);
    assert_eq!(store.succeed(&["context", "--as-of", "119"]), answers[0], "nothing was shown since");
    assert_eq!(store.succeed(&["context", "--as-of", "120"]), answers[1]);
    assert_eq!(store.succeed(&["context", "--as-of", "2999-01-01"]), answers[1]);
    assert_eq!(store.succeed(&["replay", "v1"]), answers[0]);
    assert_eq!(store.succeed(&["replay", "2"]), answers[1]);
    assert_eq!(store.succeed(&["replay", "--check"]).trim_end(), "trip: 2 of 2 views are what was shown");
}

#[test]
fn what_a_model_was_shown_is_shown_again_byte_for_byte() {
    let (store, answers) = asked_twice();
    check(&store, &answers);
    fs::remove_dir_all(store.path("store/cache")).unwrap();
    check(&store, &answers);
    store.succeed(&["vacuum", "--seal", "--compress"]);
    check(&store, &answers);
    store.succeed(&["verify"]);
    store.succeed(&["doctor"]);

    store.succeed(&["backup", &store.path("backup")]);
    fs::remove_dir_all(store.path("store")).unwrap();
    store.succeed(&["restore", &store.path("backup")]);
    check(&store, &answers);
    let salvaged = Store::new();
    fs::remove_dir_all(salvaged.path("")).unwrap();
    fs::create_dir(salvaged.path("")).unwrap();
    store.succeed(&["doctor", "--salvage", &salvaged.path("store")]);
    check(&salvaged, &answers);
}

#[test]
fn views_are_listed_and_the_same_view_is_recorded_once() {
    let (store, answers) = asked_twice();
    let again = store.json(&["context", "--budget", "700", "What about day 30?"]);
    assert_eq!((again["view"].as_u64(), again["text"].as_str()), (Some(2), Some(answers[1].trim_end())));
    let unrecorded = store.json(&["context", "--budget", "700", "--no-record", "Anything else?"]);
    assert!(unrecorded["view"].is_null(), "{unrecorded}");

    let listed = store.json(&["replay"]);
    let views = listed["views"].as_array().unwrap();
    let of = |name: &str| views.iter().map(|view| view[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("view"), of("nodes"), of("budget")), (vec![1, 2], vec![60, 120], vec![700, 700]));
    assert_eq!(views[1]["question"], "What about day 30?");
    assert!(views[1]["summaries"].as_u64() > Some(0) && views[1]["recalled"].as_u64() > Some(0), "{listed}");
    assert_eq!(store.json(&["replay", "--limit", "1"])["views"][0]["view"], 2);
    assert_eq!(store.json(&["replay", "--before", "v2"])["views"][0]["view"], 1);
    assert!(store.json(&["replay", "--before", "1"])["views"].as_array().unwrap().is_empty());
    let shown = store.json(&["context", "--as-of", "v1"]);
    assert_eq!((shown["question"].as_str(), shown["nodes"].as_u64()), (Some("Which platform?"), Some(60)));

    let none = store.fail(&["context", "--as-of", "v3"], 3);
    assert!(none.contains("no view of `trip` was recorded under number v3; it has 2"), "{none}");
    store.fail(&["context", "--as-of", "1999-01-01"], 3);
    store.fail(&["context", "--as-of", "121"], 3);
    store.fail(&["replay", "3"], 3);
    store.fail(&["context", "--as-of", "0"], 2);
    store.fail(&["context", "--as-of", "yesterday"], 2);
    store.fail(&["context"], 2);
}

#[test]
fn a_view_takes_a_few_hundred_bytes_of_the_log() {
    let (store, _) = asked_twice();
    let size = || fs::metadata(store.path("store/log/0001.seg")).unwrap().len();
    let before = size();
    store.succeed(&["context", "--budget", "4000", "Which day was it that we saw the museum?"]);
    let first = size() - before;
    assert!((100..1_000).contains(&first), "{first} bytes for a view of 4,000 tokens");
    store.succeed(&["context", "--budget", "4000", "Which day was it that we saw the museum?"]);
    assert_eq!(size() - before, first, "nothing for one that is shown again");
}

#[test]
fn a_message_that_is_gone_is_named_by_the_view_that_showed_it() {
    let (store, answers) = asked_twice();
    let third = store.succeed(&["context", "--budget", "3000", "What about day 110?"]);
    assert!(third.contains("[Message 110, "), "{third}");
    // With it all that was written together is gone. The day of a summary is that of its messages, and gone with them.
    store.flip("Remark number 110 ");
    assert_eq!(store.succeed(&["replay", "1"]), answers[0]);
    let error = store.fail(&["replay", "2"], 4);
    assert!(
        error.contains("view v2 of `trip` is not what was shown: messages ") && error.contains("are gone"),
        "{error}"
    );
    let error = store.fail(&["context", "--as-of", "120"], 4);
    assert!(error.contains("view v3 of `trip` is not what was shown: messages "), "{error}");
    assert!(error.contains("are gone") && error.contains("`memory doctor`"), "{error}");
    let error = store.fail(&["replay", "--check"], 4);
    assert!(error.contains("view v3") && !error.contains("view v1"), "{error}");
}

/// Numbers that are the same on every machine.
struct Dice(u64);

impl Dice {
    fn few(&mut self, most: u64) -> usize {
        usize::try_from(self.below(most)).unwrap_or_default()
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[tokio::test(flavor = "current_thread")]
async fn every_view_of_a_random_history_outlives_closing_rebuilding_and_compressing() {
    for seed in 0..6 {
        let (store, mut dice) = (Store::new(), Dice(seed));
        let mut config = Config::new(store.path("store"), Access::Write);
        config.recall = Recall::Words;
        let id = ConversationId::new("talk").unwrap();
        let mut shown: Vec<Prompt> = Vec::new();
        for _ in 0..5 {
            let runtime = open(&config).unwrap();
            let talk = runtime.memory.conversation(id.clone());
            for _ in 0..4 {
                let words = |dice: &mut Dice| {
                    let topic = dice.below(40);
                    format!("Remark on topic{topic}. {}", "It was seen and noted. ".repeat(dice.few(9)))
                };
                for _ in 0..=dice.below(40) {
                    let message = Message::user(words(&mut dice));
                    talk.append(message).await.unwrap();
                }
                let question = format!("What about topic{}?", dice.below(40));
                let options = PromptOptions::new(200 + u32::try_from(dice.below(2_500)).unwrap());
                match talk.prompt_with(&question, &options).await {
                    Ok(context) if dice.below(3) == 0 => {
                        shown.push(context.clone());
                        shown.extend(talk.reduce(&context, &options).await.ok());
                    }
                    Ok(context) => shown.push(context),
                    Err(MemoryError::Plan(_)) => {}
                    Err(other) => panic!("{other}"),
                }
                let total = runtime.memory.store().conversation(&id).await.unwrap().nodes;
                talk.pin(NodeId::new(1 + dice.below(total)).unwrap(), dice.below(2) == 0).await.unwrap();
            }
        }
        let ways: [&[&str]; 3] = [&["verify"], &["vacuum", "--seal", "--compress"], &["vacuum", "--expand"]];
        for way in ways {
            store.succeed(way);
            let _absent = fs::remove_dir_all(store.path("store/cache"));
            let runtime = open(&config.clone().access(Access::Read)).unwrap();
            let talk = runtime.memory.conversation(id.clone());
            for context in &shown {
                let again = talk.as_of(AsOf::View(context.view.unwrap())).await.unwrap();
                assert_eq!(again.text(), context.text(), "seed {seed}, after {way:?}");
            }
        }
        assert!(shown.len() > 10, "{}", shown.len());
    }
}

#[test]
fn what_was_asked_for_long_ago_stands_beside_the_history_and_is_shown_again() {
    let store = Store::new();
    let wish = r#"{"role":"user","content":"Hello! Always give the time zone of a meeting."}"#;
    let file = store.file("trip.jsonl", &format!("{wish}\n{}", support::messages(60)));
    store.succeed(&["import", "--format", "jsonl", &file]);
    let ask = ["context", "--budget", "1200", "When do we have dinner?"];
    let context = store.json(&ask);
    let standing: Vec<_> =
        context["pieces"].as_array().unwrap().iter().filter(|piece| piece["kind"] == "standing").collect();
    let [line] = standing.as_slice() else { panic!("one line: {context}") };
    assert_eq!(line["text"], "[Message 1, user]: Always give the time zone of a meeting.\n");
    assert_eq!(
        (&line["nodes"], &line["source"], &line["reason"]),
        (&serde_json::json!([1, 1]), &"import".into(), &"standing: instruction".into())
    );
    assert_eq!(context["standing_tokens"], line["tokens"]);
    let shown = store.succeed(&ask);
    fs::remove_dir_all(store.path("store/cache")).unwrap();
    assert_eq!(store.succeed(&["replay", "v1"]), shown);
    assert_eq!(store.json(&["replay"])["views"][0]["standing"], 1);
    assert_eq!(store.json(&["expand", "1"])["at"], serde_json::Value::Null, "nobody knows when it was said");
}
