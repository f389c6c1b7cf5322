//! Refines a cut step by step, by value per token.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap},
};

use crate::{
    Level, NodeId, NodeRange, SummaryId,
    plan::{Cut, CutPiece, Tree, cut::tokens},
};

pub(super) struct Refinement<'t> {
    tree: &'t Tree,
    /// Pieces by their first node.
    shown: BTreeMap<NodeId, CutPiece>,
    tokens: u64,
    /// Last node of the conversation, for recency.
    now: NodeId,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Value gained per token; infinite for a step without cost.
    density: f64,
    cost: i64,
    /// First node of the step; orders steps of equal density.
    first: NodeId,
    refine: Refine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refine {
    /// Replaces a summary with its children.
    Open(SummaryId),
    /// Replaces a turn's SUMMARYs with its messages.
    Verbatim(NodeRange),
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
        // Newer steps precede equal older ones.
        self.density.total_cmp(&other.density).then(self.first.cmp(&other.first))
    }
}

impl<'t> Refinement<'t> {
    /// The coarsest cut of the summarized part: all roots.
    pub(super) fn of_roots(tree: &'t Tree) -> Self {
        let now = tree.roots().next_back().map_or(NodeId::FIRST, |last| last.span.last());
        let mut view = Self { tree, shown: BTreeMap::new(), tokens: 0, now };
        tree.roots().for_each(|root| view.show(root.id));
        view
    }

    /// The coarsest cut: all roots, with nodes verbatim that no summary covers.
    pub(super) fn of_all(tree: &'t Tree) -> Self {
        let mut view = Self::of_roots(tree);
        view.now = NodeId::new(tree.total()).unwrap_or(NodeId::FIRST);
        for run in tree.full() {
            for turn in tree.turns_from(run.first()).take_while(|turn| turn.first() <= run.last()) {
                // A turn that is covered only in part, because its call was merged before the result came, must stay
                // whole: its messages replace its own SUMMARYs.
                view.leaves(turn).into_iter().for_each(|leaf| view.open_path_to(leaf));
                if !view.is_verbatim(turn) {
                    view.set_verbatim(turn);
                }
            }
        }
        view
    }

    /// An existing cut.
    pub(super) fn of_cut(tree: &'t Tree, cut: Cut) -> Self {
        let now = tree.roots().next_back().map_or(NodeId::FIRST, |last| last.span.last());
        let shown = cut.pieces.into_iter().map(|piece| (piece.span().first(), piece)).collect();
        Self { tree, shown, tokens: u64::from(cut.tokens), now }
    }

