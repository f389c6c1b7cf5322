//! Tests of the view: every node once, never over budget, turns whole.

use proptest::prelude::*;

use super::*;
use crate::{
    Level, NodeOutline, NodeRange, Summary, SummaryId,
    plan::{
        Compaction, Thresholds, ViewPolicy, plan_compaction, plan_shrink,
        testing::{outlines, summary, tree, tree_under},
        turns,
    },
    port::{ContextStrategy, PlanRequest},
};

fn settled(shape: &str) -> (Vec<NodeOutline>, Vec<Summary>) {
    let nodes = outlines(shape);
    let mut summaries = Vec::new();
    while perform(&nodes, &mut summaries, plan_compaction) {}
    (nodes, summaries)
}

/// Performs one plan; returns whether there was anything to do.
fn perform(
    nodes: &[NodeOutline],
    summaries: &mut Vec<Summary>,
    plan: impl Fn(&Tree, &Thresholds) -> Compaction,
) -> bool {
    let plan = plan(&tree(nodes, summaries), &Thresholds::default());
    let is_due = !plan.is_empty();
    for node in plan.summarize {
        summaries.push(summary(summaries, Level::Summary, NodeRange::single(node), Vec::new()));
    }
    for merge in plan.merge {
        summaries.push(summary(summaries, merge.level, merge.span, merge.children));
    }
    is_due
}

fn cost(cut: &Cut, nodes: &[NodeOutline], summaries: &[Summary], policy: &ViewPolicy) -> u32 {
    let piece = |piece: &CutPiece| match *piece {
        CutPiece::Verbatim(run) => run.iter().map(|node| nodes[node.index()].tokens + policy.per_message).sum::<u32>(),
        CutPiece::Summary { id, .. } => summaries[id.index()].body.tokens + policy.per_summary,
        CutPiece::Omitted(_) => 0,
    };
    cut.pieces.iter().map(piece).sum()
}

