//! Selects the messages to show for ranked hits under a token budget.

use std::{cmp::Reverse, collections::HashMap};

use memory_core::{NodeId, NodeOutline, NodeRange, plan};

use crate::Pairs;

/// The other message of a hit's question-answer pair is added if it costs at most this fraction of the budget (1/n).
const BESIDE_PART: u64 = 50;

/// Hits to pack, and the budget; see [`pack`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackRequest<'a> {
    /// All nodes of the conversation, in order.
    pub outline: &'a [NodeOutline],
    /// The hits, best first; those that are shown already or do not exist are skipped.
    pub ranked: &'a [NodeId],
    /// Runs that the reader already sees.
    pub shown: &'a [NodeRange],
    /// The token budget of the packed messages.
    pub max_tokens: u32,
    /// Tokens that each message costs in addition to its text.
    pub per_message: u32,
    /// The character budget; `None` for no limit.
    pub characters: Option<Characters<'a>>,
    /// Messages to show before and after each hit. 0, the default, packs the most relevant content; designs with a
    /// fixed surrounding use 2.
    pub radius: u64,
    /// Question-answer pairs: with a radius of 0, a hit brings the other message of its pair if that is cheap.
    pub pairs: &'a Pairs,
}

impl<'a> PackRequest<'a> {
    /// A request with a token budget, without tokens per message, radius or pairs.
    #[must_use]
    pub fn new(outline: &'a [NodeOutline], ranked: &'a [NodeId], max_tokens: u32) -> Self {
        let shown = &[];
        Self { outline, ranked, shown, max_tokens, per_message: 0, characters: None, radius: 0, pairs: Pairs::none() }
    }

    memory_core::setters! {
        const shown: &'a [NodeRange],
        const per_message: u32,
        into characters: Option<Characters<'a>>,
        const radius: u64,
        const pairs: &'a Pairs,
    }
}

/// The number of characters of each node.
pub type Lengths = HashMap<NodeId, u64>;

/// A budget in characters, in addition to the one in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Characters<'a> {
    /// The maximum number of characters of the packed messages.
    pub max: u32,
    /// The lengths of the nodes that may be packed ([`reach`]); a missing node counts as empty.
    pub of: &'a Lengths,
}

/// The result of [`pack`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// The messages to show, in order of time; no two runs overlap or touch.
    pub runs: Vec<NodeRange>,
    /// Their cost, at most [`PackRequest::max_tokens`].
    pub tokens: u64,
    /// Their number of characters, at most [`Characters::max`]; 0 without a character budget.
    pub characters: u64,
    /// The best hit, if it alone exceeds the budget.
    pub too_large: Option<TooLarge>,
}

/// A hit that exceeds the budget by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// The hit.
    pub node: NodeId,
    /// Its cost in tokens, including the tool calls and results that belong to it.
    pub tokens: u64,
    /// Their number of characters; 0 without a character budget.
    pub characters: u64,
}

/// Selects the messages to show.
///
/// The best hit is taken first and dropped only if it alone exceeds the budget. The others follow by value per token:
/// with a radius of 0 in order of `1 / (5 + rank) / tokens^0.7`, with a larger one in order of rank, where neighbours
/// are dropped before the hit. A tool call and its results are never separated. With a radius of 0 a question brings
/// its answer, and an answer its question, if these cost at most a 50th of the budget. They count in the value per
/// token of the hit, and are dropped before it. The result is deterministic.
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

/// All nodes that [`pack`] may select for a request under the token budget alone: the hits with their tool calls and
/// results, and their neighbours or paired messages. In order; no two runs overlap or touch.
#[must_use]
pub fn reach(request: &PackRequest<'_>) -> Vec<NodeRange> {
    let packer = Packer::new(request);
    let hits = || request.ranked.iter().filter(|node| packer.nodes.get(node.index()) == Some(&NodeState::Free));
    // Each selected run is within the budget, at its own or at an earlier hit.
    let fits = |cost: Cost| cost.tokens <= u64::from(request.max_tokens);
    let widest = |node| packer.widest(node, fits).map_or_else(|| packer.widened(node, 0), |(run, _)| run);
    let beside = hits().flat_map(|&node| packer.beside(node));
    NodeRange::merge(hits().map(|&node| widest(node)).chain(beside).collect())
}

