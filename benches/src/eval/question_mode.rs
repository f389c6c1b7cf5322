//! The question-mode figures of one data set: what fresh contexts keep of the best hits and of the end of the
//! conversation, and what their labels cost.

use std::{fmt, ops::RangeInclusive, path::Path};

use anyhow::Result;
use memory_cli::import::eval::Question;
use memory_core::{Node, Role};
use memory_hooks::Prompt;

use super::{
    Bars, EvalParts,
    contexts::{data_name, pack, sample},
    fresh_context, prepare,
    score::mean,
    shown::{Shown, plain, shows_messages},
    subject::Subject,
};

/// The budget of the figures with a single budget.
const BUDGET: u32 = 4_000;
/// The budgets at which the end of a conversation must be shown.
const BUDGETS: [u32; 6] = [1_000, 2_000, BUDGET, 8_000, 16_000, 32_000];
/// The largest share of a budget that a last turn takes word for word.
const LAST_TURN: f64 = 0.6;
/// The last messages, and the largest share of a budget at which they should be shown.
const RECENT: usize = 10;
const RECENT_SHARE: f64 = 0.5;
/// The least characters of a message's head and tail.
const END: usize = 40;
const SEED: u64 = 7;

/// Measurements on one data set; `None` if no context was of the kind that a figure measures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionMode {
    /// The data set.
    pub data: String,
    /// Questions that were asked.
    pub questions: usize,
    /// Evidence in contexts of 4,000 tokens, divided by that among the best hits alone if a message has the same
    /// overhead there as in the context.
    pub hits_kept: Option<f64>,
    /// Evidence in those contexts, and among the hits, 0..=1.
    pub evidence: [Option<f64>; 2],
    /// The share of contexts of 1,000 to 32,000 tokens that show the last turn as required.
    pub end_verbatim: Option<f64>,
    /// The same for each budget.
    pub end_by_budget: Vec<(u32, Option<f64>)>,
    /// The share of the last ten messages that contexts of 4,000 tokens show word for word, if they take at most half
    /// of the budget.
    pub recent_verbatim: Option<f64>,
    /// Tokens of what is shown word for word, labels included, divided by those of its lines `speaker: text`.
    pub label_overhead: Option<f64>,
}

impl fmt::Display for QuestionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let [ours, hits] = self.evidence.map(show);
        let ends: Vec<_> =
            self.end_by_budget.iter().map(|(budget, share)| format!("{budget} {}", show(*share))).collect();
        write!(
            f,
            "{} ({} questions): hits kept {} ({ours} of {hits}), end verbatim {} ({}), recent verbatim {}, label overhead {}",
            self.data,
            self.questions,
            show(self.hits_kept),
            show(self.end_verbatim),
            ends.join(", "),
            show(self.recent_verbatim),
            show(self.label_overhead),
        )
    }
}

/// Results of single contexts.
#[derive(Default)]
struct Tally {
    ours: Vec<f64>,
    hits: Vec<f64>,
    ends: Vec<(u32, f64)>,
    recent: Vec<f64>,
    labelled: u64,
    bare: u64,
}

