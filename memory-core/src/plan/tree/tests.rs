//! Tests of the forest: who covers whom, what is ignored, and that undoing undoes.

use proptest::prelude::*;

use super::*;
use crate::plan::testing::{outlines, summary, tree};

fn run(first: u64, last: u64) -> NodeRange {
    NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
}

#[test]
fn the_level_of_a_node_is_that_of_the_highest_summary_over_it() {
    let nodes = outlines("uauau");
    let mut summaries = Vec::new();
    for node in 1..=3 {
        summaries.push(summary(&summaries, Level::Summary, run(node, node), Vec::new()));
    }
    let children = summaries[..2].iter().map(|s| s.id).collect();
    summaries.push(summary(&summaries, Level::Meta, run(1, 2), children));
    let tree = tree(&nodes, &summaries);
    let levels: Vec<_> = run(1, 5).iter().map(|node| tree.level(node)).collect();
    assert_eq!(levels, [Level::Meta, Level::Meta, Level::Summary, Level::Full, Level::Full]);
    assert_eq!(tree.nodes_per_level(), [2, 1, 2, 0]);
    assert_eq!(tree.full().collect::<Vec<_>>(), [run(4, 5)]);
    let roots: Vec<_> = tree.roots().map(|root| root.span).collect();
    assert_eq!(roots, [run(1, 2), run(3, 3)]);
}

#[test]
fn a_lost_summary_gives_its_nodes_back_and_its_siblings_stay() {
    let nodes = outlines("uauau");
    let mut summaries = Vec::new();
    for node in 1..=4 {
        summaries.push(summary(&summaries, Level::Summary, run(node, node), Vec::new()));
    }
    let children = summaries.iter().map(|s| s.id).collect();
    summaries.push(summary(&summaries, Level::Meta, run(1, 4), children));
    summaries.remove(1);
    let tree = tree(&nodes, &summaries);
    let roots: Vec<_> = tree.roots().map(|root| root.span).collect();
    assert_eq!(roots, [run(1, 1), run(3, 3), run(4, 4)]);
    assert_eq!(tree.full().collect::<Vec<_>>(), [run(2, 2), run(5, 5)]);
}

#[test]
fn a_second_claim_on_the_same_nodes_is_ignored() {
    let nodes = outlines("ua");
    let mut summaries = vec![summary(&[], Level::Summary, run(1, 1), Vec::new())];
    summaries.push(summary(&summaries, Level::Summary, run(1, 2), Vec::new()));
    let first = vec![summaries[0].id];
    summaries.push(summary(&summaries, Level::Meta, run(1, 1), first.clone()));
    summaries.push(summary(&summaries, Level::Meta, run(1, 1), first));
    let tree = tree(&nodes, &summaries);
    assert_eq!(tree.roots().map(|root| root.id.get()).collect::<Vec<_>>(), [3]);
    assert_eq!(tree.full().collect::<Vec<_>>(), [run(2, 2)]);
}
/// What a tree says of itself.
#[derive(Debug, PartialEq)]
struct Told {
    roots: Vec<SummaryId>,
    weights: Vec<f64>,
    full: Vec<NodeRange>,
    top: u64,
    levels: Vec<Level>,
    nodes_per_level: [u64; 4],
}

fn told(tree: &Tree) -> Told {
    let nodes = (0..tree.nodes.len()).map(NodeId::from_index);
    Told {
        roots: tree.roots().map(|root| root.id).collect(),
        weights: tree.roots().map(|root| tree.weight(root.id)).collect(),
        full: tree.full().collect(),
        top: tree.top(),
        levels: nodes.map(|node| tree.level(node)).collect(),
        nodes_per_level: tree.nodes_per_level(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any claims at all: what fits makes a forest, and undoing gives back what was before, step by step.
    #[test]
    fn undoing_gives_back_what_was_before(shape in "[ua1r]{1,30}", claims in prop::collection::vec((1u64..30, 0u64..3, prop::collection::vec(1u64..20, 0..4)), 0..20)) {
        let nodes = outlines(&shape);
        let mut grown = tree(&nodes, &[]);
        let mut before = vec![told(&grown)];
        for (index, (first, more, children)) in claims.into_iter().enumerate() {
            let level = if children.is_empty() { Level::Summary } else { Level::Meta };
            let mut children: Vec<_> = children.into_iter().filter_map(SummaryId::new).collect();
            children.sort();
            children.dedup();
            let spans: Option<Vec<_>> = children.iter().map(|child| Some(grown.summary(*child)?.span)).collect();
            let span = spans.unwrap_or_default().into_iter().reduce(NodeRange::hull).unwrap_or(run(first, first + more));
            let draft = SummaryOutline { id: SummaryId::from_index(index), level, span, children: children.into(), tokens: 9 };
            grown.add(draft);
            before.push(told(&grown));
        }
        while grown.summaries() > 0 {
            prop_assert_eq!(Some(told(&grown)), before.pop());
            grown.undo();
        }
        prop_assert_eq!(Some(told(&grown)), before.pop());
    }

    #[test]
    fn a_weight_given_later_counts_as_if_it_had_been_there(shape in "[ua]{8,40}", changed in 0usize..8, weight in 0f32..=1.0) {
        let mut nodes = outlines(&shape);
        let mut summaries = Vec::new();
        for node in 1..=8 {
            summaries.push(summary(&summaries, Level::Summary, run(node, node), Vec::new()));
        }
        let children = summaries.iter().map(|s| s.id).collect();
        summaries.push(summary(&summaries, Level::Meta, run(1, 8), children));
        let mut late = tree(&nodes, &summaries);
        nodes[changed].set_importance(weight);
        nodes[changed].pinned = true;
        late.revise(NodeId::from_index(changed), nodes[changed]);
        let early = tree(&nodes, &summaries);
        prop_assert_eq!(told(&late), told(&early));
        prop_assert_eq!(late.pinned().collect::<Vec<_>>(), early.pinned().collect::<Vec<_>>());
    }
}
