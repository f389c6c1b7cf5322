//! The figures of running mode: conversations of real data played turn by turn.

use std::path::Path;

use anyhow::{Context, Result};
use memory::{Access, Config};
use pollster::block_on;

use crate::{
    eval::{EvalParts, Running, running},
    figure::Figure,
    rounds::Samples,
};

/// The data sets; the worse result counts.
const DATA: [&str; 2] = ["locomo", "beam100k"];

/// Measures the figures, with stores under `directory`. Without the evaluation data there is nothing to measure, and a
/// message states it.
pub(super) fn measure(directory: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
    let Some(data) = eval.filter(|data| DATA.iter().all(|name| data.join(name).is_dir())) else {
        eprintln!("views: running mode skipped, {} are not at hand", DATA.join(" and "));
        return Ok(Vec::new());
    };
    let mut measured = Vec::new();
    for name in DATA {
        eprintln!("views: {name} turn by turn");
        let runtime = memory::parts::open(&Config::new(directory.join(format!("running-{name}")), Access::Write))?;
        let played = block_on(running(&EvalParts::of(&runtime), &data.join(name)));
        measured.push(played.with_context(|| format!("playing {name}"))?);
    }
    Ok(figures(&measured))
}

/// Whether more or less of a figure is better.
type Worse = fn(Vec<Figure>) -> Option<Figure>;

fn figures(measured: &[Running]) -> Vec<Figure> {
    let all: Vec<_> = measured.iter().map(ToString::to_string).collect();
    let figure = |key, worse: Worse, of: &dyn Fn(&Running) -> Option<f64>| {
        let of_data = |played: &Running| {
            // Nothing here depends on time or chance.
            let samples = Samples { name: played.data.clone(), unit: "x", values: vec![of(played)?] };
            Some(Figure::absolute(key, &samples, format!("of {}, the worse; 16,000 tokens, recall on", played.data)))
        };
        worse(measured.iter().filter_map(of_data).collect())
    };
    let mut figures: Vec<_> = [
        figure("cached_prompt_share", Figure::smallest, &|played| Some(played.cached_share())),
        figure("running_evidence_vs_hits", Figure::smallest, &Running::evidence_vs_hits),
        figure("cost_vs_sliding_window", Figure::largest, &|played| played.cost_vs(Running::SLIDING_WINDOW)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(first) = figures.first_mut() {
        first.note = format!("{}\n{}", first.note, all.join("\n"));
    }
    figures
}
