//! Recall of one conversation and across all: weights on held-out conversations, compared with plain BM25.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Config, parts::Parts};
use pollster::block_on;
use serde::Deserialize;

use crate::{
    eval::{self, Calibration, EvalParts, Fit, HeldOut},
    figure::{Figure, Samples},
};

/// A data set with the figure keys of its recall in one conversation, if that has a bar, and across all.
type Set = (&'static str, Option<&'static str>, &'static str);
/// Sets whose questions are asked, all in one store.
const SETS: [Set; 4] = [
    ("locomo", Some("r10_one_locomo"), "all_vs_one_locomo"),
    ("beam100k", Some("r10_one_beam100k"), "all_vs_one_beam100k"),
    ("qmsum", Some("r10_one_qmsum"), "all_vs_one_qmsum"),
    ("beam500k", None, "all_vs_one_beam500k"),
];
/// Additional sets to fit weights to, if installed, in a separate store.
const MORE: [&str; 2] = ["qmsum-b", "beam500k-b"];
/// The baseline's script in the directory of the data.
const BASELINE: &str = "bm25.py";

/// A store with all sets, and newly fitted weights.
pub(super) struct Across {
    /// Parts over the conversations of all sets.
    pub(super) parts: Parts,
    fit: Fit,
    baseline: BTreeMap<String, Recall>,
    fitted_to: usize,
}

/// R@10 in percent, as the baseline prints it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
struct Recall {
    one: f64,
    all: f64,
}

impl Across {
    /// Imports the sets below `data` into stores under `scratch`, and fits weights to them.
    pub(super) fn begin(scratch: &Path, data: &Path) -> Result<Self> {
        let asked: Vec<PathBuf> = SETS.iter().map(|(name, ..)| data.join(name)).collect();
        let more: Vec<PathBuf> = MORE.iter().map(|name| data.join(name)).filter(|path| path.is_dir()).collect();
        let baseline = baseline(data, &asked)?;
        let [parts, others] =
            ["all", "more"].map(|name| memory::parts::open(&Config::new(scratch.join(name), Access::Write)));
        let (parts, others) = (parts?, others?);
        eprintln!(
            "retrieval: fitting weights to {} sets, tenths of their conversations held out",
            SETS.len() + more.len()
        );
        let stores = [(&EvalParts::of(&parts), &asked[..]), (&EvalParts::of(&others), &more[..])];
        let fit = block_on(eval::fit(&stores))?;
        ensure!(
            fit.weights.contains_key("late"),
            "no token was compared: is the model there, and does it give tokens?"
        );
        Ok(Self { parts, fit, baseline, fitted_to: asked.len() + more.len() })
    }

    pub(super) fn figures(&self) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        let mut beside_baseline = Vec::new();
        for ((name, one, all), held) in SETS.iter().zip(&self.fit.held_out) {
            let HeldOut { data, questions, one: of_one, all: of_all } = held;
            ensure!(data == name, "{data} was measured where {name} was wanted");
            let how = format!(
                "{questions} questions; weights fitted to the other conversations of {} sets (a tenth held out), \
                 candidates by those in the tree; deterministic",
                self.fitted_to
            );
            let percent = |name: &str, share: f64| Samples::one(name, "%", share * 100.0);
            let (of_one, of_all) = (percent("of one", *of_one), percent("of all", *of_all));
            figures.extend(one.map(|key| Figure::absolute(key, &of_one, how.clone())));
            let note = format!("R@10 over {} sets in one store against R@10 in its conversation; {how}", SETS.len());
            figures.push(Figure::ratio(*all, &of_all, &of_one, note));
            let plain = self.baseline.get(*name).with_context(|| format!("{BASELINE} says nothing of {name}"))?;
            let plain = Samples::one("BM25 over all", "%", plain.all);
            let note = format!("{name}, the worst of {} sets; {how}", SETS.len());
            beside_baseline.push(Figure::ratio("all_vs_bm25_worst", &of_all, &plain, note));
        }
        figures.extend(Figure::smallest(beside_baseline));
        let Calibration { error, unanswerable_p90, answerable_p50, .. } = self.fit.calibration;
        let how = format!("questions of {} sets, a tenth of the conversations held out; deterministic", self.fitted_to);
        let moved = "moved to two conversations that do not hold the answer";
        let of_relevance = [
            ("relevance_ece", error, format!("ten hits, ten bins; asked of one conversation, of all, and {moved}")),
            ("relevance_unanswerable_p90", unanswerable_p90, format!("best hit of questions {moved}")),
            (
                "relevance_answerable_p50",
                answerable_p50,
                "best hit of questions asked of their conversation".to_owned(),
            ),
        ];
        figures.extend(of_relevance.map(|(key, value, what)| Figure::single(key, value, "", format!("{what}; {how}"))));
        Ok(figures)
    }
}

/// Recall of plain BM25, by the names of the sets.
fn baseline(data: &Path, sets: &[PathBuf]) -> Result<BTreeMap<String, Recall>> {
    let script = data.join(BASELINE);
    let output = Command::new("python3").arg(&script).args(sets).output();
    let output = output.with_context(|| format!("running {} by python3", script.display()))?;
    ensure!(output.status.success(), "{}: {}", script.display(), String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    printed.lines().map(|line| parse(line).with_context(|| format!("{BASELINE} printed {line:?}"))).collect()
}

/// A line of the baseline: a name, a number of questions and a Python dictionary.
fn parse(line: &str) -> Result<(String, Recall)> {
    let (name, rest) = line.split_once(' ').context("no name")?;
    let (_, recall) = rest.split_once(' ').context("no recall")?;
    Ok((name.to_owned(), serde_json::from_str(&recall.replace('\'', "\""))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_baseline_is_read() {
        let read = parse("beam100k 106 {'one': 58.1, 'all': 37.6}").unwrap();
        assert_eq!(read, ("beam100k".to_owned(), Recall { one: 58.1, all: 37.6 }));
        assert!(parse("beam100k 106").is_err() && parse("beam100k 106 {'one': 58.1}").is_err());
    }
}
