//! The most valuable cut under a budget, by dynamic programming over the tree.

use crate::{
    Level, NodeId, NodeRange, SummaryId,
    plan::{
        Cut, CutPiece, Tree,
        cut::tokens,
        profile::{MOST, Made, NOTHING, Point, Profile, merge, pareto, thin},
    },
};

/// Maximum points of the profiles at the top, where precision matters most.
const MOST_AT_TOP: usize = 256;
/// Remaining share of a weight below which adding it to a new weight is lost in 64-bit rounding.
const NOTHING_LEFT: f64 = f64::EPSILON;

/// A tree to cut.
///
/// Choices are made by unit: a merged summary is kept or replaced by a cut below it; the SUMMARYs of a turn are kept or
/// replaced by its messages. A turn whose SUMMARYs have different parents stays summarized, unless it is forced.
pub(super) struct Knapsack<'t> {
    tree: &'t Tree,
    /// Turns that are shown verbatim at any cost, in order. The budget does not include them.
    forced: Vec<NodeRange>,
}

/// The unit of a choice.
#[derive(Clone, Debug)]
enum Unit {
    /// A META or an ARCHIVE.
    Branch(SummaryId),
    /// Consecutive SUMMARYs, and the whole turns that they cover, which may replace them.
    Leaves(Vec<SummaryId>, Option<NodeRange>),
}

/// Display of a unit at a point of its profile.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// The unit's own summary or SUMMARYs.
    Summarized,
    /// The unit's messages.
    Verbatim,
    /// Choices below it: this point of the table below.
    Below(u16),
}

/// Consecutive units, each with the profile of itself and all units after it.
struct Table {
    units: Vec<Unit>,
    /// A layer for each unit, and a last one for no unit.
    layers: Vec<Vec<Made>>,
}

impl<'t> Knapsack<'t> {
    pub(super) fn new(tree: &'t Tree, mut forced: Vec<NodeRange>) -> Self {
        forced.sort_unstable();
        Self { tree, forced }
    }

    /// The most valuable cut of all roots for at most `budget` tokens, plus the forced turns. `None` if the cheapest
    /// cut costs more.
    pub(super) fn cut(&self, budget: u32) -> Option<Cut> {
        let now = self.tree.roots().next_back().map_or(NodeId::FIRST, |last| last.span.last());
        let roots: Vec<_> = self.tree.roots().map(|root| root.id).collect();
        let table = self.table(&roots, now, MOST_AT_TOP, budget);
        let affordable = table.layers.first().into_iter().flatten().map(|(point, _)| point).enumerate();
        let affordable = affordable.filter(|(_, point)| point.tokens <= budget);
        let (best, _) = affordable.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
        let mut pieces = Vec::new();
        self.pick(&table, u16::try_from(best).unwrap_or(u16::MAX), now, &mut pieces);
        pieces.extend(self.forced.iter().map(|turn| CutPiece::Verbatim(*turn)));
        pieces.sort_by_key(|piece| piece.span());
        let cost = pieces.iter().map(|piece| self.cost(*piece)).sum();
        Some(Cut { pieces, tokens: tokens(cost) })
    }

    fn cost(&self, piece: CutPiece) -> u64 {
        match piece {
            CutPiece::Summary { id, .. } => self.tree.summary_cost(id),
            CutPiece::Verbatim(turn) => self.tree.verbatim_cost(turn),
            CutPiece::Omitted(_) => 0,
        }
    }

    fn summary_value(&self, id: SummaryId) -> f64 {
        self.tree.weight(id) * self.tree.fidelity(id)
    }

    fn verbatim_value(&self, run: NodeRange) -> f64 {
        self.tree.weight_of(run) * self.tree.policy().fidelity.first().copied().map_or(0.0, f64::from)
    }

    fn span(&self, unit: &Unit) -> Option<NodeRange> {
        let span = |id: &SummaryId| self.tree.summary(*id).map(|summary| summary.span);
        match unit {
            Unit::Branch(id) => span(id),
            Unit::Leaves(ids, _) => ids.iter().filter_map(span).reduce(NodeRange::hull),
        }
    }

