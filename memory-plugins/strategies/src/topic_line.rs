//! The line of topics that a META or ARCHIVE begins with: `topics: a, b, c; `.

use memory_core::{SummaryJob, SummarySource};

const MARK: &str = "topics: ";

/// Topics take at most this part of the tokens.
const SHARE: u32 = 4;

/// The line of as many `topics` as fit; empty when none does.
pub(crate) fn prefix(topics: &[String], job: &SummaryJob<'_>) -> String {
    let most = job.max_tokens / SHARE;
    (1..=topics.len())
        .rev()
        .filter_map(|count| topics.get(..count))
        .map(|topics| format!("{MARK}{}; ", topics.join(", ")))
        .find(|line| job.counter.count(line) <= most)
        .unwrap_or_default()
}

/// The text of `source` without the topics that a summary begins with: its metadata carries them.
pub(crate) fn strip(source: &SummarySource) -> &str {
    let begins = source.role.is_none() && !source.metadata.topics.is_empty();
    let behind = source.text.strip_prefix(MARK).filter(|_| begins).and_then(|rest| rest.split_once("; "));
    behind.map_or(source.text.as_str(), |(_, behind)| behind)
}
