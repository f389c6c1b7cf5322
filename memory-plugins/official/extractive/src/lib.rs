//! The extractive summarizer as a plugin, under the name `official-extractive`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;

use memory_strategies::Extractive;

bridge::export! {
    write: |job| Extractive.write(job),
    name: "official-extractive",
    description: "The sentences that say most: decisions, figures, names.",
}