/// The cost in tokens of each hit with its tool calls and results; `None` if that alone exceeds a budget.
pub(crate) fn prices(request: &PackRequest<'_>) -> Vec<Option<u64>> {
    let packer = Packer::new(request);
    let costs = request.ranked.iter().map(|&node| packer.cost(packer.widened(node, 0)));
    costs.map(|cost| packer.is_affordable(cost).then_some(cost.tokens)).collect()
}

/// A hit with its tool calls and results.
struct Unit {
    node: NodeId,
    cost: Cost,
    /// The other messages of its pairs, if cheap.
    beside: Vec<NodeRange>,
}

/// The cost of messages.
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
    nodes: Vec<NodeState>,
    spent: Cost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeState {
    Free,
    Shown,
    Taken,
}

impl<'a> Packer<'a> {
    fn new(request: &'a PackRequest<'a>) -> Self {
        let mut nodes = vec![NodeState::Free; request.outline.len()];
        for run in request.shown {
            let end = run.last().get().min(request.outline.len() as u64);
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            nodes.get_mut(run.first().index()..end).unwrap_or_default().fill(NodeState::Shown);
        }
        Self { request, turns: plan::turns(request.outline), nodes, spent: Cost::default() }
    }

    /// The hits in the order in which they are tried.
    fn hits(&self) -> Vec<Unit> {
        let free = self.request.ranked.iter().filter(|node| self.nodes.get(node.index()) == Some(&NodeState::Free));
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

    /// Takes a hit with as many neighbours and paired messages as fit; `false` if not even the hit fits.
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
            if let Some(state @ NodeState::Free) = self.nodes.get_mut(node.index()) {
                *state = NodeState::Taken;
            }
        }
        self.spent = self.spent.plus(cost);
    }

    /// The question that a hit answers, and its answer, each with its tool calls and results, unless too expensive or
    /// already shown.
    fn beside(&self, hit: NodeId) -> Vec<NodeRange> {
        if self.request.radius > 0 {
            return Vec::new();
        }
        let dearest = u64::from(self.request.max_tokens) / BESIDE_PART;
        let is_free = |node: &NodeId| self.nodes.get(node.index()) == Some(&NodeState::Free);
        let turns = self.request.pairs.beside(hit).filter(is_free).map(|node| self.widened(node, 0));
        turns.filter(|&turn| self.cost(turn).tokens <= dearest).collect()
    }

    /// The widest run around a node that `can_be_had` accepts, and its cost; `None` if it rejects even the node. Cost
    /// grows with width, so that the search stops at the first rejected run, and each node is priced once.
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

    /// A node with its neighbours, extended to whole turns.
    fn widened(&self, node: NodeId, radius: u64) -> NodeRange {
        let run = NodeRange::single(node).widen(radius, self.nodes.len() as u64);
        self.turn_of(run.first()).hull(self.turn_of(run.last()))
    }

    fn turn_of(&self, node: NodeId) -> NodeRange {
        let next = self.turns.partition_point(|turn| turn.first() <= node);
        next.checked_sub(1).and_then(|at| self.turns.get(at)).copied().unwrap_or(NodeRange::single(node))
    }

    /// The cost of the nodes of a run that are not yet shown or taken.
    fn cost(&self, run: NodeRange) -> Cost {
        let per_message = u64::from(self.request.per_message);
        let free = run.iter().filter(|node| self.nodes.get(node.index()) == Some(&NodeState::Free));
        let one = |node: NodeId| {
            let tokens = self.request.outline.get(node.index()).map_or(0, |node| u64::from(node.tokens));
            let length = |budget: Characters<'_>| budget.of.get(&node).copied().unwrap_or_default();
            Cost { tokens: tokens + per_message, characters: self.request.characters.map_or(0, length) }
        };
        free.map(one).fold(Cost::default(), Cost::plus)
    }

    fn runs(&self) -> Vec<NodeRange> {
        let taken = self.nodes.iter().enumerate().filter(|&(_, &state)| state == NodeState::Taken);
        NodeRange::merge(taken.map(|(index, _)| NodeRange::single(NodeId::from_index(index))).collect())
    }
}

/// Value per token of the hit at `rank`, from 0, as an integer with the same order.
///
/// The exponent is below 1 since a longer message has more content, though not in proportion.
#[expect(clippy::cast_precision_loss, reason = "ranks and token counts are small")]
fn density(rank: usize, tokens: u64) -> u64 {
    (1.0 / (5.0 + rank as f64) / (tokens.max(1) as f64).powf(0.7)).to_bits()
}

#[cfg(test)]
mod tests;
