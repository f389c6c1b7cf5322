//! Fits the ranker's weights: a weighted sum of the signals that a retriever reports, by listwise softmax.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use anyhow::{Context, Result, ensure};
use memory_core::{Query, Scope};

use super::{Bars, EvalParts, import, index, questions};

/// Hits of a question that take part: those that the ranker looks at.
const CANDIDATES: usize = 200;
const STEPS: u32 = 400;
const STEP_SIZE: f64 = 0.05;
/// What keeps weights small that the data say little of.
const L2: f64 = 1e-3;

/// Weights by the name of their signal, and how well they rank.
#[derive(Clone, Debug)]
pub struct Fit {
    /// What a unit of each signal adds to a score.
    pub weights: BTreeMap<&'static str, f64>,
    /// For each data directory: questions, and the part of their evidence among ten hits, by weights that were fitted
    /// without their conversation.
    pub held_out: Vec<(String, usize, f64)>,
}

impl fmt::Display for Fit {
    /// A line for each weight, and for each data directory how well weights do that have not seen the conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, weight) in &self.weights {
            writeln!(f, "{name:<20} {weight:>7.3}")?;
        }
        for (data, questions, recall) in &self.held_out {
            write!(f, "\n{data}: R@10 {:.1} over {questions} questions, each conversation held out", recall * 100.0)?;
        }
        Ok(())
    }
}

/// A question's candidates.
struct Example {
    data: usize,
    conversation: String,
    /// Values of the signals, a row for each candidate.
    rows: Vec<Vec<f64>>,
    is_evidence: Vec<bool>,
    /// Turns of evidence, those that are no candidates too.
    evidence: usize,
}

/// Fits weights to the signals of `retriever`, over all `data` together, and tells how they do on conversations that
/// they were not fitted to.
///
/// # Errors
/// When data cannot be read, a search fails, or no question has evidence.
pub async fn fit(parts: &EvalParts, data: &[PathBuf]) -> Result<Fit> {
    let (names, examples) = examples(parts, data).await?;
    ensure!(!examples.is_empty(), "no question of the data has evidence among the candidates");
    let all: Vec<_> = examples.iter().collect();
    let weights = solve(&all, names.len());
    let folds: BTreeSet<_> = examples.iter().map(|example| (example.data, &*example.conversation)).collect();
    let mut sums = vec![(0, 0.0); data.len()];
    for (of, conversation) in folds {
        let is_held_out = |example: &&Example| (example.data, &*example.conversation) == (of, conversation);
        let (held_out, rest): (Vec<_>, Vec<_>) = examples.iter().partition(is_held_out);
        let weights = solve(&rest, names.len());
        if let Some((questions, recall)) = sums.get_mut(of) {
            *questions += held_out.len();
            *recall += held_out.iter().map(|example| example.recall(&weights)).sum::<f64>();
        }
    }
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    #[expect(clippy::cast_precision_loss, reason = "some hundred questions")]
    let mean = |(path, (questions, sum)): (&PathBuf, (usize, f64))| (name(path), questions, sum / questions.max(1) as f64);
    Ok(Fit {
        weights: names.into_iter().zip(weights).collect(),
        held_out: data.iter().zip(sums).map(mean).collect(),
    })
}

