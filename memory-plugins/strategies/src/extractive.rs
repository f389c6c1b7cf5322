//! Summarizes by the sentences that say most.

use memory_core::{BoxFuture, Level, SummarizeError, Summarizer, SummaryJob, WrittenBy, WrittenSummary};

use crate::{
    fit::fit,
    reading::{Reading, unsegmented},
    segments::Segment,
    select::{Limits, select},
    sentences::closes,
    terms::to_f32,
    topic_line,
};

/// Summarizes by whole sentences of the sources, in their order, chosen for what they tell per token.
///
/// A sentence tells its words, weighed by tf-idf over the sources; figures and names weigh more, and so do
/// sentences that announce a decision, a promise, a preference, an error or its fix. What one sentence tells, the next
/// is not paid for. Sentences are quoted, never rewritten, apart from their markup. The work is linear in the text
/// (one pass, no comparison of sentences by pairs), and all of it is read.
///
/// - SUMMARY: at most two sentences.
/// - META, ARCHIVE: `topics: a, b, c; ` and as many sentences as fit.
///
/// The greedy choice by value per cost under a budget is that of Lin and Bilmes, "Multi-document summarization via
/// budgeted maximization of submodular functions" (2010).
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

/// "One or two sentences a node."
const SENTENCES_OF_SUMMARY: usize = 2;

impl Summarizer for Extractive {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "extractive".into(), version: "1".into() }
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
        } else {
            let picks = select(reading.candidates(), &reading.terms, limits(job));
            let lead = if job.level >= Level::Meta { topic_line::prefix(&metadata.topics, job) } else { String::new() };
            compose(job, &reading.segments, &picks, &lead)
        };
        WrittenSummary { text, metadata }
    }
}

fn limits(job: &SummaryJob<'_>) -> Limits {
    // Costs are estimated while choosing; a little too much is offered, and what fits is kept.
    let tokens = to_f32(job.max_tokens) * 1.15;
    if job.level >= Level::Meta {
        Limits { tokens, segments: usize::MAX, thrift: 1.0 }
    } else {
        Limits { tokens, segments: SENTENCES_OF_SUMMARY + 2, thrift: 0.5 }
    }
}

/// Joins the picks, best first as long as they fit, in the order in which they were said.
fn compose(job: &SummaryJob<'_>, segments: &[Segment], picks: &[usize], lead: &str) -> String {
    let most = if job.level >= Level::Meta { usize::MAX } else { SENTENCES_OF_SUMMARY };
    let fits = |text: &str| job.counter.count(text) <= job.max_tokens;
    let mut left = job.max_tokens.saturating_sub(job.counter.count(lead));
    let mut kept: Vec<usize> = Vec::new();
    for &pick in picks {
        let cost = segments.get(pick).map_or(0, |segment| job.counter.count(&segment.text));
        if kept.len() < most && cost <= left {
            left -= cost;
            kept.push(pick);
        }
    }
    // Parts and whole differ by what the counter makes of the seams: the last and least go until the whole fits.
    while !kept.is_empty() {
        let mut ordered = kept.clone();
        ordered.sort_unstable();
        let text = join(lead, segments, &ordered);
        if fits(&text) {
            return text;
        }
        kept.pop();
    }
    // Not even one fits whole: the best one is shortened.
    let best = picks.first().and_then(|&pick| segments.get(pick)).map_or("", |segment| segment.text.as_str());
    let cut = fit(best, job.max_tokens, job.counter);
    if cut.trim().is_empty() { unsegmented(job) } else { cut }
}

fn join(lead: &str, segments: &[Segment], kept: &[usize]) -> String {
    let mut text = lead.to_owned();
    push_joined(segments, kept.iter().copied(), &mut text);
    text
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
