//! Splits segments into units: clauses and phrases that can be quoted on their own.
//!
//! A unit never separates a negation from its scope, a condition from its main clause, or, within a sentence, a clause
//! from one whose first words take it back: "We looked at Redis, but decided against it".

mod places;

use std::ops::Range;

use self::places::{End, FIGURE, GREETED, bind_reversals, conditions, cut_of, end_of, weight};
use super::lexis::{Class, class};
use crate::{
    cues::{Cues, cues},
    language::{Language, turns},
    reading::Reading,
    segments::{Kind, Segment},
    sentences::closes,
    terms::is_common,
    words::{Form, KeyMap, words},
};

/// A piece of a segment that may be quoted.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) segment: usize,
    /// The part that the segment belongs to.
    pub(super) part: usize,
    /// Its byte range in the segment.
    pub(super) bytes: Range<usize>,
    /// Offset at which the unit begins if no unit is quoted before it: after "Well,".
    pub(super) bare: usize,
    /// The first unit of its clause.
    pub(super) head: usize,
    /// True if the unit is intelligible only with the units from its head on.
    pub(super) bound: bool,
    /// True if the unit begins within a phrase whose beginning an earlier summary omitted.
    pub(super) adrift: bool,
    /// True if the unit begins its segment.
    pub(super) opens: bool,
    /// True if the unit ends its segment.
    pub(super) ends: bool,
    /// True if the unit ends its segment with a stop.
    pub(super) closes: bool,
    /// True if the unit may not be truncated: its sentence is not certainly English.
    pub(super) whole: bool,
    /// True if an omission follows the unit.
    pub(super) gap: bool,
    /// True if the unit contains a figure, a name or a date.
    pub(super) informative: bool,
    /// True if its beginning alone would have another meaning: it is under a negation or condition, or is taken back.
    pub(super) holds: bool,
    /// True if its sentence is a question.
    pub(super) asks: bool,
    pub(super) cues: Cues,
    /// Range of its terms in [`Units::bags`].
    bag: Range<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Units {
    units: Vec<Unit>,
    /// The distinct terms of all units with their values, concatenated.
    bags: Vec<(usize, f32)>,
    /// For each term, the number of parts that contain it, and the last of them.
    terms: Vec<(u32, usize)>,
    /// The number of each term.
    index: KeyMap<usize>,
}

/// A word with the possible boundary after it.
#[derive(Clone, Copy, Debug)]
struct WordPlace {
    class: Class,
    /// The kind of boundary after it.
    end_of: End,
    /// Offset at which the next unit would begin.
    cut: usize,
    /// True if the word is informative by itself.
    content: bool,
    term: Option<(usize, f32)>,
}

/// Maximum words in the scope of a negation or condition; text without stops would otherwise be a single unit.
const LONGEST_BOND: usize = 28;

/// Maximum terms of a unit that are deduplicated.
const DISTINCT: usize = 48;

/// Fewer words than this before a colon may not be a unit.
const LEAD: usize = 3;

