//! Fits the ranker's weights: a weighted sum of the signals that a retriever reports, by listwise softmax.

mod examples;
mod relevance;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::Range,
    path::PathBuf,
    thread,
};

use anyhow::{Context, Result, ensure};

pub use self::relevance::Calibration;
use self::{
    examples::{Example, Place, Row},
    relevance::{INPUTS, Inputs, Tested, calibrate},
};
use super::{Asked, EvalParts, contexts, progress_bar};

const STEPS: u32 = 500;
const STEP_SIZE: f64 = 0.05;
/// Strength of the regularization. Weights stay small, and with little data those of a kind stay near the common ones.
const L2: f64 = 1e-3;
/// Parts into which the conversations of each data directory are dealt; each is held out once.
const FOLDS: usize = 10;
/// Weight of the neighbours' chances in a score, in conversations of more than two people.
const OF_NEIGHBOURS: f64 = 0.2;

/// Fitted weights of one retriever, with their quality on held-out conversations.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Score that a unit of each signal adds: with an agent, between two people, among more.
    pub weights: BTreeMap<Cow<'static, str>, [f64; KINDS]>,
    /// Quality for each data directory, in the order of the stores.
    pub held_out: Vec<HeldOut>,
    /// Weights of what the probability of a hit depends on, by name.
    pub relevance: BTreeMap<&'static str, f64>,
    /// Quality of the probabilities on held-out conversations.
    pub calibration: Calibration,
}

/// Quality of weights on conversations that were held out from the fit.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// The data directory.
    pub data: String,
    /// Number of questions.
    pub questions: usize,
    /// The share of their evidence among ten hits of their conversation, 0..=1.
    pub one: f64,
    /// The same among ten hits of all conversations of its store.
    pub all: f64,
}

/// Kinds of conversation: with an agent, between two people, among more.
const KINDS: usize = 3;

