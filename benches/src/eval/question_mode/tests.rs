//! Question mode over a generated conversation that fits every budget.

use serde_json::json;

use super::*;
use crate::eval::tests::{data, parts};

#[test]
fn a_conversation_that_fits_is_shown_whole_at_every_budget() {
    let data = data(&[
        json!({"query_id": "q0", "conversation_id": "talk", "question": "fed tortoise?", "answer": "no", "evidence": ["t1"]}),
        json!({"query_id": "q1", "conversation_id": "talk", "question": "kiln Mondays", "answer": "closed", "evidence": ["t2"]}),
    ]);
    let mode = pollster::block_on(question_mode(&parts(), data.path(), 40, true)).unwrap();
    assert_eq!(mode.questions, 2);
    assert_eq!((mode.hits_kept, mode.evidence), (Some(1.0), [Some(1.0), Some(1.0)]));
    assert_eq!((mode.end_verbatim, mode.recent_verbatim), (Some(1.0), Some(1.0)));
    assert_eq!(mode.end_by_budget.len(), BUDGETS.len());
    // `[Message 1, Ada]: …` is 5 words and `Ada: …` 1 by the counter of this test, of lines with some 9 more.
    let labels = mode.label_overhead.unwrap();
    assert!((1.2..=1.6).contains(&labels), "{labels}");
    assert!(mode.to_string().contains("hits kept 1.000 (1.000 of 1.000)"), "{mode}");
}

#[test]
fn the_last_ten_are_asked_for_where_they_take_half_at_most() {
    let data = data(&[json!({"query_id": "q0", "conversation_id": "talk", "question": "?", "answer": "a"})]);
    let parts = parts();
    let questions = sample(&[data.path().to_owned()], None, SEED).unwrap();
    let subjects =
        pollster::block_on(prepare(&parts, data.path(), questions.iter().map(|asked| &asked.question), true)).unwrap();
    let subject = subjects.values().next().unwrap();
    let mut nodes = pollster::block_on(subject.nodes(&parts)).unwrap();
    let shown = Shown { whole: nodes.iter().skip(1).map(|node| node.id).collect(), ..Shown::default() };
    assert_eq!(recent(&shown, &nodes), Some(2.0 / 3.0));
    nodes[0].tokens = BUDGET;
    assert_eq!(recent(&shown, &nodes), None, "they take more than half of the budget");
    assert_eq!(recent(&shown, &[]), None);
}
