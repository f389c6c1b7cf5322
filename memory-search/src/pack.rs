//! Which messages to show for ranked hits, under a budget.

use std::{cmp::Reverse, collections::HashMap};

use memory_core::{NodeId, NodeOutline, NodeRange, plan};

use crate::Pairs;

/// A question, or an answer, comes along with a hit that is the other of a pair where it costs at most one part in so many
/// of the budget.
const BESIDE_PART: u64 = 50;

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
    /// Which messages are a question and its answer: without a radius, a hit brings the other along where that is cheap.
    pub pairs: &'a Pairs,
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
/// results. With a radius of 0 a question brings its answer too, and an answer its question, where these cost at most a
/// 50th of the budget; the tokens by which a hit is valued are those of all that comes, and what comes is given up before
/// the hit. Equal requests give equal answers.
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

/// All nodes that [`pack`] may take for a request: the hits, what must not be parted from them, and as many neighbours of
/// each, or what is paired with it, as the tokens allow, whatever the characters. In order; no two runs overlap or touch.
#[must_use]
pub fn reach(request: &PackRequest<'_>) -> Vec<NodeRange> {
    let packer = Packer::new(request);
    let hits = || request.ranked.iter().filter(|node| packer.nodes.get(node.index()) == Some(&State::Free));
    // All of a run that is taken is paid for by then, at its own or at an earlier hit.
    let fits = |cost: Cost| cost.tokens <= u64::from(request.max_tokens);
    let widest = |node| packer.widest(node, fits).map_or_else(|| packer.widened(node, 0), |(run, _)| run);
    let beside = hits().flat_map(|&node| packer.beside(node));
    NodeRange::merge(hits().map(|&node| widest(node)).chain(beside).collect())
}

/// What each hit costs in tokens with all that must not be parted from it; `None` where that alone exceeds a budget.
pub(crate) fn prices(request: &PackRequest<'_>) -> Vec<Option<u64>> {
    let packer = Packer::new(request);
    let costs = request.ranked.iter().map(|&node| packer.cost(packer.widened(node, 0)));
    costs.map(|cost| packer.is_affordable(cost).then_some(cost.tokens)).collect()
}

/// A hit with what cannot be parted from it.
struct Unit {
    node: NodeId,
    cost: Cost,
    /// What it is a question or an answer to, if that is cheap.
    beside: Vec<NodeRange>,
}

/// What messages cost.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    tokens: u64,
    characters: u64,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, characters: self.characters + other.characters }
    }
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
        let unit = |&node: &NodeId| Unit { node, cost: self.cost(self.widened(node, 0)), beside: self.beside(node) };
        let mut units: Vec<_> = free.map(unit).collect();
        if self.request.radius == 0 {
            let mut by_density: Vec<_> = units.drain(..).enumerate().collect();
            let tokens = |unit: &Unit| unit.beside.iter().map(|&run| self.cost(run)).fold(unit.cost, Cost::plus).tokens;
            by_density.sort_by_cached_key(|(rank, unit)| (*rank > 0, Reverse(density(*rank, tokens(unit))), *rank));
            units.extend(by_density.into_iter().map(|(_, unit)| unit));
        }
        units
    }

    /// Takes a hit with as many neighbours as fit, and what it is paired with where that fits; `false` where not even the
    /// hit does.
    fn take(&mut self, hit: &Unit) -> bool {
        let Some((run, cost)) = self.widest(hit.node, |cost| self.is_affordable(cost)) else { return false };
        self.spend(run, cost);
        for &run in &hit.beside {
            let cost = self.cost(run);
            if self.is_affordable(cost) {
                self.spend(run, cost);
            }
        }
        true
    }

    fn spend(&mut self, run: NodeRange, cost: Cost) {
        for node in run.iter() {
            if let Some(state @ State::Free) = self.nodes.get_mut(node.index()) {
                *state = State::Taken;
            }
        }
        self.spent = self.spent.plus(cost);
    }

    /// The question that a hit answers, and its answer, each with what cannot be parted from it: those that are to be had
    /// cheaply and are not shown already.
    fn beside(&self, hit: NodeId) -> Vec<NodeRange> {
        if self.request.radius > 0 {
            return Vec::new();
        }
        let dearest = u64::from(self.request.max_tokens) / BESIDE_PART;
        let is_free = |node: &NodeId| self.nodes.get(node.index()) == Some(&State::Free);
        let turns = self.request.pairs.beside(hit).filter(is_free).map(|node| self.widened(node, 0));
        turns.filter(|&turn| self.cost(turn).tokens <= dearest).collect()
    }

    /// A node with as many neighbours as can be had, and what they cost; `None` where not even the node can be. The wider
    /// a run, the more it costs: the first that cannot be had is the last that is looked at, and each node is priced once.
    fn widest(&self, node: NodeId, can_be_had: impl Fn(Cost) -> bool) -> Option<(NodeRange, Cost)> {
        let mut run = self.widened(node, 0);
        let mut cost = self.cost(run);
        if !can_be_had(cost) {
            return None;
        }
        for radius in 1..=self.request.radius.min(self.nodes.len() as u64) {
            let wider = self.widened(node, radius);
            let before = run.first().previous().and_then(|last| NodeRange::new(wider.first(), last));
            let after = NodeRange::new(run.last().next(), wider.last());
            let dearer = before.into_iter().chain(after).map(|more| self.cost(more)).fold(cost, Cost::plus);
            if !can_be_had(dearer) {
                break;
            }
            (run, cost) = (wider, dearer);
        }
        Some((run, cost))
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
        let one = |node: NodeId| {
            let tokens = self.request.outline.get(node.index()).map_or(0, |node| u64::from(node.tokens));
            let length = |budget: Characters<'_>| budget.of.get(&node).copied().unwrap_or_default();
            Cost { tokens: tokens + per_message, characters: self.request.characters.map_or(0, length) }
        };
        free.map(one).fold(Cost::default(), Cost::plus)
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
