//! Standing lines: rules of the user that still hold, and what a manager adds to them.

use std::{collections::VecDeque, ops::Range};

use memory_core::{ConversationId, NodeRange};
use memory_strategies::{StandingKind, StandingLine, StandingLines, kinds_asked};

use super::{assembly::Assembly, options::share_of};
use crate::{
    EntryId, MemoryError,
    kept_out::Redactor,
    ledger::Recorded,
    parts::Parts,
    render::{Layout, Part},
};

/// Fewest tokens of room for which standing lines are added.
const LEAST: u32 = 40;
/// The share of the budget for rules.
const RULES: f32 = 0.25;
/// The share of the budget for lines of a kind that the question asks for.
const ASKED: f32 = 0.3;
/// Lines that do not fit, after which no more are tried.
const MISSES: usize = 6;
/// Most messages that are named for rules that do not fit, the newest.
const NAMED: usize = 24;

/// Selection of standing lines.
struct StandingRequest<'a> {
    conversation: &'a ConversationId,
    lines: &'a StandingLines,
    /// Recorded changes of the lines.
    recorded: &'a Recorded,
    redactor: &'a Redactor,
    question: &'a str,
    /// The budget of the prompt, which determines the shares of the lines.
    budget: u32,
    /// Messages shown verbatim, whose lines are left out.
    shown: &'a [NodeRange],
}

/// The standing lines, in order, and their cost, at most `room` tokens: rules within their share of the budget, then
/// other lines that bear on the question within the strategy's, and those of a kind that it asks for in any case. Rules
/// that do not fit come last, by their numbers.
async fn standing(
    parts: &Parts,
    layout: Layout,
    wanted: &StandingRequest<'_>,
    room: u32,
) -> Result<(Vec<Part>, u32), MemoryError> {
    let of_rules = share_of(wanted.budget, RULES).min(room);
    let (kinds, mut share) = (kinds_asked(wanted.question), parts.strategy.standing_share());
    let shows_others = share > 0.0;
    if !kinds.is_empty() {
        share = share.max(ASKED);
    }
    let of_others = share_of(wanted.budget, share).min(room);
    let (mut chosen, mut cost): (Vec<Part>, u32) = (Vec::new(), 0);
    if of_rules.max(of_others) < LEAST {
        return Ok((chosen, cost));
    }
    let tokens_of = |lines: &[Part]| layout.standing_lines(lines).iter().map(|line| parts.count(line)).sum::<u32>();
    let is_hidden = |line: &StandingLine, text: &str| {
        let of = || EntryId::Said { node: line.node, sentence: line.standing.sentence(text) };
        !wanted.recorded.is_empty() && wanted.recorded.hides(of())
    };
    let (mut misses, mut further) = (0, Vec::new());
    let mut lines = wanted.lines.bearing_on(wanted.question).into_iter().peekable();
    while let Some(line) = lines.next() {
        if wanted.shown.iter().any(|run| run.contains(line.node)) {
            continue;
        }
        let is_rule = line.standing.kind == StandingKind::Instruction;
        if !is_rule && !shows_others && !kinds.contains(&line.standing.kind) {
            continue;
        }
        if misses == MISSES {
            if !is_rule {
                break;
            }
            further.push(line.node);
            continue;
        }
        let most = if is_rule { of_rules } else { of_others.max(cost).min(room) };
        let read = parts.store.readable_nodes(wanted.conversation, NodeRange::single(line.node)).await?;
        let Some(node) = read.nodes.into_iter().next().filter(|node| !node.is_hidden()) else { continue };
        let (text, mut bytes) = (node.message.text(), bytes_of(line));
        if is_hidden(line, &text) {
            continue;
        }
        // Rules that follow each other in a message share a line.
        let follows = |next: &&StandingLine, end: usize| {
            let is_next = is_rule && next.node == line.node && next.standing.kind == line.standing.kind;
            is_next && text.get(end..bytes_of(next).start).is_some_and(|between| between.trim().is_empty())
        };
        while let Some(next) = lines.next_if(|next| follows(next, bytes.end) && !is_hidden(next, &text)) {
            bytes.end = bytes_of(next).end;
        }
        let why = format!("standing: {}", line.standing.kind.as_str());
        let Some(part) = Part::standing(node, bytes, wanted.redactor, why) else { continue };
        let mut trial = chosen.clone();
        let place = trial.partition_point(|other| other.nodes <= part.nodes);
        trial.insert(place, part);
        let tokens = tokens_of(&trial);
        if tokens <= most {
            (chosen, cost) = (trial, tokens);
        } else {
            misses += 1;
            if is_rule {
                further.push(line.node);
            }
        }
    }
    further.dedup();
    further.truncate(NAMED);
    let mut named = VecDeque::new();
    for run in NodeRange::merge(further.into_iter().map(NodeRange::single).collect()) {
        let read = parts.store.readable_nodes(wanted.conversation, run).await?;
        named.extend(read.nodes.into_iter().filter(|node| !node.is_hidden()).map(Part::further_rule));
    }
    while !named.is_empty() {
        let trial: Vec<_> = chosen.iter().chain(&named).cloned().collect();
        let tokens = tokens_of(&trial);
        if tokens <= room {
            return Ok((trial, tokens));
        }
        named.pop_front();
    }
    Ok((chosen, cost))
}

/// The bytes of a line in the text of its message.
fn bytes_of(line: &StandingLine) -> Range<usize> {
    let at = usize::try_from(line.standing.at).unwrap_or(usize::MAX);
    at..at.saturating_add(usize::from(line.standing.bytes))
}

impl Assembly<'_> {
    /// The standing lines next to messages that are shown verbatim, and their cost.
    pub(super) async fn standing(&self, shown: &[NodeRange], room: u32) -> Result<(Vec<Part>, u32), MemoryError> {
        let none = Recorded::default();
        let recorded = if self.learned.lines.is_empty() { &none } else { self.recorded().await? };
        let wanted = StandingRequest {
            conversation: self.conversation,
            lines: &self.learned.lines,
            recorded,
            redactor: &self.snapshot.redactor,
            question: self.tail.question,
            budget: self.options.budget,
            shown,
        };
        standing(self.parts, self.layout, &wanted, room).await
    }
}
