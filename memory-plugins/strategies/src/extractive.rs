//! The extractive summarizer.

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

/// Summarizes by the most informative whole sentences per token, and by keywords of everything else: `We decided to
/// ship version 2.4. … Priya hall in Ghent, 1,850 euros`.
///
/// The value of a sentence is that of its words, weighted by tf-idf over the sources; figures and names weigh more, and
/// so do sentences with a decision, a promise, a preference, an error or its fix. A word counts only in the first
/// sentence that has it. Sentences are quoted, never rewritten, apart from their markup, and stay in their original
/// order. Names, figures and rare words of the other sentences follow after `…`, as many as fit, in their order too,
/// those of two sentences separated by `;`. A message whose best sentence is too long is summarized by keywords alone,
/// unless that sentence is a decision: then the summary begins with the beginning of it. The work is linear in the text
/// (one pass, no pairwise comparison of sentences), and all of it is read.
///
/// - SUMMARY: at most two sentences, in half of the tokens; a decision may take nine tenths.
/// - META, ARCHIVE: as [`ThemeMerger`](crate::ThemeMerger).
///
/// The greedy choice by value per cost under a budget is that of Lin and Bilmes, "Multi-document summarization via
/// budgeted maximization of submodular functions" (2010). The share of sentences is the best over three kinds of
/// evaluation data: `cargo xtask eval --summaries`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

/// Maximum sentences of a SUMMARY.
const SENTENCES_OF_SUMMARY: usize = 2;

/// The share of the tokens that sentences may take, and the share for the best one if it is a decision.
const SENTENCES: f32 = 0.5;
const DECISION: f32 = 0.9;

impl Summarizer for Extractive {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("extractive", "4")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl Extractive {
    /// Writes the summary synchronously.
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
        WrittenSummary::new(text).metadata(metadata)
    }
}

/// The most informative sentences, as many as allowed, in their original order, and keywords of everything else.
fn compose(job: &SummaryJob<'_>, reading: &Reading<'_>) -> String {
    let mut kept = match sentences(job, reading) {
        Quotation::Whole(kept) => kept,
        Quotation::Begin(decision) => {
            return begun(job, reading, decision).unwrap_or_else(|| shortened(job, reading));
        }
    };
    loop {
        let mut ordered = kept.clone();
        ordered.sort_unstable();
        let mut text = String::new();
        push_joined(&reading.segments, ordered.into_iter(), &mut text);
        let mark = if kept.is_empty() { "" } else { KEYWORDS };
        let ranked = keywords::ranked(reading, &keywords::covered(reading, &kept));
        let ranked = keywords::question_first(job, reading, &kept, ranked);
        match keywords::fill(job, reading, &ranked, &text, mark) {
            Some(text) if !text.is_empty() => return text,
            // The parts together may cost more than the sum of their costs: drop the least valuable.
            _ if kept.pop().is_some() => {}
            _ => return shortened(job, reading),
        }
    }
}

/// The sentences that a summary quotes.
enum Quotation {
    /// These segments whole, best first.
    Whole(Vec<usize>),
    /// The beginning of this segment, which is too long.
    Begin(usize),
}

/// Selects the sentences to quote.
fn sentences(job: &SummaryJob<'_>, reading: &Reading<'_>) -> Quotation {
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
            return Quotation::Begin(pick);
        } else {
            // A lesser sentence must not replace the most informative one; keywords represent it.
            break;
        }
    }
    Quotation::Whole(kept)
}

/// The beginning of the segment `decision`, and keywords of everything else; `None` if no word of it fits.
fn begun(job: &SummaryJob<'_>, reading: &Reading<'_>, decision: usize) -> Option<String> {
    let whole = reading.segments.get(decision).map_or("", |segment| segment.text.as_str());
    let cut = fit(whole, at_least_one(to_f32(job.max_tokens) * DECISION), job.counter);
    let begin = cut.trim_end_matches('…');
    let within = keywords::covered_within(reading, decision, begin.len());
    // "I decided to" alone does not name the decision.
    if within.iter().filter(|covered| **covered).count() < 2 {
        return keywords::fill(job, reading, &keywords::ranked(reading, &[]), "", "").filter(|text| !text.is_empty());
    }
    let ranked = keywords::question_first(job, reading, &[decision], keywords::ranked(reading, &within));
    let text = keywords::fill(job, reading, &ranked, begin, KEYWORDS)?;
    Some(if text.len() > begin.len() { text } else { cut })
}

/// Appends segments to `text` with separators.
pub(crate) fn push_joined(segments: &[Segment], kept: impl Iterator<Item = usize>, text: &mut String) {
    for (number, segment) in kept.filter_map(|index| segments.get(index)).enumerate() {
        if number > 0 {
            text.push_str(separator(text));
        }
        text.push_str(&segment.text);
    }
}

/// The separator between `before` and the next segment.
fn separator(before: &str) -> &'static str {
    let ended = before
        .trim_end_matches(closes)
        .ends_with(['.', '!', '?', '…', ':', ';', ',', '{', '。', '！', '？', '।', '؟', '۔']);
    if ended { " " } else { "; " }
}

#[cfg(test)]
mod tests;