    pub(super) fn verbatim(&self) -> Vec<NodeRange> {
        let turn = |piece: &CutPiece| match piece {
            CutPiece::Verbatim(turn) => Some(*turn),
            CutPiece::Summary { .. } | CutPiece::Omitted(_) => None,
        };
        self.shown.values().filter_map(turn).collect()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    fn show(&mut self, id: SummaryId) {
        if let Some(summary) = self.tree.summary(id) {
            self.tokens += self.tree.summary_cost(id);
            self.shown.insert(summary.span.first(), CutPiece::Summary { id, span: summary.span });
        }
    }

    fn hide(&mut self, id: SummaryId) {
        if let Some(summary) = self.tree.summary(id).filter(|_| self.is_shown(id)) {
            self.tokens -= self.tree.summary_cost(id);
            self.shown.remove(&summary.span.first());
        }
    }

    fn is_shown(&self, id: SummaryId) -> bool {
        let there = self.tree.summary(id).and_then(|summary| self.shown.get(&summary.span.first()));
        matches!(there, Some(CutPiece::Summary { id: shown, .. }) if *shown == id)
    }

    fn is_verbatim(&self, turn: NodeRange) -> bool {
        self.shown.get(&turn.first()) == Some(&CutPiece::Verbatim(turn))
    }

    /// SUMMARYs that a verbatim turn would replace, each once.
    fn leaves(&self, turn: NodeRange) -> Vec<SummaryId> {
        let mut leaves: Vec<_> = turn.iter().filter_map(|node| self.tree.leaf(node)).collect();
        leaves.dedup();
        leaves
    }

    /// True if a turn can replace its SUMMARYs: all are shown and cover no other turn.
    fn may_be_verbatim(&self, turn: NodeRange) -> bool {
        self.leaves(turn).iter().all(|&leaf| {
            let span = self.tree.summary(leaf).map(|summary| summary.span);
            self.is_shown(leaf) && span.is_some_and(|span| turn.covers(span))
        })
    }

    fn verbatim_cost(&self, turn: NodeRange) -> i64 {
        let replaced: u64 = self.leaves(turn).iter().map(|&leaf| self.tree.summary_cost(leaf)).sum();
        difference(self.tree.verbatim_cost(turn), replaced)
    }

    fn set_verbatim(&mut self, turn: NodeRange) {
        self.leaves(turn).into_iter().for_each(|leaf| self.hide(leaf));
        self.tokens += self.tree.verbatim_cost(turn);
        self.shown.insert(turn.first(), CutPiece::Verbatim(turn));
    }

    fn open_cost(&self, id: SummaryId) -> i64 {
        let children: u64 = self.children(id).iter().map(|&child| self.tree.summary_cost(child)).sum();
        difference(children, self.tree.summary_cost(id))
    }

    fn children(&self, id: SummaryId) -> &'t [SummaryId] {
        self.tree.summary(id).map_or(&[], |summary| &summary.children)
    }

    fn open(&mut self, id: SummaryId) {
        self.hide(id);
        self.children(id).iter().for_each(|child| self.show(*child));
    }

    /// Restores the last turns verbatim, newest first, until one does not fit.
    pub(super) fn restore_end(&mut self, budget: u64) {
        for turn in self.tree.recent_turns() {
            if !self.restore(turn, budget) {
                return;
            }
        }
    }

    /// Restores turns verbatim, newest first, until those shown cost more than `most`, or one does not fit.
    pub(super) fn restore_newest(&mut self, most: u64, budget: u64) {
        let (mut node, mut cost) = (NodeId::new(self.tree.total()), 0);
        while let Some(turn) = node.and_then(|node| self.tree.turn_of(node)) {
            cost += self.tree.verbatim_cost(turn);
            if cost > most || !self.restore(turn, budget) {
                return;
            }
            node = NodeId::new(turn.first().get() - 1);
        }
    }

    /// Restores pinned turns verbatim, newest first, while they fit.
    pub(super) fn restore_pinned(&mut self, budget: u64) {
        for node in self.tree.pinned().rev() {
            if let Some(turn) = self.tree.turn_of(node) {
                self.restore(turn, budget);
            }
        }
    }

    /// Restores the turns of these nodes verbatim, each one that fits.
    pub(super) fn restore_nodes(&mut self, nodes: impl IntoIterator<Item = NodeId>, budget: u64) {
        for node in nodes {
            if let Some(turn) = self.tree.turn_of(node) {
                self.restore(turn, budget);
            }
        }
    }

    /// Opens the summaries over a node down to its SUMMARY, if that fits.
    pub(super) fn open_to_summary(&mut self, node: NodeId, budget: u64) {
        let Some(leaf) = self.tree.leaf(node) else { return };
        self.trying(budget, |view| view.open_path_to(leaf));
    }

    /// Replaces ARCHIVEs with their children, newest first, while that fits.
    pub(super) fn open_archives(&mut self, budget: u64) {
        let level = |id: SummaryId| self.tree.summary(id).map(|summary| summary.level);
        let archive = |piece: &CutPiece| match piece {
            CutPiece::Summary { id, .. } => Some(*id).filter(|id| level(*id) == Some(Level::Archive)),
            CutPiece::Verbatim(_) | CutPiece::Omitted(_) => None,
        };
        while let Some(newest) = self.shown.values().rev().find_map(archive) {
            if !self.trying(budget, |view| view.open(newest)) {
                return;
            }
        }
    }