    /// Units of neighbouring summaries with one parent.
    fn units(&self, siblings: &[SummaryId]) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut rest = siblings;
        while let Some((&id, behind)) = rest.split_first() {
            rest = behind;
            let Some(summary) = self.tree.summary(id) else { continue };
            if summary.level != Level::Summary {
                units.push(Unit::Branch(id));
            } else if self.is_forced(summary.span) {
                // Forced turns are added to the result verbatim.
            } else if let Some((count, run)) = self.whole_turns(id, behind) {
                let (leaves, others) = behind.split_at(count);
                units.push(Unit::Leaves(std::iter::once(id).chain(leaves.iter().copied()).collect(), Some(run)));
                rest = others;
            } else {
                units.push(Unit::Leaves(vec![id], None));
            }
        }
        units
    }

    /// Number of SUMMARYs after `first` that complete whole turns with it, and the nodes of those turns.
    fn whole_turns(&self, first: SummaryId, behind: &[SummaryId]) -> Option<(usize, NodeRange)> {
        let begins = |run: NodeRange| self.tree.turn_of(run.first()).is_some_and(|turn| turn.first() == run.first());
        let ends = |run: NodeRange| self.tree.turn_of(run.last()).is_some_and(|turn| turn.last() == run.last());
        let mut run = Some(self.tree.summary(first)?.span).filter(|run| begins(*run))?;
        for (count, next) in (0..).zip(behind.iter().map(Some).chain([None])) {
            if ends(run) {
                return Some((count, run));
            }
            let next = self.tree.summary(*next?)?;
            if next.level != Level::Summary || !run.is_followed_by(next.span) {
                return None;
            }
            run = run.hull(next.span);
        }
        None
    }

    /// Points of a unit, each with its display. Values are relative to the unit's last node.
    fn points(&self, unit: &Unit) -> Vec<(Point, Shown)> {
        match unit {
            Unit::Branch(id) => self.opened(*id).1,
            Unit::Leaves(ids, run) => {
                let last = self.span(unit).map_or(NodeId::FIRST, NodeRange::last);
                let value = |id: &SummaryId| {
                    let end = self.tree.summary(*id).map_or(last, |summary| summary.span.last());
                    self.summary_value(*id) * self.tree.ageing(end, last)
                };
                let cost = ids.iter().map(|id| self.tree.summary_cost(*id)).sum();
                let summarized = Point { tokens: tokens(cost), value: ids.iter().map(value).sum() };
                let words = |run: NodeRange| Point {
                    tokens: tokens(self.tree.verbatim_cost(run)),
                    value: self.verbatim_value(run),
                };
                let mut points = vec![(summarized, Shown::Summarized)];
                points.extend(run.map(|run| (words(run), Shown::Verbatim)));
                points.sort_by(|(a, _), (b, _)| a.tokens.cmp(&b.tokens).then(b.value.total_cmp(&a.value)));
                points.dedup_by(|(later, _), (first, _)| later.value <= first.value);
                points
            }
        }
    }

    /// Points of a unit. The tree caches those of a part without forced turns.
    fn profile(&self, unit: &Unit) -> Profile {
        match unit {
            Unit::Branch(id) if !self.is_forced_below(*id) => self.tree.profile(*id, || self.untagged(unit)),
            _ => self.untagged(unit),
        }
    }

    fn untagged(&self, unit: &Unit) -> Profile {
        self.points(unit).into_iter().map(|(point, _)| point).collect()
    }

    /// Remaining share of a unit's weight at `now`.
    fn ageing(&self, unit: &Unit, now: NodeId) -> f64 {
        self.span(unit).map_or(1.0, |span| self.tree.ageing(span.last(), now))
    }

    /// True if the weight below a merged summary is negligible, so that it is not searched: old parts of a conversation
    /// then cost no time.
    fn stays_closed(&self, id: SummaryId, ageing: f64) -> bool {
        ageing < NOTHING_LEFT && !self.is_forced_below(id)
    }

    /// Point of a merged summary that is kept.
    fn own(&self, id: SummaryId) -> Point {
        Point { tokens: tokens(self.tree.summary_cost(id)), value: self.summary_value(id) }
    }

    /// True if a point of a merged summary is itself. The table below is then not needed, which is so for most of a long
    /// conversation.
    fn is_own(&self, id: SummaryId, point: Option<&Point>) -> bool {
        point == Some(&self.own(id)) && !self.is_forced_below(id)
    }

    /// True if a forced turn overlaps a run.
    fn is_forced(&self, run: NodeRange) -> bool {
        let behind = self.forced.partition_point(|turn| turn.last() < run.first());
        self.forced.get(behind).is_some_and(|turn| turn.first() <= run.last())
    }

    fn is_forced_below(&self, id: SummaryId) -> bool {
        self.tree.summary(id).is_some_and(|summary| self.is_forced(summary.span))
    }

    /// Choices below a merged summary, and its points: itself, and every cut below it.
    fn opened(&self, id: SummaryId) -> (Table, Vec<(Point, Shown)>) {
        let (children, last) = match self.tree.summary(id) {
            Some(summary) => (&*summary.children, summary.span.last()),
            None => (&[][..], NodeId::FIRST),
        };
        let table = self.table(children, last, MOST, u32::MAX);
        let below = table.layers.first().into_iter().flatten().map(|(point, _)| *point);
        let mut points: Vec<Made> = (0..).zip(below).map(|(index, point)| (point, [1, index])).collect();
        if !self.is_forced_below(id) {
            points.push((self.own(id), [0, 0]));
            points.sort_by(|(a, i), (b, j)| a.tokens.cmp(&b.tokens).then(b.value.total_cmp(&a.value)).then(i.cmp(j)));
        }
        let points = thin(pareto(points), MOST);
        let shown = |[is_below, index]: [u16; 2]| if is_below == 0 { Shown::Summarized } else { Shown::Below(index) };
        (table, points.into_iter().map(|(point, made)| (point, shown(made))).collect())
    }

    fn table(&self, siblings: &[SummaryId], now: NodeId, most: usize, budget: u32) -> Table {
        let units = self.units(siblings);
        let mut layers = vec![vec![(NOTHING, [0, 0])]];
        let mut behind = vec![NOTHING];
        for unit in units.iter().rev() {
            let ageing = self.ageing(unit, now);
            let aged = |point: &Point| Point { value: point.value * ageing, ..*point };
            let here: Vec<_> = match unit {
                Unit::Branch(id) if self.stays_closed(*id, ageing) => vec![aged(&self.own(*id))],
                _ => self.profile(unit).iter().map(aged).collect(),
            };
            let layer = merge(&here, &behind, most, budget);
            behind = layer.iter().map(|(point, _)| *point).collect();
            layers.push(layer);
        }
        layers.reverse();
        Table { units, layers }
    }

    /// Adds the pieces of a point of a table from unit `at` on.
    fn pick(&self, table: &Table, point: u16, now: NodeId, pieces: &mut Vec<CutPiece>) {
        let mut point = usize::from(point);
        for (unit, layer) in table.units.iter().zip(&table.layers) {
            let Some((_, [here, behind])) = layer.get(point) else { return };
            let here = usize::from(*here);
            match unit {
                Unit::Branch(id) if self.stays_closed(*id, self.ageing(unit, now)) => self.piece(*id, pieces),
                Unit::Branch(id) if self.is_own(*id, self.profile(unit).get(here)) => self.piece(*id, pieces),
                Unit::Branch(id) => {
                    let (below, points) = self.opened(*id);
                    let last = self.span(unit).map_or(now, NodeRange::last);
                    match points.get(here) {
                        Some((_, Shown::Below(index))) => self.pick(&below, *index, last, pieces),
                        _ => self.piece(*id, pieces),
                    }
                }
                Unit::Leaves(ids, run) => match (run, self.points(unit).get(here)) {
                    (Some(run), Some((_, Shown::Verbatim))) => {
                        let turns = self.tree.turns_from(run.first()).take_while(|turn| turn.last() <= run.last());
                        pieces.extend(turns.map(CutPiece::Verbatim));
                    }
                    _ => ids.iter().for_each(|id| self.piece(*id, pieces)),
                },
            }
            point = usize::from(*behind);
        }
    }

    fn piece(&self, id: SummaryId, pieces: &mut Vec<CutPiece>) {
        pieces.extend(self.tree.summary(id).map(|summary| CutPiece::Summary { id, span: summary.span }));
    }
}

#[cfg(test)]
mod tests;
