//! Greedy selection of units by marginal value per cost.

use std::ops::RangeInclusive;

use memory_core::{Level, port::SummaryJob};

use super::{
    compose::{Composer, Cut},
    quotes::{Quotes, is_formula, is_model},
    units::{Unit, Units},
};
use crate::{
    cues::Cues,
    reading::{Reading, noise},
    segments::Kind,
    terms::to_f32,
};

/// Number of units, the best by initial value, that are rated repeatedly.
const LOOKED_AT: usize = 384;

/// Maximum failed attempts to fit a unit.
const MISSES: usize = 16;

/// Maximum prefixes of a unit that are tried.
const ENDS: usize = 6;

/// Cost in tokens of the omission sign before a run.
const SIGN: f32 = 1.1;

/// Penalty in tokens of a run that begins within a clause.
const WITHIN: f32 = 0.3;

/// Minimum words of a phrase without its clause, unless it contains a name or figure.
const SAYS: usize = 2;

/// Additional penalty in a merged summary, whose source lacks the rest of the clause.
const ADRIFT: f32 = 2.0;

/// Cost in tokens of a new speaker's label.
const SPEAKER: f32 = 2.0;

/// Chooses units and writes them out; empty if none fits.
pub(super) fn choose(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    units: &Units,
    composer: &Composer<'_>,
) -> Option<String> {
    let mut chooser = UnitChooser::new(job, reading, units, composer);
    chooser.begin_with_question();
    chooser.fill();
    let begun = chooser.begin_of_another();
    let chosen = &chooser.quotes.chosen;
    begun.or_else(|| (!chosen.is_empty()).then(|| composer.write(chosen, chooser.cut)))
}

struct UnitChooser<'a> {
    quotes: Quotes<'a>,
    /// Factor of each unit's words.
    factors: Vec<f32>,
    pool: Vec<usize>,
    /// Units that did not fit.
    missed: Vec<usize>,
    /// The truncated question.
    cut: Option<Cut>,
}

