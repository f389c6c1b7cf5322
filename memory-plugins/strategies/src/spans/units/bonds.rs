//! Boundaries at which no unit may end: before words that take a clause back, and near a condition.

use super::{LONGEST_BOND, WordPlace, ends::End};
use crate::spans::lexis::Class;

/// Maximum words between "but" and the words that take a clause back.
const NEAR_REVERSAL: usize = 6;

/// Maximum words between the start of a main clause and a condition after it.
const NEAR_CONDITION: usize = 12;

/// Removes the boundaries between a clause and the clause after it that takes it back.
pub(super) fn bind_reversals(places: &mut [WordPlace]) {
    for contrast in 1..places.len() {
        if !places.get(contrast).is_some_and(|place| place.class.is(Class::CONTRAST)) {
            continue;
        }
        let mut after = places.iter().enumerate().skip(contrast + 1).take(NEAR_REVERSAL);
        let Some((reversal, _)) = after.find(|(_, place)| place.class.is(Class::REVERSAL)) else { continue };
        let before = places.get(..contrast - 1).unwrap_or_default();
        let first = before.iter().rposition(|place| place.end_of >= End::Clause).map_or(0, |end| end + 1);
        let bound = places.get_mut(first..reversal).unwrap_or_default();
        if bound.len() < LONGEST_BOND && bound.iter().all(|place| place.end_of != End::Gap) {
            bound.iter_mut().for_each(|place| place.end_of = End::Nothing);
        }
    }
}

/// For each place, true if a condition opens soon after it in the same clause.
pub(super) fn conditions(places: &[WordPlace]) -> Vec<bool> {
    if !places.iter().any(|place| place.class.is(Class::CONDITION)) {
        return Vec::new();
    }
    let mut near = vec![false; places.len()];
    let mut distance = usize::MAX;
    let before = std::iter::once(Class::default()).chain(places.iter().map(|place| place.class));
    let before: Vec<Class> = before.take(places.len()).collect();
    for ((place, near), before) in places.iter().zip(&mut near).zip(before).rev() {
        // A comma may precede the condition itself.
        if place.end_of >= End::Clause && distance != 0 {
            distance = usize::MAX;
        }
        *near = distance < NEAR_CONDITION;
        distance = if place.class.is(Class::CONDITION) && !before.is(Class::ATTITUDE) {
            0
        } else {
            distance.saturating_add(1)
        };
    }
    near
}
