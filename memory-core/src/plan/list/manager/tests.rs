//! State that is kept between two reductions, and over a restart.

use super::*;
use crate::{
    Message,
    plan::list::{
        ListItem, Listed,
        testing::{long_result, messages},
    },
};

const OVERFLOW: Option<ReduceCause> = Some(ReduceCause::Overflow);

fn summarizing(ratio: f64, preserved: usize) -> ListManager<Message> {
    let config = Summarizing::new(ratio).unwrap().preserve_recent_messages(preserved);
    ListManager::new(ListStrategy::Summarizing(config))
}

fn window(size: usize) -> ListManager<Message> {
    ListManager::new(ListStrategy::SlidingWindow(SlidingWindow::new(size)))
}

fn summary(number: usize) -> Message {
    Message::user(format!("Summary {number}"))
}

/// One reduction with a cause; returns how many summaries it asked for.
fn reduce(manager: &mut ListManager<Message>, list: &mut Vec<Message>, number: usize) -> Result<usize, ListError> {
    let plan = manager.plan_reduce(list, OVERFLOW)?;
    let written = plan.summary_at.map(|_| summary(number));
    let paid = usize::from(written.is_some());
    manager.commit(&plan, list, written)?;
    Ok(paid)
}

#[test]
fn the_counter_counts_messages_and_never_the_managers_own() {
    let mut manager = summarizing(0.5, 1);
    let mut list = messages("u m u m u m u m");
    reduce(&mut manager, &mut list, 1).unwrap();
    assert_eq!((list.len(), manager.kept().removed_message_count), (5, 4));
    reduce(&mut manager, &mut list, 2).unwrap();
    assert_eq!((list.len(), manager.kept().removed_message_count), (4, 5));
    assert_eq!(manager.kept().summary, Some(summary(2)));
}

#[test]
fn trap_b_a_failed_summary_leaves_counter_and_list_as_they_were() {
    let mut manager = summarizing(0.5, 2);
    let mut list = messages("u m u m u m u m");
    reduce(&mut manager, &mut list, 1).unwrap();
    let (before, list_before) = (manager.clone(), list.clone());
    let plan = manager.plan_reduce(&list, OVERFLOW).unwrap();
    assert!(plan.summary_at.is_some());
    // The model fails here: there is nothing to commit.
    assert_eq!((manager, list), (before, list_before));
}

#[test]
fn trap_a_no_livelock_a_list_that_cannot_shrink_is_exhausted_without_a_summary() {
    let mut manager = ListManager::new(ListStrategy::Summarizing(Summarizing::default()));
    let mut list = messages(&"u m ".repeat(20));
    let mut lengths = Vec::new();
    let error = loop {
        match reduce(&mut manager, &mut list, lengths.len()) {
            Ok(paid) => assert_eq!(paid, 1),
            Err(error) => break error,
        }
        lengths.push(list.len());
        assert!(lengths.len() < 20, "{lengths:?}");
    };
    assert_eq!((lengths.as_slice(), error), ([29, 22, 17, 13, 11].as_slice(), ListError::Exhausted));
}

#[test]
fn compaction_that_cannot_shrink_says_exhausted_once_and_pays_nothing_again() {
    let mut manager = ListManager::new(ListStrategy::Summarizing(Summarizing::default()));
    let mut list = messages(&"u m ".repeat(20));
    while reduce(&mut manager, &mut list, 0).is_ok() {}
    let mut reports = Vec::new();
    for _ in 0..3 {
        let plan = manager.plan_reduce(&list, None).unwrap();
        assert_eq!(plan.summary_at, None, "no summary is asked for");
        reports.extend(manager.commit(&plan, &mut list, None).unwrap());
    }
    assert_eq!(reports, [ListError::Exhausted]);
    assert_eq!(
        manager.plan_reduce(&list, OVERFLOW),
        Err(ListError::Exhausted),
        "with a cause it is an error each time"
    );
}

#[test]
fn a_summary_that_makes_nothing_shorter_is_refused_and_not_paid_for_again() {
    let mut manager = summarizing(0.1, 2);
    let mut list = messages("u m u");
    let before = list.clone();
    let plan = manager.plan_reduce(&list, None).unwrap();
    assert_eq!(plan.remove, [0]);
    let long = Message::user("A summary that is longer than the message that it stands for.");
    let error = manager.commit(&plan, &mut list, Some(long)).unwrap_err();
    assert_eq!(error.code(), "no_progress");
    assert_eq!((&list, manager.kept().removed_message_count), (&before, 0));
    assert_eq!(manager.plan_reduce(&list, None).unwrap().stopped, Some(ListError::Exhausted));
    assert_eq!(manager.plan_reduce(&list, OVERFLOW), Err(ListError::Exhausted));
}

#[test]
fn trap_d_an_oversized_result_in_the_preserved_tail_is_shortened() {
    let mut manager = summarizing(0.3, 10);
    let mut list = messages("u A a m");
    list[2] = long_result('a', 100_000);
    assert_eq!(reduce(&mut manager, &mut list, 0), Ok(0));
    assert!(list[2].text().chars().count() < 500);
    assert_eq!(reduce(&mut manager, &mut list, 0).unwrap_err().code(), "insufficient_messages");
}

