//! Distributes the blinded files to readers.

use anyhow::{Result, ensure};

use super::key::Condition;

/// A question under one condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dealt {
    /// The question, by its index in the sample.
    pub(super) question: usize,
    pub(super) condition: Condition,
}

/// The files of each reader, in reading order. Every question is read under both conditions, but no reader gets the same
/// question twice. Each reader gets about equally many files of both conditions.
///
/// # Errors
/// With fewer than two readers, because one of them would see both.
pub(super) fn deal(questions: usize, readers: usize, seed: u64) -> Result<Vec<Vec<Dealt>>> {
    ensure!(readers >= 2, "--shards {readers}: with fewer than 2, a reader sees both conditions of one question");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..questions).collect();
    random.shuffle(&mut order);
    let mut hands = vec![Vec::new(); readers];
    for (place, question) in order.into_iter().enumerate() {
        // Within one round of the readers the distance is constant, so that each gets one file of each condition.
        let (round, ours) = (place / readers, place % readers);
        let hits = (ours + 1 + round % (readers - 1)) % readers;
        for (reader, condition) in [(ours, Condition::Ours), (hits, Condition::Hits)] {
            hands.get_mut(reader).into_iter().for_each(|hand: &mut Vec<_>| hand.push(Dealt { question, condition }));
        }
    }
    hands.iter_mut().for_each(|hand| random.shuffle(hand));
    Ok(hands)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_reader_gets_both_conditions_of_a_question() {
        for (questions, readers) in [(1, 2), (7, 2), (40, 3), (121, 4), (120, 7)] {
            let hands = deal(questions, readers, 7).unwrap();
            let mut all = BTreeSet::new();
            for hand in &hands {
                let seen: BTreeSet<_> = hand.iter().map(|dealt| dealt.question).collect();
                assert_eq!(seen.len(), hand.len(), "{questions} questions, {readers} readers");
                all.extend(hand.iter().copied());
            }
            assert_eq!(all.len(), 2 * questions, "every question under both conditions");
        }
    }

    #[test]
    fn readers_get_as_many_of_each_condition_and_as_many_files() {
        for hand in deal(122, 4, 7).unwrap() {
            let ours = hand.iter().filter(|dealt| dealt.condition == Condition::Ours).count();
            assert!((30..=31).contains(&ours), "{ours}");
            assert!((30..=31).contains(&(hand.len() - ours)), "{}", hand.len());
        }
    }

    #[test]
    fn the_conditions_are_in_different_orders_and_mixed() {
        let hands = deal(60, 3, 7).unwrap();
        let order = |wanted| {
            let of = hands.iter().flatten().filter(move |dealt| dealt.condition == wanted);
            of.map(|dealt| dealt.question).collect::<Vec<_>>()
        };
        assert_ne!(order(Condition::Ours), order(Condition::Hits));
        for hand in &hands {
            let changes = hand.windows(2).filter(|pair| pair[0].condition != pair[1].condition).count();
            assert!(changes > 10, "{changes}");
        }
    }

    #[test]
    fn one_reader_is_too_few() {
        assert!(deal(9, 1, 7).is_err() && deal(9, 0, 7).is_err());
    }
}
