//! What summaries keep of the evidence: ours beside first words, lead sentences and TextRank at the same bound.

mod baselines;
mod bootstrap;
mod table;
mod terms;
mod text_rank;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memory_core::{
    ConversationId, Level, NodeId, NodeRange, Role, Summarizer, SummaryJob, SummaryMetadata, SummarySource,
    TokenCounter,
};
use memory_embed::TiktokenCounter;
use memory_strategies::{Extractive, KeywordDigest, ThemeMerger};
use pollster::block_on;

use self::baselines::Task;
use super::questions;

/// Messages of a group.
const GROUP: usize = 30;
/// The bounds of the hierarchical manager, `memory-hooks/src/manager/writing.rs`.
const SUMMARY_TOKENS: u32 = 48;
const META_TOKENS: u32 = 128;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    FirstWords,
    Lead,
    TextRank,
    Extractive,
    Digest,
    Themes,
}

impl Contender {
    pub(super) const ALL: [Self; 6] =
        [Self::FirstWords, Self::Lead, Self::TextRank, Self::Extractive, Self::Digest, Self::Themes];

    fn name(self) -> &'static str {
        match self {
            Self::FirstWords => "first words",
            Self::Lead => "lead sentences",
            Self::TextRank => "TextRank",
            Self::Extractive => "`extractive`",
            Self::Digest => "`keyword-digest`",
            Self::Themes => "`themes`",
        }
    }

    fn write(self, level: Level, sources: &[SummarySource], task: Task<'_>) -> Result<(String, SummaryMetadata)> {
        let ours: &dyn Summarizer = match self {
            Self::FirstWords => return Ok((baselines::first_words(task), SummaryMetadata::default())),
            Self::Lead => return Ok((baselines::lead(task), SummaryMetadata::default())),
            Self::TextRank => return Ok((baselines::text_rank(task), SummaryMetadata::default())),
            Self::Extractive => &Extractive,
            Self::Digest => &KeywordDigest,
            Self::Themes => &ThemeMerger,
        };
        let Task { max_tokens, counter, .. } = task;
        let written = block_on(ours.summarize(SummaryJob { level, sources, previous: None, max_tokens, counter }))?;
        Ok((written.text, written.metadata))
    }
}

/// What is summarized: a message that is evidence, or a group of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Node,
    Group,
}

/// How many terms there were, and how many of them each contender kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) wanted: f64,
    pub(super) kept: [f64; 6],
}

/// What is left of one unit.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) unit: Unit,
    /// The conversation, by its number.
    pub(super) conversation: usize,
    /// Facts and answers' words together.
    pub(super) all: Count,
    pub(super) facts: Count,
    pub(super) answers: Count,
    /// Tokens of the summaries.
    pub(super) tokens: [f64; 6],
}

/// What the evidence of a conversation is made of.
#[derive(Clone, Debug, Default)]
struct Evidence {
    facts: terms::Terms,
    answers: terms::Terms,
}

/// Measures all contenders on all data and gives the table.
///
/// # Errors
/// When the data is not what its format asks for, or a strategy fails.
pub fn summaries(data: &[PathBuf]) -> Result<String> {
    Ok(table::render(&measure(data)?))
}

/// The share that `extractive` keeps over the share that first words keep, over nodes and groups, and how many there are.
pub(crate) fn terms_vs_first_words(data: &[PathBuf]) -> Result<Vec<(&'static str, f64, usize)>> {
    let kept = measure(data)?;
    Ok([(Unit::Node, "single messages"), (Unit::Group, "groups of 30")]
        .map(|(unit, name)| {
            let of: Vec<_> = kept.iter().filter(|kept| kept.unit == unit).collect();
            let share = |contender| table::pooled(&of, contender, |kept| kept.all);
            (name, share(Contender::Extractive) / share(Contender::FirstWords), of.len())
        })
        .into())
}

fn measure(data: &[PathBuf]) -> Result<Vec<Kept>> {
    let counter = TiktokenCounter::cl100k();
    let (mut kept, mut conversations) = (Vec::new(), 0);
    for directory in data {
        conversations = measure_directory(directory, conversations, &counter, &mut kept)?;
    }
    ensure!(!kept.is_empty(), "no message of the data is evidence");
    Ok(kept)
}

/// Gives the number of the next conversation.
fn measure_directory(data: &Path, first: usize, counter: &dyn TokenCounter, kept: &mut Vec<Kept>) -> Result<usize> {
    let questions = questions::read(&data.join("queries.jsonl"))?;
    let conversations = memory_cli::import::eval::read(data)?;
    let count = conversations.len();
    for (index, conversation) in conversations.into_iter().enumerate() {
        let name = &conversation.id;
        let messages: Vec<Told> = conversation.messages.iter().map(|(message, _)| Told::of(message, counter)).collect();
        let evidence = evidence(&questions, name, &messages);
        let unit = Measuring { conversation: first + index, messages: &messages, evidence: &evidence, counter };
        unit.measure(kept).with_context(|| format!("summarizing `{name}` of {}", data.display()))?;
    }
    Ok(first + count)
}

