//! Conversations played turn by turn, as an agent runs: cost and evidence of its prompts, compared with a sliding
//! window.

use std::{fmt, path::Path};

use anyhow::{Context, Result};
use memory_core::{Message, Node, NodeId, Role, Timestamp};
use memory_hooks::{Prompt, PromptOptions};

use super::{
    Bars, EvalParts, Question,
    contexts::{data_name, pack},
    conversations,
    data::Conversation,
    prices::{PromptTokens, SlidingWindow},
    questions,
    score::mean,
    shown::Shown,
    subject::Subject,
};

/// The budget of every way but the full history.
const BUDGET: u32 = 16_000;
/// The budget of the best hits alone, with which the evidence is compared.
const HITS: u32 = 4_000;
/// Overhead tokens of a message in addition to its text.
const PER_MESSAGE: u64 = 8;
/// Model calls before which questions are asked outside the conversation.
const ASKED_AT: [usize; 4] = [50, 100, 150, 200];
/// A way to prompt a running agent, with its measurements.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    name: &'static str,
    tokens: PromptTokens,
    /// For each question that was asked, the share of its evidence in view.
    evidence: Vec<f64>,
}

impl Way {
    fn of(name: &'static str, tokens: PromptTokens, evidence: Vec<f64>) -> Self {
        Self { name, tokens, evidence }
    }

    fn cost(&self) -> f64 {
        self.tokens.cost()
    }
}

/// Costs and evidence of the conversations of one data set, turn by turn.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The data set.
    pub data: String,
    /// Calls of the model.
    pub prompts: usize,
    /// Number of window moves.
    pub moves: usize,
    /// The measured ways, ours first.
    ways: Vec<Way>,
    /// The share of the evidence among the best hits alone.
    hits: Vec<f64>,
}

impl Running {
    /// The way that drops the oldest messages in batches and recalls nothing.
    pub const SLIDING_WINDOW: &str = "sliding window";

    /// The share of our prompts' tokens that begin the previous prompt as well.
    #[must_use]
    pub fn cached_share(&self) -> f64 {
        self.ways.first().map_or(0.0, |ours| ours.tokens.cached_share())
    }

    /// Our evidence in view, divided by that among the best hits alone.
    #[must_use]
    pub fn evidence_vs_hits(&self) -> Option<f64> {
        let ours = self.ways.first().filter(|ours| !ours.evidence.is_empty())?;
        Some(mean(&ours.evidence) / mean(&self.hits)).filter(|share| share.is_finite())
    }

    /// Our cost, divided by that of another way.
    #[must_use]
    pub fn cost_vs(&self, name: &str) -> Option<f64> {
        let other = self.ways.iter().find(|way| way.name == name)?;
        Some(self.ways.first()?.cost() / other.cost()).filter(|ratio| ratio.is_finite())
    }
}

impl fmt::Display for Running {
    /// A table in Markdown, a row for each way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} prompts, the window moved {} times, {} questions asked aside; best hits alone hold {:.3} of the evidence\n",
            self.data,
            self.prompts,
            self.moves,
            self.hits.len(),
            mean(&self.hits)
        )?;
        writeln!(f, "| way | tokens a prompt | cached | cost, of ours | evidence in view |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        let ours = self.ways.first().map_or(1.0, Way::cost);
        for way in &self.ways {
            let Way { name, tokens, evidence } = way;
            writeln!(
                f,
                "| {name} | {} | {:.1} % | {:.2} | {:.3} |",
                tokens.tokens / self.prompts.max(1) as u64,
                100.0 * tokens.cached_share(),
                way.cost() / ours,
                mean(evidence)
            )?;
        }
        Ok(())
    }
}

/// Plays the conversations of a data set turn by turn and asks their questions outside of them.
///
/// # Errors
/// When the data does not follow the format, or a part of the memory fails.
pub async fn running(parts: &EvalParts, data: &Path) -> Result<Running> {
    let asked = questions(data)?;
    let mut total = Running { data: data_name(data), ..Running::default() };
    for conversation in conversations(data)? {
        let of_it = asked.iter().filter(|question| question.conversation == conversation.id).collect();
        let name = conversation.id.clone();
        let played = Play::new(parts, of_it).all(conversation).await.with_context(|| format!("playing `{name}`"))?;
        total.add(played);
    }
    Ok(total)
}

impl Running {
    fn add(&mut self, other: Self) {
        self.prompts += other.prompts;
        self.moves += other.moves;
        self.hits.extend(other.hits);
        for way in other.ways {
            match self.ways.iter_mut().find(|known| known.name == way.name) {
                Some(known) => {
                    known.tokens.extend(way.tokens);
                    known.evidence.extend(way.evidence);
                }
                None => self.ways.push(way),
            }
        }
    }
}

