//! A call through the host, with its threads, deadline and checks, against a direct one.

use std::time::Instant;

use anyhow::{Result, ensure};
use memory_core::{
    BoxFuture, FirstWords, Level, NodeId, NodeRange, Role, SummarizeError, Summarizer, SummaryJob, SummaryMetadata,
    SummarySource, TokenCounter, WrittenBy, WrittenSummary,
};
use memory_plugins::Registry;
use pollster::block_on;

use super::library::{MESSAGE, fixture};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
};

/// Calls of a round.
const CALLS: u32 = 10_000;

/// Answers as the plugin does.
#[derive(Debug)]
struct Fine;

impl Summarizer for Fine {
    fn identity(&self) -> WrittenBy {
        FirstWords.identity()
    }

    fn summarize<'a>(&'a self, _job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async { Ok(WrittenSummary { text: "fine".to_owned(), metadata: SummaryMetadata::default() }) })
    }
}

/// Counts so that counting takes no time.
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
        Entrant::new("through the host", ["us"], || time(&*plugin)),
        Entrant::new("directly", ["us"], || time(&Fine)),
    ])?;
    let difference =
        through.values.iter().zip(&directly.values).map(|(through, directly)| through - directly).collect();
    let samples = Samples { name: "memory-plugins".to_owned(), unit: "us", values: difference };
    let note = "from the port to the plugin on a thread of the host's, under a deadline, and back, less a direct call";
    Ok(Figure::absolute("host_call_overhead_us", &samples, note))
}

/// Microseconds a call.
fn time(summarizer: &dyn Summarizer) -> Result<[f64; 1]> {
    let source = SummarySource {
        nodes: NodeRange::single(NodeId::FIRST),
        role: Some(Role::User),
        speaker: "user".to_owned(),
        text: MESSAGE.to_owned(),
        metadata: SummaryMetadata::default(),
    };
    let sources = [source];
    let job = SummaryJob { level: Level::Summary, sources: &sources, previous: None, max_tokens: 20, counter: &Bytes };
    let start = Instant::now();
    for _ in 0..CALLS {
        let written = block_on(summarizer.summarize(job))?;
        ensure!(written.text == "fine", "the answer is not the one that was asked for");
    }
    Ok([start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)])
}
