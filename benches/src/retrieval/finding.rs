//! Regular expressions over the log: an ordinary one over all of it, and the slowest one under a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use memory_core::{ConversationId, Scope, Store};
use memory_search::{FindRequest, find};
use pollster::block_on;

use super::sizes::MESSAGES;
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Dates and times of day.
const ORDINARY: &str = r"\b([0-9]{1,2}:[0-9]{2}|(January|May|October) [0-9]{1,2})\b";
/// Follows thousands of states at every byte, without a literal that could skip any.
const WORST: &str = r"(?:[a-y ][^q]{700}[a-z])+[0-9][A-Z][0-9]";
const DEADLINE: Duration = Duration::from_millis(100);

pub(super) fn measure(store: &dyn Store, id: &ConversationId) -> Result<[Figure; 2]> {
    let ask = |pattern, max_time| -> Result<(f64, bool)> {
        let request = FindRequest::new(pattern, Scope::one(id)).max_time(max_time);
        let start = Instant::now();
        let found = block_on(find(store, &request))?;
        Ok((start.elapsed().as_secs_f64() * 1e3, found.stopped_at.is_some()))
    };
    let [[all], [worst]] = interleave([
        Entrant::new("an ordinary pattern", ["ms"], || Ok([ask(ORDINARY, None)?.0])),
        Entrant::new("the worst pattern", ["ms"], || {
            let (took, is_stopped) = ask(WORST, Some(DEADLINE))?;
            ensure!(is_stopped, "the slowest pattern was not stopped: it took {took} ms");
            Ok([took])
        }),
    ])?;
    Ok([
        Figure::absolute("find_ms", &all, format!("a pattern of times and dates in all of {MESSAGES} messages")),
        Figure::absolute("find_worst_ms", &worst, format!("a pattern made to be slow, stopped after {DEADLINE:?}")),
    ])
}
