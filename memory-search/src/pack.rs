//! Which messages to show for ranked hits, under a budget.

use std::{cmp::Reverse, collections::HashMap};

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
    /// What their texts may have in characters; `None` for as many as the tokens allow.
    pub characters: Option<Characters<'a>>,
    /// Messages to show before and after each hit; 0 packs most of what bears on the question into a budget. The
    /// designs that show a fixed surrounding take 2.
    pub radius: u64,
}

/// How many characters nodes have.
pub type Lengths = HashMap<NodeId, u64>;

/// A budget in characters, beside the one in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Characters<'a> {
    /// The most that the packed messages may have together.
    pub max: u32,
    /// How many the texts have of the nodes that may be packed ([`reach`]); one that is not in it has none.
    pub of: &'a Lengths,
}

/// What was packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The messages to show: in order of time; no two runs overlap or touch.
    pub runs: Vec<NodeRange>,
    /// What they cost, at most [`PackRequest::max_tokens`].
    pub tokens: u64,
    /// How many characters they have, at most [`Characters::max`]; 0 where that is no budget.
    pub characters: u64,
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
    /// How many characters these have; 0 where that is no budget.
    pub characters: u64,
}

/// Chooses the messages to show.
///
/// The best hit comes first and is given up only where it alone exceeds the budget. The others follow by value per
/// token: with a radius of 0 in order of `1 / (5 + rank) / tokens^0.7`, with a larger one in order of rank, where
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
    let too_large =
        (!fits).then_some(TooLarge { node: best.node, tokens: best.cost.tokens, characters: best.cost.characters });
    for hit in others {
        packer.take(hit);
    }
    Packed { runs: packer.runs(), tokens: packer.spent.tokens, characters: packer.spent.characters, too_large }
}

/// All nodes that [`pack`] may take for a request: the hits, their neighbours and what must not be parted from them. In
/// order; no two runs overlap or touch.
#[must_use]
pub fn reach(request: &PackRequest<'_>) -> Vec<NodeRange> {
    let packer = Packer::new(request);
    let hits = request.ranked.iter().filter(|node| packer.nodes.get(node.index()) == Some(&State::Free));
    NodeRange::merge(hits.map(|&node| packer.widened(node, request.radius)).collect())
}

/// A hit with what cannot be parted from it.
struct Unit {
    node: NodeId,
    cost: Cost,
}

/// What messages cost.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    tokens: u64,
    characters: u64,
}

struct Packer<'a> {
    request: &'a PackRequest<'a>,
    turns: Vec<NodeRange>,
    nodes: Vec<State>,
    spent: Cost,
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
        Self { request, turns: plan::turns(request.outline), nodes, spent: Cost::default() }
    }

    /// The hits in the order in which they are to be tried.
    fn hits(&self) -> Vec<Unit> {
        let free = self.request.ranked.iter().filter(|node| self.nodes.get(node.index()) == Some(&State::Free));
        let mut units: Vec<_> = free.map(|&node| Unit { node, cost: self.cost(self.widened(node, 0)) }).collect();
        if self.request.radius == 0 {
            let mut by_density: Vec<_> = units.drain(..).enumerate().collect();
            by_density.sort_by_cached_key(|(rank, unit)| (*rank > 0, Reverse(density(*rank, unit.cost.tokens)), *rank));
            units.extend(by_density.into_iter().map(|(_, unit)| unit));
        }
        units
    }

    /// Takes a hit with as many neighbours as fit; `false` where not even the hit does.
    fn take(&mut self, hit: &Unit) -> bool {
        let runs = (0..=self.request.radius.min(self.nodes.len() as u64)).rev().map(|r| self.widened(hit.node, r));
        let affordable = runs.map(|run| (run, self.cost(run))).find(|(_, cost)| self.is_affordable(*cost));
        let Some((run, cost)) = affordable else { return false };
        for node in run.iter() {
            if let Some(state @ State::Free) = self.nodes.get_mut(node.index()) {
                *state = State::Taken;
            }
        }
        self.spent.tokens += cost.tokens;
        self.spent.characters += cost.characters;
        true
    }

    fn is_affordable(&self, cost: Cost) -> bool {
        let fits_characters = |budget: Characters<'_>| self.spent.characters + cost.characters <= u64::from(budget.max);
        self.spent.tokens + cost.tokens <= u64::from(self.request.max_tokens)
            && self.request.characters.is_none_or(fits_characters)
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
    fn cost(&self, run: NodeRange) -> Cost {
        let per_message = u64::from(self.request.per_message);
        let free = run.iter().filter(|node| self.nodes.get(node.index()) == Some(&State::Free));
        free.fold(Cost::default(), |cost, node| {
            let tokens = self.request.outline.get(node.index()).map_or(0, |node| u64::from(node.tokens));
            let length = |budget: Characters<'_>| budget.of.get(&node).copied().unwrap_or_default();
            Cost {
                tokens: cost.tokens + tokens + per_message,
                characters: cost.characters + self.request.characters.map_or(0, length),
            }
        })
    }

    fn runs(&self) -> Vec<NodeRange> {
        let taken = self.nodes.iter().enumerate().filter(|&(_, &state)| state == State::Taken);
        NodeRange::merge(taken.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect())
    }
}

/// Value per token of the hit at `rank`, from 0, as an integer that sorts alike.
///
/// A root, not the tokens themselves: a long message holds more, though not in proportion.
#[expect(clippy::cast_precision_loss, reason = "ranks and token counts are small")]
fn density(rank: usize, tokens: u64) -> u64 {
    (1.0 / (5.0 + rank as f64) / (tokens.max(1) as f64).powf(0.7)).to_bits()
}

#[cfg(test)]
mod tests;
