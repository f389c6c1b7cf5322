//! Messages that are summarized, and those that never are.

use proptest::prelude::*;

use super::*;
use crate::plan::list::testing::items;

fn config(ratio: f64, preserved: usize) -> Summarizing {
    Summarizing::new(ratio).unwrap().preserve_recent_messages(preserved)
}

fn plan(config: &Summarizing, shape: &str) -> Result<ListPlan, ListError> {
    config.plan_reduce(&items(shape), true, Some(ReduceCause::Overflow))
}

#[test]
fn a_ratio_out_of_range_is_an_error_and_may_be_clamped() {
    assert_eq!((Summarizing::default().summary_ratio(), Summarizing::default().preserved()), (0.3, 10));
    for wrong in [0.05, 0.95, -1.0, f64::NAN, f64::INFINITY] {
        let error = Summarizing::new(wrong).unwrap_err().to_string();
        assert!(error.starts_with("summary_ratio must be between 0.1 and 0.8, got"), "{error}");
    }
    assert_eq!(Summarizing::clamped(0.05).summary_ratio(), 0.1);
    assert_eq!(Summarizing::clamped(0.95).summary_ratio(), 0.8);
    assert_eq!(Summarizing::clamped(f64::NAN).summary_ratio(), 0.3);
    assert_eq!(Summarizing::clamped(0.5), Summarizing::new(0.5).unwrap());
}

#[test]
fn a_configuration_is_read_from_json_and_refused_by_field() {
    let read = |json: &str| serde_json::from_str::<Summarizing>(json);
    assert_eq!(read("{}").unwrap(), Summarizing::default());
    let given = read(r#"{"summary_ratio": 0.5, "preserve_recent_messages": "tools"}"#).unwrap();
    assert_eq!((given.summary_ratio(), given.preserved()), (0.5, 20));
    assert_eq!(read(&serde_json::to_string(&given).unwrap()).unwrap().preserved(), 20);
    assert!(read(r#"{"summary_ratio": 0.95}"#).unwrap_err().to_string().contains("between 0.1 and 0.8, got 0.95"));
    let error = read(r#"{"preserve_recent_messages": "all"}"#).unwrap_err().to_string();
    assert!(error.contains("one of chat, tools, documents, got \"all\""), "{error}");
    assert!(read(r#"{"ratio": 0.5}"#).is_err());
}

#[test]
fn the_oldest_messages_are_summarized_and_the_summary_stands_in_their_place() {
    let found = plan(&config(0.5, 2), "u m u m u m").unwrap();
    assert_eq!((found.remove.as_slice(), found.summary_at, found.cut), ([0, 1, 2].as_slice(), Some(3), 3));
    let twenty = "u m ".repeat(10);
    assert_eq!(plan(&config(0.5, 2), &twenty).unwrap().remove.len(), 10);
    assert_eq!(plan(&config(0.5, 1), "A a u").unwrap().remove, [0, 1], "a call with its result");
}

#[test]
fn too_few_messages_are_an_error_with_a_cause_and_no_change_without() {
    let check = |shape: &str, preserved: usize| {
        let config = config(0.5, preserved);
        let messages = items(shape).len();
        let error = ListError::Insufficient { messages, preserved };
        assert_eq!(plan(&config, shape), Err(error.clone()));
        let without = config.plan_reduce(&items(shape), true, None).unwrap();
        assert_eq!((without.reduces(), without.stopped), (false, Some(error)));
    };
    check("", 10);
    check("u m u", 5);
    check("u m u", 3);
}

#[test]
fn trap_c_the_tail_is_not_eaten_to_spare_a_tool_pair() {
    // A split at 4 would part call and result; the next whole place, 5, is in the tail.
    let found = plan(&config(0.5, 4), "u m u A a m u m").unwrap();
    assert_eq!(found.cut, 3, "it moves back");
    let error = plan(&config(0.5, 2), "A a b c").unwrap_err();
    assert_eq!(error, ListError::TailPreserved { preserved: 2 });
}

#[test]
fn pinned_messages_are_neither_summarized_nor_moved_behind_the_summary() {
    let found = Summarizing::new(0.5).unwrap().preserve_recent_messages(2).pin_first(1);
    let found = found.plan_reduce(&items("u m u m u m"), true, None).unwrap();
    assert_eq!((found.pin_first, found.remove.as_slice(), found.summary_at), (1, [1, 2].as_slice(), Some(3)));
    let all = config(0.5, 2).pin_first(3).plan_reduce(&items("u m u m u m"), true, None).unwrap();
    assert_eq!(all.stopped, Some(ListError::AllPinned));
}

proptest! {
    /// In any list the tail stays, nothing pinned goes, and no result is left without its call.
    #[test]
    fn the_preserved_tail_is_whole_after_every_plan(
        shape in proptest::collection::vec("u|m|A a|B b|AB ab|C|c", 1..30),
        ratio in 0.1..=0.8f64,
        preserved in 0usize..12,
    ) {
        let list = items(&shape.join(" "));
        let plan = config(ratio, preserved).plan_reduce(&list, true, None).unwrap();
        prop_assert!(plan.cut <= list.len().saturating_sub(preserved));
        prop_assert!(plan.remove.iter().all(|index| *index < plan.cut));
        if plan.summary_at.is_some() && plan.cut < list.len() {
            prop_assert!(list[plan.cut].results.is_empty());
        }
        prop_assert!(plan.reduces() || plan.stopped.is_some());
    }
}