/// State of a conversation that is being played.
struct Play<'a> {
    parts: &'a EvalParts,
    questions: Vec<&'a Question>,
    options: PromptOptions,
    ours: PromptTokens,
    window: SlidingWindow,
    /// Shares of the evidence in view: of ours and the sliding window.
    evidence: [Vec<f64>; 2],
    before: Option<Prompt>,
    prompts: usize,
    moves: usize,
    hits: Vec<f64>,
}

impl<'a> Play<'a> {
    fn new(parts: &'a EvalParts, questions: Vec<&'a Question>) -> Self {
        Self {
            parts,
            questions,
            options: PromptOptions::new(BUDGET).record(false),
            ours: PromptTokens::default(),
            window: SlidingWindow::new(BUDGET),
            evidence: Default::default(),
            before: None,
            prompts: 0,
            moves: 0,
            hits: Vec::new(),
        }
    }

    async fn all(mut self, conversation: Conversation) -> Result<Running> {
        let bar = Bars::of(conversation.messages.len() as u64, "messages played");
        let mut subject = Subject::empty(conversation.id);
        let mut waiting: Vec<(Message, Option<Timestamp>)> = Vec::new();
        for (message, at) in conversation.messages {
            if message.role == Role::Assistant && !subject.outline.is_empty() | !waiting.is_empty() {
                self.say(&mut subject, std::mem::take(&mut waiting)).await?;
                self.prompt(&subject).await?;
            }
            waiting.push((message, at));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let Self { ours, window, evidence, prompts, moves, hits, .. } = self;
        let [of_ours, of_window] = evidence;
        let ways =
            vec![Way::of("ours, running", ours, of_ours), Way::of(Running::SLIDING_WINDOW, window.prompts, of_window)];
        Ok(Running { data: String::new(), prompts, moves, ways, hits })
    }

    async fn say(&mut self, subject: &mut Subject, messages: Vec<(Message, Option<Timestamp>)>) -> Result<()> {
        let from = subject.outline.len();
        subject.say(self.parts, messages).await?;
        self.parts.retriever.catch_up(&subject.id, &()).await?;
        for node in subject.outline.get(from..).unwrap_or_default() {
            self.window.say(u64::from(node.tokens) + PER_MESSAGE);
        }
        Ok(())
    }

    async fn prompt(&mut self, subject: &Subject) -> Result<()> {
        let conversation = self.parts.memory.conversation(subject.id.clone());
        let prompt = conversation.turn(&self.options).await?;
        self.prompts += 1;
        let shared = self.before.as_ref().map_or(0, |before| shared(before.text(), prompt.text()));
        let cached = self.parts.counter.count(prompt.text().get(..shared).unwrap_or_default());
        self.moves += usize::from(self.before.as_ref().is_some_and(|before| shared + 1 < before.text().len()));
        self.ours.add(prompt.tokens.into(), cached.into());
        self.window.prompt();
        if ASKED_AT.contains(&self.prompts) {
            self.ask(subject).await?;
        }
        self.before = Some(prompt);
        Ok(())
    }

    /// Asks the questions whose evidence is already in the conversation.
    async fn ask(&mut self, subject: &Subject) -> Result<()> {
        let nodes: Vec<Node> = subject.nodes(self.parts).await?;
        let conversation = self.parts.memory.conversation(subject.id.clone());
        let all = || nodes.iter().map(|node| node.id);
        for question in self.questions.clone() {
            if subject.evidence_among(question, all()) != Some(1.0) {
                continue;
            }
            let prompt = conversation.aside(&question.text, &self.options).await?;
            let shown = Shown::of(&prompt, &nodes, &*self.parts.counter)?;
            let among = |ids: Vec<NodeId>| subject.evidence_among(question, ids.into_iter());
            let room = HITS.saturating_sub(self.parts.counter.count(&question.text));
            let hits = pack(self.parts, question, subject, &nodes, room, shown.per_message).await?;
            self.hits.extend(among(hits));
            let newest = |count: usize| all().skip(nodes.len().saturating_sub(count)).collect();
            let in_view = [shown.whole.iter().copied().collect(), newest(self.window.len())];
            for (shares, ids) in self.evidence.iter_mut().zip(in_view) {
                shares.extend(among(ids));
            }
        }
        Ok(())
    }
}

/// Length in bytes of the common prefix of two texts, up to a character boundary.
fn shared(before: &str, now: &str) -> usize {
    let same = before.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
    memory_core::text::floor_char_boundary(now, same)
}
