//! The current quotations: chosen units, covered terms, and remaining tokens.

use std::ops::RangeInclusive;

use memory_core::{Role, port::SummaryJob};

use super::{
    compose::{Composer, Cut},
    units::{Unit, Units},
};
use crate::{cues::Cues, reading::Reading, segments::Segment, terms::to_f32};

/// Labels of speakers that are not people.
pub(super) const MACHINES: [&str; 3] = ["assistant: ", "tool: ", "system: "];

/// State of a selection of units.
pub(super) struct Quotes<'a> {
    pub(super) job: &'a SummaryJob<'a>,
    pub(super) reading: &'a Reading<'a>,
    pub(super) units: &'a Units,
    pub(super) composer: &'a Composer<'a>,
    /// Cost of each unit in tokens.
    costs: Vec<f32>,
    covered: Vec<bool>,
    is_chosen: Vec<bool>,
    /// Chosen units, in order.
    pub(super) chosen: Vec<usize>,
    /// Remaining tokens.
    pub(super) left: f32,
}

impl<'a> Quotes<'a> {
    /// A selection without units.
    pub(super) fn new(
        job: &'a SummaryJob<'a>,
        reading: &'a Reading<'a>,
        units: &'a Units,
        composer: &'a Composer<'a>,
        costs: Vec<f32>,
    ) -> Self {
        Self {
            job,
            reading,
            units,
            composer,
            costs,
            covered: vec![false; units.terms()],
            is_chosen: vec![false; units.len()],
            chosen: Vec::new(),
            left: to_f32(job.max_tokens),
        }
    }

    /// Marks speakers' names as covered, because labels show them.
    pub(super) fn cover_names(&mut self) {
        for term in self.composer.names().into_iter().flat_map(|name| self.units.named(name)) {
            if let Some(covered) = self.covered.get_mut(term) {
                *covered = true;
            }
        }
    }

    pub(super) fn is_uncovered(&self, term: usize) -> bool {
        self.covered.get(term) == Some(&false)
    }

    pub(super) fn has(&self, unit: usize) -> bool {
        self.is_chosen.get(unit) == Some(&true)
    }

    /// True if the unit exists and is not chosen.
    pub(super) fn lacks(&self, unit: usize) -> bool {
        self.is_chosen.get(unit) == Some(&false)
    }

    /// Chooses units if they fit with the chosen ones.
    pub(super) fn take(&mut self, range: RangeInclusive<usize>, cut: Option<Cut>) -> bool {
        let mut trial = self.chosen.clone();
        trial.extend(range.clone().filter(|unit| self.lacks(*unit)));
        trial.sort_unstable();
        let tokens = self.job.counter.count(&self.composer.write(&trial, cut));
        if tokens > self.job.max_tokens {
            return false;
        }
        self.left = to_f32(self.job.max_tokens - tokens);
        for unit in range {
            for (term, _) in self.units.bag(unit) {
                if let Some(covered) = self.covered.get_mut(*term) {
                    *covered = true;
                }
            }
            if let Some(chosen) = self.is_chosen.get_mut(unit) {
                *chosen = true;
            }
        }
        self.chosen = trial;
        true
    }

    /// Cost of the units of a range that are not chosen yet.
    pub(super) fn cost(&self, range: &RangeInclusive<usize>) -> f32 {
        let fresh = range.clone().filter(|unit| self.lacks(*unit));
        fresh.filter_map(|unit| self.costs.get(unit)).sum::<f32>().max(1.0)
    }

    /// Cost of a range of units, chosen or not.
    pub(super) fn whole_cost(&self, range: RangeInclusive<usize>) -> f32 {
        self.costs.get(range).unwrap_or_default().iter().sum()
    }

    /// Marginal value of a unit's words. A term that occurs in many parts counts less, and once chosen no more.
    pub(super) fn worth(&self, unit: usize) -> f32 {
        let rarity = |term: usize| 1.0 / (1.0 + 0.12 * to_f32(self.units.spread(term).saturating_sub(1)));
        let worth =
            |(term, weight): &(usize, f32)| if self.is_uncovered(*term) { *weight * rarity(*term) } else { 0.0 };
        self.units.bag(unit).iter().map(worth).sum()
    }

    /// Additional value of a unit in a merged summary, given the values of an instruction, a decision and a preference:
    /// wishes, decisions and questions should outlast statements.
    pub(super) fn lasting(&self, unit: usize, [instruction, decision, preference]: [f32; 3]) -> f32 {
        let Some(of) = self.units.get(unit).filter(|unit| !MACHINES.contains(&self.composer.name_of(unit))) else {
            return 0.0;
        };
        let worth = [(Cues::INSTRUCTION, instruction), (Cues::DECISION, decision), (Cues::PREFERENCE, preference)];
        let source = self.reading.segments.get(of.segment).map_or(0, |segment| segment.source);
        let open = of.asks && of.opens && !self.reading.terms.are_taken_up_after(of.segment, source);
        // Only the last question is likely to be open.
        let last = source + 2 >= self.job.sources.len();
        let asks = match (open, last) {
            (true, true) => 2.0,
            (true, false) => 0.8,
            (false, _) => 0.0,
        };
        asks + worth.iter().filter(|(cue, _)| of.cues.has(*cue)).map(|(_, worth)| worth).sum::<f32>()
    }

    /// True if the previous unit is chosen and continues in this one.
    pub(super) fn goes_on(&self, unit: usize) -> bool {
        unit.checked_sub(1).is_some_and(|before| self.has(before) && self.units.join(before, unit))
    }

    /// True if neither chosen neighbour has the same speaker.
    pub(super) fn is_new_speaker(&self, unit: usize) -> bool {
        let place = self.chosen.partition_point(|&chosen| chosen < unit);
        let before = place.checked_sub(1).and_then(|place| self.chosen.get(place));
        let neighbours = [before, self.chosen.get(place)];
        !neighbours.into_iter().flatten().any(|&near| self.composer.speaker_id(near) == self.composer.speaker_id(unit))
    }
}

/// True if the speaker is a model or a tool. A person may have the role of an assistant, but not its label.
pub(super) fn is_model(job: &SummaryJob<'_>, segment: &Segment, unit: &Unit, composer: &Composer<'_>) -> bool {
    MACHINES.contains(&composer.name_of(unit))
        || job.sources.get(segment.source).is_some_and(|source| {
            source.role == Some(Role::Tool) || source.speaker.is_empty() && source.role == Some(Role::Assistant)
        })
}

/// True if a text contains signs of a formula or a line of code.
pub(super) fn is_formula(text: &str) -> bool {
    let marks = |byte: u8| matches!(byte, b'\\' | b'^' | b'=' | b'{' | b'}');
    text.bytes().fold(false, |any, byte| any | marks(byte)) || (!text.is_ascii() && text.contains(['√', '≤', '≥', '≈']))
}
