//! The cases of Strands' own tests, in the alphabet of `testing.rs`.

use super::*;
use crate::plan::list::{
    ListSlot,
    item::Listed,
    testing::{items, long_result, messages},
};

/// The indices that stay.
fn stays(plan: &ListPlan) -> Vec<usize> {
    plan.slots()
        .into_iter()
        .map(|slot| match slot {
            ListSlot::Message(index) => index,
            ListSlot::Summary => panic!("a window writes no summary"),
        })
        .collect()
}

fn check(window: usize, shape: &str, expected: &[usize]) {
    let plan = SlidingWindow::new(window).plan_apply(&items(shape), true).unwrap();
    assert_eq!(stays(&plan), expected, "{shape} in a window of {window}");
}

#[test]
fn a_window_keeps_what_fits_and_begins_at_a_plain_message_of_the_user() {
    check(3, "u m", &[0, 1]);
    check(2, "a", &[0]);
    check(3, "a B", &[0, 1]);
    check(3, "u m u A", &[2, 3]);
    check(2, "u m u m", &[2, 3]);
    check(2, "u A a m u", &[4]);
    check(3, "u A a m u", &[4]);
    check(4, "u A a B b m u", &[6]);
    check(3, "u m u m u", &[2, 3, 4]);
    check(4, "u m u m u m", &[2, 3, 4, 5]);
    check(4, "u A a B b C c m", &[5, 6, 7]);
    check(2, "u A a m u m", &[4, 5]);
    check(0, "u m u", &[]);
}

#[test]
fn a_list_that_may_begin_nowhere_is_an_error_with_a_cause_and_no_change_without() {
    let list = items("A b");
    let window = SlidingWindow::new(1).should_truncate_results(false);
    assert_eq!(window.plan_reduce(&list, true, Some(ReduceCause::Overflow)), Err(ListError::NoTrimPoint));
    let plan = window.plan_reduce(&list, true, None).unwrap();
    assert_eq!((plan.reduces(), plan.stopped), (false, Some(ListError::NoTrimPoint)));
}

#[test]
fn the_oldest_result_is_shortened_first_and_one_at_a_time() {
    let mut list = messages("u A x B x m");
    list[2] = long_result('a', 900);
    list[4] = long_result('b', 900);
    let window = SlidingWindow::new(10);
    for expected in [2, 4] {
        let outline: Vec<_> = list.iter().map(Listed::item).collect();
        let plan = window.plan_reduce(&outline, true, Some(ReduceCause::Overflow)).unwrap();
        assert_eq!((plan.shorten.as_slice(), plan.remove.len()), ([expected].as_slice(), 0));
        list = plan.apply(&list, None).unwrap();
        assert!(list[expected].text().contains("... [truncated: 500 chars removed] ..."));
    }
    let outline: Vec<_> = list.iter().map(Listed::item).collect();
    let error = window.plan_reduce(&outline, true, Some(ReduceCause::Overflow));
    assert_eq!(error.unwrap().remove, [0, 1, 2], "then the list is trimmed");
}

#[test]
fn results_are_not_shortened_without_a_cause() {
    let list = [messages("u").remove(0), messages("A").remove(0), long_result('a', 900)];
    let outline: Vec<_> = list.iter().map(Listed::item).collect();
    let plan = SlidingWindow::new(2).plan_reduce(&outline, true, None).unwrap();
    assert_eq!(plan.shorten, [0; 0]);
}

#[test]
fn trap_d_one_oversized_tool_result_is_reduced_wherever_it_stands() {
    // The oldest result is short: the long one is behind it.
    let mut list = messages("u A a B b");
    list[4] = long_result('b', 100_000);
    let outline: Vec<_> = list.iter().map(Listed::item).collect();
    let plan = SlidingWindow::new(10).plan_reduce(&outline, true, Some(ReduceCause::Overflow)).unwrap();
    let reduced = plan.apply(&list, None).unwrap();
    assert!(reduced[4].text().chars().count() < 500);
}

#[test]
fn pinned_messages_stay_in_every_window() {
    let mut list = items("u m u m u m");
    let first_two = SlidingWindow::new(2).pin_first(2);
    assert_eq!(stays(&first_two.plan_reduce(&list, true, None).unwrap()), [0, 1, 4, 5]);
    let all = SlidingWindow::new(2).pin_first(6).plan_reduce(&list, true, None).unwrap();
    assert_eq!((all.reduces(), all.stopped), (false, Some(ListError::AllPinned)));
    assert_eq!(stays(&SlidingWindow::new(0).pin_first(2).plan_reduce(&list, true, None).unwrap()), [0, 1]);
    list[1].pinned = true;
    assert_eq!(stays(&SlidingWindow::new(2).plan_reduce(&list, true, None).unwrap()), [1, 4, 5]);
}

#[test]
fn a_configuration_is_read_from_json_and_refused_by_field() {
    let read = |json: &str| serde_json::from_str::<SlidingWindow>(json);
    assert_eq!(read("{}").unwrap(), SlidingWindow::default());
    let given = read(r#"{"window_size": 3, "per_turn": 5, "pin_first": 2, "proactive_compression": true}"#).unwrap();
    let expected = SlidingWindow::new(3)
        .per_turn(PerTurn::nth(5).unwrap())
        .pin_first(2)
        .proactive_compression(ProactiveCompression::ON);
    assert_eq!(given, expected);
    assert_eq!(read(&serde_json::to_string(&expected).unwrap()).unwrap(), expected);
    let error = |json: &str| read(json).unwrap_err().to_string();
    assert!(error(r#"{"per_turn": 0}"#).starts_with("per_turn must be a positive integer, true, or false, got 0"));
    assert!(error(r#"{"per_turn": -5}"#).contains("per_turn must be"));
    assert!(error(r#"{"window_size": -1}"#).starts_with("window_size must be a non-negative integer, got -1"));
    assert!(error(r#"{"window": 1}"#).contains("unknown field `window`"));
}

#[test]
fn a_window_is_applied_before_every_nth_call() {
    let due = |per_turn: PerTurn| (1..=6).filter(|call| per_turn.is_due(*call)).collect::<Vec<_>>();
    assert_eq!(due(PerTurn::Off), [0; 0]);
    assert_eq!(due(PerTurn::Every), [1, 2, 3, 4, 5, 6]);
    assert_eq!(due(PerTurn::nth(2).unwrap()), [2, 4, 6]);
    assert!(PerTurn::nth(0).is_err());
}
