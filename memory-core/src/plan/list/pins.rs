//! Messages that must stay in a list.

use super::item::ListItem;

/// For each message, true if it must stay: it is pinned, or is the adjacent other half of a pinned tool call or result.
#[must_use]
pub fn kept(items: &[ListItem]) -> Vec<bool> {
    let beside = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| items.get(before));
        before.into_iter().chain(items.get(index + 1))
    };
    let is_kept = |(index, item): (usize, &ListItem)| {
        item.pinned || beside(index).any(|neighbor| neighbor.pinned && shares_a_call(item, neighbor))
    };
    items.iter().enumerate().map(is_kept).collect()
}

/// True if two messages name the same tool call.
fn shares_a_call(one: &ListItem, other: &ListItem) -> bool {
    let ids = |item| -> Vec<&String> { ListItem::ids(item).collect() };
    let others = ids(other);
    ids(one).iter().any(|id| others.contains(id))
}

impl ListItem {
    /// Ids of the tool calls that it makes or answers.
    fn ids(&self) -> impl Iterator<Item = &String> {
        self.calls.iter().chain(&self.results)
    }
}

/// A copy with the first `count` messages pinned.
pub(super) fn with_first_pinned(items: &[ListItem], count: usize) -> Vec<ListItem> {
    let mut items = items.to_vec();
    items.iter_mut().take(count).for_each(|item| item.pinned = true);
    items
}

/// Indices below `end` of messages that may be removed.
pub(super) fn removable(items: &[ListItem], end: usize) -> Vec<usize> {
    kept(items).into_iter().enumerate().take(end).filter_map(|(index, kept)| (!kept).then_some(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::list::testing::items;

    #[test]
    fn the_other_half_of_a_pinned_call_stays_too() {
        // A call and its result have the same letter.
        let mut list = items("u A a u B b");
        list[2].pinned = true;
        assert_eq!(kept(&list), [false, true, true, false, false, false]);
        assert_eq!(removable(&list, 5), [0, 3, 4]);
    }

    #[test]
    fn a_result_far_from_its_pinned_call_is_on_its_own() {
        let mut list = items("A u a");
        list[0].pinned = true;
        assert_eq!(kept(&list), [true, false, false]);
    }
}
