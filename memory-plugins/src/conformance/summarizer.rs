//! The checks of a summarizer.

use std::sync::Arc;

use memory_core::{
    Level, NodeId, NodeRange, Role, SummaryMetadata,
    port::{BoxError, Summarizer, SummaryJob, SummarySource, TokenCounter, WrittenSummary},
};
use pollster::block_on;

use super::{Check, Registry, Subject, TALK, UNICODE, huge, many};
use crate::error::ChooseError;

impl Subject for Arc<dyn Summarizer> {
    /// Sources, level and maximum tokens.
    type Job = (Vec<SummarySource>, Level, u32);
    type Answer = WrittenSummary;

    const JOB: &str = "job";

    fn create(registry: &Registry, name: &str) -> Result<Self, ChooseError> {
        registry.summarizer(name)
    }

    fn jobs(check: Check) -> Vec<Self::Job> {
        match check {
            Check::Contract => {
                let bounds = [1, 2, 3, 5, 8, 13, 21, 34, 89, 233, 10_000];
                let levels = [Level::Summary, Level::Meta, Level::Archive];
                let jobs = bounds.iter().flat_map(|bound| levels.map(|level| (sources(TALK), level, *bound)));
                jobs.collect()
            }
            Check::Unicode => {
                let all = sources(UNICODE);
                let each = all.chunks(1).chain([all.as_slice()]);
                each.flat_map(|sources| [1, 4, 40].map(|bound| (sources.to_vec(), Level::Summary, bound))).collect()
            }
            Check::Empty => vec![
                (sources(&[""]), Level::Summary, 1),
                (sources(&["", " \n\t ", ""]), Level::Meta, 20),
                (sources(&["", "word", ""]), Level::Meta, 20),
            ],
            Check::Huge => {
                let each = sources(&huge()).into_iter().map(|source| (vec![source], Level::Summary, 60));
                each.chain([(sources(&many()), Level::Archive, 200)]).collect()
            }
            Check::Deadline => vec![(sources(&huge()), Level::Archive, 1_000)],
            Check::Determinism | Check::Concurrency => vec![(sources(TALK), Level::Meta, 40)],
            Check::Configuration | Check::Panics => Vec::new(),
        }
    }

    fn ask(&self, (sources, level, max_tokens): &Self::Job) -> Result<WrittenSummary, BoxError> {
        let job = SummaryJob::new(*level, sources, *max_tokens, &Pieces);
        block_on(self.summarize(job)).map_err(|error| error.source)
    }

    fn describe((sources, level, bound): &Self::Job) -> String {
        format!("{level} of {} sources in {bound} tokens", sources.len())
    }
}

fn sources(texts: &[impl ToString]) -> Vec<SummarySource> {
    let source = |(index, text): (usize, &_)| {
        SummarySource::new(NodeRange::single(NodeId::from_index(index)), ToString::to_string(text))
            .role(if index % 2 == 0 { Role::User } else { Role::Assistant })
            .speaker(if index % 2 == 0 { "Maya" } else { "assistant" }.to_owned())
            .metadata(SummaryMetadata::default().importance(0.5).line_count(1))
    };
    texts.iter().enumerate().map(source).collect()
}

/// Counts similarly to tokenizers: a token for every four characters of a word, rounded up; a token per character in
/// other scripts.
#[derive(Debug)]
struct Pieces;

impl TokenCounter for Pieces {
    fn name(&self) -> &'static str {
        "pieces"
    }

    fn count(&self, text: &str) -> u32 {
        let cost = |word: &str| if word.is_ascii() { word.len().div_ceil(4) } else { word.chars().count() };
        u32::try_from(text.split_whitespace().map(cost).sum::<usize>()).unwrap_or(u32::MAX)
    }
}
