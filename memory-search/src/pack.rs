//! Which messages to show for ranked hits, under a budget.

use std::cmp::Reverse;

use memory_core::{NodeId, NodeOutline, NodeRange, plan};

/// What is to be packed, and into how much.
#[derive(Clone, Copy, Debug)]
pub struct PackRequest<'a> {
    /// All nodes of the conversation, in order.
    pub outline: &'a [NodeOutline],
    /// The hits, best first; those that are shown already or do not exist are passed over.
    pub ranked: &'a [NodeId],
    /// What the reader sees anyway.
    pub shown: &'a [NodeRange],
    /// The most tokens that the packed messages may cost together.
    pub max_tokens: u32,
    /// Tokens that a message costs beside its text.
    pub per_message: u32,
    /// Messages to show before and after each hit; 0 packs most of what bears on the question into a budget. The
    /// designs that show a fixed surrounding take 2.
    pub radius: u64,
}

/// What was packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The messages to show: in order of time; no two runs overlap or touch.
    pub runs: Vec<NodeRange>,
    /// What they cost, at most [`PackRequest::max_tokens`].
    pub tokens: u64,
    /// The best hit, where it alone costs more than the budget.
    pub too_large: Option<TooLarge>,
}

/// A hit that no budget of this size can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The hit.
    pub node: NodeId,
    /// What it costs, with the tool calls and results that must not be parted from it.
    pub tokens: u64,
}

/// Chooses the messages to show.
///
/// The best hit comes first and is given up only where it alone exceeds the budget. The others follow by value per
/// token: with a radius of 0 in order of `1 / (10 + rank) / √tokens`, with a larger one in order of rank, where
/// neighbours are given up before the hit. A hit brings along what must not be parted from it: a tool call and its
/// results. Equal requests give equal answers.
#[must_use]
pub fn pack(request: &PackRequest<'_>) -> Packed {
    let mut packer = Packer::new(request);
    let hits = packer.hits();
    let Some((best, others)) = hits.split_first() else {
        return Packed::default();
    };
    let fits = packer.take(best);
    let too_large = (!fits).then_some(TooLarge { node: best.node, tokens: best.tokens });
    for hit in others {
        packer.take(hit);
    }
    Packed { runs: packer.runs(), tokens: packer.tokens, too_large }
}

/// A hit with what cannot be parted from it.
struct Unit {
    node: NodeId,
    tokens: u64,
}

struct Packer<'a> {
    request: &'a PackRequest<'a>,
    turns: Vec<NodeRange>,
    nodes: Vec<State>,
    tokens: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Shown,
    Taken,
}

impl<'a> Packer<'a> {
    fn new(request: &'a PackRequest<'a>) -> Self {
        let mut nodes = vec![State::Free; request.outline.len()];
        for run in request.shown {
            let end = run.last().get().min(request.outline.len() as u64);
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            nodes.get_mut(run.first().index()..end).unwrap_or_default().fill(State::Shown);
        }
        Self { request, turns: plan::turns(request.outline), nodes, tokens: 0 }
    }

    /// The hits in the order in which they are to be tried.
    fn hits(&self) -> Vec<Unit> {
        let free = self.request.ranked.iter().filter(|node| self.nodes.get(node.index()) == Some(&State::Free));
        let mut units: Vec<_> = free.map(|&node| Unit { node, tokens: self.cost(self.widened(node, 0)) }).collect();
        if self.request.radius == 0 {
            let mut by_density: Vec<_> = units.drain(..).enumerate().collect();
            by_density.sort_by_cached_key(|(rank, unit)| (*rank > 0, Reverse(density(*rank, unit.tokens)), *rank));
            units.extend(by_density.into_iter().map(|(_, unit)| unit));
        }
        units
    }

    /// Takes a hit with as many neighbours as fit; `false` where not even the hit does.
    fn take(&mut self, hit: &Unit) -> bool {
        let left = u64::from(self.request.max_tokens) - self.tokens;
        let runs = (0..=self.request.radius.min(self.nodes.len() as u64)).rev().map(|r| self.widened(hit.node, r));
        let affordable = runs.map(|run| (run, self.cost(run))).find(|&(_, cost)| cost <= left);
        let Some((run, cost)) = affordable else { return false };
        for node in run.iter() {
            if let Some(state @ State::Free) = self.nodes.get_mut(node.index()) {
                *state = State::Taken;
            }
        }
        self.tokens += cost;
        true
    }

    /// A node with its neighbours and all that must not be parted from them.
    fn widened(&self, node: NodeId, radius: u64) -> NodeRange {
        let run = NodeRange::single(node).widen(radius, self.nodes.len() as u64);
        self.turn_of(run.first()).hull(self.turn_of(run.last()))
    }

    fn turn_of(&self, node: NodeId) -> NodeRange {
        let next = self.turns.partition_point(|turn| turn.first() <= node);
        next.checked_sub(1).and_then(|at| self.turns.get(at)).copied().unwrap_or(NodeRange::single(node))
    }

    /// What a run adds to the bill.
    fn cost(&self, run: NodeRange) -> u64 {
        let per_message = u64::from(self.request.per_message);
        let nodes = self.request.outline.iter().zip(&self.nodes);
        let nodes = nodes.skip(run.first().index()).take(usize::try_from(run.count()).unwrap_or(usize::MAX));
        nodes.filter(|&(_, &state)| state == State::Free).map(|(node, _)| u64::from(node.tokens) + per_message).sum()
    }

    fn runs(&self) -> Vec<NodeRange> {
        let taken = self.nodes.iter().enumerate().filter(|&(_, &state)| state == State::Taken);
        NodeRange::merge(taken.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect())
    }
}

/// Value per token of the hit at `rank`, from 0, as an integer that sorts alike.
///
/// The square root, not the tokens themselves: a long message holds more, though not in proportion.
#[expect(clippy::cast_precision_loss, reason = "ranks and token counts are small")]
fn density(rank: usize, tokens: u64) -> u64 {
    (1.0 / (10.0 + rank as f64) / (tokens.max(1) as f64).sqrt()).to_bits()
}

#[cfg(test)]
mod tests;
