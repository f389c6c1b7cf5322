//! Standing lines: earlier instructions, preferences and decisions that still hold.

use std::collections::HashMap;

use memory_core::{NodeId, NodeRange};

use super::{assembly::Assembly, options::share_of};
use crate::{
    MemoryError,
    render::{self, Part},
};

/// Fewest tokens of room for which standing lines are added.
const LEAST: u32 = 40;
/// Most lines from one message.
const OF_ONE: usize = 3;
/// Lines that do not fit, after which no more are tried.
const MISSES: usize = 6;

impl Assembly<'_> {
    /// The most important standing lines, in order, and their cost. Those of messages that are shown word for word are
    /// left out.
    pub(super) async fn standing(&self, shown: &[NodeRange], room: u32) -> Result<(Vec<Part>, u32), MemoryError> {
        let most = share_of(self.options.budget, self.parts.strategy.standing_share()).min(room);
        let (mut chosen, mut cost): (Vec<Part>, u32) = (Vec::new(), 0);
        if most < LEAST {
            return Ok((chosen, cost));
        }
        let mut of_one: HashMap<NodeId, usize> = HashMap::new();
        let mut misses = 0;
        for line in self.learned.lines.bearing_on(self.tail.question) {
            let told = of_one.entry(line.node).or_default();
            if *told == OF_ONE || shown.iter().any(|run| run.contains(line.node)) {
                continue;
            }
            let read = self.parts.store.readable_nodes(self.conversation, NodeRange::single(line.node)).await?;
            let at = usize::try_from(line.standing.at).unwrap_or(usize::MAX);
            let bytes = at..at.saturating_add(usize::from(line.standing.bytes));
            let why = format!("standing: {}", line.standing.kind.as_str());
            let part = |node| Part::standing(node, bytes, &self.snapshot.redactor, why);
            let Some(part) = read.nodes.into_iter().next().and_then(part) else { continue };
            let mut trial = chosen.clone();
            let place = trial.partition_point(|other| other.nodes <= part.nodes);
            trial.insert(place, part);
            let tokens: u32 = render::standing_lines(&trial).iter().map(|line| self.count(line)).sum();
            if tokens <= most {
                (chosen, cost) = (trial, tokens);
                *told += 1;
            } else {
                misses += 1;
                if misses == MISSES {
                    break;
                }
            }
        }
        Ok((chosen, cost))
    }
}
