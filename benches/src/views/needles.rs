//! Facts planted at every depth: found by recall within a budget, and by the view alone.

use std::path::Path;

use anyhow::{Context, Result};
use memory_plugins::Registry;

use crate::{
    figure::Figure,
    needles::{NeedleScore, recalled_at_the_defaults, score, summarizers},
    rounds::Samples,
};

const MESSAGES: usize = 10_000;
/// The strategy that others are compared with.
const FIRST_WORDS: &str = "first-words";

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut scores = Vec::new();
    for name in summarizers() {
        eprintln!("views: needles, summarized by {name}");
        scores.push((name.clone(), score(directory, MESSAGES, &name)?));
    }
    let of = |wanted: &str| {
        let found = scores.iter().find(|(name, _)| name == wanted);
        found.map(|(_, [few, _])| *few).with_context(|| format!("no summarizer `{wanted}` is built in"))
    };
    eprintln!("views: needles, recalled at the defaults");
    let recalled = recalled_at_the_defaults(directory, MESSAGES)?;
    let (default, first_words) = (of(Registry::DEFAULT_SUMMARIZER)?, of(FIRST_WORDS)?);
    // Nothing here depends on time or chance.
    let samples = |name: &str, value| Samples { name: name.to_owned(), unit: "", values: vec![value] };
    let told = |(name, [few, tenth]): &(String, [NeedleScore; 2])| {
        format!("{name}: {few}; in {} tokens, a tenth of all, {tenth}", tenth.budget)
    };
    let each: Vec<_> = scores.iter().map(told).collect();
    Ok(vec![
        Figure::absolute(
            "needles_recall_4000",
            &samples("memory-hooks", recalled.share(recalled.by_recall)),
            format!(
                "of facts at every depth of {MESSAGES} messages, {} tokens, recall at the defaults\nby words alone:\n{}",
                recalled.budget,
                each.join("\n")
            ),
        ),
        Figure::ratio(
            "needles_view_only_vs_first_words",
            &samples(Registry::DEFAULT_SUMMARIZER, default.share(default.by_view)),
            &samples(FIRST_WORDS, first_words.share(first_words.by_view)),
            format!("share of the same facts in a view of {} tokens without recall, by the default", default.budget),
        ),
    ])
}