/// A message, as far as it matters here.
struct Told {
    key: String,
    text: String,
    role: Role,
    speaker: String,
    tokens: u32,
}

impl Told {
    fn of(message: &memory_core::Message, counter: &dyn TokenCounter) -> Self {
        let text = message.text();
        Self {
            key: message.key.as_ref().map(ToString::to_string).unwrap_or_default(),
            tokens: counter.count(&text),
            role: message.role,
            speaker: message.speaker_or_role().to_owned(),
            text,
        }
    }
}

/// What of each message is evidence.
fn evidence(questions: &[questions::Question], name: &ConversationId, messages: &[Told]) -> Vec<Option<Evidence>> {
    let asked: Vec<_> = questions.iter().filter(|question| question.conversation == *name).collect();
    let of = |message: &Told| {
        let citing: Vec<_> = asked.iter().filter(|question| question.evidence.contains(&message.key)).collect();
        let held = terms::held(&message.text);
        (!citing.is_empty()).then(|| Evidence {
            facts: terms::facts(&message.text),
            answers: citing.iter().flat_map(|question| terms::answered(&question.answer, &held)).collect(),
        })
    };
    messages.iter().map(of).collect()
}

/// A conversation under measurement.
struct Measuring<'a> {
    conversation: usize,
    messages: &'a [Told],
    evidence: &'a [Option<Evidence>],
    counter: &'a dyn TokenCounter,
}

impl Measuring<'_> {
    fn measure(&self, kept: &mut Vec<Kept>) -> Result<()> {
        let groups = self.messages.chunks(GROUP).zip(self.evidence.chunks(GROUP)).enumerate();
        for (group, (messages, evidence)) in groups {
            if evidence.iter().all(Option::is_none) {
                continue;
            }
            let mut summaries: [Vec<SummarySource>; 6] = Default::default();
            for (index, (message, evidence)) in messages.iter().zip(evidence).enumerate() {
                let node = NodeId::from_index(group * GROUP + index);
                let mut texts: [String; 6] = Default::default();
                for ((contender, texts), summaries) in Contender::ALL.into_iter().zip(&mut texts).zip(&mut summaries) {
                    let summary = self.summary(contender, node, message)?;
                    texts.clone_from(&summary.text);
                    summaries.push(summary);
                }
                kept.extend(evidence.as_ref().and_then(|evidence| self.kept(Unit::Node, evidence, &texts)));
            }
            // A group cut short at the end of a conversation is none.
            if messages.len() == GROUP {
                let merged = Contender::ALL.into_iter().zip(&summaries);
                let merged = merged.map(|(contender, summaries)| self.meta(contender, summaries));
                let texts = merged.collect::<Result<Vec<_>>>()?;
                let mut all = Evidence::default();
                for evidence in evidence.iter().flatten() {
                    all.facts.extend(evidence.facts.iter().cloned());
                    all.answers.extend(evidence.answers.iter().cloned());
                }
                kept.extend(self.kept(Unit::Group, &all, &texts));
            }
        }
        Ok(())
    }

    fn summary(&self, contender: Contender, node: NodeId, message: &Told) -> Result<SummarySource> {
        let nodes = NodeRange::single(node);
        let source = SummarySource {
            nodes,
            role: Some(message.role),
            speaker: message.speaker.clone(),
            text: message.text.clone(),
            metadata: SummaryMetadata::default(),
        };
        let texts = [message.text.clone()];
        let max_tokens = (message.tokens / 2).clamp(1, SUMMARY_TOKENS);
        let task = Task { texts: &texts, max_tokens, counter: self.counter };
        let (text, metadata) = contender.write(Level::Summary, &[source], task)?;
        Ok(SummarySource { nodes, role: None, speaker: String::new(), text, metadata })
    }

    fn meta(&self, contender: Contender, summaries: &[SummarySource]) -> Result<String> {
        let texts: Vec<_> = summaries.iter().map(|summary| summary.text.clone()).collect();
        let task = Task { texts: &texts, max_tokens: META_TOKENS, counter: self.counter };
        Ok(contender.write(Level::Meta, summaries, task)?.0)
    }

    /// What the texts keep of the evidence; `None` where it has no term.
    fn kept(&self, unit: Unit, evidence: &Evidence, texts: &[String]) -> Option<Kept> {
        let held: Vec<_> = texts.iter().map(|text| terms::held(text)).collect();
        let all: terms::Terms = evidence.facts.union(&evidence.answers).cloned().collect();
        let count = |wanted: &terms::Terms| {
            let kept = |held: &terms::Terms| to_f64(wanted.intersection(held).count());
            let kept = |contender: Contender| held.get(contender as usize).map_or(0.0, kept);
            Count { wanted: to_f64(wanted.len()), kept: Contender::ALL.map(kept) }
        };
        let tokens = |contender: Contender| texts.get(contender as usize).map_or(0, |text| self.counter.count(text));
        (!all.is_empty()).then(|| Kept {
            unit,
            conversation: self.conversation,
            all: count(&all),
            facts: count(&evidence.facts),
            answers: count(&evidence.answers),
            tokens: Contender::ALL.map(|contender| f64::from(tokens(contender))),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of terms are small")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
