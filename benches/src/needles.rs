//! Needles: facts planted at every depth of a conversation, and whether a context contains them.

mod planted;
mod reader;

use std::{fmt, path::Path, sync::Arc};

use anyhow::{Result, ensure};
use memory_core::{ConversationId, Level, NodeId, Store, Summarizer, Summary};
use memory_embed::TiktokenCounter;
use memory_hooks::{Conversation, Memory, MemoryBuilder, PieceKind, Prompt, PromptOptions};
use memory_plugins::{Registry, StrategyKind};
use memory_search::HybridRetriever;
use memory_store::LogStore;
use memory_strategies::Rules;

pub(crate) use planted::{Needle, plant};
use reader::worth_opening;

/// Lengths of the conversations in which facts are planted, in messages.
pub const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// The budget that does not grow with the conversation, in tokens.
const FEW_TOKENS: u32 = 4_000;

/// Results of a suite, in needles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeedleScore {
    /// The most tokens of a context.
    pub budget: u32,
    /// Planted needles.
    pub needles: usize,
    /// Needles in summaries, whether or not a view shows them: in SUMMARYs, METAs, ARCHIVEs.
    pub kept: [usize; 3],
    /// In a context of the history alone.
    pub by_view: usize,
    /// Needles in that context, or in the one message that a reader would open after it.
    pub by_one_expand: usize,
    /// Needles in a context with what the question recalls by words alone.
    pub by_recall: usize,
    /// Needles for which a context of the history alone has the wrong first statement, but not its correction.
    pub misled: usize,
}

impl NeedleScore {
    /// The share of needles in 0..=1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "some dozens of needles")]
    pub fn share(self, found: usize) -> f64 {
        found as f64 / self.needles.max(1) as f64
    }
}

impl fmt::Display for NeedleScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |found| 100.0 * self.share(found);
        write!(
            f,
            "{:.1} % of {} in the view alone, {:.1} % with one expand, {:.1} % with recall",
            percent(self.by_view),
            self.needles,
            percent(self.by_one_expand),
            percent(self.by_recall),
        )
    }
}

/// The names of the built-in summarizers.
#[must_use]
pub fn summarizers() -> Vec<String> {
    let registry = Registry::with_builtins();
    let summarizers = registry.list().filter(|info| info.kind == StrategyKind::Summarizer);
    summarizers.map(|info| info.name.clone()).collect()
}

/// Plants facts in a conversation of `messages`, compacts it with the built-in summarizer of that name and asks for
/// each fact within 4,000 tokens, and within a tenth of the conversation's tokens. Recall is by words alone, so that no
/// model is needed. The store is created under `directory`.
///
/// # Errors
/// When there is no such summarizer, or a part of the memory fails.
pub fn score(directory: &Path, messages: usize, summarizer: &str) -> Result<[NeedleScore; 2]> {
    let directory = tempfile::Builder::new().prefix("needles").tempdir_in(directory)?;
    let store: Arc<dyn Store> = Arc::new(LogStore::open(directory.path())?);
    let summarizer = Registry::with_builtins().summarizer(summarizer)?;
    let counter = TiktokenCounter::cl100k();
    let (drafts, needles) = plant(messages, &counter)?;
    let [seen, recalled] = [false, true].map(|recalls| conversation(&store, &summarizer, recalls));
    let (seen, recalled) = (seen?, recalled?);
    pollster::block_on(async {
        for batch in drafts.chunks(1_000) {
            store.append(seen.id(), batch.to_vec()).await?;
        }
        seen.compact(&()).await?;
        recalled.index(&()).await?;
        let tenth = u32::try_from(seen.stats().await?.tokens / 10)?;
        let kept = kept(&store.summaries(seen.id()).await?, &needles);
        let mut scores = [NeedleScore::default(); 2];
        for (score, budget) in scores.iter_mut().zip([FEW_TOKENS, tenth]) {
            *score = NeedleScore { kept, ..find(&seen, &recalled, &needles, budget).await? };
        }
        Ok(scores)
    })
}

/// The conversation in a store, shown with or without what a question recalls.
pub(crate) fn conversation(
    store: &Arc<dyn Store>,
    summarizer: &Arc<dyn Summarizer>,
    recalls: bool,
) -> Result<Conversation> {
    let retriever = || Arc::new(HybridRetriever::new(store.clone(), None, None));
    let with_retriever = |builder: MemoryBuilder| if recalls { builder.retriever(retriever()) } else { builder };
    let builder = Memory::builder()
        .store(Arc::clone(store))
        .token_counter(Arc::new(TiktokenCounter::cl100k()))
        .summarizer(Arc::clone(summarizer))
        .scorer(Arc::new(Rules));
    Ok(with_retriever(builder).build()?.conversation(ConversationId::new("needles")?))
}

/// Asks for each needle in a conversation that is shown without and with what its question recalls.
pub(crate) async fn find(
    seen: &Conversation,
    recalled: &Conversation,
    needles: &[Needle],
    budget: u32,
) -> Result<NeedleScore> {
    let options = PromptOptions::new(budget);
    let mut score = NeedleScore { budget, needles: needles.len(), ..NeedleScore::default() };
    for needle in needles {
        let view = seen.prompt(&needle.question, &options).await?;
        let context = recalled.prompt(&needle.question, &options).await?;
        ensure!(view.tokens <= budget && context.tokens <= budget, "a context is over its budget");
        let is_seen = holds(&view, &needle.answer);
        let is_expanded = match worth_opening(&view.pieces, &needle.question) {
            Some(node) if !is_seen => is_in(seen, node, &needle.answer).await?,
            _ => is_seen,
        };
        let is_wrong = needle.wrong.as_ref().is_some_and(|wrong| holds(&view, &wrong.answer));
        score.by_view += usize::from(is_seen);
        score.by_one_expand += usize::from(is_expanded);
        score.by_recall += usize::from(holds(&context, &needle.answer));
        score.misled += usize::from(is_wrong && !is_seen);
    }
    Ok(score)
}

/// How many facts the summaries of each level still state.
fn kept(summaries: &[Summary], needles: &[Needle]) -> [usize; 3] {
    [Level::Summary, Level::Meta, Level::Archive].map(|level| {
        let of_level = || summaries.iter().map(|summary| &summary.body).filter(|body| body.level == level);
        needles.iter().filter(|needle| of_level().any(|body| body.text.contains(&needle.answer))).count()
    })
}

/// Whether a context states the answer, apart from the question.
fn holds(context: &Prompt, answer: &str) -> bool {
    let told = context.pieces.iter().filter(|piece| piece.kind != PieceKind::Question);
    told.map(|piece| &piece.text).any(|text| text.contains(answer))
}

async fn is_in(conversation: &Conversation, node: NodeId, answer: &str) -> Result<bool> {
    Ok(conversation.expand(node).await?.message.text().contains(answer))
}
