//! Contexts for readers, from data to blinded files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::eval::tests::{data, parts};

const ANSWERS: [&str; 4] = ["goldgoldgold-0", "goldgoldgold-1", "goldgoldgold-2", "goldgoldgold-3"];

fn questions() -> Vec<Value> {
    let asked = ["fed tortoise?", "kiln Mondays?", "degrees of the kiln?", "closed when?"];
    let question = |(n, (text, answer))| {
        json!({"query_id": format!("secret-{n}"), "conversation_id": "talk", "question": text, "answer": answer,
               "category": "kind-of-question", "evidence": ["t1"]})
    };
    let mut all: Vec<_> = asked.into_iter().zip(ANSWERS).enumerate().map(question).collect();
    all.push(json!({"query_id": "none", "conversation_id": "talk", "question": "Who?", "answer": "nobody knows",
                    "answerable": false}));
    all.push(json!({"query_id": "untold", "conversation_id": "talk", "question": "Why?"}));
    all
}

fn options(data: &tempfile::TempDir, budget: u32) -> ContextsOptions {
    ContextsOptions {
        data: vec![data.path().to_owned()],
        out: data.path().join("out"),
        budget: Budget::Tokens(budget),
        questions: None,
        shards: 3,
        seed: 7,
        demand_model: true,
    }
}

fn write(options: &ContextsOptions) -> Result<String> {
    pollster::block_on(write_contexts(&parts(), options))
}

#[test]
fn every_question_with_an_answer_is_written_under_both_conditions() {
    let data = data(&questions());
    let options = options(&data, 200);
    let said = write(&options).unwrap();
    assert!(said.starts_with("4 questions, 8 files in 3 shards of "), "{said}");
    let key = read_key(&options.out).unwrap();
    let asked: BTreeSet<_> = key.iter().map(|line| (line.question_id.as_str(), line.condition)).collect();
    assert_eq!(asked.len(), 8, "{asked:?}");
    assert!(key.iter().all(|line| line.question_id.starts_with("secret-") && line.tokens <= line.budget));
    for line in &key {
        let page = fs::read_to_string(options.out.join(&line.file)).unwrap();
        assert!(page.starts_with(&format!("Question: {}\n", line.question)), "{page}");
        assert!(page.trim_end().ends_with(&line.question), "{page}");
        assert_eq!(line.evidence, Some(1.0).filter(|_| page.contains("Nobody has fed the tortoise.")).or(Some(0.0)));
    }
}

#[test]
fn no_shard_tells_conditions_questions_or_answers() {
    let data = data(&questions());
    let options = options(&data, 200);
    write(&options).unwrap();
    let mut shards = 0;
    for shard in fs::read_dir(&options.out).unwrap().map(|entry| entry.unwrap()) {
        if !shard.file_type().unwrap().is_dir() {
            continue;
        }
        shards += 1;
        let (mut names, mut asked) = (Vec::new(), Vec::new());
        for file in fs::read_dir(shard.path()).unwrap().map(|entry| entry.unwrap()) {
            let text = fs::read_to_string(file.path()).unwrap();
            for secret in ["secret", "goldgold", "kind-of-question", "condition", "ours", "hits", "evidence"] {
                assert!(!text.contains(secret), "{secret} stands in {:?}:\n{text}", file.path());
            }
            names.push(file.file_name().into_string().unwrap());
            asked.push(text.lines().next().unwrap().to_owned());
        }
        names.sort();
        let numbered: Vec<_> = (1..=names.len()).map(|number| format!("{number:04}.txt")).collect();
        assert_eq!(names, numbered, "names are numbers");
        let different: BTreeSet<_> = asked.iter().collect();
        assert_eq!(different.len(), asked.len(), "a reader sees no question twice");
    }
    assert_eq!(shards, 3);
}

#[test]
fn the_best_hits_stand_in_order_with_their_labels_and_nothing_else() {
    let data = data(&questions());
    let options = options(&data, 200);
    write(&options).unwrap();
    let key = read_key(&options.out).unwrap();
    let hits = key.iter().find(|line| line.condition == Condition::Hits && line.question == "kiln Mondays?").unwrap();
    let page = fs::read_to_string(options.out.join(&hits.file)).unwrap();
    let (_, shown) = page.split_once("---\n").unwrap();
    // The data states no time, so none is shown.
    let expected = "[Message 1, Ada]: The kiln reaches 1240 degrees.\n\
                    [Message 3, Ada]: The kiln is closed on Mondays.\n\nkiln Mondays?\n";
    assert_eq!(shown, expected);
}

#[test]
fn the_budget_is_hard_and_the_best_hit_comes_first() {
    // Each line takes 14 words or so by the counter of this test.
    let data = data(&questions());
    let options = options(&data, 22);
    write(&options).unwrap();
    let key = read_key(&options.out).unwrap();
    assert!(key.iter().all(|line| line.tokens <= 22), "{key:?}");
    let hits = key.iter().find(|line| line.condition == Condition::Hits && line.question == "kiln Mondays?").unwrap();
    let page = fs::read_to_string(options.out.join(&hits.file)).unwrap();
    assert!(page.contains("[Message 3, Ada]") && !page.contains("[Message 1, Ada]"), "{page}");
}

#[test]
fn a_directory_is_written_once() {
    let data = data(&questions());
    let options = options(&data, 200);
    write(&options).unwrap();
    let error = write(&options).unwrap_err().to_string();
    assert!(error.contains("holds contexts already"), "{error}");
}

#[test]
fn no_reader_gets_both_conditions_of_a_question() {
    for (questions, readers) in [(1, 2), (7, 2), (40, 3), (121, 4), (120, 7)] {
        let hands = deal(questions, readers, 7).unwrap();
        let mut all = BTreeSet::new();
        for hand in &hands {
            let seen: BTreeSet<_> = hand.iter().map(|dealt| dealt.question).collect();
            assert_eq!(seen.len(), hand.len(), "{questions} questions, {readers} readers");
            all.extend(hand.iter().copied());
        }
        assert_eq!(all.len(), 2 * questions, "every question under both conditions");
    }
}

#[test]
fn readers_get_as_many_of_each_condition_and_as_many_files() {
    for hand in deal(122, 4, 7).unwrap() {
        let ours = hand.iter().filter(|dealt| dealt.condition == Condition::Ours).count();
        assert!((30..=31).contains(&ours), "{ours}");
        assert!((30..=31).contains(&(hand.len() - ours)), "{}", hand.len());
    }
}

#[test]
fn the_conditions_are_in_different_orders_and_mixed() {
    let hands = deal(60, 3, 7).unwrap();
    let order = |wanted| {
        let of = hands.iter().flatten().filter(move |dealt| dealt.condition == wanted);
        of.map(|dealt| dealt.question).collect::<Vec<_>>()
    };
    assert_ne!(order(Condition::Ours), order(Condition::Hits));
    for hand in &hands {
        let changes = hand.windows(2).filter(|pair| pair[0].condition != pair[1].condition).count();
        assert!(changes > 10, "{changes}");
    }
}

#[test]
fn one_reader_is_too_few() {
    assert!(deal(9, 1, 7).is_err() && deal(9, 0, 7).is_err());
}
