//! Selection of whole clauses for a merged summary: few intelligible statements rather than fragments of many.

use std::ops::RangeInclusive;

use memory_core::port::SummaryJob;

use super::{
    compose::Composer,
    lexis::{Class, class},
    quotes::{MACHINES, Quotes, is_formula, is_model},
    units::{PIECE, Unit, Units, stops},
    verbs::{asks, has_verb, is_title},
};
use crate::{
    cues::Cues,
    reading::{Reading, noise},
    segments::Kind,
    terms::to_f32,
    words::words,
};

/// Number of candidates, the best by initial value, that are rated repeatedly.
const LOOKED_AT: usize = 400;

/// Maximum failed attempts to fit clauses.
const MISSES: usize = 24;

/// Maximum starts and ends that are tried per sentence.
const CLAUSES: usize = 6;

/// Maximum share of the tokens for one sentence, and the tokens that a sentence may always use.
const SHARE: f32 = 0.3;
const ALWAYS: f32 = 36.0;

/// Additional cost in tokens of a run, because a reader has to start anew.
const SIGN: f32 = 2.0;

/// Discount of each further run from one message.
const AGAIN: f32 = 0.35;

/// Chooses clauses and writes them out; empty if no informative clause fits.
pub(super) fn choose_clauses(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    units: &Units,
    composer: &Composer<'_>,
) -> Option<String> {
    let mut chooser = ClauseChooser::new(job, reading, units, composer);
    chooser.fill();
    (!chooser.quotes.chosen.is_empty()).then(|| composer.write(&chooser.quotes.chosen, None))
}

/// A range of clauses of one sentence that may be quoted.
#[derive(Clone, Debug)]
struct ClauseCandidate {
    range: RangeInclusive<usize>,
    /// Factor of the clauses, in addition to each unit's.
    quality: f32,
    /// True if the clauses depend on the previous sentence.
    leans: bool,
    source: usize,
}

struct ClauseChooser<'a> {
    quotes: Quotes<'a>,
    factors: Vec<f32>,
    pool: Vec<ClauseCandidate>,
    /// Number of chosen runs by source.
    runs: Vec<u32>,
}

impl<'a> ClauseChooser<'a> {
    fn new(job: &'a SummaryJob<'a>, reading: &'a Reading<'a>, units: &'a Units, composer: &'a Composer<'a>) -> Self {
        let costs = units.iter().map(|(_, unit)| reading.cost(unit.bytes.len())).collect();
        let mut chooser = Self {
            quotes: Quotes::new(job, reading, units, composer, costs),
            factors: factors(job, reading, units, composer),
            pool: Vec::new(),
            runs: vec![0; job.sources.len()],
        };
        chooser.quotes.cover_names();
        // Titles, tables and code are used only if there are no sentences.
        let sentences = reading.segments.iter().any(|segment| segment.kind == Kind::Sentence);
        let mut first = 0;
        while let Some(unit) = units.get(first) {
            let of = unit.segment;
            let after = units.iter().skip(first).take_while(|(_, unit)| unit.segment == of).count();
            let is_sentence = reading.segments.get(of).is_some_and(|segment| segment.kind == Kind::Sentence);
            if is_sentence || !sentences {
                chooser.add_sentence(first, first + after);
            }
            first += after;
        }
        let mut rated: Vec<(f32, usize)> =
            chooser.pool.iter().enumerate().map(|(at, candidate)| (chooser.rate(candidate), at)).collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rated.truncate(LOOKED_AT);
        chooser.pool = rated.into_iter().filter_map(|(_, at)| chooser.pool.get(at).cloned()).collect();
        chooser
    }

    /// Adds the candidates of the sentence that consists of the units from `first` up to `end`.
    fn add_sentence(&mut self, first: usize, end: usize) {
        let most = (to_f32(self.quotes.job.max_tokens) * SHARE).max(ALWAYS);
        let begins_clause = |at: usize| at == first || self.quotes.units.get(at).is_some_and(|unit| unit.head == at);
        let starts: Vec<usize> = (first..end).filter(|&at| begins_clause(at)).take(CLAUSES).collect();
        let mut found = Vec::new();
        for &start in &starts {
            let Some(words) = self.beginning(start, first) else { continue };
            let mut ends = 0;
            for last in start..end {
                let range = start..=last;
                let goes_on = self.quotes.units.join(last, last + 1) && last + 1 < end;
                let whole = !goes_on || begins_clause(last + 1);
                // If even the first clause is too long, a part of it is used.
                let too_long = self.quotes.whole_cost(range.clone()) > most;
                if too_long && last > start {
                    break;
                }
                let long = ends == 0 && self.quotes.whole_cost(start..=last + 1) > most;
                if whole || long {
                    ends += 1;
                    found.extend(self.candidate(range, words, start == first, whole));
                }
                if !goes_on || ends >= CLAUSES {
                    break;
                }
            }
        }
        self.pool.extend(found);
    }

