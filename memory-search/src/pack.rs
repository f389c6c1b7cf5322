//! Selects the messages to show for ranked hits under a token budget.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use memory_core::{NodeId, NodeOutline, NodeRange, plan};

use crate::Pairs;

/// Maximum cost of the other message of a hit's question-answer pair, as a divisor of the budget.
const BESIDE_PART: u64 = 50;
/// Best hits whose question or answer is taken at any cost, from what all hits left of the budget.
const PAIRED: usize = 4;
/// Part of the budget that the turn between two taken ones may cost. A 40th lowered the evidence on two-person chats.
const GAP_PART: u64 = 80;

/// A conversation whose hits are packed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackSource<'a> {
    /// Outlines of all nodes of the conversation, in order.
    pub outline: &'a [NodeOutline],
    /// Runs that the reader sees already.
    pub shown: &'a [NodeRange],
    /// Question-answer pairs: with a radius of 0, a hit brings the other message of its pair if that is cheap.
    pub pairs: &'a Pairs,
    /// Tokens that the conversation costs once, with the first of its hits.
    pub heading: u32,
}

impl<'a> PackSource<'a> {
    /// A conversation without shown runs, pairs or heading.
    #[must_use]
    pub fn new(outline: &'a [NodeOutline]) -> Self {
        Self { outline, shown: &[], pairs: Pairs::none(), heading: 0 }
    }

    memory_core::setters! {
        const shown: &'a [NodeRange],
        const pairs: &'a Pairs,
        const heading: u32,
    }
}

/// A node, with the index of its conversation in [`PackRequest::sources`].
pub type SourceNode = (usize, NodeId);

/// Hits to pack, and the budget; see [`pack`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackRequest<'a> {
    /// Conversations of the hits.
    pub sources: &'a [PackSource<'a>],
    /// Hits, best first. Hits that are shown already or do not exist are skipped.
    pub ranked: &'a [SourceNode],
    /// Maximum tokens of the packed messages of all conversations.
    pub max_tokens: u32,
    /// Tokens that each message costs in addition to its text.
    pub per_message: u32,
    /// Limit in characters; `None` for no limit.
    pub characters: Option<Characters<'a>>,
    /// Messages to show before and after each hit. 0, the default, packs the most relevant content; a fixed surrounding
    /// of 2 is common elsewhere.
    pub radius: u64,
}

impl<'a> PackRequest<'a> {
    /// A request with a token budget, without radius or tokens per message.
    #[must_use]
    pub fn new(sources: &'a [PackSource<'a>], ranked: &'a [SourceNode], max_tokens: u32) -> Self {
        Self { sources, ranked, max_tokens, per_message: 0, characters: None, radius: 0 }
    }

    memory_core::setters! {
        const per_message: u32,
        into characters: Option<Characters<'a>>,
        const radius: u64,
    }
}

/// The number of characters of each node.
pub type Lengths = HashMap<SourceNode, u64>;

/// A limit in characters, in addition to the token budget.
#[derive(Clone, Copy, Debug)]
pub struct Characters<'a> {
    /// Maximum characters of the packed messages.
    pub max: u32,
    /// Lengths of the nodes that may be packed ([`reach`]); a missing node counts as empty.
    pub of: &'a Lengths,
}

/// The result of [`pack`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Messages to show, by conversation and in order of time; no two runs of one conversation overlap or touch.
    pub runs: Vec<(usize, NodeRange)>,
    /// Cost including headings, at most [`PackRequest::max_tokens`].
    pub tokens: u64,
    /// Number of characters, at most [`Characters::max`]; 0 without a limit in characters.
    pub characters: u64,
    /// The best hit, if it alone exceeds the budget.
    pub too_large: Option<TooLarge>,
}

/// A hit that alone exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// The hit.
    pub node: SourceNode,
    /// Cost in tokens, including the heading and the tool calls and results that belong to it.
    pub tokens: u64,
    /// Number of characters; 0 without a limit in characters.
    pub characters: u64,
}

