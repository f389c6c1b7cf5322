//! Writes chosen units with speakers' labels and omission signs.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::port::SummaryJob;

use super::{
    units::{Unit, Units, stops},
    verbs::asks,
};
use crate::{
    fit::fit,
    reading::{Reading, unsegmented},
    sections::SEPARATOR,
    words::words,
};

/// The sign of an omission.
const GAP: &str = " … ";

/// Sign after a truncated question.
const ASKS: &str = "…?";

/// Characters that are trimmed before an omission sign.
const LOOSE: [char; 13] = [' ', ',', ';', ':', '-', '–', '—', '(', '[', '"', '“', '|', '，'];

/// A unit that is quoted only in part, from its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) unit: usize,
    /// The end of the quotation in its segment.
    pub(super) end: usize,
}

#[derive(Debug)]
pub(super) struct Composer<'a> {
    reading: &'a Reading<'a>,
    units: &'a Units,
    /// The label of each part.
    names: &'a [String],
    /// For each part, the first part with the same label: numbers compare faster than text.
    speaker_ids: Vec<usize>,
    /// True if several messages are merged.
    merges: bool,
}

impl<'a> Composer<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, units: &'a Units, names: &'a [String], merges: bool) -> Self {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let speaker_ids = names.iter().enumerate().map(|(part, name)| *first.entry(name).or_insert(part)).collect();
        Self { reading, units, names, speaker_ids, merges }
    }

    /// The label of the part of `unit`.
    pub(super) fn name(&self, unit: usize) -> &str {
        self.units.get(unit).map_or("", |unit| self.name_of(unit))
    }

    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// The same number for units with the same label.
    pub(super) fn speaker_id(&self, unit: usize) -> Option<usize> {
        self.units.get(unit).and_then(|unit| self.speaker_ids.get(unit.part).copied())
    }

    pub(super) fn name_of(&self, unit: &Unit) -> &str {
        self.names.get(unit.part).map_or("", String::as_str)
    }

    /// Text of the `chosen` units, which must be in order; the unit of `cut` is truncated.
    pub(super) fn write(&self, chosen: &[usize], cut: Option<Cut>) -> String {
        let bytes = chosen.iter().filter_map(|&unit| self.units.get(unit)).map(|unit| unit.bytes.len() + GAP.len());
        let mut text = String::with_capacity(bytes.sum());
        let mut last: Option<usize> = None;
        let is_cut = |unit: usize| cut.is_some_and(|cut| cut.unit == unit);
        for run in chosen.chunk_by(|before, after| self.units.join(*before, *after) && !is_cut(*before)) {
            let (Some(&first), Some(&end)) = (run.first(), run.last()) else { continue };
            let opens = self.units.get(first).is_some_and(|unit| unit.opens);
            match last {
                None => self.begin(first, opens, &mut text),
                Some(before) if self.speaker_id(before) != self.speaker_id(first) => {
                    self.end_speaker(before, is_cut(before), &mut text);
                    text.push_str(SEPARATOR);
                    self.begin(first, opens, &mut text);
                }
                Some(before) => {
                    let same = self.units.same_sentence(before, first);
                    let gap = !self.end(before, is_cut(before), opens, same, &mut text);
                    text.push_str(if gap { GAP } else { " " });
                }
            }
            self.push(run, cut, &mut text);
            last = Some(end);
        }
        if let Some(last) = last {
            self.end_speaker(last, is_cut(last), &mut text);
        }
        text
    }

    /// Begins a quotation of another speaker.
    fn begin(&self, first: usize, opens: bool, text: &mut String) {
        text.push_str(self.name(first));
        if !opens {
            text.push_str(GAP.trim_start());
        }
    }

    /// Ends a speaker's quotation after `unit`.
    fn end_speaker(&self, unit: usize, is_cut: bool, text: &mut String) {
        let seen = self.end(unit, is_cut, false, false, text);
        let ends = !is_cut && self.units.get(unit).is_some_and(|unit| unit.ends);
        if !ends && !seen {
            text.push_str(GAP.trim());
        }
    }

    /// Ends the quotation after `unit`; returns true if a reader sees the end.
    fn end(&self, unit: usize, is_cut: bool, next_opens: bool, goes_on: bool, text: &mut String) -> bool {
        let Some(unit) = self.units.get(unit) else { return false };
        let closes = unit.closes && !unit.gap && !is_cut;
        let cut = unit.asks && !closes && !goes_on && (!self.merges || self.asks(unit));
        if closes {
            return next_opens || unit.asks;
        }
        let solid = text.trim_end_matches(LOOSE).len();
        text.truncate(solid);
        if cut && !text.ends_with('?') {
            text.push_str(ASKS);
        }
        cut
    }

    /// True if the clause up to `unit` is itself a question. "I met Ben in Ghent, can you write to him?" begins with a
    /// statement, which may be quoted without the question in a merged summary.
    fn asks(&self, unit: &Unit) -> bool {
        let from =
            self.units.get(unit.head).filter(|head| head.segment == unit.segment).map_or(unit.bare, |head| head.bare);
        let segment = self.reading.segments.get(unit.segment);
        let said = segment.and_then(|segment| segment.text.get(from..unit.bytes.end)).unwrap_or_default();
        said.trim_end().ends_with('?') || words(said).enumerate().any(|(at, word)| asks(word.text, at == 0))
    }

    /// Appends consecutive units.
    fn push(&self, run: &[usize], cut: Option<Cut>, text: &mut String) {
        let begin = text.len();
        let mut segment = None;
        for (index, unit) in run.iter().filter_map(|&unit| Some((unit, self.units.get(unit)?))) {
            let Some(of) = self.reading.segments.get(unit.segment) else { continue };
            let from = if segment.is_none() { unit.bare } else { unit.bytes.start };
            if segment.is_some_and(|before| before != unit.segment) {
                let ended = stops(text) || text.ends_with([',', ':', ';', '，', '、']);
                let solid = text.trim_end().len();
                text.truncate(solid);
                text.push_str(if ended { " " } else { "; " });
            }
            let end = cut.filter(|cut| cut.unit == index).map_or(unit.bytes.end, |cut| cut.end);
            text.push_str(of.text.get(from..end).unwrap_or_default());
            segment = Some(unit.segment);
        }
        balance(begin, text);
        let solid = text.trim_end().len();
        text.truncate(solid);
    }

    /// Beginning of the most informative unit if no unit fits whole; only an omission sign if no unit may be truncated.
    pub(super) fn cut(&self, job: &SummaryJob<'_>, reading: &Reading<'_>) -> String {
        let best = self.units.iter().filter(|(_, unit)| !unit.whole).max_by(|(a, _), (b, _)| {
            let worth = |unit: usize| self.units.bag(unit).iter().map(|(_, weight)| weight).sum::<f32>();
            worth(*a).total_cmp(&worth(*b)).then(b.cmp(a))
        });
        let Some((index, unit)) = best else { return self.omitted(job) };
        let whole = reading.segments.get(unit.segment).map_or("", |segment| segment.text.as_str());
        let said = whole.get(unit.bare..).unwrap_or(whole);
        for name in [self.name(index), ""] {
            let named = format!("{name}{said}");
            let text = fit(&named, job.max_tokens, job.counter);
            let is_informative = text.trim_end_matches('…').trim_end().len() > name.trim_end().len();
            if is_informative && !text.trim().is_empty() {
                return asking(unit, text, job);
            }
        }
        unsegmented(job)
    }

    /// The first speaker's label with the sign of an omission, or as much as fits.
    fn omitted(&self, job: &SummaryJob<'_>) -> String {
        let sign = GAP.trim();
        let named = self.names.first().map(|name| format!("{name}{sign}"));
        let fits = |text: &String| job.counter.count(text) <= job.max_tokens;
        named.into_iter().chain([sign.to_owned(), ".".to_owned()]).find(fits).unwrap_or_default()
    }
}

