//! The strategy of last resort: the first words of the sources.

use crate::{
    SummaryMetadata, WrittenBy,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, TokenCounter, WrittenSummary},
};

/// Summarizes by the first eight words of each source, as many sources as fit.
///
/// The strategy has no dependencies and cannot fail, so a summarizer is always available.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstWords;

const WORDS: usize = 8;

impl Summarizer for FirstWords {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "first-words".into(), version: "1".into() }
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(Self::write(&job)) })
    }
}

impl FirstWords {
    /// Writes the summary, synchronously.
    #[must_use]
    pub fn write(job: &SummaryJob<'_>) -> WrittenSummary {
        let mut text = String::new();
        for source in job.sources {
            let head = head(&source.text);
            if head.is_empty() {
                continue;
            }
            let separator = if text.is_empty() { "" } else { " / " };
            let longer = format!("{text}{separator}{head}");
            if job.counter.count(&longer) > job.max_tokens {
                if text.is_empty() {
                    text = fit(&head, job.max_tokens, job.counter);
                }
                break;
            }
            text = longer;
        }
        WrittenSummary::new(text).metadata(merged_metadata(job))
    }
}

/// The first words of a text, followed by `…` if there are more. In languages written without spaces a "word" may be a
/// paragraph, so the result is also limited to 16 characters a word.
fn head(text: &str) -> String {
    let mut words = text.split_whitespace();
    let first: Vec<_> = words.by_ref().take(WORDS).collect();
    let mut head = first.join(" ");
    let mut cut = words.next().is_some();
    if let Some((end, _)) = head.char_indices().nth(WORDS * 16) {
        head.truncate(end);
        cut = true;
    }
    if cut {
        head.push('…');
    }
    head
}

/// Longest beginning of `text` that costs at most `max_tokens`, cut between two characters; empty only if `text` is
/// empty or not even one character fits.
fn fit(text: &str, max_tokens: u32, counter: &dyn TokenCounter) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fitting = ends.partition_point(|&end| text.get(..end).is_some_and(|head| counter.count(head) <= max_tokens));
    let end = fitting.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

/// The merged metadata of the sources: highest importance, all topics once, any decision, any code.
fn merged_metadata(job: &SummaryJob<'_>) -> SummaryMetadata {
    let mut merged = SummaryMetadata::default();
    for metadata in job.sources.iter().map(|source| &source.metadata) {
        merged.importance = merged.importance.max(metadata.importance);
        merged.has_decision |= metadata.has_decision;
        merged.has_code |= metadata.has_code;
        merged.line_count += metadata.line_count;
        for topic in &metadata.topics {
            if !merged.topics.contains(topic) {
                merged.topics.push(topic.clone());
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Level, NodeId, NodeRange, Role,
        port::SummarySource,
        testing::{WordCounter, texts},
    };

    fn source(text: &str) -> SummarySource {
        SummarySource {
            nodes: NodeRange::single(NodeId::FIRST),
            role: Some(Role::User),
            speaker: "user".into(),
            text: text.into(),
            metadata: SummaryMetadata::default(),
        }
    }

    fn write(sources: &[SummarySource], max_tokens: u32) -> String {
        let job = SummaryJob::new(Level::Summary, sources, max_tokens, &WordCounter);
        FirstWords::write(&job).text
    }

    #[test]
    fn eight_words_and_a_sign_that_there_were_more() {
        assert_eq!(
            write(&[source("one two three four five six seven eight nine")], 20),
            "one two three four five six seven eight…"
        );
        assert_eq!(write(&[source("short  text")], 20), "short text");
    }

    proptest! {
        #[test]
        fn the_bound_is_kept_and_something_is_said(texts in prop::collection::vec(texts(), 1..6), max in 1u32..40) {
            let sources: Vec<_> = texts.iter().map(|text| source(text)).collect();
            let text = write(&sources, max);
            prop_assert!(WordCounter.count(&text) <= max);
            prop_assert_eq!(text.trim().is_empty(), texts.iter().all(|text| text.trim().is_empty()));
        }
    }
}
