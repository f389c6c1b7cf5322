//! Summaries of messages in a caller's list, without a log.

use memory_core::{
    Level, Message, NodeId, NodeRange,
    port::{Excluded, SummarizeError, Summarizer, SummaryJob, SummarySource, TokenCounter, WrittenSummary},
};

use crate::kept_out::{Redactor, asks_to_be_kept_out};

/// Text shown for a message that is excluded from summaries.
const KEPT_OUT: &str = "(kept out of summaries)";
/// Most tokens of the summary of a run of messages.
const MOST_TOKENS: u32 = 384;

/// Summarizes the messages of `list` with the indices `chosen`, by a strategy that needs no store.
///
/// A message that is marked, or asks, to be excluded from summaries is named and not repeated; its identifying terms
/// are removed from the others, wherever in the list it stands. The summary has at most half of their tokens.
///
/// # Errors
/// If the strategy fails.
pub async fn summarize_list(
    list: &[Message],
    chosen: &[usize],
    summarizer: &dyn Summarizer,
    counter: &dyn TokenCounter,
) -> Result<WrittenSummary, SummarizeError> {
    let is_kept_out = |message: &Message| {
        message.keep_out_of_summaries || (message.begins_prompt() && asks_to_be_kept_out(&message.text()))
    };
    let redactor = Redactor::default().and_terms(list.iter().filter(|message| is_kept_out(message)));
    let source = |(index, message): (usize, &Message)| {
        let text = if is_kept_out(message) { KEPT_OUT.to_owned() } else { redactor.redact(&message.text()) };
        SummarySource::new(NodeRange::single(NodeId::from_index(index)), text)
            .role(message.role)
            .speaker(message.voice())
    };
    let sources: Vec<_> = chosen.iter().filter_map(|index| Some((*index, list.get(*index)?))).map(source).collect();
    let tokens = sources.iter().map(|source| counter.count(&source.text)).fold(0, u32::saturating_add);
    let level = if sources.len() > 1 { Level::Meta } else { Level::Summary };
    let job = SummaryJob::new(level, &sources, (tokens / 2).clamp(1, MOST_TOKENS), counter);
    let mut written = summarizer.summarize(job.excluded(Some(&redactor as &dyn Excluded))).await?;
    // A strategy may know excluded content from elsewhere.
    written.text = redactor.redact(&written.text);
    written.metadata.topics = redactor.clean_topics(&written.metadata.topics);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use memory_core::{testing::WordCounter, text::FirstWords};

    use super::*;

    fn summary(list: &[Message], chosen: &[usize]) -> String {
        let counter = WordCounter;
        pollster::block_on(summarize_list(list, chosen, &FirstWords, &counter)).unwrap().text
    }

    #[test]
    fn a_summary_of_a_list_holds_nothing_that_is_excluded() {
        let list = [
            Message::user("The parcel went to Bergen on Monday by the morning ferry, as we had agreed before."),
            Message::user("Keep this out of all summaries: the code is QX-4471."),
            Message::assistant("QX-4471 is noted, and I shall tell nobody about it."),
        ];
        let text = summary(&list, &[0, 1, 2]);
        assert!(text.contains("parcel"), "{text}");
        assert!(!text.contains("4471"), "{text}");
        // The message that asks may stay in the list.
        assert!(!summary(&list, &[0, 2]).contains("4471"));
    }
}