impl Units {
    pub(super) fn of(reading: &Reading<'_>) -> Self {
        let mut cutter = UnitCutter::default();
        let starts = &reading.parts;
        for (part, &first) in starts.iter().enumerate() {
            let end = starts.get(part + 1).copied().unwrap_or(reading.segments.len());
            let segments = reading.segments.get(first..end).unwrap_or_default();
            let languages: Vec<_> = segments.iter().map(|segment| Language::of(&segment.text)).collect();
            let around = languages.iter().copied().fold(Language::default(), Language::with);
            for ((index, segment), language) in (first..).zip(segments).zip(languages) {
                let is_prose = matches!(segment.kind, Kind::Sentence | Kind::Heading);
                let asks = asks(&reading.segments, index);
                let whole = is_prose && (!language.may_be_cut(around) || !asks && turns(&segment.text));
                if !whole || !is_piece(segments, index - first) {
                    cutter.cut(index, part, segment, asks, whole);
                }
            }
        }
        cutter.units
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn get(&self, unit: usize) -> Option<&Unit> {
        self.units.get(unit)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &Unit)> {
        self.units.iter().enumerate()
    }

    /// The terms of a unit with their values.
    pub(super) fn bag(&self, unit: usize) -> &[(usize, f32)] {
        self.units.get(unit).and_then(|unit| self.bags.get(unit.bag.clone())).unwrap_or_default()
    }

    /// The terms in `text`.
    pub(super) fn named<'u>(&'u self, text: &'u str) -> impl Iterator<Item = usize> + 'u {
        words(text).filter_map(|word| self.index.get(&word.key).copied())
    }

    pub(super) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// The number of parts that contain a term.
    pub(super) fn spread(&self, term: usize) -> u32 {
        self.terms.get(term).map_or(1, |(parts, _)| *parts)
    }

    /// Words of a unit: end offset, term, and true if a quotation may end after it.
    pub(super) fn words_of(
        &self,
        unit: &Unit,
        text: &str,
    ) -> impl Iterator<Item = (usize, Option<(usize, f32)>, bool)> {
        let said = text.get(unit.bare..unit.bytes.end).unwrap_or_default();
        let from = unit.bare;
        words(said).map(move |word| {
            let class = class(word.key);
            let term = self.index.get(&word.key).map(|&term| (term, weight(&word, class, false, false)));
            let end = word.at + word.text.len();
            let after = said.get(end..).and_then(|rest| rest.chars().next());
            let ends = after.is_none_or(|c| c.is_whitespace() || c == ',') || word.form == Form::Unspaced;
            let may_end = ends && !class.is(Class::LEADS_ON.or(Class::ATTITUDE)) && !is_common(&word);
            (from + end, term, may_end)
        })
    }

    /// True if both units are in the same sentence.
    pub(super) fn same_sentence(&self, unit: usize, next: usize) -> bool {
        let of = |unit: usize| self.get(unit).map(|unit| (unit.part, unit.segment));
        of(unit) == of(next)
    }

    /// True if `next` directly follows `unit` in the same part.
    pub(super) fn join(&self, unit: usize, next: usize) -> bool {
        let parts = || Some(self.get(unit)?.part == self.get(next)?.part);
        next == unit + 1 && self.get(unit).is_some_and(|unit| !unit.gap) && parts() == Some(true)
    }
}

/// Minimum bytes of a segment without a stop that may be a piece of a longer sentence.
pub(super) const PIECE: usize = 120;

/// True if a segment is a piece of a longer sentence.
fn is_piece(segments: &[Segment], at: usize) -> bool {
    let goes_on = |at: usize| {
        let pair = segments.get(at).zip(segments.get(at + 1));
        pair.is_some_and(|(one, next)| one.kind == next.kind && one.text.len() >= PIECE && !stops(&one.text))
    };
    goes_on(at) || at.checked_sub(1).is_some_and(goes_on)
}

/// True if a segment is a question, or a piece of one.
fn asks(segments: &[Segment], index: usize) -> bool {
    /// Maximum pieces of a sentence that are read.
    const PIECES: usize = 8;
    for segment in segments.iter().skip(index).take(PIECES) {
        let text = segment.text.trim_end_matches(closes);
        if text.ends_with(['?', '？', '؟']) {
            return true;
        }
        if text.len() < PIECE || stops(text) || segment.kind != Kind::Sentence {
            return false;
        }
    }
    false
}

/// True if a text ends with a stop.
pub(super) fn stops(text: &str) -> bool {
    text.trim_end_matches(closes).ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔', '｡', '．'])
}

#[derive(Default)]
struct UnitCutter {
    units: Units,
    places: Vec<WordPlace>,
    keys: Vec<u64>,
}

impl UnitCutter {
    fn cut(&mut self, index: usize, part: usize, segment: &Segment, asks: bool, whole: bool) {
        let text = segment.text.as_str();
        self.read(text, part, segment.kind);
        let places = std::mem::take(&mut self.places);
        let conditions = conditions(&places);
        let last = places.len().saturating_sub(1);
        // Text after an omission does not continue the text before it.
        let marks = text.len() - text.trim_start_matches(['…', ' ']).len();
        if let Some(before) = self.units.units.last_mut().filter(|before| marks > 0 && before.part == part) {
            before.gap = true;
        }
        let mut open = Open::at(&places, 0, marks, self.units.units.len(), false);
        for (number, place) in places.iter().enumerate() {
            open.add(place);
            if number == last {
                break;
            }
            if whole && place.end_of != End::Gap {
                continue;
            }
            let near = conditions.get(number).copied().unwrap_or_default();
            let next = places.get(number + 1).map(|next| next.class).unwrap_or_default();
            let Some(bound) = open.may_end(place, next, near, last - number) else { continue };
            let gap = place.end_of == End::Gap;
            self.push(&places, &open, number + 1, place.cut, (index, part), text, [asks, gap, whole]);
            let head = if place.end_of >= End::Colon { self.units.units.len() } else { open.head };
            open = Open::at(&places, number + 1, place.cut, head, bound);
        }
        self.push(&places, &open, places.len(), text.len(), (index, part), text, [asks, false, whole]);
        self.places = places;
    }

