//! Which nodes and summaries a model is shown: a cut through the summary tree.

mod settled;

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{Tree, turns};
use crate::{ContextStrategy, History, Level, NodeId, NodeOutline, NodeRange, SummaryId, WrittenBy};

/// What a view weighs and what its pieces cost beside their words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewPolicy {
    /// Tokens that a message costs beside its text.
    pub per_message: u32,
    /// Tokens that a summary costs beside its text.
    pub per_summary: u32,
    /// A node's weight halves with every so many nodes behind it.
    pub half_life: f32,
    /// What is kept of a node at each level, by the level's number.
    pub fidelity: [f32; 4],
}

impl Default for ViewPolicy {
    fn default() -> Self {
        Self { per_message: 8, per_summary: 8, half_life: 200.0, fidelity: [1.0, 0.5, 0.2, 0.1] }
    }
}

/// A choice of what is shown: each node of a conversation exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// In order of the nodes they represent; the spans tile the conversation.
    pub pieces: Vec<CutPiece>,
    /// What the pieces cost under the policy, in tokens.
    pub tokens: u32,
}

/// One piece of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPiece {
    /// A turn, word for word.
    Verbatim(NodeRange),
    /// A summary in the place of the nodes that it covers.
    Summary {
        /// The summary.
        id: SummaryId,
        /// The nodes.
        span: NodeRange,
    },
}

impl CutPiece {
    /// The nodes that the piece represents.
    #[must_use]
    pub const fn span(self) -> NodeRange {
        match self {
            Self::Verbatim(span) | Self::Summary { span, .. } => span,
        }
    }
}

impl Cut {
    /// Runs of nodes that are shown word for word.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let verbatim = |piece: &CutPiece| match piece {
            CutPiece::Verbatim(span) => Some(*span),
            CutPiece::Summary { .. } => None,
        };
        NodeRange::merge(self.pieces.iter().filter_map(verbatim).collect())
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not even the coarsest cut fits.
    #[error("the coarsest view of the conversation needs {needed} tokens, the budget is {budget}")]
    BudgetTooSmall {
        /// Tokens of the coarsest cut.
        needed: u32,
        /// The budget.
        budget: u32,
    },
}

/// The hierarchical view: FULL nodes word for word, the rest as coarse as the budget asks.
///
/// It starts from the coarsest cut and refines it, always the step with the most value for its tokens:
/// value = importance × recency × fidelity, recency halving every [`ViewPolicy::half_life`] nodes. Pinned
/// nodes are brought back word for word first, while they fit.
///
/// Between two compactions new messages only add to the end: room for them is set aside before what is
/// summarized is cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct HierarchicalView;

impl ContextStrategy for HierarchicalView {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "hierarchical".into(), version: "1".into() }
    }

    fn plan(&self, history: History<'_>, budget: u32, policy: &ViewPolicy) -> Result<Cut, PlanError> {
        settled::plan(history, budget, policy)
    }
}

/// Plans a view of at most `budget` tokens; everything word for word where that fits.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
pub fn plan_view(tree: &Tree<'_>, budget: u32, policy: &ViewPolicy) -> Result<Cut, PlanError> {
    let words = words(tree.nodes(), policy);
    if words <= u64::from(budget) {
        let pieces = turns(tree.nodes()).into_iter().map(CutPiece::Verbatim).collect();
        return Ok(Cut { pieces, tokens: u32::try_from(words).unwrap_or(u32::MAX) });
    }
    let mut view = Refinement::new(tree, policy);
    if view.tokens > u64::from(budget) {
        let needed = u32::try_from(view.tokens.min(words)).unwrap_or(u32::MAX);
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    view.restore_pinned(u64::from(budget));
    view.refine(u64::from(budget));
    Ok(view.into_cut())
}

/// What nodes cost word for word.
fn words(nodes: &[NodeOutline], policy: &ViewPolicy) -> u64 {
    nodes.iter().map(|node| u64::from(node.tokens) + u64::from(policy.per_message)).sum()
}

/// A cut while it is being refined.
struct Refinement<'t> {
    tree: &'t Tree<'t>,
    policy: &'t ViewPolicy,
    turns: Vec<NodeRange>,
    /// For each turn, whether it is shown word for word.
    verbatim: Vec<bool>,
    /// For each summary, whether it is shown (or was, before one of its turns became verbatim).
    shown: Vec<bool>,
    tokens: u64,
}

/// A step that makes a cut finer.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Value gained for each token; infinite for a step that costs nothing.
    density: f64,
    cost: i64,
    /// First node concerned, so that equal steps have an order.
    first: NodeId,
    refine: Refine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refine {
    /// A summary gives way to its children.
    Open(SummaryId),
    /// A turn's SUMMARYs give way to its words; the turn's index.
    Verbatim(usize),
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        // The newer of two equal steps comes first.
        self.density.total_cmp(&other.density).then(self.first.cmp(&other.first))
    }
}

