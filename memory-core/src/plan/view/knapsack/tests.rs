//! The knapsack against all possible cuts, on small trees.

use proptest::prelude::*;

use super::*;
use crate::{
    NodeOutline, Summary,
    plan::{
        ViewPolicy,
        testing::{outlines, summary, tree_under},
    },
};

fn policy() -> ViewPolicy {
    ViewPolicy { half_life: 5.0, per_message: 3, per_summary: 4, short: 0, ..ViewPolicy::default() }
}

prop_compose! {
    /// Nodes of all kinds of turns, and summaries over all of them in up to three levels.
    fn trees()(shape in "[uaa12rR]{1,9}")(
        tokens in prop::collection::vec((1u32..80, 0f32..=1.0), shape.len()),
        summaries in prop::collection::vec(1u32..30, 20),
        groups in prop::collection::vec(1usize..5, 12),
        shape in Just(shape),
    ) -> (Vec<NodeOutline>, Vec<Summary>) {
        let mut nodes = outlines(&shape);
        for (node, (tokens, importance)) in nodes.iter_mut().zip(tokens) {
            node.tokens = tokens;
            node.set_importance(importance);
        }
        let mut all: Vec<Summary> = Vec::new();
        let mut layer: Vec<(SummaryId, NodeRange)> = Vec::new();
        for node in 0..nodes.len() {
            let span = NodeRange::single(NodeId::from_index(node));
            let leaf = summary(&all, Level::Summary, span, Vec::new());
            layer.push((leaf.id, span));
            all.push(leaf);
        }
        let mut groups = groups.into_iter();
        for level in [Level::Meta, Level::Archive, Level::Archive] {
            let mut next = Vec::new();
            let mut rest = layer.as_slice();
            while let Some(size) = (!rest.is_empty()).then(|| groups.next().unwrap_or(1).min(rest.len())) {
                let (group, behind) = rest.split_at(size);
                rest = behind;
                if size == 1 {
                    next.push(group[0]);
                    continue;
                }
                let span = group[0].1.hull(group[size - 1].1);
                let merged = summary(&all, level, span, group.iter().map(|child| child.0).collect());
                next.push((merged.id, span));
                all.push(merged);
            }
            layer = next;
        }
        all.iter_mut().zip(summaries).for_each(|(summary, tokens)| summary.body.tokens = tokens);
        (nodes, all)
    }
}

/// Every cut of neighbours under one parent.
fn every_cut(tree: &Tree, siblings: &[SummaryId]) -> Vec<Vec<CutPiece>> {
    let Some((first, behind)) = siblings.split_first() else { return vec![Vec::new()] };
    let summary = tree.summary(*first).unwrap();
    let mut heads = vec![(vec![CutPiece::Summary { id: *first, span: summary.span }], behind)];
    if summary.level == Level::Summary {
        let turn = tree.turn_of(summary.span.first()).unwrap();
        let leaves: Vec<_> = turn.iter().map(|node| tree.leaf(node).unwrap()).collect();
        if siblings.starts_with(&leaves) {
            heads.push((vec![CutPiece::Verbatim(turn)], &siblings[leaves.len()..]));
        }
    } else {
        heads.extend(every_cut(tree, &summary.children).into_iter().map(|below| (below, behind)));
    }
    let whole = |(head, rest): (Vec<CutPiece>, &[SummaryId])| {
        let tails = every_cut(tree, rest);
        tails.into_iter().map(move |tail| [head.clone(), tail].concat()).collect::<Vec<_>>()
    };
    heads.into_iter().flat_map(whole).collect()
}

/// The value of a cut, computed from the messages.
fn worth(tree: &Tree, nodes: &[NodeOutline], pieces: &[CutPiece]) -> f64 {
    let last = nodes.len() as f64;
    let node = |node: NodeId| {
        f64::from(nodes[node.index()].importance()).max(0.01) * (-(last - node.get() as f64) / 5.0).exp2()
    };
    let kept = |piece: &CutPiece| match *piece {
        CutPiece::Verbatim(_) => 1.0,
        CutPiece::Omitted(_) => 0.0,
        CutPiece::Summary { id, .. } => match tree.summary(id).unwrap().level {
            Level::Summary => 0.5,
            Level::Meta => 0.2,
            _ => {
                let archives_below = |mut id: SummaryId| {
                    let mut storeys = 0;
                    while let Some(child) = tree.summary(id).unwrap().children.iter().max_by_key(|id| tree.height(**id))
                    {
                        id = *child;
                        storeys += 1;
                    }
                    storeys - 2
                };
                0.1 * 0.5f64.powi(archives_below(id).max(0))
            }
        },
    };
    pieces.iter().map(|piece| kept(piece) * piece.span().iter().map(node).sum::<f64>()).sum()
}

fn cost(tree: &Tree, pieces: &[CutPiece]) -> u64 {
    let piece = |piece: &CutPiece| match *piece {
        CutPiece::Verbatim(turn) => turn.iter().map(|node| u64::from(tree.node(node).unwrap().tokens) + 3).sum(),
        CutPiece::Summary { id, .. } => u64::from(tree.summary(id).unwrap().tokens) + 4,
        CutPiece::Omitted(_) => 0,
    };
    pieces.iter().map(piece).sum()
}

fn roots(tree: &Tree) -> Vec<SummaryId> {
    tree.roots().map(|root| root.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_cut_is_worth_more_for_the_budget((nodes, summaries) in trees(), budget in 0u32..500) {
        let tree = tree_under(policy(), &nodes, &summaries);
        let every = every_cut(&tree, &roots(&tree));
        let fitting = every.iter().filter(|pieces| cost(&tree, pieces) <= u64::from(budget));
        let best = fitting.map(|pieces| worth(&tree, &nodes, pieces)).max_by(f64::total_cmp);
        let chosen = Knapsack::new(&tree, Vec::new()).cut(budget);
        prop_assert_eq!(chosen.is_some(), best.is_some());
        if let (Some(cut), Some(best)) = (chosen, best) {
            prop_assert!(every.contains(&cut.pieces));
            prop_assert_eq!(u64::from(cut.tokens), cost(&tree, &cut.pieces));
            prop_assert!(cut.tokens <= budget);
            let found = worth(&tree, &nodes, &cut.pieces);
            prop_assert!((found - best).abs() < 1e-9, "{found} of {best}");
        }
    }

    /// Profiles that the tree caches of its parts stay valid while it grows and messages are scored again.
    #[test]
    fn profiles_that_are_kept_are_those_that_would_be_made((nodes, summaries) in trees(), more in "[uar1]{0,3}", changed in 0usize..9, weight in 0f32..=1.0, budget in 0u32..500) {
        let mut grown = tree_under(policy(), &nodes, &summaries);
        let cut = |tree: &Tree| Knapsack::new(tree, Vec::new()).cut(budget);
        cut(&grown);
        let mut nodes = nodes;
        if let Some(node) = nodes.get_mut(changed) {
            node.set_importance(weight);
            grown.revise(NodeId::from_index(changed), *node);
        }
        cut(&grown);
        for node in outlines(&more) {
            nodes.push(node);
            grown.append(node);
        }
        prop_assert_eq!(cut(&grown), cut(&tree_under(policy(), &nodes, &summaries)));
    }
}
