//! Profiles: for a part of the tree, the maximum value at each number of tokens.

use std::{cmp::Ordering, sync::Arc};

/// Maximum points of the cached profile of a part.
pub(super) const MOST: usize = 64;
/// Maximum pairs of points that are compared one by one. More pairs are grouped into steps of tokens.
const FEW: usize = 1024;

/// Cost and value of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) tokens: u32,
    pub(super) value: f64,
}

/// Points with increasing tokens and increasing values.
pub(super) type Profile = Arc<[Point]>;

/// A point, and the indices of the two points that it combines.
pub(super) type Made = (Point, [u16; 2]);

/// The empty choice.
pub(super) const NOTHING: Point = Point { tokens: 0, value: 0.0 };

/// Combines each point of `one` with each point of `other`. Drops pairs that are dominated by another pair (no cheaper
/// and no more valuable) or cost more than `budget` tokens, but always keeps the cheapest.
///
/// Exact while there are few pairs and at most `most` points remain. Beyond that, keeps the best pair in each of `most`
/// equal steps of tokens, which loses at most the value of one step.
pub(super) fn merge(one: &[Point], other: &[Point], most: usize, budget: u32) -> Vec<Made> {
    let (Some(cheapest), Some(dearest)) = (one.first().zip(other.first()), one.last().zip(other.last())) else {
        return Vec::new();
    };
    let sum = |(a, b): (&Point, &Point)| a.tokens.saturating_add(b.tokens);
    let (least, highest) = (sum(cheapest), sum(dearest).min(budget).max(sum(cheapest)));
    let with = |(i, a): (u16, Point)| {
        let made = move |(j, b): (u16, &Point)| {
            (Point { tokens: a.tokens.saturating_add(b.tokens), value: a.value + b.value }, [i, j])
        };
        (0u16..).zip(other).map(made).take_while(move |(point, _)| point.tokens <= highest)
    };
    let all = || (0u16..).zip(one.iter().copied()).flat_map(with);
    match one {
        // Both sequences are sorted already. Most parts of a tree are SUMMARYs with two points each.
        [only] => thin(pareto(with((0, *only))), most),
        [first, second] => thin(pareto(in_order(with((0, *first)), with((1, *second)))), most),
        _ if one.len() * other.len() <= FEW => {
            let mut pairs: Vec<Made> = all().collect();
            pairs.sort_unstable_by(cheaper);
            thin(pareto(pairs), most)
        }
        _ => best_of_steps(all(), least, highest, most),
    }
}

/// Order by tokens; for equal tokens the most value first.
fn cheaper((a, i): &Made, (b, j): &Made) -> Ordering {
    a.tokens.cmp(&b.tokens).then(b.value.total_cmp(&a.value)).then(i.cmp(j))
}

fn in_order(one: impl Iterator<Item = Made>, other: impl Iterator<Item = Made>) -> impl Iterator<Item = Made> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if cheaper(b, a) == Ordering::Less => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

/// The points that are more valuable than all cheaper ones; `points` must be sorted by tokens.
pub(super) fn pareto(points: impl IntoIterator<Item = Made>) -> Vec<Made> {
    let mut kept: Vec<Made> = Vec::new();
    for made in points {
        if kept.last().is_none_or(|(best, _)| made.0.value > best.value) {
            kept.push(made);
        }
    }
    kept
}

/// Reduces the points to at most `most`.
pub(super) fn thin(points: Vec<Made>, most: usize) -> Vec<Made> {
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return points };
    if points.len() <= most {
        return points;
    }
    let (least, highest) = (first.tokens, last.tokens);
    best_of_steps(points, least, highest, most)
}

/// The cheapest point, and the best point in each of several equal steps of tokens.
fn best_of_steps(points: impl IntoIterator<Item = Made>, least: u32, highest: u32, most: usize) -> Vec<Made> {
    let steps = most.saturating_sub(1).max(1);
    let width = (highest - least).div_ceil(u32::try_from(steps).unwrap_or(u32::MAX)).max(1);
    let mut best: Vec<Option<Made>> = vec![None; steps + 1];
    for made in points {
        let behind = made.0.tokens.saturating_sub(least);
        // A step includes its upper bound.
        let Some(there) = best.get_mut(behind.div_ceil(width) as usize) else { continue };
        let better = |(point, _): &Made| {
            made.0.value > point.value || (made.0.value >= point.value && made.0.tokens < point.tokens)
        };
        if there.as_ref().is_none_or(better) {
            *there = Some(made);
        }
    }
    pareto(best.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profile(steps: Vec<(u32, u32)>) -> Vec<Point> {
        let mut at = NOTHING;
        let next = |(tokens, value): (u32, u32)| {
            at = Point { tokens: at.tokens + tokens, value: at.value + f64::from(value) };
            at
        };
        steps.into_iter().map(next).collect()
    }

    fn profiles(most: usize) -> impl Strategy<Value = Vec<Point>> {
        prop::collection::vec((1u32..40, 1u32..40), 1..most).prop_map(profile)
    }

    /// The most value of a pair of at most `tokens`.
    fn best(one: &[Point], other: &[Point], tokens: u32) -> Option<f64> {
        let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a.tokens + b.tokens, a.value + b.value)));
        pairs.filter(|pair| pair.0 <= tokens).map(|pair| pair.1).max_by(f64::total_cmp)
    }

    fn bought(made: &[Made], tokens: u32) -> Option<f64> {
        made.iter().rfind(|(point, _)| point.tokens <= tokens).map(|(point, _)| point.value)
    }

    proptest! {
        #[test]
        fn few_points_are_merged_exactly(one in profiles(8), other in profiles(8), budget in 0u32..800) {
            let made = merge(&one, &other, MOST, 1_000);
            prop_assert_eq!(bought(&made, budget), best(&one, &other, budget));
            for (point, [i, j]) in made {
                let (a, b) = (one[usize::from(i)], other[usize::from(j)]);
                prop_assert_eq!(point, Point { tokens: a.tokens + b.tokens, value: a.value + b.value });
            }
        }

        #[test]
        fn many_points_lose_no_more_than_a_step(one in profiles(80), other in profiles(80), budget in 0u32..4_000) {
            let made = merge(&one, &other, MOST, 10_000);
            prop_assert!(made.len() <= MOST);
            prop_assert!(made.windows(2).all(|two| two[0].0.tokens < two[1].0.tokens && two[0].0.value < two[1].0.value));
            let least = one[0].tokens + other[0].tokens;
            prop_assert_eq!(made[0].0.tokens, least, "the cheapest is there");
            let step = (one.last().unwrap().tokens + other.last().unwrap().tokens - least).div_ceil(63);
            prop_assert!(bought(&made, budget) <= best(&one, &other, budget));
            if budget >= least + step {
                prop_assert!(bought(&made, budget) >= best(&one, &other, budget - step));
            }
        }

        #[test]
        fn what_is_beyond_the_budget_is_left_out(one in profiles(50), other in profiles(50), budget in 0u32..2_000) {
            let made = merge(&one, &other, MOST, budget);
            let least = one[0].tokens + other[0].tokens;
            prop_assert!(made.iter().all(|(point, _)| point.tokens <= budget.max(least)));
        }
    }
}
