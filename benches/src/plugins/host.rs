//! A call through the host, with its threads, deadline and checks, against a direct one.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use memory_core::{
    BoxFuture, FirstWords, Level, NodeId, NodeRange, Role, SummarizeError, Summarizer, SummaryJob, SummarySource,
    TokenCounter, WrittenBy, WrittenSummary,
};
use memory_plugins::Registry;
use pollster::block_on;

use super::library::{MESSAGE, fixture};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
};

/// Calls of a round, and the pause before each.
const CALLS: usize = 100;
const REST: Duration = Duration::from_millis(10);

/// Gives the same answers as the plugin.
#[derive(Debug)]
struct Fine;

impl Summarizer for Fine {
    fn identity(&self) -> WrittenBy {
        FirstWords.identity()
    }

    fn summarize<'a>(&'a self, _job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async { Ok(WrittenSummary::new("fine")) })
    }
}

/// A counter that takes no time.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len()).unwrap_or(u32::MAX)
    }
}

pub(super) fn overhead() -> Result<Figure> {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&fixture()?)?;
    let plugin = registry.summarizer(&info.name)?;
    let [[through], [directly]] = interleave([
        Entrant::new("through the host", ["us"], || median(&*plugin)),
        Entrant::new("directly", ["us"], || median(&Fine)),
    ])?;
    let difference = through.values.iter().zip(&directly.values).map(|(through, directly)| through - directly);
    let samples = Samples { name: "memory-plugins".to_owned(), unit: "us", values: difference.collect() };
    let note = "one call after a rest of 10 ms, from the port to the plugin on a thread of the host's, under a deadline, and \
                back, less a direct call; the median of a hundred";
    Ok(Figure::absolute("host_call_us", &samples, note))
}

/// Microseconds of the middle call.
fn median(summarizer: &dyn Summarizer) -> Result<[f64; 1]> {
    let source = SummarySource::new(NodeRange::single(NodeId::FIRST), MESSAGE).role(Role::User).speaker("user");
    let sources = [source];
    let job = SummaryJob::new(Level::Summary, &sources, 20, &Bytes);
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        thread::sleep(REST);
        let start = Instant::now();
        let written = block_on(summarizer.summarize(job))?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        ensure!(written.text == "fine", "the answer is not the one that was asked for");
    }
    times.sort_by(f64::total_cmp);
    Ok([times.get(CALLS / 2).copied().unwrap_or(f64::NAN)])
}
