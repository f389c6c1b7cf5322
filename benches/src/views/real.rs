//! Conversations of real data: fresh contexts for their questions, and the conversations played turn by turn.

use std::path::Path;

use anyhow::{Context, Result};
use memory::{Access, Config, parts::Parts};
use pollster::block_on;

use crate::{
    eval::{self, EvalParts, QuestionMode, Running},
    figure::Figure,
};

/// The data sets of each mode; the worst result counts.
const OF_QUESTIONS: [&str; 3] = ["locomo", "beam100k", "qmsum"];
const PLAYED: [&str; 2] = ["locomo", "beam100k"];
/// The most questions of each set: with 40 of them, one more or less that is found moves the figure by three
/// hundredths.
const QUESTIONS: usize = 228;

/// Measures the figures of question mode, with stores under `directory`. Without the evaluation data there is nothing
/// to measure, and a message states it.
pub(super) fn questions(directory: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
    let modes = each("questions", OF_QUESTIONS, directory, eval, |parts, data| {
        block_on(eval::question_mode(&EvalParts::of(parts), data, QUESTIONS, true))
    })?;
    Ok(of_questions(&modes))
}

fn of_questions(modes: &[QuestionMode]) -> Vec<Figure> {
    let name = |mode: &QuestionMode| format!("of {}, the worst", mode.data);
    let figures = [
        worst("hits_kept_4000", Figure::smallest, modes, name, |mode| mode.hits_kept),
        worst("label_overhead", Figure::largest, modes, name, |mode| mode.label_overhead),
        worst("budget_used_4000", Figure::smallest, modes, name, |mode| mode.budget_used),
        worst("same_view", Figure::smallest, modes, name, |mode| mode.same_view),
    ];
    explained(figures, modes)
}

/// Measures the figures of running mode in the same way.
pub(super) fn running(directory: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
    let played =
        each("running", PLAYED, directory, eval, |parts, data| block_on(eval::running(&EvalParts::of(parts), data)))?;
    let name = |played: &Running| format!("of {}, the worse; 16,000 tokens, recall on", played.data);
    let figures = [
        worst("cached_prompt_share", Figure::smallest, &played, name, |played| Some(played.cached_share())),
        worst("running_evidence_vs_hits", Figure::smallest, &played, name, Running::evidence_vs_hits),
        worst("cost_vs_sliding_window", Figure::largest, &played, name, |played| {
            played.cost_vs(Running::SLIDING_WINDOW)
        }),
    ];
    Ok(explained(figures, &played))
}

/// Measures each data set in a store of its own; none of them unless all are present.
fn each<T, const N: usize>(
    mode: &str,
    sets: [&str; N],
    directory: &Path,
    eval: Option<&Path>,
    measure: impl Fn(&Parts, &Path) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(data) = eval.filter(|data| sets.iter().all(|name| data.join(name).is_dir())) else {
        eprintln!("views: {mode} skipped, {} are not all at hand", sets.join(", "));
        return Ok(Vec::new());
    };
    let mut measured = Vec::new();
    for name in sets {
        eprintln!("views: {mode} of {name}");
        let parts = memory::parts::open(&Config::new(directory.join(format!("{mode}-{name}")), Access::Write))?;
        measured.push(measure(&parts, &data.join(name)).with_context(|| format!("measuring {name}"))?);
    }
    Ok(measured)
}

/// The figure of the data set whose value is the worst; nothing here depends on time or chance.
fn worst<T>(
    key: &str,
    of_all: fn(Vec<Figure>) -> Option<Figure>,
    measured: &[T],
    note: impl Fn(&T) -> String,
    value: impl Fn(&T) -> Option<f64>,
) -> Option<Figure> {
    of_all(measured.iter().filter_map(|one| Some(Figure::single(key, value(one)?, "x", note(one)))).collect())
}

/// The existing figures; the note of the first lists all measurements.
fn explained<T: ToString>(figures: impl IntoIterator<Item = Option<Figure>>, measured: &[T]) -> Vec<Figure> {
    let mut figures: Vec<_> = figures.into_iter().flatten().collect();
    if let Some(first) = figures.first_mut() {
        let all: Vec<_> = measured.iter().map(ToString::to_string).collect();
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
        let figures = of_questions(&modes);
        let values: Vec<_> = figures.iter().map(|figure| (figure.key.as_str(), figure.value)).collect();
        assert_eq!(values, [("hits_kept_4000", 0.9), ("label_overhead", 1.1)]);
        assert!(figures[0].note.contains("of locomo, the worst"));
    }

    #[test]
    fn absent_data_leaves_the_figures_out() {
        let directory = tempfile::tempdir().unwrap();
        assert!(questions(directory.path(), None).unwrap().is_empty());
        assert!(running(directory.path(), Some(directory.path())).unwrap().is_empty());
    }
}