/// Selects the messages of one or several conversations to show.
///
/// The best hit comes first and is dropped only if it alone exceeds the budget. With a radius of 0 the others follow by
/// value per token, in order of `1 / (5 + rank) / tokens^0.7`; with a larger radius by rank, and neighbours are dropped
/// before the hit. A tool call and its results are never separated. With a radius of 0 a question brings its answer,
/// and an answer its question, if these cost at most a 50th of the budget; those of the four best hits also at any cost,
/// from what all hits leave. Such partners count in the hit's value per token, and are dropped before the hit. A turn between two taken ones is taken if it costs at most an 80th. Hits of
/// several conversations compete for one budget. The heading of a conversation counts in the budget, but not in the
/// value per token of its hits, because they share it. The result is deterministic.
#[must_use]
pub fn pack(request: &PackRequest<'_>) -> Packed {
    let mut packer = Packer::new(request);
    let hits = packer.hits();
    let Some((best, others)) = hits.split_first() else {
        return Packed::default();
    };
    let fits = packer.take(best);
    // Only used if the hit does not fit, and then its heading is not paid yet.
    let cost = best.cost.plus(packer.heading(best.node));
    let too_large = (!fits).then_some(TooLarge { node: best.node, tokens: cost.tokens, characters: cost.characters });
    for hit in others {
        packer.take(hit);
    }
    packer.complete_pairs();
    Packed { runs: packer.runs(), tokens: packer.spent.tokens, characters: packer.spent.characters, too_large }
}

/// All nodes that [`pack`] may select for a request under the token budget alone: hits with their tool calls and
/// results, and their neighbours, or paired messages and those that close gaps. By conversation and in order; no two
/// runs of one conversation overlap or touch.
#[must_use]
pub fn reach(request: &PackRequest<'_>) -> Vec<(usize, NodeRange)> {
    let packer = Packer::new(request);
    // Each selected run fits the budget, at its own hit or at an earlier one.
    let fits = |cost: Cost| cost.tokens <= u64::from(request.max_tokens);
    let mut reached: BTreeMap<usize, Vec<NodeRange>> = BTreeMap::new();
    for (rank, &hit) in request.ranked.iter().enumerate().filter(|&(_, &hit)| packer.is_free(hit)) {
        let dearest = if rank < PAIRED { u64::from(request.max_tokens) } else { packer.dearest_beside() };
        let widest = packer.widest(hit, fits).map_or_else(|| packer.widened(hit, 0), |(run, _)| run);
        let gaps = packer.cheap_beside(hit.0, widest);
        reached.entry(hit.0).or_default().extend(packer.paired(hit, dearest).into_iter().chain(gaps).chain([widest]));
    }
    let merged = reached.into_iter().map(|(source, runs)| (source, NodeRange::merge(runs)));
    merged.flat_map(|(source, runs)| runs.into_iter().map(move |run| (source, run))).collect()
}

/// Cost in tokens of each hit with its tool calls and results; `None` if that alone exceeds a limit.
pub(crate) fn prices(request: &PackRequest<'_>) -> Vec<Option<u64>> {
    let packer = Packer::new(request);
    let price = |&hit: &SourceNode| {
        let cost = packer.cost(hit.0, packer.widened(hit, 0));
        packer.is_affordable(cost.plus(packer.heading(hit))).then_some(cost.tokens)
    };
    request.ranked.iter().map(price).collect()
}

/// A hit with its tool calls and results.
struct Unit {
    node: SourceNode,
    cost: Cost,
    /// Other messages of its pairs, if cheap.
    beside: Vec<NodeRange>,
}

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
    parts: Vec<PackedConversation<'a>>,
    spent: Cost,
}

/// State of a conversation during packing.
struct PackedConversation<'a> {
    source: &'a PackSource<'a>,
    turns: Vec<NodeRange>,
    nodes: Vec<NodeState>,
    /// True once one of its hits was taken.
    is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeState {
    Free,
    Shown,
    Taken,
}

impl<'a> Packer<'a> {
    fn new(request: &'a PackRequest<'a>) -> Self {
        Self { request, parts: request.sources.iter().map(PackedConversation::new).collect(), spent: Cost::default() }
    }

    /// True if a node exists and is neither shown nor taken.
    fn is_free(&self, node: SourceNode) -> bool {
        self.state(node) == Some(NodeState::Free)
    }

    fn is_taken(&self, node: SourceNode) -> bool {
        self.state(node) == Some(NodeState::Taken)
    }

    /// State of a node; `None` if it does not exist.
    fn state(&self, (source, node): SourceNode) -> Option<NodeState> {
        self.parts.get(source)?.nodes.get(node.index()).copied()
    }

