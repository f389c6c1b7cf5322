//! Tests of compaction: thresholds, hysteresis, whole turns, and termination.

use proptest::prelude::*;

use super::*;
use crate::{
    NodeOutline, Summary, Timestamp,
    plan::{
        testing::{outlines, summary, tree},
        turns,
    },
};

/// Performs plans as a manager would, until no more are due.
fn settle(nodes: &[NodeOutline], summaries: &mut Vec<Summary>, thresholds: &Thresholds) -> usize {
    for round in 0.. {
        let tree = tree(nodes, summaries);
        let plan = plan_compaction(&tree, thresholds);
        if plan.is_empty() {
            return round;
        }
        apply(plan, summaries);
        assert!(round < 10_000, "compaction never settles");
    }
    0
}

fn apply(plan: Compaction, summaries: &mut Vec<Summary>) {
    for node in plan.summarize {
        summaries.push(summary(summaries, Level::Summary, NodeRange::single(node), Vec::new()));
    }
    for merge in plan.merge {
        let count = summaries.len();
        summaries.push(summary(summaries, merge.level, merge.span, merge.children));
        assert_eq!(summaries.len(), count + 1);
    }
}

fn levels(nodes: &[NodeOutline], summaries: &[Summary]) -> [u64; 4] {
    tree(nodes, summaries).nodes_per_level()
}

#[test]
fn compaction_starts_above_20_and_stops_at_10() {
    let thresholds = Thresholds::default();
    let mut summaries = Vec::new();
    let nodes = outlines(&"ua".repeat(10));
    assert_eq!(settle(&nodes, &mut summaries, &thresholds), 0, "20 FULL nodes may stand");
    let nodes = outlines(&("ua".repeat(10) + "u"));
    settle(&nodes, &mut summaries, &thresholds);
    assert_eq!(levels(&nodes, &summaries), [10, 11, 0, 0]);
    let nodes = outlines(&"ua".repeat(15));
    assert_eq!(settle(&nodes, &mut summaries, &thresholds), 0, "hysteresis: nothing until 20 are exceeded again");
}

#[test]
fn metas_start_above_50_summaries_and_archives_above_200_nodes() {
    let thresholds = Thresholds::default();
    let mut summaries = Vec::new();
    let mut nodes = Vec::new();
    let (mut first_meta, mut first_archive) = (None, None);
    for count in 1..=600u64 {
        nodes.extend(outlines("u"));
        let before = levels(&nodes, &summaries);
        settle(&nodes, &mut summaries, &thresholds);
        let [full, summary, meta, archive] = levels(&nodes, &summaries);
        assert!(full <= 20 && summary <= 50 + 11 && meta <= 240, "{count}: {full} {summary} {meta} {archive}");
        if meta > 0 && first_meta.is_none() {
            first_meta = Some(before[1]);
        }
        first_archive = first_archive.or((archive > 0).then_some(count));
    }
    assert_eq!(
        [
            thresholds.recent_node_limit,
            thresholds.summary_threshold,
            thresholds.meta_summary_threshold,
            thresholds.archive_threshold
        ],
        [10, 20, 50, 200]
    );
    // Eleven are written at a time: 44 and eleven are the first that are more than 50.
    assert_eq!(first_meta, Some(44));
    assert!(first_archive.is_some_and(|count| count > 200));
    for summary in summaries.iter().filter(|summary| summary.body.level == Level::Meta) {
        assert!((20..=40).contains(&summary.body.span.count()), "a META has 20 to 40 nodes");
    }
}

#[test]
fn the_top_of_the_tree_grows_with_the_logarithm() {
    let thresholds = Thresholds::default();
    let top = |count| {
        let nodes = outlines(&"u".repeat(count));
        let mut summaries = Vec::new();
        settle(&nodes, &mut summaries, &thresholds);
        tree(&nodes, &summaries).roots().count()
    };
    let (small, large) = (top(1_000), top(30_000));
    assert!(large < small + 30, "{small} roots at 1,000 nodes, {large} at 30,000");
}