    /// `None` if no quotation may begin with this unit; `true` if one that does depends on the text before it.
    fn beginning(&self, start: usize, first: usize) -> Option<bool> {
        let unit = self.quotes.units.get(start)?;
        let text = &self.quotes.reading.segments.get(unit.segment)?.text;
        let mut words = words(text.get(unit.bare..)?);
        let word = words.next()?;
        let class = class(word.key);
        let spoken = word.text.to_lowercase();
        let leans =
            ["it", "it's", "that", "that's", "this", "these", "those", "they", "they're", "he", "she", "he's", "she's"]
                .contains(&spoken.as_str());
        if start == first && !self.goes_on_from_another(unit.segment) {
            return Some(leans || class.is(Class::OPENER.or(Class::CONNECTIVE)) && !class.is(Class::CONDITION));
        }
        let question = unit.asks && asks(&spoken, true) && !class.is(Class::CONNECTIVE);
        let speaks = class.is(Class::SUBJECT) && !leans && spoken != "you" || class.is(Class::CONDITION) || question;
        speaks.then_some(false)
    }

    /// True if a segment continues a sentence that was split because of its length.
    fn goes_on_from_another(&self, segment: usize) -> bool {
        let of = |at: usize| self.quotes.reading.segments.get(at);
        let (Some(own), Some(before)) = (of(segment), segment.checked_sub(1).and_then(of)) else { return false };
        let one = before.source == own.source && before.kind == own.kind;
        one && before.text.len() >= PIECE && !stops(&before.text)
    }

    fn candidate(
        &self,
        range: RangeInclusive<usize>,
        leans: bool,
        opens: bool,
        whole: bool,
    ) -> Option<ClauseCandidate> {
        /// Factor of a clause without a verb, which is rarely intelligible.
        const NO_VERB: f32 = 0.12;
        const TITLE: f32 = 0.2;
        const LABEL: f32 = 0.15;
        const FEW_WORDS: usize = 4;
        /// Minimum value of the words of an informative clause: three plain words, or one figure.
        const SAYS: f32 = 2.2;
        /// Minimum value of any clause; excludes "I think I'll go with that."
        const LEAST: f32 = 0.5;
        const FIRST_PERSON: [&str; 14] =
            ["I", "I'm", "I've", "I'll", "I'd", "I’m", "I’ve", "I’ll", "I’d", "We", "we", "My", "my", "Our"];
        let (head, tail) = (self.quotes.units.get(*range.start())?, self.quotes.units.get(*range.end())?);
        let segment = self.quotes.reading.segments.get(head.segment)?;
        let text = segment.text.get(head.bare..tail.bytes.end)?;
        let solid = text.trim_end();
        let closes = tail.closes && !tail.gap;
        let mut quality = 1.0;
        let count = words(text).count();
        if !has_verb(words(text), opens) {
            // "Oh." and "for the tool" are not informative, but a whole sentence in an unknown language is.
            let sentence = closes || (opens && whole && !MACHINES.contains(&self.quotes.composer.name(*range.start())));
            let message = self.quotes.job.sources.get(segment.source).is_some_and(|source| source.role.is_some());
            if count < FEW_WORDS || !sentence || !(closes || message) {
                return None;
            }
            quality *= NO_VERB;
        }
        if is_title(words(text)) {
            if !closes {
                return None;
            }
            quality *= TITLE;
        }
        if solid.ends_with([':', '：']) {
            quality *= LABEL;
        }
        if count < if closes { FEW_WORDS } else { FEW_WORDS + 2 } {
            quality *= 0.4;
        }
        // "It works fine.", "I'm kinda curious": generic.
        let says: f32 = range.clone().flat_map(|unit| self.quotes.units.bag(unit)).map(|(_, weight)| weight).sum();
        if says < LEAST {
            return None;
        }
        quality *= (says / SAYS).min(1.0).powi(2);
        // "I'm 41, how do I begin?" is not a question without its end.
        quality *= match (opens, whole, closes) {
            (true, true, true) => 1.0,
            (false, true, true) if head.asks => 0.95,
            (_, true, false) if head.asks => 0.7,
            (true, true, false) => 0.9,
            (false, true, _) => 0.8,
            (_, false, _) => 0.7,
        };
        // Statements in the first person are mostly facts; statements with "you" are mostly praise or advice.
        let first_person = words(text).take(3).any(|word| FIRST_PERSON.contains(&word.text));
        if first_person && !head.asks {
            quality *= 1.25;
        }
        Some(ClauseCandidate { range, quality, leans, source: segment.source })
    }

    /// Takes the best candidate repeatedly, until nothing fits.
    fn fill(&mut self) {
        let mut misses = 0;
        while misses < MISSES {
            let rated = self.pool.iter().enumerate().map(|(at, candidate)| (self.rate(candidate), at));
            let best = rated
                .filter(|(rate, at)| {
                    let cost = self.pool.get(*at).map_or(f32::MAX, |of| self.quotes.cost(&of.range));
                    *rate > 0.0 && cost <= self.quotes.left * 1.3 + 2.0
                })
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((_, at)) = best else { break };
            let candidate = self.pool.swap_remove(at);
            if !self.take(&candidate) {
                misses += 1;
            }
        }
    }