    /// Cost of the heading of a node's conversation; 0 once one of its hits was taken.
    fn heading(&self, (source, _): SourceNode) -> Cost {
        let heading = self.parts.get(source).filter(|part| !part.is_open).map_or(0, |part| part.source.heading);
        Cost { tokens: u64::from(heading), characters: 0 }
    }

    /// Hits in the order in which they are tried.
    fn hits(&self) -> Vec<Unit> {
        let free = self.request.ranked.iter().filter(|&&hit| self.is_free(hit));
        let unit = |&node: &SourceNode| Unit {
            node,
            cost: self.cost(node.0, self.widened(node, 0)),
            beside: self.paired(node, self.dearest_beside()),
        };
        let mut units: Vec<_> = free.map(unit).collect();
        if self.request.radius == 0 {
            let mut by_density: Vec<_> = units.drain(..).enumerate().collect();
            let tokens = |unit: &Unit| {
                unit.beside.iter().map(|&run| self.cost(unit.node.0, run)).fold(unit.cost, Cost::plus).tokens
            };
            by_density.sort_by_cached_key(|(rank, unit)| (*rank > 0, Reverse(density(*rank, tokens(unit))), *rank));
            units.extend(by_density.into_iter().map(|(_, unit)| unit));
        }
        units
    }

    /// Takes a hit with as many neighbours and paired messages as fit; `false` if even the hit does not fit.
    fn take(&mut self, hit: &Unit) -> bool {
        let (source, _) = hit.node;
        // A hit that was taken together with an earlier one pays no heading, because its conversation is open.
        let heading = self.heading(hit.node);
        let Some((run, cost)) = self.widest(hit.node, |cost| self.is_affordable(cost.plus(heading))) else {
            return false;
        };
        self.spend(source, run, cost.plus(heading));
        for &run in &hit.beside {
            let cost = self.cost(source, run);
            if self.is_affordable(cost) {
                self.spend(source, run, cost);
            }
        }
        self.close_gaps(source, run);
        true
    }

    /// Takes the turns that lie between a run and a taken message, if they are cheap: a passage with a hole costs its
    /// reader more than the words in it.
    fn close_gaps(&mut self, source: usize, run: NodeRange) {
        for turn in self.cheap_beside(source, run) {
            let beyond = if turn.last() < run.first() { turn.first().previous() } else { Some(turn.last().next()) };
            let cost = self.cost(source, turn);
            if beyond.is_some_and(|beyond| self.is_taken((source, beyond))) && self.is_affordable(cost) {
                self.spend(source, turn, cost);
            }
        }
    }

    /// The turns before and after a run that may close a gap.
    fn cheap_beside(&self, source: usize, run: NodeRange) -> Vec<NodeRange> {
        let dearest = u64::from(self.request.max_tokens) / GAP_PART;
        let beside = run.first().previous().into_iter().chain([run.last().next()]);
        let free = beside.filter(|&node| self.request.radius == 0 && self.is_free((source, node)));
        let turns = free.map(|node| self.widened((source, node), 0));
        turns.filter(|&turn| self.cost(source, turn).tokens <= dearest).collect()
    }

    fn spend(&mut self, source: usize, run: NodeRange, cost: Cost) {
        if let Some(part) = self.parts.get_mut(source) {
            part.is_open = true;
            for node in run.iter() {
                if let Some(state @ NodeState::Free) = part.nodes.get_mut(node.index()) {
                    *state = NodeState::Taken;
                }
            }
        }
        self.spent = self.spent.plus(cost);
    }

    /// Takes the question or the answer of the best hits, if there is room left: an answer without its question, and
    /// the reverse, is the first that a reader misses.
    fn complete_pairs(&mut self) {
        for &hit in self.request.ranked.iter().take(PAIRED).filter(|&&hit| self.is_taken(hit)).collect::<Vec<_>>() {
            for run in self.paired(hit, u64::MAX) {
                let cost = self.cost(hit.0, run);
                if self.is_affordable(cost) {
                    self.spend(hit.0, run, cost);
                    self.close_gaps(hit.0, run);
                }
            }
        }
    }

    /// Maximum cost of what a hit brings along before the next hit is tried.
    fn dearest_beside(&self) -> u64 {
        u64::from(self.request.max_tokens) / BESIDE_PART
    }

