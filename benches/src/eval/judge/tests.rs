//! Judging, from answers to sheets to a table.

use serde_json::{Value, json};

use super::*;
use crate::eval::contexts::{Condition, key_path, write_lines};

/// Two questions under both conditions, in two shards.
fn run() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let line = |file: &str, condition, question: &str, data: &str, category: &str| KeyLine {
        file: file.to_owned(),
        condition,
        question_id: format!("id-{question}"),
        data: data.to_owned(),
        category: category.to_owned(),
        question: question.to_owned(),
        gold: format!("gold of {question}"),
        budget: 4_000,
        tokens: 3_900,
        evidence: Some(1.0),
    };
    let key = [
        line("shard-1/0001.txt", Condition::Ours, "When?", "chats", "temporal"),
        line("shard-1/0002.txt", Condition::Hits, "Who?", "agents", "names"),
        line("shard-2/0001.txt", Condition::Hits, "When?", "chats", "temporal"),
        line("shard-2/0002.txt", Condition::Ours, "Who?", "agents", "names"),
    ];
    for shard in ["shard-1", "shard-2"] {
        fs::create_dir(directory.path().join(shard)).unwrap();
    }
    write_lines(&key_path(directory.path()), &key).unwrap();
    directory
}

fn put(run: &tempfile::TempDir, name: &str, lines: &[Value]) {
    write_lines(&run.path().join(name), lines).unwrap();
}

fn answered() -> tempfile::TempDir {
    let run = run();
    put(
        &run,
        "shard-1/answers.jsonl",
        &[json!({"file": "0001.txt", "answer": "in May"}), json!({"file": "0002.txt", "answer": "NOT IN CONTEXT"})],
    );
    // A reader may name the shard, or leave the extension out.
    put(
        &run,
        "shard-2/answers.jsonl",
        &[json!({"file": "shard-2/0002", "answer": "Ada"}), json!({"file": "0001", "answer": "in June"})],
    );
    run
}

fn sheets(run: &tempfile::TempDir) -> Vec<Vec<Value>> {
    let files = files(&run.path().join("judging"), "sheet-").unwrap();
    files.iter().map(|file| read_lines(file).unwrap()).collect()
}

#[test]
fn missing_and_doubled_answers_are_named() {
    let error = judge(run().path(), None).unwrap_err().to_string();
    assert_eq!(error, "no answer for shard-1/0001.txt, shard-1/0002.txt, shard-2/0001.txt, shard-2/0002.txt");
    let run = answered();
    let twice = json!({"file": "0001.txt", "answer": "in May"});
    let stray = json!({"file": "0009.txt", "answer": "?"});
    put(&run, "shard-1/answers.jsonl", &[twice.clone(), twice, stray, json!({"file": "0002.txt", "answer": " "})]);
    let error = judge(run.path(), None).unwrap_err().to_string();
    assert!(error.contains("no answer for shard-1/0002.txt;"), "{error}");
    assert!(error.contains("more than one answer for shard-1/0001.txt;"), "{error}");
    assert!(error.contains("shard-1/0009.txt in "), "{error}");
    assert!(!run.path().join("judging").exists());
}

#[test]
fn sheets_mix_all_answers_and_tell_nothing_of_where_they_come_from() {
    let run = answered();
    let said = judge(run.path(), None).unwrap();
    assert!(said.starts_with("4 answers on 2 sheets in "), "{said}");
    let sheets = sheets(&run);
    assert_eq!(sheets.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2], "both answers to a question on one sheet");
    for line in sheets.iter().flatten() {
        let members: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["id", "question", "gold", "answer"]);
        let text = line.to_string();
        assert!(!["shard", "0001", "0002", "ours", "hits", "id-"].iter().any(|told| text.contains(told)), "{text}");
    }
    let one = judge(run.path(), Some(1)).unwrap();
    assert!(one.starts_with("4 answers on 1 sheets in ") && self::sheets(&run).len() == 1, "{one}");
}

/// Grades each answer by its words.
fn grade(run: &tempfile::TempDir, of: fn(&str) -> f64) {
    for (number, sheet) in (1..).zip(sheets(run)) {
        let grade = |line: &Value| json!({"id": line["id"], "grade": of(line["answer"].as_str().unwrap())});
        put(run, &format!("judging/grades-{number:02}.jsonl"), &sheet.iter().map(grade).collect::<Vec<_>>());
    }
}

#[test]
fn grades_become_a_table() {
    let run = answered();
    judge(run.path(), None).unwrap();
    grade(&run, |answer| match answer {
        "in May" => 1.0,
        "Ada" => 0.5,
        _ => 0.0,
    });
    let table = judge(run.path(), None).unwrap();
    for row in [
        "| agents | 1 | 50.0 % | 0.0 % | +50.0 | – | 0, 1 | 100.0 %, 100.0 % |",
        "| chats | 1 | 100.0 % | 0.0 % | +100.0 | – | 0, 0 | 100.0 %, 100.0 % |",
        "| **all** | 2 | 75.0 % | 0.0 % | +75.0 | ",
        "| chats: temporal | 1 | 100.0 % |",
        "| **temporal** | 1 | 100.0 % |",
        "| **not temporal** | 1 | 50.0 % |",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    assert!(table.contains("4000 tokens"), "{table}");
}

#[test]
fn missing_doubled_and_odd_grades_are_named() {
    let run = answered();
    judge(run.path(), None).unwrap();
    grade(&run, |_| 1.0);
    let id = sheets(&run)[0][0]["id"].clone();
    put(&run, "judging/grades-01.jsonl", &[json!({"id": id, "grade": 1}), json!({"id": id, "grade": 1})]);
    let error = judge(run.path(), None).unwrap_err().to_string();
    let missing = sheets(&run)[0][1]["id"].as_str().unwrap().to_owned();
    assert_eq!(error, format!("no grade for {missing}; more than one grade for {}", id.as_str().unwrap()));
    grade(&run, |_| 0.7);
    let error = judge(run.path(), None).unwrap_err().to_string();
    assert!(error.contains("is 0.7: expected 0, 0.5 or 1"), "{error}");
}

#[test]
fn a_bad_line_is_named() {
    let run = answered();
    fs::write(run.path().join("shard-1/answers.jsonl"), "{\"file\": \"0001.txt\"}\n").unwrap();
    let error = format!("{:#}", judge(run.path(), None).unwrap_err());
    assert!(error.contains("answers.jsonl:1 ") && error.contains("answer"), "{error}");
}

fn found(name: &str, value: Option<u8>) -> Found<u8> {
    Found { name: name.to_owned(), value, of: PathBuf::from("grades-01.jsonl") }
}

#[test]
fn each_name_gets_one_value() {
    let values = collect("grade", ["a", "b"].into_iter(), vec![found("b", Some(2)), found("a", Some(1))]).unwrap();
    assert_eq!(values.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
}

#[test]
fn missing_doubled_and_unknown_names_are_named() {
    let given = vec![found("a", Some(1)), found("a", Some(1)), found("x", Some(3)), found("b", None)];
    let error = collect("grade", ["a", "b", "c"].into_iter(), given).unwrap_err().to_string();
    assert_eq!(
        error,
        "no grade for b, c; more than one grade for a; one grade for unknown names: x in grades-01.jsonl"
    );
}

#[test]
fn many_names_are_counted() {
    let names: Vec<String> = (0..25).map(|n| format!("n{n:02}")).collect();
    let error = collect::<u8>("answer", names.iter().map(String::as_str), Vec::new()).unwrap_err().to_string();
    assert!(error.starts_with("no answer for n00, n01") && error.ends_with("n19 and 5 more"), "{error}");
}
