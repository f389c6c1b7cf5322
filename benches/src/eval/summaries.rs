//! What summaries keep of the evidence: ours compared with first words, lead sentences and TextRank of the same length.

mod baselines;
mod bootstrap;
mod faithful;
mod names;
mod table;
mod terms;
mod text_rank;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memory_cli::import::eval::{Question, questions};
use memory_core::{
    ConversationId, Level, NodeId, NodeRange, Role, Summarizer, SummaryJob, SummaryMetadata, SummarySource,
    TokenCounter,
};
use memory_embed::TiktokenCounter;
use memory_strategies::Spans;
use pollster::block_on;

use self::{baselines::Task, faithful::Faithful};

/// Messages of a group.
const GROUP: usize = 30;
/// The bounds of the hierarchical manager, `memory-hooks/src/manager/writing.rs` and `retelling.rs`.
const SUMMARY_TOKENS: u32 = 48;
const META_TOKENS: u32 = 128;
const LONGEST_READ_AGAIN: usize = 8 << 10;

/// The number of contenders.
pub(super) const CONTENDERS: usize = 4;

/// A writer of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    FirstWords,
    Lead,
    TextRank,
    Spans,
}

impl Contender {
    pub(super) const ALL: [Self; CONTENDERS] = [Self::FirstWords, Self::Lead, Self::TextRank, Self::Spans];

    fn name(self) -> &'static str {
        match self {
            Self::FirstWords => "first words",
            Self::Lead => "lead sentences",
            Self::TextRank => "TextRank",
            Self::Spans => "`spans`",
        }
    }

    fn write(self, level: Level, sources: &[SummarySource], task: Task<'_>) -> Result<(String, SummaryMetadata)> {
        let ours: &dyn Summarizer = match self {
            Self::FirstWords => return Ok((baselines::first_words(task), SummaryMetadata::default())),
            Self::Lead => return Ok((baselines::lead(task), SummaryMetadata::default())),
            Self::TextRank => return Ok((baselines::text_rank(task), SummaryMetadata::default())),
            Self::Spans => &Spans,
        };
        let Task { max_tokens, counter, .. } = task;
        let written = block_on(ours.summarize(SummaryJob::new(level, sources, max_tokens, counter)))?;
        Ok((written.text, written.metadata))
    }
}

/// What is summarized: a message that is evidence, or a group of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Node,
    Group,
}

/// The number of terms, and how many of them each contender kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) wanted: f64,
    pub(super) kept: [f64; CONTENDERS],
}

/// What is kept of one unit.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) unit: Unit,
    /// The conversation, by its number.
    pub(super) conversation: usize,
    /// Facts and words of answers together.
    pub(super) all: Count,
    pub(super) facts: Count,
    pub(super) answers: Count,
    /// Tokens of the summaries.
    pub(super) tokens: [f64; CONTENDERS],
    /// Whether the summaries state what the messages state; for single messages only.
    pub(in crate::eval::summaries) faithful: [Faithful; CONTENDERS],
}

/// The evidence of a conversation.
#[derive(Clone, Debug, Default)]
struct Evidence {
    facts: terms::Terms,
    answers: terms::Terms,
}

/// Measures all contenders on all data and returns the table.
///
/// # Errors
/// When the data does not follow its format, or a strategy fails.
pub fn summaries(data: &[PathBuf]) -> Result<String> {
    Ok(table::render(&measure(data)?))
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

/// Returns the number of the next conversation.
fn measure_directory(data: &Path, first: usize, counter: &dyn TokenCounter, kept: &mut Vec<Kept>) -> Result<usize> {
    let questions = questions(data)?;
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

/// A message, with what is needed here.
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

    fn source(&self, node: NodeId) -> SummarySource {
        SummarySource::new(NodeRange::single(node), self.text.clone()).role(self.role).speaker(self.speaker.clone())
    }
}

/// The evidence in each message.
fn evidence(questions: &[Question], name: &ConversationId, messages: &[Told]) -> Vec<Option<Evidence>> {
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
            for (index, (message, evidence)) in messages.iter().zip(evidence).enumerate() {
                let node = NodeId::from_index(group * GROUP + index);
                let mut texts: [String; CONTENDERS] = Default::default();
                for (contender, text) in Contender::ALL.into_iter().zip(&mut texts) {
                    *text = self.summary(contender, node, message)?;
                }
                kept.extend(
                    evidence.as_ref().and_then(|evidence| self.kept(Unit::Node, evidence, &texts, Some(message))),
                );
            }
            // A shorter group at the end of a conversation does not count.
            if messages.len() == GROUP {
                let first = NodeId::from_index(group * GROUP);
                let metas = Contender::ALL.into_iter().map(|contender| self.meta(contender, first, messages));
                let texts = metas.collect::<Result<Vec<_>>>()?;
                let mut all = Evidence::default();
                for evidence in evidence.iter().flatten() {
                    all.facts.extend(evidence.facts.iter().cloned());
                    all.answers.extend(evidence.answers.iter().cloned());
                }
                kept.extend(self.kept(Unit::Group, &all, &texts, None));
            }
        }
        Ok(())
    }

    fn summary(&self, contender: Contender, node: NodeId, message: &Told) -> Result<String> {
        let texts = [message.text.clone()];
        let max_tokens = (message.tokens / 2).clamp(1, SUMMARY_TOKENS);
        let task = Task { texts: &texts, max_tokens, counter: self.counter };
        let sources = [message.source(node)];
        let spans = Contender::Spans.write(Level::Summary, &sources, task)?;
        if contender == Contender::Spans {
            return Ok(spans.0);
        }
        // Equal tokens except for the name, which the others do not write.
        let named = names::tokens(&spans.0, &message.speaker, self.counter);
        let task = Task { max_tokens: max_tokens.saturating_sub(named).max(1), ..task };
        Ok(contender.write(Level::Summary, &sources, task)?.0)
    }

    /// A META in the way of the hierarchical manager: from the messages, and for a message that is too long from its
    /// SUMMARY. All contenders read the same messages, each with SUMMARYs of its own.
    fn meta(&self, contender: Contender, first: NodeId, messages: &[Told]) -> Result<String> {
        let mut sources = Vec::with_capacity(messages.len());
        for (node, message) in (first.index()..).map(NodeId::from_index).zip(messages) {
            let source = message.source(node);
            sources.push(if message.text.len() <= LONGEST_READ_AGAIN {
                source
            } else {
                SummarySource::new(source.nodes, self.summary(contender, node, message)?)
            });
        }
        let texts: Vec<_> = sources.iter().map(|source| source.text.clone()).collect();
        let task = Task { texts: &texts, max_tokens: META_TOKENS, counter: self.counter };
        Ok(contender.write(Level::Meta, &sources, task)?.0)
    }

    /// What the texts keep of the evidence; `None` if it has no term.
    fn kept(&self, unit: Unit, evidence: &Evidence, texts: &[String], message: Option<&Told>) -> Option<Kept> {
        let mut speakers: Vec<&str> = self.messages.iter().map(|message| message.speaker.as_str()).collect();
        speakers.sort_unstable();
        speakers.dedup();
        let bare: Vec<String> = texts.iter().map(|text| names::unnamed(text, &speakers)).collect();
        let faithful = |contender: Contender| match (message, bare.get(contender as usize)) {
            (Some(message), Some(summary)) => Faithful::of(&message.text, summary),
            _ => Faithful::default(),
        };
        let held: Vec<_> = bare.iter().map(|text| terms::held(text)).collect();
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
            faithful: Contender::ALL.map(faithful),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of terms are small")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
