//! Selections of rows against looking at each slot.

use proptest::prelude::*;

use super::*;

/// Rows of successive nodes that have so many each.
fn rows(each: &[usize]) -> Rows {
    let mut rows = Rows::new(1);
    for (node, count) in each.iter().enumerate() {
        rows.push(NodeId::from_index(node), &vec![vec![1.0]; *count]);
    }
    rows
}

/// Mostly one row a node, as most messages have; some have none or several, alone or side by side.
fn each() -> impl Strategy<Value = Vec<usize>> {
    let stretch = prop_oneof![
        4 => prop::collection::vec(Just(1), 0..100),
        1 => prop::collection::vec(0usize..4, 0..30),
        1 => prop::collection::vec(Just(0), 0..30),
    ];
    prop::collection::vec(stretch, 0..8).prop_map(|stretches| stretches.concat())
}

proptest! {
    #[test]
    fn runs_are_those_of_the_selected_nodes(
        each in each(),
        runs in prop::collection::vec((0usize..500, 0usize..20), 0..60),
        far in any::<Option<u64>>(),
    ) {
        let mut rows = rows(&each);
        let run = |(first, more): (usize, usize)| NodeRange::new(NodeId::from_index(first), NodeId::from_index(first + more));
        let far = far.and_then(NodeId::new).map(NodeRange::single);
        let only = NodeSet::of_runs(runs.into_iter().filter_map(run).chain(far).collect());
        let selected = |slot: &Slot| only.contains(slot.node);
        let plain: Vec<usize> = (0..rows.len()).filter(|row| selected(&rows.slots()[*row])).collect();

        let found = rows.runs_of(&only);
        prop_assert!(found.iter().all(|run| !run.is_empty()));
        prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start), "runs that touch are one");
        prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), &*plain);
        for run in only.runs() {
            let of_run: Vec<usize> = rows.rows_of(Some(*run)).collect();
            prop_assert!(of_run.iter().all(|row| run.contains(rows.slots()[*row].node)));
        }

        prop_assert_eq!(rows.remove(&only), plain.len());
        prop_assert!((0..rows.len()).all(|row| rows.is_removed(row) == selected(&rows.slots()[row])));
    }

    #[test]
    fn a_partition_is_found_from_any_guess(fulfilled in 0usize..70, others in 0usize..70, guess in 0usize..200) {
        let slot = |row| Slot { node: NodeId::from_index(row), chunk: 0 };
        let slots: Vec<Slot> = (0..fulfilled + others).map(slot).collect();
        prop_assert_eq!(partition_near(&slots, guess, |slot| slot.node.index() < fulfilled), fulfilled);
    }
}
