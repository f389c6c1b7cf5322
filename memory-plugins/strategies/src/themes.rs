//! The theme merger, which merges summaries by topics, decisions and open questions.

use memory_core::{BoxFuture, Level, SummarizeError, Summarizer, SummaryJob, WrittenBy, WrittenSummary};

use crate::{
    cues::Cues,
    extractive::push_joined,
    keywords,
    reading::{Reading, shortened, unsegmented},
    sections::{SEPARATOR, Section},
    select::{Limits, select},
    terms::to_f32,
    topic_line,
};

/// Summarizes by topics, informative sentences, decisions and open questions.
///
/// `topics: a, b; What was told. | decided: What was decided. | open: What was asked? | also: names, figures`. Empty
/// sections are omitted, and a SUMMARY, which is of one message, has no topics. Sentences are quoted whole in half of
/// the tokens, and keywords of everything else fill the rest, so that facts outlast their sentences. An ARCHIVE reads
/// the sections of its METAs: decisions stay decisions.
///
/// A question is open if no later source repeats half of its informative words.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThemeMerger;

/// The share of the tokens that sentences may take.
const SENTENCES: f32 = 0.5;

/// The shares of that which decisions and open questions may take before other sentences.
const DECIDED: f32 = 0.4;
const OPEN: f32 = 0.25;

impl Summarizer for ThemeMerger {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("themes", "3")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl ThemeMerger {
    /// Writes the summary synchronously.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let reading = Reading::of(job);
        let metadata = reading.metadata();
        if reading.segments.is_empty() {
            return WrittenSummary::new(unsegmented(job)).metadata(metadata);
        }
        let lead = if job.level >= Level::Meta { topic_line::prefix(&metadata.topics, job) } else { String::new() };
        WrittenSummary::new(merge(job, &reading, &lead)).metadata(metadata)
    }
}

/// The summary after `lead`.
pub(crate) fn merge(job: &SummaryJob<'_>, reading: &Reading<'_>, lead: &str) -> String {
    let sections: Vec<_> = (0..reading.segments.len()).map(|segment| section(reading, segment)).collect();
    let section_of = |segment: usize| sections.get(segment).copied().unwrap_or(Section::Body);
    let tokens = to_f32(job.max_tokens.saturating_sub(job.counter.count(lead))) * SENTENCES;
    let candidates = reading.candidates();
    let best = |part: f32, wanted: &dyn Fn(usize) -> bool| {
        let candidates = candidates.iter().copied().filter(|candidate| wanted(candidate.segment)).collect();
        select(candidates, &reading.terms, Limits { tokens: tokens * part, segments: usize::MAX, thrift: 1.0 })
    };
    let mut picks = best(DECIDED, &|segment| section_of(segment) == Section::Decided);
    picks.extend(best(OPEN, &|segment| section_of(segment) == Section::Open));
    picks.extend(best(1.0, &|segment| section_of(segment) == Section::Body && !asks(reading, segment)));
    // The best pick may exceed the share of sentences; keywords then use the tokens better.
    let mut kept: Vec<usize> = Vec::new();
    let mut left = tokens;
    for pick in picks {
        let cost = reading.segments.get(pick).map_or(0.0, |segment| to_f32(job.counter.count(&segment.text)));
        if cost <= left {
            left -= cost;
            kept.push(pick);
        }
    }
    loop {
        let ranked = keywords::ranked(reading, &keywords::covered(reading, &kept));
        let text = compose(reading, lead, &kept, section_of);
        let mark = if text.len() > lead.len() { format!("{SEPARATOR}{}", Section::Also.mark()) } else { String::new() };
        match keywords::fill(job, reading, &ranked, &text, &mark) {
            Some(text) if text.len() > lead.len() => return text,
            // The parts together may cost more than the sum of their costs: drop the least valuable.
            _ if kept.pop().is_some() => {}
            _ => break,
        }
    }
    shortened(job, reading)
}

fn asks(reading: &Reading<'_>, segment: usize) -> bool {
    reading.terms.cues(segment).has(Cues::QUESTION)
}

/// The section of a segment.
fn section(reading: &Reading<'_>, segment: usize) -> Section {
    let source = reading.segments.get(segment).map_or(0, |of| of.source);
    match reading.section(segment) {
        // An ARCHIVE may contain an answer that came after the META.
        Section::Open if !reading.terms.are_taken_up_after(segment, source) => Section::Open,
        Section::Decided => Section::Decided,
        Section::Also => Section::Also,
        Section::Body | Section::Open => {
            if asks(reading, segment) && !reading.terms.are_taken_up_after(segment, source) {
                Section::Open
            } else if reading.terms.cues(segment).has(Cues::DECISION) && reading.terms.of_segment(segment).len() > 1 {
                // "I decided to" alone does not name the decision.
                Section::Decided
            } else {
                Section::Body
            }
        }
    }
}

/// `lead` and the segments by section, each in its original order.
fn compose(reading: &Reading<'_>, lead: &str, kept: &[usize], section_of: impl Fn(usize) -> Section) -> String {
    let mut ordered = kept.to_vec();
    ordered.sort_unstable();
    let mut text = lead.to_owned();
    for section in Section::ALL {
        let mut of_section = ordered.iter().copied().filter(|&segment| section_of(segment) == section).peekable();
        if of_section.peek().is_some() {
            if text.len() > lead.len() {
                text.push_str(SEPARATOR);
            }
            text.push_str(section.mark());
            push_joined(&reading.segments, of_section, &mut text);
        }
    }
    text
}

#[cfg(test)]
mod tests;