    /// The question that a hit answers, and its answer, each with tool calls and results, unless they cost more than
    /// `dearest` or are shown already.
    fn paired(&self, (source, hit): SourceNode, dearest: u64) -> Vec<NodeRange> {
        let Some(part) = self.parts.get(source).filter(|_| self.request.radius == 0) else { return Vec::new() };
        let others = part.source.pairs.beside(hit).map(|node| (source, node));
        let turns = others.filter(|&other| self.is_free(other)).map(|other| self.widened(other, 0));
        turns.filter(|&turn| self.cost(source, turn).tokens <= dearest).collect()
    }

    /// The widest run around a node that `can_be_had` accepts, and its cost; `None` if it rejects even the node. Cost
    /// grows with width, so the search stops at the first rejected run, and each node is priced once.
    fn widest(&self, hit: SourceNode, can_be_had: impl Fn(Cost) -> bool) -> Option<(NodeRange, Cost)> {
        let (source, _) = hit;
        let mut run = self.widened(hit, 0);
        let mut cost = self.cost(source, run);
        if !can_be_had(cost) {
            return None;
        }
        let nodes = self.parts.get(source).map_or(0, |part| part.nodes.len() as u64);
        for radius in 1..=self.request.radius.min(nodes) {
            let wider = self.widened(hit, radius);
            let before = run.first().previous().and_then(|last| NodeRange::new(wider.first(), last));
            let after = NodeRange::new(run.last().next(), wider.last());
            let dearer = before.into_iter().chain(after).map(|more| self.cost(source, more)).fold(cost, Cost::plus);
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
    fn widened(&self, (source, node): SourceNode, radius: u64) -> NodeRange {
        let Some(part) = self.parts.get(source) else { return NodeRange::single(node) };
        let run = NodeRange::single(node).widen(radius, part.nodes.len() as u64);
        part.turn_of(run.first()).hull(part.turn_of(run.last()))
    }

    /// Cost of the nodes of a run that are neither shown nor taken.
    fn cost(&self, source: usize, run: NodeRange) -> Cost {
        let per_message = u64::from(self.request.per_message);
        let outline = self.parts.get(source).map_or(&[][..], |part| part.source.outline);
        let one = |node: NodeId| {
            let tokens = outline.get(node.index()).map_or(0, |node| u64::from(node.tokens));
            let length = |budget: Characters<'_>| budget.of.get(&(source, node)).copied().unwrap_or_default();
            Cost { tokens: tokens + per_message, characters: self.request.characters.map_or(0, length) }
        };
        run.iter().filter(|&node| self.is_free((source, node))).map(one).fold(Cost::default(), Cost::plus)
    }

    fn runs(&self) -> Vec<(usize, NodeRange)> {
        let of_part = |(source, part): (usize, &PackedConversation<'_>)| {
            let taken = part.nodes.iter().enumerate().filter(|&(_, &state)| state == NodeState::Taken);
            let runs = NodeRange::merge(taken.map(|(at, _)| NodeRange::single(NodeId::from_index(at))).collect());
            runs.into_iter().map(move |run| (source, run)).collect::<Vec<_>>()
        };
        self.parts.iter().enumerate().flat_map(of_part).collect()
    }
}

impl<'a> PackedConversation<'a> {
    fn new(source: &'a PackSource<'a>) -> Self {
        let mut nodes = vec![NodeState::Free; source.outline.len()];
        for run in source.shown {
            let end = run.last().get().min(source.outline.len() as u64);
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            nodes.get_mut(run.first().index()..end).unwrap_or_default().fill(NodeState::Shown);
        }
        Self { source, turns: plan::turns(source.outline), nodes, is_open: false }
    }

    fn turn_of(&self, node: NodeId) -> NodeRange {
        let next = self.turns.partition_point(|turn| turn.first() <= node);
        next.checked_sub(1).and_then(|at| self.turns.get(at)).copied().unwrap_or(NodeRange::single(node))
    }
}

/// Value per token of the hit at `rank`, from 0, as an integer of the same order.
///
/// The exponent is below 1 because content grows more slowly than length.
#[expect(clippy::cast_precision_loss, reason = "ranks and token counts are small")]
fn density(rank: usize, tokens: u64) -> u64 {
    (1.0 / (5.0 + rank as f64) / (tokens.max(1) as f64).powf(0.7)).to_bits()
}

#[cfg(test)]
mod tests;
