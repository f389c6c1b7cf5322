//! What is quoted so far: the units, the terms that they tell, and the tokens that are left.

use std::ops::RangeInclusive;

use memory_core::{Role, SummaryJob};

use super::{
    compose::{Composer, Cut},
    units::{Unit, Units},
};
use crate::{cues::Cues, reading::Reading, segments::Segment, terms::to_f32};

/// Who is no person.
pub(super) const MACHINES: [&str; 3] = ["assistant: ", "tool: ", "system: "];

/// Units that are quoted, of those that may be.
pub(super) struct Quotes<'a> {
    pub(super) job: &'a SummaryJob<'a>,
    pub(super) reading: &'a Reading<'a>,
    pub(super) units: &'a Units,
    pub(super) composer: &'a Composer<'a>,
    /// What each unit costs.
    costs: Vec<f32>,
    told: Vec<bool>,
    is_chosen: Vec<bool>,
    /// In order.
    pub(super) chosen: Vec<usize>,
    /// Tokens.
    pub(super) left: f32,
}

impl<'a> Quotes<'a> {
    /// None of units that cost so many tokens each.
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
            told: vec![false; units.terms()],
            is_chosen: vec![false; units.len()],
            chosen: Vec::new(),
            left: to_f32(job.max_tokens),
        }
    }

    /// Takes the names of the speakers as told: whose words they are is shown anyway.
    pub(super) fn tell_names(&mut self) {
        for term in self.composer.names().into_iter().flat_map(|name| self.units.named(name)) {
            if let Some(told) = self.told.get_mut(term) {
                *told = true;
            }
        }
    }

    pub(super) fn is_untold(&self, term: usize) -> bool {
        self.told.get(term) == Some(&false)
    }

    pub(super) fn has(&self, unit: usize) -> bool {
        self.is_chosen.get(unit) == Some(&true)
    }

    /// Whether it is a unit, and not quoted.
    pub(super) fn lacks(&self, unit: usize) -> bool {
        self.is_chosen.get(unit) == Some(&false)
    }

    /// Takes units, if they fit with what is taken.
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
                if let Some(told) = self.told.get_mut(*term) {
                    *told = true;
                }
            }
            if let Some(chosen) = self.is_chosen.get_mut(unit) {
                *chosen = true;
            }
        }
        self.chosen = trial;
        true
    }

    /// What the units that are not quoted yet cost.
    pub(super) fn cost(&self, range: &RangeInclusive<usize>) -> f32 {
        let fresh = range.clone().filter(|unit| self.lacks(*unit));
        fresh.filter_map(|unit| self.costs.get(unit)).sum::<f32>().max(1.0)
    }

    /// What units cost, quoted or not.
    pub(super) fn whole_cost(&self, range: RangeInclusive<usize>) -> f32 {
        self.costs.get(range).unwrap_or_default().iter().sum()
    }

    /// What the words of a unit add. What many say is said once.
    pub(super) fn worth(&self, unit: usize) -> f32 {
        let rarity = |term: usize| 1.0 / (1.0 + 0.12 * to_f32(self.units.spread(term).saturating_sub(1)));
        let worth = |(term, weight): &(usize, f32)| if self.is_untold(*term) { *weight * rarity(*term) } else { 0.0 };
        self.units.bag(unit).iter().map(worth).sum()
    }

    /// What a unit is worth in a merged summary beside its words, an instruction, a decision and a preference so much: what
    /// somebody wants, decides or asks is to outlast what is told.
    pub(super) fn lasting(&self, unit: usize, [instruction, decision, preference]: [f32; 3]) -> f32 {
        let Some(of) = self.units.get(unit).filter(|unit| !MACHINES.contains(&self.composer.name_of(unit))) else {
            return 0.0;
        };
        let worth = [(Cues::INSTRUCTION, instruction), (Cues::DECISION, decision), (Cues::PREFERENCE, preference)];
        let source = self.reading.segments.get(of.segment).map_or(0, |segment| segment.source);
        let open = of.asks && of.opens && !self.reading.terms.are_taken_up_behind(of.segment, source);
        // What was asked last is open for sure; most of what was asked before was answered.
        let last = source + 2 >= self.job.sources.len();
        let asks = match (open, last) {
            (true, true) => 2.0,
            (true, false) => 0.8,
            (false, _) => 0.0,
        };
        asks + worth.iter().filter(|(cue, _)| of.cues.has(*cue)).map(|(_, worth)| worth).sum::<f32>()
    }

    /// Whether what stands right before a unit is quoted.
    pub(super) fn goes_on(&self, unit: usize) -> bool {
        unit.checked_sub(1).is_some_and(|before| self.has(before) && self.units.join(before, unit))
    }

    /// Whether neither neighbour among what is quoted says who speaks here.
    pub(super) fn is_new_voice(&self, unit: usize) -> bool {
        let place = self.chosen.partition_point(|&chosen| chosen < unit);
        let before = place.checked_sub(1).and_then(|place| self.chosen.get(place));
        let neighbours = [before, self.chosen.get(place)];
        !neighbours.into_iter().flatten().any(|&near| self.composer.voice(near) == self.composer.voice(unit))
    }
}

/// Whether a model or a tool says it. A person may have the role of an assistant, but not its name.
pub(super) fn is_model(job: &SummaryJob<'_>, segment: &Segment, unit: &Unit, composer: &Composer<'_>) -> bool {
    MACHINES.contains(&composer.name_of(unit))
        || job.sources.get(segment.source).is_some_and(|source| {
            source.role == Some(Role::Tool) || source.speaker.is_empty() && source.role == Some(Role::Assistant)
        })
}

/// Whether a text has a sign of a formula or a line of code.
pub(super) fn is_formula(text: &str) -> bool {
    let marks = |byte: u8| matches!(byte, b'\\' | b'^' | b'=' | b'{' | b'}');
    text.bytes().fold(false, |any, byte| any | marks(byte)) || (!text.is_ascii() && text.contains(['√', '≤', '≥', '≈']))
}