    /// Reads the words of a segment.
    fn read(&mut self, text: &str, part: usize, kind: Kind) {
        self.places.clear();
        self.keys.clear();
        let mut rest = words(text).peekable();
        let (mut figure_before, mut class_after, mut greets) = (false, None, false);
        while let Some(word) = rest.next() {
            let class = class_after.take().unwrap_or_else(|| class(word.key));
            let next = rest.peek();
            let class_of_next = next.map(|next| super::lexis::class(next.key));
            class_after = class_of_next;
            let figure_after = next.is_some_and(|next| next.form == Form::Figure && next.text.len() <= 4);
            let opens = self.places.is_empty();
            let dated = figure_before || figure_after;
            // A greeted name as in "Hey Maya", but not the "I" of "Thanks, I".
            let greeted = greets && word.form == Form::Capital && !is_common(&word);
            greets = class.is(Class::GREETING);
            let weight = if greeted { GREETED } else { weight(&word, class, opens, dated) };
            let (end_of, cut) = match next {
                None => (End::Nothing, text.len()),
                Some(next) => {
                    let end = word.at + word.text.len();
                    let gap = text.get(end..next.at).unwrap_or_default();
                    let next_class = class_of_next.unwrap_or_default();
                    (end_of(gap, class, next_class, kind), end + cut_of(gap))
                }
            };
            figure_before = word.form == Form::Figure && word.text.len() <= 4;
            let term = (weight > 0.0).then(|| (self.term(word.key, part), weight));
            self.keys.push(word.key);
            let content = term.is_some() && !class.is(Class::NEGATION);
            self.places.push(WordPlace { class, end_of, cut, content, term });
        }
        // "and" and "so" open a clause only if a subject follows.
        let classes = |places: &[WordPlace], at: usize| places.get(at).map(|place| place.class).unwrap_or_default();
        for before in 0..self.places.len().saturating_sub(2) {
            let joins = classes(&self.places, before + 1).is(Class::JOINS_SUBJECT);
            if joins
                && classes(&self.places, before + 2).is(Class::SUBJECT)
                && let Some(place) = self.places.get_mut(before)
            {
                place.end_of = place.end_of.max(End::Clause);
            }
        }
        bind_reversals(&mut self.places);
    }

    fn term(&mut self, key: u64, part: usize) -> usize {
        let next = self.units.terms.len();
        let number = *self.units.index.entry(key).or_insert(next);
        let terms = &mut self.units.terms;
        match terms.get_mut(number) {
            Some((parts, last)) if *last != part => {
                *parts += 1;
                *last = part;
            }
            Some(_) => {}
            None => terms.push((1, part)),
        }
        number
    }

    #[expect(clippy::too_many_arguments, reason = "one place makes units")]
    fn push(
        &mut self,
        places: &[WordPlace],
        open: &Open,
        end: usize,
        cut: usize,
        of: (usize, usize),
        text: &str,
        [asks, gap, quoted_whole]: [bool; 3],
    ) {
        let (segment, part) = of;
        let said = places.get(open.first..end).unwrap_or_default();
        let own = self.units.units.len();
        let from = open.from;
        let slice = text.get(from..cut).unwrap_or_default();
        let whole = cut == text.len();
        // A summary as a source contains omission signs.
        let solid = slice.trim_end();
        let asked = solid.strip_suffix("…?");
        let open_ended = asked.or_else(|| solid.strip_suffix('…'));
        let gap = gap || open_ended.is_some();
        let solid = open_ended.map_or(solid, |solid| solid.trim_end_matches([' ', ',', ';', ':']));
        let bag = self.units.bags.len();
        for term in said.iter().filter_map(|place| place.term) {
            let own = self.units.bags.get_mut(bag..).unwrap_or_default();
            // In the rare longer units a repeated term counts twice.
            match own.iter_mut().take(DISTINCT).find(|(known, _)| *known == term.0) {
                Some((_, weight)) => *weight = weight.max(term.1),
                None => self.units.bags.push(term),
            }
        }
        let keys = self.keys.get(open.first..end).unwrap_or_default();
        let end = if whole || gap { from + solid.len() } else { cut };
        self.units.units.push(Unit {
            segment,
            part,
            bytes: from..end.max(from),
            bare: if quoted_whole { from } else { bare(said, from, open.first == 0) },
            head: open.head.min(own),
            bound: open.bound,
            adrift: is_adrift(said, slice),
            opens: open.first == 0,
            ends: whole && !gap,
            closes: whole && !gap && stops(solid),
            whole: quoted_whole,
            gap,
            informative: said.iter().filter_map(|place| place.term).any(|(_, weight)| weight >= FIGURE),
            holds: quoted_whole
                || open.negated.is_some()
                || open.condition.is_some()
                || open.bound
                || open.reversed == Some(true),
            asks: asks || asked.is_some(),
            cues: cues(slice, keys),
            bag: bag..self.units.bags.len(),
        });
    }
}

#[derive(Default)]
struct Open {
    first: usize,
    from: usize,
    head: usize,
    bound: bool,
    words: usize,
    content: bool,
    /// True if the last word requires a complement.
    attitude: bool,
    /// Set after a negation: true once an informative word followed.
    negated: Option<bool>,
    /// Set within a condition: true while its main clause is still to come.
    condition: Option<bool>,
    /// Set after a contrast: true once a word took something back.
    reversed: Option<bool>,
}

impl Open {
    fn at(places: &[WordPlace], first: usize, from: usize, head: usize, bound: bool) -> Self {
        let opens = places.get(first).is_some_and(|place| place.class.is(Class::CONDITION));
        // "And if it rains, we stay": a condition after a filler also precedes its main clause.
        let second = places.get(first).is_some_and(|place| place.class.is(Class::FILLER))
            && places.get(first + 1).is_some_and(|place| place.class.is(Class::CONDITION));
        let condition = (opens || second).then_some(true);
        Self { first, from, head, bound, condition, ..Self::default() }
    }

