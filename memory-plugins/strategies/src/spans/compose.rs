//! Writes chosen sentences with speakers' labels.

use std::collections::BTreeMap;

use memory_core::port::SummaryJob;

use super::speakers::is_named;
use crate::{reading::Reading, sections::SEPARATOR, sentences::closes};

/// The sign of an omission.
pub(super) const SIGN: &str = "…";

#[derive(Debug)]
pub(super) struct Composer<'a> {
    reading: &'a Reading<'a>,
    /// The label of each part.
    names: &'a [String],
    /// For each part, the first part with the same label: numbers compare faster than text.
    speaker_ids: Vec<usize>,
    /// The part of each segment.
    parts: Vec<usize>,
}

impl<'a> Composer<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, names: &'a [String]) -> Self {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let speaker_ids = names.iter().enumerate().map(|(part, name)| *first.entry(name).or_insert(part)).collect();
        let mut parts = Vec::with_capacity(reading.segments.len());
        for (part, _) in names.iter().enumerate() {
            let end = reading.parts.get(part + 1).copied().unwrap_or(reading.segments.len());
            parts.resize(end.max(parts.len()), part);
        }
        Self { reading, names, speaker_ids, parts }
    }

    /// The part of a segment.
    pub(super) fn part(&self, segment: usize) -> usize {
        self.parts.get(segment).copied().unwrap_or_default()
    }

    /// The label of a segment's speaker.
    pub(super) fn name(&self, segment: usize) -> &str {
        self.names.get(self.part(segment)).map_or("", String::as_str)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.speaker_ids
            .iter()
            .enumerate()
            .filter(|(part, id)| part == *id)
            .filter_map(|(part, _)| self.names.get(part).map(String::as_str))
    }

    /// The same number for segments with the same label.
    pub(super) fn speaker_id(&self, segment: usize) -> Option<usize> {
        self.speaker_ids.get(self.part(segment)).copied()
    }

    /// Text of the `chosen` segments, which must be in order.
    pub(super) fn write(&self, chosen: &[usize]) -> String {
        let text_of = |segment: &usize| self.reading.segments.get(*segment).map_or("", |segment| segment.text.as_str());
        let mut text = String::with_capacity(chosen.iter().map(|segment| text_of(segment).len() + 16).sum());
        let mut last: Option<usize> = None;
        for &segment in chosen {
            match last {
                None => text.push_str(self.name(segment)),
                Some(before) if self.speaker_id(before) != self.speaker_id(segment) => {
                    text.push_str(SEPARATOR);
                    text.push_str(self.name(segment));
                }
                // Sentences of two messages would pass for one statement.
                Some(before) if self.part(before) != self.part(segment) => {
                    text.push_str(SEPARATOR);
                    if is_named(text_of(&segment)) {
                        text.push_str(self.name(segment));
                    }
                }
                // Items of a list have no stop of their own.
                Some(_) => text.push_str(if stops(&text) { " " } else { "; " }),
            }
            // A separator within a sentence would pass for another speaker.
            text.push_str(&text_of(&segment).replace(SEPARATOR, " / "));
            last = Some(segment);
        }
        text
    }

    /// The beginning of a segment's sentence, after its speaker's label.
    pub(super) fn write_beginning(&self, segment: usize, beginning: &str) -> String {
        format!("{}{}", self.name(segment), beginning.replace(SEPARATOR, " / "))
    }

    /// The first speaker's label with the sign of an omission, or as much as fits; `None` if nobody said anything.
    pub(super) fn omitted(&self, job: &SummaryJob<'_>) -> Option<String> {
        if job.sources.iter().all(|source| source.text.trim().is_empty()) {
            return None;
        }
        let named = self.names.first().map(|name| format!("{name}{SIGN}"));
        let fits = |text: &String| job.counter.count(text) <= job.max_tokens;
        named.into_iter().chain([SIGN.to_owned(), ".".to_owned()]).find(fits)
    }
}

/// True if a text ends with a mark, after which a blank is enough.
pub(super) fn stops(text: &str) -> bool {
    let marks = ['.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔', '｡', '．', ':', '：', ',', ';'];
    text.trim_end_matches(closes).ends_with(marks)
}
