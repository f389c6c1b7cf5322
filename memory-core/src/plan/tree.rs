//! The forest that summaries make over the nodes of a conversation.

use crate::{History, Level, NodeId, NodeOutline, NodeRange, Summary, SummaryId};

/// A conversation's nodes and the summaries over them, with who covers whom.
///
/// Of two summaries that claim the same nodes or children, the one recorded first counts and the other is
/// ignored, and so is one whose child was lost; so any sequence of summaries makes a forest.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    history: History<'a>,
    /// For each node, the SUMMARY that covers it.
    leaves: Vec<Option<SummaryId>>,
    /// For each summary, its place.
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    parent: Option<SummaryId>,
    /// Steps down to a SUMMARY; `None` for an ignored summary.
    height: Option<u32>,
}

impl<'a> Tree<'a> {
    /// Reads the forest from recorded summaries.
    #[must_use]
    pub fn new(history: History<'a>) -> Self {
        let mut tree = Self {
            history,
            leaves: vec![None; history.nodes.len()],
            places: vec![Place::default(); history.summaries.len()],
        };
        for summary in history.summaries {
            tree.place(summary);
        }
        tree
    }

    fn place(&mut self, summary: &Summary) {
        let (id, body) = (summary.id, &summary.body);
        let height = if body.level == Level::Summary {
            let span = body.span.first().index()..=body.span.last().index();
            match self.leaves.get_mut(span) {
                Some(leaves) if leaves.iter().all(Option::is_none) => leaves.fill(Some(id)),
                _ => return,
            }
            0
        } else {
            let heights: Option<Vec<u32>> = body
                .children
                .iter()
                .map(|child| {
                    let place = self.places.get(self.position(*child)?)?;
                    place.height.filter(|_| place.parent.is_none())
                })
                .collect();
            let Some(highest) = heights.and_then(|heights| heights.into_iter().max()) else { return };
            for child in &body.children {
                if let Some(place) = self.place_mut(*child) {
                    place.parent = Some(id);
                }
            }
            highest + 1
        };
        if let Some(place) = self.place_mut(id) {
            place.height = Some(height);
        }
    }

    /// Where a summary stands among the recorded ones: at its number, unless some before it were lost.
    fn position(&self, id: SummaryId) -> Option<usize> {
        let all = self.history.summaries;
        match all.get(id.index()) {
            Some(summary) if summary.id == id => Some(id.index()),
            _ => all.binary_search_by_key(&id, |summary| summary.id).ok(),
        }
    }

    fn place_mut(&mut self, id: SummaryId) -> Option<&mut Place> {
        let position = self.position(id)?;
        self.places.get_mut(position)
    }

    fn place_of(&self, id: SummaryId) -> Option<Place> {
        self.places.get(self.position(id)?).copied()
    }

    /// The nodes' outlines, in order.
    #[must_use]
    pub fn nodes(&self) -> &'a [NodeOutline] {
        self.history.nodes
    }

    /// How many nodes the conversation has.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.history.nodes.len() as u64
    }

    /// A recorded summary.
    #[must_use]
    pub fn summary(&self, id: SummaryId) -> Option<&'a Summary> {
        self.history.summaries.get(self.position(id)?)
    }

    /// The SUMMARY over a node.
    #[must_use]
    pub fn leaf(&self, node: NodeId) -> Option<SummaryId> {
        self.leaves.get(node.index()).copied().flatten()
    }

    /// The summary directly above another.
    #[must_use]
    pub fn parent(&self, id: SummaryId) -> Option<SummaryId> {
        self.place_of(id)?.parent
    }

    /// Steps from a summary down to a SUMMARY; `None` for one that is ignored.
    #[must_use]
    pub fn height(&self, id: SummaryId) -> Option<u32> {
        self.place_of(id)?.height
    }

    /// Summaries that stand under no other, in order of the nodes they cover.
    #[must_use]
    pub fn roots(&self) -> Vec<&'a Summary> {
        let is_root = |summary: &&Summary| {
            self.place_of(summary.id).is_some_and(|place| place.height.is_some() && place.parent.is_none())
        };
        let mut roots: Vec<_> = self.history.summaries.iter().filter(is_root).collect();
        roots.sort_by_key(|summary| summary.body.span);
        roots
    }

    /// Runs of nodes that no summary covers.
    #[must_use]
    pub fn full(&self) -> Vec<NodeRange> {
        let bare = self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.is_none());
        NodeRange::merge(bare.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect())
    }

    /// The level of a node: that of the highest summary over it.
    #[must_use]
    pub fn level(&self, node: NodeId) -> Level {
        let mut level = Level::Full;
        let mut above = self.leaf(node);
        while let Some(id) = above {
            level = self.summary(id).map_or(level, |summary| summary.body.level);
            above = self.parent(id);
        }
        level
    }

    /// How many nodes are at each level, by the level's number.
    #[must_use]
    pub fn nodes_per_level(&self) -> [u64; 4] {
        let mut counts = [0; 4];
        for root in self.roots() {
            if let Some(count) = counts.get_mut(usize::from(root.body.level.number())) {
                *count += root.body.span.count();
            }
        }
        let covered: u64 = counts.iter().sum();
        if let Some(full) = counts.first_mut() {
            *full = self.total() - covered;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{outlines, summary};

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
        let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
        let levels: Vec<_> = run(1, 5).iter().map(|node| tree.level(node)).collect();
        assert_eq!(levels, [Level::Meta, Level::Meta, Level::Summary, Level::Full, Level::Full]);
        assert_eq!(tree.nodes_per_level(), [2, 1, 2, 0]);
        assert_eq!(tree.full(), [run(4, 5)]);
        let roots: Vec<_> = tree.roots().iter().map(|root| root.body.span).collect();
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
        let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
        let roots: Vec<_> = tree.roots().iter().map(|root| root.body.span).collect();
        assert_eq!(roots, [run(1, 1), run(3, 3), run(4, 4)]);
        assert_eq!(tree.full(), [run(2, 2), run(5, 5)]);
    }

    #[test]
    fn a_second_claim_on_the_same_nodes_is_ignored() {
        let nodes = outlines("ua");
        let mut summaries = vec![summary(&[], Level::Summary, run(1, 1), Vec::new())];
        summaries.push(summary(&summaries, Level::Summary, run(1, 2), Vec::new()));
        let first = vec![summaries[0].id];
        summaries.push(summary(&summaries, Level::Meta, run(1, 1), first.clone()));
        summaries.push(summary(&summaries, Level::Meta, run(1, 1), first));
        let tree = Tree::new(History { nodes: &nodes, summaries: &summaries });
        assert_eq!(tree.roots().iter().map(|root| root.id.get()).collect::<Vec<_>>(), [3]);
        assert_eq!(tree.full(), [run(2, 2)]);
    }
}