/// Appends the sign of a truncated question to `text`, if the unit is a question and the sign fits.
fn asking(unit: &Unit, text: String, job: &SummaryJob<'_>) -> String {
    if !unit.asks || text.contains('?') {
        return text;
    }
    let asking = format!("{}{ASKS}", text.trim_end_matches('…'));
    if job.counter.count(&asking) <= job.max_tokens { asking } else { text }
}

/// Removes an unbalanced bracket or quotation mark at either end of the text after `begin`.
fn balance(begin: usize, text: &mut String) {
    // Fast path: most runs have neither; “ and ” begin with byte 0xe2.
    let may_open = |byte: u8| matches!(byte, b'(' | b')' | b'[' | b']' | b'"' | 0xe2);
    if !text.bytes().skip(begin).any(may_open) {
        return;
    }
    for (open, close) in [('(', ')'), ('[', ']'), ('“', '”'), ('"', '"')] {
        let said = text.get(begin..).unwrap_or_default();
        let (opened, closed) = (said.matches(open).count(), said.matches(close).count());
        let odd = if open == close { opened % 2 == 1 } else { opened != closed };
        if !odd {
            continue;
        }
        let solid = said.trim_end_matches([' ', '.', ',', ';', ':', '!', '?']);
        if (open == close || opened > closed) && said.starts_with(open) {
            text.replace_range(begin..begin + open.len_utf8(), "");
        } else if (open == close || closed > opened) && solid.ends_with(close) {
            let at = begin + solid.len() - close.len_utf8();
            text.replace_range(at..at + close.len_utf8(), "");
        }
    }
}
