//! The question-mode figures of one data set: evidence that fresh contexts keep of the best hits, and cost of their
//! labels.

use std::{fmt, path::Path};

use anyhow::Result;
use memory_core::Node;

use super::{
    EvalParts, Question,
    contexts::{data_name, pack, sample},
    fresh_context, prepare, progress_bar,
    score::mean,
    shown::Shown,
    subject::Subject,
};

/// The budget of the contexts.
const BUDGET: u32 = 4_000;
/// Budgets of the views that are made before a context is asked for again.
const OTHERS: [u32; 3] = [1_000, 8_000, 2_000];
const SEED: u64 = 7;

/// Measurements on one data set. A figure is `None` if no context was of the kind that it measures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionMode {
    /// The data set.
    pub data: String,
    /// Questions that were asked.
    pub questions: usize,
    /// Evidence in contexts of 4,000 tokens, divided by the evidence among the best hits packed alone, with the
    /// context's mean overhead per message.
    pub hits_kept: Option<f64>,
    /// Evidence in those contexts, and among the packed hits, 0..=1.
    pub evidence: [Option<f64>; 2],
    /// Tokens of messages shown verbatim, with labels, divided by the tokens of the same messages as lines `speaker:
    /// text`.
    pub label_overhead: Option<f64>,
    /// Mean share of the budget that contexts of conversations take that do not fit, 0..=1.
    pub budget_used: Option<f64>,
    /// Share of the contexts that are the same after views at other budgets, 0..=1.
    pub same_view: Option<f64>,
}

impl fmt::Display for QuestionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let [ours, hits] = self.evidence.map(show);
        write!(
            f,
            "{} ({} questions): hits kept {} ({ours} of {hits}), label overhead {}, budget used {}, same view {}",
            self.data,
            self.questions,
            show(self.hits_kept),
            show(self.label_overhead),
            show(self.budget_used),
            show(self.same_view),
        )
    }
}

/// Results of the single contexts.
#[derive(Default)]
struct Tally {
    ours: Vec<f64>,
    hits: Vec<f64>,
    labelled: u64,
    bare: u64,
    used: Vec<f64>,
    same: Vec<f64>,
}

/// Measures a sample of at most `questions` questions of a data set.
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
    let bar = progress_bar(sample.len() as u64, "questions in contexts");
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
        let context = fresh_context(parts, question, subject, BUDGET).await?;
        let shown = match &context {
            Some(context) => Shown::of(context, nodes, &*parts.counter)?,
            None => Shown::default(),
        };
        self.labelled += u64::from(shown.labelled);
        self.bare += u64::from(shown.bare);
        if let Some(context) = context.filter(|context| context.full_tokens > u64::from(BUDGET)) {
            self.used.push(f64::from(context.tokens) / f64::from(BUDGET));
            for budget in OTHERS {
                fresh_context(parts, question, subject, budget).await?;
            }
            let again = fresh_context(parts, question, subject, BUDGET).await?;
            self.same.push(f64::from(u8::from(again.is_some_and(|again| again.text() == context.text()))));
        }
        let room = BUDGET.saturating_sub(parts.counter.count(&question.text));
        let hits = pack(parts, question, subject, nodes, room, shown.per_message).await?;
        self.hits.extend(subject.evidence_among(question, hits.into_iter()));
        self.ours.extend(subject.evidence_among(question, shown.whole.into_iter()));
        Ok(())
    }

    fn figures(&self, data: String, questions: usize) -> QuestionMode {
        let evidence = [&self.ours, &self.hits].map(|values| Some(mean(values)).filter(|_| !values.is_empty()));
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
            label_overhead,
            budget_used: Some(mean(&self.used)).filter(|_| !self.used.is_empty()),
            same_view: Some(mean(&self.same)).filter(|_| !self.same.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests;
