//! The figures of question mode: fresh contexts for questions of real data.

use std::path::Path;

use anyhow::{Context, Result};
use memory::{Access, Config};
use pollster::block_on;

use crate::{
    eval::{EvalParts, QuestionMode, question_mode},
    figure::Figure,
    rounds::Samples,
};

/// The data sets; the worst result counts.
const DATA: [&str; 3] = ["locomo", "beam100k", "qmsum"];
/// The most questions of each set: with 40 of them, one more or less that is found moves the figure by three
/// hundredths.
const QUESTIONS: usize = 228;

/// Measures the figures, with stores under `directory`. Without the evaluation data there is nothing to measure, and a
/// message states it.
pub(super) fn measure(directory: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
    let absent = |data: &Path| DATA.into_iter().find(|name| !data.join(name).is_dir());
    let data = match eval.map(|data| (data, absent(data))) {
        Some((data, None)) => data,
        Some((data, Some(name))) => {
            eprintln!("views: question mode skipped, {} is not at hand", data.join(name).display());
            return Ok(Vec::new());
        }
        None => {
            eprintln!("views: question mode skipped, no evaluation data is at hand");
            return Ok(Vec::new());
        }
    };
    let mut measured = Vec::new();
    for name in DATA {
        eprintln!("views: contexts for {QUESTIONS} questions of {name}");
        let runtime = memory::parts::open(&Config::new(directory.join(format!("questions-{name}")), Access::Write))?;
        let mode = block_on(question_mode(&EvalParts::of(&runtime), &data.join(name), QUESTIONS, true));
        measured.push(mode.with_context(|| format!("asking the questions of {name}"))?);
    }
    Ok(figures(&measured))
}

/// Whether more or less of a figure is better.
type Worst = fn(Vec<Figure>) -> Option<Figure>;

fn figures(measured: &[QuestionMode]) -> Vec<Figure> {
    let all: Vec<_> = measured.iter().map(ToString::to_string).collect();
    let figure = |key, unit, worst: Worst, of: fn(&QuestionMode) -> Option<f64>| {
        let of_data = |mode: &QuestionMode| {
            // Nothing here depends on time or chance.
            let samples = Samples { name: mode.data.clone(), unit, values: vec![of(mode)?] };
            Some(Figure::absolute(key, &samples, format!("of {}, the worst", mode.data)))
        };
        worst(measured.iter().filter_map(of_data).collect())
    };
    let mut figures: Vec<_> = [
        figure("hits_kept_4000", "x", Figure::smallest, |mode| mode.hits_kept),
        figure("label_overhead", "x", Figure::largest, |mode| mode.label_overhead),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(first) = figures.first_mut() {
        first.note = format!("{}\n{}", first.note, all.join("\n"));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(data: &str, [kept, labels]: [Option<f64>; 2]) -> QuestionMode {
        QuestionMode { data: data.to_owned(), hits_kept: kept, label_overhead: labels, ..QuestionMode::default() }
    }

    #[test]
    fn the_worst_data_set_counts() {
        let modes = [mode("locomo", [Some(0.9), Some(1.1)]), mode("beam100k", [Some(0.95), None])];
        let values: Vec<_> = figures(&modes).iter().map(|figure| (figure.key, figure.value)).collect();
        let expected = [("hits_kept_4000", 0.9), ("label_overhead", 1.1)];
        assert_eq!(values, expected);
        assert!(figures(&modes)[0].note.contains("of locomo, the worst"));
    }

    #[test]
    fn absent_data_leaves_the_figures_out() {
        let directory = tempfile::tempdir().unwrap();
        assert!(measure(directory.path(), None).unwrap().is_empty());
        assert!(measure(directory.path(), Some(directory.path())).unwrap().is_empty());
    }
}
