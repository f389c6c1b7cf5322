//! Fits the ranker's weights: a weighted sum of the signals that a retriever reports, by listwise softmax.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context, Result, ensure};
use memory_core::{Hit, Query, Scope};

use super::{Bars, EvalParts, import, index, questions};

/// Hits of a question that are used: those that the ranker considers.
const CANDIDATES: usize = 200;
const STEPS: u32 = 400;
const STEP_SIZE: f64 = 0.05;
/// Regularization: keeps weights small for which there is little data.
const L2: f64 = 1e-3;

/// Weights of one retriever, by the names of their signals, and how well they rank.
#[derive(Clone, Debug)]
pub struct Fit {
    /// What a unit of each signal adds to a score, in conversations with an agent and among people.
    pub weights: BTreeMap<Cow<'static, str>, [f64; 2]>,
    /// For each data directory: its name, its number of questions, and the part of their evidence among ten hits, by
    /// weights that were fitted without their conversation.
    pub held_out: Vec<(String, usize, f64)>,
}

/// The signal that only conversations with an agent have.
const OF_AGENTS: &str = "by_user";

/// The signal of a hit that was compared by token vectors.
const LATE: &str = "late";

/// Takes the place of signals that were not measured for a hit; not a signal itself.
const UNMEASURED: &str = "unmeasured";

/// Prints weights in the form of `memory-search/src/ranker/weights.rs`, to be read and put there: with token vectors,
/// with vectors, and by words alone.
#[must_use]
pub fn weights_file(with_tokens: &Fit, with_vectors: &Fit, by_words: &Fit) -> String {
    use std::fmt::Write as _;

    let mut out = String::from(
        "//! The weights of the ranker, as `cargo xtask eval --fit` writes them; read them before they are committed.\n//!\n",
    );
    let fits = [("With vectors of tokens", with_tokens), ("With vectors", with_vectors), ("By words alone", by_words)];
    for (what, fit) in fits {
        // Writing to a string cannot fail.
        let held_out = fit.held_out.iter();
        let held_out =
            held_out.map(|(data, count, recall)| format!("{data} {:.1} ({count} questions)", recall * 100.0));
        let held_out: Vec<_> = held_out.collect();
        let _ =
            writeln!(out, "//! {what}, R@10 with each conversation held out in turn:\n//! {}.", held_out.join(", "));
    }
    let _ = writeln!(
        out,
        "\n/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; among\n\
         /// people, the same.\n\
         pub(super) const WEIGHTS: [(&str, [f32; 6]); {}] = [",
        with_tokens.weights.len()
    );
    for name in with_tokens.weights.keys() {
        let of = |kind: usize| fits.map(|(_, fit)| fit.weights.get(name).and_then(|pair| pair.get(kind)).copied());
        let columns = [of(0), of(1)].concat().into_iter().map(|weight| format!("{:.2}", weight.unwrap_or_default()));
        let _ = writeln!(out, "    (\"{name}\", [{}]),", columns.collect::<Vec<_>>().join(", "));
    }
    out + "];\n"
}

/// A question's candidates.
struct Example {
    data: usize,
    with_agent: bool,
    conversation: String,
    /// Values of the signals, a row for each candidate.
    rows: Vec<Vec<f64>>,
    is_evidence: Vec<bool>,
    /// Turns of evidence, including those that are not candidates.
    evidence: usize,
}

/// Fits weights to the signals of `retriever`, over all `data` together, and measures them on conversations that they
/// were not fitted to.
///
/// # Errors
/// When data cannot be read, a search fails, or no question has evidence.
pub async fn fit(parts: &EvalParts, data: &[PathBuf]) -> Result<Fit> {
    let (names, examples) = examples(parts, data).await?;
    ensure!(!examples.is_empty(), "no question of the data has evidence among the candidates");
    let all: Vec<_> = examples.iter().collect();
    let weights = Sums::of(&all, names.len());
    let folds: BTreeSet<_> = examples.iter().map(|example| (example.data, &*example.conversation)).collect();
    let mut sums = vec![(0, 0.0); data.len()];
    for (of, conversation) in folds {
        let is_held_out = |example: &&Example| (example.data, &*example.conversation) == (of, conversation);
        let (held_out, rest): (Vec<_>, Vec<_>) = examples.iter().partition(is_held_out);
        let weights = Sums::of(&rest, names.len());
        if let Some((questions, recall)) = sums.get_mut(of) {
            *questions += held_out.len();
            *recall += held_out.iter().map(|example| example.recall(weights.of_kind(example.with_agent))).sum::<f64>();
        }
    }
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    #[expect(clippy::cast_precision_loss, reason = "some hundred questions")]
    let mean =
        |(path, (questions, sum)): (&PathBuf, (usize, f64))| (name(path), questions, sum / questions.max(1) as f64);
    Ok(Fit {
        weights: names.into_iter().zip(weights.agent.into_iter().zip(weights.people).map(<[f64; 2]>::from)).collect(),
        held_out: data.iter().zip(sums).map(mean).collect(),
    })
}

