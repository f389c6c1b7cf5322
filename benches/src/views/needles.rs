//! Facts planted at every depth: found by recall within a budget, and by the view alone.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use memory_core::FirstWords;
use memory_strategies::Extractive;

use crate::{figure::Figure, needles::score, rounds::Samples};

const MESSAGES: usize = 10_000;
const BUDGET: u32 = 4_000;

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("views: needles");
    let extractive = score(directory, MESSAGES, BUDGET, Arc::new(Extractive))?;
    let first_words = score(directory, MESSAGES, BUDGET, Arc::new(FirstWords))?;
    // Nothing here depends on time or chance.
    let samples = |name: &str, unit, value| Samples { name: name.to_owned(), unit, values: vec![value] };
    let recalled = samples("memory-hooks", "", extractive.share(extractive.by_recall));
    let note = format!("{MESSAGES} messages, {BUDGET} tokens, recall by words alone: {extractive}");
    let [ours, theirs] = [extractive, first_words].map(|score| score.share(score.by_view));
    let note_view = format!("share of needles in the view alone, {MESSAGES} messages, {BUDGET} tokens");
    Ok(vec![
        Figure::absolute("needles_recall_4000", &recalled, note),
        Figure::ratio(
            "needles_view_only_vs_first_words",
            &samples("extractive", "", ours),
            &samples("first words", "", theirs),
            note_view,
        ),
    ])
}