    /// Applies a change if the result costs at most `budget`; otherwise undoes it and returns `false`.
    fn trying(&mut self, budget: u64, change: impl FnOnce(&mut Self)) -> bool {
        let before = (self.shown.clone(), self.tokens);
        change(self);
        let fits = self.tokens <= budget;
        if !fits {
            (self.shown, self.tokens) = before;
        }
        fits
    }

    /// Restores a turn verbatim if it fits; `false` if it does not.
    fn restore(&mut self, turn: NodeRange, budget: u64) -> bool {
        let leaves = self.leaves(turn);
        if self.is_verbatim(turn) || leaves.is_empty() || turn.iter().any(|node| self.tree.leaf(node).is_none()) {
            // The turn is shown already, or is not part of this view.
            return true;
        }
        let before = (self.shown.clone(), self.tokens);
        leaves.into_iter().for_each(|leaf| self.open_path_to(leaf));
        let after = self.tokens.saturating_add_signed(self.verbatim_cost(turn));
        let fits = self.may_be_verbatim(turn) && after <= budget;
        if fits {
            self.set_verbatim(turn);
        } else {
            (self.shown, self.tokens) = before;
        }
        fits
    }

    /// Opens every shown summary above `leaf`.
    fn open_path_to(&mut self, leaf: SummaryId) {
        let mut path = Vec::new();
        let mut at = leaf;
        while !self.is_shown(at) {
            let Some(parent) = self.tree.parent(at) else { return };
            path.push(parent);
            at = parent;
        }
        path.into_iter().rev().for_each(|id| self.open(id));
    }

    /// Spends the rest of the budget, always on the step with the highest value per token.
    pub(super) fn refine(&mut self, budget: u64) {
        let shown = self.shown.values().filter_map(|piece| match piece {
            CutPiece::Summary { id, .. } => self.step_from(*id),
            CutPiece::Verbatim(_) | CutPiece::Omitted(_) => None,
        });
        let mut steps: BinaryHeap<_> = shown.collect();
        while let Some(step) = steps.pop() {
            if self.tokens.saturating_add_signed(step.cost) > budget {
                continue;
            }
            match step.refine {
                Refine::Open(id) => {
                    self.open(id);
                    steps.extend(self.children(id).iter().filter_map(|&child| self.step_from(child)));
                }
                // Each SUMMARY of a turn offers the same step.
                Refine::Verbatim(turn) if self.is_verbatim(turn) => {}
                Refine::Verbatim(turn) => self.set_verbatim(turn),
            }
        }
    }

    /// The step that refines a shown summary, if there is one.
    fn step_from(&self, id: SummaryId) -> Option<Step> {
        let summary = self.tree.summary(id)?;
        let first = summary.span.first();
        let aged = |id: SummaryId, last: NodeId| self.tree.weight(id) * self.tree.ageing(last, self.now);
        if summary.level != Level::Summary {
            let gained = |child: SummaryId| {
                let fidelity = (self.tree.fidelity(child) - self.tree.fidelity(id)).max(0.0);
                Some(aged(child, self.tree.summary(child)?.span.last()) * fidelity)
            };
            let value = summary.children.iter().filter_map(|&child| gained(child)).sum();
            return Some(Step::new(value, self.open_cost(id), first, Refine::Open(id)));
        }
        let turn = self.tree.turn_of(first)?;
        if !self.may_be_verbatim(turn) {
            return None;
        }
        let kept = self.tree.policy().fidelity.first().copied().map_or(0.0, f64::from) - self.tree.fidelity(id);
        let value = self.tree.weight_of(turn) * self.tree.ageing(turn.last(), self.now) * kept;
        Some(Step::new(value, self.verbatim_cost(turn), first, Refine::Verbatim(turn)))
    }

    pub(super) fn into_cut(self) -> Cut {
        Cut { pieces: self.shown.into_values().collect(), tokens: tokens(self.tokens) }
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