async fn examples(parts: &EvalParts, data: &[PathBuf]) -> Result<(Vec<Cow<'static, str>>, Vec<Example>)> {
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
            let query = Query::new(&question.text, scope).limit(CANDIDATES);
            let hits =
                parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
            let mut hits = hits.hits;
            // Hits that were not compared by token vectors come after those that were.
            if hits.iter().any(is_late) {
                hits.retain(is_late);
            }
            let is_evidence = hits
                .iter()
                .map(|hit| subject.key(hit.node.id).is_some_and(|key| question.evidence.contains(key.as_str())));
            let is_evidence: Vec<_> = is_evidence.collect();
            found.push((number, question, hits, is_evidence));
        }
        bar.finish_and_clear();
    }
    let signals = found.iter().flat_map(|(_, _, hits, _)| hits).flat_map(|hit| &hit.signals);
    let mut names: Vec<Cow<'static, str>> = Vec::new();
    signals.for_each(|signal| {
        if signal.name != UNMEASURED && !names.contains(&signal.name) {
            names.push(signal.name.clone())
        }
    });
    let examples = found.into_iter().map(|(data, question, hits, is_evidence)| {
        let row = |hit: &Hit| {
            let value = |name: &str| hit.signals.iter().find(|signal| signal.name == name).map_or(0.0, |s| s.value);
            names.iter().map(|name| f64::from(value(name))).collect()
        };
        Example {
            data,
            with_agent: hits.iter().flat_map(|hit| &hit.signals).any(|signal| signal.name == OF_AGENTS),
            conversation: question.conversation.to_string(),
            rows: hits.iter().map(row).collect(),
            is_evidence,
            evidence: question.evidence.len(),
        }
    });
    let examples = examples.collect();
    Ok((names, examples))
}

fn is_late(hit: &Hit) -> bool {
    hit.signals.iter().any(|signal| signal.name == LATE)
}

impl Example {
    fn scores(&self, weights: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().zip(weights).map(|(value, weight)| value * weight).sum()).collect()
    }

    /// The part of the evidence among the ten best hits.
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

/// One sum for each kind of conversation.
struct Sums {
    agent: Vec<f64>,
    people: Vec<f64>,
}

impl Sums {
    fn of(examples: &[&Example], columns: usize) -> Self {
        let (agent, people): (Vec<_>, Vec<_>) = examples.iter().copied().partition(|example| example.with_agent);
        Self { agent: solve(&agent, columns), people: solve(&people, columns) }
    }

    fn of_kind(&self, with_agent: bool) -> &[f64] {
        if with_agent { &self.agent } else { &self.people }
    }
}

/// Minimizes the mean loss with Adam (Kingma and Ba, 2015), all examples at once, from zero. Each data directory counts
/// equally, however many questions it has, because the conversations that the weights will be used on are like none of
/// them.
fn solve(examples: &[&Example], columns: usize) -> Vec<f64> {
    const MOMENTUM: f64 = 0.9;
    const MEMORY: f64 = 0.999;
    let (mut weights, mut first, mut second) = (vec![0.0; columns], vec![0.0; columns], vec![0.0; columns]);
    let mut sizes: BTreeMap<usize, f64> = BTreeMap::new();
    examples.iter().for_each(|example| *sizes.entry(example.data).or_default() += 1.0);
    #[expect(clippy::cast_precision_loss, reason = "a few directories")]
    let all = sizes.len() as f64;
    let part = |example: &Example| sizes.get(&example.data).map_or(0.0, |size| 1.0 / size / all);
    for step in 1..=STEPS {
        let mut gradient: Vec<_> = weights.iter().map(|weight| 2.0 * L2 * weight).collect();
        examples.iter().for_each(|example| example.add_gradient(&weights, &mut gradient, part(example)));
        let unbias = |memory: f64| 1.0 - memory.powf(f64::from(step));
        for (((weight, gradient), first), second) in weights.iter_mut().zip(gradient).zip(&mut first).zip(&mut second) {
            *first = MOMENTUM * *first + (1.0 - MOMENTUM) * gradient;
            *second = MEMORY * *second + (1.0 - MEMORY) * gradient * gradient;
            *weight -= STEP_SIZE * (*first / unbias(MOMENTUM)) / ((*second / unbias(MEMORY)).sqrt() + 1e-8);
        }
    }
    weights
}