/// The list of an agent whose session has all messages, after a restart.
fn restored(manager: &mut ListManager<Message>, state: &ManagerState, session: &[Message]) -> Vec<Message> {
    let mut list = manager.restore(&ManagerState::from_json(&state.to_json()).unwrap()).unwrap();
    let offset = usize::try_from(manager.kept().session_offset()).unwrap();
    // A session keeps messages as they were said: without pins.
    list.extend(session[offset..].iter().cloned());
    list
}

#[test]
fn pins_survive_a_restore() {
    for strategy in [
        ListStrategy::SlidingWindow(SlidingWindow::new(4).pin_first(2)),
        ListStrategy::Summarizing(Summarizing::new(0.5).unwrap().preserve_recent_messages(2).pin_first(2)),
    ] {
        let mut manager = ListManager::new(strategy.clone());
        let session = messages("u m u m u m u m u m");
        let mut list = session.clone();
        // One that the caller pins, in the tail.
        list[8].pin();
        reduce(&mut manager, &mut list, 1).unwrap();
        let texts = |list: &[Message]| list.iter().map(Message::text).collect::<Vec<_>>();

        let mut again = ListManager::new(strategy);
        let mut resumed = restored(&mut again, &manager.state(), &session);
        assert_eq!(texts(&resumed), texts(&list));
        again.observe(&mut resumed);
        assert!(resumed.iter().find(|message| message.text() == "question 8").unwrap().item().pinned);
        for _ in 0..4 {
            resumed.extend([Message::user("later"), Message::assistant("indeed")]);
            resumed.extend([Message::user("later still"), Message::assistant("so it is")]);
            reduce(&mut again, &mut resumed, 2).unwrap();
            let shown = texts(&resumed);
            for pinned in ["question 0", "answer 1", "question 8"] {
                assert_eq!(shown.iter().filter(|text| *text == pinned).count(), 1, "{pinned} in {shown:?}");
            }
        }
        assert!(!texts(&resumed).contains(&"question 2".to_owned()), "the first two are pinned once");
    }
}

#[test]
fn a_restore_runs_no_second_summary() {
    let mut manager = summarizing(0.5, 2);
    let session = messages("u m u m u m u m");
    let mut list = session.clone();
    reduce(&mut manager, &mut list, 7).unwrap();
    let mut again = summarizing(0.5, 2);
    let resumed = restored(&mut again, &manager.state(), &session);
    assert_eq!(resumed, list, "the summary that was paid for, and the messages after it");
    assert_eq!(again.kept().summary, Some(summary(7)));
    let plan = again.plan_apply(&resumed).unwrap();
    assert!(!plan.reduces() && plan.summary_at.is_none());
}

#[test]
fn a_state_of_another_manager_is_refused() {
    let mut manager = window(3);
    manager.set_model_call_count(7);
    let state = manager.state();
    let error = summarizing(0.5, 2).restore(&state).unwrap_err().to_string();
    assert!(error.contains("`sliding-window`, not of `summarizing`"), "{error}");
    let mut broken = state.clone();
    broken.data = serde_json::json!({"model_call_count": "seven"});
    assert!(matches!(manager.restore(&broken), Err(ManagerError::InvalidState { .. })));
    assert_eq!(manager.kept().model_call_count, 7, "nothing changed");
    let mut other = window(3);
    other.restore(&state).unwrap();
    assert_eq!(other.kept().model_call_count, 7);
}

#[test]
fn a_list_that_ends_in_a_tool_use_resumes() {
    let mut manager = window(3);
    let mut list = messages("u m u m u A");
    let plan = manager.plan_apply(&list).unwrap();
    manager.commit(&plan, &mut list, None).unwrap();
    assert_eq!(list.len(), 2, "the query and its open call");
    let mut again = window(3);
    let session = messages("u m u m u A");
    let resumed = restored(&mut again, &manager.state(), &session);
    assert_eq!(resumed, list);
    let mut summarized = messages("u m u m u A");
    reduce(&mut summarizing(0.8, 1), &mut summarized, 0).unwrap();
    assert_eq!(summarized.last().unwrap().tool_calls().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_plan_for_another_list_changes_nothing() {
    let mut manager = window(2);
    let plan = manager.plan_apply(&messages("u m u m")).unwrap();
    let mut other = messages("u m");
    assert_eq!(manager.commit(&plan, &mut other, None).unwrap_err().code(), "other_list");
    assert_eq!((other, manager.kept().removed_message_count), (messages("u m"), 0));
}

#[test]
fn an_outline_says_what_a_plan_needs() {
    let list = messages("AB ab");
    let expected = ListItem::new(crate::Role::Assistant, list[0].text().len()).calls(vec!["a".into(), "b".into()]);
    assert_eq!(list[0].item(), expected);
    assert_eq!(list[1].item().results, ["a", "b"]);
    assert!(!list[1].item().can_be_shortened && long_result('a', 401).item().can_be_shortened);
}
