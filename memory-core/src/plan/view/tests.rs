//! Tests of the view: every node once, never over budget, turns whole.

use proptest::prelude::*;

use super::*;
use crate::{
    NodeOutline, Summary,
    plan::{
        Thresholds, plan_compaction,
        testing::{outlines, summary},
    },
};

fn settled(shape: &str) -> (Vec<NodeOutline>, Vec<Summary>) {
    let nodes = outlines(shape);
    let mut summaries = Vec::new();
    loop {
        let plan =
            plan_compaction(&Tree::new(History { nodes: &nodes, summaries: &summaries }), &Thresholds::default());
        if plan.is_empty() {
            return (nodes, summaries);
        }
        for node in plan.summarize {
            summaries.push(summary(&summaries, Level::Summary, NodeRange::single(node), Vec::new()));
        }
        for merge in plan.merge {
            summaries.push(summary(&summaries, merge.level, merge.span, merge.children));
        }
    }
}

fn cost(cut: &Cut, nodes: &[NodeOutline], summaries: &[Summary], policy: &ViewPolicy) -> u32 {
    let piece = |piece: &CutPiece| match *piece {
        CutPiece::Verbatim(run) => run.iter().map(|node| nodes[node.index()].tokens + policy.per_message).sum::<u32>(),
        CutPiece::Summary { id, .. } => summaries[id.index()].body.tokens + policy.per_summary,
    };
    cut.pieces.iter().map(piece).sum()
}

fn needed(nodes: &[NodeOutline], summaries: &[Summary]) -> u32 {
    match plan_view(&Tree::new(History { nodes, summaries }), 0, &ViewPolicy::default()) {
        Err(PlanError::BudgetTooSmall { needed, .. }) => needed,
        Ok(cut) => cut.tokens,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_view_covers_every_node_exactly_once(shape in "[uaa12rR]{0,400}", more in 0u32..9_000, pins in prop::collection::vec(0usize..400, 0..4)) {
        let (mut nodes, summaries) = settled(&shape);
        for pin in pins {
            if let Some(node) = nodes.get_mut(pin) {
                node.pinned = true;
            }
        }
        let budget = needed(&nodes, &summaries) + more;
        let policy = ViewPolicy::default();
        let cut = plan_view(&Tree::new(History { nodes: &nodes, summaries: &summaries }), budget, &policy).unwrap();
        let covered: Vec<_> = cut.pieces.iter().flat_map(|piece| piece.span().iter()).collect();
        let all: Vec<_> = (0..nodes.len()).map(NodeId::from_index).collect();
        prop_assert_eq!(covered, all);
        prop_assert_eq!(cut.tokens, cost(&cut, &nodes, &summaries, &policy));
        prop_assert!(cut.tokens <= budget);
        let verbatim = cut.verbatim();
        for turn in turns(&nodes) {
            let shown = turn.iter().filter(|node| verbatim.iter().any(|run| run.contains(*node))).count() as u64;
            prop_assert!(shown == 0 || shown == turn.count(), "a tool call is never parted from its result");
        }
    }
}

#[test]
fn a_budget_below_the_top_of_the_tree_is_an_error_that_says_what_is_needed() {
    let (nodes, summaries) = settled(&"ua".repeat(60));
    let needed = needed(&nodes, &summaries);
    let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
    let policy = ViewPolicy::default();
    assert_eq!(plan_view(&tree, needed - 1, &policy), Err(PlanError::BudgetTooSmall { needed, budget: needed - 1 }));
    assert_eq!(plan_view(&tree, needed, &policy).unwrap().tokens, needed);
}

#[test]
fn a_budget_for_everything_shows_everything() {
    let (nodes, summaries) = settled(&"ua".repeat(200));
    let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
    let cut = plan_view(&tree, 400 * 48, &ViewPolicy::default()).unwrap();
    assert_eq!(cut.verbatim(), [NodeRange::first_n(400).unwrap()]);
}

#[test]
fn a_pinned_message_survives_every_reduction() {
    let (mut nodes, summaries) = settled(&"ua".repeat(300));
    nodes[4].pinned = true;
    let budget = needed(&nodes, &summaries) + 1_200;
    let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
    let cut = plan_view(&tree, budget, &ViewPolicy::default()).unwrap();
    assert!(cut.verbatim().iter().any(|run| run.contains(NodeId::from_index(4))));
}

#[test]
fn what_matters_more_is_shown_more_exactly() {
    let (mut nodes, summaries) = settled(&"u".repeat(60));
    nodes[12].set_importance(1.0);
    let budget = needed(&nodes, &summaries) + 60;
    let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
    let cut = plan_view(&tree, budget, &ViewPolicy { half_life: 1e9, ..ViewPolicy::default() }).unwrap();
    let shown = |node| cut.verbatim().iter().any(|run| run.contains(NodeId::from_index(node)));
    assert!(shown(12) && !shown(13));
}
