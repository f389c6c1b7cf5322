//! Places where a list may be split without separating a tool call from its result.

use super::{error::ListError, item::ListItem};
use crate::Role;

/// True if a list may begin at `index`: it holds no result of an earlier call, and no call that the next message does
/// not answer. A call at the end of the list may still be answered.
fn may_begin(items: &[ListItem], index: usize) -> bool {
    let Some(item) = items.get(index) else { return false };
    let next_answers = items.get(index + 1).is_none_or(|next| !next.results.is_empty());
    item.results.is_empty() && (item.calls.is_empty() || next_answers)
}

/// First place from `split` on where the list may be split; the end of the list is one.
///
/// # Errors
/// [`ListError::SplitBeyondEnd`], and [`ListError::NoTrimPoint`] if there is none before the end.
pub fn split_forward(items: &[ListItem], split: usize) -> Result<usize, ListError> {
    if split > items.len() {
        return Err(ListError::SplitBeyondEnd { split, messages: items.len() });
    }
    if split == items.len() {
        return Ok(split);
    }
    (split..items.len()).find(|index| may_begin(items, *index)).ok_or(ListError::NoTrimPoint)
}

/// Place nearest to `split`, at most `limit` and never 0, where the list may be split: the next one after it, else the
/// last one before it.
pub(super) fn split_within(items: &[ListItem], split: usize, limit: usize) -> Option<usize> {
    let forward = split_forward(items, split).ok().filter(|found| *found <= limit);
    forward.or_else(|| (1..split).rev().find(|index| may_begin(items, *index)))
}

/// First message from `start` on at which a prompt may begin: a user's message that is no tool result.
#[must_use]
pub fn query_from(items: &[ListItem], start: usize) -> Option<usize> {
    let is_query = |index: &usize| {
        items.get(*index).is_some_and(|item| {
            let is_whole = item.calls.is_empty() || answer_to(items, *index).is_some();
            item.role == Role::User && item.results.is_empty() && is_whole
        })
    };
    (start..items.len()).find(is_query)
}

/// First message from `start` on at which a shorter list may begin: a query, otherwise a call that the next message
/// answers.
pub(super) fn trim_point(items: &[ListItem], start: usize) -> Option<usize> {
    let is_pair = |index: &usize| {
        let calls = items.get(*index).is_some_and(|item| !item.calls.is_empty());
        calls && answer_to(items, *index).is_some_and(|next| next.role == Role::User)
    };
    query_from(items, start).or_else(|| (start..items.len()).find(is_pair))
}

/// The next message, if it answers a call.
fn answer_to(items: &[ListItem], index: usize) -> Option<&ListItem> {
    items.get(index + 1).filter(|next| !next.results.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::list::testing::items;

    #[test]
    fn a_split_moves_forward_over_results_and_unanswered_calls() {
        let check = |shape: &str, split: usize, expected: Result<usize, &str>| {
            let found = split_forward(&items(shape), split).map_err(|error| error.code());
            assert_eq!(found, expected, "{shape} at {split}");
        };
        check("u A a m", 2, Ok(3));
        check("u A a m", 3, Ok(3));
        check("u A a m", 1, Ok(1));
        check("u m", 5, Err("split_beyond_end"));
        check("u m", 2, Ok(2));
        check("u a", 1, Err("no_trim_point"));
        check("u m a B", 2, Ok(3));
        check("u A u a", 3, Err("no_trim_point"));
        check("u A u m", 1, Ok(2));
    }

    #[test]
    fn a_split_moves_back_rather_than_beyond_its_limit() {
        let list = items("u m u A a B b m");
        assert_eq!(split_within(&list, 4, 8), Some(5));
        assert_eq!(split_within(&list, 4, 4), Some(3));
        assert_eq!(split_within(&items("A a m"), 1, 1), None, "nothing would be summarized");
    }

    #[test]
    fn trap_f_a_tool_result_turn_is_not_mistaken_for_a_user_query() {
        assert_eq!(trim_point(&items("u A a m u"), 2), Some(4));
        assert_eq!(trim_point(&items("u A a B b"), 2), Some(3), "a whole pair, where no query is left");
        assert_eq!(trim_point(&items("u A a m"), 2), None);
    }

    #[test]
    fn trap_e_parallel_tool_calls_of_one_turn_stay_with_their_results() {
        // The results in one message, and in one each.
        assert_eq!(split_forward(&items("u AB ab m"), 2), Ok(3));
        assert_eq!(split_forward(&items("u AB a b m"), 2), Ok(4));
        assert_eq!(split_forward(&items("u AB a b m"), 3), Ok(4));
    }
}