    fn add(&mut self, place: &WordPlace) {
        self.words += 1;
        self.content |= place.content;
        if place.class.is(Class::NEGATION) {
            self.negated = Some(false);
        } else if let Some(says) = &mut self.negated {
            *says |= place.content;
        }
        // "I wonder if" introduces a question, not a condition.
        if place.class.is(Class::CONDITION) && self.condition.is_none() && !self.attitude {
            self.condition = Some(false);
        }
        if place.class.is(Class::CONTRAST) && self.words > 1 && self.reversed.is_none() {
            self.reversed = Some(false);
        } else if let Some(takes_back) = &mut self.reversed {
            *takes_back |= place.class.is(Class::REVERSAL);
        }
        self.attitude = place.class.is(Class::ATTITUDE);
    }

    /// `None` if the unit may not end after `place`; `true` if it may, but binds the next one.
    fn may_end(&mut self, place: &WordPlace, next: Class, near_condition: bool, words_after: usize) -> Option<bool> {
        if place.end_of == End::Gap {
            return Some(false);
        }
        if place.end_of == End::Nothing || self.words < 2 || words_after < 2 || !self.content {
            return None;
        }
        // "Note: …" is not informative alone, and the text after it is clearer with it.
        if place.end_of == End::Colon && self.words < LEAD {
            return None;
        }
        let clause = place.end_of >= End::Colon;
        let is_long = self.words >= LONGEST_BOND;
        if place.class.is(Class::LEADS_ON) || (place.class.is(Class::ATTITUDE) && !clause) {
            return None;
        }
        if is_long {
            let holds = self.negated.is_some() || self.condition.is_some() || near_condition;
            return Some(holds && !clause);
        }
        if self.negated.is_some_and(|says| !(clause && says)) || next.is(Class::CONDITION) {
            return None;
        }
        match &mut self.condition {
            Some(main_clause_is_due) if clause => {
                if std::mem::take(main_clause_is_due) {
                    None
                } else {
                    Some(false)
                }
            }
            Some(_) => None,
            None => (clause || !near_condition).then_some(false),
        }
    }
}

/// True if the text at the start of a segment, or after an omission, is a phrase whose head is missing.
fn is_adrift(said: &[WordPlace], text: &str) -> bool {
    let leads = said.first().is_some_and(|place| place.class.is(Class::PHRASE.or(Class::TO)));
    leads && text.trim_start().starts_with(char::is_lowercase)
}

/// Offset at which a unit begins if no unit is quoted before it.
fn bare(said: &[WordPlace], from: usize, opens: bool) -> usize {
    let mut start = from;
    for (number, place) in said.iter().enumerate() {
        let enough = said.len() - number > 2;
        let filler = if opens {
            place.class.is(Class::FILLER) || (place.class.is(Class::FILLER_WITH_COMMA) && place.end_of == End::Phrase)
        } else {
            number == 0 && place.class.is(Class::JOINS_SUBJECT)
        };
        if !filler || !enough {
            break;
        }
        start = place.cut;
    }
    start
}
