//! Tests of the forest: coverage, ignored summaries, and undo.

use proptest::prelude::*;

use super::*;
use crate::{
    Summary,
    plan::{
        Cut, CutPiece, PlanError, plan_view,
        testing::{outlines, summary, tree},
    },
};

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
    summaries.push(summary(&summaries, Level::Archive, run(1, 1), first));
    let tree = tree(&nodes, &summaries);
    assert_eq!(tree.roots().map(|root| root.id.get()).collect::<Vec<_>>(), [3]);
    assert_eq!(tree.full().collect::<Vec<_>>(), [run(2, 2)]);
    assert_eq!((tree.superseded(), tree.words_for(summaries[0].id).get()), (0, 1));
}

#[test]
fn a_dissolved_summary_is_shown_by_its_parts_at_the_same_cost() {
    let nodes = outlines(&"ua".repeat(40));
    let mut summaries = Vec::new();
    for node in 1..=80 {
        summaries.push(summary(&summaries, Level::Summary, run(node, node), Vec::new()));
    }
    let ids = |range: std::ops::Range<usize>| range.map(SummaryId::from_index).collect::<Vec<_>>();
    summaries.push(summary(&summaries, Level::Meta, run(1, 40), ids(0..40)));
    summaries.push(summary(&summaries, Level::Meta, run(41, 80), ids(40..80)));
    summaries.push(summary(&summaries, Level::Archive, run(1, 80), ids(80..82)));
    let whole = tree(&nodes, &summaries);
    let dissolve = |summaries: &mut Vec<Summary>, level, span, children| {
        let mut none = summary(summaries, level, span, children);
        none.body.tokens = 0;
        summaries.push(none);
    };
    dissolve(&mut summaries, Level::Archive, run(1, 80), ids(80..82));
    let archive = tree(&nodes, &summaries);
    let [root, first, second] = [82, 80, 81].map(SummaryId::from_index);
    assert!(archive.is_dissolved(root) && !whole.is_dissolved(root));
    assert_eq!(archive.undissolved([root]), [first, second]);
    assert_eq!(archive.top(), archive.summary_cost(first) + archive.summary_cost(second));
    dissolve(&mut summaries, Level::Meta, run(1, 40), ids(0..40));
    let mut both = tree(&nodes, &summaries);
    assert_eq!(both.undissolved([root]), [ids(0..40), vec![second]].concat());
    let cost: u64 = both.undissolved([root]).into_iter().map(|id| both.summary_cost(id)).sum();
    assert_eq!((both.top(), both.summary_cost(root)), (cost, cost));
    assert_eq!(
        (both.place_of(SummaryId::from_index(84)), both.dissolves(SummaryId::from_index(83))),
        (Some(first), true)
    );
    // The cut of any budget covers all nodes, states its true cost, and shows no dissolved summary.
    let least = crate::plan::coarsest(&both);
    for budget in [least, least + 40, least + 900] {
        let cut = plan_view(&both, budget).unwrap().undissolved(&both);
        let covered: Vec<_> = cut.pieces.iter().flat_map(|piece| piece.span().iter()).collect();
        assert_eq!(covered, run(1, 80).iter().collect::<Vec<_>>());
        let shown = |piece: &CutPiece| matches!(piece, CutPiece::Summary { id, .. } if both.is_dissolved(*id));
        assert!(cut.tokens <= budget && !cut.pieces.iter().any(shown), "{cut:?}");
        let cost: u64 = cut
            .pieces
            .iter()
            .map(|piece| match piece {
                CutPiece::Summary { id, .. } => both.summary_cost(*id),
                piece => both.verbatim_cost(piece.span()),
            })
            .sum();
        assert_eq!(u64::from(cut.tokens), cost);
    }
    assert!(matches!(plan_view(&both, least - 1), Err(PlanError::BudgetTooSmall { .. })));
    // Each undo restores the state of one step before.
    both.undo();
    assert_eq!((both.top(), both.is_dissolved(first)), (archive.top(), false));
    both.undo();
    assert_eq!((both.top(), both.is_dissolved(root)), (whole.top(), false));
}

