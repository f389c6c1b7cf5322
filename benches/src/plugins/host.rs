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

/// Calls of a round, back to back.
const CALLS: usize = 10_000;
/// Calls of a round, one at a time, and the pause before each.
const ISOLATED: usize = 100;
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

pub(super) fn overhead() -> Result<[Figure; 2]> {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&fixture()?)?;
    let plugin = registry.summarizer(&info.name)?;
    let [[through, through_alone], [directly, directly_alone]] = interleave([
        Entrant::new("through the host", ["us", "us"], || both(&*plugin)),
        Entrant::new("directly", ["us", "us"], || both(&Fine)),
    ])?;
    let figure = |key, through: &Samples, directly: &Samples, note| {
        let difference = through.values.iter().zip(&directly.values).map(|(through, directly)| through - directly);
        let samples = Samples { name: "memory-plugins".to_owned(), unit: "us", values: difference.collect() };
        Figure::absolute(key, &samples, note)
    };
    let note = "from the port to the plugin on a thread of the host's, under a deadline, and back, less a direct call";
    let alone = "the same for one call after a rest of 10 ms, the median of a hundred";
    Ok([
        figure("host_call_overhead_us", &through, &directly, note),
        figure("host_call_isolated_us", &through_alone, &directly_alone, alone),
    ])
}

/// Microseconds of a call in a series, and of a single call.
fn both(summarizer: &dyn Summarizer) -> Result<[f64; 2]> {
    let all: f64 = time(summarizer, CALLS, Duration::ZERO)?.iter().sum();
    let mut alone = time(summarizer, ISOLATED, REST)?;
    alone.sort_by(f64::total_cmp);
    let median = alone.get(ISOLATED / 2).copied().unwrap_or(f64::NAN);
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let mean = all / CALLS as f64;
    Ok([mean, median])
}

/// Microseconds of each call.
fn time(summarizer: &dyn Summarizer, calls: usize, rest: Duration) -> Result<Vec<f64>> {
    let source = SummarySource::new(NodeRange::single(NodeId::FIRST), MESSAGE).role(Role::User).speaker("user");
    let sources = [source];
    let job = SummaryJob::new(Level::Summary, &sources, 20, &Bytes);
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        if !rest.is_zero() {
            thread::sleep(rest);
        }
        let start = Instant::now();
        let written = block_on(summarizer.summarize(job))?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        ensure!(written.text == "fine", "the answer is not the one that was asked for");
    }
    Ok(times)
}
