//! The topic line at the beginning of a META or ARCHIVE: `topics: a, b, c; `.

use memory_core::{SummaryJob, SummarySource};

const MARK: &str = "topics: ";

/// Topics take at most one part in this many of the tokens.
const SHARE: u32 = 4;

/// The line of as many `topics` as fit; empty if none fits.
pub(crate) fn prefix(topics: &[String], job: &SummaryJob<'_>) -> String {
    let most = job.max_tokens / SHARE;
    (1..=topics.len())
        .rev()
        .filter_map(|count| topics.get(..count))
        .map(|topics| format!("{MARK}{}; ", topics.join(", ")))
        .find(|line| job.counter.count(line) <= most)
        .unwrap_or_default()
}

/// The text of `source` without its topic line, whose topics are in its metadata.
pub(crate) fn strip(source: &SummarySource) -> &str {
    let begins = source.role.is_none() && !source.metadata.topics.is_empty();
    let after = source.text.strip_prefix(MARK).filter(|_| begins).and_then(|rest| rest.split_once("; "));
    after.map_or(source.text.as_str(), |(_, after)| after)
}
