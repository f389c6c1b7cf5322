//! Merges summaries by their themes, decisions and open questions.

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

/// Writes what the sources are about, what was told and decided, and what is still open.
///
/// `topics: a, b; What was told. | decided: What was decided. | open: What was asked? | also: names, figures`. A section
/// that has nothing is left out, and a SUMMARY, being of one message, has no topics. Sentences are quoted whole; half of
/// the tokens go to them, and keywords of everything else fill what is left, so that facts outlast their sentences. An
/// ARCHIVE reads the sections of its METAs: what was decided stays a decision.
///
/// A question is open when no later source says half of its telling words again.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThemeMerger;

/// The part of the tokens that sentences may take.
const SENTENCES: f32 = 0.5;

/// The parts of that which decisions and open questions may take before anything else is told.
const DECIDED: f32 = 0.4;
const OPEN: f32 = 0.25;

impl Summarizer for ThemeMerger {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "themes".into(), version: "3".into() }
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl ThemeMerger {
    /// Writes the summary at once.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let reading = Reading::of(job);
        let metadata = reading.metadata();
        if reading.segments.is_empty() {
            return WrittenSummary { text: unsegmented(job), metadata };
        }
        let lead = if job.level >= Level::Meta { topic_line::prefix(&metadata.topics, job) } else { String::new() };
        WrittenSummary { text: merge(job, &reading, &lead), metadata }
    }
}

/// The summary behind `lead`.
pub(crate) fn merge(job: &SummaryJob<'_>, reading: &Reading<'_>, lead: &str) -> String {
    let sections: Vec<_> = (0..reading.segments.len()).map(|segment| section(reading, segment)).collect();
    let section_of = |segment: usize| sections.get(segment).copied().unwrap_or(Section::Told);
    let tokens = to_f32(job.max_tokens.saturating_sub(job.counter.count(lead))) * SENTENCES;
    let candidates = reading.candidates();
    let best = |part: f32, wanted: &dyn Fn(usize) -> bool| {
        let candidates = candidates.iter().copied().filter(|candidate| wanted(candidate.segment)).collect();
        select(candidates, &reading.terms, Limits { tokens: tokens * part, segments: usize::MAX, thrift: 1.0 })
    };
    let mut picks = best(DECIDED, &|segment| section_of(segment) == Section::Decided);
    picks.extend(best(OPEN, &|segment| section_of(segment) == Section::Open));
    picks.extend(best(1.0, &|segment| section_of(segment) == Section::Told && !asks(reading, segment)));
    // The best pick may be longer than all that sentences may take; keywords do more with what there is then.
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
        let ranked = keywords::ranked(reading, &keywords::told(reading, &kept));
        let text = compose(reading, lead, &kept, section_of);
        let mark = if text.len() > lead.len() { format!("{SEPARATOR}{}", Section::Also.mark()) } else { String::new() };
        match keywords::fill(job, reading, &ranked, &text, &mark) {
            Some(text) if text.len() > lead.len() => return text,
            // What the parts cost by themselves is not quite what they cost together: the least of them goes.
            _ if kept.pop().is_some() => {}
            _ => break,
        }
    }
    shortened(job, reading)
}

fn asks(reading: &Reading<'_>, segment: usize) -> bool {
    reading.terms.cues(segment).has(Cues::QUESTION)
}

/// Where a segment belongs.
fn section(reading: &Reading<'_>, segment: usize) -> Section {
    let source = reading.segments.get(segment).map_or(0, |of| of.source);
    match reading.section(segment) {
        // An ARCHIVE may know what a META could not: that the question was taken up later.
        Section::Open if !reading.terms.are_taken_up_behind(segment, source) => Section::Open,
        Section::Decided => Section::Decided,
        Section::Also => Section::Also,
        Section::Told | Section::Open => {
            if asks(reading, segment) && !reading.terms.are_taken_up_behind(segment, source) {
                Section::Open
            } else if reading.terms.cues(segment).has(Cues::DECISION) && reading.terms.of_segment(segment).len() > 1 {
                // "I decided to" does not say what.
                Section::Decided
            } else {
                Section::Told
            }
        }
    }
}

/// `lead` and the segments, section by section, each in the order in which it was said.
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
