//! Summarizes by the sentences that say most.

use memory_core::{BoxFuture, Level, SummarizeError, Summarizer, SummaryJob, WrittenBy, WrittenSummary};

use crate::{
    cues::Cues,
    fit::fit,
    keywords,
    reading::{Reading, shortened, unsegmented},
    sections::KEYWORDS,
    segments::Segment,
    select::{Limits, select},
    sentences::closes,
    terms::{at_least_one, to_f32},
    themes, topic_line,
};

/// Summarizes by whole sentences of the sources, chosen for what they tell per token, and by keywords of everything else:
/// `We decided to ship version 2.4. … Priya hall in Ghent, 1,850 euros`.
///
/// A sentence tells its words, weighed by tf-idf over the sources; figures and names weigh more, and so do
/// sentences that announce a decision, a promise, a preference, an error or its fix. What one sentence tells, the next
/// is not paid for. Sentences are quoted, never rewritten, apart from their markup, and stand in the order in which they
/// were said. Names, figures and rare words of what no sentence tells stand behind `…`, as many as fit, in their order
/// too, those of two sentences parted by `;`; a message whose best sentence is too long is told by keywords alone, unless
/// that decides something: then it begins with the beginning of that. The work is linear in the text (one pass, no
/// comparison of sentences by pairs), and all of it is read.
///
/// - SUMMARY: at most two sentences, in half of the tokens; one that announces a decision may take nine tenths.
/// - META, ARCHIVE: as [`ThemeMerger`](crate::ThemeMerger).
///
/// The greedy choice by value per cost under a budget is that of Lin and Bilmes, "Multi-document summarization via
/// budgeted maximization of submodular functions" (2010). The share of sentences is where evaluation data of three kinds
/// keeps most: `cargo xtask eval --summaries`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

/// "One or two sentences a node."
const SENTENCES_OF_SUMMARY: usize = 2;

/// The part of the tokens that sentences may take, and the part that the best one may take where it decides something.
const SENTENCES: f32 = 0.5;
const DECISION: f32 = 0.9;

impl Summarizer for Extractive {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "extractive".into(), version: "3".into() }
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl Extractive {
    /// Writes the summary at once.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let reading = Reading::of(job);
        let metadata = reading.metadata();
        let text = if reading.segments.is_empty() {
            unsegmented(job)
        } else if job.level >= Level::Meta {
            themes::merge(job, &reading, &topic_line::prefix(&metadata.topics, job))
        } else {
            compose(job, &reading)
        };
        WrittenSummary { text, metadata }
    }
}

/// The sentences that say most, as many as may be, in the order in which they were said, and keywords of everything else.
fn compose(job: &SummaryJob<'_>, reading: &Reading<'_>) -> String {
    let mut kept = match sentences(job, reading) {
        Sentences::Whole(kept) => kept,
        Sentences::Begin(decision) => {
            return begun(job, reading, decision).unwrap_or_else(|| shortened(job, reading));
        }
    };
    loop {
        let mut ordered = kept.clone();
        ordered.sort_unstable();
        let mut text = String::new();
        push_joined(&reading.segments, ordered.into_iter(), &mut text);
        let mark = if kept.is_empty() { "" } else { KEYWORDS };
        let ranked = keywords::ranked(reading, &keywords::told(reading, &kept));
        match keywords::fill(job, reading, &ranked, &text, mark) {
            Some(text) if !text.is_empty() => return text,
            // What the parts cost by themselves is not quite what they cost together: the least of them goes.
            _ if kept.pop().is_some() => {}
            _ => return shortened(job, reading),
        }
    }
}

/// What is quoted.
enum Sentences {
    /// These segments whole, best first.
    Whole(Vec<usize>),
    /// The beginning of this one, which is too long.
    Begin(usize),
}

/// What to quote in a summary.
fn sentences(job: &SummaryJob<'_>, reading: &Reading<'_>) -> Sentences {
    let room = to_f32(job.max_tokens);
    let limits = Limits { tokens: room * SENTENCES, segments: SENTENCES_OF_SUMMARY, thrift: 0.5 };
    let (mut kept, mut left) = (Vec::new(), limits.tokens);
    for pick in select(reading.candidates(), &reading.terms, limits) {
        let cost = reading.segments.get(pick).map_or(0.0, |segment| to_f32(job.counter.count(&segment.text)));
        let decides = kept.is_empty() && reading.terms.cues(pick).has(Cues::DECISION);
        if cost <= left || (decides && cost <= room * DECISION) {
            left -= cost;
            kept.push(pick);
        } else if decides {
            return Sentences::Begin(pick);
        } else {
            // A lesser sentence must not stand for the one that says most: its keywords do.
            break;
        }
    }
    Sentences::Whole(kept)
}

/// The beginning of the segment `decision`, and keywords of everything else; nothing where no word of it fits.
fn begun(job: &SummaryJob<'_>, reading: &Reading<'_>, decision: usize) -> Option<String> {
    let whole = reading.segments.get(decision).map_or("", |segment| segment.text.as_str());
    let cut = fit(whole, at_least_one(to_f32(job.max_tokens) * DECISION), job.counter);
    let begin = cut.trim_end_matches('…');
    let within = keywords::told_within(reading, decision, begin.len());
    // "I decided to" does not say what.
    if within.iter().filter(|told| **told).count() < 2 {
        return keywords::fill(job, reading, &keywords::ranked(reading, &[]), "", "").filter(|text| !text.is_empty());
    }
    let ranked = keywords::ranked(reading, &within);
    let text = keywords::fill(job, reading, &ranked, begin, KEYWORDS)?;
    Some(if text.len() > begin.len() { text } else { cut })
}

/// Appends segments to `text`, parted from each other.
pub(crate) fn push_joined(segments: &[Segment], kept: impl Iterator<Item = usize>, text: &mut String) {
    for (number, segment) in kept.filter_map(|index| segments.get(index)).enumerate() {
        if number > 0 {
            text.push_str(separator(text));
        }
        text.push_str(&segment.text);
    }
}

/// What goes between `before` and the next segment.
fn separator(before: &str) -> &'static str {
    let ended = before
        .trim_end_matches(closes)
        .ends_with(['.', '!', '?', '…', ':', ';', ',', '{', '。', '！', '？', '।', '؟', '۔']);
    if ended { " " } else { "; " }
}

#[cfg(test)]
mod tests;
