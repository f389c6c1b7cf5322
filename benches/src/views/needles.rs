//! Facts planted at every depth: found by recall within a budget, and by the view alone.

use std::path::Path;

use anyhow::{Context, Result};
use memory_plugins::Registry;

use crate::{
    figure::Figure,
    needles::{score, summarizers},
    rounds::Samples,
};

const MESSAGES: usize = 10_000;
const BUDGET: u32 = 4_000;
/// The strategy that others are measured against.
const FIRST_WORDS: &str = "first-words";

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut scores = Vec::new();
    for name in summarizers() {
        eprintln!("views: needles, summarized by {name}");
        scores.push((score(directory, MESSAGES, BUDGET, &name)?, name));
    }
    let of = |wanted: &str| {
        let found = scores.iter().find(|(_, name)| name == wanted);
        found.map(|(score, _)| *score).with_context(|| format!("no summarizer `{wanted}` is built in"))
    };
    let (default, first_words) = (of(Registry::DEFAULT_SUMMARIZER)?, of(FIRST_WORDS)?);
    // Nothing here depends on time or chance.
    let samples = |name: &str, value| Samples { name: name.to_owned(), unit: "", values: vec![value] };
    let each: Vec<_> = scores.iter().map(|(score, name)| format!("{name}: {score}")).collect();
    let note = format!("{MESSAGES} messages, {BUDGET} tokens, recall by words alone\n{}", each.join("\n"));
    let recalled = samples("memory-hooks", default.share(default.by_recall));
    Ok(vec![
        Figure::absolute("needles_recall_4000", &recalled, note),
        Figure::ratio(
            "needles_view_only_vs_first_words",
            &samples(Registry::DEFAULT_SUMMARIZER, default.share(default.by_view)),
            &samples(FIRST_WORDS, first_words.share(first_words.by_view)),
            format!("share of needles in the view alone, {MESSAGES} messages, {BUDGET} tokens"),
        ),
    ])
}