impl<'t> Refinement<'t> {
    /// The coarsest cut: every root, and word for word what no summary covers.
    fn new(tree: &'t Tree<'t>, policy: &'t ViewPolicy) -> Self {
        let turns = turns(tree.nodes());
        let mut view = Self { tree, policy, verbatim: vec![false; turns.len()], turns, shown: Vec::new(), tokens: 0 };
        for root in tree.roots() {
            view.show(root.id, true);
            view.tokens += view.summary_cost(root.id);
        }
        for index in 0..view.turns.len() {
            let Some(turn) = view.turn_at(index) else { continue };
            if turn.iter().any(|node| tree.leaf(node).is_none()) {
                // A turn that is covered in part only (its call was merged before the result came) stays
                // whole: word for word, in the place of its own SUMMARYs.
                view.leaves(turn).into_iter().for_each(|leaf| view.open_path_to(leaf));
                view.set_verbatim(index);
            }
        }
        view
    }

    fn turn_at(&self, index: usize) -> Option<NodeRange> {
        self.turns.get(index).copied()
    }

    fn show(&mut self, id: SummaryId, shown: bool) {
        if self.shown.len() <= id.index() {
            self.shown.resize(id.index() + 1, false);
        }
        if let Some(slot) = self.shown.get_mut(id.index()) {
            *slot = shown;
        }
    }

    fn is_shown(&self, id: SummaryId) -> bool {
        self.shown.get(id.index()).copied().unwrap_or(false)
    }

    fn summary_cost(&self, id: SummaryId) -> u64 {
        let tokens = self.tree.summary(id).map_or(0, |summary| summary.body.tokens);
        u64::from(tokens) + u64::from(self.policy.per_summary)
    }

    fn node_cost(&self, node: NodeId) -> u64 {
        self.tree.nodes().get(node.index()).map_or(0, |outline| words(std::slice::from_ref(outline), self.policy))
    }

    /// Importance × recency, before fidelity.
    fn weight(&self, node: NodeId) -> f64 {
        let importance = self.tree.nodes().get(node.index()).map_or(0.0, |outline| f64::from(outline.importance()));
        #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
        let age = (self.tree.total() - node.get()) as f64;
        // Nothing weighs nothing: between two nodes of importance 0 the newer still wins.
        importance.max(0.01) * (-age / f64::from(self.policy.half_life.max(1.0))).exp2()
    }

    fn fidelity(&self, level: Level) -> f64 {
        self.policy.fidelity.get(usize::from(level.number())).copied().map_or(0.0, f64::from)
    }

    /// SUMMARYs over a turn that a verbatim turn would replace, each once.
    fn leaves(&self, turn: NodeRange) -> Vec<SummaryId> {
        let mut leaves: Vec<_> = turn.iter().filter_map(|node| self.tree.leaf(node)).collect();
        leaves.dedup();
        leaves
    }

    /// Whether a turn can stand in the place of its SUMMARYs: they are shown and cover nothing else.
    fn may_be_verbatim(&self, turn: NodeRange) -> bool {
        self.leaves(turn).iter().all(|&leaf| {
            let span = self.tree.summary(leaf).map(|summary| summary.body.span);
            self.is_shown(leaf) && span.is_some_and(|span| turn.covers(span))
        })
    }

    fn verbatim_cost(&self, turn: NodeRange) -> i64 {
        let words: u64 = turn.iter().map(|node| self.node_cost(node)).sum();
        let replaced: u64 = self.leaves(turn).iter().map(|&leaf| self.summary_cost(leaf)).sum();
        difference(words, replaced)
    }

    fn set_verbatim(&mut self, index: usize) {
        let Some(turn) = self.turn_at(index) else { return };
        let cost = self.verbatim_cost(turn);
        self.tokens = self.tokens.saturating_add_signed(cost);
        for leaf in self.leaves(turn) {
            self.show(leaf, false);
        }
        if let Some(verbatim) = self.verbatim.get_mut(index) {
            *verbatim = true;
        }
    }

    fn open_cost(&self, id: SummaryId) -> i64 {
        let children: u64 = self.children(id).iter().map(|&child| self.summary_cost(child)).sum();
        difference(children, self.summary_cost(id))
    }

