//! The theme merger as a plugin, under the name `official-themes`: the built-in one keeps the plain name.

#[path = "../../bridge.rs"]
mod bridge;

use memory_strategies::ThemeMerger;

bridge::export! {
    write: |job| ThemeMerger.write(job),
    name: "official-themes",
    description: "Topics, decisions, open questions and keywords of what is merged.",
}
