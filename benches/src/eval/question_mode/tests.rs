//! Question mode over a generated conversation that fits the budget.

use serde_json::json;

use super::*;
use crate::eval::tests::{data, parts};

#[test]
fn a_conversation_that_fits_is_shown_whole() {
    let data = data(&[
        json!({"query_id": "q0", "conversation_id": "talk", "question": "fed tortoise?", "answer": "no", "evidence": ["t1"]}),
        json!({"query_id": "q1", "conversation_id": "talk", "question": "kiln Mondays", "answer": "closed", "evidence": ["t2"]}),
    ]);
    let mode = pollster::block_on(question_mode(&parts(), data.path(), 40, true)).unwrap();
    assert_eq!(mode.questions, 2);
    assert_eq!((mode.hits_kept, mode.evidence), (Some(1.0), [Some(1.0), Some(1.0)]));
    // `[Message 1, Ada]: …` is 5 words and `Ada: …` 1 by the counter of this test, of lines with some 9 more.
    let labels = mode.label_overhead.unwrap();
    assert!((1.2..=1.6).contains(&labels), "{labels}");
    assert!(mode.to_string().contains("hits kept 1.000 (1.000 of 1.000)"), "{mode}");
}
