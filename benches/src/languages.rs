//! The group `languages`: recall in twelve languages, by words and with the model that a store in other languages takes.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Config};
use memory_embed::MULTILINGUAL_E5_SMALL;
use memory_search::HybridRetriever;
use pollster::block_on;

use crate::{
    eval::{self, EvalParts, RecallByCategory},
    figure::{Figure, Samples},
};

/// The benchmark in the tree: two halves, the second written by others after the first was measured.
const HALVES: [&str; 2] =
    [concat!(env!("CARGO_MANIFEST_DIR"), "/languages/first"), concat!(env!("CARGO_MANIFEST_DIR"), "/languages/second")];
/// Kinds of questions with the keys of their figures.
const KINDS: [(&str, &str); 3] =
    [("own", "own_words_vs_words_alone"), ("other", "other_words_vs_words_alone"), ("across", "across_vs_words_alone")];

/// Measures the group, with its store under `scratch`, and prints the recall of each language.
///
/// # Errors
/// When the model is missing, or a search fails.
pub(crate) fn measure(scratch: &Path) -> Result<Vec<Figure>> {
    let mut config = Config::new(scratch.join("languages"), Access::Write);
    // An import into a new store chooses it by the language of the messages; here the store is still empty.
    config.model = Some(MULTILINGUAL_E5_SMALL.name.to_owned());
    let opened = memory::parts::open(&config)?;
    ensure!(
        opened.vectors.is_some(),
        "the figures include the model: memory model fetch {}",
        MULTILINGUAL_E5_SMALL.name
    );
    let parts = EvalParts::of(&opened);
    let retriever = Arc::new(HybridRetriever::new(opened.store.clone(), None, None));
    let by_words = EvalParts { retriever, ..parts.clone() };
    let (mut hybrid, mut words) = (RecallByCategory::new(), RecallByCategory::new());
    for half in HALVES.map(Path::new) {
        block_on(eval::add_recall(&parts, half, true, &mut hybrid))?;
        block_on(eval::add_recall(&by_words, half, false, &mut words))?;
    }
    println!("{}", table(&words, &hybrid));
    let mut figures = Vec::new();
    for (kind, key) in KINDS {
        let of_kind = hybrid.iter().filter(|(category, _)| category.ends_with(&format!(" {kind}")));
        let of_languages = of_kind.map(|(category, recall)| {
            let alone = words.get(category).with_context(|| format!("no question of {category} was asked twice"))?;
            // Nothing found counts as one question found, as a ratio to nothing says nothing.
            let alone = alone.found.max(1);
            #[expect(clippy::cast_precision_loss, reason = "counts of questions")]
            let percent = |found: usize| 100.0 * found as f64 / recall.asked.max(1) as f64;
            let note =
                format!("R@10 of {category}, the worst of the languages; {} questions; deterministic", recall.asked);
            let ours = Samples::one("with the model", "%", percent(recall.found));
            Ok(Figure::ratio(key, &ours, &Samples::one("words alone", "%", percent(alone)), note))
        });
        figures.extend(Figure::smallest(of_languages.collect::<Result<_>>()?));
    }
    Ok(figures)
}

/// Questions whose answer is among ten hits, of all, by words and with the model: a row for each language.
fn table(words: &RecallByCategory, hybrid: &RecallByCategory) -> String {
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for (category, of_words) in words {
        let Some((language, _)) = category.split_once(' ') else { continue };
        let row = rows.entry(language).or_default();
        for (kind, _) in KINDS.iter().filter(|(kind, _)| category.ends_with(kind)) {
            let with = hybrid.get(category).map_or(0, |recall| recall.found);
            *row += &format!(" {kind} {} {with} of {} |", of_words.found, of_words.asked);
        }
    }
    rows.iter().map(|(language, row)| format!("| {language} |{row}\n")).collect()
}
