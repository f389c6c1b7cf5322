//! Standing lines: earlier instructions, preferences and decisions that still hold.

use memory_core::{ConversationId, NodeRange};
use memory_strategies::{StandingKind, StandingLines};

use super::{assembly::Assembly, options::share_of};
use crate::{
    MemoryError,
    kept_out::Redactor,
    parts::Parts,
    render::{self, Part},
};

/// Fewest tokens of room for which standing lines are added.
const LEAST: u32 = 40;
/// The share of the budget for rules.
const RULES: f32 = 0.25;
/// Lines that do not fit, after which no more are tried.
const MISSES: usize = 6;

/// Lines that are looked for.
pub(super) struct Wanted<'a> {
    pub(super) conversation: &'a ConversationId,
    pub(super) lines: &'a StandingLines,
    pub(super) redactor: &'a Redactor,
    pub(super) question: &'a str,
    /// The budget of the prompt, of which the lines get their shares.
    pub(super) budget: u32,
    /// Messages that are shown word for word, whose lines are left out.
    pub(super) shown: &'a [NodeRange],
}

/// The standing lines, in order, and their cost, at most `room` tokens: rules within their share of the budget, then what
/// else bears on the question within the strategy's.
pub(super) async fn standing(parts: &Parts, wanted: &Wanted<'_>, room: u32) -> Result<(Vec<Part>, u32), MemoryError> {
    let of_rules = share_of(wanted.budget, RULES).min(room);
    let of_others = share_of(wanted.budget, parts.strategy.standing_share()).min(room);
    let (mut chosen, mut cost): (Vec<Part>, u32) = (Vec::new(), 0);
    if of_rules.max(of_others) < LEAST {
        return Ok((chosen, cost));
    }
    let mut misses = 0;
    for line in wanted.lines.bearing_on(wanted.question) {
        if wanted.shown.iter().any(|run| run.contains(line.node)) {
            continue;
        }
        let is_rule = line.standing.kind == StandingKind::Instruction;
        let most = if is_rule { of_rules } else { of_others.max(cost).min(room) };
        let read = parts.store.readable_nodes(wanted.conversation, NodeRange::single(line.node)).await?;
        let at = usize::try_from(line.standing.at).unwrap_or(usize::MAX);
        let bytes = at..at.saturating_add(usize::from(line.standing.bytes));
        let why = format!("standing: {}", line.standing.kind.as_str());
        let part = |node| Part::standing(node, bytes, wanted.redactor, why);
        let Some(part) = read.nodes.into_iter().next().and_then(part) else { continue };
        let mut trial = chosen.clone();
        let place = trial.partition_point(|other| other.nodes <= part.nodes);
        trial.insert(place, part);
        let tokens: u32 = render::standing_lines(&trial).iter().map(|line| parts.count(line)).sum();
        if tokens <= most {
            (chosen, cost) = (trial, tokens);
        } else {
            misses += 1;
            if misses == MISSES {
                break;
            }
        }
    }
    Ok((chosen, cost))
}

impl Assembly<'_> {
    /// The standing lines beside messages that are shown word for word, and their cost.
    pub(super) async fn standing(&self, shown: &[NodeRange], room: u32) -> Result<(Vec<Part>, u32), MemoryError> {
        let wanted = Wanted {
            conversation: self.conversation,
            lines: &self.learned.lines,
            redactor: &self.snapshot.redactor,
            question: self.tail.question,
            budget: self.options.budget,
            shown,
        };
        standing(self.parts, &wanted, room).await
    }
}