/// Measures a sample of at most `questions` of a data set.
///
/// # Errors
/// When the data does not follow the format, or a part of the memory fails.
pub async fn question_mode(
    parts: &EvalParts,
    data: &Path,
    questions: usize,
    demand_model: bool,
) -> Result<QuestionMode> {
    let sample = sample(&[data.to_owned()], Some(questions), SEED)?;
    let subjects = prepare(parts, data, sample.iter().map(|asked| &asked.question), demand_model).await?;
    let mut tally = Tally::default();
    let bar = Bars::of(sample.len() as u64, "questions in contexts");
    for subject in subjects.values() {
        let mut of_subject = sample.iter().filter(|asked| asked.question.conversation == subject.id).peekable();
        if of_subject.peek().is_none() {
            continue;
        }
        let nodes = subject.nodes(parts).await?;
        for asked in of_subject {
            tally.add(parts, &asked.question, subject, &nodes).await?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(tally.figures(data_name(data), sample.len()))
}

impl Tally {
    async fn add(&mut self, parts: &EvalParts, question: &Question, subject: &Subject, nodes: &[Node]) -> Result<()> {
        for budget in BUDGETS {
            let context = fresh_context(parts, question, subject, budget).await?;
            let shown = match &context {
                Some(context) => Shown::of(context, nodes, &*parts.counter)?,
                None => Shown::default(),
            };
            if !nodes.is_empty() {
                let shows_end = context.is_some_and(|context| shows_end(&context, &shown, nodes, budget));
                self.ends.push((budget, f64::from(u8::from(shows_end))));
            }
            if budget == BUDGET {
                self.recent.extend(recent(&shown, nodes));
                self.labelled += u64::from(shown.labelled);
                self.bare += u64::from(shown.bare);
                self.evidence(parts, question, subject, nodes, &shown).await?;
            }
        }
        Ok(())
    }

    /// The evidence in a context, and that among the best hits with labels of the same cost.
    async fn evidence(
        &mut self,
        parts: &EvalParts,
        question: &Question,
        subject: &Subject,
        nodes: &[Node],
        shown: &Shown,
    ) -> Result<()> {
        let room = BUDGET.saturating_sub(parts.counter.count(&question.text));
        let hits = pack(parts, question, subject, nodes, room, shown.per_message).await?;
        let ours = subject.evidence_among(question, shown.whole.iter().copied());
        let hits = subject.evidence_among(question, hits.into_iter());
        self.ours.extend(ours);
        self.hits.extend(hits);
        Ok(())
    }

    fn figures(&self, data: String, questions: usize) -> QuestionMode {
        let evidence = [&self.ours, &self.hits].map(|values| some_mean(values));
        let of_budget = |wanted: u32| {
            let ends = self.ends.iter().filter(|(budget, _)| *budget == wanted);
            (wanted, some_mean(&ends.map(|(_, shown)| *shown).collect::<Vec<_>>()))
        };
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let label_overhead = (self.bare > 0).then(|| self.labelled as f64 / self.bare as f64);
        QuestionMode {
            data,
            questions,
            hits_kept: match evidence {
                [Some(ours), Some(hits)] if hits > 0.0 => Some(ours / hits),
                _ => None,
            },
            evidence,
            end_verbatim: some_mean(&self.ends.iter().map(|(_, shown)| *shown).collect::<Vec<_>>()),
            end_by_budget: BUDGETS.map(of_budget).to_vec(),
            recent_verbatim: some_mean(&self.recent),
            label_overhead,
        }
    }
}

fn some_mean(values: &[f64]) -> Option<f64> {
    Some(mean(values)).filter(|_| !values.is_empty())
}

/// Whether the last user message and what follows it is shown word for word, if it takes at most its share of the
/// budget; otherwise whether its first message begins and its last one ends as required.
fn shows_end(context: &Prompt, shown: &Shown, nodes: &[Node], budget: u32) -> bool {
    let last_user = nodes.iter().rposition(|node| node.message.role == Role::User);
    let turn = nodes.get(last_user.unwrap_or(nodes.len().saturating_sub(1))..).unwrap_or_default();
    if fits(turn, budget, LAST_TURN) {
        return turn.iter().all(|node| shown.whole.contains(&node.id));
    }
    let [Some(first), Some(last)] = [turn.first(), turn.last()] else { return false };
    let ids: RangeInclusive<_> = first.id..=last.id;
    let of_turn = context.pieces.iter().filter(|piece| shows_messages(piece));
    let of_turn = of_turn.filter(|piece| piece.nodes.is_some_and(|run| run.iter().any(|id| ids.contains(&id))));
    let text: Vec<_> = of_turn.map(|piece| plain(&piece.text)).collect();
    let text = text.join("\n");
    let [first, last] = [first, last].map(|node| plain(&node.message.text()));
    let head: String = first.trim().chars().take(END).collect();
    let last: Vec<char> = last.trim().chars().collect();
    let tail: String = last.iter().skip(last.len().saturating_sub(END)).collect();
    text.contains(&head) && text.contains(&tail)
}

/// The share of the last messages that is shown word for word; `None` if they take more than the share for which this
/// is required.
#[expect(clippy::cast_precision_loss, reason = "ten messages")]
fn recent(shown: &Shown, nodes: &[Node]) -> Option<f64> {
    let last = nodes.get(nodes.len().saturating_sub(RECENT)..).filter(|last| !last.is_empty())?;
    let whole = last.iter().filter(|node| shown.whole.contains(&node.id)).count();
    fits(last, BUDGET, RECENT_SHARE).then(|| whole as f64 / last.len() as f64)
}

fn fits(nodes: &[Node], budget: u32, share: f64) -> bool {
    let tokens: u32 = nodes.iter().map(|node| node.tokens).sum();
    f64::from(tokens) <= f64::from(budget) * share
}

#[cfg(test)]
mod tests;
