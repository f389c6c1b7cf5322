//! The contract of [`Summarizer`](crate::port::Summarizer).

use super::WordCounter;
use crate::{
    Level, NodeId, NodeRange, Role, SummaryMetadata,
    port::{Summarizer, SummaryJob, SummarySource, TokenCounter},
};

/// Texts of every kind, the last of them longer than any summary.
fn texts() -> Vec<String> {
    let long = (0..400).map(|n| format!("Item {n} went to place P{}. ", n * 7)).collect();
    let short = ["", " \n ", "OK.", "Do not deploy on Friday!", "Who cooks?", "会議は金曜日です。", "a\u{2028}b\r\nc"];
    short.into_iter().map(str::to_owned).chain([long]).collect()
}

/// Checks that a summarizer keeps its contract: bounds, blanks, one author, metadata in range.
///
/// # Panics
/// When the summarizer breaks the contract.
pub async fn summarizer_conformance(summarizer: &dyn Summarizer) {
    let source = |(index, text): (usize, &String)| {
        SummarySource::new(NodeRange::single(NodeId::from_index(index)), text.as_str())
            .role(if index % 2 == 0 { Role::User } else { Role::Assistant })
            .speaker("Anna")
            .metadata(SummaryMetadata::default().line_count(1))
    };
    let texts = texts();
    let all: Vec<_> = texts.iter().enumerate().map(source).collect();
    let alone = all.iter().map(std::slice::from_ref);
    let identity = summarizer.identity();
    for sources in alone.chain([all.as_slice(), all.get(..2).unwrap_or_default()]) {
        for (level, max_tokens) in
            [(Level::Summary, 48), (Level::Meta, 128), (Level::Archive, 192), (Level::Summary, 9)]
        {
            let job = SummaryJob::new(level, sources, max_tokens, &WordCounter);
            let of_compaction = summarizer.for_compaction();
            assert!(of_compaction.iter().all(|author| author.identity() == identity), "one identity");
            let written = match &of_compaction {
                Some(author) => author.summarize(job).await,
                None => summarizer.summarize(job).await,
            };
            assert!(written.is_ok(), "{identity} writes no {level}: {written:?}");
            let Ok(written) = written else { continue };
            let tokens = WordCounter.count(&written.text);
            assert!(tokens <= max_tokens, "{identity} writes {tokens} tokens of {max_tokens}: {}", written.text);
            let is_blank = written.text.trim().is_empty();
            assert!(!is_blank || job.may_be_blank(), "{identity} writes a blank {level}");
            let heard = sources.iter().any(|source| !source.text.trim().is_empty());
            assert!(heard || is_blank, "{identity} writes of nothing: {}", written.text);
            assert!((0.0..=1.0).contains(&written.metadata.importance), "{identity}: an importance out of range");
            assert_eq!(summarizer.identity(), identity, "one identity");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::FirstWords;

    #[test]
    fn first_words_keep_the_contract() {
        pollster::block_on(summarizer_conformance(&FirstWords));
    }
}
