//! The keyword-digest summarizer.

use memory_core::{BoxFuture, Level, SummarizeError, Summarizer, SummaryJob, WrittenBy, WrittenSummary};

use crate::{
    keywords,
    reading::{Reading, shortened, unsegmented},
    topic_line,
};

/// Summarizes by names, figures and rare words, as many as fit, in their original order.
///
/// It keeps the most facts per token, without their relations: for a model that can ask for the original message, or
/// for very tight bounds. Adjacent words stay together, a figure keeps the word after it, and a word the negation
/// before it. A comma separates two keywords only where they would be read as one: after a figure, and between a name
/// and a name or figure. A META or ARCHIVE begins with a line of topics: `topics: a, b, c; `.
///
/// Words are weighted by tf-idf over the sources (Spärck Jones, "A statistical interpretation of term specificity and
/// its application in retrieval", 1972), figures and names more.
///
/// ```
/// use memory_core::{Level, NodeId, NodeRange, Role, SummaryJob, SummarySource, TokenCounter};
/// use memory_strategies::KeywordDigest;
///
/// # #[derive(Debug)]
/// # struct Words;
/// # impl TokenCounter for Words {
/// #     fn name(&self) -> &str { "words" }
/// #     fn count(&self, text: &str) -> u32 { text.split_whitespace().count() as u32 }
/// # }
/// let text = "So we all went and looked, and the hall in Ghent costs 1,850 euros for the day.";
/// let sources = [SummarySource::new(NodeRange::single(NodeId::FIRST), text).role(Role::User).speaker("Maya")];
/// let job = SummaryJob::new(Level::Summary, &sources, 6, &Words);
/// assert_eq!(KeywordDigest.write(&job).text, "hall Ghent costs 1,850 euros day");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct KeywordDigest;

impl Summarizer for KeywordDigest {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("keyword-digest", "3")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move { Ok(self.write(&job)) })
    }
}

impl KeywordDigest {
    /// Writes the summary synchronously.
    #[must_use]
    pub fn write(&self, job: &SummaryJob<'_>) -> WrittenSummary {
        let reading = Reading::of(job);
        let metadata = reading.metadata();
        if reading.segments.is_empty() {
            return WrittenSummary::new(unsegmented(job)).metadata(metadata);
        }
        let lead = if job.level >= Level::Meta { topic_line::prefix(&metadata.topics, job) } else { String::new() };
        let ranked = keywords::ranked(&reading, &[]);
        let digest = keywords::fill(job, &reading, &ranked, &lead, "").filter(|text| !text.is_empty());
        let text = digest.unwrap_or_else(|| shortened(job, &reading));
        WrittenSummary::new(text).metadata(metadata)
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{TokenCounter, testing::WordCounter};

    use super::*;
    use crate::testing::{message, summary, write};

    fn digest(text: &str, max_tokens: u32) -> String {
        write(&KeywordDigest, Level::Summary, &[message(text)], max_tokens).text
    }

    #[test]
    fn figures_and_names_come_before_words_and_stand_in_their_order() {
        let text = "We thought about it for a long while. The hall in Ghent is 1,850 euros, said Priya, on 12 March.";
        let digest = digest(text, 14);
        let places: Vec<_> = ["Ghent", "1,850 euros", "Priya", "12 March"].map(|fact| digest.find(fact)).to_vec();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{digest}");
    }

    #[test]
    fn commas_stand_only_where_two_keywords_would_be_read_as_one() {
        let text = "Priya will go there with Maya, and for 12 of them there is soup, but a garden is where they sit.";
        assert_eq!(digest(text, 40), "Priya, Maya, 12, soup garden sit");
    }

    #[test]
    fn code_stays_as_it_was_said() {
        let text = "To be sure, it is best that you call `gazebo_open(4711, Mode::Shared)?` and then not `abort()`.";
        let digest = digest(text, 40);
        assert!(digest.contains("gazebo_open(4711, Mode::Shared)"), "{digest}");
        assert!(digest.contains("not abort"), "a negation stays: {digest}");
    }

    #[test]
    fn a_language_without_spaces_keeps_its_runs_whole() {
        assert_eq!(digest("会議は15時に東京駅で", 3), "会議は15時に東京駅で");
    }

    #[test]
    fn common_words_alone_are_still_told() {
        assert_eq!(digest("it is what it is", 3), "it is…");
        assert_eq!(digest("?!", 3), "?!");
    }

    #[test]
    fn a_meta_begins_with_its_topics_and_spends_what_it_may() {
        let sources: Vec<_> = (1..=30)
            .map(|n| summary(&format!("Customer {n} asked Maya about item {}.", n * 37), &["billing"], 0.5))
            .collect();
        let meta = write(&KeywordDigest, Level::Meta, &sources, 60).text;
        assert!(meta.starts_with("topics: billing"), "{meta}");
        assert!((50..=60).contains(&WordCounter.count(&meta)), "{meta}");
    }
}
