//! Facts planted at every depth: found by recall within a budget, and by the view alone.

use std::path::Path;

use anyhow::{Context, Result};
use memory_plugins::Registry;

use crate::{
    figure::Figure,
    needles::{NeedleScore, score, summarizers},
    rounds::Samples,
};

const MESSAGES: usize = 10_000;
/// The strategy that others are measured against.
const FIRST_WORDS: &str = "first-words";

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut scores = Vec::new();
    for name in summarizers() {
        eprintln!("views: needles, summarized by {name}");
        scores.push((score(directory, MESSAGES, &name)?, name));
    }
    let of = |wanted: &str| {
        let found = scores.iter().find(|(_, name)| name == wanted);
        found.map(|(score, _)| *score).with_context(|| format!("no summarizer `{wanted}` is built in"))
    };
    let (default, first_words) = (of(Registry::DEFAULT_SUMMARIZER)?, of(FIRST_WORDS)?);
    // Nothing here depends on time or chance.
    let samples = |name: &str, value| Samples { name: name.to_owned(), unit: "", values: vec![value] };
    let each = |which: fn(&[NeedleScore; 2]) -> NeedleScore| {
        let lines: Vec<_> = scores.iter().map(|(score, name)| format!("{name}: {}", which(score))).collect();
        lines.join("\n")
    };
    let [few, tenth] = default;
    let [_, tenth_by_first_words] = first_words;
    Ok(vec![
        Figure::absolute(
            "needles_recall_4000",
            &samples("memory-hooks", few.share(few.by_recall)),
            format!(
                "of facts at every depth of {MESSAGES} messages, {} tokens, recall by words alone\n{}",
                few.budget,
                each(|[few, _]| *few)
            ),
        ),
        Figure::ratio(
            "needles_view_only_vs_first_words",
            &samples(Registry::DEFAULT_SUMMARIZER, tenth.share(tenth.by_view)),
            &samples(FIRST_WORDS, tenth_by_first_words.share(tenth_by_first_words.by_view)),
            format!(
                "share of the facts in a view of {} tokens, a tenth of the conversation's\n{}",
                tenth.budget,
                each(|[_, tenth]| *tenth)
            ),
        ),
    ])
}