fn needed(nodes: &[NodeOutline], summaries: &[Summary]) -> u32 {
    match plan_view(&tree(nodes, summaries), 0) {
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
        let cut = plan_view(&tree(&nodes, &summaries), budget).unwrap();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A call may be summarized and merged before its result is appended.
    #[test]
    fn coverage_holds_whatever_is_appended_after_shrinking(before in "[uaa12rR]{1,80}", after in "[uarR1]{0,20}", steps in 0usize..40, more in 0u32..3_000) {
        let (mut nodes, mut summaries) = settled(&before);
        for _ in 0..steps {
            perform(&nodes, &mut summaries, plan_shrink);
        }
        nodes.extend(outlines(&after));
        let policy = ViewPolicy::default();
        let budget = needed(&nodes, &summaries) + more;
        let tree = tree(&nodes, &summaries);
        let all: Vec<_> = (0..nodes.len()).map(NodeId::from_index).collect();
        for cut in [plan_view(&tree, budget), HierarchicalView::default().plan(&tree, &PlanRequest::new(budget))] {
            let cut = cut.unwrap();
            let covered: Vec<_> = cut.pieces.iter().flat_map(|piece| piece.span().iter()).collect();
            prop_assert_eq!(&covered, &all);
            prop_assert_eq!(cut.tokens, cost(&cut, &nodes, &summaries, &policy));
            prop_assert!(cut.tokens <= budget);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every manager, over a tree that another one may have made.
    #[test]
    fn every_manager_represents_every_node_once_within_the_budget(shape in "[uaa12rR]{0,200}", more in 0u32..6_000, marked in prop::collection::vec(0usize..200, 0..6)) {
        let (mut nodes, summaries) = settled(&shape);
        for (index, mark) in marked.iter().enumerate() {
            if let Some(node) = nodes.get_mut(*mark) {
                node.pinned = index % 2 == 0;
                node.set_importance(0.9);
            }
        }
        let tree = tree(&nodes, &summaries);
        let hits: Vec<_> = marked.iter().filter(|mark| **mark < nodes.len()).map(|mark| NodeId::from_index(*mark)).collect();
        let all: Vec<_> = (0..nodes.len()).map(NodeId::from_index).collect();
        for name in MANAGERS {
            let manager = strategy_named(name, "").unwrap();
            let smallest = manager.smallest(&tree);
            prop_assert!(manager.removed(&tree) <= tree.total(), "{name}");
            if let Some(below) = smallest.checked_sub(1) {
                let refused = manager.plan(&tree, &PlanRequest::new(below));
                prop_assert_eq!(refused, Err(PlanError::BudgetTooSmall { needed: smallest, budget: below }), "{}", name);
            }
            let budget = smallest + more;
            let cut = manager.plan(&tree, &PlanRequest::new(budget).hits(&hits)).unwrap();
            let covered: Vec<_> = cut.pieces.iter().flat_map(|piece| piece.span().iter()).collect();
            prop_assert_eq!(&covered, &all, "{}", name);
            prop_assert!(cut.tokens <= budget, "{name}");
            let verbatim = cut.verbatim();
            for turn in turns(&nodes) {
                let shown = turn.iter().filter(|node| verbatim.iter().any(|run| run.contains(*node))).count() as u64;
                prop_assert!(shown == 0 || shown == turn.count(), "{name}: a tool call is parted from its result");
            }
        }
    }
}

#[test]
fn each_manager_shows_word_for_word_what_it_is_for() {
    let (mut nodes, summaries) = settled(&"ua".repeat(100));
    nodes[6].set_importance(0.9);
    let tree = tree(&nodes, &summaries);
    let hits = [NodeId::from_index(9)];
    let verbatim = |name: &str, settings: &str| {
        let manager = strategy_named(name, settings).unwrap();
        let budget = manager.smallest(&tree) + 1_200;
        let runs = manager.plan(&tree, &PlanRequest::new(budget).hits(&hits)).unwrap().verbatim();
        runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let old = |name: &str, settings: &str| verbatim(name, settings).rsplit_once(' ').map(|(old, _)| old.to_owned());
    assert_eq!(old("importance-window", "").as_deref(), Some("7"));
    assert_eq!(old("query-aware", "").as_deref(), Some("7 10"), "what is left of the room goes by worth");
    assert_eq!(old("query-aware", r#"{"tail": 1.0, "share": 0.0}"#), None, "the tail takes all");
    assert_eq!(old("knowledge", ""), None);
    assert_eq!(verbatim("tiered", r#"{"immediate": 12}"#), "189-200");
    assert_eq!(verbatim("sliding-window", r#"{"window_size": 8}"#), "193-200");
}

#[test]
fn the_working_tier_shows_summaries_in_place_of_what_is_merged_over_them() {
    let tiers = TieredView::default();
    let nodes = outlines(&"ua".repeat(60));
    let mut summaries = Vec::new();
    while perform(&nodes, &mut summaries, |tree, _| tiers.due(tree)) {}
    let tree = tree(&nodes, &summaries);
    let levels = |tiers: TieredView, budget| {
        let cut = tiers.plan(&tree, &PlanRequest::new(budget)).unwrap();
        let level = |piece: &CutPiece| match piece {
            CutPiece::Summary { id, .. } => tree.summary(*id).unwrap().level.number(),
            CutPiece::Verbatim(_) | CutPiece::Omitted(_) => 0,
        };
        let levels: Vec<_> = cut.pieces.iter().map(level).collect();
        [0, 1, 2, 3].map(|level| levels.iter().filter(|of| **of == level).count())
    };
    let [full, working, ..] = levels(tiers, tiers.smallest(&tree) + 400);
    assert!((10..15).contains(&full) && (16..=20).contains(&working), "{full}, {working}");
    let shares = TierShares::default().working(0.0);
    let [_, fewer, ..] = levels(tiers.working(40).shares(shares), tiers.smallest(&tree) + 400);
    let [_, more, ..] = levels(tiers.working(40), tiers.smallest(&tree) + 400);
    assert!(fewer < more, "a tier without a share opens nothing: {fewer}, {more}");
}

#[test]
fn a_result_that_comes_after_its_call_was_merged_brings_the_call_back() {
    let (mut nodes, mut summaries) = settled("uaua1");
    while perform(&nodes, &mut summaries, plan_shrink) {}
    nodes.extend(outlines("ra"));
    let view = HierarchicalView::default();
    let cut = view.plan(&tree(&nodes, &summaries), &PlanRequest::new(needed(&nodes, &summaries))).unwrap();
    let spans: Vec<_> = cut.pieces.iter().map(|piece| piece.span().to_string()).collect();
    assert_eq!(spans, ["1-2", "3", "4", "5-6", "7"]);
    let turn = NodeRange::single(NodeId::from_index(4)).hull(NodeRange::single(NodeId::from_index(5)));
    assert!(cut.pieces.contains(&CutPiece::Verbatim(turn)));
}

#[test]
fn a_budget_below_the_top_of_the_tree_is_an_error_that_says_what_is_needed() {
    let (nodes, summaries) = settled(&"ua".repeat(60));
    let needed = needed(&nodes, &summaries);
    let tree = tree(&nodes, &summaries);
    assert_eq!(plan_view(&tree, needed - 1), Err(PlanError::BudgetTooSmall { needed, budget: needed - 1 }));
    assert_eq!(plan_view(&tree, needed).unwrap().tokens, needed);
}

#[test]
fn a_budget_for_everything_shows_everything() {
    let (nodes, summaries) = settled(&"ua".repeat(200));
    let tree = tree(&nodes, &summaries);
    let cut = plan_view(&tree, 400 * 48).unwrap();
    assert_eq!(cut.verbatim(), [NodeRange::first_n(400).unwrap()]);
}

#[test]
fn a_pinned_message_survives_every_reduction() {
    let (mut nodes, summaries) = settled(&"ua".repeat(300));
    nodes[4].pinned = true;
    let budget = needed(&nodes, &summaries) + 1_200;
    let tree = tree(&nodes, &summaries);
    let cut = plan_view(&tree, budget).unwrap();
    assert!(cut.verbatim().iter().any(|run| run.contains(NodeId::from_index(4))));
}

#[test]
fn what_matters_more_is_shown_more_exactly() {
    let (mut nodes, summaries) = settled(&"u".repeat(60));
    nodes[12].set_importance(1.0);
    let budget = needed(&nodes, &summaries) + 60;
    let tree = tree_under(ViewPolicy { half_life: 1e9, ..ViewPolicy::default() }, &nodes, &summaries);
    let cut = plan_view(&tree, budget).unwrap();
    let shown = |node| cut.verbatim().iter().any(|run| run.contains(NodeId::from_index(node)));
    assert!(shown(12) && !shown(13));
}

#[test]
fn a_chain_of_summaries_does_not_overflow_the_stack() {
    let nodes = outlines("uaua");
    let mut tree = tree(&nodes, &[]);
    let all = NodeRange::new(NodeId::FIRST, NodeId::from_index(3)).unwrap();
    let outline = |index: usize, level, span, children: Vec<SummaryId>| {
        let id = SummaryId::from_index(index);
        crate::SummaryOutline {
            id,
            level,
            span,
            children: children.into(),
            tokens: 10,
            for_view: false,
            is_disabled: false,
        }
    };
    for node in 0..4 {
        tree.add(outline(node, Level::Summary, NodeRange::single(NodeId::from_index(node)), Vec::new()));
    }
    tree.add(outline(4, Level::Meta, all, (0..4).map(SummaryId::from_index).collect()));
    for index in 5..20_000 {
        tree.add(outline(index, Level::Archive, all, vec![SummaryId::from_index(index - 1)]));
    }
    assert!(tree.roots().all(|root| tree.height(root.id) > Some(HIGHEST)), "the chain stands");
    let budget = coarsest(&tree) + 8;
    assert!(u64::from(budget) < tree.verbatim_total());
    let cut = plan_view(&tree, budget).unwrap();
    assert_eq!(cut.pieces.iter().map(|piece| piece.span().count()).sum::<u64>(), 4);
}
