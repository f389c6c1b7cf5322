//! Helpers of the tests of summarizers and scorers.

use memory_core::{
    Level, NodeId, NodeRange, Role, SummaryMetadata,
    port::{Summarizer, SummaryJob, SummarySource, TokenCounter, WrittenSummary},
    testing::WordCounter,
};
use proptest::prelude::*;

pub(crate) fn message(text: &str) -> SummarySource {
    SummarySource::new(NodeRange::single(NodeId::FIRST), text).role(Role::User).speaker("user")
}

pub(crate) fn summary(text: &str, topics: &[&str], importance: f32) -> SummarySource {
    let metadata =
        SummaryMetadata::default().topics(topics.iter().map(|&topic| topic.into()).collect()).importance(importance);
    message(text).role(None).speaker(String::new()).metadata(metadata)
}

pub(crate) fn write(
    summarizer: &dyn Summarizer,
    level: Level,
    sources: &[SummarySource],
    max_tokens: u32,
) -> WrittenSummary {
    let job = SummaryJob::new(level, sources, max_tokens, &WordCounter);
    pollster::block_on(summarizer.summarize(job)).unwrap()
}

/// Counts bytes, so that some characters cost more than small bounds.
#[derive(Debug)]
pub(crate) struct ByteCounter;

impl TokenCounter for ByteCounter {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len()).unwrap_or(u32::MAX)
    }
}

/// Texts of many kinds: blank, plain, marked up, of scripts without spaces, of any characters.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n\t".to_owned()),
        "[a-zA-Z0-9 ,.?!\n]{0,200}",
        "\\PC{0,60}",
        "(.|\n){0,80}",
        "[あ-ん漢字仮名。]{0,200}",
        "([#*`|>~\\-\n \\[\\](){}\":,_]|[a-z]){0,120}",
        "(decided: |open: |also: | \\| |topics: |we agreed|[a-z0-9?. ]){0,60}",
    ]
}