#[test]
fn a_later_summary_of_the_same_lends_its_words_and_nothing_else() {
    let nodes = outlines("uau");
    let mut summaries = Vec::new();
    let say = |summaries: &mut Vec<Summary>, level, span, children, tokens| {
        let mut said = summary(summaries, level, span, children);
        said.body.tokens = tokens;
        summaries.push(said);
    };
    for node in 1..=2 {
        say(&mut summaries, Level::Summary, run(node, node), Vec::new(), 10);
    }
    let children: Vec<_> = summaries.iter().map(|s| s.id).collect();
    say(&mut summaries, Level::Meta, run(1, 2), children.clone(), 12);
    let before = tree(&nodes, &summaries);
    say(&mut summaries, Level::Summary, run(1, 1), Vec::new(), 17);
    say(&mut summaries, Level::Meta, run(1, 2), children.clone(), 9);
    say(&mut summaries, Level::Summary, run(1, 1), Vec::new(), 3);
    let mut after = tree(&nodes, &summaries);
    let number = |number| SummaryId::new(number).unwrap();
    let words = |tree: &Tree| [1, 2, 3, 4].map(|place| tree.words_for(number(place)).get());
    assert_eq!((words(&before), words(&after)), ([1, 2, 3, 4], [6, 2, 5, 4]));
    assert_eq!([1, 2, 3].map(|place| after.summary(number(place)).unwrap().tokens), [3, 10, 9]);
    assert_eq!(before.top() - after.top(), 3, "the META that is shown has 12 tokens before and 9 after");
    assert_eq!(after.placed().map(|there| there.id.get()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((after.summaries(), after.superseded(), after.next_summary()), (6, 3, 6));
    assert_eq!(after.parent(number(1)), Some(number(3)));
    after.undo();
    assert_eq!((words(&after), after.summary(number(1)).unwrap().tokens), ([4, 2, 5, 4], 17));
    after.undo();
    after.undo();
    assert_eq!((words(&after), observed(&after)), (words(&before), observed(&before)));

    // If the first one is lost, the later one takes the place, and a parent of the lost one has no place.
    summaries.remove(0);
    let without = tree(&nodes, &summaries);
    assert_eq!(without.placed().map(|there| there.id.get()).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(without.words_for(number(4)), number(6));
}
/// The observable state of a tree.
#[derive(Debug, PartialEq)]
struct Observed {
    roots: Vec<SummaryId>,
    weights: Vec<f64>,
    full: Vec<NodeRange>,
    top: u64,
    levels: Vec<Level>,
    nodes_per_level: [u64; 4],
    words: Vec<(SummaryId, u32)>,
    /// A cut that uses the cached profiles.
    view: Result<Cut, PlanError>,
}

fn observed(tree: &Tree) -> Observed {
    let nodes = (0..tree.nodes.len()).map(NodeId::from_index);
    Observed {
        roots: tree.roots().map(|root| root.id).collect(),
        weights: tree.roots().map(|root| tree.weight(root.id)).collect(),
        full: tree.full().collect(),
        top: tree.top(),
        levels: nodes.map(|node| tree.level(node)).collect(),
        nodes_per_level: tree.nodes_per_level(),
        words: tree.placed().map(|there| (tree.words_for(there.id), there.tokens)).collect(),
        view: plan_view(tree, u32::try_from(tree.top() + tree.verbatim_total()).unwrap() / 2),
    }
}

/// The tree of these, grown from an empty one.
fn anew(nodes: &[NodeOutline], summaries: &[SummaryOutline]) -> Tree {
    let mut tree = tree(nodes, &[]);
    summaries.iter().for_each(|summary| tree.add(summary.clone()));
    tree
}

/// 24 SUMMARYs, four METAs over six of them each, and an ARCHIVE over three of those.
fn whole() -> Vec<SummaryOutline> {
    let mut all: Vec<SummaryOutline> = Vec::new();
    let mut say = |level, span, children: std::ops::Range<usize>| {
        let children: Box<[_]> = children.map(SummaryId::from_index).collect();
        all.push(SummaryOutline {
            id: SummaryId::from_index(all.len()),
            level,
            span,
            children,
            tokens: 12,
            for_view: false,
            is_disabled: false,
        });
    };
    (1..=24).for_each(|node| say(Level::Summary, run(node, node), 0..0));
    (0..4).for_each(|meta| say(Level::Meta, run(meta as u64 * 6 + 1, meta as u64 * 6 + 6), meta * 6..meta * 6 + 6));
    say(Level::Archive, run(1, 18), 24..27);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arbitrary claims: those that fit make a forest, and undoing restores each earlier state, step by step.
    #[test]
    fn undoing_gives_back_what_was_before(shape in "[ua1r]{1,30}", claims in prop::collection::vec((1u64..30, 0u64..3, prop::collection::vec(1u64..20, 0..4)), 0..20)) {
        let nodes = outlines(&shape);
        let mut grown = tree(&nodes, &[]);
        let (mut before, mut all) = (vec![observed(&grown)], Vec::new());
        for (index, (first, more, children)) in claims.into_iter().enumerate() {
            let level = if children.is_empty() { Level::Summary } else { Level::Meta };
            let mut children: Vec<_> = children.into_iter().filter_map(SummaryId::new).collect();
            children.sort();
            children.dedup();
            let spans: Option<Vec<_>> = children.iter().map(|child| Some(grown.summary(*child)?.span)).collect();
            let span = spans.unwrap_or_default().into_iter().reduce(NodeRange::hull).unwrap_or(run(first, first + more));
            let tokens = u32::try_from(9 + index).unwrap();
            let draft = SummaryOutline { id: SummaryId::from_index(index), level, span, children: children.into(), tokens, for_view: false, is_disabled: false };
            grown.add(draft.clone());
            before.push(observed(&grown));
            all.push(draft);
        }
        prop_assert_eq!(Some(&observed(&anew(&nodes, &all))), before.last(), "what is kept is what is found anew");
        while grown.summaries() > 0 {
            prop_assert_eq!(Some(observed(&grown)), before.pop());
            grown.undo();
        }
        prop_assert_eq!(Some(observed(&grown)), before.pop());
    }

    /// Words of a whole tree are superseded in any order. The tree's sums must equal a recount, and those of a tree
    /// that got the last words of each place at once.
    #[test]
    fn superseded_words_count_nowhere(shape in "[ua1r]{24}", later in prop::collection::vec((0usize..29, 1u32..60), 0..60)) {
        let nodes = outlines(&shape);
        let mut all = whole();
        let mut grown = anew(&nodes, &all);
        let mut before = vec![observed(&grown)];
        let mut last = all.clone();
        for (place, tokens) in later {
            let there = all[place].clone();
            last[place].tokens = tokens;
            all.push(SummaryOutline { id: SummaryId::from_index(all.len()), tokens, ..there });
            grown.add(all.last().unwrap().clone());
            before.push(observed(&grown));
        }
        let (now, at_once) = (observed(&grown), anew(&nodes, &last));
        prop_assert_eq!(&observed(&anew(&nodes, &all)), &now);
        let roots = last.iter().filter(|there| grown.parent(there.id).is_none());
        prop_assert_eq!(now.top, roots.map(|root| u64::from(root.tokens) + u64::from(grown.policy().per_summary)).sum::<u64>());
        prop_assert_eq!(&Observed { words: now.words.clone(), ..observed(&at_once) }, &now, "only the numbers differ");
        for place in &last {
            let words = grown.words_for(place.id);
            prop_assert_eq!(all[words.index()].tokens, place.tokens);
            prop_assert_eq!(grown.height(place.id), at_once.height(place.id));
        }
        while let Some(should) = before.pop() {
            prop_assert_eq!(observed(&grown), should);
            if !before.is_empty() {
                grown.undo();
            }
        }
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
        prop_assert_eq!(observed(&late), observed(&early));
        prop_assert_eq!(late.pinned().collect::<Vec<_>>(), early.pinned().collect::<Vec<_>>());
    }
}