#[test]
fn the_tail_is_not_eaten_to_spare_a_tool_pair() {
    let thresholds = Thresholds { recent_node_limit: 4, summary_threshold: 6, ..Thresholds::default() };
    // Node 4 calls, node 5 answers: the boundary before node 5 would split them.
    let nodes = outlines("uau2rruaua");
    let mut summaries = Vec::new();
    settle(&nodes, &mut summaries, &thresholds);
    assert_eq!(levels(&nodes, &summaries)[0], 4, "the call and both results are summarized together");
    let nodes = outlines("uaua2rrua");
    let mut summaries = Vec::new();
    settle(&nodes, &mut summaries, &thresholds);
    assert_eq!(levels(&nodes, &summaries)[0], 5, "more than 4 stay, never fewer");
}

#[test]
fn a_meta_ends_where_the_conversation_paused() {
    let mut nodes = outlines(&"u".repeat(75));
    for (index, node) in nodes.iter_mut().enumerate() {
        let day = i64::from(index >= 27) * 86_400_000;
        node.at = Timestamp::from_millis(day + i64::try_from(index).unwrap() * 1_000);
    }
    let mut summaries = Vec::new();
    settle(&nodes, &mut summaries, &Thresholds::default());
    let meta = summaries.iter().find(|summary| summary.body.level == Level::Meta).unwrap();
    assert_eq!(meta.body.span.to_string(), "1-27");
}

#[test]
fn contradicting_thresholds_are_refused() {
    let good = Thresholds::default();
    assert_eq!(good.check(), Ok(()));
    for bad in [
        Thresholds { recent_node_limit: 21, ..good },
        Thresholds { meta_min: 41, ..good },
        Thresholds { meta_min: 1, ..good },
        Thresholds { meta_max: 51, ..good },
        Thresholds { archive_fan_out: 1, ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

/// A budget that only a few roots fit makes every turn shrink: the tree must not gain a level each time.
#[test]
fn shrinking_at_every_turn_keeps_the_tree_low() {
    let thresholds = Thresholds::default();
    let (mut nodes, mut summaries) = (Vec::new(), Vec::new());
    for _ in 0..500 {
        nodes.extend(outlines("ua"));
        settle(&nodes, &mut summaries, &thresholds);
        for _ in 0..1_000 {
            let tree = tree(&nodes, &summaries);
            let full: u64 = tree.full_count();
            if tree.roots().count() as u64 + full <= 8 {
                break;
            }
            apply(plan_shrink(&tree, &thresholds), &mut summaries);
        }
    }
    let tree = tree(&nodes, &summaries);
    let height = tree.roots().filter_map(|root| tree.height(root.id)).max();
    assert!(height <= Some(10), "{height:?} storeys over 1,000 nodes");
    assert!(summaries.len() < 1_600, "{} summaries for 1,000 nodes", summaries.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn compaction_settles_and_parts_no_turn(shape in "[uaa12rR]{0,300}") {
        let nodes = outlines(&shape);
        let mut summaries = Vec::new();
        settle(&nodes, &mut summaries, &Thresholds::default());
        let tree = tree(&nodes, &summaries);
        for turn in turns(&nodes) {
            let full = turn.iter().filter(|node| tree.leaf(*node).is_none()).count() as u64;
            prop_assert!(full == 0 || full == turn.count());
        }
    }

    #[test]
    fn shrinking_ends_with_one_summary_over_everything(shape in "[uaa12rR]{1,300}") {
        let nodes = outlines(&shape);
        let thresholds = Thresholds::default();
        let mut summaries = Vec::new();
        settle(&nodes, &mut summaries, &thresholds);
        for _ in 0..1_000 {
            let plan = plan_shrink(&tree(&nodes, &summaries), &thresholds);
            if plan.is_empty() {
                break;
            }
            apply(plan, &mut summaries);
        }
        let tree = tree(&nodes, &summaries);
        prop_assert!(tree.full_count() == 0);
        prop_assert_eq!(tree.roots().count(), 1);
    }
}