    /// Takes clauses if they fit with the chosen ones.
    fn take(&mut self, candidate: &ClauseCandidate) -> bool {
        let fits = self.quotes.take(candidate.range.clone(), None);
        if let Some(runs) = self.runs.get_mut(candidate.source).filter(|_| fits) {
            *runs += 1;
        }
        fits
    }

    /// Marginal value of clauses per cost; 0 if they are taken already.
    fn rate(&self, candidate: &ClauseCandidate) -> f32 {
        let mut gain = 0.0;
        for unit in candidate.range.clone().filter(|unit| self.quotes.lacks(*unit)) {
            let factor = self.factors.get(unit).copied().unwrap_or_default();
            gain += factor * self.quotes.worth(unit) + self.lasting(unit);
        }
        let start = *candidate.range.start();
        let goes_on = self.quotes.has(start) || self.quotes.goes_on(start);
        let leans = if candidate.leans && !goes_on { 0.4 } else { 1.0 };
        let runs = if goes_on { 0 } else { self.runs.get(candidate.source).copied().unwrap_or_default() };
        let speaker = if goes_on || !self.quotes.is_new_speaker(start) { 0.0 } else { 2.0 };
        let sign = if goes_on { 0.0 } else { SIGN };
        gain * candidate.quality * leans
            / (1.0 + AGAIN * to_f32(runs))
            / (self.quotes.cost(&candidate.range) + sign + speaker)
    }

    /// Additional value of a unit: wishes, decisions and questions should outlast statements.
    fn lasting(&self, unit: usize) -> f32 {
        /// Minimum value of the words; excludes "I'll go with that", which does not name its object.
        const SAYS: f32 = 1.2;
        let says: f32 = self.quotes.units.bag(unit).iter().map(|(_, weight)| weight).sum();
        if says >= SAYS { self.quotes.lasting(unit, [2.0, 2.0, 1.2]) } else { 0.0 }
    }
}

/// The factor of each unit's words by its kind and speaker.
fn factors(job: &SummaryJob<'_>, reading: &Reading<'_>, units: &Units, composer: &Composer<'_>) -> Vec<f32> {
    let among_people = !composer.names().iter().any(|name| MACHINES.contains(name));
    units.iter().map(|(_, unit)| factor(job, reading, unit, composer, among_people)).collect()
}

fn factor(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    unit: &Unit,
    composer: &Composer<'_>,
    among_people: bool,
) -> f32 {
    let Some(segment) = reading.segments.get(unit.segment) else { return 0.0 };
    let kind = match segment.kind {
        Kind::Sentence => 1.0,
        Kind::Keywords => 0.3,
        Kind::Row | Kind::Heading => 0.1,
        Kind::Data | Kind::Code => 0.05,
    };
    let is_model = is_model(job, segment, unit, composer);
    let announced = [
        // People's decisions stay relevant. A model's "always" is advice.
        (Cues::DECISION, if is_model { 0.3 } else { 1.0 }),
        (Cues::INSTRUCTION, if is_model { 0.0 } else { 0.6 }),
        (Cues::COMMITMENT, 0.2),
        (Cues::PREFERENCE, 0.3),
        (Cues::PROBLEM, 0.2),
        (Cues::FIX, 0.2),
        (Cues::EMPHASIS, 0.3),
        (Cues::PERSONAL, 0.2),
    ];
    let more: f32 = announced.iter().filter(|(cue, _)| unit.cues.has(*cue)).map(|(_, weight)| weight).sum();
    let talk = if unit.cues.has(Cues::SMALL_TALK) { 0.4 } else { 1.0 };
    // A question to a model is a wish; a model's question is an offer. Questions among people are usually answered, and
    // the answer is more informative.
    let last = segment.source + 2 >= job.sources.len();
    let asks = match (unit.asks, is_model, among_people) {
        (true, true, _) => 0.3,
        (true, false, true) if !last => 0.5,
        (true, false, _) => 1.3,
        (false, ..) => 1.0,
    };
    let text = segment.text.get(unit.bytes.clone()).unwrap_or_default();
    let formula = if is_formula(text) { 0.1 } else { 1.0 };
    // A model's conclusions are at either end of its message.
    let machine = match (is_model, is_edge(reading, unit.segment)) {
        (false, _) => 1.0,
        (true, true) => 1.0,
        (true, false) => 0.25,
    };
    kind * formula * machine * (1.0 + more) * talk * asks * noise(text)
}

/// True if a segment is the first or the last one of its source, where a model states its conclusions.
fn is_edge(reading: &Reading<'_>, segment: usize) -> bool {
    let source = |segment: Option<usize>| segment.and_then(|at| reading.segments.get(at)).map(|of| of.source);
    let own = source(Some(segment));
    source(segment.checked_sub(1)) != own || source(Some(segment + 1)) != own
}

#[cfg(test)]
mod tests;