    fn children(&self, id: SummaryId) -> &'t [SummaryId] {
        self.tree.summary(id).map_or(&[], |summary| summary.body.children.as_slice())
    }

    fn open(&mut self, id: SummaryId) {
        self.tokens = self.tokens.saturating_add_signed(self.open_cost(id));
        self.show(id, false);
        for &child in self.children(id) {
            self.show(child, true);
        }
    }

    fn turn_of(&self, node: NodeId) -> Option<usize> {
        self.turns
            .binary_search_by(|turn| turn.last().cmp(&node))
            .map_or_else(Some, Some)
            .filter(|&i| i < self.turns.len())
    }

    /// Brings pinned turns back word for word, newest first, as long as they fit.
    fn restore_pinned(&mut self, budget: u64) {
        for index in (0..self.turns.len()).rev() {
            let Some(turn) = self.turn_at(index) else { continue };
            let pinned = |node: NodeId| self.tree.nodes().get(node.index()).is_some_and(|outline| outline.pinned);
            if self.verbatim.get(index) == Some(&true) || !turn.iter().any(pinned) {
                continue;
            }
            let before = (self.shown.clone(), self.tokens);
            for leaf in self.leaves(turn) {
                self.open_path_to(leaf);
            }
            let after = self.tokens.saturating_add_signed(self.verbatim_cost(turn));
            if self.may_be_verbatim(turn) && after <= budget {
                self.set_verbatim(index);
            } else {
                (self.shown, self.tokens) = before;
            }
        }
    }

    /// Opens whatever shown summary stands above `leaf`, down to it.
    fn open_path_to(&mut self, leaf: SummaryId) {
        let mut path = Vec::new();
        let mut at = leaf;
        while !self.is_shown(at) {
            let Some(parent) = self.tree.parent(at) else { return };
            path.push(parent);
            at = parent;
        }
        for id in path.into_iter().rev() {
            self.open(id);
        }
    }

    fn refine(&mut self, budget: u64) {
        let mut steps = BinaryHeap::new();
        let shown: Vec<_> = (0..self.shown.len()).map(SummaryId::from_index).filter(|&id| self.is_shown(id)).collect();
        for id in shown {
            steps.extend(self.step_from(id));
        }
        while let Some(step) = steps.pop() {
            if self.tokens.saturating_add_signed(step.cost) > budget {
                continue;
            }
            match step.refine {
                Refine::Open(id) => {
                    self.open(id);
                    steps.extend(self.children(id).iter().filter_map(|&child| self.step_from(child)));
                }
                Refine::Verbatim(index) => {
                    // A turn of several SUMMARYs is offered once by each of them.
                    if self.verbatim.get(index) == Some(&false) {
                        self.set_verbatim(index);
                    }
                }
            }
        }
    }

    /// The step that refines a shown summary, if there is one.
    fn step_from(&self, id: SummaryId) -> Option<Step> {
        let body = &self.tree.summary(id)?.body;
        let first = body.span.first();
        if body.level != Level::Summary {
            let gained = |child: SummaryId| {
                let child = &self.tree.summary(child)?.body;
                let fidelity = (self.fidelity(child.level) - self.fidelity(body.level)).max(0.0);
                // ARCHIVEs in ARCHIVEs: the lower one still says more.
                let fidelity = if child.level == body.level { self.fidelity(body.level) / 2.0 } else { fidelity };
                Some(child.span.iter().map(|node| self.weight(node)).sum::<f64>() * fidelity)
            };
            let value = body.children.iter().filter_map(|&child| gained(child)).sum();
            return Some(Step::new(value, self.open_cost(id), first, Refine::Open(id)));
        }
        let index = self.turn_of(first)?;
        let turn = self.turn_at(index)?;
        if !self.may_be_verbatim(turn) {
            return None;
        }
        let fidelity = self.fidelity(Level::Full) - self.fidelity(Level::Summary);
        let value = turn.iter().map(|node| self.weight(node)).sum::<f64>() * fidelity;
        Some(Step::new(value, self.verbatim_cost(turn), first, Refine::Verbatim(index)))
    }

    fn into_cut(self) -> Cut {
        let summaries = (0..self.shown.len()).map(SummaryId::from_index).filter(|&id| self.is_shown(id));
        let summaries = summaries.filter_map(|id| {
            let span = self.tree.summary(id)?.body.span;
            Some(CutPiece::Summary { id, span })
        });
        let verbatim = self.turns.iter().zip(&self.verbatim).filter(|(_, shown)| **shown);
        let mut pieces: Vec<_> = summaries.chain(verbatim.map(|(turn, _)| CutPiece::Verbatim(*turn))).collect();
        pieces.sort_by_key(|piece| piece.span());
        Cut { pieces, tokens: u32::try_from(self.tokens).unwrap_or(u32::MAX) }
    }
}

impl Step {
    fn new(value: f64, cost: i64, first: NodeId, refine: Refine) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let density = if cost <= 0 { f64::INFINITY } else { value / cost as f64 };
        Self { density, cost, first, refine }
    }
}

fn difference(more: u64, less: u64) -> i64 {
    i64::try_from(more).unwrap_or(i64::MAX) - i64::try_from(less).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
