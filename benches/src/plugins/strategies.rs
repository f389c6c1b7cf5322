//! How fast the built-in strategies are.

use std::{hint::black_box, path::Path, time::Instant};

use anyhow::{Result, ensure};
use memory_core::{
    ImportanceScorer, Level, NodeId, NodeRange, Role, ScoreJob, SummaryJob, SummarySource, TokenCounter, WrittenSummary,
};
use memory_embed::TiktokenCounter;
use memory_strategies::{Rules, Spans};

use crate::{
    Corpus,
    eval::directories,
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Messages of a round.
const MESSAGES: usize = 20_000;
/// Messages that are scored at once, as a compaction does.
const BATCH: usize = 256;
/// The bound of a SUMMARY.
const MOST_TOKENS: u32 = 48;

/// A counter that takes no time: a token every four bytes.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

/// Texts to read, and their source.
struct Texts {
    from: &'static str,
    sources: Vec<SummarySource>,
}

impl Texts {
    fn of(from: &'static str, texts: impl Iterator<Item = (Role, String)>) -> Self {
        let source = |(index, (role, text)): (usize, (Role, String))| {
            SummarySource::new(NodeRange::single(NodeId::from_index(index)), text).role(role)
        };
        Self { from, sources: texts.take(MESSAGES).enumerate().map(source).collect() }
    }

    fn made_up() -> Self {
        let drafts = Corpus::new(11).drafts(MESSAGES, &Quarters);
        Self::of("made up", drafts.into_iter().map(|draft| (draft.message.role, draft.message.text())))
    }

    fn real(data: &Path) -> Result<Self> {
        let mut texts = Vec::new();
        for directory in directories(data)? {
            for conversation in memory_cli::import::eval::read(&directory)? {
                texts.extend(conversation.messages.iter().map(|(message, _)| (message.role, message.text())));
            }
        }
        Ok(Self::of("of real conversations", texts.into_iter()))
    }
}

/// The speed figures, the slower of made-up and real messages.
pub(super) fn measure(data: Option<&Path>) -> Result<Vec<Figure>> {
    let mut texts = vec![Texts::made_up()];
    texts.extend(data.map(Texts::real).transpose()?);
    let mut measured = [const { Vec::new() }; 3];
    for texts in &texts {
        measured.iter_mut().zip(read(texts)?).for_each(|(all, figure)| all.push(figure));
    }
    Ok(measured.into_iter().filter_map(Figure::smallest).collect())
}

fn read(Texts { from, sources }: &Texts) -> Result<[Figure; 3]> {
    let count = u32::try_from(sources.len())?;
    let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
    let megabytes = f64::from(u32::try_from(bytes)?) / 1e6;
    let exact = TiktokenCounter::cl100k();
    let [[cut], [counted], [scored]] = interleave([
        Entrant::new("spans", ["MB/s"], || Ok([megabytes / write_all(sources, &Quarters, |job| Spans.write(job))?])),
        Entrant::new("spans", ["MB/s"], || Ok([megabytes / write_all(sources, &exact, |job| Spans.write(job))?])),
        Entrant::new("rules", ["messages/s"], || Ok([f64::from(count) / score_all(sources)?])),
    ])?;
    let mean = bytes / sources.len().max(1);
    let note = |what: &str| format!("{what}, {count} messages of {mean} B on average, {from}, one thread");
    let summaries = "a SUMMARY of each, counting tokens not included";
    let exactly = format!("a SUMMARY of each, its tokens counted exactly ({})", exact.name());
    Ok([
        Figure::absolute("spans_mb_per_s", &cut, note(summaries)),
        Figure::absolute("spans_counted_mb_per_s", &counted, note(&exactly)),
        Figure::absolute("rules_messages_per_s", &scored, note("in batches of 256")),
    ])
}

/// Seconds to summarize each.
fn write_all(
    sources: &[SummarySource],
    counter: &dyn TokenCounter,
    write: impl Fn(&SummaryJob<'_>) -> WrittenSummary,
) -> Result<f64> {
    let (start, mut all) = (Instant::now(), Vec::with_capacity(sources.len()));
    for source in sources {
        let sources = std::slice::from_ref(source);
        let max_tokens = (Quarters.count(&source.text) / 2).clamp(1, MOST_TOKENS);
        let job = SummaryJob::new(Level::Summary, sources, max_tokens, counter);
        all.push((write(black_box(&job)).text, max_tokens));
    }
    let took = start.elapsed();
    ensure!(all.iter().all(|(text, most)| counter.count(text) <= *most), "a summary is over its bound");
    Ok(took.as_secs_f64())
}

/// Seconds to score all.
fn score_all(sources: &[SummarySource]) -> Result<f64> {
    let start = Instant::now();
    for batch in sources.chunks(BATCH) {
        let roles = batch.iter().map(|source| source.role.unwrap_or(Role::User));
        let jobs: Vec<_> = batch.iter().zip(roles).map(|(source, role)| ScoreJob::new(role, &source.text)).collect();
        ensure!(black_box(Rules.score(black_box(&jobs))?).len() == jobs.len(), "a message has no score");
    }
    Ok(start.elapsed().as_secs_f64())
}