impl<'a> UnitChooser<'a> {
    fn new(job: &'a SummaryJob<'a>, reading: &'a Reading<'a>, units: &'a Units, composer: &'a Composer<'a>) -> Self {
        let factors = units.iter().map(|(_, unit)| factor(job, reading, unit, composer)).collect();
        let quotes = Quotes::new(job, reading, units, composer, costs(job, reading, units));
        let mut chooser = Self { quotes, factors, pool: (0..units.len()).collect(), missed: Vec::new(), cut: None };
        if job.level >= Level::Meta {
            chooser.quotes.cover_names();
        }
        if chooser.pool.len() > LOOKED_AT {
            let mut rated: Vec<(f32, usize)> =
                chooser.pool.iter().map(|&unit| (chooser.rate(unit).map_or(0.0, |(rate, _)| rate), unit)).collect();
            rated.select_nth_unstable_by(LOOKED_AT, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            rated.truncate(LOOKED_AT);
            chooser.pool = rated.into_iter().map(|(_, unit)| unit).collect();
            chooser.pool.sort_unstable();
        }
        chooser
    }

    /// Takes a piece of the question at the end of a message, so that a reader sees that the message asks.
    fn begin_with_question(&mut self) {
        /// Maximum share of the tokens for the piece.
        const SHARE: f32 = 0.7;
        /// Value per cost below which a question has only common words; a summary of fewer than `SHORT` tokens has no
        /// room for it.
        const IDLE: f32 = 0.05;
        const SHORT: u32 = 16;
        if self.quotes.job.level >= Level::Meta {
            return;
        }
        let Some((last, unit)) = self.quotes.units.iter().next_back().filter(|(_, unit)| unit.asks) else { return };
        let segment = unit.segment;
        let of_question =
            self.quotes.units.iter().rev().take_while(|(_, unit)| unit.segment == segment).map(|(unit, _)| unit);
        let of_question: Vec<usize> = of_question.collect();
        let best = of_question
            .iter()
            .filter_map(|&unit| self.rate(unit))
            .filter(|(_, range)| self.quotes.cost(range) <= to_f32(self.quotes.job.max_tokens) * SHARE)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.start().cmp(a.1.start())));
        if let Some((rate, range)) = best {
            // "How about you?" is not worth a quarter of a short summary.
            if rate >= IDLE || self.quotes.job.max_tokens >= SHORT {
                self.quotes.take(range, self.cut);
            }
            return;
        }
        if self.quotes.job.max_tokens < SHORT {
            return;
        }
        let first = of_question.last().copied().unwrap_or(last);
        let Some(unit) = self.quotes.units.get(first).filter(|unit| !unit.whole) else { return };
        let (_, ends) = self.beginning(first, unit, to_f32(self.quotes.job.max_tokens) * SHARE);
        for (_, end) in ends.into_iter().rev().take(ENDS) {
            self.cut = Some(Cut { unit: first, end });
            if self.quotes.take(first..=first, self.cut) {
                return;
            }
        }
        self.cut = None;
    }

    /// Takes the best unit repeatedly, until nothing fits.
    fn fill(&mut self) {
        let mut misses = 0;
        let mut rated = self.rated();
        while misses < MISSES {
            let best = rated.iter().enumerate().max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some(best) = best.map(|(place, _)| place) else { break };
            let (_, unit, range) = rated.swap_remove(best);
            let (first, last) = (*range.start(), *range.end());
            if self.quotes.take(range, self.cut) {
                // The neighbours of a chosen unit may be worth more now.
                for near in [first.checked_sub(1), Some(last + 1)].into_iter().flatten() {
                    let is_new = near < self.quotes.units.len() && !self.pool.contains(&near);
                    if is_new && self.quotes.lacks(near) {
                        self.pool.push(near);
                    }
                }
                self.pool.retain(|unit| self.quotes.lacks(*unit));
                rated = self.rated();
            } else {
                misses += 1;
                self.missed.push(unit);
                self.pool.retain(|other| *other != unit);
            }
        }
    }

    /// Units of the pool that probably fit: value per cost, unit, and the range that would be taken.
    fn rated(&self) -> Vec<(f32, usize, RangeInclusive<usize>)> {
        let room = self.quotes.left * 1.3 + 2.0;
        let rated = self.pool.iter().filter_map(|&unit| self.rate(unit).map(|(rate, range)| (rate, unit, range)));
        rated.filter(|(_, _, range)| self.quotes.cost(range) <= room).collect()
    }

    /// Fills the remaining tokens with the beginning of a unit that does not fit whole. Units under a negation or
    /// condition are excluded.
    fn begin_of_another(&self) -> Option<String> {
        /// Minimum tokens of a beginning with its sign.
        const LEAST: f32 = 2.0;
        if self.quotes.left < LEAST || self.cut.is_some() {
            return None;
        }
        /// Maximum units that are tried.
        const TRIED: usize = 4;
        // The estimate is generous; counting verifies it.
        let room = self.quotes.left * 1.3;
        let candidates = self.pool.iter().chain(&self.missed).filter_map(|&index| {
            let unit = self.quotes.units.get(index).filter(|unit| !unit.holds)?;
            let joins = self.quotes.goes_on(index);
            if !joins && unit.head != index {
                return None;
            }
            let room =
                if joins { room } else { room - SIGN - if self.quotes.is_new_speaker(index) { SPEAKER } else { 0.0 } };
            let (gain, ends) = self.beginning(index, unit, room);
            (gain > 0.3).then_some((gain, index, ends))
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut best: Option<(f32, String)> = None;
        for (most, unit, ends) in candidates.into_iter().take(TRIED) {
            if best.as_ref().is_some_and(|(gain, _)| *gain >= most) {
                break;
            }
            let mut trial = self.quotes.chosen.clone();
            trial.push(unit);
            trial.sort_unstable();
            for (gain, end) in ends.into_iter().rev().take(ENDS) {
                let text = self.quotes.composer.write(&trial, Some(Cut { unit, end }));
                if self.quotes.job.counter.count(&text) <= self.quotes.job.max_tokens {
                    if best.as_ref().is_none_or(|(known, _)| gain > *known) {
                        best = Some((gain, text));
                    }
                    break;
                }
            }
        }
        best.map(|(_, text)| text)
    }

    /// Value of the words of a unit that fit into `room` tokens, and the byte offsets at which the quotation may end.
    fn beginning(&self, index: usize, unit: &Unit, room: f32) -> (f32, Vec<(f32, usize)>) {
        /// Minimum words of a beginning without a unit before it.
        const LEAST_WORDS: usize = 3;
        let text = self.quotes.reading.segments.get(unit.segment).map_or("", |segment| segment.text.as_str());
        let factor = self.factors.get(index).copied().unwrap_or_default();
        let (mut gain, mut ends, mut words) = (0.0, Vec::new(), 0);
        let least = if self.quotes.goes_on(index) { 1 } else { LEAST_WORDS };
        for (end, term, may_end) in self.quotes.units.words_of(unit, text) {
            if end.saturating_sub(unit.bare) > 8 && self.quotes.reading.cost(end - unit.bare) > room {
                break;
            }
            if let Some((term, weight)) = term
                && self.quotes.is_uncovered(term)
            {
                gain += weight * factor;
            }
            words += 1;
            if may_end && words >= least {
                ends.push((gain, end));
            }
        }
        if ends.is_empty() { (0.0, ends) } else { (gain, ends) }
    }

    /// Value per cost of a unit, and the range that would be taken: from the head of its clause if the unit needs it.
    fn rate(&self, unit: usize) -> Option<(f32, RangeInclusive<usize>)> {
        let of = self.quotes.units.get(unit)?;
        let range = if of.bound { of.head..=unit } else { unit..=unit };
        // "with friends" is intelligible only after the words that it belongs to.
        let opens_clause = range.start() == &of.head && !(of.adrift && self.quotes.job.level >= Level::Meta);
        if !opens_clause && !of.informative && self.quotes.units.bag(unit).len() < SAYS && !self.quotes.goes_on(unit) {
            return None;
        }
        Some((self.rate_of(&range), range))
    }

    fn rate_of(&self, range: &RangeInclusive<usize>) -> f32 {
        let mut gain = 0.01;
        for unit in range.clone().filter(|unit| self.quotes.lacks(*unit)) {
            let factor = self.factors.get(unit).copied().unwrap_or_default();
            gain += self.lasting(unit) + factor * (0.05 + self.quotes.worth(unit));
        }
        gain / (self.quotes.cost(range) + self.surcharge(range))
    }

    /// Additional value of a unit above SUMMARY: wishes, decisions and questions should outlast statements.
    fn lasting(&self, unit: usize) -> f32 {
        if self.quotes.job.level < Level::Meta || self.quotes.units.bag(unit).is_empty() {
            return 0.0;
        }
        self.quotes.lasting(unit, [3.0, 3.0, 2.0])
    }

    /// Additional cost of a new run.
    fn surcharge(&self, range: &RangeInclusive<usize>) -> f32 {
        let (first, last) = (*range.start(), *range.end());
        if self.quotes.goes_on(first) || (self.quotes.has(last + 1) && self.quotes.units.join(last, last + 1)) {
            return 0.0;
        }
        let Some(unit) = self.quotes.units.get(first) else { return 0.0 };
        let adrift = unit.adrift && self.quotes.job.level >= Level::Meta;
        let within = if adrift {
            ADRIFT
        } else if unit.head == first {
            0.0
        } else {
            WITHIN
        };
        let speaker =
            if self.quotes.job.level >= Level::Meta && self.quotes.is_new_speaker(first) { SPEAKER } else { 0.0 };
        SIGN + within + speaker
    }
}

/// Cost of each unit in tokens; exact if there are few units.
fn costs(job: &SummaryJob<'_>, reading: &Reading<'_>, units: &Units) -> Vec<f32> {
    /// Maximum units that are counted one by one.
    const FEW: usize = 160;
    let cost = |unit: &Unit| {
        let text =
            reading.segments.get(unit.segment).and_then(|of| of.text.get(unit.bytes.clone())).unwrap_or_default();
        if units.len() <= FEW { to_f32(job.counter.count(text)) } else { reading.cost(text.len()) }
    };
    units.iter().map(|(_, unit)| cost(unit)).collect()
}

/// Factor of a unit's words by its kind and speaker.
fn factor(job: &SummaryJob<'_>, reading: &Reading<'_>, unit: &Unit, composer: &Composer<'_>) -> f32 {
    let Some(segment) = reading.segments.get(unit.segment) else { return 0.0 };
    let kind = match segment.kind {
        Kind::Heading if job.level >= Level::Meta => 0.3,
        Kind::Sentence | Kind::Heading => 1.0,
        Kind::Row => 0.3,
        Kind::Keywords => 0.3,
        Kind::Data => 0.15,
        Kind::Code => 0.1,
    };
    let is_model = is_model(job, segment, unit, composer);
    let announced = [
        // People's decisions stay relevant, and are rarely repeated.
        (Cues::DECISION, if job.level >= Level::Meta && !is_model { 1.0 } else { 0.4 }),
        (Cues::COMMITMENT, 0.2),
        (Cues::PREFERENCE, 0.3),
        (Cues::PROBLEM, 0.2),
        (Cues::FIX, 0.2),
        (Cues::EMPHASIS, 0.3),
        (Cues::PERSONAL, 0.15),
        // A model's "always" is advice.
        (Cues::INSTRUCTION, if is_model { 0.0 } else { 0.6 }),
    ];
    let more: f32 = announced.iter().filter(|(cue, _)| unit.cues.has(*cue)).map(|(_, weight)| weight).sum();
    let more = if job.level >= Level::Meta { more * 1.5 } else { more };
    let talk = if unit.cues.has(Cues::SMALL_TALK) { 0.5 } else { 1.0 };
    // A model's question is usually an offer; a person's question may still be open.
    let asks = match (unit.asks, is_model) {
        (true, true) => 0.5,
        (true, false) if job.level >= Level::Meta => 1.6,
        _ => 1.0,
    };
    let text = segment.text.get(unit.bytes.clone()).unwrap_or_default();
    let formula = if is_formula(text) { 0.15 } else { 1.0 };
    // A person's wishes, acts and decisions stay relevant longer than a model's statements about them.
    let machine = if job.level >= Level::Meta && is_model { 0.4 } else { 1.0 };
    kind * formula * machine * (1.0 + more) * talk * asks * noise(text)
}