async fn examples(parts: &EvalParts, data: &[PathBuf]) -> Result<(Vec<&'static str>, Vec<Example>)> {
    let mut found = Vec::new();
    for (number, data) in data.iter().enumerate() {
        let questions = questions::read(&data.join("queries.jsonl"))?;
        let subjects = import(parts, data).await?;
        index(parts, subjects.values()).await?;
        let bar = Bars::of(questions.len() as u64, "questions");
        for question in questions {
            bar.inc(1);
            let Some(subject) = subjects.get(&question.conversation) else { continue };
            if question.evidence.is_empty() {
                continue;
            }
            let scope = Scope::one(&question.conversation);
            let query = Query { text: question.text.clone(), scope, limit: CANDIDATES };
            let hits = parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
            let is_evidence = hits.hits.iter().map(|hit| {
                subject.key(hit.node).is_some_and(|key| question.evidence.contains(key.as_str()))
            });
            let is_evidence: Vec<_> = is_evidence.collect();
            found.push((number, question, hits.hits, is_evidence));
        }
        bar.finish_and_clear();
    }
    let signals = found.iter().flat_map(|(_, _, hits, _)| hits).flat_map(|hit| &hit.signals);
    let names: BTreeSet<_> = signals.map(|signal| signal.name).collect();
    let names: Vec<_> = names.into_iter().collect();
    let examples = found.into_iter().map(|(data, question, hits, is_evidence)| {
        let row = |hit: &memory_core::Hit| {
            let value = |name: &&str| hit.signals.iter().find(|signal| signal.name == *name).map_or(0.0, |s| s.value);
            names.iter().map(|name| f64::from(value(name))).collect()
        };
        Example {
            data,
            conversation: question.conversation.to_string(),
            rows: hits.iter().map(row).collect(),
            is_evidence,
            evidence: question.evidence.len(),
        }
    });
    let examples = examples.collect();
    Ok((names, examples))
}

impl Example {
    fn scores(&self, weights: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().zip(weights).map(|(value, weight)| value * weight).sum()).collect()
    }

    /// The part of the evidence among the ten best.
    fn recall(&self, weights: &[f64]) -> f64 {
        let mut order: Vec<_> = self.scores(weights).into_iter().zip(&self.is_evidence).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = order.iter().take(10).filter(|(_, is_evidence)| **is_evidence).count();
        #[expect(clippy::cast_precision_loss, reason = "some turns")]
        let part = found as f64 / self.evidence.max(1) as f64;
        part
    }

    /// Adds the gradient of the cross-entropy between the softmax of the scores and an even spread over the evidence.
    fn add_gradient(&self, weights: &[f64], gradient: &mut [f64], part: f64) {
        let positives = self.is_evidence.iter().filter(|is| **is).count();
        if positives == 0 {
            return;
        }
        let mut scores = self.scores(weights);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scores.iter_mut().for_each(|score| *score = (*score - most).exp());
        let sum: f64 = scores.iter().sum();
        for ((row, score), is_evidence) in self.rows.iter().zip(scores).zip(&self.is_evidence) {
            #[expect(clippy::cast_precision_loss, reason = "some turns")]
            let target = if *is_evidence { 1.0 / positives as f64 } else { 0.0 };
            for (gradient, value) in gradient.iter_mut().zip(row) {
                *gradient += part * (score / sum - target) * value;
            }
        }
    }
}

/// Minimizes the mean loss with Adam (Kingma and Ba, 2015), all examples at once, from zero.
fn solve(examples: &[&Example], columns: usize) -> Vec<f64> {
    const MOMENTUM: f64 = 0.9;
    const MEMORY: f64 = 0.999;
    let (mut weights, mut first, mut second) = (vec![0.0; columns], vec![0.0; columns], vec![0.0; columns]);
    #[expect(clippy::cast_precision_loss, reason = "some hundred examples")]
    let part = 1.0 / examples.len().max(1) as f64;
    for step in 1..=STEPS {
        let mut gradient: Vec<_> = weights.iter().map(|weight| 2.0 * L2 * weight).collect();
        examples.iter().for_each(|example| example.add_gradient(&weights, &mut gradient, part));
        let unbias = |memory: f64| 1.0 - memory.powf(f64::from(step));
        for (((weight, gradient), first), second) in weights.iter_mut().zip(gradient).zip(&mut first).zip(&mut second) {
            *first = MOMENTUM * *first + (1.0 - MOMENTUM) * gradient;
            *second = MEMORY * *second + (1.0 - MEMORY) * gradient * gradient;
            *weight -= STEP_SIZE * (*first / unbias(MOMENTUM)) / ((*second / unbias(MEMORY)).sqrt() + 1e-8);
        }
    }
    weights
}