/// Hits whose probabilities are fitted.
const TOP: usize = 10;

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
        let _ = writeln!(out, "//! {what}, R@10 with conversations held out, asked of one conversation and of all:");
        for HeldOut { data, questions, one, all } in &fit.held_out {
            let (one, all) = (one * 100.0, all * 100.0);
            let _ = writeln!(out, "//! {data} {one:.1}, {all:.1} ({questions} questions).");
        }
        let Calibration { error, unanswerable_p90, answerable_p50, short: [no, yes] } = fit.calibration;
        let _ = writeln!(
            out,
            "//! Relevance: expected calibration error {error:.3}; best hit of moved questions {unanswerable_p90:.3} (90th \
             percentile),\n//! of answered ones {answerable_p50:.3} (median); among ten messages {no:.3} and {yes:.3}."
        );
    }
    let _ = writeln!(
        out,
        "\n/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; between\n\
         /// two people, the same; among more, the same.\n\
         pub(super) const WEIGHTS: [(&str, [f32; 9]); {}] = [",
        with_tokens.weights.len()
    );
    for name in with_tokens.weights.keys() {
        let of = |kind: usize| fits.map(|(_, fit)| fit.weights.get(name).and_then(|kinds| kinds.get(kind)).copied());
        let columns = (0..KINDS).flat_map(of).map(|weight| format!("{:.2}", weight.unwrap_or_default()));
        let _ = writeln!(out, "    (\"{name}\", [{}]),", columns.collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(
        out,
        "];\n\n/// Weights of the logistic function of relevance by the names of the evidence, with vectors of tokens, with \
         vectors and\n/// by words alone.\npub(super) const RELEVANCE: [(&str, [f32; 3]); {}] = [",
        INPUTS.len()
    );
    for name in INPUTS {
        let numbers = fits.map(|(_, fit)| format!("{:.3}", fit.relevance.get(name).copied().unwrap_or_default()));
        let _ = writeln!(out, "    (\"{name}\", [{}]),", numbers.join(", "));
    }
    out + "];\n"
}

/// Fits weights to the signals of the retrievers, over the data of all `stores` together, each question asked of its
/// conversation and of all conversations of its store, and measures them on conversations that they were not fitted to.
///
/// # Errors
/// When data cannot be read, a search fails, or no question has evidence.
pub async fn fit(stores: &[(&EvalParts, &[PathBuf])]) -> Result<Fit> {
    let (names, examples) = examples::of(stores).await?;
    ensure!(
        examples.iter().any(|example| example.evidence > 0),
        "no question of the data has evidence among the candidates"
    );
    let mut seen = BTreeMap::<usize, Vec<&str>>::new();
    for example in &examples {
        let of_data = seen.entry(example.data).or_default();
        if !of_data.contains(&&*example.conversation) {
            of_data.push(&example.conversation);
        }
    }
    let fold = |example: &Example| {
        let of_data = seen.get(&example.data).map(Vec::as_slice).unwrap_or_default();
        of_data.iter().position(|name| *name == example.conversation).unwrap_or_default() % FOLDS
    };
    let measure = |number: usize| -> (Vec<(usize, Place, f64)>, Vec<Tested>) {
        let (held_out, rest): (Vec<_>, Vec<_>) = examples.iter().partition(|example| fold(example) == number);
        let weights = Weights::of(&rest, names.len());
        let recalled =
            held_out.iter().filter_map(|example| Some((example.data, example.place, example.recall(&weights)?)));
        let tested = |example: &&Example| Tested {
            place: example.place,
            fold: number,
            is_answered: example.evidence > 0,
            hits: example.ranked(&weights),
        };
        (recalled.collect(), held_out.iter().map(tested).collect())
    };
    let bar = progress_bar(FOLDS as u64 + 1, "fits");
    let measure_all = |folds: Range<usize>| {
        let measured = folds.map(|number| {
            bar.inc(1);
            measure(number)
        });
        measured.collect::<Vec<_>>()
    };
    let halves = thread::scope(|scope| {
        let other = scope.spawn(|| measure_all(0..FOLDS / 2));
        let mut tested = measure_all(FOLDS / 2..FOLDS);
        tested.extend(other.join().ok()?);
        Some(tested)
    });
    let (recalls, tested): (Vec<_>, Vec<_>) = halves.context("a fit ended early")?.into_iter().unzip();
    let (recalls, tested): (Vec<_>, Vec<_>) = (recalls.concat(), tested.into_iter().flatten().collect());
    let all: Vec<_> = examples.iter().collect();
    let weights = Weights::of(&all, names.len());
    bar.finish_and_clear();
    let directories = stores.iter().flat_map(|(_, data)| *data);
    let held_out = directories.enumerate().map(|(number, path)| {
        #[expect(clippy::cast_precision_loss, reason = "some hundred questions")]
        let mean = |asked: Asked| {
            let of_it = recalls.iter().filter(|(data, place, _)| (*data, *place) == (number, Place::Own(asked)));
            let (sum, count) =
                of_it.map(|(.., recall)| recall).fold((0.0, 0usize), |(sum, count), recall| (sum + recall, count + 1));
            (sum / count.max(1) as f64, count)
        };
        let ((one, questions), (all, _)) = (mean(Asked::One), mean(Asked::All));
        HeldOut { data: contexts::data_name(path), questions, one, all }
    });
    let held_out = held_out.collect();
    let of_kinds = |column: usize| std::array::from_fn(|kind| weights.weight(kind, column));
    let weights = names.into_iter().enumerate().map(|(column, name)| (name, of_kinds(column))).collect();
    let (relevance, calibration) = calibrate(&tested);
    Ok(Fit { weights, held_out, relevance: INPUTS.into_iter().zip(relevance).collect(), calibration })
}

impl Example {
    /// The scores of the candidates, without the contribution of their neighbours.
    fn scores(&self, weights: &Weights) -> Vec<f64> {
        let score =
            |row: &Row| row.values.iter().zip(weights.of_kind(row.kind)).map(|(value, weight)| value * weight).sum();
        self.candidates.iter().map(score).collect()
    }

    /// The candidates with their scores, best first.
    fn order(&self, weights: &Weights) -> Vec<(f64, &Row)> {
        let scores = self.scores(weights);
        let in_groups = self.candidates.iter().zip(&scores).filter(|(row, _)| row.kind == KINDS - 1);
        let known: HashMap<_, _> = in_groups.map(|(row, score)| ((&row.conversation, row.node), *score)).collect();
        let with_neighbours = |(row, score): (&Row, &f64)| {
            if row.kind != KINDS - 1 {
                return *score;
            }
            let beside = row.node.previous().into_iter().chain([row.node.next()]);
            let others = beside.filter_map(|node| known.get(&(&row.conversation, node)));
            score + (OF_NEIGHBOURS * others.map(|other| (other - score).exp()).sum::<f64>()).ln_1p()
        };
        let mut order: Vec<_> =
            self.candidates.iter().zip(&scores).map(|pair| (with_neighbours(pair), pair.0)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        order
    }

    /// The part of the evidence among the ten best hits; `None` if there is none.
    fn recall(&self, weights: &Weights) -> Option<f64> {
        let order = self.order(weights);
        let found = order.iter().take(TOP).filter(|(_, row)| row.is_evidence).count();
        #[expect(clippy::cast_precision_loss, reason = "some turns")]
        let part = found as f64 / self.evidence as f64;
        (self.evidence > 0).then_some(part)
    }

    /// Inputs to the probability of each of the ten best hits, and true for evidence.
    fn ranked(&self, weights: &Weights) -> Vec<(Inputs, bool)> {
        let order = self.order(weights);
        let best = order.first().map_or(0.0, |(score, _)| *score);
        let sum: f64 = order.iter().map(|(score, _)| (score - best).exp()).sum();
        let describe = |(score, row): &(f64, &Row)| {
            let kinds = (0..KINDS).map(|kind| f64::from(u8::from(row.kind == kind)));
            let all = row.bearing.into_iter().chain([score - best, score - best - sum.ln()]).chain(kinds);
            let mut inputs = Inputs::default();
            inputs.iter_mut().zip(all).for_each(|(input, value)| *input = value);
            (inputs, row.is_evidence)
        };
        order.iter().take(TOP).map(describe).collect()
    }

    /// Adds the gradient of the cross-entropy between the softmax of the scores and an even spread over the evidence.
    fn add_gradient(&self, weights: &Weights, gradient: &mut [Vec<f64>; KINDS], part: f64) {
        let positives = self.candidates.iter().filter(|row| row.is_evidence).count();
        if positives == 0 {
            return;
        }
        let mut scores = self.scores(weights);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scores.iter_mut().for_each(|score| *score = (*score - most).exp());
        let sum: f64 = scores.iter().sum();
        for (row, score) in self.candidates.iter().zip(scores) {
            #[expect(clippy::cast_precision_loss, reason = "some turns")]
            let target = if row.is_evidence { 1.0 / positives as f64 } else { 0.0 };
            let Some(gradient) = gradient.get_mut(row.kind) else { continue };
            for (gradient, value) in gradient.iter_mut().zip(&row.values) {
                *gradient += part * (score / sum - target) * value;
            }
        }
    }
}

/// The weights of each kind of conversation: the common ones plus the kind's difference.
struct Weights {
    kinds: [Vec<f64>; KINDS],
}

/// Fitted parameters: the common weights, then the difference of each kind.
type Parameters = [Vec<f64>; 1 + KINDS];

impl Weights {
    /// Minimizes the mean loss with Adam (Kingma and Ba, 2015), all examples at once, from zero. Each data directory
    /// counts equally in each scope, however many questions it has, because none of them is like the conversations of
    /// users. The common weights are fitted on all kinds, because each kind has little data.
    fn of(examples: &[&Example], columns: usize) -> Self {
        const MOMENTUM: f64 = 0.9;
        const MEMORY: f64 = 0.999;
        let zero = || -> Parameters { std::array::from_fn(|_| vec![0.0; columns]) };
        let (mut fitted, mut first, mut second) = (zero(), zero(), zero());
        let is_fitted = |example: &&Example| example.evidence > 0 && matches!(example.place, Place::Own(_));
        let examples: Vec<_> = examples.iter().copied().filter(is_fitted).collect();
        let mut sizes: BTreeMap<(usize, Place), f64> = BTreeMap::new();
        examples.iter().for_each(|example| *sizes.entry((example.data, example.place)).or_default() += 1.0);
        #[expect(clippy::cast_precision_loss, reason = "a few directories")]
        let all = sizes.len() as f64;
        let part = |example: &Example| sizes.get(&(example.data, example.place)).map_or(0.0, |size| 1.0 / size / all);
        for step in 1..=STEPS {
            let weights = Self::sums(&fitted);
            let mut of_kinds: [Vec<f64>; KINDS] = std::array::from_fn(|_| vec![0.0; columns]);
            examples.iter().for_each(|example| example.add_gradient(&weights, &mut of_kinds, part(example)));
            let [one, two, three] = &of_kinds;
            let shared = one.iter().zip(two).zip(three).map(|((one, two), three)| one + two + three).collect();
            let gradients: Parameters = [shared, one.clone(), two.clone(), three.clone()];
            let unbias = |memory: f64| 1.0 - memory.powf(f64::from(step));
            let groups = fitted.iter_mut().zip(gradients).zip(&mut first).zip(&mut second);
            for (((fitted, gradients), first), second) in groups {
                for (((weight, gradient), first), second) in fitted.iter_mut().zip(gradients).zip(first).zip(second) {
                    let gradient = gradient + 2.0 * L2 * *weight;
                    *first = MOMENTUM * *first + (1.0 - MOMENTUM) * gradient;
                    *second = MEMORY * *second + (1.0 - MEMORY) * gradient * gradient;
                    *weight -= STEP_SIZE * (*first / unbias(MOMENTUM)) / ((*second / unbias(MEMORY)).sqrt() + 1e-8);
                }
            }
        }
        Self::sums(&fitted)
    }

    fn sums([shared, distances @ ..]: &Parameters) -> Self {
        let sum =
            |distance: &Vec<f64>| shared.iter().zip(distance).map(|(shared, distance)| shared + distance).collect();
        Self { kinds: distances.each_ref().map(sum) }
    }

    fn of_kind(&self, kind: usize) -> &[f64] {
        self.kinds.get(kind).map_or(&[], Vec::as_slice)
    }

    fn weight(&self, kind: usize, column: usize) -> f64 {
        self.of_kind(kind).get(column).copied().unwrap_or_default()
    }
}
